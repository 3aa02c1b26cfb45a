# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""Has the API server of a host ended? From the processes that could be seen there."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePosixPath

# Names that mean an API server, whatever follows. kubelite is that of MicroK8s.
_SERVERS = frozenset({"kube-apiserver", "k3s-server", "kubelite"})
# Programs that are many in one: what the first argument makes an API server.
_WITHIN = {
    "hyperkube": frozenset({"kube-apiserver", "apiserver"}),
    "k3s": frozenset({"server"}),
}
# It has ended, and only its parent has not noticed.
_ENDED = frozenset({"Z", "X", "x"})


@dataclass(frozen=True)
class ProcessSight:
    """One process, as the kernel shows it; without its name only that it is there."""

    pid: int
    name: str = ""
    state: str = ""
    command: tuple[str, ...] = ()
    program: str = ""


@dataclass(frozen=True)
class HostSight:
    """All processes of a host that could be seen, and whether those of others could be."""

    processes: tuple[ProcessSight, ...]
    root: bool
    # Whether a process was seen that another user had just started; None where none could be.
    saw_other: bool | None
    # Whether the kernel was told to hide processes (hidepid).
    hiding: bool


@dataclass(frozen=True)
class HostVerdict:
    """The processes of an API server, and why others may be there unseen."""

    servers: tuple[ProcessSight, ...]
    blind: tuple[str, ...] = ()

    @property
    def ended(self) -> bool:
        """Whether no process of an API server is left: only if all could be seen."""
        return not self.servers and not self.blind


def decide_ended(sight: HostSight, *, pattern: str = "") -> HostVerdict:
    """Say whether the API server of a host has ended.

    `pattern` is searched in the command line, for a host that runs servers of several clusters.
    """
    servers = tuple(
        one
        for one in sight.processes
        if is_server(one) and (not pattern or re.search(pattern, " ".join(one.command)))
    )
    return HostVerdict(servers, tuple(_blindness(sight)))


def is_server(process: ProcessSight) -> bool:
    """Whether a process is an API server, or a program that has one in it."""
    if process.state in _ENDED:
        return False
    command = process.command
    own = PurePosixPath(command[0]).name if command else ""
    names = {process.name, own, PurePosixPath(process.program).name}
    if names & _SERVERS:
        return True
    first = command[1] if len(command) > 1 else ""
    return any(first in _WITHIN[name] for name in names & _WITHIN.keys())


def _blindness(sight: HostSight) -> Iterable[str]:
    """What shows that there may be processes that were not seen (R13)."""
    if not sight.root:
        yield "it was not looked for as root"
    first = next((one for one in sight.processes if one.pid == 1), None)
    if first is None or not first.name:
        yield "process 1, which is always there, can't be seen"
    if sight.saw_other is False:
        yield "a process that another user had just started can't be seen"
    if sight.saw_other is None and sight.hiding:
        yield "the kernel hides processes of other users (hidepid)"
    nameless = sum(not one.name for one in sight.processes)
    if nameless:
        yield f"{nameless} of {len(sight.processes)} processes do not show what they are"
