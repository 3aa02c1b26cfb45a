# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The StorageVersion API joined with leases: votes and pruning."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.errors import (
    LockstepError,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.membership import (
    decide_membership,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.voting import (
    classify_entries,
    decide_vote,
    prunable_entries,
    prune_entries,
    recompute,
)
from ansible_collections.lockstep.kubernetes.tests.unit.sights import cluster, lease, reported

DEPLOYMENTS = "deployments.apps"


def members(*leases, gone=()):
    return decide_membership(cluster([], leases, gone_servers=frozenset(gone)))


LIVE = members(lease("a"), lease("b"), lease("c"))


def test_entries_are_told_apart_by_their_leases():
    entries = classify_entries(
        storage_version=reported(DEPLOYMENTS, dict.fromkeys("abxyz", "apps/v1")),
        membership=members(
            lease("a"),
            lease("b", age=100),
            lease("c"),
            lease("x", age=4000),
            lease("y", age=100),
            gone=["y"],
        ),
    )
    assert {one.server_id[-1]: one.standing for one in entries} == {
        "a": "live",
        "b": "silent",
        "c": "missing",
        "x": "stale",
        "y": "stale",
        "z": "stale",
    }
    assert [one.may_write for one in entries] == [True, True, True, False, False, False]


def test_a_version_is_selected_once_every_server_votes_for_it():
    vote = decide_vote(
        storage_version=reported(DEPLOYMENTS, dict.fromkeys("abc", "apps/v1")),
        membership=LIVE,
        last_agreed="apps/v1beta2",
    )
    assert (vote.selected, vote.pending) == ("apps/v1", ())
    assert "every server votes for it" in vote.why


def test_while_candidates_differ_the_last_agreed_version_stays_selected():
    vote = decide_vote(
        storage_version=reported(
            DEPLOYMENTS, {"a": "apps/v1beta2", "b": "apps/v1beta2", "c": "apps/v1"}
        ),
        membership=LIVE,
        last_agreed="apps/v1beta2",
    )
    assert (vote.selected, vote.pending) == ("apps/v1beta2", ("apps/v1",))
    assert dict(vote.candidates)["apiserver-c"] == "apps/v1"
    assert "vote differently" in vote.why


def test_while_candidates_differ_and_none_was_agreed_before_it_is_unknown():
    vote = decide_vote(
        storage_version=reported(DEPLOYMENTS, {"a": "apps/v1", "b": "apps/v1", "c": "apps/v2"}),
        membership=LIVE,
    )
    assert (vote.selected, vote.pending) == ("Unknown", ("apps/v1", "apps/v2"))


@pytest.mark.parametrize(("last_agreed", "selected"), [("", "Unknown"), ("apps/v2", "apps/v2")])
def test_a_server_that_has_not_voted_keeps_the_rest_from_selecting(last_agreed, selected):
    vote = decide_vote(
        storage_version=reported(DEPLOYMENTS, {"a": "apps/v1", "b": "apps/v1"}),
        membership=LIVE,
        last_agreed=last_agreed,
    )
    assert (vote.selected, vote.pending) == (selected, ("apps/v1",))
    assert "c (apiserver-c) has not voted yet" in vote.why


def test_a_dead_servers_vote_does_not_count():
    vote = decide_vote(
        storage_version=reported(DEPLOYMENTS, {**dict.fromkeys("abc", "apps/v1"), "z": "apps/v2"}),
        membership=LIVE,
    )
    assert (vote.selected, vote.pending) == ("apps/v1", ())


def test_r2_a_frozen_servers_vote_still_counts():
    vote = decide_vote(
        storage_version=reported(DEPLOYMENTS, {"a": "apps/v1", "b": "apps/v2"}),
        membership=members(lease("a"), lease("b", age=100)),
    )
    assert vote.selected == "Unknown"


def test_nobody_voted():
    vote = decide_vote(storage_version=reported(DEPLOYMENTS, {}), membership=members())
    assert (vote.selected, vote.decodable_by_all) == ("Unknown", ())
    assert "no server has voted" in vote.why


def test_decodable_by_all_is_what_every_server_that_may_write_can_read():
    storage_version = reported(
        DEPLOYMENTS,
        {"a": "apps/v1", "b": "apps/v1", "z": "apps/v1"},
        decodable={"a": ("apps/v1", "apps/v1beta2"), "b": ("apps/v2", "apps/v1"), "z": ()},
    )
    vote = decide_vote(storage_version=storage_version, membership=members(lease("a"), lease("b")))
    assert vote.decodable_by_all == ("apps/v1",)


def test_nothing_is_decodable_by_all_while_a_server_has_not_reported():
    storage_version = reported(DEPLOYMENTS, {"a": "apps/v1"})
    vote = decide_vote(storage_version=storage_version, membership=LIVE)
    assert vote.decodable_by_all == ()


def test_a_selected_version_that_a_server_can_not_decode_is_said_by_server():
    vote = decide_vote(
        storage_version=reported(
            DEPLOYMENTS,
            {"a": "apps/v1beta2", "b": "apps/v1beta2", "c": "apps/v1"},
        ),
        membership=LIVE,
        last_agreed="apps/v1beta2",
    )
    assert "c (apiserver-c) can't decode apps/v1beta2" in vote.why


def test_pruning_removes_stale_entries_and_sets_the_common_version():
    storage_version = reported(DEPLOYMENTS, {**dict.fromkeys("abc", "apps/v1"), "z": "apps/v2"})
    pruned = prune_entries(storage_version=storage_version, membership=LIVE)
    assert pruned.removed == ("apiserver-z",)
    assert pruned.common == "apps/v1"
    assert (pruned.condition, pruned.condition_reason) == ("True", "CommonEncodingVersionSet")
    assert pruned.changed
    assert not pruned.empty


def test_pruning_leaves_the_common_version_unset_while_live_entries_differ():
    storage_version = reported(DEPLOYMENTS, {"a": "apps/v1", "b": "apps/v2", "z": "apps/v2"})
    pruned = prune_entries(storage_version=storage_version, membership=LIVE)
    assert pruned.common == ""
    assert (pruned.condition, pruned.condition_reason) == ("False", "CommonEncodingVersionUnset")


def test_pruning_the_last_entry_empties_the_object():
    storage_version = reported(DEPLOYMENTS, {"z": "apps/v2"})
    assert prune_entries(storage_version=storage_version, membership=LIVE).empty


def test_pruning_nothing_changes_nothing():
    storage_version = reported(DEPLOYMENTS, dict.fromkeys("abc", "apps/v1"))
    assert not prune_entries(storage_version=storage_version, membership=LIVE).changed


@pytest.mark.parametrize("age", [5, 100])
def test_r2_pruning_refuses_an_entry_whose_server_may_still_write(age):
    storage_version = reported(DEPLOYMENTS, {"a": "apps/v1", "b": "apps/v2"})
    with pytest.raises(LockstepError, match="apiserver-b"):
        prune_entries(
            storage_version=storage_version,
            membership=members(lease("a"), lease("b", age=age)),
            remove=["apiserver-b"],
        )


def test_pruning_refuses_everything_while_no_lease_is_seen():
    storage_version = reported(DEPLOYMENTS, {"a": "apps/v1"})
    assert prunable_entries(storage_version=storage_version, membership=members()) == ()
    with pytest.raises(LockstepError, match="No server renews a lease"):
        prune_entries(storage_version=storage_version, membership=members(), remove=["apiserver-a"])


def test_pruning_an_entry_that_is_not_there_is_no_error():
    storage_version = reported(DEPLOYMENTS, {"a": "apps/v1"})
    pruned = prune_entries(
        storage_version=storage_version, membership=LIVE, remove=["apiserver-nosuch"]
    )
    assert not pruned.changed


HOSTS = "abcdef"
VERSIONS = st.sampled_from(["apps/v1", "apps/v1beta2"])


@given(
    entries=st.dictionaries(st.sampled_from(HOSTS), VERSIONS),
    ages=st.dictionaries(st.sampled_from(HOSTS), st.sampled_from([0, 29, 31, 3000, 3601])),
    gone=st.sets(st.sampled_from(HOSTS)),
)
def test_pruning_keeps_every_entry_of_a_server_that_may_still_write(entries, ages, gone):
    membership = members(*(lease(host, age=age) for host, age in ages.items()), gone=gone)
    pruned = prune_entries(storage_version=reported(DEPLOYMENTS, entries), membership=membership)
    may_write = {
        host for host, age in ages.items() if age <= 30 or (age < 3600 and host not in gone)
    }
    kept = {entry.server_id[-1]: entry.encoding for entry in pruned.entries}
    assert {host: entries[host] for host in may_write & entries.keys()}.items() <= kept.items()
    assert (pruned.condition == "True") == (len(set(kept.values())) == 1)
    if membership.live:
        assert kept.keys() <= may_write


@given(
    entries=st.dictionaries(st.sampled_from(HOSTS), VERSIONS),
    remove=st.sets(st.sampled_from(HOSTS)),
)
def test_recomputing_counts_only_what_is_left(entries, remove):
    pruned = recompute(
        storage_version=reported(DEPLOYMENTS, entries),
        remove={f"apiserver-{host}" for host in remove},
    )
    left = {encoding for host, encoding in entries.items() if host not in remove}
    assert pruned.empty == (not left)
    assert pruned.common == (left.pop() if len(left) == 1 else "")
