# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""The StorageVersion API, and the identity leases behind it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timezone
from typing import Any

from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide import names
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.observations import (
    UNKNOWN,
    Lease,
    StorageVersionEntry,
    StorageVersionSight,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.times import parse_time
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.servers import (
    ApiServer,
    ServerFault,
)

STORAGE_VERSIONS = "/apis/internal.apiserver.k8s.io/v1alpha1/storageversions"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
_IDENTITY = "apiserver.kubernetes.io/identity=kube-apiserver"
_LONG_AGO = datetime(1970, 1, 1, tzinfo=timezone.utc)


def observe_leases(entry: ApiServer) -> tuple[tuple[Lease, ...], datetime]:
    """The identity leases of all servers, and the time by the clock of the one that answered."""
    answer = entry.get(LEASES, labelSelector=_IDENTITY)
    leases = tuple(_lease(item) for item in answer.json().get("items") or [])
    return leases, answer.clock()


def observe_lease(entry: ApiServer, name: str) -> tuple[Lease, datetime] | None:
    """One lease and the time, if there is one. After a write this is far faster than a list."""
    try:
        answer = entry.get(f"{LEASES}/{name}")
    except ServerFault as fault:
        if fault.status != 404:
            raise
        return None
    return _lease(answer.json()), answer.clock()


def observe_storage_versions(server: ApiServer) -> dict[str, StorageVersionSight]:
    """All StorageVersion objects by resource, from a server that serves the API."""
    answer = server.get(STORAGE_VERSIONS)
    sights = (storage_version_sight(item) for item in answer.json().get("items") or [])
    return {sight.resource: sight for sight in sights}


def storage_version_sight(item: Mapping[str, Any]) -> StorageVersionSight:
    """One StorageVersion object as an observation."""
    status = item.get("status") or {}
    conditions = status.get("conditions") or []
    equal = (c for c in conditions if c["type"] == "AllEncodingVersionsEqual")
    condition: Mapping[str, Any] = next(equal, {})
    name = item["metadata"]["name"]
    return StorageVersionSight(
        resource=names.resource_of_storage_version(name),
        name=name,
        entries=tuple(
            StorageVersionEntry(
                server_id=entry.get("apiServerID", ""),
                encoding=entry.get("encodingVersion", ""),
                decodable=tuple(entry.get("decodableVersions") or ()),
                served=tuple(entry.get("servedVersions") or ()),
            )
            for entry in status.get("storageVersions") or []
        ),
        common=status.get("commonEncodingVersion") or "",
        condition=condition.get("status", UNKNOWN),
        condition_reason=condition.get("reason", ""),
        last_transition=condition.get("lastTransitionTime") or "",
        resource_version=item["metadata"]["resourceVersion"],
    )


def _lease(item: Mapping[str, Any]) -> Lease:
    spec, metadata = item.get("spec") or {}, item["metadata"]
    return Lease(
        name=metadata["name"],
        hostname=(metadata.get("labels") or {}).get("kubernetes.io/hostname", ""),
        holder=spec.get("holderIdentity") or "",
        uid=metadata["uid"],
        renewed=parse_time(spec.get("renewTime")) or _LONG_AGO,
        duration_seconds=int(spec.get("leaseDurationSeconds") or 0),
    )
