# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""What came of a migration, resource by resource, and how far one is while it runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from .errors import sentence
from .reasons import enumerate_names, plural
from .rewrites import Counts

Status = Literal[
    # It was migrated, or needed it not.
    "succeeded",
    "ok",
    "skipped",
    # It waits for a controller, or for a later pass.
    "asked",
    # It was not.
    "failed",
    "superseded",
    "unfinished",
]
# Worst first.
_BAD: tuple[Status, ...] = ("failed", "superseded", "unfinished")
# How many resources the summary names that are not verified; the result has all.
_NAMED = 10


class ProgressSamples:
    """How many objects were done when: never so many that a long run could not return them."""

    _MOST = 100

    def __init__(self) -> None:
        self.kept: list[tuple[float, int]] = []
        self._gap = 1.0

    def take(self, *, seconds: float, done: int) -> None:
        """Keep one, unless the last one is only just kept."""
        if self.kept and seconds - self.kept[-1][0] < self._gap:
            return
        self.kept.append((round(seconds, 1), done))
        if len(self.kept) > self._MOST:
            self.kept = self.kept[::2]
            self._gap *= 2


@dataclass(frozen=True)
class Outcome:
    """What came of one resource."""

    resource: str
    status: Status
    backend: str = ""
    why: str = ""
    migration: str = ""
    # None: a controller that does not tell has done it.
    counts: Counts | None = None
    # How many of them an earlier run had visited already.
    resumed: int = 0
    seconds: float = 0.0
    attempts: int = 0
    reason: str = ""
    # Whether another try in the same run is of no use.
    final: bool = False
    verified: bool = False
    stored_versions: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def again(self) -> bool:
        """Whether it is worth another try in the same run."""
        if self.final:
            return False
        return self.status == "superseded" or (self.status == "failed" and self.counts is None)

    @property
    def bad(self) -> bool:
        return self.status in _BAD

    @property
    def wrote(self) -> bool:
        """Whether anything was changed in the cluster for it."""
        return bool(self.migration)

    @property
    def visited(self) -> int:
        """How many objects this very run has visited, as far as is told."""
        return self.counts.done - self.resumed if self.counts else 0

    @property
    def unverified(self) -> str:
        """Why nothing proves that all of it is stored as the servers write it; empty if it is."""
        if self.verified or self.status == "ok":
            return ""
        return self.reason or " ".join(self.notes) or "it was forced"

    def to_dict(self) -> dict[str, Any]:
        """Plain data, for the result of a task."""
        counts = self.counts
        rate = self.visited / self.seconds if counts and self.seconds else None
        return {
            "status": self.status,
            "reason": self.reason,
            "backend": self.backend,
            "backend_reason": self.why,
            "migration": self.migration,
            "listed": counts.listed if counts else None,
            "rewritten": counts.rewritten if counts else None,
            "already_current": counts.current if counts else None,
            "gone": counts.gone if counts else None,
            "failed": counts.failed if counts else None,
            "failures": [one.to_dict() for one in counts.failures] if counts else [],
            "seconds": round(self.seconds, 1),
            "rate": round(rate, 1) if rate is not None else None,
            "attempts": self.attempts,
            "verified": self.verified,
            "stored_versions": list(self.stored_versions),
            "notes": list(self.notes),
        }


def add_up(outcomes: Iterable[Outcome]) -> Counts:
    """All counts together."""
    total = Counts()
    for one in outcomes:
        total += one.counts or Counts()
    return total


def summarise(outcomes: Mapping[str, Outcome]) -> list[str]:
    """The verdict first, then each resource that needs somebody's attention."""
    every = list(outcomes.values())
    bad = [one for status in _BAD for one in every if one.status == status]
    done = [one for one in every if one.status == "succeeded"]
    current = [one for one in every if one.status == "ok"]
    asked = [one for one in every if one.status == "asked"]
    counts = add_up(every)
    unproved = [one for one in done if not one.verified]
    verdict = "migrated, not verified" if unproved else "migrated"
    if bad:
        verdict = bad[0].status
    elif not done:
        verdict = "asked for" if asked else "nothing to do"
    parts = [f"{plural(len(done), 'resource')} migrated", f"{len(current)} current already"]
    parts += [f"{len(asked)} asked for"] if asked else []
    parts += [
        f"{len([o for o in bad if o.status == status])} {status}"
        for status in _BAD
        if any(o.status == status for o in bad)
    ]
    lines = [f"{verdict}: {enumerate_names(parts)}."]
    if counts.listed:
        lines[0] += (
            f" {plural(counts.listed, 'object')} visited, {counts.rewritten} rewritten,"
            f" {counts.current} current already, {counts.gone} gone, {counts.failed} failed."
        )
    if not bad:
        lines[0] += _verification(every)
    lines += [f"  {one.resource}: {one.status}: {sentence(one.reason)}" for one in bad]
    lines += [f"  {one.resource}: migrated, not verified: {one.unverified}" for one in unproved]
    return lines


def _verification(outcomes: Sequence[Outcome]) -> str:
    """What is verified of all that was chosen: what was left out is named (R14)."""
    left = [one.resource for one in outcomes if one.unverified]
    if not left:
        return " All of it is verified."
    if len(left) == len(outcomes):
        return " None of it is verified."
    return f" It is verified except {enumerate_names(left, at_most=_NAMED)}."


def describe_progress(
    counts: Counts, *, total: int, seconds: float, before: Counts | None = None
) -> str:
    """How far one resource is, in a line."""
    done = counts.done
    fresh = done - (before.done if before else 0)
    rate = fresh / seconds if seconds > 0 else 0.0
    share = 100 * done // total if total else 100
    parts = [f"{min(share, 100)} % ({done} of {total})", f"{rate:.0f} objects/s"]
    if rate and total > done:
        parts.append(f"{_span((total - done) / rate)} left")
    if counts.failed:
        parts.append(f"{counts.failed} failed")
    return ", ".join(parts)


def _span(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
