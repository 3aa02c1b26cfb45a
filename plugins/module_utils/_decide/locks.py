# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""Locks that several runs respect: a Lease each, with an owner and an expiry."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

LABEL = "lockstep.kubernetes/lock"
NOTE = "lockstep.kubernetes/note"
UPGRADE = "upgrade"


@dataclass(frozen=True)
class LockSight:
    """One lock, as its Lease shows it."""

    name: str
    owner: str
    renewed: datetime | None
    seconds: int
    # What an earlier holder left for whoever comes next.
    note: str = ""

    def held(self, now: datetime) -> bool:
        """Whether somebody holds it at this moment."""
        if not self.owner or self.renewed is None:
            return False
        return now < self.renewed + timedelta(seconds=self.seconds)

    def held_by_other(self, *, owner: str, now: datetime) -> bool:
        """Whether somebody else holds it at this moment."""
        return self.owner != owner and self.held(now)


def lease_name(lock: str) -> str:
    """The name of the Lease behind a lock."""
    return f"lockstep-{lock}"


def lease_spec(*, owner: str, seconds: int, now: datetime) -> Mapping[str, Any]:
    """What a Lease says while its lock is held; without an owner nobody holds it."""
    moment = now.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    if not owner:
        return {"holderIdentity": "", "leaseDurationSeconds": 1, "renewTime": moment}
    return {
        "holderIdentity": owner,
        "leaseDurationSeconds": seconds,
        "acquireTime": moment,
        "renewTime": moment,
    }
