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
from datetime import timedelta
from pathlib import Path
from typing import Any

from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.errors import (
    LockstepError,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.locks import (
    LABEL,
    NOTE,
    LockSight,
    ProcessIdentity,
    lease_name,
    lease_spec,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.locks import (
    FoundLock,
    observe_lock,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.servers import (
    ApiServer,
    Deadline,
    ServerFault,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.storage_versions import (
    LEASES,
)

_ATTEMPTS = 5
# Which field behind the name in /proc/PID/stat is the start, from 0.
_STARTED = 19


@dataclass(frozen=True)
class LockChange:
    """A lock before, and who holds it now."""

    before: LockSight | None
    owner: str
    changed: bool
    note: str = ""


class HeldError(LockstepError):
    """Somebody else holds the lock."""


class LostError(LockstepError):
    """A lock that was held is, or may be, somebody else's now."""


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
        _refuse_foreign(found, lock)
        before = found.sight
        other = before is not None and before.held_by_other(owner=owner, now=found.now)
        if before and other and not take_over and not is_dead(before.owner):
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


def renew(server: ApiServer, *, lock: str, owner: str, seconds: int, after: timedelta) -> str:
    """Renew a lock that is older than `after`, only as long as it is ours; who holds it."""
    found = observe_lock(server, lock)
    before = found.sight
    if before is None or before.owner != owner:
        return before.owner if before else ""
    if before.renewed is None or found.now - before.renewed >= after:
        spec = lease_spec(owner=owner, seconds=seconds, now=found.now)
        try:
            lease = _lease(found.document, lock, spec, before.note)
            server.put(f"{LEASES}/{lease_name(lock)}", lease)
        except ServerFault as fault:
            # Somebody wrote it meanwhile: whose it is now is seen the next time.
            if fault.status not in (404, 409):
                raise
    return owner


def _refuse_foreign(found: FoundLock, lock: str) -> None:
    """Whatever a Lease is for that is not ours, it is not ours to write."""
    if found.foreign:
        raise LockstepError(
            f"The lock {lock} can't be taken",
            f"The Lease {lease_name(lock)} in kube-system is not Lockstep's: it lacks the label"
            f" {LABEL}={lock}, and is held by {found.foreign}",
            "See who made it, and delete or rename it; or use another name for the lock",
        )


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
    # How long before its end it counts as lost: servers tell whole seconds, and what was begun
    # under it takes a moment to end.
    _MARGIN_SECONDS = 5.0
    _POLL_SECONDS = 2.0

    def __init__(self, server: ApiServer, lock: str) -> None:
        self._server, self._lock = server, lock
        self._timeout = server.deadline.seconds
        self._owner = str(identify_process(os.getpid()))
        # When it was last tried to renew it, and until when nobody else can have it.
        self._tried_at = self._until = 0.0
        # Why it could not be renewed when that was last tried.
        self._fault = ""

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

    def keep(self) -> None:
        """Renew it from time to time; LostError once somebody else has it, or may have it."""
        now = _seconds()
        pause = self._POLL_SECONDS if self._fault else self._RENEW_SECONDS
        if now < self._until:
            if now - self._tried_at < pause:
                return
            # Who waits longer than the lock holds goes on writing without it.
            self._renew(within=self._until - now)
        if _seconds() >= self._until:
            raise LostError(
                f"The lock {self._lock} is lost",
                "It could not be renewed in time, so another run may have it now: "
                f"{self._fault or 'this process stood still for too long'}",
                "Run the task again",
            )

    def _renew(self, *, within: float) -> None:
        try:
            holder = self._hold(within=within)
        except ServerFault as fault:
            # A server that is away for a moment is no harm: the lock outlasts that.
            self._fault = fault.fault
        except LockstepError as error:
            self._fault = error.why
        else:
            if holder != self._owner:
                raise LostError(
                    f"The lock {self._lock} is lost",
                    f"{holder} has taken it",
                    "Leave the work to that run",
                )

    def release(self) -> None:
        """Give it back; else it expires by itself."""
        self._server.deadline = Deadline(self._timeout)
        with suppress(ServerFault):
            release(self._server, lock=self._lock, owner=self._owner, dry_run=False)

    def _hold(self, *, within: float = float("inf")) -> str:
        """Take or renew it; who holds it then."""
        self._tried_at = begun = _seconds()
        self._server.deadline = Deadline(min(self._timeout, within))
        try:
            change = hold(
                self._server,
                lock=self._lock,
                owner=self._owner,
                seconds=self._SECONDS,
                take_over=False,
                must=False,
                dry_run=False,
            )
        finally:
            self._server.deadline = Deadline(self._timeout)
        if change.owner == self._owner:
            # From before it was asked for: the server's own time begins later.
            self._until = begun + self._SECONDS - self._MARGIN_SECONDS
            self._fault = ""
        return change.owner


def _seconds() -> float:
    """A clock that only goes forward and, where there is one, goes on while the host sleeps."""
    clock = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic() if clock is None else time.clock_gettime(clock)


def identify_process(number: int) -> ProcessIdentity:
    """Who a process of this host is; what can't be told here is empty."""
    try:
        namespace = str(Path("/proc/self/ns/pid").readlink()).strip("pid:[]")
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        namespace = boot = ""
    return ProcessIdentity(
        host=socket.gethostname(),
        number=number,
        namespace=namespace,
        boot=boot,
        started=_start_of(number),
    )


def _start_of(number: int) -> str:
    """When a process started, in ticks since the host did; empty if that can't be told."""
    try:
        told = Path("/proc", str(number), "stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    # Its name, in brackets, may hold anything.
    fields = told.rpartition(")")[2].split()
    return fields[_STARTED] if len(fields) > _STARTED else ""


def is_dead(owner: str) -> bool:
    """Whether an owner was a process of this very host that is gone."""
    theirs = ProcessIdentity.parse(owner)
    if theirs is None or not theirs.within(identify_process(os.getpid())):
        return False
    try:
        # Unlike /proc, which may hide processes of other users, this tells of all of them.
        os.kill(theirs.number, 0)
    except ProcessLookupError:
        return True
    except OSError:
        pass
    # Another process may have its number now.
    return _start_of(theirs.number) not in ("", theirs.started)
