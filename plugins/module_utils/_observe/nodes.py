# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""The nodes' kubelets, and which host leads the controllers."""

from __future__ import annotations

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
        document = entry.get(_NODES, **query).json()
        for item in document.get("items") or []:
            told = (item.get("status") or {}).get("nodeInfo") or {}
            found[item["metadata"]["name"]] = told.get("kubeletVersion") or ""
        token = (document.get("metadata") or {}).get("continue")
        if not token:
            return found
        query["continue"] = token


def observe_leader(entry: ApiServer) -> str:
    """The hostname of the controller manager that leads; empty where none tells."""
    try:
        spec = entry.get(f"{LEASES}/{_LEADER}").json().get("spec") or {}
    except ServerFault as fault:
        if fault.status == 404:
            return ""
        raise
    hostname, _underscore, _unique = (spec.get("holderIdentity") or "").rpartition("_")
    return hostname
