# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""The StorageVersion API, and the identity leases behind it."""

from __future__ import annotations

import time
from datetime import datetime

from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide import names
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.membership import (
    REREAD_WITHIN,
    doubtful_leases,
    renewed_leases,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.observations import (
    UNKNOWN,
    Lease,
    StorageVersionEntry,
    StorageVersionSight,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.times import parse_time
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe import documents
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.documents import (
    Document,
    require_kind,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.servers import (
    ApiServer,
    ServerFault,
)

STORAGE_VERSIONS = "/apis/internal.apiserver.k8s.io/v1alpha1/storageversions"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
_IDENTITY = "apiserver.kubernetes.io/identity=kube-apiserver"
# Where other servers reach the one that keeps the lease: written since 1.36.
_ADDRESS = "kubernetes.io/peer-advertise-address"
_REREAD_SECONDS = 1.0


def observe_leases(entry: ApiServer) -> tuple[tuple[Lease, ...], datetime]:
    """The identity leases of all servers, and the time by the clock of the one that answered."""
    answer = entry.get(LEASES, labelSelector=_IDENTITY)
    return answer.read(parse_leases), answer.clock()


def observe_leases_again(
    entry: ApiServer, leases: tuple[Lease, ...], now: datetime
) -> tuple[tuple[Lease, ...], datetime, frozenset[str]]:
    """Read doubtful leases again until each was renewed, or was so for too long.

    The last reading, the time of it, and the names of leases that were seen to be renewed.
    """
    first, begun = leases, time.monotonic()
    renewed: frozenset[str] = frozenset()
    while doubtful_leases(leases, now=now, renewed=renewed):
        if time.monotonic() - begun >= REREAD_WITHIN.total_seconds():
            break
        time.sleep(_REREAD_SECONDS)
        entry.deadline = entry.deadline.anew()
        leases, now = observe_leases(entry)
        renewed = renewed_leases(first, leases)
    return leases, now, renewed


def observe_lease(entry: ApiServer, name: str) -> tuple[Lease, datetime] | None:
    """One lease and the time, if there is one. After a write this is far faster than a list."""
    try:
        answer = entry.get(f"{LEASES}/{name}")
    except ServerFault as fault:
        if fault.status != 404:
            raise
        return None
    lease = answer.read(lambda document: _lease(require_kind(document, "Lease", name=name)))
    return lease, answer.clock()


def parse_leases(document: Document) -> tuple[Lease, ...]:
    """A list of identity leases."""
    return tuple(_lease(item) for item in documents.list_items(document, "LeaseList"))


def observe_storage_versions(server: ApiServer) -> dict[str, StorageVersionSight]:
    """All StorageVersion objects by resource, from a server that serves the API."""
    return server.get(STORAGE_VERSIONS).read(parse_storage_versions)


def parse_storage_versions(document: Document) -> dict[str, StorageVersionSight]:
    """A list of StorageVersion objects, by resource."""
    items = documents.list_items(document, "StorageVersionList")
    return {sight.resource: sight for sight in map(storage_version_sight, items)}


def storage_version_sight(item: Document) -> StorageVersionSight:
    """One StorageVersion object as an observation."""
    metadata, status = documents.section(item, "metadata"), documents.section(item, "status")
    conditions = documents.sections(status, "conditions")
    equal = (one for one in conditions if one.get("type") == "AllEncodingVersionsEqual")
    condition: Document = next(equal, {})
    name = documents.text(metadata, "name")
    return StorageVersionSight(
        resource=names.resource_of_storage_version(name),
        name=name,
        entries=tuple(
            StorageVersionEntry(
                server_id=documents.text(entry, "apiServerID"),
                encoding=documents.text(entry, "encodingVersion"),
                decodable=documents.texts(entry, "decodableVersions"),
                served=documents.texts(entry, "servedVersions"),
            )
            for entry in documents.sections(status, "storageVersions")
        ),
        common=documents.optional_text(status, "commonEncodingVersion"),
        condition=documents.optional_text(condition, "status") or UNKNOWN,
        condition_reason=documents.optional_text(condition, "reason"),
        last_transition=documents.optional_text(condition, "lastTransitionTime"),
        resource_version=documents.text(metadata, "resourceVersion"),
    )


def _lease(item: Document) -> Lease:
    metadata, spec = documents.section(item, "metadata"), documents.section(item, "spec")
    labels = documents.section(metadata, "labels")
    annotations = documents.section(metadata, "annotations")
    name = documents.text(metadata, "name")
    renewed = parse_time(spec.get("renewTime"))
    if renewed is None:
        # Without it nothing tells whether its server lives.
        raise documents.MalformedError(f"the lease {name} has no renewTime")
    return Lease(
        name=name,
        hostname=documents.optional_text(labels, "kubernetes.io/hostname"),
        holder=documents.optional_text(spec, "holderIdentity"),
        uid=documents.text(metadata, "uid"),
        renewed=renewed,
        duration_seconds=documents.number(spec, "leaseDurationSeconds"),
        address=documents.optional_text(annotations, _ADDRESS),
    )
