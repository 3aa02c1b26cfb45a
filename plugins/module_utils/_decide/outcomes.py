# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""What came of a migration, resource by resource, and how far one is while it runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
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
    # It was not.
    "failed",
    "superseded",
    "unfinished",
]
# Worst first.
_BAD: tuple[Status, ...] = ("failed", "superseded", "unfinished")


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
    counts = add_up(every)
    verdict = "migrated"
    if bad:
        verdict = bad[0].status
    elif not done:
        verdict = "nothing to do"
    parts = [f"{plural(len(done), 'resource')} migrated", f"{len(current)} current already"]
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
    lines += [f"  {one.resource}: {one.status}: {sentence(one.reason)}" for one in bad]
    unproved = [one for one in done if not one.verified]
    lines += [
        f"  {one.resource}: migrated, but not proved: {' '.join(one.notes) or 'it was forced'}"
        for one in unproved
    ]
    return lines


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
