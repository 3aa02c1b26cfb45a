# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""A lock as the plain data that a module returns."""

from __future__ import annotations

from typing import Any

from ansible_collections.lockstep.kubernetes.plugins.module_utils._act.locks import LockChange


def present_lock(change: LockChange, *, owner: str) -> dict[str, Any]:
    """What became of a lock."""
    before = {"owner": change.before.owner if change.before else ""}
    return {
        "changed": change.changed,
        "held": change.owner == owner,
        "owner": change.owner,
        "note": change.note,
        "diff": {"before": before, "after": {"owner": change.owner}},
    }
