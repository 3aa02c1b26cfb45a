# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The epoch of a resource: what must not change between two looks."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.epoch import (
    Epoch,
    compare_epochs,
    decide_epoch,
    same_versions,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.errors import (
    LockstepError,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.membership import (
    decide_membership,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.observations import (
    CrdSight,
)
from ansible_collections.lockstep.kubernetes.tests.unit.sights import cluster, lease, server

WIDGETS = "widgets.example.com"


def epoch(servers=None, leases=None, *, crd=None, encryption="", order=1):
    servers = servers if servers is not None else [server("a1"), server("b1", emulated="1.34")]
    leases = leases if leases is not None else [lease("a"), lease("b")]
    sight = cluster(servers[::order], leases[::order], crds={WIDGETS: crd} if crd else {})
    return decide_epoch(
        sight=sight,
        membership=decide_membership(sight),
        resource=WIDGETS,
        encryption=encryption,
    )


def kinds(before, after):
    return [one.kind for one in compare_epochs(before=before, after=after)]


CRD = CrdSight(resource=WIDGETS, uid="u1", generation=3)


def test_an_epoch_round_trips_through_json():
    taken = epoch(crd=CRD, encryption="key-2")
    assert Epoch.from_dict(json.loads(json.dumps(taken.to_dict()))) == taken


@pytest.mark.parametrize("data", [{}, {"servers": 3}, {**epoch().to_dict(), "crd": None}])
def test_what_is_no_epoch_is_refused(data):
    with pytest.raises(LockstepError, match="epoch"):
        Epoch.from_dict(data)


def test_r3_the_same_cluster_in_another_order_is_the_same_epoch():
    assert epoch() == epoch(order=-1)
    assert compare_epochs(before=epoch(), after=epoch(order=-1)) == ()


def test_r3_a_restart_changes_the_epoch_but_not_the_versions():
    after = epoch(leases=[lease("a", holder="apiserver-a_2"), lease("b")])
    (change,) = compare_epochs(before=epoch(), after=after)
    assert str(change) == "server apiserver-a restarted"
    assert same_versions(before=epoch(), after=after)


def test_r3_a_new_start_time_alone_changes_the_epoch():
    after = epoch(servers=[server("a1", start_time="later"), server("b1", emulated="1.34")])
    assert kinds(epoch(), after) == ["restarted"]


def test_r3_another_release_changes_the_versions():
    after = epoch(servers=[server("a1", release="v1.37.0"), server("b1", emulated="1.34")])
    changes = compare_epochs(before=epoch(), after=after)
    assert [one.kind for one in changes] == ["release"]
    assert "now run v1.36.3 emulating 1.34 (1 server), v1.37.0 (1 server)" in str(changes[0])
    assert not same_versions(before=epoch(), after=after)


def test_r3_another_emulated_version_changes_the_versions():
    after = epoch(servers=[server("a1", emulated="1.35"), server("b1", emulated="1.34")])
    assert "release" in kinds(epoch(), after)


def test_r3_one_server_that_took_anothers_release_changes_the_versions():
    old, new = "v1.36.3", "v1.37.0"
    before = epoch(
        servers=[server("a1", release=old), server("b1", release=old), server("c1", release=new)]
    )
    after = epoch(
        servers=[server("a1", release=old), server("b1", release=new), server("c1", release=new)]
    )
    assert "release" in kinds(before, after)


def test_r3_servers_that_join_and_leave_are_named():
    after = epoch(
        servers=[server("a1"), server("c1", emulated="1.34")], leases=[lease("a"), lease("c")]
    )
    said = [str(one) for one in compare_epochs(before=epoch(), after=after)]
    assert said == ["server apiserver-b left", "server apiserver-c joined"]


def test_r3_a_frozen_server_stays_in_the_epoch():
    after = epoch(leases=[lease("a"), lease("b", age=100)])
    assert kinds(epoch(), after) == []


@pytest.mark.parametrize(
    ("after", "words"),
    [
        (replace(CRD, generation=4), "generation 3, now 4"),
        (replace(CRD, uid="u2"), "deleted and created again"),
        (None, "was deleted"),
    ],
)
def test_r3_a_changed_definition_is_said_in_words(after, words):
    changes = compare_epochs(before=epoch(crd=CRD), after=epoch(crd=after))
    assert [one.kind for one in changes] == ["crd"]
    assert words in str(changes[0])
    assert not same_versions(before=epoch(crd=CRD), after=epoch(crd=after))


def test_r3_a_new_definition_is_said_in_words():
    assert "was created" in str(compare_epochs(before=epoch(), after=epoch(crd=CRD))[0])


def test_r3_another_encryption_generation_is_said_in_words():
    (change,) = compare_epochs(before=epoch(encryption="1"), after=epoch(encryption="2"))
    assert change.kind == "encryption"
    assert "was 1 and is now 2" in str(change)


def test_r3_a_server_that_joined_and_left_again_between_two_looks_changes_the_epoch():
    before = replace(epoch(), published="uid:1")
    after = replace(epoch(), published="uid:3")
    assert kinds(before, after) == ["joined"]


class TestRestartsOfThisRun:
    """R3: a restart that the run made itself, and saw both sides of, is not an unseen one."""

    BEFORE = epoch([server("a"), server("b")], [lease("a"), lease("b")])

    def changes(self, servers, leases, *restarted):
        after = epoch(servers, leases)
        return compare_epochs(before=self.BEFORE, after=after, restarted=restarted)

    def test_a_process_that_took_the_place_of_another_is_explained(self):
        servers = [server("a", start_time="new", release="v1.37.0"), server("b")]
        leases = [lease("a", holder="new"), lease("b")]
        assert self.changes(servers, leases, "new") == ()
        assert self.changes(servers, leases) != ()

    def test_another_one_beside_it_is_not(self):
        servers = [server("a", start_time="new"), server("b", start_time="newer")]
        leases = [lease("a", holder="new"), lease("b", holder="newer")]
        assert len(self.changes(servers, leases, "new")) == 2

    def test_a_server_that_left_beside_it_is_not(self):
        assert self.changes([server("a", start_time="new")], [lease("a", holder="new")], "new")

    def test_a_definition_that_was_changed_is_not(self):
        after = replace(epoch([server("a", start_time="new"), server("b")]), crd_generation=9)
        found = compare_epochs(before=self.BEFORE, after=after, restarted=["new"])
        assert [one.kind for one in found] == ["crd"]


def test_r12_another_cluster_is_another_epoch():
    here = epoch()
    (change,) = compare_epochs(before=replace(here, cluster="there"), after=here)
    assert change.kind == "cluster"
    assert not same_versions(before=replace(here, cluster="there"), after=here)
