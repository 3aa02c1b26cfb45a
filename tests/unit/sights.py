# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Clusters as an observer sees them, built in few words for the tests."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.checks.facts import (
    AuditFacts,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.hashes import hash_of
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.names import (
    storage_version_name,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.observations import (
    ClusterIdentity,
    ClusterSight,
    Lease,
    Release,
    ServedResource,
    ServerSight,
    StorageVersionEntry,
    StorageVersionSight,
)

UID = "9f0c5f6e-kube-system"
# An audit of all of etcd that found nothing.
NO_KEYS = AuditFacts(
    versions={},
    bytes={},
    keys={},
    revision=7,
    encryption={},
    undecodable={},
    unmapped={},
    complete=True,
)
NOW = datetime(2026, 11, 16, 12, 0, 0, tzinfo=UTC)
KINDS = {
    "deployments.apps": "Deployment",
    "pods": "Pod",
    "widgets.example.com": "Widget",
    "events.events.k8s.io": "Event",
}
ALL_VERBS = frozenset({"create", "delete", "get", "list", "patch", "update", "watch"})


def lease(
    host: str, *, age: float = 5, duration: int = 3600, holder: str = "", address: str = ""
) -> Lease:
    """The identity lease of a host's server, renewed that many seconds ago."""
    return Lease(
        name=f"apiserver-{host}",
        hostname=host,
        holder=holder or f"apiserver-{host}_1",
        uid=f"uid-{host}",
        renewed=NOW - timedelta(seconds=age),
        duration_seconds=duration,
        address=address,
    )


def served(
    resource: str,
    encoding: str = "",
    *,
    storage_hash: str | None = None,
    versions: Iterable[str] = (),
    verbs: frozenset[str] = ALL_VERBS,
    contradictory: bool = False,
) -> ServedResource:
    """A resource as a server shows it that writes this encoding version (nothing: no hash)."""
    kind = KINDS.get(resource, "Thing")
    if storage_hash is None:
        storage_hash = hash_of(group_version=encoding, kind=kind) if encoding else ""
    return ServedResource(
        resource=resource,
        kind=kind,
        storage_hash=storage_hash,
        served_versions=tuple(versions) or ((encoding,) if encoding else ()),
        verbs=verbs,
        contradictory=contradictory,
    )


def server(
    address: str,
    *resources: ServedResource,
    start_time: str = "",
    ready: bool = True,
    fault: str = "",
    release: str = "v1.36.3",
    emulated: str = "",
    unreadable: dict[str, str] | None = None,
) -> ServerSight:
    """One address that answered (or did not, with its fault)."""
    return ServerSight(
        address=address,
        start_time="" if fault else start_time or f"start-of-{address}",
        release=None if fault else Release(release, emulated=emulated),
        ready=ready and not fault,
        fault=fault,
        resources={one.resource: one for one in resources},
        unreadable=unreadable or {},
    )


def cluster(
    servers: Iterable[ServerSight], leases: Iterable[Lease], **more: object
) -> ClusterSight:
    """One look at a cluster; with StorageVersion objects every server serves that API."""
    api = more.get("storage_versions") is not None
    identity = ClusterIdentity(UID, revision="4", leases=tuple(leases))
    sights = tuple(
        replace(one, storage_version_api=api, identity=one.identity or identity) for one in servers
    )
    return ClusterSight(
        now=NOW,
        servers=sights,
        leases=identity.leases,
        identity=identity,
        revisions={"endpointslices.discovery.k8s.io": 100},
        **more,
    )


def three_servers(
    resource: str, *encodings: str, leases: Iterable[Lease] | None = None, **more: object
) -> ClusterSight:
    """Servers a, b, c (as many as encodings), each with its lease, that write these encodings."""
    hosts = "abcdefgh"[: len(encodings)]
    return cluster(
        [
            server(f"address-{host}", served(resource, encoding))
            for host, encoding in zip(hosts, encodings, strict=True)
        ],
        leases if leases is not None else [lease(host) for host in hosts],
        **more,
    )


def reported(
    resource: str, encodings: dict[str, str], *, decodable: dict[str, tuple[str, ...]] | None = None
) -> StorageVersionSight:
    """A StorageVersion object with one entry per host."""
    return StorageVersionSight(
        resource=resource,
        name=storage_version_name(resource),
        entries=tuple(
            StorageVersionEntry(
                server_id=f"apiserver-{host}",
                encoding=encoding,
                decodable=(decodable or {}).get(host, (encoding,)),
                served=(encoding,),
            )
            for host, encoding in encodings.items()
        ),
    )
