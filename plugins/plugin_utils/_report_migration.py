# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This plugin_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""A migration as a page shows it: counts, rates, bars and how it went over time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ansible_collections.lockstep.kubernetes.plugins.plugin_utils._report_values import (
    answer,
    kind,
    mapping,
    mapping_of_mappings,
    mappings,
    number,
    text,
    texts,
    whole,
    wrong,
)

_WHERE = "report_migration"
# More bars than this are no picture any more; the table has all.
BARS = 15
# The plot's own units; it is stretched to the width of the page.
PLOT_WIDTH, PLOT_HEIGHT = 1000, 240
_TONES = {"succeeded": "ok", "failed": "stop", "superseded": "stop", "unfinished": "warn"}
_COUNTS = (
    ("listed", "visited"),
    ("rewritten", "rewritten"),
    ("already_current", "current already"),
    ("gone", "gone"),
    ("failed", "failed"),
)


@dataclass(frozen=True)
class Outcome:
    """What came of one resource. A count that nobody told is None."""

    name: str
    status: str
    tone: str
    reason: str
    backend: str
    counts: tuple[tuple[str, int | None], ...]
    seconds: float | None
    rate: float | None
    verified: str
    failures: tuple[tuple[str, str], ...]
    notes: tuple[str, ...]

    @property
    def rewritten(self) -> int | None:
        """How many objects were written anew."""
        return dict(self.counts)["rewritten"]

    @property
    def attention(self) -> bool:
        """Whether somebody should look at it."""
        return self.tone != "ok" or self.verified == "no"


@dataclass(frozen=True)
class Bar:
    """One resource's objects, as a share of the most."""

    name: str
    value: int
    percent: float


@dataclass(frozen=True)
class Plot:
    """Objects done over seconds, as a line."""

    points: str
    area: str
    seconds: float
    done: int


@dataclass(frozen=True)
class Migration:
    """All of it."""

    headline: str
    details: tuple[str, ...]
    tone: str
    tiles: tuple[tuple[str, str], ...]
    outcomes: tuple[Outcome, ...]
    bars: tuple[Bar, ...]
    more_bars: int
    plot: Plot | None
    left_out: tuple[tuple[str, str], ...]


def read_migration(document: object) -> Migration | None:
    """The result of storage_migration; none where there was no migration."""
    if not document:
        return None
    if not isinstance(document, Mapping):
        raise wrong(_WHERE, f"it is {kind(document)}, not a result")
    summary = texts(document.get("summary"))
    resources = mapping_of_mappings(document, "resources", _WHERE)
    if not summary and not resources and "totals" not in document:
        failed = f"; the task said: {document['msg']}" if document.get("msg") else ""
        raise wrong(_WHERE, f"it has no counts{failed}")
    outcomes = sorted(
        (_outcome(name, one) for name, one in resources.items()),
        key=lambda one: (not one.attention, -(one.rewritten or 0), one.name),
    )
    counted = sorted(
        ((one.rewritten, one.name) for one in outcomes if one.rewritten),
        key=lambda pair: (-pair[0], pair[1]),
    )
    return Migration(
        headline=summary[0] if summary else "A migration was run.",
        details=tuple(line.strip() for line in summary[1:]),
        tone="stop" if any(one.tone == "stop" for one in outcomes) else "plain",
        tiles=_tiles(mapping(document, "totals", _WHERE)),
        outcomes=tuple(outcomes),
        bars=tuple(
            Bar(name, value, round(100 * value / counted[0][0], 2))
            for value, name in counted[:BARS]
        ),
        more_bars=max(0, len(counted) - BARS),
        plot=_plot(document.get("progress_samples")),
        left_out=tuple(
            (str(name), text(reason))
            for name, reason in mapping(document, "left_out", _WHERE).items()
        ),
    )


def _outcome(name: str, one: Mapping[str, Any]) -> Outcome:
    status = text(one.get("status")) or "unknown"
    return Outcome(
        name=name,
        status=status,
        tone=_TONES.get(status, "unknown"),
        reason=text(one.get("reason")),
        backend=text(one.get("backend")),
        counts=tuple((words, whole(one.get(key))) for key, words in _COUNTS),
        seconds=number(one.get("seconds")),
        rate=number(one.get("rate")),
        verified=answer(one.get("verified")),
        failures=tuple(
            (text(failure.get("name") or failure.get("object")), text(failure.get("reason")))
            for failure in mappings(one, "failures", f"{_WHERE}.resources.{name}")
        ),
        notes=texts(one.get("notes")),
    )


def _tiles(totals: Mapping[str, Any]) -> tuple[tuple[str, str], ...]:
    told = [
        (words, f"{count:,}")
        for key, words in (*_COUNTS, ("would_visit", "would be visited"))
        if (count := whole(totals.get(key))) is not None
    ]
    seconds, rewritten = number(totals.get("seconds")), whole(totals.get("rewritten"))
    if seconds is not None:
        told.append(("seconds", f"{seconds:,.1f}"))
    if seconds and rewritten is not None:
        told.append(("rewritten a second", f"{rewritten / seconds:,.1f}"))
    return tuple(told)


def _plot(samples: object) -> Plot | None:
    """A line needs two points, and some height."""
    if not isinstance(samples, (list, tuple)):
        return None
    pairs = sorted(
        (seconds, done)
        for one in samples
        if isinstance(one, (list, tuple)) and len(one) == 2
        for seconds, done in ((number(one[0]), number(one[1])),)
        if seconds is not None and done is not None
    )
    if len(pairs) < 2 or pairs[-1][0] <= 0:
        return None
    end, most = pairs[-1][0], max(done for _seconds, done in pairs)
    if most <= 0:
        return None
    spots = [
        f"{PLOT_WIDTH * seconds / end:.1f},{PLOT_HEIGHT * (1 - done / most):.1f}"
        for seconds, done in pairs
    ]
    first, last = (spot.split(",")[0] for spot in (spots[0], spots[-1]))
    area = f"{first},{PLOT_HEIGHT} {' '.join(spots)} {last},{PLOT_HEIGHT}"
    return Plot(points=" ".join(spots), area=area, seconds=end, done=int(most))
