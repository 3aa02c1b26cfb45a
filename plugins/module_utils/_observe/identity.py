# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""Which cluster a server is of, by what it serves (R12)."""

from __future__ import annotations

from dataclasses import replace

from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.observations import (
    ClusterIdentity,
    Lease,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe import documents
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.documents import Document
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.servers import ApiServer
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.storage_versions import (
    observe_leases,
)

KUBE_SYSTEM = "/api/v1/namespaces/kube-system"
_METADATA = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"


def observe_identity(server: ApiServer, leases: tuple[Lease, ...] | None = None) -> ClusterIdentity:
    """The namespace that every cluster has one of, and the leases unless they are known."""
    identity = server.get(KUBE_SYSTEM, accept=_METADATA).read(parse_namespace)
    return replace(identity, leases=observe_leases(server)[0] if leases is None else leases)


def parse_namespace(document: Document) -> ClusterIdentity:
    """What kube-system tells of its cluster."""
    namespace = documents.require_kind(document, "PartialObjectMetadata", name="kube-system")
    metadata = documents.required_section(namespace, "metadata")
    return ClusterIdentity(
        uid=documents.text(metadata, "uid"),
        revision=documents.text(metadata, "resourceVersion"),
    )
