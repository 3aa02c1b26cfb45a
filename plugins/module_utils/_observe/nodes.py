# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""The nodes' kubelets, and which host leads the controllers."""

from __future__ import annotations

from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe import documents
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.documents import Document
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.servers import (
    ApiServer,
    ServerFault,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.storage_versions import (
    LEASES,
)

_NODES = "/api/v1/nodes"
_LEADER = "kube-controller-manager"


def observe_kubelets(entry: ApiServer) -> dict[str, str]:
    """The release of every node's kubelet, page by page."""
    found: dict[str, str] = {}
    query = {"limit": "100"}
    while True:
        entry.deadline = entry.deadline.anew()
        page, token = entry.get(_NODES, **query).read(parse_kubelets)
        found |= page
        if not token:
            return found
        query["continue"] = token


def parse_kubelets(document: Document) -> tuple[dict[str, str], str]:
    """One page of nodes with the release of each, and where the next begins."""
    found = {}
    for item in documents.list_items(document, "NodeList"):
        told = documents.section(documents.section(item, "status"), "nodeInfo")
        name = documents.text(documents.section(item, "metadata"), "name")
        found[name] = documents.optional_text(told, "kubeletVersion")
    return found, documents.continue_token(document)


def observe_leader(entry: ApiServer) -> str:
    """The hostname of the controller manager that leads; empty where none tells."""
    try:
        return entry.get(f"{LEASES}/{_LEADER}").read(parse_leader)
    except ServerFault as fault:
        if fault.status == 404:
            return ""
        raise


def parse_leader(document: Document) -> str:
    """The host in the Lease of the controller manager that leads."""
    documents.require_kind(document, "Lease", name=_LEADER)
    holder = documents.optional_text(documents.section(document, "spec"), "holderIdentity")
    hostname, _underscore, _unique = holder.rpartition("_")
    return hostname
