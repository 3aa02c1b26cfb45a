# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""Migrating until it is done: choose, gate, have it run, watch, verify, and record."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.lockstep.kubernetes.plugins.module_utils._act.crds import (
    prune_stored_versions,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._act.locks import HeldError
from ansible_collections.lockstep.kubernetes.plugins.module_utils._act.migrations import controllers
from ansible_collections.lockstep.kubernetes.plugins.module_utils._act.migrations.objects import (
    create_migration,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._act.migrations.probes import (
    MOST_TRIED,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._act.passes import record
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.backends import (
    Backend,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.epoch import (
    decide_epoch,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.errors import (
    LockstepError,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.migrations import (
    IN_TREE,
    OUT_OF_TREE,
    Api,
    MigrationSight,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.outcomes import (
    Outcome,
    ProgressSamples,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.passes import recordable
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.reasons import (
    plural,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.settling import (
    BUILT_IN_SECONDS,
    Look,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.states import (
    StorageState,
    Transition,
    decide_migrated,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.watching import (
    LONGEST_GAP,
    Watch,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._direct_runs import DirectRunner
from ansible_collections.lockstep.kubernetes.plugins.module_utils._looks import look
from ansible_collections.lockstep.kubernetes.plugins.module_utils._migration_plans import (
    Job,
    Plan,
    Planner,
    check_options,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._module import entry_server
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.servers import (
    Access,
    ApiServer,
    ServerFault,
    read_access,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._reencryption import Reencryption
from ansible_collections.lockstep.kubernetes.plugins.module_utils._run import Teller
from ansible_collections.lockstep.kubernetes.plugins.module_utils._states import (
    read_recorded,
    record_pass,
    reset_states,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._watcher import Watcher

# How often proof is tried to be recorded, while others look at the same resources.
_PROOFS = 3
_VERIFY_KEYS = (
    "See that all servers write by the same keys and run it again, or read the keys from etcd"
    " with storage_audit"
)
_SAME_KEYS = (
    "nothing had to be rewritten: all of it lay under the keys that the servers write by. If you"
    " have rotated keys, they have not loaded the new one"
)
_GOES_ON = "kube-controller-manager does not notice, and finishes what it has begun"
_APIS: Mapping[Backend, Api] = {
    "in_tree": IN_TREE,
    "migrator": OUT_OF_TREE,
    "direct": OUT_OF_TREE,
}


class MigrationTask:
    """One run of storage_migration that waits for the end."""

    def __init__(self, module: AnsibleModule) -> None:
        self._module, self._params = module, module.params
        check_options(self._params)
        self._access: Access = read_access(module)
        self._teller = Teller(wanted=self._params["progress"])
        self.planner = Planner(module, say=self._teller.now)
        self._beaten_at = time.monotonic()
        self.samples = ProgressSamples()

    # --- the whole ---

    def run(self) -> dict[str, Outcome]:
        """Migrate what is to be migrated, as often as it takes and is allowed."""
        outcomes: dict[str, Outcome] = {}
        tries: dict[str, int] = {}
        for attempt in range(self._params["retries"] + 1):
            try:
                plan = self.planner.plan()
            except LockstepError as error:
                if attempt == 0:
                    raise
                # What was undone by a change is reported, and the change with it.
                self._teller.now(str(error))
                break
            left = {name for name, one in outcomes.items() if one.again}
            outcomes.update(
                {k: v for k, v in plan.settled.items() if k not in outcomes or k in left}
            )
            jobs = [one for one in plan.jobs if attempt == 0 or one.resource in left]
            for job in jobs:
                tries[job.resource] = attempt + 1
            for resource, outcome in self._execute(replace(plan, jobs=tuple(jobs))).items():
                outcomes[resource] = replace(outcome, attempts=tries[resource])
            if not any(one.again for one in outcomes.values()):
                break
        return outcomes

    def advance(self) -> dict[str, Outcome]:
        """Ask for what is due; what no controller would run is run here, for as long as it may.

        What is left is no failure: the next pass goes on with it.
        """
        plan = self.planner.plan()
        asked = {one.resource: self._ask(plan, one) for one in plan.jobs}
        direct = tuple(one for one in plan.jobs if one.backend == "direct")
        outcomes = {**plan.settled, **asked}
        try:
            done = self._execute(replace(plan, jobs=direct))
        except HeldError as held:
            waiting = {one.resource: asked[one.resource] for one in direct}
            done = {k: replace(one, reason=str(held)) for k, one in waiting.items()}
        outcomes.update({name: replace(one, attempts=1) for name, one in done.items()})
        return outcomes

    def _ask(self, plan: Plan, job: Job) -> Outcome:
        """Make the migration of a job, for whoever runs it, unless it is there already."""
        api = _APIS[job.backend]
        waits = any(one.name == job.migration and one.unfinished for one in job.existing)
        if not waits:
            with entry_server(self._module, what="The migrations can't be made") as server:
                waits = not create_migration(
                    server,
                    resource=job.resource,
                    group_version=job.listing.group_version,
                    key=job.key,
                    existing=job.existing,
                    paths=plan.known.migration_paths,
                    api=api,
                    owner=plan.owner,
                )
        if job.backend == "direct":
            reason = "its turn comes in a later pass"
        else:
            reason = f"it is left to {controllers.WHO[api]}"
        outcome = Outcome(job.resource, "asked", backend=job.backend, why=job.why, reason=reason)
        # What was there before is no change.
        return outcome if waits else replace(outcome, migration=job.migration)

    # --- running ---

    def _execute(self, plan: Plan) -> dict[str, Outcome]:
        if not plan.jobs:
            return {}
        watched = [one.resource for one in plan.jobs if not one.forced]
        watch = Watch(
            plan.seen,
            watched,
            at=plan.looked_at,
            encryption=self._params["encryption_generation"],
        )
        with (
            Watcher(
                watch,
                lambda: look(self._module, self._access, watched),
                every=self._params["watch_every"],
            ) as watcher,
            Reencryption(self._access, plan, timeout=self._params["timeout"]) as keys,
        ):
            outcomes = self._run_all(plan, watcher, keys)
            return self._verify(plan, watcher, keys, outcomes)

    def _run_all(self, plan: Plan, watcher: Watcher, keys: Reencryption) -> dict[str, Outcome]:
        direct = [one for one in plan.jobs if one.backend == "direct"]
        # All of them before the first is begun: a controller follows no order.
        others = [one for one in plan.jobs if one.backend != "direct"]
        in_vain = {one.resource: keys.begin(one) for one in others}
        outcomes = {
            name: Outcome(name, "skipped", reason=why) for name, why in in_vain.items() if why
        }
        controlled = [one for one in others if not in_vain[one.resource]]
        with entry_server(self._module, what="The migrations can't be made") as server:
            backends = {
                api: self._controller(server, api, plan)
                for api in sorted({_APIS[one.backend] for one in controlled})
            }
            started = {
                job.resource: backends[_APIS[job.backend]].start(
                    controllers.ControllerJob(job.listing, job.key, job.existing)
                )
                for job in controlled
            }
            runner = DirectRunner(
                self._module,
                plan,
                watcher,
                count=self.planner.count,
                say=self._teller,
                samples=self.samples,
                beat=lambda: self._beat(plan, watcher),
                keys=keys,
            )
            outcomes.update(runner.run(direct))
            for api, backend in backends.items():
                own = [job for job in controlled if _APIS[job.backend] == api]
                ended = backend.wait(
                    [started[job.resource] for job in own],
                    check=watcher.broken,
                    tell=lambda done, total: self._tell_waiting(done, total, plan, watcher),
                )
                for job in own:
                    outcomes[job.resource] = _controlled(job, ended[job.resource])
        return outcomes

    def _controller(self, server: ApiServer, api: Api, plan: Plan) -> controllers.ControllerBackend:
        return controllers.ControllerBackend(
            server,
            api=api,
            paths=plan.known.migration_paths,
            stuck_after=self._params["stuck_after"],
            owner=plan.owner,
        )

    def _beat(self, plan: Plan, watcher: Watcher) -> None:
        """Keep the records from going stale while the work lasts, also of what is not migrated."""
        now = time.monotonic()
        if now - self._beaten_at < self._params["stale_after"] / 4:
            return
        self._beaten_at = now
        if watcher.doubt is not None:
            return
        forced = {one.resource for one in plan.jobs if one.forced}
        try:
            known = read_recorded(self._module)
            seen = look(self._module, self._access)
            # A server that was missed once must not make everything Unknown: the watch judges that.
            if seen.membership.complete:
                chosen = recordable(seen, self._params["resources"])
                kept = [one for one in chosen if one in known.states and one not in forced]
                record_pass(self._module, self._access, seen, known, kept)
        except LockstepError as error:
            self._teller.now(str(error))

    # --- afterwards ---

    def _verify(
        self, plan: Plan, watcher: Watcher, keys: Reencryption, outcomes: dict[str, Outcome]
    ) -> dict[str, Outcome]:
        """Look once more when all has settled, and record what has been proved."""
        jobs = {one.resource: one for one in plan.jobs}
        done = [
            name
            for name, one in outcomes.items()
            if one.status == "succeeded" and not jobs[name].forced
        ]
        if done:
            self._settle(watcher)
        for name in done:
            void = watcher.broken(name)
            if void:
                outcomes[name] = replace(outcomes[name], status="superseded", reason=str(void))
            elif watcher.doubt is not None:
                outcomes[name] = replace(
                    outcomes[name],
                    status="unfinished",
                    reason=f"it can't be verified: {watcher.doubt}",
                )
        held = [name for name in done if outcomes[name].status == "succeeded"]
        for name in held:
            outcomes[name] = self._prune(watcher.watch.last, outcomes[name])
        unproved = self._unproved_encryption(plan, held, watcher.watch.last, keys)
        for name, against in self._prove(held, jobs, watcher, unproved).items():
            outcome = outcomes[name]
            if against:
                reason = f"it is not proved: {against}"
                outcomes[name] = replace(outcome, status="unfinished", reason=reason)
            elif name in unproved:
                outcomes[name] = replace(outcome, notes=(*outcome.notes, unproved[name]))
            else:
                notes = (*outcome.notes, *_suspicions(jobs[name], outcome))
                outcomes[name] = replace(outcome, verified=True, notes=notes)
        if watcher.watch.breaking is not None:
            self._record_change(watcher.watch.breaking, watcher.watch.unseen, plan)
        return outcomes

    def _unproved_encryption(
        self, plan: Plan, held: Collection[str], seen: Look, keys: Reencryption
    ) -> dict[str, str]:
        """Of which resources nothing tells by which keys they were encrypted, and why."""
        asked = [one for one in plan.jobs if one.reencrypts and one.resource in held]
        if not asked:
            return {}
        after = self.planner.read_encryption(asked, seen)
        why = {one.resource: _begun_before(one) or keys.against(one, seen, after) for one in asked}
        return {
            name: f"by which keys it is encrypted now is not verified: {text}. {_VERIFY_KEYS}"
            for name, text in why.items()
            if text
        }

    def _prove(
        self,
        resources: Sequence[str],
        jobs: Mapping[str, Job],
        watcher: Watcher,
        unproved: Collection[str],
    ) -> dict[str, str]:
        """Record what was proved; by resource, what speaks against it."""
        against: dict[str, str] = dict.fromkeys(resources, "")
        left = list(resources)
        for attempt in range(_PROOFS):
            if attempt:
                # Somebody else has looked in between, and knows more than the look that is judged.
                time.sleep(1)
                watcher.look_now()
            against.update(self._record(left, jobs, watcher.watch.last, unproved))
            left = [name for name in left if against[name]]
            if not left:
                break
        return against

    def _settle(self, watcher: Watcher) -> None:
        """Watch a little longer: a server that has just begun to write shows only then."""
        time.sleep(min(self._params["settle"], BUILT_IN_SECONDS))
        deadline = time.monotonic() + LONGEST_GAP
        watcher.look_now()
        while watcher.doubt is not None and time.monotonic() < deadline:
            time.sleep(1)
            watcher.look_now()

    def _prune(self, seen: Look, outcome: Outcome) -> Outcome:
        crd = seen.sight.crds.get(outcome.resource)
        if crd is None:
            return outcome
        with entry_server(self._module, what="The definition can't be changed") as server:
            try:
                pruning = prune_stored_versions(
                    server, outcome.resource, uid=crd.uid, generation=crd.generation
                )
            except ServerFault as fault:
                # The objects are rewritten all the same, and that must not be lost.
                note = f"status.storedVersions could not be brought up to date: {fault.fault}"
                return replace(outcome, notes=(*outcome.notes, note))
        if pruning.hindrance:
            note = f"status.storedVersions was left at {list(pruning.before)}: {pruning.hindrance}"
            return replace(outcome, notes=(*outcome.notes, note))
        return replace(outcome, stored_versions=pruning.after)

    def _record(
        self,
        resources: Sequence[str],
        jobs: Mapping[str, Job],
        seen: Look,
        unproved: Collection[str],
    ) -> dict[str, str]:
        if not resources:
            return {}
        window = timedelta(seconds=self._params["stale_after"])

        def decide(resource: str, state: StorageState | None, _migrations: Any) -> Transition:
            job = jobs[resource]
            return decide_migrated(
                state=state,
                migration=MigrationSight(
                    name=job.migration,
                    api=_APIS[job.backend],
                    resource=resource,
                    phase="succeeded",
                    key=job.key,
                ),
                agreement=seen.agreements[resource],
                epoch_now=decide_epoch(
                    sight=seen.sight,
                    membership=seen.membership,
                    resource=resource,
                    encryption=self._params["encryption_generation"],
                ),
                now=seen.sight.now,
                window=window,
                watched=True,
                reencrypted=job.reencrypts and resource not in unproved,
            )

        done = record(
            self._access,
            look=seen,
            settle=timedelta(),
            resources=resources,
            known=read_recorded(self._module),
            decide=decide,
            timeout=self._params["timeout"],
            dry_run=False,
        )
        return {
            one.resource: " ".join(str(note) for note in one.transition.notes)
            if one.transition.kind == "refused"
            else ""
            for one in done
        }

    def _record_change(self, breaking: Look, unseen: Collection[str], plan: Plan) -> None:
        """Let the records hold every version that any server has shown, also for a moment.

        Where it is only known that there was another one, anything may be stored.
        """
        seen = [one.resource for one in plan.jobs if one.resource in breaking.agreements]
        known = read_recorded(self._module)
        record_pass(self._module, self._access, breaking, known, seen)
        reset_states(self._module, self._access, breaking, [one for one in seen if one in unseen])

    # --- the small ---

    def _tell_waiting(self, done: int, total: int, plan: Plan, watcher: Watcher) -> None:
        self._teller.rarely(lambda: f"{done} of {plural(total, 'migration')} have ended")
        self._beat(plan, watcher)


def _suspicions(job: Job, outcome: Outcome) -> tuple[str, ...]:
    """What an operator who has rotated keys should look at, although all was written alike."""
    counts = outcome.counts
    # Fewer may all have been rewritten when the servers were tried with them.
    untouched = counts is not None and not counts.rewritten and counts.listed > MOST_TRIED
    return (_SAME_KEYS,) if job.reencrypts and untouched else ()


def _begun_before(job: Job) -> str:
    """Why what a controller did can't be told from what it had done before somebody looked."""
    if job.backend == "direct":
        return ""
    begun = any(one.name == job.migration and one.unfinished for one in job.existing)
    return "its migration was begun by an earlier run" if begun else ""


def _controlled(job: Job, ended: controllers.Ended) -> Outcome:
    status: Any = "succeeded"
    if ended.reason:
        status = "superseded" if ended.superseded else "failed"
    return Outcome(
        job.resource,
        status,
        backend=job.backend,
        why=job.why,
        migration=ended.migration,
        seconds=ended.seconds,
        reason=str(ended.reason or ""),
        final=ended.final,
        notes=(_GOES_ON,) if ended.superseded and job.backend == "in_tree" else (),
    )
