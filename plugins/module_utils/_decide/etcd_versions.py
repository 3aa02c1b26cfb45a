# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""Versions of etcd that are known to be bad, and whether what was read of one can be believed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from .gate import Severity
from .observations import EtcdMember
from .reasons import enumerate_names

Version = tuple[int, int, int]
_VERSION = re.compile(r"v?([0-9]{1,6})\.([0-9]{1,6})\.([0-9]{1,6})\b")


@dataclass(frozen=True)
class KnownBug:
    """What goes wrong, where that is told, and in which versions: from one up to the fixed one."""

    what: str
    sources: tuple[str, ...]
    versions: tuple[tuple[Version, Version], ...]
    # What a step may do in spite of it, in the gate's words; and with how many voters it matters.
    severity: Severity = "warn"
    least_voters: int = 1

    def fixed_in(self, version: str) -> str:
        """The first version of the same minor without it; empty where this one has it not.

        A version that can't be read may be any.
        """
        parsed = parse_version(version)
        for first, fixed in self.versions:
            if parsed is not None and first <= parsed < fixed:
                return ".".join(map(str, fixed))
        return ""


STALE_READS = KnownBug(
    "linearizable reads may be stale",
    ("https://github.com/etcd-io/etcd/issues/20418",),
    (((3, 4, 20), (3, 4, 42)), ((3, 5, 0), (3, 5, 28)), ((3, 6, 0), (3, 6, 9))),
    severity="acknowledgeable",
    least_voters=2,
)
MEMBERSHIP = KnownBug(
    "members may be lost, or come back as learners, when etcd is updated to 3.6",
    (
        "https://github.com/etcd-io/etcd/issues/19557",
        "https://github.com/etcd-io/etcd/issues/20793",
    ),
    (((3, 5, 0), (3, 5, 26)),),
)
KNOWN_BUGS = (STALE_READS, MEMBERSHIP)


def parse_version(text: str) -> Version | None:
    """A version as etcd tells it; None where it is none."""
    found = _VERSION.match(text)
    return (int(found[1]), int(found[2]), int(found[3])) if found else None


def version_to_update_to(version: str) -> str:
    """The first version of the same minor without any known bug; empty if this one has none."""
    fixes = [fixed for bug in KNOWN_BUGS for fixed in [bug.fixed_in(version)] if fixed]
    return max(fixes, key=lambda fixed: parse_version(fixed) or (0, 0, 0), default="")


def voters(members: Sequence[EtcdMember]) -> list[EtcdMember]:
    return [member for member in members if member.voter]


def why_not_believed(members: Sequence[EtcdMember] | None, version: str) -> str:
    """Why what one member read for all may be older than what etcd has acknowledged.

    Empty where it can't be: one vote alone is always up to date; versions without the bug ask the
    others themselves; and with the bug, whoever acknowledged a write is among those that were
    asked, if all voters were. `version` is that of the member that was read.
    """
    if members is None:
        if not _may_be_stale(version):
            return ""
        return (
            f"etcd {version or 'of an unknown version'} does not tell its members, and in such a"
            f" version {STALE_READS.what} ({STALE_READS.sources[0]}): update etcd, or let its"
            " member list be read"
        )
    voting = voters(members)
    silent = [member for member in voting if member.fault]
    told = {member.version for member in voting if not member.fault} | {version}
    affected = sorted(one for one in told if _may_be_stale(one))
    if len(voting) < 2 or not silent or not affected:
        return ""
    named = enumerate_names([f"{member.name} ({member.fault})" for member in silent])
    return (
        f"etcd's voting member {named} did not answer, and in etcd"
        f" {enumerate_names([one or 'of an unknown version' for one in affected])}"
        f" {STALE_READS.what} ({STALE_READS.sources[0]}): bring the member back, or update etcd"
    )


def _may_be_stale(version: str) -> bool:
    return parse_version(version) is None or bool(STALE_READS.fixed_in(version))
