# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""When agreement has held still for long enough."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.agreement import (
    decide_agreement,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.membership import (
    decide_membership,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.observations import (
    AggregatedSight,
    ClusterSight,
    CrdSight,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.settling import (
    Look,
    Settler,
)
from ansible_collections.lockstep.kubernetes.tests.unit.sights import (
    NOW,
    cluster,
    lease,
    server,
    three_servers,
)

WIDGETS = "widgets.example.com"


def look(*encodings: str, generation: int = 1, changed: float = 3600, holder: str = "") -> Look:
    """A look at two servers that write these encodings of a custom resource."""
    crd = CrdSight(WIDGETS, "uid", generation, changed=NOW - timedelta(seconds=changed))
    leases = [lease(host, holder=holder) for host in "ab"]
    return seen(three_servers(WIDGETS, *encodings, leases=leases, crds={WIDGETS: crd}))


def seen(sight: ClusterSight) -> Look:
    membership = decide_membership(sight)
    return Look(sight, membership, decide_agreement(sight=sight, membership=membership))


AGREED = ("example.com/v1", "example.com/v1")
DIFFERING = ("example.com/v1", "example.com/v2")


def test_agreement_seen_once_has_not_settled():
    settling = Settler(seconds=None).take(look(*AGREED), at=100)
    assert not settling.done


def test_agreement_that_held_still_for_the_window_has_settled():
    settler = Settler(seconds=None)
    settler.take(look(*AGREED), at=100)
    assert not settler.take(look(*AGREED), at=109).done
    assert settler.take(look(*AGREED), at=110).done


def test_without_a_window_the_first_agreement_counts():
    assert Settler(seconds=0).take(look(*AGREED), at=100).done


@pytest.mark.parametrize(
    "disturbance",
    [
        pytest.param(look(*DIFFERING), id="disagreement"),
        pytest.param(look("example.com/v2", "example.com/v2"), id="another version"),
        pytest.param(look(*AGREED, holder="restarted"), id="a restart"),
        pytest.param(look(*AGREED, generation=2), id="another definition"),
    ],
)
def test_the_window_begins_anew_after(disturbance):
    settler = Settler(seconds=10)
    settler.take(look(*AGREED), at=100)
    settler.take(disturbance, at=105)
    assert not settler.take(look(*AGREED), at=112).done


def test_a_look_that_failed_begins_the_window_anew():
    settler = Settler(seconds=10)
    settler.take(look(*AGREED), at=100)
    settler.lose()
    assert not settler.take(look(*AGREED), at=112).done


def test_a_definition_that_moved_during_the_wait_needs_a_minute():
    settler = Settler(seconds=None)
    settler.take(look(*AGREED), at=100)
    settling = settler.take(look(*AGREED, generation=2), at=105)
    assert settling.needed == 60


def test_a_definition_that_moved_just_before_needs_a_minute():
    assert Settler(seconds=None).take(look(*AGREED, changed=20), at=100).needed == 60


def test_a_given_window_outranks_the_default():
    assert Settler(seconds=5).take(look(*AGREED, changed=20), at=100).needed == 5


def test_r8_a_resource_that_no_server_knows_is_never_agreed_on():
    seen = look(*AGREED)
    assert seen.agreed
    assert not replace(seen, unheard_of=("gadgets.example.com",)).agreed


def test_what_nobody_can_know_is_not_waited_for_if_asked():
    seen = replace(look(*DIFFERING), unheard_of=("gadgets.example.com",))
    unknown = replace(seen.agreements[WIDGETS], status="unknown")

    assert not seen.without_unknown.agreed
    assert replace(seen, agreements={WIDGETS: unknown}).without_unknown.agreed


def aggregated(*encodings: str, endpoints: str) -> Look:
    proxied = AggregatedSight("example.com/v1", "ns/api", tuple(endpoints), tuple(endpoints))
    return seen(three_servers(WIDGETS, *encodings, aggregated={"example.com/v1": proxied}))


def test_what_nobody_can_know_is_left_out_by_name() -> None:
    unknown = aggregated("example.com/v1", "example.com/v1", endpoints="xy")
    assert not unknown.agreed
    assert unknown.left_out(["*.example.com"]) == (WIDGETS,)
    assert unknown.without([WIDGETS]).agreed
    assert unknown.left_out(["pods"]) == ()


def test_a_group_that_is_not_available_is_left_out_by_name() -> None:
    away = seen(cluster([server("a1", unreadable={"example.com/v1": "503"})], [lease("a")]))
    assert away.left_out(["*.example.com"]) == ("*.example.com",)


@pytest.mark.parametrize(
    "sight",
    [
        three_servers(WIDGETS, "example.com/v1", "example.com/v2"),
        three_servers(WIDGETS, "example.com/v1", leases=[lease("a"), lease("b")]),
        three_servers(WIDGETS, "example.com/v1", "example.com/v1"),
    ],
    ids=["servers that differ", "a server that was not seen", "what is agreed"],
)
def test_nothing_else_is_ever_left_out(sight: ClusterSight) -> None:
    assert seen(sight).left_out(["*"]) == ()
