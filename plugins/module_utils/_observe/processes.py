# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""The processes of this host, as far as the kernel shows them to us."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.processes import (
    HostSight,
    ProcessSight,
)

PROC = Path("/proc")
# The user whom nothing belongs to.
_NOBODY = 65534


def observe_processes(proc: Path = PROC) -> HostSight:
    """Look at all processes, and at one that another user starts meanwhile: the control."""
    return HostSight(
        processes=tuple(_processes(proc)),
        root=os.geteuid() == 0,
        saw_other=_sees_other(proc),
        hiding=_hides(proc),
    )


def _processes(proc: Path) -> list[ProcessSight]:
    found = []
    for entry in proc.iterdir():
        if entry.name.isdigit():
            with suppress(FileNotFoundError, ProcessLookupError):
                found.append(_process(entry))
    return sorted(found, key=lambda one: one.pid)


def _process(entry: Path) -> ProcessSight:
    try:
        # pid (name) state ...: the name may hold anything, brackets too.
        _pid, _bracket, rest = _text(entry / "stat").partition("(")
        name, _bracket, fields = rest.rpartition(") ")
        command = _text(entry / "cmdline").rstrip("\0").split("\0")
    except PermissionError:
        return ProcessSight(int(entry.name))
    program = ""
    with suppress(OSError):
        program = str((entry / "exe").readlink())
    return ProcessSight(
        pid=int(entry.name),
        name=name,
        state=fields[:1],
        # Some write their title over the arguments, which are one text then.
        command=tuple(command if len(command) > 1 else command[0].split(" ")),
        program=program.removesuffix(" (deleted)"),
    )


def _text(path: Path) -> str:
    return path.read_bytes().decode("utf-8", "surrogateescape")


def _sees_other(proc: Path) -> bool | None:
    """Whether a process of another user is seen; None where no other user can be had here."""
    told_at, tell_at = os.pipe()
    held_at, hold_at = os.pipe()
    child = os.fork()
    if child == 0:
        # Nothing of this process may go on in the child, whatever happens.
        try:
            os.close(hold_at)
            os.setgid(_NOBODY)
            os.setuid(_NOBODY)
            os.write(tell_at, b"+")
            # Until the parent lets go, or is gone.
            os.read(held_at, 1)
        finally:
            os._exit(0)
    os.close(tell_at)
    try:
        if os.read(told_at, 1) != b"+":
            return None
        return any(one.pid == child and one.name for one in _processes(proc))
    finally:
        for end in (hold_at, held_at, told_at):
            os.close(end)
        os.waitpid(child, 0)


def _hides(proc: Path) -> bool:
    """Whether this view of processes was mounted so that it hides those of others."""
    options = [
        line.rpartition(" - ")[2].split()[-1]
        for line in _text(proc / "self" / "mountinfo").splitlines()
        if line.split()[4] == str(proc)
    ]
    hidden = ("hidepid=0", "hidepid=off")
    return any(
        one.startswith("hidepid=") and one not in hidden
        for line in options[-1:]
        for one in line.split(",")
    )
