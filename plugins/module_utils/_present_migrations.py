# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""The results of storage_migration: the verdict and the totals first."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.observations import (
    UNKNOWN,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.outcomes import (
    Outcome,
    ProgressSamples,
    Status,
    add_up,
    summarise,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.reasons import (
    enumerate_names,
    plural,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.states import StorageState
from ansible_collections.lockstep.kubernetes.plugins.module_utils._present_states import (
    count_states,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._run import NotReached, Result


@dataclass(frozen=True)
class Planned:
    """What would be done of one resource."""

    backend: str
    why: str
    visited: int
    # None: nobody can tell without reading etcd; a dry run can't.
    rewritten: int | None


def present_outcomes(
    outcomes: Mapping[str, Outcome],
    samples: ProgressSamples,
    states: Mapping[str, StorageState],
    *,
    cluster_uid: str,
    collected: Sequence[str] = (),
    tolerated: Collection[Status] = (),
) -> Result:
    """What was done, and what is recorded after it; raises if anything was not.

    `tolerated` is what a later run is expected to put right by itself.
    """
    summary = summarise(outcomes)
    records = {name: states.get(name) or StorageState(name) for name in sorted(outcomes)}
    counts = add_up(outcomes.values())
    done = {name: one for name, one in outcomes.items() if one.status not in ("ok", "skipped")}
    made = {name: [one.migration] for name, one in done.items() if one.migration}
    result = {
        "changed": bool(collected) or any(one.wrote for one in done.values()),
        "summary": [*summary, *_tell_collected(collected)],
        "cluster_uid": cluster_uid,
        "totals": {
            "resources": len(outcomes),
            "migrated": sum(one.status == "succeeded" for one in done.values()),
            "listed": counts.listed,
            "rewritten": counts.rewritten,
            "already_current": counts.current,
            "gone": counts.gone,
            "failed": counts.failed,
            "seconds": round(sum(one.seconds for one in done.values()), 1),
        },
        "resources": {name: one.to_dict() for name, one in sorted(done.items())},
        "migrations": made,
        "collected": list(collected),
        "progress_samples": [list(one) for one in samples.kept],
        "left_out": _left_out(outcomes),
        "verified_except": {
            name: one.unverified for name, one in sorted(outcomes.items()) if one.unverified
        },
        "recorded": count_states(
            {n: {"persisted": one.persisted, "stale": False} for n, one in records.items()}
        )[0],
        "not_current": [name for name, one in records.items() if not one.migrated],
        "unfinished": any(one.status == "unfinished" for one in done.values()),
        "diff": {"before": {}, "after": made},
    }
    bad = [one for one in done.values() if one.bad and one.status not in tolerated]
    if bad:
        raise NotReached(
            f"{plural(len(bad), 'resource')} of {len(outcomes)} could not be migrated",
            " ".join(line.strip() for line in summary),
            "See resources in the result for each of them; run the task again to go on",
            result=result,
        )
    return result


def _tell_collected(names: Sequence[str]) -> list[str]:
    if not names:
        return []
    gone = enumerate_names(names)
    return [f"No longer recorded, since nothing is served or stored of it: {gone}."]


def present_plan(
    settled: Mapping[str, Outcome],
    planned: Mapping[str, Planned],
    *,
    collected: Sequence[str] = (),
) -> Result:
    """What would be done."""
    visited = sum(one.visited for one in planned.values())
    known = [one.rewritten for one in planned.values() if one.rewritten is not None]
    rewritten: object = sum(known) if len(known) == len(planned) else UNKNOWN
    return {
        "changed": bool(planned or collected),
        "collected": list(collected),
        "summary": [
            (
                f"{plural(len(planned), 'resource')} would be migrated,"
                f" {plural(visited, 'object')} visited, {rewritten} rewritten."
            ),
            *(
                f"  {name}: {plural(one.visited, 'object')} by {one.backend}: {one.why}."
                for name, one in sorted(planned.items())
            ),
        ],
        "totals": {
            "resources": len(planned) + len(settled),
            "would_visit": visited,
            "would_rewrite": rewritten,
        },
        "resources": {
            name: {
                "status": "planned",
                "backend": one.backend,
                "backend_reason": one.why,
                "would_visit": one.visited,
                "would_rewrite": UNKNOWN if one.rewritten is None else one.rewritten,
            }
            for name, one in sorted(planned.items())
        },
        "migrations": {},
        "left_out": _left_out(settled),
        "unfinished": False,
        "diff": {"before": {}, "after": {name: one.backend for name, one in planned.items()}},
    }


def _left_out(outcomes: Mapping[str, Outcome]) -> dict[str, str]:
    return {
        name: one.reason
        for name, one in sorted(outcomes.items())
        if one.status in ("ok", "skipped")
    }
