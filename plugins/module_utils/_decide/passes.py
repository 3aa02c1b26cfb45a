# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""One pass over one resource: what a look makes of its state, and of what was finished."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from .audited import AuditEvidence, Shown
from .epoch import decide_epoch
from .migrations import MigrationSight
from .observations import UNKNOWN, ClusterSight, Release
from .plans import Wanted
from .reasons import Reason
from .settling import CUSTOM_SECONDS, Look
from .states import (
    StorageState,
    Transition,
    UnseenChange,
    decide_audited,
    decide_due,
    decide_migrated,
    decide_observed,
)


@dataclass(frozen=True)
class PassRules:
    """How a pass judges."""

    window: timedelta
    on_unseen_change: UnseenChange = "keep"
    encryption: str = ""
    # How long servers may take to follow a CustomResourceDefinition that was changed.
    settle: timedelta = timedelta(seconds=CUSTOM_SECONDS)
    # Addresses of servers that this very run has restarted since the last pass, under its lock.
    restarted: tuple[str, ...] = ()
    # What this very run brings servers to, under its lock: who comes to run it was restarted by it.
    upgrades_to: Wanted | None = None
    # The next pass comes soon: one that missed a server confirms nothing.
    patient: bool = False


def recordable(seen: Look, patterns: Sequence[str]) -> list[str]:
    """The resources that states are kept of: aggregated ones only where they are named (R7)."""
    return [
        name
        for name, agreement in seen.agreements.items()
        if "*" not in name and (agreement.origin != "aggregated" or name in patterns)
    ]


def served_version(sight: ClusterSight, resource: str) -> str:
    """A group/version under which the objects of a resource can be read and written."""
    served = next(one.resources[resource] for one in sight.servers if resource in one.resources)
    return served.served_versions[0]


def settled_at(
    *, look: Look, resource: str, state: StorageState | None, settle: timedelta
) -> datetime | None:
    """When every server has followed the last change of a definition; None for built-in ones.

    A server shows the new hash a little before it stops writing the old version.
    """
    crd = look.sight.crds.get(resource)
    changed = crd.changed if crd else None
    if crd and changed is None and state is not None:
        # Who changed the definition when is not told: since when it is known must do.
        changed = state.evidence.time
    return changed + settle if changed else None


def due_now(
    *,
    look: Look,
    state: StorageState,
    migrations: Sequence[MigrationSight],
    settle: timedelta,
) -> tuple[bool, Reason]:
    """Whether a migration must be made, and not before every server follows the definition."""
    resource = state.resource
    settled = settled_at(look=look, resource=resource, state=state, settle=settle)
    if settled and look.sight.now < settled:
        seconds = int((settled - look.sight.now).total_seconds())
        return False, Reason(
            f"the definition of {resource} was changed just now: a server may not follow it yet",
            f"Look again in {seconds} s",
            resource=resource,
        )
    return decide_due(state=state, agreement=look.agreements[resource], migrations=migrations)


def _restarted(look: Look, state: StorageState | None, rules: PassRules) -> list[str]:
    """The start times of processes that the run itself has put in the place of others."""
    named = [one.start_time for one in look.sight.servers if one.address in rules.restarted]
    before = state.evidence.epoch if state is not None else None
    target = rules.upgrades_to
    if before is None or target is None:
        return named
    here = {one.start_time for one in look.membership.distinct}
    went = [one for one in before.releases if one.start_time not in here]
    # A server that ran it already was restarted by somebody else.
    if any(target.met_by(Release(one.git_version, one.emulated)) for one in went):
        return named
    return [*named, *(one.start_time for one in look.sight.servers if target.met_by(one.release))]


def decide_pass(
    *,
    look: Look,
    resource: str,
    state: StorageState | None,
    migrations: Sequence[MigrationSight],
    rules: PassRules,
    crd_hashes: Collection[str] = (),
    audit: AuditEvidence | None = None,
    shown: Shown | None = None,
    formula_holds: bool = False,
) -> Transition:
    """Judge one resource: the look, then what was finished since, and what an audit found.

    Versions that an audit found become hashes only where the formula has reproduced every live
    hash (R9). `shown` is how many objects the servers showed at the audit's revision.
    """
    agreement = look.agreements[resource]
    epoch = decide_epoch(
        sight=look.sight,
        membership=look.membership,
        resource=resource,
        encryption=rules.encryption,
    )
    observed = decide_observed(
        state=state,
        agreement=agreement,
        membership=look.membership,
        epoch=epoch,
        now=look.sight.now,
        window=rules.window,
        on_unseen_change=rules.on_unseen_change,
        crd_hashes=crd_hashes,
        restarted=_restarted(look, state, rules),
        patient=rules.patient,
    )
    known = observed.state or state
    settled = settled_at(look=look, resource=resource, state=known, settle=rules.settle)
    if audit is not None and audit.covers(resource) and not (settled and audit.time < settled):
        audited = decide_audited(
            state=known,
            hashes=audit.hashes(resource=resource, kind=agreement.kind)
            if formula_holds
            else (UNKNOWN,),
            agreement_before=audit.agreement(resource),
            agreement=agreement,
            epoch_before=audit.epoch(resource, encryption=rules.encryption),
            epoch_now=epoch,
            revision=audit.revision_of(resource),
            now=look.sight.now,
            against=(*audit.against(), *audit.against_resource(resource, shown)),
        )
        supersede = observed.supersede or audited.supersede
        notes = (*observed.notes, *audited.notes)
        if audited.state is None:
            return replace(observed, notes=notes)
        return replace(audited, supersede=supersede, notes=notes)
    for migration in migrations:
        if migration.phase != "succeeded" or known is None or known.migrated:
            continue
        if settled and (migration.created is None or migration.created < settled):
            continue
        migrated = decide_migrated(
            state=known,
            migration=migration,
            agreement=agreement,
            epoch_now=epoch,
            now=look.sight.now,
            window=rules.window,
        )
        if migrated.kind == "migrated":
            return migrated
    return observed
