# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""The processes of a host as the plain data that a module returns."""

from __future__ import annotations

from typing import Any

from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.processes import (
    HostSight,
    HostVerdict,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.reasons import (
    enumerate_names,
)


def present_processes(verdict: HostVerdict, sight: HostSight) -> dict[str, Any]:
    """What server_process_info returns: names only, since arguments may hold secrets."""
    return {
        "changed": False,
        "summary": _summarise(verdict, sight),
        "ended": verdict.ended,
        "processes": [
            {"pid": one.pid, "name": one.name, "state": one.state} for one in verdict.servers
        ],
        "blind": list(verdict.blind),
    }


def _summarise(verdict: HostVerdict, sight: HostSight) -> list[str]:
    if verdict.servers:
        named = enumerate_names(f"{one.name} ({one.pid})" for one in verdict.servers)
        return [f"A process of an API server is there: {named}."]
    if verdict.blind:
        why = enumerate_names(verdict.blind)
        return [f"Whether a process of an API server is left is not known: {why}."]
    return [f"No process of an API server is left; {len(sight.processes)} processes were seen."]
