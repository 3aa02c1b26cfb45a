# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Clusters that never were: what the verdict says, held against what is true.

A true cluster is made first, with servers alive, frozen, dead and restarting. Then comes what an
observer can get to see of it, and only that is judged.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from hypothesis import event, given, settings
from hypothesis import strategies as st

from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.agreement import (
    decide_agreement,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.membership import (
    decide_membership,
)
from ansible_collections.lockstep.kubernetes.tests.unit.sights import (
    cluster,
    lease,
    reported,
    served,
    server,
)

DEPLOYMENTS = "deployments.apps"
VERSIONS = ("apps/v1", "apps/v1beta2")


@dataclass(frozen=True)
class TrueServer:
    """One server as it really is."""

    host: str
    # alive | starting | frozen | killed (its lease stays) | stopped (its lease is deleted)
    state: str
    encoding: str
    # What it reported to the StorageVersion API: a restart may have left an older entry behind.
    entry: str | None
    lease_age: int
    has_lease: bool
    # Whether the observer knows its address, under one or two names, and gets an answer.
    listed: bool
    two_addresses: bool
    answers: bool
    vouched: bool

    @property
    def may_write(self) -> bool:
        if self.state == "alive":
            return True
        return self.state == "frozen" and self.lease_age < 3600

    @property
    def seen(self) -> bool:
        return self.listed and self.answers and self.state in ("alive", "starting")


@st.composite
def true_servers(draw, host: str) -> TrueServer:
    state = draw(
        st.sampled_from(["alive"] * 4 + ["frozen"] * 2 + ["starting", "killed", "stopped"])
    )
    encoding = draw(st.sampled_from([VERSIONS[0]] * 4 + [VERSIONS[1]]))
    ages = {
        "alive": st.integers(0, 12),
        "starting": st.sampled_from([0, 5, 25, 300]),
        "frozen": st.sampled_from([0, 11, 29, 31, 600, 3599, 4000]),
        "killed": st.sampled_from([0, 29, 31, 600, 3599, 4000]),
        "stopped": st.just(0),
    }
    return TrueServer(
        host=host,
        state=state,
        encoding=encoding,
        # A server enters its version before it writes; one that starts may not have yet.
        entry=encoding
        if state in ("alive", "frozen")
        else draw(st.sampled_from([None, *VERSIONS])),
        lease_age=draw(ages[state]),
        has_lease=state != "stopped" and (state != "starting" or draw(st.booleans())),
        # A frozen or dead server leaves the EndpointSlice after some seconds.
        listed=draw(st.sampled_from([True] * 4 + [False]))
        if state in ("alive", "starting")
        else draw(st.sampled_from([True] + [False] * 4)),
        two_addresses=draw(st.sampled_from([False] * 2 + [True])),
        answers=draw(st.sampled_from([True] * 9 + [False])),
        # The operator vouches in good faith for the dead, and sometimes wrongly for the living.
        vouched=draw(st.booleans())
        if state in ("killed", "stopped")
        else state == "alive" and draw(st.sampled_from([False] * 9 + [True])),
    )


@st.composite
def true_clusters(draw) -> tuple[TrueServer, ...]:
    return tuple(draw(true_servers(host)) for host in "abcd"[: draw(st.integers(1, 4))])


def sights(one: TrueServer):
    names = [f"{one.host}1", f"{one.host}2"] if one.two_addresses else [f"{one.host}1"]
    for name in names if one.listed else ():
        if one.seen:
            yield server(
                name,
                served(DEPLOYMENTS, one.encoding),
                start_time=f"start-{one.host}",
                ready=one.state == "alive",
            )
        elif one.state != "stopped":
            yield server(name, fault="no answer within 5 s")


def look(servers: tuple[TrueServer, ...], *, api_on: bool):
    entries = {one.host: one.entry for one in servers if one.entry is not None}
    return cluster(
        [sight for one in servers for sight in sights(one)],
        [lease(one.host, age=one.lease_age) for one in servers if one.has_lease],
        gone_servers=frozenset(one.host for one in servers if one.vouched),
        storage_versions={DEPLOYMENTS: reported(DEPLOYMENTS, entries)} if api_on else None,
    )


# The one that everything rests on: it gets more examples than the others.
@settings(max_examples=4 * settings.default.max_examples)
@given(servers=true_clusters(), api_on=st.booleans())
def test_never_agreed_if_a_server_that_may_write_encodes_otherwise_or_was_not_seen(servers, api_on):
    agreement = decide_agreement(sight=look(servers, api_on=api_on)).get(DEPLOYMENTS)
    event(agreement.status if agreement else "nothing seen")
    if agreement is None or not agreement.agreed:
        return
    writers = [one for one in servers if one.may_write]
    assert all(one.seen for one in writers)
    assert {one.encoding for one in writers} == {agreement.encoding_version}


@given(servers=true_clusters(), api_on=st.booleans())
def test_never_agreed_if_two_servers_that_were_read_differ(servers, api_on):
    agreement = decide_agreement(sight=look(servers, api_on=api_on)).get(DEPLOYMENTS)
    if len({one.encoding for one in servers if one.seen}) > 1:
        assert agreement.status == "disagreeing"


@given(
    hosts=st.integers(1, 4),
    encoding=st.sampled_from(VERSIONS),
    api_on=st.booleans(),
    dead=st.booleans(),
)
def test_a_healthy_cluster_is_agreed_so_that_never_agreed_is_no_answer(
    hosts, encoding, api_on, dead
):
    alive = TrueServer("", "alive", encoding, encoding, 5, True, True, False, True, False)
    servers = [replace(alive, host="abcd"[n]) for n in range(hosts)]
    if dead:
        servers.append(
            replace(alive, host="z", state="killed", lease_age=600, listed=False, vouched=True)
        )
    agreement = decide_agreement(sight=look(tuple(servers), api_on=api_on))[DEPLOYMENTS]
    assert agreement.agreed
    assert agreement.encoding_version == encoding


@given(servers=true_clusters(), api_on=st.booleans(), data=st.data())
def test_the_order_in_which_things_were_seen_changes_nothing(servers, api_on, data):
    sight = look(servers, api_on=api_on)
    shuffled = replace(
        sight,
        servers=tuple(data.draw(st.permutations(sight.servers))),
        leases=tuple(data.draw(st.permutations(sight.leases))),
        storage_versions=sight.storage_versions
        and {
            name: replace(one, entries=tuple(data.draw(st.permutations(one.entries))))
            for name, one in sight.storage_versions.items()
        },
    )
    assert decide_agreement(sight=shuffled) == decide_agreement(sight=sight)


@given(servers=true_clusters(), api_on=st.booleans())
def test_whatever_is_not_agreed_has_a_reason_with_a_remedy_that_names_what_it_is_about(
    servers, api_on
):
    sight = look(servers, api_on=api_on)
    of_the_view = decide_membership(sight).reasons
    for agreement in decide_agreement(sight=sight).values():
        assert agreement.agreed == (not agreement.reasons)
        for reason in agreement.reasons:
            assert reason.remedy
            assert reason in of_the_view or reason.resource == agreement.resource
            assert reason in of_the_view or agreement.resource in reason.text
