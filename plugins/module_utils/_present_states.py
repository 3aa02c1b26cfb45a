# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""StorageStates as the plain data that modules return, and in words for people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Any

from ansible_collections.lockstep.kubernetes.plugins.module_utils._act.passes import Recorded
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.hashes import explain_for
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.migrations import (
    OUT_OF_TREE,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.observations import (
    UNKNOWN,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.passes import (
    PassRules,
    due_now,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.reasons import (
    enumerate_names,
    plural,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.settling import Look
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.states import (
    StorageState,
    describe,
    is_hash,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.times import format_time
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.triggers import (
    ForeignTrigger,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.verification import (
    Verification,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.states import (
    RecordedStates,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._present import (
    present_encodings,
    unheard_of,
)

# How many resources a line for people names; the result holds all of them.
_NAMED = 10


def present_recorded(
    done: Sequence[Recorded],
    *,
    look: Look,
    known: RecordedStates,
    rules: PassRules,
    heartbeat_counts: bool = False,
    collected: Sequence[str] = (),
    trigger: ForeignTrigger | None = None,
) -> dict[str, Any]:
    """What one pass came to."""
    changed = [one for one in done if one.transition.changed]
    heartbeats = [one for one in done if one.transition.heartbeat_only]
    superseded = [str(migration) for one in done for migration in one.superseded]
    finished = [str(migration) for one in done for migration in one.finished]
    due = [one.resource for one in done if one.due]
    gone = [migration for one in done for migration in one.superseded]
    pending = {
        one.resource
        for one in known.migrations
        if one.api == OUT_OF_TREE and one.unfinished and one not in gone
    }
    states = {
        one.resource: {
            **present_state(one.after, look, rules.window),
            "change": one.transition.kind,
        }
        for one in done
        if one.after is not None
    }
    other = [str(trigger.as_error())] if trigger else []
    told = [*other, *unheard_of(look), *(note for one in done for note in one.transition.notes)]
    notes = dict.fromkeys(map(str, told))
    return {
        "cluster_uid": look.sight.identity.uid,
        "changed": bool(
            changed or superseded or finished or collected or (heartbeats and heartbeat_counts)
        ),
        "summary": _summarise(states, due=due, paused=known.upgrading),
        "states": states,
        "due": due,
        "pending": sorted(pending & {one.resource for one in done}),
        "superseded": superseded,
        "finished": finished,
        "collected": list(collected),
        "heartbeats": len(heartbeats),
        "paused": known.upgrading,
        "other_trigger": "".join(other),
        "notes": list(notes),
        "diff": {
            "before": {
                **{one.resource: _essence(one.before) for one in changed},
                **{name: _essence(known.states[name]) for name in collected},
            },
            "after": {one.resource: _essence(one.after) for one in changed},
        },
    }


def present_states(
    look: Look,
    known: RecordedStates,
    *,
    resources: Iterable[str],
    window: timedelta,
    settle: timedelta,
) -> dict[str, Any]:
    """All states as they are recorded, each also in words."""
    states, due = {}, []
    for resource in resources:
        state = known.states.get(resource) or StorageState(resource)
        agreement = look.agreements.get(resource)
        words = describe(state, now=look.sight.now, window=window, versions=_explained(state, look))
        if agreement is None:
            words = (*words, "No server serves it any more: what is stored of it can't be read.")
        elif due_now(
            look=look,
            state=state,
            migrations=known.migrations_of(resource),
            settle=settle,
        )[0]:
            due.append(resource)
        states[resource] = {
            **present_state(state, look, window),
            "recorded": resource in known.states,
            "served": agreement is not None,
            "words": list(words),
        }
    return {
        "changed": False,
        "cluster_uid": look.sight.identity.uid,
        "summary": _summarise(states, due=due, paused=known.upgrading),
        "states": states,
        "due": due,
        "encodings": present_encodings(look),
        "paused": known.upgrading,
        "migrations": {
            str(one): {"resource": one.resource, "phase": one.phase, "message": one.message}
            for one in known.migrations
        },
    }


def present_states_absent(deleted: Sequence[str], known: RecordedStates) -> dict[str, Any]:
    """Which records were deleted."""
    return {
        "changed": bool(deleted),
        "summary": [f"The record of {plural(len(deleted), 'resource')} is gone."],
        "states": {},
        "due": [],
        "pending": [],
        "superseded": [],
        "finished": [],
        "collected": [],
        "heartbeats": 0,
        "paused": known.upgrading,
        "other_trigger": "",
        "notes": [],
        "diff": {
            "before": {name: _essence(known.states[name]) for name in deleted},
            "after": {},
        },
    }


def present_verification(verification: Verification) -> dict[str, Any]:
    """Whether all is stored as the servers write it, in a word first."""
    return {
        "verified": verification.verified,
        "words": str(verification),
        "reasons": [
            *dict.fromkeys(
                str(one)
                for found in (verification.unproved, verification.doubted)
                for every in found.values()
                for one in every
            ),
            *(
                f"The definition of {name} still lists {enumerate_names(versions)} as stored."
                for name, versions in verification.unpruned.items()
            ),
        ],
        "proved_by": dict(Counter(verification.proved.values())),
        "unproved": {n: list(map(str, one)) for n, one in verification.unproved.items()},
        "doubted": {n: list(map(str, one)) for n, one in verification.doubted.items()},
        "unpruned": {name: list(one) for name, one in verification.unpruned.items()},
        "left_out": dict(verification.left_out),
        "unused_left_out": list(verification.unused),
    }


def present_state(state: StorageState, look: Look, window: timedelta) -> dict[str, Any]:
    """One state."""
    versions = _explained(state, look)
    evidence = state.evidence
    return {
        "persisted": list(state.persisted),
        "persisted_versions": [versions.get(one, one) for one in state.persisted],
        "current": state.current,
        "current_version": versions.get(state.current, ""),
        "migrated": state.migrated,
        "stale": state.stale(look.sight.now, window),
        "heartbeat": format_time(state.heartbeat) if state.heartbeat else "",
        "evidence": {
            "source": evidence.source,
            "time": format_time(evidence.time) if evidence.time else "",
            "revision": evidence.revision,
            "last_agreed_version": evidence.last_agreed_version,
            "unseen": list(evidence.unseen),
            "missed": list(evidence.missed),
        },
    }


def _explained(state: StorageState, look: Look) -> dict[str, str]:
    """The hashes of a state as group/versions, as far as they can be explained."""
    agreement = look.agreements.get(state.resource)
    if agreement is None:
        return {}
    versions = {agreement.storage_hash: agreement.encoding_version}
    for one in {*state.persisted, state.current}:
        if is_hash(one) and not versions.get(one):
            version = explain_for(resource=state.resource, kind=agreement.kind, storage_hash=one)
            if version:
                versions[one] = version
    return versions


def count_states(states: Mapping[str, Mapping[str, Any]]) -> tuple[str, list[str]]:
    """How many resources may be stored how, in a line; and which in several versions."""
    unknown = {name for name, one in states.items() if UNKNOWN in one["persisted"] or one["stale"]}
    several = [
        name for name, one in states.items() if name not in unknown and len(one["persisted"]) > 1
    ]
    settled = len(states) - len(unknown) - len(several)
    total = plural(len(states), "resource")
    line = f"{total}: {settled} current, {len(several)} mixed, {len(unknown)} Unknown."
    return line, several


def _summarise(
    states: Mapping[str, Mapping[str, Any]], *, due: Sequence[str], paused: str
) -> list[str]:
    line, several = count_states(states)
    lines = [line]
    missed = {name for one in states.values() for name in one["evidence"]["missed"]}
    if missed:
        named = enumerate_names(sorted(missed), at_most=_NAMED)
        lines.append(f"  Not seen: {named}. Nothing is migrated until that is cleared up.")
    if several:
        lines.append(f"  Stored in several versions: {enumerate_names(several, at_most=_NAMED)}.")
    if due:
        named = enumerate_names(due, at_most=_NAMED)
        lines.append(f"To do: migrate {plural(len(due), 'resource')}: {named}.")
    if paused:
        lines.append(f"To do: nothing yet, since {paused} is upgrading the cluster.")
    return lines


def _essence(state: StorageState | None) -> dict[str, Any]:
    if state is None:
        return {}
    return {
        "persisted": list(state.persisted),
        "current": state.current,
        "evidence": state.evidence.source,
    }
