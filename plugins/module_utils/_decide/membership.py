# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""Which servers there are, and whether every one of them was seen (R1, R2).

An address says nothing about who answers behind it, and no answer names the lease of the server
that gave it. So servers are told apart by the moment they started, and counted against the leases.

Two errors must not cancel out in that count: two servers that share a hostname keep one lease, and
the lease of a server that froze a moment ago still counts. So a lease counts only if it was renewed
as often as servers do; and where leases tell the addresses of their servers, as they do since 1.36,
every published address must have one.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from urllib.parse import urlsplit

from .identity import judge_identity
from .observations import ClusterSight, Lease, Release, ServerSight
from .reasons import Reason, enumerate_names, plural

# Servers renew every 10 s: after three missed renewals something is wrong.
LIVE_WITHIN = timedelta(seconds=30)
# One that renews has done so this lately: the interval and its jitter, by a clock of whole seconds.
_RENEWED_WITHIN = timedelta(seconds=11)
# Clocks of servers differ a little. Beyond that the age of a lease says nothing.
_AHEAD = timedelta(seconds=2)
# How long a doubtful lease is read again: an interval and a half.
REREAD_WITHIN = timedelta(seconds=15)


@dataclass(frozen=True)
class DistinctServer:
    """One server, with every address it was reached at."""

    start_time: str
    addresses: tuple[str, ...]
    release: Release | None = None
    ready: bool = False


@dataclass(frozen=True)
class Membership:
    """Who is there. `complete` only if every server that may write was seen, ready and read."""

    complete: bool
    reasons: tuple[Reason, ...] = ()
    notes: tuple[Reason, ...] = ()
    distinct: tuple[DistinctServer, ...] = ()
    live: tuple[Lease, ...] = ()
    # Those of the live ones that may have stopped being renewed.
    doubtful: tuple[Lease, ...] = ()
    silent: tuple[Lease, ...] = ()
    expired: tuple[Lease, ...] = ()
    # Silent leases of servers that the operator vouched to be gone.
    gone: tuple[Lease, ...] = ()
    # Addresses that nobody answered at, or without saying which process it is.
    unread: tuple[str, ...] = ()
    # How many servers the operator expects; 0 is not told.
    expected: int = 0
    # Whether more speaks against the view than servers that were not heard: a server without a
    # lease of its own, of another cluster, or one that came or went during the look.
    inexplicable: bool = False


def decide_membership(sight: ClusterSight) -> Membership:
    """Decide whether the view is complete, with every reason that it is not."""
    live, silent, expired = _sort_leases(sight)
    gone = tuple(lease for lease in silent if _vouched(sight, lease))
    silent = tuple(lease for lease in silent if lease not in gone)
    distinct = _distinct_servers(sight.servers)
    doubtful = doubtful_leases(live, now=sight.now, renewed=sight.renewed_leases)
    inexplicable = (
        *judge_identity(sight),
        *_unexpected_published(sight=sight, distinct=distinct),
        *_leaseless_addresses(sight=sight, live=live),
        *_wrong_vouching(sight=sight, live=live),
    )
    reasons = (
        *_unread_servers(sight.servers),
        *_uncounted_servers(sight=sight, distinct=distinct, live=live),
        *_unexpected_count(sight=sight, distinct=distinct),
        *(_silent_reason(lease, sight.now) for lease in silent),
        *(_doubtful_reason(one, sight.now) for one in doubtful if not _vouched(sight, one)),
        *inexplicable,
    )
    return Membership(
        complete=not reasons,
        reasons=reasons,
        notes=(*_skewed_clocks(live, sight.now), *_idle_vouching(sight)),
        distinct=distinct,
        live=live,
        doubtful=doubtful,
        silent=silent,
        expired=expired,
        gone=gone,
        unread=tuple(one.address for one in sight.servers if one.fault or not one.start_time),
        expected=sight.expected_servers,
        inexplicable=bool(inexplicable),
    )


def doubtful_leases(
    leases: Iterable[Lease], *, now: datetime, renewed: Collection[str] = ()
) -> tuple[Lease, ...]:
    """The leases that count as live, but may have stopped being renewed: read them again.

    `renewed` are those that were seen to be renewed, so that no clock has to be believed.
    """
    return tuple(
        lease
        for lease in leases
        if lease.name not in renewed
        and now - lease.renewed <= LIVE_WITHIN
        and not -_AHEAD <= now - lease.renewed <= _RENEWED_WITHIN
    )


def renewed_leases(before: Iterable[Lease], after: Iterable[Lease]) -> frozenset[str]:
    """The names of leases that the same process renewed between two readings.

    Another holder is another process: what the first one does is not known.
    """
    earlier = {lease.name: lease for lease in before}
    return frozenset(
        lease.name
        for lease in after
        if lease.name in earlier
        and lease.renewed != earlier[lease.name].renewed
        and (lease.uid, lease.holder) == (earlier[lease.name].uid, earlier[lease.name].holder)
    )


def name_lease(lease: Lease) -> str:
    """Name a lease's server as an operator knows it."""
    return f"{lease.hostname} ({lease.name})" if lease.hostname else lease.name


def _sort_leases(
    sight: ClusterSight,
) -> tuple[tuple[Lease, ...], tuple[Lease, ...], tuple[Lease, ...]]:
    live, silent, expired = [], [], []
    for lease in sorted(sight.leases, key=lambda one: one.name):
        if sight.now - lease.renewed <= LIVE_WITHIN:
            live.append(lease)
        elif lease.renewed + timedelta(seconds=lease.duration_seconds) > sight.now:
            silent.append(lease)
        else:
            expired.append(lease)
    return tuple(live), tuple(silent), tuple(expired)


def _vouched(sight: ClusterSight, lease: Lease) -> bool:
    return lease.name in sight.gone_servers or (
        bool(lease.hostname) and lease.hostname in sight.gone_servers
    )


def _distinct_servers(servers: Iterable[ServerSight]) -> tuple[DistinctServer, ...]:
    groups: dict[str, list[ServerSight]] = {}
    for server in sorted(servers, key=lambda one: one.address):
        if not server.fault and server.start_time:
            groups.setdefault(server.start_time, []).append(server)
    found = (
        DistinctServer(
            start_time=start_time,
            addresses=tuple(sorted({one.address for one in group})),
            release=group[0].release,
            ready=all(one.ready for one in group),
        )
        for start_time, group in groups.items()
    )
    return tuple(sorted(found, key=lambda one: one.addresses))


def _unread_servers(servers: Iterable[ServerSight]) -> Iterable[Reason]:
    for server in sorted(servers, key=lambda one: one.address):
        if server.fault:
            yield Reason(
                f"server {server.address} could not be read: {server.fault}",
                server.remedy or "Make it answer, or stop it for good and name it in gone_servers",
                server=server.address,
            )
        elif not server.start_time:
            yield Reason(
                f"server {server.address} does not say when it started, so it can't be told "
                "apart from the others",
                "Allow this user to get the path /metrics/slis",
                server=server.address,
            )
        elif not server.ready:
            yield Reason(
                f"server {server.address} is not ready",
                server.remedy or "Wait until it is, or see its /readyz?verbose for what it lacks",
                server=server.address,
            )


def _uncounted_servers(
    *, sight: ClusterSight, distinct: tuple[DistinctServer, ...], live: tuple[Lease, ...]
) -> Iterable[Reason]:
    if not sight.servers:
        yield Reason(
            "no server was found",
            "Name the address of every server in servers",
        )
        return
    if not sight.leases:
        yield Reason(
            "no server keeps an identity lease in kube-system, so nothing tells how many there are",
            "Turn the feature gate APIServerIdentity on (it is by default since 1.26) on every "
            "server, and allow this user to list leases in kube-system",
        )
        return
    unread = sum(1 for one in sight.servers if one.fault or not one.start_time)
    missing = len(live) - len(distinct)
    seen = enumerate_names(_name_server(one) for one in distinct) or "none"
    hosts = enumerate_names(lease.hostname or lease.name for lease in live) or "none"
    if missing > unread:
        unseen = missing - unread
        shared = any(len(one.addresses) > 1 for one in distinct)
        yield Reason(
            f"{plural(len(live), 'server')} renewed an identity lease ({hosts}), but "
            f"{len(distinct)} could be read ({seen}): "
            f"{plural(unseen, 'server')} {'was' if unseen == 1 else 'were'} not seen",
            "Name each server's own address in servers, never a load balancer's"
            + (
                "; if addresses that look like one server are two that started in the same "
                "instant, restart one of them"
                if shared
                else ""
            ),
        )
    elif missing < 0:
        yield Reason(
            f"{plural(len(distinct), 'server')} could be read ({seen}), but of the identity "
            f"leases {len(live)} were renewed within {_seconds(LIVE_WITHIN)} ({hosts}): a server "
            "keeps none",
            "Wait if it is still starting; else turn its feature gate APIServerIdentity on, and "
            "keep every server of this cluster on its own hostname",
        )


def _unexpected_published(
    *, sight: ClusterSight, distinct: tuple[DistinctServer, ...]
) -> Iterable[Reason]:
    """What the servers publish must not exceed what was seen, nor change meanwhile."""
    unread = sum(1 for one in sight.servers if one.fault or not one.start_time)
    if sight.published_servers > len(distinct) + unread:
        yield Reason(
            "the EndpointSlice of default/kubernetes lists "
            f"{plural(sight.published_servers, 'server')}, but only {len(distinct) + unread} "
            "could be told apart",
            "Name each server's own address in servers",
        )
    if sight.published_generation != sight.published_generation_after:
        yield Reason(
            "a server joined or left the EndpointSlice of default/kubernetes during the look",
            "Look again once no server is being restarted",
        )


def _unexpected_count(
    *, sight: ClusterSight, distinct: tuple[DistinctServer, ...]
) -> Iterable[Reason]:
    if sight.expected_servers and sight.expected_servers != len(distinct):
        yield Reason(
            f"{plural(sight.expected_servers, 'server')} must be there by server_count, and "
            f"{len(distinct)} could be read",
            "Wait until all are up, or correct server_count",
        )


def _leaseless_addresses(*, sight: ClusterSight, live: tuple[Lease, ...]) -> Iterable[Reason]:
    """Published servers without a lease of their own, where leases tell their servers' addresses.

    With two address families a lease tells one of them, so that published servers are counted.
    Servers before 1.36, or that emulate one, tell none: beside those nothing follows.
    """
    if not all(lease.address for lease in live):
        return
    hosts = {urlsplit(url).netloc for url in sight.published_addresses}
    tied = {lease.address for lease in live} & hosts
    if tied and len(tied) < sight.published_servers:
        without = enumerate_names(sorted(hosts - tied))
        yield Reason(
            f"the EndpointSlice of default/kubernetes lists "
            f"{plural(sight.published_servers, 'server')}, but only "
            f"{enumerate_names(sorted(tied))} {'has' if len(tied) == 1 else 'have'} an identity "
            f"lease, and {without} {'has' if len(hosts - tied) == 1 else 'have'} none: servers "
            "that share a hostname overwrite each other's",
            "Give every server a hostname of its own, and --peer-advertise-ip to all of them or to "
            "none; wait if one is still starting",
        )


def _name_server(server: DistinctServer) -> str:
    if len(server.addresses) == 1:
        return server.addresses[0]
    return f"{' = '.join(server.addresses)}, one server"


def _silent_reason(lease: Lease, now: datetime) -> Reason:
    left = lease.renewed + timedelta(seconds=lease.duration_seconds) - now
    return Reason(
        f"server {name_lease(lease)} last renewed its lease {_seconds(now - lease.renewed)} ago "
        f"and may be frozen, not dead: it could still write (its lease expires in "
        f"{_seconds(left)})",
        "Bring it back; or make sure that it is dead and name it in gone_servers, or delete its "
        "lease in kube-system",
        lease=lease.name,
        server=lease.hostname,
    )


def _doubtful_reason(lease: Lease, now: datetime) -> Reason:
    age = now - lease.renewed
    when = f"{_seconds(age)} ago" if age >= timedelta() else f"{_seconds(-age)} in the future"
    return Reason(
        f"server {name_lease(lease)} renewed its lease {when}, and was not seen to renew it since: "
        "servers do so every 10 s, so it may be frozen",
        f"Look again; if it stays so for {_seconds(LIVE_WITHIN)}, bring the server back, or set "
        "the clocks of the servers right",
        lease=lease.name,
        server=lease.hostname,
    )


def _wrong_vouching(*, sight: ClusterSight, live: Iterable[Lease]) -> Iterable[Reason]:
    for lease in live:
        if _vouched(sight, lease):
            yield Reason(
                f"server {name_lease(lease)} is named in gone_servers, but it renewed its lease "
                f"{_seconds(max(sight.now - lease.renewed, timedelta()))} ago: it is not gone",
                "Take it out of gone_servers; if you have only just stopped it, look again after "
                f"{_seconds(LIVE_WITHIN)}",
                lease=lease.name,
                server=lease.hostname,
            )


def _idle_vouching(sight: ClusterSight) -> Iterable[Reason]:
    known = {name for lease in sight.leases for name in (lease.name, lease.hostname)}
    for name in sorted(sight.gone_servers - known):
        yield Reason(
            f"{name} is named in gone_servers, but no lease has that name or hostname",
            "Take it out of gone_servers if its lease has been collected; else see its spelling",
            server=name,
        )


def _skewed_clocks(live: Iterable[Lease], now: datetime) -> Iterable[Reason]:
    for lease in live:
        if lease.renewed - now > LIVE_WITHIN:
            yield Reason(
                f"server {name_lease(lease)} renewed its lease {_seconds(lease.renewed - now)} in "
                "the future: its clock is ahead, and it counts as live until then",
                "Set the clocks of the servers right",
                lease=lease.name,
                server=lease.hostname,
            )


def _seconds(span: timedelta) -> str:
    return f"{int(span.total_seconds())} s"
