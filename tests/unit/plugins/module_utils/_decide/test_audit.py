# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The audit: counting, going on from an earlier one, and what it says to people."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide import audit
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.audit import (
    Audit,
    Boundaries,
    Boundary,
    Encodings,
    Ledger,
    Source,
    State,
    earlier_state,
    read_encodings,
    stretches,
    why_not_incremental,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.errors import (
    LockstepError,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.keys import (
    INTERNAL,
    RESOURCE,
    KeyRange,
    KeySpace,
)

SOURCE = Source(cluster_id="abc", revision=100, raft_term=3)
CANARY = "canary-7f3a"


def object_of(version, kind="Widget"):
    return json.dumps({"apiVersion": version, "kind": kind, "data": CANARY}).encode()


def ledger_of(stored, patterns=("*",), encodings=None):
    ledger = Ledger(KeySpace("/registry"), patterns, encodings)
    for key, value in sorted(stored.items()):
        ledger.add(key.encode(), value)
    return ledger


def audit_of(stored, patterns=("*",), **more):
    ledger = ledger_of(stored, patterns, more.get("encodings"))
    state = State(SOURCE, "/registry", tuple(patterns), ((),), ledger.tallies)
    facts = {
        "source": SOURCE,
        "endpoint": "https://192.0.2.1:2379",
        "etcd_version": "3.6.16",
        "transport": "grpc",
        "later_revisions": (),
        "tallies": ledger.tallies,
        "patterns": tuple(patterns),
        "state": state,
        "incremental": False,
        "stored_keys": len(stored),
        "read_keys": len(stored),
        "seconds": 0.1,
        "outdated": ledger.outdated,
    }
    return Audit(**{**facts, **more})


MIXED = {
    "/registry/example.com/widgets/a": object_of("example.com/v1"),
    "/registry/example.com/widgets/b": object_of("example.com/v2"),
    "/registry/example.com/widgets/c": object_of("example.com/v2"),
    "/registry/pods/default/web": object_of("v1", "Pod"),
    "/registry/ranges/serviceips": object_of("v1", "RangeAllocation"),
}


def test_keys_are_counted_by_resource_version_and_kind():
    result = audit_of(MIXED).to_dict()
    widgets = result["resources"]["widgets.example.com"]
    assert widgets["keys"] == 3
    assert widgets["versions"] == {"example.com/v1": 1, "example.com/v2": 2}
    assert widgets["kinds"] == ["Widget"]
    assert widgets["encryption"] == {"identity": 3}
    assert widgets["bytes"] == 3 * len(object_of("example.com/v1"))
    assert set(result["resources"]) == {"pods", "widgets.example.com"}
    assert result["internal"]["ranges"]["keys"] == 1
    assert result["totals"]["keys"] == 5


def test_the_verdict_comes_first_and_ends_in_what_to_do():
    assert audit_of(MIXED).to_dict()["summary"] == [
        "mixed: 2 resources, 5 keys, 0.0 MB at revision 100.",
        "  widgets.example.com: 1 in example.com/v1, 2 in example.com/v2.",
        "To do: migrate what is stored in several versions once all servers agree.",
    ]


@pytest.mark.parametrize(
    ("key", "value", "verdict"),
    [
        ("/registry/pods/default/web", object_of("v1", "Pod"), "uniform"),
        ("/registry/secrets/default/s", b"k8s:enc:aescbc:v1:key1:xx", "unknown"),
        ("/registry/sprockets/one", object_of("v1"), "unknown"),
        ("/registry/pods/default/bad", b"garbage", "undecodable"),
        ("/registry/ranges/serviceips", b"garbage", "undecodable"),
    ],
)
def test_unknown_is_never_a_pass(key, value, verdict):
    found = audit_of({key: value})
    assert found.verdict == verdict
    assert found.to_dict()["summary"][0].startswith(f"{verdict}: ")


def test_encrypted_values_are_counted_by_key_and_their_version_is_unknown():
    result = audit_of(
        {
            "/registry/secrets/a/1": b"k8s:enc:aescbc:v1:key1:xx",
            "/registry/secrets/a/2": b"k8s:enc:aescbc:v1:key2:xx",
            "/registry/secrets/a/3": object_of("v1", "Secret"),
        }
    ).to_dict()
    secrets = result["resources"]["secrets"]
    assert secrets["versions"] == {"Unknown": 2, "v1": 1}
    assert secrets["encryption"] == {"aescbc:v1:key1": 1, "aescbc:v1:key2": 1, "identity": 1}
    assert result["totals"]["encrypted_keys"] == 2


def test_undecodable_keys_are_named_up_to_a_bound_and_all_counted():
    stored = {f"/registry/pods/default/bad-{number:03}": b"garbage" for number in range(50)}
    result = audit_of(stored).to_dict()
    pods = result["resources"]["pods"]
    assert pods["undecodable_keys"] == 50
    assert len(pods["undecodable"]) == 20
    assert pods["undecodable"][0]["key"] == "/registry/pods/default/bad-000"
    assert "and 30 more keys beside it" in " ".join(result["summary"])


def test_directories_of_no_resource_are_named_up_to_a_bound():
    stored = {f"/registry/heap-{number:03}/x": b"{}" for number in range(200)}
    result = audit_of(stored).to_dict()
    assert len(result["unmapped"]) == 51
    assert result["unmapped"]["others"]["keys"] == 150
    assert result["totals"]["unmapped_keys"] == 200


def test_only_chosen_resources_are_counted():
    result = audit_of(MIXED, ["*.example.com", "nothing"]).to_dict()
    assert set(result["resources"]) == {"widgets.example.com"}
    assert not result["internal"]
    assert result["unmatched"] == ["nothing"]


def test_no_value_is_in_the_result():
    stored = {**MIXED, "/registry/pods/default/bad": CANARY.encode()}
    found = audit_of(stored)
    assert CANARY not in json.dumps(found.to_dict())
    assert CANARY not in repr(State.unpack(found.state.pack()))


VALUES = st.sampled_from(
    [object_of("example.com/v1"), object_of("example.com/v2"), b"k8s:enc:aescbc:v1:k:x", b"?"]
)
STORES = st.dictionaries(st.integers(0, 30).map("/registry/example.com/widgets/{}".format), VALUES)


@given(before=STORES, changed=STORES, deleted=st.sets(st.integers(0, 30)))
def test_an_increment_has_every_version_and_no_count_is_too_small(before, changed, deleted):
    after = {**before, **changed}
    for number in deleted - {int(key.rpartition("/")[2]) for key in changed}:
        after.pop(f"/registry/example.com/widgets/{number}", None)
    whole = ledger_of(after).tallies.get((RESOURCE, "widgets.example.com"), audit.Tally())

    first = State(SOURCE, "/registry", ("*",), ((),), ledger_of(before).tallies)
    increment = ledger_of(changed)
    increment.merge(State.unpack(first.pack()).tallies)
    summed = increment.tallies.get((RESOURCE, "widgets.example.com"), audit.Tally())

    assert summed.keys >= whole.keys
    assert summed.undecodable >= whole.undecodable
    assert all(summed.versions[name] >= count for name, count in whole.versions.items())
    assert all(summed.encryption[name] >= count for name, count in whole.encryption.items())


def test_a_state_round_trips():
    boundaries = ((Boundary(b"/registry/", 3), Boundary(b"/registry/\xff\x00", 2)),)
    tallies = ledger_of(MIXED).tallies
    state = State(SOURCE, "/registry", ("*",), boundaries, tallies, increments=2)
    assert State.unpack(state.pack()) == state
    assert earlier_state({"since": state.pack(), "verdict": "mixed"}) == state
    assert earlier_state(state.pack()) == state
    assert earlier_state(None) is None
    assert earlier_state("") is None


@pytest.mark.parametrize("wrong", ["x", "AAAA", "eJyrVkrOz8lPVrJSMjQyVqoFACfZBGk=", {}, 7, ["a"]])
def test_what_is_no_state_is_refused(wrong):
    with pytest.raises(LockstepError, match="since holds no state"):
        earlier_state(wrong)


@given(st.text(max_size=50))
def test_no_text_but_a_state_is_taken_for_one(text):
    if text:
        with pytest.raises(LockstepError):
            State.unpack(text)


@pytest.mark.parametrize(
    ("now", "prefix", "patterns", "ranges", "why"),
    [
        (Source("abc", 200, 3), "/registry", ["*"], 1, ""),
        (Source("abc", 200, 9), "/registry", ["*"], 1, ""),
        (Source("def", 200, 3), "/registry", ["*"], 1, "another etcd cluster"),
        (Source("abc", 50, 3), "/registry", ["*"], 1, "a backup was restored"),
        (Source("abc", 200, 2), "/registry", ["*"], 1, "a backup was restored"),
        (Source("abc", 200, 3), "/other", ["*"], 1, "below /registry"),
        (Source("abc", 200, 3), "/registry", ["pods"], 1, "other resources"),
        (Source("abc", 200, 3), "/registry", ["*"], 2, "other resources"),
    ],
)
def test_an_earlier_audit_that_does_not_fit_is_not_built_on(now, prefix, patterns, ranges, why):
    state = State(SOURCE, "/registry", ("*",), ((),), {})
    told = why_not_incremental(state, source=now, prefix=prefix, patterns=patterns, ranges=ranges)
    assert (why in told) if why else not told


@given(st.lists(st.tuples(st.binary(max_size=4), st.integers(1, 9000)), max_size=40))
def test_short_ranges_cover_a_range_without_gaps(pages):
    boundaries = Boundaries()
    for start, keys in sorted(pages):
        boundaries.add(b"a" + start, keys=keys, size=keys * 1000)
    whole = KeyRange(b"a", b"b")
    state = State(SOURCE, "/registry", ("*",), (boundaries.result(),), {})
    (short,) = stretches([whole], state)
    assert short[0].start == whole.start
    assert short[-1].end == whole.end
    assert all(one.end == next_.start for one, next_ in itertools.pairwise(short))


def test_the_number_of_boundaries_is_bounded():
    boundaries = Boundaries()
    for number in range(5000):
        boundaries.add(b"%06d" % number, keys=5000, size=1)
    result = boundaries.result()
    assert len(result) <= 1000
    assert sum(one.keys for one in result) == 5000 * 5000


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"later_revisions": (150,)}, "the rest was read at revision 150"),
        ({"incremental": True}, "counts are upper bounds"),
        ({"elsewhere": ("events",)}, "keep events in another etcd"),
        ({"notes": ("The connection broke.",)}, "The connection broke."),
    ],
)
def test_notes_say_what_the_counts_mean(more, says):
    assert any(says in note for note in audit_of(MIXED, **more).to_dict()["notes"])


def test_internal_keys_have_versions_too():
    tally = ledger_of(MIXED).tallies[INTERNAL, "ranges"]
    assert tally.versions == {"v1": 1}


WIDGETS = "widgets.example.com"
V2 = Encodings({WIDGETS: "example.com/v2", "pods": "v1"}, limit=10)


def outdated_of(stored, encodings=V2, **more):
    """What the result says of each resource's outdated objects: names, count, whether it is all."""
    resources = audit_of(stored, encodings=encodings, **more).to_dict()["resources"]
    return {
        name: (one["outdated"], one["outdated_keys"], one["outdated_complete"])
        for name, one in resources.items()
        if "outdated" in one
    }


def test_objects_in_another_version_than_the_servers_write_are_named():
    stored = {
        **MIXED,
        "/registry/example.com/widgets/team/d": object_of("example.com/v1"),
        "/registry/pods/default/old": object_of("v0", "Pod"),
        "/registry/secrets/default/unasked": object_of("v0", "Secret"),
    }
    assert outdated_of(stored) == {
        WIDGETS: (["a", "team/d"], 2, True),
        "pods": (["default/old"], 1, True),
    }


def test_the_version_that_was_asked_for_is_told_and_nothing_without():
    result = audit_of(MIXED, encodings=V2).to_dict()["resources"]
    assert result[WIDGETS]["encoding_version"] == "example.com/v2"
    plain = audit_of(MIXED).to_dict()["resources"]
    assert not [name for one in plain.values() for name in one if "outdated" in name]


@pytest.mark.parametrize(
    ("limit", "names", "complete"), [(0, 0, False), (3, 3, False), (7, 7, True), (8, 7, True)]
)
def test_names_are_kept_up_to_the_limit_and_all_are_counted(limit, names, complete):
    stored = {f"/registry/example.com/widgets/{n}": object_of("example.com/v1") for n in range(7)}
    encodings = Encodings({WIDGETS: "example.com/v2"}, limit=limit)
    first = [str(n) for n in range(names)]
    assert outdated_of(stored, encodings) == {WIDGETS: (first, 7, complete)}


def test_with_nothing_outdated_no_limit_cuts():
    stored = {"/registry/pods/default/web": object_of("v1", "Pod")}
    assert outdated_of(stored, Encodings({"pods": "v1"}, limit=0)) == {"pods": ([], 0, True)}


@pytest.mark.parametrize(
    "value", [b"k8s:enc:aescbc:v1:key1:xx", b"garbage"], ids=["encrypted", "undecodable"]
)
def test_r4_what_can_not_be_seen_is_not_outdated_and_names_are_not_all(value):
    stored = {**MIXED, "/registry/example.com/widgets/z": value}
    assert outdated_of(stored)[WIDGETS] == (["a"], 1, False)


def test_r4_an_increment_never_names_all():
    state = State.unpack(audit_of(MIXED).state.pack())
    increment = ledger_of(
        {"/registry/example.com/widgets/d": object_of("example.com/v1")}, ["*"], V2
    )
    increment.merge(state.tallies)
    found = audit_of({}, encodings=V2, incremental=True)
    result = replace(found, tallies=increment.tallies, outdated=increment.outdated).to_dict()
    widgets, pods = result["resources"][WIDGETS], result["resources"]["pods"]
    assert (widgets["outdated"], widgets["outdated_keys"]) == (["d"], 2)
    assert not widgets["outdated_complete"]
    assert (pods["outdated"], pods["outdated_keys"], pods["outdated_complete"]) == ([], 0, False)


def test_a_key_that_no_object_has_is_counted_and_not_named():
    stored = {"/registry/example.com/widgets/a/b/c": object_of("example.com/v1")}
    assert outdated_of(stored) == {WIDGETS: ([], 1, False)}


@pytest.mark.parametrize(
    ("encodings", "found"),
    [
        ({"events": "v1"}, (["default/a"], 1, True)),
        ({"events.events.k8s.io": "v1"}, (["default/a"], 1, True)),
        ({"events.events.k8s.io": "v1", "events": ""}, (["default/a"], 1, True)),
        ({"events.events.k8s.io": "v1", "events": "v1"}, (["default/a"], 1, True)),
        ({"events.events.k8s.io": "v2", "events": "v1"}, None),
    ],
)
def test_the_same_objects_are_held_against_either_name(encodings, found):
    stored = {"/registry/events/default/a": object_of("events.k8s.io/v1beta1", "Event")}
    assert outdated_of(stored, Encodings(encodings, limit=10)).get("events") == found


def test_what_is_outdated_is_in_the_summary_even_where_all_of_it_is():
    stored = {"/registry/example.com/widgets/a": object_of("example.com/v1")}
    assert audit_of(stored, encodings=V2).to_dict()["summary"][1:] == [
        "  widgets.example.com: 1 not in example.com/v2, which the servers write.",
        "To do: migrate what is stored in another version than the servers write.",
    ]


def test_names_are_not_kept_for_a_later_audit():
    with_names, without = audit_of(MIXED, encodings=V2), audit_of(MIXED)
    assert with_names.state.pack() == without.state.pack()


@given(STORES, st.integers(0, 12))
def test_names_are_all_that_differ_or_are_said_not_to_be(stored, limit):
    encodings = Encodings({WIDGETS: "example.com/v2"}, limit=limit)
    old = [key for key, value in sorted(stored.items()) if value == object_of("example.com/v1")]
    names = [key.rpartition("/")[2] for key in old]
    hidden = any(value[:1] != b"{" for value in stored.values())
    found = outdated_of(stored, encodings).get(WIDGETS)
    complete = not hidden and len(names) <= limit
    assert found == ((names[:limit], len(names), complete) if stored else None)


@pytest.mark.parametrize(
    ("given_", "version"),
    [
        ("apps/v1", "apps/v1"),
        ("v1", "v1"),
        ("/v1", "v1"),
        ("", ""),
        ({"encoding_version": "apps/v1", "status": "agreed"}, "apps/v1"),
        ({"encoding_version": "", "status": "disagreeing"}, ""),
    ],
)
def test_encodings_are_taken_as_they_come(given_, version):
    assert read_encodings({"deployments.apps": given_}, limit=5).of("deployments.apps") == version


def test_without_encodings_nothing_is_outdated():
    assert read_encodings(None, limit=5) == Encodings({}, limit=5)


@pytest.mark.parametrize(
    ("encodings", "says"),
    [
        ({"pods": 1}, "encodings holds 1 for 'pods'"),
        ({"pods": None}, "encodings holds None for 'pods'"),
        ({"pods": ["v1"]}, r"encodings holds \['v1'\] for 'pods'"),
        ({"pods": {"hash": "x"}}, "encodings holds {'hash': 'x'} for 'pods'"),
        ({"pods": {"encoding_version": 1}}, "for 'pods'"),
        ({"pods": "Unknown"}, "encodings holds 'Unknown' for 'pods'"),
        ({"pods": "a/b/v1"}, "encodings holds 'a/b/v1' for 'pods'"),
        ({"pods": "apps/"}, "for 'pods'"),
        ({"Pods": "v1"}, "encodings holds 'v1' for 'Pods'"),
        ({"*": "v1"}, "encodings holds 'v1' for '[*]'"),
        ({"agreed": True, "resources": {}}, "encodings holds True for 'agreed'"),
        ({"pods": {"x": "y" * 5000}}, r"\.\.\. for 'pods'"),
    ],
)
def test_encodings_that_are_none_are_refused(encodings, says):
    with pytest.raises(LockstepError, match=says) as refusal:
        read_encodings(encodings, limit=5)
    assert "resources that discovery_hash returned" in refusal.value.remedy
    assert len(refusal.value.what) < 200


def test_a_limit_below_zero_is_refused():
    with pytest.raises(LockstepError, match="outdated_limit is -1"):
        read_encodings(None, limit=-1)
