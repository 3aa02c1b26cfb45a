# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""May this upgrade or rollback go on? The verdict, from what every check found.

Unknown is never a pass (R8): a verdict with anything unknown in it is never `safe: true`, and an
acknowledgement lets a step go on without making it so.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Literal

from .errors import LockstepError
from .times import parse_time

Severity = Literal["block", "acknowledgeable", "warn"]
Cure = Literal["migration", "audit", "operator"]
Safe = Literal["true", "false", "unknown"]


@dataclass(frozen=True)
class Finding:
    """What one check found, and what to do about it."""

    check: str
    severity: Severity
    seen: str
    remedy: str
    cured_by: Cure
    resource: str = ""
    # All that it is about, where it tells of several resources at once (R14).
    resources: tuple[str, ...] = ()
    # The remedy as one command, to be run as it stands; empty where it takes more than that.
    command: str = ""
    # What is left to do where no remedy helps, since it deletes data; to be run as it stands.
    destructive_command: str = ""
    # Why, in the words that findings of the same check are told together by; empty where each is
    # told by itself.
    cause: str = ""
    # Nobody knows that it is unsafe; nobody knows that it is safe either.
    unknown: bool = False
    # The acknowledgement that covers it, in words.
    acknowledged: str = ""
    # In the middle of an upgrade: it is of a resource that servers write differently because of it.
    differs_by_upgrade: bool = False

    @property
    def about(self) -> tuple[str, ...]:
        """Every resource that it is about."""
        return self.resources or ((self.resource,) if self.resource else ())

    @property
    def may_wait(self) -> bool:
        """Whether it can't be known before all servers are upgraded, and will be then."""
        return self.unknown and self.differs_by_upgrade

    @property
    def stops(self) -> bool:
        """Whether a step may not go on because of it."""
        if self.severity == "warn":
            return False
        return self.severity == "block" or not self.acknowledged

    def to_dict(self) -> dict[str, Any]:
        """Plain data, with stable names."""
        return {
            "check": self.check,
            "severity": self.severity,
            "resource": self.resource,
            "resources": list(self.about),
            "seen": self.seen,
            "remedy": self.remedy,
            "command": self.command,
            "destructive_command": self.destructive_command,
            "cured_by": self.cured_by,
            "unknown": self.unknown,
            "acknowledged": self.acknowledged,
            "differs_by_upgrade": self.differs_by_upgrade,
            "may_wait": self.may_wait,
        }


@dataclass(frozen=True)
class Acknowledgement:
    """That somebody knows of a finding, and takes the risk, for one step and for a time."""

    check: str
    from_release: str
    to_release: str
    resource: str = ""
    expires: datetime | None = None
    reason: str = ""

    def covers(self, finding: Finding, *, from_release: str, to_release: str) -> bool:
        """Whether it is about this finding in this step."""
        return (
            self.check == finding.check
            and (self.from_release, self.to_release) == (from_release, to_release)
            and self.resource in ("", finding.resource)
        )

    def expired(self, now: datetime) -> bool:
        """Whether its time is over."""
        return self.expires is not None and now >= self.expires

    def __str__(self) -> str:
        about = f"{self.check} of {self.resource}" if self.resource else self.check
        why = f" ({self.reason})" if self.reason else ""
        return f"{about} for {self.from_release} -> {self.to_release}{why}"


@dataclass(frozen=True)
class GateVerdict:
    """All findings at once, and what follows from them."""

    findings: tuple[Finding, ...]
    unused: tuple[Acknowledgement, ...] = ()
    expired: tuple[Acknowledgement, ...] = ()

    @property
    def safe(self) -> Safe:
        """Whether what is stored is known to outlive the step."""
        serious = [one for one in self.findings if one.severity != "warn"]
        if any(not one.unknown and not one.acknowledged for one in serious):
            return "false"
        return "unknown" if any(one.unknown for one in serious) else "true"

    @property
    def passed(self) -> bool:
        """Whether the step may go on."""
        return not any(one.stops for one in self.findings)

    def of(self, checks: Iterable[str]) -> tuple[Finding, ...]:
        """What these checks found."""
        wanted = set(checks)
        return tuple(one for one in self.findings if one.check in wanted)

    def cured_by(self, cure: Cure) -> tuple[str, ...]:
        """The resources that one cure helps."""
        found = {one.resource for one in self.findings if one.stops and one.cured_by == cure}
        return tuple(sorted(found - {""}))


def decide_gate(
    findings: Iterable[Finding],
    *,
    acknowledgements: Iterable[Acknowledgement] = (),
    from_release: str,
    to_release: str,
    now: datetime,
    differing: Collection[str] = (),
    left_out: Collection[str] = (),
) -> GateVerdict:
    """Hold what was found against what was acknowledged.

    `differing` are the resources that servers write differently in the middle of this upgrade,
    `left_out` those that nobody can know and that the operator does without: that stays unknown.
    """
    every = tuple(acknowledgements)
    valid = [one for one in every if not one.expired(now)]
    used: set[Acknowledgement] = set()
    judged = []
    for finding in findings:
        about = [
            one
            for one in valid
            if finding.severity == "acknowledgeable"
            and one.covers(finding, from_release=from_release, to_release=to_release)
        ]
        used.update(about)
        judged.append(
            replace(
                finding,
                acknowledged=str(about[0]) if about else _left_out(finding, left_out),
                differs_by_upgrade=finding.resource in differing,
            )
        )
    return GateVerdict(
        findings=tuple(judged),
        unused=tuple(one for one in valid if one not in used),
        expired=tuple(one for one in every if one.expired(now)),
    )


def _left_out(finding: Finding, left_out: Collection[str]) -> str:
    waived = finding.severity == "acknowledgeable" and finding.unknown
    return "it is left out by name" if waived and finding.resource in left_out else ""


def read_acknowledgements(data: object, *, checks: Iterable[str]) -> tuple[Acknowledgement, ...]:
    """Read the option; one that can never apply is an error, before anything is looked at."""
    if not isinstance(data, (list, tuple)):
        raise _wrong(data, "It must be a list")
    return tuple(_read(one, set(checks)) for one in data)


def _read(data: object, checks: set[str]) -> Acknowledgement:
    if not isinstance(data, Mapping):
        raise _wrong(data, "It must have check, from and to")
    unknown = sorted(set(data) - {"check", "from", "to", "resource", "expires", "reason"})
    if unknown:
        raise _wrong(data, f"There is no such field: {', '.join(map(str, unknown))}")
    check = data.get("check")
    if check not in checks:
        raise _wrong(data, f"There is no check {check!r}; there are {', '.join(sorted(checks))}")
    if not data.get("from") or not data.get("to"):
        raise _wrong(data, "It must say from and to which release it holds")
    expires = parse_time(data.get("expires")) if data.get("expires") else None
    if data.get("expires") and expires is None:
        raise _wrong(data, "expires must be a time such as 2026-12-31T00:00:00Z")
    return Acknowledgement(
        check=str(check),
        from_release=_release(data["from"]),
        to_release=_release(data["to"]),
        resource=str(data.get("resource") or ""),
        expires=expires,
        reason=str(data.get("reason") or ""),
    )


def _release(text: object) -> str:
    return f"v{str(text).removeprefix('v')}"


def _wrong(data: object, why: str) -> LockstepError:
    return LockstepError(
        f"The option acknowledgements holds {str(data)[:80]!r}",
        why,
        "Write it as {check: stored-unknown, from: 1.36.3, to: 1.37.0, expires: ...}",
    )
