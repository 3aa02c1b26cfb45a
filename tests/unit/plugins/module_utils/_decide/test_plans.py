# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is left of a rolling upgrade, from what the servers run."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.agreement import (
    decide_agreement,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.errors import (
    LockstepError,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.membership import (
    decide_membership,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.observations import (
    Release,
    ServerSight,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.plans import (
    Plan,
    Wanted,
    Wish,
    decide_from,
    decide_plan,
    judge_server,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.settling import Look
from ansible_collections.lockstep.kubernetes.tests.unit.sights import (
    cluster,
    lease,
    reported,
    served,
    server,
)

OLD, NEW = "v1.36.3", "v1.37.0"
HOSTS = ("cp-1", "cp-2", "cp-3")


def address(host: str) -> str:
    return f"https://{host}:6443"


def running(host: str, release: str, emulated: str = "", **more: Any) -> ServerSight:
    """The server of a host; one that emulates nothing says that it emulates itself."""
    own = ".".join(release.removeprefix("v").split(".")[:2])
    pods = served("pods", "v1")
    return server(address(host), pods, release=release, emulated=emulated or own, **more)


def look(*servers: ServerSight, **more: Any) -> Look:
    leases = [lease(host) for host, one in zip(HOSTS, servers, strict=False) if not one.fault]
    sight = cluster(servers, leases, **more)
    membership = decide_membership(sight)
    return Look(sight, membership, decide_agreement(sight=sight, membership=membership))


def plan(*releases: str | ServerSight, wish: Wish | None = None, **more: Any) -> Plan:
    """The plan for three hosts whose servers run these releases, such as v1.37.0:1.36."""
    servers = [
        running(host, *one.split(":")) if isinstance(one, str) else one
        for host, one in zip(HOSTS, releases, strict=True)
    ]
    known = {"nodes": {}, "kubelets": {}, **more}
    hosts = {host: address(host) for host in HOSTS}
    return decide_plan(look(*servers), wish or Wish(NEW), hosts=hosts, **known)


def left(given: str, *servers: Release, recorded: str = "") -> tuple[str, str]:
    release, running = decide_from(given, servers, to_release=recorded)
    return release, str(running)


def test_the_release_that_is_left_is_the_oldest_that_runs_unless_one_is_given() -> None:
    servers = (Release("v1.37.0"), Release("v1.36.3"))
    assert left("", *servers) == ("v1.36.3", "v1.36.3")
    assert left("v1.37.0", *servers) == ("v1.37.0", "v1.37.0")


def test_a_server_that_emulates_the_release_that_is_given_tells_what_it_reads() -> None:
    emulating = Release("v1.37.0", "1.36")
    assert left("v1.36.3", emulating) == ("v1.36.3", "v1.37.0 emulating 1.36")


def test_another_patch_of_the_same_minor_is_accepted() -> None:
    assert left("v1.36.1", Release("v1.36.3")) == ("v1.36.1", "v1.36.3")


def test_a_release_that_no_server_runs_is_refused() -> None:
    with pytest.raises(LockstepError, match=r"they run v1\.37\.0"):
        left("v1.35.4", Release("v1.37.0"))


def test_one_from_a_record_is_accepted_once_all_run_the_target() -> None:
    upgraded = (Release("v1.37.0"), Release("v1.37.0"))
    assert left("v1.36.3", *upgraded, recorded="v1.37.0") == ("v1.36.3", "v1.37.0")
    with pytest.raises(LockstepError, match=r"they run v1\.37\.0"):
        left("v1.36.3", *upgraded, recorded="v1.38.0")


def test_without_any_server_nothing_is_known_of_what_is_left() -> None:
    with pytest.raises(LockstepError, match="No server tells what it runs"):
        left("v1.36.3")


def test_all_servers_are_rolled_where_none_runs_the_release() -> None:
    found = plan(OLD, OLD, OLD)
    assert found.roll == HOSTS
    assert (found.from_release, found.begun) == (OLD, False)


def test_a_run_that_was_killed_goes_on_with_the_servers_that_are_left() -> None:
    found = plan(NEW, OLD, OLD)
    assert found.roll == ("cp-2", "cp-3")
    assert (found.from_release, found.begun) == (OLD, True)


def test_nothing_is_left_where_all_run_the_release() -> None:
    found = plan(NEW, NEW, NEW)
    assert (found.roll, found.begun, found.from_release) == ((), False, NEW)


def test_a_server_that_does_not_answer_comes_first_since_it_may_be_half_rolled() -> None:
    down = server(address("cp-3"), fault="connection refused")
    found = plan(OLD, OLD, down)
    assert found.roll == ("cp-3", "cp-1", "cp-2")
    assert found.silent == ("cp-3",)


@pytest.mark.parametrize("leader", ["cp-1", "cp-1.example.com"])
def test_the_leader_comes_last(leader: str) -> None:
    hosts = {"cp-1": "https://cp-1.example.com:6443", "cp-2": address("cp-2")}
    servers = [
        server(one, served("pods", "v1"), release=OLD, emulated="1.36") for one in hosts.values()
    ]
    found = decide_plan(
        look(*servers), Wish(NEW), hosts=hosts, nodes={}, kubelets={}, last=[leader]
    )
    assert found.roll == ("cp-2", "cp-1")


def test_in_coordinated_mode_new_servers_first_emulate_the_old_release() -> None:
    found = plan(OLD, f"{NEW}:1.36", OLD, wish=Wish(NEW, mode="coordinated"))
    assert (found.stage, found.wanted) == ("emulate", Wanted(NEW, "1.36"))
    assert found.roll == ("cp-1", "cp-3")


def test_in_coordinated_mode_a_server_that_does_not_emulate_goes_back_to_it() -> None:
    found = plan(OLD, NEW, OLD, wish=Wish(NEW, mode="coordinated"))
    assert found.roll == HOSTS


def test_once_all_are_new_the_emulation_is_taken_off() -> None:
    found = plan(*[f"{NEW}:1.36"] * 3, wish=Wish(NEW, mode="coordinated"))
    assert (found.stage, found.wanted, found.roll) == ("release", Wanted(NEW), HOSTS)


def test_a_patch_release_needs_no_emulation() -> None:
    found = plan(*["v1.37.0"] * 3, wish=Wish("v1.37.1", mode="coordinated"))
    assert (found.stage, found.wanted) == ("release", Wanted("v1.37.1"))


def test_the_way_back_leaves_the_newest_release() -> None:
    found = plan(NEW, OLD, NEW, wish=Wish(OLD, direction="rollback"))
    assert (found.roll, found.from_release) == (("cp-1", "cp-3"), NEW)


def test_nodes_are_done_once_their_kubelet_runs_the_release() -> None:
    found = plan(
        NEW,
        NEW,
        NEW,
        nodes={"w-1": "node-1", "w-2": "node-2"},
        kubelets={"node-1": NEW, "node-2": OLD},
    )
    assert found.roll_nodes == ("w-2",)


@pytest.mark.parametrize(
    ("releases", "wish", "words"),
    [
        ((OLD, OLD, OLD), Wish("v1.38.0"), "more than one minor release up"),
        (
            (NEW, NEW, NEW),
            Wish("v1.35.4", direction="rollback"),
            "more than one minor release back",
        ),
        ((NEW, NEW, NEW), Wish(OLD), "not an upgrade"),
        ((OLD, OLD, OLD), Wish(NEW, direction="rollback"), "no way back"),
        (("v1.36.1", OLD, NEW), Wish(NEW), "more than one release besides"),
    ],
)
def test_a_step_that_servers_are_not_made_for_is_refused(
    releases: tuple[str, ...], wish: Wish, words: str
) -> None:
    with pytest.raises(LockstepError, match=words):
        plan(*releases, wish=wish)


def test_one_server_under_two_names_is_refused() -> None:
    twice = [running(host, OLD, start_time="the same") for host in HOSTS[:2]]
    with pytest.raises(LockstepError, match="cp-1 and cp-2 are the same server"):
        plan(*twice, OLD)


def test_a_kubelet_that_the_new_servers_do_not_support_is_refused() -> None:
    with pytest.raises(LockstepError, match=r"node-1 \(v1.33.4\) is too old"):
        plan(OLD, OLD, OLD, kubelets={"node-1": "v1.33.4", "node-2": "v1.34.4"})


def test_no_server_that_answers_is_an_error_with_every_fault() -> None:
    down = [server(address(host), fault="connection refused") for host in HOSTS]
    with pytest.raises(LockstepError, match="cp-3: connection refused"):
        plan(*down)


# --- the gate of one server ---


def reasons(*servers: ServerSight, wanted: Wanted | None = None, **more: Any) -> str:
    found = judge_server(look(*servers, **more), address("cp-1"), wanted or Wanted(NEW))
    return " ".join(map(str, found))


def test_a_server_is_through_while_the_others_still_run_the_old_release() -> None:
    assert reasons(running("cp-1", NEW), running("cp-2", OLD), running("cp-3", OLD)) == ""


@pytest.mark.parametrize(
    ("sight", "words"),
    [
        (running("cp-1", OLD), "runs v1.36.3, not v1.37.0"),
        (running("cp-1", NEW, "1.36"), "runs v1.37.0 emulating 1.36, not v1.37.0"),
        (running("cp-1", NEW, ready=False), "is not ready"),
        (server(address("cp-1"), fault="connection refused"), "connection refused"),
        (running("cp-1", NEW, unreadable={"example.com/v1": "503"}), "can't serve it: 503"),
    ],
)
def test_a_server_is_not_through_while_it_lacks_anything(sight: ServerSight, words: str) -> None:
    assert words in reasons(sight, running("cp-2", OLD), running("cp-3", OLD))


def test_a_group_that_is_left_out_by_name_may_be_unavailable() -> None:
    seen = look(running("cp-1", NEW, unreadable={"example.com/v1": "503"}), running("cp-2", OLD))
    assert judge_server(seen, address("cp-1"), Wanted(NEW), left_out=["*.example.com"]) == ()
    assert judge_server(seen, address("cp-1"), Wanted(NEW), left_out=["*.other.com"]) != ()


def test_a_server_is_not_through_while_another_one_does_not_serve() -> None:
    said = reasons(running("cp-1", NEW), running("cp-2", OLD, ready=False), running("cp-3", OLD))
    assert "https://cp-2:6443 is not ready" in said


def test_a_server_is_not_through_before_it_has_reported_what_it_encodes() -> None:
    servers = [running("cp-1", NEW), running("cp-2", OLD)]
    entries = {"pods": reported("pods", {"cp-2": "v1"})}
    assert "cp-1 has not reported" in reasons(*servers, storage_versions=entries)
    entries = {"pods": reported("pods", {"cp-1": "v1", "cp-2": "v1"})}
    assert reasons(*servers, storage_versions=entries) == ""


def test_kubelets_of_vendors_are_compared_by_their_release() -> None:
    found = plan(
        NEW,
        NEW,
        NEW,
        nodes={"w-1": "node-1", "w-2": "node-2", "w-3": "node-3"},
        kubelets={"node-1": f"{NEW}-eks-4a0d11f", "node-2": f"{NEW}+k3s1", "node-3": f"{OLD}+k3s1"},
    )
    assert found.roll_nodes == ("w-3",)
    assert found.notes == ()


def test_a_kubelet_whose_version_is_no_release_is_named_and_stops_nothing() -> None:
    found = plan(OLD, OLD, OLD, kubelets={"virtual-1": "N/A", "node-1": f"{OLD}-gke.100"})
    assert found.roll == HOSTS
    assert "virtual-1 (N/A)" in str(found.notes[0])
    assert "node-1" not in str(found.notes[0])


@pytest.mark.parametrize("leader", ["2001:db8::1", "2001:0DB8:0:0::0001", "[2001:db8::1]"])
def test_the_leader_is_found_by_its_ipv6_address_however_it_is_written(leader: str) -> None:
    hosts = {"cp-1": "https://[2001:db8::1]:6443", "cp-2": "https://[2001:db8::2]:6443"}
    servers = [
        server(one, served("pods", "v1"), release=OLD, emulated="1.36") for one in hosts.values()
    ]
    found = decide_plan(
        look(*servers), Wish(NEW), hosts=hosts, nodes={}, kubelets={}, last=[leader]
    )
    assert found.roll == ("cp-2", "cp-1")


def test_a_note_that_the_step_was_judged_holds_both_ways_while_it_is_under_way() -> None:
    note = plan(NEW, OLD, OLD).step
    assert plan(NEW, OLD, OLD).judged(note)
    assert plan(NEW, OLD, NEW, wish=Wish(OLD, direction="rollback")).judged(note)
    assert not plan(NEW, OLD, OLD).judged("v1.35.4 and v1.36.3")
    assert not plan(NEW, OLD, OLD).judged("")


@pytest.mark.parametrize("releases", [(OLD, OLD, OLD), (NEW, NEW, NEW)])
def test_a_note_that_the_step_was_judged_dies_with_the_step(releases: tuple[str, ...]) -> None:
    note = plan(NEW, OLD, OLD).step
    assert not plan(*releases).judged(note)
