# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which servers there are, and whether all were seen."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.membership import (
    decide_membership,
    doubtful_leases,
    renewed_leases,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.observations import (
    ServerSight,
)
from ansible_collections.lockstep.kubernetes.tests.unit.sights import NOW, cluster, lease, server


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
def test_a_lease_that_is_renewed_in_the_future_is_live_and_a_fast_clock_is_noted(ahead, notes):
    renewed = frozenset({"apiserver-a"})
    sight = cluster([server("a1")], [lease("a", age=-ahead)], renewed_leases=renewed)
    membership = decide_membership(sight)
    assert membership.complete
    assert [one.hostname for one in membership.live] == ["a"]
    assert len(membership.notes) == notes


@pytest.mark.parametrize(("ahead", "complete"), [(1, True), (2, True), (3, False), (7200, False)])
def test_the_age_of_a_lease_from_the_future_is_not_believed(ahead, complete):
    membership = decide_membership(cluster([server("a1")], [lease("a", age=-ahead)]))
    assert membership.complete is complete


@pytest.mark.parametrize(("age", "complete"), [(10, True), (11, True), (11.5, False), (30, False)])
def test_r2_a_lease_older_than_servers_let_them_get_may_be_a_frozen_servers(age, complete):
    leases = [lease("a"), lease("b", age=age)]
    membership = decide_membership(cluster([server("a1"), server("b1")], leases))
    assert membership.complete is complete
    assert [one.hostname for one in membership.doubtful] == ([] if complete else ["b"])
    assert complete or "may be frozen" in said(membership)


def test_r2_an_old_lease_that_was_seen_to_be_renewed_is_not_doubtful():
    # The clock of its server is behind.
    sight = cluster([server("a1")], [lease("a", age=25)], renewed_leases=frozenset({"apiserver-a"}))
    assert decide_membership(sight).complete


def test_r1_two_servers_on_one_hostname_do_not_make_up_for_a_frozen_one():
    servers, leases = [server("a1"), server("a2")], [lease("a"), lease("c", age=20)]
    membership = decide_membership(cluster(servers, leases))
    assert not membership.complete
    assert "c (apiserver-c)" in said(membership)


def test_r1_a_published_server_without_a_lease_of_its_own_is_named():
    servers = [server("https://a:1"), server("https://b:1")]
    leases = [lease("a", address="a:1"), lease("c", address="c:1")]
    published = frozenset({"https://a:1", "https://b:1"})
    sight = cluster(servers, leases, published_servers=2, published_addresses=published)
    membership = decide_membership(sight)
    assert not membership.complete
    assert "b:1 has none" in said(membership)
    assert "hostname of its own" in said(membership)


@pytest.mark.parametrize(
    "addresses",
    [("", ""), ("a:1", ""), ("x:9", "y:9"), ("a:1", "b:1"), ("[::a]:1", "[::b]:1")],
    ids=["before 1.36", "one of them", "other addresses for peers", "one family", "the other"],
)
def test_leases_that_tell_all_or_nothing_of_the_published_addresses_are_no_reason(addresses):
    servers = [server("https://a:1"), server("https://b:1")]
    leases = [lease(host, address=one) for host, one in zip("ab", addresses, strict=True)]
    published = frozenset({"https://a:1", "https://b:1", "https://[::a]:1", "https://[::b]:1"})
    sight = cluster(servers, leases, published_servers=2, published_addresses=published)
    assert decide_membership(sight).complete


class TestTwoReadings:
    def test_a_lease_with_a_newer_time_was_renewed(self):
        assert renewed_leases([lease("a", age=20)], [lease("a", age=2)]) == {"apiserver-a"}

    def test_one_that_stayed_was_not(self):
        assert renewed_leases([lease("a", age=20)], [lease("a", age=20)]) == frozenset()

    def test_another_holder_says_nothing_about_the_first(self):
        after = [lease("a", age=2, holder="apiserver-a_2")]
        assert renewed_leases([lease("a", age=20)], after) == frozenset()

    def test_one_that_came_or_went_was_not(self):
        assert renewed_leases([lease("a")], [lease("b")]) == frozenset()

    def test_only_what_counts_as_live_is_read_again(self):
        leases = [lease("a"), lease("b", age=20), lease("c", age=31), lease("d", age=-60)]
        doubtful = doubtful_leases(leases, now=NOW)
        assert [one.hostname for one in doubtful] == ["b", "d"]
        renewed = {"apiserver-b", "apiserver-d"}
        assert doubtful_leases(leases, now=NOW, renewed=renewed) == ()


@dataclass(frozen=True)
class Process:
    """A server of the real world behind an observation."""

    number: int
    host: str
    # Whether it keeps a lease at all, and for how long it has been frozen; -1: it is not.
    identity: bool
    frozen: float
    # How long ago it had renewed, when it froze or was looked at: its lease and its publication.
    renewed: float
    published: float
    read: bool

    @property
    def address(self) -> str:
        return f"10.0.0.{self.number}:6443"

    @property
    def age(self) -> float:
        return self.renewed + max(self.frozen, 0)

    @property
    def is_published(self) -> bool:
        # Others take it out of the EndpointSlice 15 s after it said last that it is there.
        return self.frozen < 0 or self.published + self.frozen < 15


@st.composite
def worlds(draw):
    """Servers that share hostnames, freeze, keep no lease, and are not all read."""
    count = draw(st.integers(1, 4))
    moments = st.floats(0, 10)
    return [
        Process(
            number=number,
            host=draw(st.sampled_from("abc")),
            identity=draw(st.integers(0, 3)) > 0,
            frozen=frozen,
            renewed=draw(moments),
            published=draw(moments),
            # One that is frozen does not answer.
            read=frozen < 0 and draw(st.integers(0, 3)) > 0,
        )
        for number in range(count)
        for frozen in [draw(st.one_of(st.just(-1.0), st.floats(0, 60)))]
    ]


def keepers(world):
    """Whose renewal each lease shows: the last one's, where servers share a hostname."""
    ordered = sorted(world, key=lambda one: one.age, reverse=True)
    return {one.host: one for one in ordered if one.identity}


def observe(world, *, addresses):
    """What an operator sees who names only the servers that can be read."""
    published = [one for one in world if one.is_published]
    return cluster(
        [server(f"https://{one.address}") for one in world if one.read],
        [
            lease(host, age=one.age, address=one.address if addresses else "")
            for host, one in keepers(world).items()
        ],
        published_servers=len(published),
        published_addresses=frozenset(f"https://{one.address}" for one in published),
    )


def leaves_a_trace(process, world, *, addresses):
    """Whether anything at all tells of a server that was not read.

    One that froze without a lease of its own, and has left the EndpointSlice, is known to nobody
    but the operator: that is what server_count is for. And unless leases tell where their servers
    are, as they do since 1.36, its lease must have aged: until then another server without a lease
    may stand in for it.
    """
    if process.read or process.is_published:
        return True
    keeping = keepers(world).values()
    tied = addresses and any(one.is_published for one in keeping)
    return process in keeping and (tied or process.age > 11)


@settings(max_examples=max(1000, settings().max_examples))
@given(worlds(), st.booleans())
def test_r1_no_two_errors_make_a_view_complete_that_misses_a_server(world, addresses):
    assume(all(leaves_a_trace(one, world, addresses=addresses) for one in world))
    membership = decide_membership(observe(world, addresses=addresses))
    assert not membership.complete or all(one.read for one in world)


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
