# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""The Leases behind Lockstep's own locks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.locks import (
    LABEL,
    NOTE,
    LockSight,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.times import parse_time
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.servers import ApiServer
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.storage_versions import (
    LEASES,
)


@dataclass(frozen=True)
class FoundLock:
    """A lock's Lease, if there is one, and the server's time."""

    sight: LockSight | None
    document: Mapping[str, Any] | None
    now: datetime


def observe_lock(server: ApiServer, lock: str) -> FoundLock:
    """Read one lock. A list, since its answer tells the server's time even where there is none."""
    answer = server.get(LEASES, labelSelector=f"{LABEL}={lock}")
    now = answer.clock()
    for document in answer.json().get("items") or []:
        spec = document.get("spec") or {}
        sight = LockSight(
            name=lock,
            owner=spec.get("holderIdentity") or "",
            renewed=parse_time(spec.get("renewTime")),
            seconds=int(spec.get("leaseDurationSeconds") or 0),
            note=str((document["metadata"].get("annotations") or {}).get(NOTE) or ""),
        )
        return FoundLock(sight, document, now)
    return FoundLock(None, None, now)
