# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""Which servers and nodes are still to be rolled, and in what order: from what they run now."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal
from urllib.parse import urlsplit

from .addresses import canonical_host
from .catalogue import parse_release
from .errors import LockstepError
from .names import split_group_version
from .observations import Release, ServerSight
from .reasons import Reason, enumerate_names
from .releases import of_release, read_numbers
from .settling import Look

Mode = Literal["rolling", "coordinated"]
Direction = Literal["upgrade", "rollback"]
# emulate: the new release comes in while it writes as the old one. release: it writes as itself.
Stage = Literal["emulate", "release"]

# How many minor releases a kubelet may be behind its API servers.
KUBELET_SKEW = 3


@dataclass(frozen=True)
class Wish:
    """What is asked for."""

    release: str
    mode: Mode = "rolling"
    direction: Direction = "upgrade"


@dataclass(frozen=True)
class Wanted:
    """What each server is to run in the end of a stage."""

    release: str
    emulated: str = ""

    def __str__(self) -> str:
        return str(Release(self.release, self.emulated))

    def met_by(self, release: Release | None) -> bool:
        """Whether a server runs just that."""
        if release is None or release.git_version != self.release:
            return False
        return own_emulation(release) == self.emulated


@dataclass(frozen=True)
class PlannedServer:
    """One host of the inventory, and the server that was found there."""

    host: str
    address: str
    sight: ServerSight
    done: bool

    def __str__(self) -> str:
        state = "done" if self.done else "to be rolled"
        if self.sight.fault:
            return f"{self.host} ({self.address}): {self.sight.fault}; {state}"
        ready = "" if self.sight.ready else ", not ready"
        return f"{self.host} ({self.address}): {self.sight.release}{ready}; {state}"


@dataclass(frozen=True)
class PlannedNode:
    """One host of the inventory that is a node, and what its kubelet runs; empty if unknown."""

    host: str
    kubelet: str
    done: bool


@dataclass(frozen=True)
class Plan:
    """All that is left to do, read from the cluster alone."""

    wish: Wish
    wanted: Wanted
    stage: Stage
    from_release: str
    servers: tuple[PlannedServer, ...]
    nodes: tuple[PlannedNode, ...]
    # Hosts whose servers are still to be rolled, the first first.
    roll: tuple[str, ...]
    # What speaks against a complete view of the servers.
    reasons: tuple[Reason, ...] = ()
    # What to know besides.
    notes: tuple[Reason, ...] = ()

    @property
    def roll_nodes(self) -> tuple[str, ...]:
        """Hosts whose kubelets are still to be rolled."""
        return tuple(one.host for one in self.nodes if not one.done)

    @property
    def step(self) -> str:
        """The step by the name that a run notes it under once it has judged it.

        A verdict holds for the way back, too, so it does not matter which of the two ways.
        """
        return " and ".join(sorted((self.from_release, self.wanted.release)))

    def judged(self, note: str) -> bool:
        """Whether a note says that this step was judged before its first server was upgraded.

        It dies with the step: where no server is upgraded, or all are, there is none under way.
        """
        return self.begun and note == self.step

    @property
    def begun(self) -> bool:
        """Whether some servers are rolled and some are not."""
        return bool(self.roll) and any(one.done for one in self.servers)

    @property
    def answering(self) -> tuple[str, ...]:
        """The addresses of the servers that answer."""
        return tuple(one.address for one in self.servers if not one.sight.fault)

    @property
    def silent(self) -> tuple[str, ...]:
        """Hosts whose servers do not answer."""
        return tuple(one.host for one in self.servers if one.sight.fault)


def own_emulation(release: Release) -> str:
    """What a server emulates; empty if it is itself."""
    own = ".".join(map(str, parse_release(release.git_version)[:2]))
    return "" if release.emulated in ("", own) else release.emulated


def decide_from(
    given: str, running: Sequence[Release], *, to_release: str = ""
) -> tuple[str, Release]:
    """The release that is left, and the server that tells what it writes and reads.

    It is the oldest that a server runs, unless one is given: by its minor, that must be what a
    server runs or emulates. With `to_release` it is what an earlier run has recorded, which
    no server runs any more once all of them run that.
    """
    if not running:
        raise LockstepError(
            "It is not known which release is left",
            "No server tells what it runs",
            "See that the servers are reached, and that they answer under /version",
        )
    oldest = min(running, key=lambda one: parse_release(one.git_version))
    if not given:
        return oldest.git_version, oldest
    minor = parse_release(given)[:2]
    like = [one for one in running if minor in (_minor(one.git_version), _emulated(one))]
    if like:
        exact = [one for one in like if one.git_version == given]
        return given, (exact or like)[0]
    if to_release and all(_minor(one.git_version) == _minor(to_release) for one in running):
        return given, oldest
    names = enumerate_names(sorted(set(map(str, running))))
    raise LockstepError(
        f"The option from_release is {given}",
        f"No server runs or emulates that: they run {names}",
        "Leave it out, or give the release that the servers run",
    )


def _minor(release: str) -> tuple[int, int]:
    return parse_release(release)[:2]


def _emulated(release: Release) -> tuple[int, int] | None:
    found = own_emulation(release)
    return _minor(f"{found}.0") if found else None


def decide_plan(
    look: Look,
    wish: Wish,
    *,
    hosts: Mapping[str, str],
    nodes: Mapping[str, str],
    kubelets: Mapping[str, str],
    last: Iterable[str] = (),
) -> Plan:
    """Say what is left to do.

    `hosts` are the addresses of servers by host, `nodes` the names of nodes by host, `kubelets`
    the releases by node, and `last` the hosts or addresses whose server leads, to be rolled last.
    A host whose server was not looked at is one that is known to be down.
    """
    seen = {one.address: one for one in look.sight.servers}
    sights = {host: seen.get(address) or _down(address) for host, address in hosts.items()}
    _check_distinct(sights)
    running = [one.release for one in sights.values() if one.release]
    if not running:
        raise LockstepError(
            "No server tells what it runs",
            " ".join(f"{host}: {one.fault}." for host, one in sights.items()),
            "See that the addresses in hosts are those of the API servers, and that they run",
        )
    stage, wanted = _decide_stage(wish, running)
    left = [one for one in running if not wanted.met_by(one)]
    from_release = _from_release(wish, left, wanted)
    _check_step(wish, running, from_release)
    _check_kubelets(wish, kubelets)
    servers = tuple(
        PlannedServer(host, hosts[host], sight, wanted.met_by(sight.release) and not sight.fault)
        for host, sight in sights.items()
    )
    return Plan(
        wish=wish,
        wanted=wanted,
        stage=stage,
        from_release=from_release,
        servers=servers,
        nodes=tuple(
            PlannedNode(
                host, kubelets.get(node, ""), of_release(kubelets.get(node, ""), wanted.release)
            )
            for host, node in nodes.items()
        ),
        roll=_order(servers, frozenset(map(canonical_host, last))),
        reasons=look.membership.reasons,
        notes=tuple(_unread_kubelets(wish, kubelets)),
    )


def judge_server(
    look: Look, address: str, wanted: Wanted, *, left_out: Iterable[str] = ()
) -> tuple[Reason, ...]:
    """Every reason that the roll may not go on after this server; none if it may.

    `left_out` are resources that nobody can know, and that the operator does without.
    """
    return (
        *_server_reasons(look, address, wanted, set(left_out)),
        # The others have to serve as before, and this one has to be counted among them.
        *(one for one in look.membership.reasons if one.server != address),
        *_unreported(look),
    )


def _server_reasons(
    look: Look, address: str, wanted: Wanted, left_out: Collection[str]
) -> Iterable[Reason]:
    sight = next((one for one in look.sight.servers if one.address == address), None)
    if sight is None or sight.fault:
        why = sight.fault if sight else "it is not among the servers"
        yield Reason(
            f"server {address} does not answer: {why}",
            (sight.remedy if sight else "") or "See its log on its host",
            server=address,
        )
        return
    if not wanted.met_by(sight.release):
        yield Reason(
            f"server {address} runs {sight.release}, not {wanted}",
            "See whether its host really starts the new one",
            server=address,
        )
    if not sight.ready:
        yield Reason(
            f"server {address} is not ready",
            sight.remedy or "See its /readyz?verbose for what it lacks",
            server=address,
        )
    for version, words in sorted(sight.unreadable.items()):
        if f"*.{split_group_version(version)[0]}" in left_out:
            continue
        yield Reason(
            f"server {address} lists {version} but can't serve it: {words}",
            "See whether what is behind it runs",
            server=address,
        )


def _unreported(look: Look) -> Iterable[Reason]:
    """Servers that have not written yet what they encode, where that is to be seen."""
    storage_versions = look.sight.storage_versions
    if not storage_versions or not look.sight.all_report:
        return
    reported = {entry.server_id for one in storage_versions.values() for entry in one.entries}
    for lease in look.membership.live:
        if lease.name not in reported:
            yield Reason(
                f"server {lease.hostname or lease.name} has not reported what it encodes",
                "Wait until its post-start hook has run; else see its log",
                lease=lease.name,
                server=lease.hostname,
            )


def _down(address: str) -> ServerSight:
    return ServerSight(address, fault="its process has ended")


def _check_distinct(sights: Mapping[str, ServerSight]) -> None:
    """Refuse an inventory in which one server stands twice."""
    first: dict[str, str] = {}
    for host, sight in sights.items():
        if not sight.start_time:
            continue
        other = first.setdefault(sight.start_time, host)
        if other != host:
            raise LockstepError(
                f"The hosts {other} and {host} are the same server",
                f"{sight.address} is answered by a process that started at the same moment",
                "Give each host the address of its own server, never that of a load balancer",
            )


def _decide_stage(wish: Wish, running: Sequence[Release]) -> tuple[Stage, Wanted]:
    """Which stage the cluster is in, from what its servers run."""
    target = parse_release(wish.release)[:2]
    older = [one.git_version for one in running if parse_release(one.git_version)[:2] < target]
    if wish.mode == "coordinated" and wish.direction == "upgrade" and older:
        minor = min(parse_release(one)[:2] for one in older)
        return "emulate", Wanted(wish.release, ".".join(map(str, minor)))
    return "release", Wanted(wish.release)


def _from_release(wish: Wish, left: Sequence[Release], wanted: Wanted) -> str:
    """The release that is left: the oldest of those to be rolled, or the newest on the way back."""
    if not left:
        return wanted.release
    pick = max if wish.direction == "rollback" else min
    return pick((one.git_version for one in left), key=parse_release)


def _check_step(wish: Wish, running: Sequence[Release], from_release: str) -> None:
    """Refuse a step that servers are not made for, before anything is touched."""
    wanted = parse_release(wish.release)
    others = sorted({one.git_version for one in running} - {wish.release, from_release})
    if others:
        raise LockstepError(
            f"The servers run {enumerate_names([from_release, *others])}",
            f"That is more than one release besides {wish.release}",
            "Bring all servers to one release first",
        )
    old = parse_release(from_release)
    way = "up" if wish.direction == "upgrade" else "back"
    if abs(wanted[1] - old[1]) > 1 or wanted[0] != old[0]:
        raise LockstepError(
            f"The release {wish.release} is asked for, and servers run {from_release}",
            f"That is more than one minor release {way}",
            "Go one minor release at a time, with a migration after each",
        )
    if way == "up" and wanted[:3] < old[:3]:
        raise LockstepError(
            f"The release {wish.release} is asked for, and servers run {from_release}",
            "That is not an upgrade",
            "Correct kubernetes_version; to go back run the playbook rollback",
        )
    if way == "back" and wanted[:3] > old[:3]:
        raise LockstepError(
            f"The release {wish.release} is asked for, and servers run {from_release}",
            "That is no way back",
            "Correct kubernetes_version; to go on run the playbook upgrade_cluster",
        )


def _check_kubelets(wish: Wish, kubelets: Mapping[str, str]) -> None:
    """Refuse to leave kubelets behind that the new servers do not support."""
    wanted = parse_release(wish.release)
    numbers = {node: read_numbers(version) for node, version in kubelets.items()}
    behind = sorted(
        f"{node} ({kubelets[node]})"
        for node, found in numbers.items()
        if found and found[1] + KUBELET_SKEW < wanted[1]
    )
    if behind:
        raise LockstepError(
            f"The kubelet of {enumerate_names(behind, at_most=5)} is too old",
            f"Servers of {wish.release} support kubelets that are {KUBELET_SKEW} minor releases"
            " behind, and no older ones",
            "Upgrade these nodes first",
        )


def _unread_kubelets(wish: Wish, kubelets: Mapping[str, str]) -> Iterable[Reason]:
    """Kubelets whose version is no release, such as a virtual kubelet's: none to be refused."""
    unread = sorted(
        f"{node} ({version or 'none'})"
        for node, version in kubelets.items()
        if read_numbers(version) is None
    )
    if unread:
        yield Reason(
            f"the kubelet of {enumerate_names(unread, at_most=5)} tells a version that is no"
            " release, so whether it is too old is not known",
            f"See whether it works with servers of {wish.release}",
        )


def _order(servers: Iterable[PlannedServer], last: frozenset[str]) -> tuple[str, ...]:
    """One that is down first, since it may be half rolled; one that leads last."""

    def rank(one: PlannedServer) -> int:
        if one.sight.fault or not one.sight.ready:
            return 0
        address = urlsplit(one.address).hostname or ""
        leads = canonical_host(one.host) in last or canonical_host(address) in last
        return 2 if leads else 1

    return tuple(one.host for one in sorted(servers, key=rank) if not one.done)
