# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""Removes stale entries from StorageVersion objects, but none of a server that may still write."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.errors import (
    LockstepError,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.membership import (
    decide_membership,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.observations import (
    StorageVersionSight,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.reasons import (
    enumerate_names,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.settling import Look
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.voting import (
    Pruned,
    prune_entries,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.servers import (
    Access,
    ApiServer,
    Deadline,
    ServerFault,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.storage_versions import (
    STORAGE_VERSIONS,
    observe_lease,
    storage_version_sight,
)

_ATTEMPTS = 5
_CONDITION = "AllEncodingVersionsEqual"


@dataclass(frozen=True)
class Pruning:
    """What was pruned, by resource, the objects as they were before, and the last look."""

    look: Look
    pruned: Mapping[str, Pruned]
    before: Mapping[str, StorageVersionSight]


class _Moved(Exception):
    """An object, or the lease behind an entry, changed between the look and the write."""


def prune_stale_entries(
    access: Access, *, look: Callable[[], Look], timeout: float, dry_run: bool
) -> Pruning:
    """Prune every chosen object; for what changed meanwhile the whole view is taken anew."""
    done: dict[str, Pruned] = {}
    before: dict[str, StorageVersionSight] = {}
    for _attempt in range(_ATTEMPTS):
        planned = decide_pruning(look())
        if dry_run:
            return planned
        if not planned.pruned:
            return Pruning(planned.look, done, before)
        written = _write_all(access, planned, timeout)
        done.update(written)
        before.update((resource, planned.before[resource]) for resource in written)
        if len(written) == len(planned.pruned):
            return Pruning(planned.look, done, before)
    raise LockstepError(
        "Stale entries could not be removed",
        f"The StorageVersion objects changed during each of {_ATTEMPTS} attempts",
        "Run the task again once no server is being restarted",
    )


def decide_pruning(look: Look) -> Pruning:
    """What would be pruned on this view."""
    before = look.sight.storage_versions or {}
    plans = {
        name: prune_entries(storage_version=sight, membership=look.membership)
        for name, sight in before.items()
    }
    return Pruning(look, {name: plan for name, plan in plans.items() if plan.changed}, before)


def _serving_address(look: Look) -> str:
    return next(one.address for one in look.sight.servers if one.storage_version_api)


def _write_all(access: Access, planned: Pruning, timeout: float) -> dict[str, Pruned]:
    """Write what is planned. What changed meanwhile is left out: it must be looked at anew."""
    server = ApiServer(access, _serving_address(planned.look), Deadline(timeout))
    written = {}
    try:
        for resource, pruned in planned.pruned.items():
            server.deadline = Deadline(timeout)
            with suppress(_Moved):
                _write(server, planned.before[resource], pruned, planned.look)
                written[resource] = pruned
        _require_gone(server, written.values(), planned.look)
        return written
    except ServerFault as fault:
        raise LockstepError(
            f"Stale entries could not be removed through {server.address}",
            fault.fault,
            fault.remedy,
        ) from fault
    finally:
        server.close()


def _living(server: ApiServer, ids: Iterable[str], look: Look) -> list[str]:
    """Which of these servers may write after all, by their leases now.

    The guard of an object does not show a server that came back: it reports what its old entry
    already says, so the object does not change.
    """
    living = []
    for name in sorted(set(ids)):
        seen = observe_lease(server, name)
        if seen:
            lease, now = seen
            membership = decide_membership(replace(look.sight, leases=(lease,), now=now))
            living += [one.name for one in (*membership.live, *membership.silent)]
    return living


def _require_gone(server: ApiServer, written: Iterable[Pruned], look: Look) -> None:
    living = _living(server, {one for pruned in written for one in pruned.removed}, look)
    if living:
        raise LockstepError(
            f"Entries of {enumerate_names(living)} were removed while it came back",
            "It renews its lease again, but what it reported is gone from the StorageVersion"
            " objects",
            "Restart it, or wait ten minutes, after which it reports anew; migrate nothing before",
        )


def _write(server: ApiServer, sight: StorageVersionSight, pruned: Pruned, look: Look) -> None:
    path = f"{STORAGE_VERSIONS}/{sight.name}"
    guard = {"preconditions": {"resourceVersion": sight.resource_version}}
    if _living(server, pruned.removed, look):
        raise _Moved
    try:
        if pruned.empty:
            server.delete(path, guard)
            return
        document = server.get(path).read(
            partial(_without_stale, sight=sight, pruned=pruned, look=look)
        )
        server.put(f"{path}/status", document)
    except ServerFault as fault:
        if fault.status in (404, 409):
            raise _Moved from fault
        raise


def _without_stale(
    document: dict[str, Any], *, sight: StorageVersionSight, pruned: Pruned, look: Look
) -> dict[str, Any]:
    """The object to write, if it is still the one that was looked at."""
    if storage_version_sight(document).resource_version != sight.resource_version:
        raise _Moved
    return {**document, "status": _status(document["status"], pruned, look)}


def _status(status: Mapping[str, Any], pruned: Pruned, look: Look) -> dict[str, Any]:
    """The status without the stale entries, as a server itself would have written it."""
    kept = {entry.server_id for entry in pruned.entries}
    entries = [e for e in status["storageVersions"] if e["apiServerID"] in kept]
    conditions = [dict(condition) for condition in status.get("conditions") or []]
    condition = next((c for c in conditions if c["type"] == _CONDITION), None)
    if condition is None:
        condition = {"type": _CONDITION}
        conditions.append(condition)
    if (condition.get("status"), status.get("commonEncodingVersion") or "") != (
        pruned.condition,
        pruned.common,
    ):
        condition["lastTransitionTime"] = look.sight.now.strftime("%Y-%m-%dT%H:%M:%SZ")
    condition["status"] = pruned.condition
    condition["reason"] = pruned.condition_reason
    condition["message"] = (
        "Common encoding version set" if pruned.common else "Common encoding version unset"
    )
    updated: dict[str, Any] = {"storageVersions": entries, "conditions": conditions}
    if pruned.common:
        updated["commonEncodingVersion"] = pruned.common
    return updated
