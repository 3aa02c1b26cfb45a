# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""Is every server of the cluster that the kubeconfig leads to (R12)?

Two clusters may share a CA, and one that was restored from the other's snapshot has its UID too.
So the UID of kube-system and the holders of the identity leases must be the same everywhere.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta

from .observations import ClusterIdentity, ClusterSight
from .reasons import Reason, enumerate_names

_REMEDY = "Name only servers of the cluster that the kubeconfig leads to"


def judge_identity(sight: ClusterSight) -> Iterable[Reason]:
    """Every server that is, or may be, of another cluster than the entry."""
    entry = sight.identity
    for server in sorted(sight.servers, key=lambda one: one.address):
        if server.fault:
            continue
        if server.identity is None or not server.identity.uid or not entry.uid:
            yield Reason(
                f"server {server.address} does not show which cluster it is of",
                "Allow this user to get the namespace kube-system",
                server=server.address,
            )
        elif server.identity.uid != entry.uid:
            yield Reason(
                f"server {server.address} is of another cluster: its kube-system has the UID "
                f"{server.identity.uid}, the kubeconfig leads to one with {entry.uid}",
                _REMEDY,
                server=server.address,
            )
        else:
            yield from _other_processes(server.address, server.identity, entry, sight.now)


def _other_processes(
    address: str, own: ClusterIdentity, entry: ClusterIdentity, now: datetime
) -> Iterable[Reason]:
    """Leases that one side has and the other has not: another store, or a restart meanwhile."""
    differing = _holders(own, now) ^ _holders(entry, now)
    if differing:
        names = enumerate_names(sorted({name for name, _holder in differing}))
        yield Reason(
            f"server {address} shows other holders of the identity leases ({names}) than the "
            "kubeconfig leads to: it is of a copy of this cluster, or a server was restarted "
            "during the observation",
            f"Observe again once no server is being restarted; if it stays: {_REMEDY}",
            server=address,
        )


def _holders(identity: ClusterIdentity, now: datetime) -> set[tuple[str, str]]:
    """Who holds leases that count: those that have expired may be collected at any moment."""
    return {
        (lease.name, lease.holder)
        for lease in identity.leases
        if lease.renewed + timedelta(seconds=lease.duration_seconds) > now
    }
