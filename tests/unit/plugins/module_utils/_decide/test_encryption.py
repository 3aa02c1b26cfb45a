# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whether servers have encrypted by one configuration, by their metrics and by what they store."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.encryption import (
    EncryptionConfig,
    Probe,
    Round,
    Tried,
    against_one_configuration,
    against_reencryption,
    encryption_doubts,
    fingerprint,
    judge_first_round,
    judge_last_round,
    keep_doubt,
    may_resume,
    read_encryption,
    settled_version,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.rewrites import (
    ObjectName,
)

# Recorded of kube-apiserver 1.36.3; the reloads as its source has them.
CONTROLLER = "apiserver_encryption_config_controller"
HASH = "sha256:9cf690d9004444a797f31aa269e6db1fee98e09835249b29633f5776066e4340"
METRICS = f"""\
# TYPE {CONTROLLER}_automatic_reloads_total counter
{CONTROLLER}_automatic_reloads_total{{apiserver_id_hash="sha256:c407b124",status="failure"}} 2
{CONTROLLER}_automatic_reloads_total{{apiserver_id_hash="sha256:c407b124",status="success"}} 3
# TYPE {CONTROLLER}_last_config_info gauge
{CONTROLLER}_last_config_info{{apiserver_id_hash="sha256:c407b124",hash="{HASH}"}} 1
# TYPE process_start_time_seconds gauge
process_start_time_seconds 1.79494221116e+09
"""
# Of one with a KMS plugin.
LATENCY = "apiserver_envelope_encryption_kms_operations_latency_seconds"
OPERATIONS = f"""\
# TYPE {LATENCY} histogram
{LATENCY}_count{{grpc_status_code="OK",method_name="/v2.KeyManagementService/Status"}} 1
"""
TOLD = EncryptionConfig(HASH, "1.79494221116e+09", "3")
OTHER = replace(TOLD, process="1.8e+09")
ALIKE = {"a": TOLD, "b": OTHER}


SILENT = dict.fromkeys(ALIKE, EncryptionConfig())
UNHASHED = {one: replace(config, hash="") for one, config in ALIKE.items()}
FORMATTED = {**ALIKE, "b": replace(OTHER, hash="sha256:1")}
KMS = {one: replace(config, kms=True) for one, config in ALIKE.items()}
RELOADED = {**ALIKE, "b": replace(OTHER, reloads="4")}
X, Y = ObjectName("x", "default", "7"), ObjectName("y", "default", "8")
HELD = Round((X, Y))
DIFFER = Round(against="default/x is stored differently by a, and by b")
STORED_ANEW = Round(against="after the last write b stored default/x anew")
UNTRIED = Round(unknown="b could not be tried")
CHANGED = Round(unknown="somebody else has changed them")


def test_the_hash_the_process_and_its_reloads_are_read():
    assert read_encryption(METRICS) == TOLD


def test_keys_that_come_from_kms_are_not_in_the_file():
    assert read_encryption(METRICS + OPERATIONS) == replace(TOLD, kms=True)


def test_a_server_without_encryption_tells_nothing():
    shown = read_encryption("process_start_time_seconds 1.5e+09\n")
    assert shown == EncryptionConfig("", "1.5e+09", "")


def test_two_hashes_at_once_tell_nothing():
    assert read_encryption(METRICS + METRICS.replace(HASH, "sha256:1")).hash == ""


@given(st.text(), st.integers(0, len(METRICS)), st.integers(0, 50))
def test_anything_can_be_read(text, start, length):
    assert read_encryption(METRICS[:start] + text + METRICS[start + length :]) is not None


@pytest.mark.parametrize(
    ("configs", "why"),
    [
        (ALIKE, ""),
        ({}, "no server could be asked"),
        ({**ALIKE, "b": EncryptionConfig()}, "b does not tell"),
        ({**ALIKE, "b": EncryptionConfig("", "1.8e+09", "")}, "b does not tell"),
        (FORMATTED, "a and b encrypt by configuration files that differ"),
        (KMS, "whose keys no configuration shows"),
    ],
)
def test_metrics_tell_one_configuration_only_if_all_of_them_do(configs, why):
    said = against_one_configuration(configs)
    assert why in said
    assert bool(why) == bool(said)


@pytest.mark.parametrize(
    ("before", "after", "first", "last", "changes", "why"),
    [
        # One proof is enough, whatever the other one leaves open.
        (ALIKE, ALIKE, HELD, HELD, (), ""),
        (ALIKE, ALIKE, UNTRIED, Round(), (), ""),
        (ALIKE, ALIKE, HELD, CHANGED, (), ""),
        (SILENT, SILENT, HELD, HELD, (), ""),
        (UNHASHED, UNHASHED, HELD, HELD, (), ""),
        (FORMATTED, FORMATTED, HELD, HELD, (), ""),
        (KMS, KMS, HELD, HELD, (), ""),
        (SILENT, ALIKE, HELD, HELD, (), ""),
        (SILENT, SILENT, HELD, Round((Y,)), (), ""),
        # None is none: both say why.
        (SILENT, SILENT, UNTRIED, Round(), (), "a and b does not tell"),
        (SILENT, SILENT, UNTRIED, Round(), (), "b could not be tried"),
        (SILENT, SILENT, HELD, CHANGED, (), "somebody else has changed them"),
        (SILENT, SILENT, HELD, Round((replace(X, version="9"),)), (), "does not tell"),
        (FORMATTED, FORMATTED, UNTRIED, Round(), (), "files that differ"),
        (ALIKE, SILENT, HELD, CHANGED, (), "does not tell"),
        (KMS, KMS, HELD, CHANGED, (), "encrypt by KMS"),
        # What shows a difference outweighs any proof.
        (ALIKE, ALIKE, DIFFER, Round(), (), "stored differently by a, and by b"),
        (FORMATTED, FORMATTED, DIFFER, Round(), (), "files that differ"),
        (SILENT, SILENT, HELD, STORED_ANEW, (), "stored default/x anew"),
        (ALIKE, ALIKE, HELD, replace(STORED_ANEW, held=(Y,)), (), "stored default/x anew"),
        (ALIKE, RELOADED, HELD, HELD, (), "has loaded another configuration"),
        (UNHASHED, {**UNHASHED, "b": RELOADED["b"]}, HELD, HELD, (), "another configuration"),
        (ALIKE, {**ALIKE, "b": replace(OTHER, process="1.9e+09")}, HELD, HELD, (), "restarted"),
        (ALIKE, {one: replace(ALIKE[one], hash="x") for one in ALIKE}, HELD, HELD, (), "another"),
        (ALIKE, FORMATTED, HELD, HELD, (), "another configuration"),
        (ALIKE, {"a": TOLD}, HELD, HELD, (), "another configuration"),
        (SILENT, SILENT, HELD, HELD, ["server b restarted"], "server b restarted, perhaps with"),
    ],
)
def test_what_verifies_a_reencryption(before, after, first, last, changes, why):
    said = against_reencryption(before=before, after=after, first=first, last=last, changes=changes)
    assert why in said
    assert bool(why) == bool(said)


def probes(text):
    """Answers such as `a7 b7`: the server a shows version 7, then b does."""
    return tuple(Probe(one[0], one[1:]) for one in text.split())


def tried(text, name=X, **fields):
    return Tried(name, probes(text), **fields)


@pytest.mark.parametrize(
    ("answers", "version"),
    [
        ("a7 b7 c7", "7"),
        ("a7 b8 b8 c8 a8", "8"),
        ("a7 b7", ""),
        ("a7 b7 c8 c8", ""),
        ("a7 b8 c7", ""),
        ("", ""),
    ],
)
def test_an_object_has_settled_once_every_server_left_it_after_another(answers, version):
    assert settled_version(probes(answers), "abc") == version


class TestFirstRound:
    def test_those_that_settled_are_kept_with_their_versions(self):
        found = judge_first_round(
            [tried("a8 b8"), tried("a9 b9", Y), tried("a1 b2", fault="f")], "ab"
        )
        assert found == Round((replace(X, version="8"), replace(Y, version="9")))

    def test_servers_that_store_it_in_turns_differ_and_are_told_apart(self):
        found = judge_first_round([tried("a1 b1 c2 c2 a3 a3 b3 c4 c4 a5 a5 b5 c6 c6")], "abc")
        assert found == Round(against="default/x is stored differently by a and b, and by c")

    def test_one_that_moves_for_its_own_writer_tells_nothing(self):
        found = judge_first_round([tried("a1 b2 b3 a4 a5 b6 b7")], "ab")
        assert found == Round(unknown="default/x did not stand still to be tried")

    def test_one_that_was_moved_by_others_all_the_time_tells_nothing(self):
        # All of them left it alone at times, only never in a row.
        found = judge_first_round([tried("a1 b1 c2 c2 a2 a2 b3 b3 c3 a4")], "abc")
        assert not found.held
        assert not found.against

    def test_a_fault_is_named(self):
        found = judge_first_round([tried("a1", fault="b could not be tried")], "ab")
        assert found == Round(unknown="b could not be tried")

    def test_without_objects_there_is_nothing_to_try(self):
        assert "no object" in judge_first_round([], "ab").unknown


class TestLastRound:
    def test_an_object_that_all_leave_where_it_was_holds(self):
        assert judge_last_round([tried("a7 b7", found="7")]) == Round((X,))

    def test_of_several_one_is_enough(self):
        found = judge_last_round([tried("a9 b9", found="9"), tried("a8 b8", Y, found="8")])
        assert found == Round((Y,))

    def test_one_that_a_server_stores_anew_speaks_against_all(self):
        found = judge_last_round([tried("a8 b8", Y, found="8"), tried("a7 b9", found="7")])
        assert not found.held
        assert "b stored default/x anew" in found.against

    def test_also_one_that_was_changed_must_be_stored_as_servers_store_it(self):
        found = judge_last_round([tried("a10", found="9"), tried("a8 b8", Y, found="8")])
        assert "a stored default/x anew" in found.against

    @pytest.mark.parametrize("one", [tried("a9 b9", found="9"), tried("", found="")])
    def test_one_that_was_changed_or_deleted_proves_nothing(self, one):
        found = judge_last_round([one])
        assert not found.held
        assert "default/x served as samples" in found.unknown

    def test_a_fault_is_named(self):
        found = judge_last_round([tried("a7", found="7", fault="b could not be tried")])
        assert found == Round(unknown="b could not be tried")


@pytest.mark.parametrize(
    ("then", "now", "saved", "again", "first", "resumes"),
    [
        # The samples, or what metrics tell, tie it to what was done before.
        ("", "", (X, Y), Round((Y,)), HELD, True),
        ("f", "f", (), Round(), HELD, True),
        ("f", "f", (X,), CHANGED, HELD, True),
        ("f", "", (X,), Round((X,)), HELD, True),
        # They don't any more.
        ("", "", (X,), CHANGED, HELD, False),
        ("", "", (X,), CHANGED, UNTRIED, False),
        ("f", "", (), Round(), UNTRIED, False),
        ("f", "g", (X,), Round((X,)), HELD, False),
        ("f", "f", (X,), STORED_ANEW, HELD, False),
        # Nothing was known, and now something can be proved from the start.
        ("", "", (), Round(), HELD, False),
        ("", "f", (), Round(), UNTRIED, False),
        # Nothing was known, and nothing would be.
        ("", "", (), Round(), UNTRIED, True),
        ("", "", (), Round(), DIFFER, True),
    ],
)
def test_what_an_earlier_run_wrote_counts_only_under_the_same_keys(
    then, now, saved, again, first, resumes
):
    found = may_resume(then=then, now=now, saved=saved, again=again, first=first)
    assert found is resumes


def test_a_fingerprint_is_of_what_all_servers_tell():
    assert fingerprint(ALIKE) == fingerprint({"x": OTHER, "y": TOLD})
    assert fingerprint(ALIKE) != fingerprint({"a": TOLD, "b": TOLD})
    assert fingerprint({"a": EncryptionConfig()}) == ""


def test_a_doubt_about_keys_stays_until_something_proves_them():
    changed = "the encryption generation was key1 and is now key2"
    (fresh,) = keep_doubt(["server a restarted"], generation="key2", new=True)
    assert encryption_doubts(["server a restarted", fresh]) == (fresh,)
    assert keep_doubt([changed, "x"], generation="key2", new=False) == (changed,)
    assert keep_doubt([], generation="", new=False) == ()
