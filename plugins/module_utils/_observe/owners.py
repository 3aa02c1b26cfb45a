# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""The ClusterRole that migrations belong to: what has no namespace can't belong to what has one."""

from __future__ import annotations

from urllib.parse import quote

from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.errors import (
    LockstepError,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.migrations import (
    MigrationOwner,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe import documents
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.documents import Document
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.servers import (
    ApiServer,
    ServerFault,
)

_CLUSTER_ROLES = "/apis/rbac.authorization.k8s.io/v1/clusterroles"


def observe_owner(server: ApiServer, name: str) -> MigrationOwner | None:
    """The ClusterRole of that name, as an owner; None without a name."""
    if not name:
        return None
    try:
        return server.get(f"{_CLUSTER_ROLES}/{quote(name, safe='')}").read(parse_owner)
    except ServerFault as fault:
        if fault.status != 404:
            raise
        raise LockstepError(
            f"The option owner is {name}",
            "There is no such ClusterRole",
            "Install it (kubectl apply -f roles/trigger/files/trigger.yml), or leave owner out",
        ) from fault


def parse_owner(document: Document) -> MigrationOwner:
    """A ClusterRole, as far as an owner is told by it."""
    documents.require_kind(document, "ClusterRole")
    metadata = documents.required_section(document, "metadata")
    return MigrationOwner(
        name=documents.text(metadata, "name"), uid=documents.text(metadata, "uid")
    )
