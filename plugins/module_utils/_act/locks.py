# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""Takes and releases locks; every write is guarded by the version of the Lease that was read."""

from __future__ import annotations

import os
import socket
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.errors import (
    LockstepError,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.locks import (
    LABEL,
    NOTE,
    LockSight,
    lease_name,
    lease_spec,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.locks import observe_lock
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.servers import (
    ApiServer,
    ServerFault,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.storage_versions import (
    LEASES,
)

_ATTEMPTS = 5


@dataclass(frozen=True)
class LockChange:
    """A lock before, and who holds it now."""

    before: LockSight | None
    owner: str
    changed: bool
    note: str = ""


class HeldError(LockstepError):
    """Somebody else holds the lock."""


def hold(
    server: ApiServer,
    *,
    lock: str,
    owner: str,
    seconds: int,
    take_over: bool,
    must: bool,
    dry_run: bool,
    note: str | None = None,
) -> LockChange:
    """Hold a lock: take it if it is free, renew it if it is ours already.

    One of a process that is gone is free. Somebody else's is an error only if it `must` be had.
    A `note` stays with the lock, whoever holds it; None leaves it as it is.
    """
    for _attempt in range(_ATTEMPTS):
        found = observe_lock(server, lock)
        before = found.sight
        other = before is not None and before.held_by_other(owner=owner, now=found.now)
        if before and other and not take_over and not _is_dead(before.owner):
            if not must:
                return LockChange(before, before.owner, changed=False, note=before.note)
            raise HeldError(
                f"The lock {lock} is held by {before.owner}",
                f"It was renewed at {before.renewed} and holds for {before.seconds} s",
                "Wait until that run has ended; if it is dead, wait until the lock expires, or"
                " break it on purpose with take_over",
            )
        ours = before is not None and before.owner == owner and before.held(found.now)
        kept = _kept(before, note)
        noted = before is not None and before.note == kept
        change = LockChange(before, owner, changed=not (ours and noted), note=kept)
        if dry_run:
            return change
        spec = lease_spec(owner=owner, seconds=seconds, now=found.now)
        try:
            lease = _lease(found.document, lock, spec, kept)
            if found.document is None:
                server.post(LEASES, lease)
            else:
                server.put(f"{LEASES}/{lease_name(lock)}", lease)
        except ServerFault as fault:
            if fault.status not in (404, 409):
                raise
        else:
            return change
    raise HeldError(
        f"The lock {lock} could not be taken",
        f"Others wrote it during each of {_ATTEMPTS} attempts",
        "Run the task again",
    )


def release(
    server: ApiServer, *, lock: str, owner: str, dry_run: bool, note: str | None = None
) -> LockChange:
    """Release a lock that is ours; another's is left alone, and so is what is noted there."""
    found = observe_lock(server, lock)
    before = found.sight
    if before is None or before.owner != owner:
        holder = before.owner if before and before.held(found.now) else ""
        return LockChange(before, holder, changed=False, note=_kept(before, None))
    kept = _kept(before, note)
    if not dry_run and found.document is not None:
        spec = lease_spec(owner="", seconds=1, now=found.now)
        try:
            server.put(f"{LEASES}/{lease_name(lock)}", _lease(found.document, lock, spec, kept))
        except ServerFault as fault:
            # Somebody took it over meanwhile: then it is not ours to release.
            if fault.status not in (404, 409):
                raise
            return LockChange(before, before.owner, changed=False, note=before.note)
    return LockChange(before, "", changed=True, note=kept)


def _kept(before: LockSight | None, note: str | None) -> str:
    """What is noted from now on."""
    if note is not None:
        return note
    return before.note if before else ""


def _lease(
    found: Mapping[str, Any] | None, lock: str, spec: object, note: str
) -> dict[str, object]:
    """The Lease to write: the one that was found, or a new one."""
    new = {"name": lease_name(lock), "labels": {LABEL: lock}}
    metadata = dict(found["metadata"] if found else new)
    annotations = {k: v for k, v in (metadata.get("annotations") or {}).items() if k != NOTE}
    metadata["annotations"] = {**annotations, NOTE: note} if note else annotations
    head = found or {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease"}
    return {**head, "metadata": metadata, "spec": spec}


class ProcessLock:
    """A lock that one process holds while it works, and that its death sets free.

    It expires by itself; on the host of the dead process the next one need not wait for that.
    """

    _SECONDS = 60
    _RENEW_SECONDS = 15.0
    _POLL_SECONDS = 2.0

    def __init__(self, server: ApiServer, lock: str) -> None:
        self._server, self._lock = server, lock
        self._owner = name_process(os.getpid())
        self._renewed_at = 0.0

    def take(self, *, patience: float, say: Callable[[str], None]) -> None:
        """Take it; while another process works, wait, but not longer than `patience`."""
        begun = time.monotonic()
        while True:
            holder = self._hold()
            if holder == self._owner:
                return
            if time.monotonic() - begun > patience:
                raise HeldError(
                    f"The lock {self._lock} is held by {holder}",
                    "That run is at the same work",
                    "Wait until it has ended, or stop it",
                )
            say(f"waiting for {holder}, which is at the same work")
            time.sleep(self._POLL_SECONDS)

    def keep(self) -> bool:
        """Renew it from time to time; False if somebody else has it now."""
        if time.monotonic() - self._renewed_at < self._RENEW_SECONDS:
            return True
        try:
            return self._hold() == self._owner
        except ServerFault:
            # The server is away; the lock outlasts that.
            return True

    def release(self) -> None:
        """Give it back; else it expires by itself."""
        self._server.deadline = self._server.deadline.anew()
        with suppress(ServerFault):
            release(self._server, lock=self._lock, owner=self._owner, dry_run=False)

    def _hold(self) -> str:
        self._renewed_at = time.monotonic()
        self._server.deadline = self._server.deadline.anew()
        change = hold(
            self._server,
            lock=self._lock,
            owner=self._owner,
            seconds=self._SECONDS,
            take_over=False,
            must=False,
            dry_run=False,
        )
        return change.owner


def name_process(number: int) -> str:
    """Who a process is: its host, its number, and the namespace that the number counts in."""
    try:
        namespace = str(Path("/proc/self/ns/pid").readlink()).strip("pid:[]")
    except OSError:
        namespace = ""
    return f"{socket.gethostname()} process {number} in {namespace}"


def _is_dead(owner: str) -> bool:
    """Whether an owner was a process of this very host that is gone."""
    # Somebody's name may come before it.
    ours, theirs = name_process(os.getpid()).split(" "), owner.split(" ")[-5:]
    if len(theirs) != 5 or (ours[0], ours[4]) != (theirs[0], theirs[4]) or not ours[4]:
        return False
    return not Path("/proc", theirs[2]).exists()
