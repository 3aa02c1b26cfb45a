# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This plugin_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""A long module run, cut into slices: on another host nobody can see what it reports meanwhile."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

SLICE_SECONDS = 60.0
# One that stopped is taken up at the last whole page; fewer objects may only have come to be since.
PAGE = 500
_COUNTS = ("listed", "rewritten", "already_current", "gone", "failed", "seconds")


def run_slices(
    run_once: Callable[[float], dict[str, Any]],
    *,
    tell: Callable[[str], None],
    clock: Callable[[], float] = time.monotonic,
) -> dict[str, Any]:
    """Run a module again and again, each time for so many seconds, until it does not ask for more.

    A slice without progress is followed by one of twice the length. So it always ends: sooner or
    later the module itself gives up before its time is over, and says why.
    """
    seconds = SLICE_SECONDS
    parts: list[dict[str, Any]] = []
    while True:
        begun = clock()
        parts.append(run_once(seconds))
        last = parts[-1]
        stopped = last.get("failed") and last.get("unfinished") and clock() - begun >= seconds
        if not stopped:
            return _put_together(parts)
        tell(last["summary"][0])
        if len(parts) > 1 and not _progressed(parts[-2], last):
            seconds *= 2


def _progressed(before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    if before["migrations"] != after["migrations"]:
        return True
    return bool(after["totals"]["listed"] >= before["totals"]["listed"] + PAGE)


def _put_together(parts: list[dict[str, Any]]) -> dict[str, Any]:
    """The last result, with what was finished before; it knows only what it did itself."""
    if len(parts) == 1:
        return parts[0]
    last = {**parts[-1], "changed": any(part.get("changed") for part in parts)}
    if "resources" not in last:
        return last
    merged: dict[str, Any] = {key: {} for key in ("resources", "migrations")}
    for key, together in merged.items():
        for part in parts:
            together.update(part[key])
    every = merged["resources"].values()
    # What an earlier slice finished is no news to the last one: it found nothing to do there.
    merged["left_out"] = {k: v for k, v in last["left_out"].items() if k not in merged["resources"]}
    totals = {key: sum(one[key] or 0 for one in every) for key in _COUNTS}
    totals["migrated"] = sum(one["status"] == "succeeded" for one in every)
    note = f"  This is the last of {len(parts)} slices; totals and resources are of all of them."
    return {
        **last,
        **merged,
        "totals": {**last["totals"], **totals},
        "summary": [*last["summary"], note],
    }
