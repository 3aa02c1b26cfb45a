# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which servers there are, and whether all were seen."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.membership import (
    decide_membership,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.observations import (
    ServerSight,
)
from ansible_collections.lockstep.kubernetes.tests.unit.sights import cluster, lease, server


def said(membership) -> str:
    return " ".join(map(str, membership.reasons))


def test_as_many_servers_as_live_leases_is_a_complete_view():
    membership = decide_membership(cluster([server("a1"), server("b1")], [lease("a"), lease("b")]))
    assert membership.complete
    assert membership.reasons == ()
    assert [one.addresses for one in membership.distinct] == [("a1",), ("b1",)]


def test_r1_two_addresses_with_one_start_time_are_one_server():
    sight = cluster([server("a1", start_time="7"), server("a2", start_time="7")], [lease("a")])
    membership = decide_membership(sight)
    assert membership.complete
    assert [one.addresses for one in membership.distinct] == [("a1", "a2")]


def test_r1_two_addresses_of_one_server_do_not_make_up_for_an_unseen_one():
    servers = [server("a1", start_time="7"), server("a2", start_time="7"), server("b1")]
    membership = decide_membership(cluster(servers, [lease("a"), lease("b"), lease("c")]))
    assert not membership.complete
    assert "1 server was not seen" in said(membership)
    assert "a1 = a2, one server" in said(membership)
    assert "load balancer" in said(membership)


def test_r1_an_unseen_server_is_counted_by_its_lease():
    membership = decide_membership(cluster([server("a1")], [lease("a"), lease("b"), lease("c")]))
    assert not membership.complete
    assert "2 servers were not seen" in said(membership)
    assert "a, b and c" in said(membership)


def test_r1_a_server_without_a_lease_leaves_the_view_incomplete():
    membership = decide_membership(cluster([server("a1"), server("b1")], [lease("a")]))
    assert not membership.complete
    assert "a server keeps none" in said(membership)


def test_r1_without_leases_nothing_tells_how_many_servers_there_are():
    membership = decide_membership(cluster([server("a1")], []))
    assert not membership.complete
    assert "APIServerIdentity" in said(membership)


def test_r1_without_servers_the_view_is_incomplete():
    assert not decide_membership(cluster([], [lease("a")])).complete
    assert not decide_membership(cluster([], [])).complete


def test_r1_a_server_that_does_not_say_when_it_started_can_not_be_told_apart():
    servers = [server("a1"), ServerSight(address="b1", ready=True)]
    membership = decide_membership(cluster(servers, [lease("a"), lease("b")]))
    assert not membership.complete
    assert "/metrics/slis" in said(membership)


def test_a_server_with_a_fault_is_named_with_it():
    servers = [server("a1"), server("b1", fault="its certificate is not for this name")]
    membership = decide_membership(cluster(servers, [lease("a"), lease("b")]))
    assert not membership.complete
    (reason,) = membership.reasons
    assert reason.server == "b1"
    assert "its certificate is not for this name" in reason.text


def test_a_server_with_a_fault_leaves_the_view_incomplete_even_if_the_count_is_right():
    servers = [server("a1"), server("b1", fault="connection refused")]
    assert not decide_membership(cluster(servers, [lease("a")])).complete


def test_a_fault_does_not_hide_a_second_server_that_was_not_seen():
    servers = [server("a1"), server("b1", fault="connection refused")]
    membership = decide_membership(cluster(servers, [lease("a"), lease("b"), lease("c")]))
    assert "1 server was not seen" in said(membership)


def test_a_server_that_is_not_ready_is_named():
    servers = [server("a1"), server("b1", ready=False)]
    (reason,) = decide_membership(cluster(servers, [lease("a"), lease("b")])).reasons
    assert reason.server == "b1"
    assert "not ready" in reason.text


def test_r2_a_lease_neither_renewed_nor_expired_may_be_a_frozen_server():
    membership = decide_membership(cluster([server("a1")], [lease("a"), lease("b", age=31)]))
    assert not membership.complete
    (reason,) = membership.reasons
    assert (reason.lease, reason.server) == ("apiserver-b", "b")
    assert "frozen" in reason.text
    assert "gone_servers" in reason.remedy
    assert [one.hostname for one in membership.silent] == ["b"]


@pytest.mark.parametrize(("age", "complete"), [(3599, False), (3600, True), (3601, True)])
def test_r2_a_lease_counts_until_it_expires(age, complete):
    membership = decide_membership(cluster([server("a1")], [lease("a"), lease("b", age=age)]))
    assert membership.complete is complete
    assert bool(membership.expired) is complete


@pytest.mark.parametrize("name", ["b", "apiserver-b"])
def test_r2_a_silent_server_named_in_gone_servers_no_longer_counts(name):
    leases = [lease("a"), lease("b", age=600)]
    membership = decide_membership(cluster([server("a1")], leases, gone_servers=frozenset({name})))
    assert membership.complete
    assert [one.hostname for one in membership.gone] == ["b"]
    assert membership.silent == ()


def test_r2_vouching_for_a_server_that_renews_its_lease_is_wrong():
    servers = [server("a1"), server("b1")]
    membership = decide_membership(
        cluster(servers, [lease("a"), lease("b", age=12)], gone_servers=frozenset({"b"}))
    )
    assert not membership.complete
    (reason,) = membership.reasons
    assert "it is not gone" in reason.text
    assert reason.lease == "apiserver-b"


def test_vouching_for_a_server_without_a_lease_is_only_a_note():
    membership = decide_membership(
        cluster([server("a1")], [lease("a")], gone_servers=frozenset({"zz"}))
    )
    assert membership.complete
    assert "zz" in str(membership.notes[0])


@pytest.mark.parametrize(("ahead", "notes"), [(1, 0), (30, 0), (31, 1), (7200, 1)])
def test_a_lease_renewed_in_the_future_is_live_and_a_fast_clock_is_noted(ahead, notes):
    membership = decide_membership(cluster([server("a1")], [lease("a", age=-ahead)]))
    assert membership.complete
    assert [one.hostname for one in membership.live] == ["a"]
    assert len(membership.notes) == notes


@given(st.permutations(range(5)), st.permutations(range(4)))
def test_the_order_of_servers_and_leases_changes_nothing(servers_order, leases_order):
    servers = [
        server("a1", start_time="7"),
        server("a2", start_time="7"),
        server("b1"),
        server("c1", fault="refused"),
        server("d1", ready=False),
    ]
    leases = [lease("a"), lease("b"), lease("c", age=90), lease("d", age=9000)]
    shuffled = cluster([servers[i] for i in servers_order], [leases[i] for i in leases_order])
    assert decide_membership(shuffled) == decide_membership(cluster(servers, leases))


def test_r1_more_published_servers_than_seen_ones_make_the_view_incomplete():
    sight = cluster([server("a1"), server("b1")], [lease("a"), lease("b")], published_servers=3)
    membership = decide_membership(sight)
    assert not membership.complete
    assert "lists 3 servers" in membership.reasons[0].text


def test_fewer_servers_than_the_operator_expects_make_the_view_incomplete():
    sight = cluster([server("a1"), server("b1")], [lease("a"), lease("b")], expected_servers=3)
    membership = decide_membership(sight)
    assert not membership.complete
    assert "server_count" in membership.reasons[0].text


def test_r1_a_server_that_joined_or_left_during_the_look_makes_it_incomplete():
    moved = {"published_generation": "uid:1", "published_generation_after": "uid:2"}
    membership = decide_membership(cluster([server("a1")], [lease("a")], **moved))
    assert not membership.complete
    assert "during the look" in membership.reasons[0].text
