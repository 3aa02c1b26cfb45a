# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""Locks that several runs respect: a Lease each, with an owner and an expiry."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from .errors import LockstepError

LABEL = "lockstep.kubernetes/lock"
NOTE = "lockstep.kubernetes/note"
UPGRADE = "upgrade"


@dataclass(frozen=True)
class ProcessIdentity:
    """One process, told apart from every other one that was or will be.

    A host's name and a number are not enough: machines share names, and most of them count their
    processes in a namespace of the same number.
    """

    host: str
    number: int
    # The namespace that the number counts in, the boot that it counts since, and when it started.
    namespace: str = ""
    boot: str = ""
    started: str = ""

    def __str__(self) -> str:
        return (
            f"{self.host} process {self.number} in {self.namespace or '?'}"
            f" of boot {self.boot or '?'} started {self.started or '?'}"
        )

    @classmethod
    def parse(cls, owner: str) -> ProcessIdentity | None:
        """The process that an owner ends with; None if it is not one that is known for sure."""
        found = _PROCESS.search(owner)
        if found is None:
            return None
        return cls(
            host=found["host"],
            number=int(found["number"]),
            namespace=found["namespace"],
            boot=found["boot"],
            started=found["started"],
        )

    def within(self, other: ProcessIdentity) -> bool:
        """Whether its number means the same to another process: same boot, same namespace."""
        return bool(self.boot and self.namespace) and (self.boot, self.namespace) == (
            other.boot,
            other.namespace,
        )


# What is left of a label's 63 characters behind our own prefix.
_NAME = re.compile(r"[a-z0-9](?:[-a-z0-9]{0,48}[a-z0-9])?")
# Somebody's name may come before it.
_PROCESS = re.compile(
    r"(?:^| )(?P<host>\S+) process (?P<number>\d{1,10}) in (?P<namespace>\d+)"
    r" of boot (?P<boot>[0-9a-f-]+) started (?P<started>\d+)$"
)


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


def check_lock(*, name: str, owner: str) -> None:
    """Refuse names that no Lease can have, and an owner that would hold it as nobody."""
    if not _NAME.fullmatch(name):
        raise LockstepError(
            f"The option name is {name!r}",
            "The name of a lock is a word of lower-case letters, digits and hyphens, of at most 50",
            "Write it as upgrade",
        )
    if not owner.strip():
        raise LockstepError(
            "The option owner is empty",
            "Nobody can't hold a lock",
            "Give words that tell another operator whom to ask",
        )


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
