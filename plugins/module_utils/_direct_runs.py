# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""Rewriting objects ourselves: one resource at a time, recorded in its migration."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import replace

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.lockstep.kubernetes.plugins.module_utils._act.locks import (
    LostError,
    ProcessLock,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._act.migrations.direct import (
    DirectMigration,
    Orders,
    Position,
    Stopped,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._act.migrations.objects import (
    create_migration,
    delete_migrations,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._act.migrations.records import (
    MigrationRecord,
    read_position,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.errors import (
    LockstepError,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.migrations import (
    OUT_OF_TREE,
    MigrationSight,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.outcomes import (
    Outcome,
    ProgressSamples,
    describe_progress,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.pace import (
    FULL_CONNECTIONS,
    GENTLE_CONNECTIONS,
    GENTLE_MEGABITS,
    GENTLE_QPS,
    Limits,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.reasons import (
    Reason,
    plural,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.rewrites import (
    Counts,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._migration_plans import (
    Job,
    Plan,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._module import (
    entry_server,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.servers import (
    ApiServer,
    read_access,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.states import (
    observe_migrations_of,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._reencryption import Reencryption
from ansible_collections.lockstep.kubernetes.plugins.module_utils._run import Teller
from ansible_collections.lockstep.kubernetes.plugins.module_utils._watcher import Watcher

_LOCK = "migrate"
_BEGUN = "rewriting"
# How long a pass may run migrations, unless it is told: half of the time between two passes.
SLICE_SECONDS = 120.0


class DirectRunner:
    """Runs migrations in this very process. `beat` is called now and then, while it works."""

    def __init__(
        self,
        module: AnsibleModule,
        plan: Plan,
        watcher: Watcher,
        *,
        count: Callable[[Job], int],
        say: Teller,
        samples: ProgressSamples,
        beat: Callable[[], None],
        keys: Reencryption,
    ) -> None:
        self._module, self._params = module, module.params
        self._access = read_access(module)
        self._plan, self._watcher = plan, watcher
        self._count, self._say, self._beat = count, say, beat
        self._begun = time.monotonic()
        self._by_pass = self._params["state"] == "advanced"
        # How long to work; 0 is to the end.
        self._seconds = self._params["stop_after"] or (SLICE_SECONDS if self._by_pass else 0.0)
        self._samples, self._done = samples, 0
        self._keys = keys

    def run(self, jobs: Sequence[Job]) -> dict[str, Outcome]:
        """Run them all, those first that were begun before."""
        outcomes: dict[str, Outcome] = {}
        if not jobs:
            return outcomes
        with entry_server(self._module, what="The migrations can't be run") as server:
            lock = ProcessLock(server, _LOCK)
            # A pass does not wait for another run: that one does the same work.
            patience = 0.0 if self._by_pass else self._params["stuck_after"]
            lock.take(patience=patience, say=self._say.now)
            try:
                for job in sorted(jobs, key=lambda one: not _was_running(one)):
                    outcomes[job.resource] = self._run_direct(server, lock, job)
                    self._sample(outcomes[job.resource].visited)
                    self._done += outcomes[job.resource].visited
                    if outcomes[job.resource].status == "unfinished":
                        break
            finally:
                lock.release()
        return outcomes

    def _run_direct(self, server: ApiServer, lock: ProcessLock, job: Job) -> Outcome:
        begun = time.monotonic()
        try:
            # The end of the job before may have taken long.
            _require_lock(lock)
        except Stopped as stopped:
            return Outcome(job.resource, "unfinished", reason=str(stopped.reason))
        if self._done_meanwhile(server, job):
            why = "another run has migrated it meanwhile"
            if not job.reencrypts:
                return Outcome(job.resource, "ok", reason=why)
            why += ", and only that run can tell whether its keys are verified"
            return Outcome(job.resource, "skipped", reason=why)
        in_vain = self._keys.begin(job)
        if in_vain:
            return Outcome(job.resource, "skipped", reason=in_vain)
        migrations = self._own_migrations(server, job)
        kept = MigrationRecord(server, self._plan.known.migration_paths[OUT_OF_TREE], migrations)
        resumed = self._resumed(job, migrations)

        def said(counts: Counts) -> str:
            seconds = time.monotonic() - begun
            return describe_progress(
                counts, total=run.total, seconds=seconds, before=resumed.counts
            )

        def check() -> bool:
            self._say.rarely(lambda: f"{job.resource}: {said(run.counts)}")
            self._sample(run.counts.done - resumed.counts.done)
            if self._is_over():
                run.save_now()
                raise Stopped(self._over(job), "paused")
            return self._check(job, lock)

        run = DirectMigration(
            self._access,
            Orders(
                listing=job.listing,
                limits=self._limits(),
                timeout=self._params["timeout"],
                patience=self._params["stuck_after"],
                only=job.only,
                undecodable=job.undecodable,
            ),
            check=check,
            save=lambda position, counts: kept.save(position, counts, said(counts)),
            total=self._count(job),
        )
        outcome = Outcome(
            job.resource,
            "succeeded",
            backend=job.backend,
            why=job.why,
            migration=job.migration,
            resumed=resumed.counts.done,
        )
        try:
            kept.begin(_BEGUN)
            counts = run.run(resumed)
        except Stopped as stopped:
            reached = replace(outcome, counts=run.counts, seconds=time.monotonic() - begun)
            return self._stop(server, kept, reached, stopped)
        done = replace(outcome, counts=counts, seconds=time.monotonic() - begun)
        if counts.failed:
            done = replace(done, status="failed", reason=_failure(counts))
        kept.end(succeeded=not counts.failed, message=done.reason or said(counts), counts=counts)
        return done

    def _resumed(self, job: Job, migrations: Sequence[MigrationSight]) -> Position:
        """Where to go on: at the start, if what was done before does not serve all of this."""
        ours, *others = migrations
        begun = read_position(ours)
        served = all(one.phase == "running" and one.message == _BEGUN for one in others)
        if job.only is not None or not served or not self._keys.counts(job, begun):
            begun = Position()
        return self._keys.mark(job, begun)

    def _sample(self, done: int) -> None:
        self._samples.take(seconds=time.monotonic() - self._begun, done=self._done + done)

    def _stop(
        self, server: ApiServer, kept: MigrationRecord, reached: Outcome, stopped: Stopped
    ) -> Outcome:
        """Leave the migration as what it is now: void, to be taken up again, or failed."""
        reached = replace(reached, reason=str(stopped.reason))
        if stopped.kind in ("superseded", "deleted"):
            found = observe_migrations_of(server, reached.resource)
            # What others asked for is left to be done: only a reconcile of the record ends that.
            ours = [one for one in found if one.unfinished and one.key is not None]
            delete_migrations(server, ours, self._plan.known.migration_paths)
            return replace(reached, status="superseded", final=stopped.kind == "deleted")
        if stopped.kind == "paused":
            return replace(reached, status="unfinished")
        kept.end(succeeded=False, message=reached.reason, counts=reached.counts or Counts())
        return replace(reached, status="failed")

    def _done_meanwhile(self, server: ApiServer, job: Job) -> bool:
        """Whether another run did the same while this one waited for it."""
        before = {one.uid for one in job.existing}
        found = observe_migrations_of(server, job.resource)
        return any(
            one.phase == "succeeded" and one.key == job.key and one.uid not in before
            for one in found
        )

    def _own_migrations(self, server: ApiServer, job: Job) -> tuple[MigrationSight, ...]:
        """The migration of this turn, and those of others that the same work serves.

        A list of names serves nobody else: who asks for a migration asks for all of it.
        """
        name, paths = job.migration, self._plan.known.migration_paths
        ours = [one for one in job.existing if one.name == name and one.api == OUT_OF_TREE]
        # What was begun under other processes proves nothing: it is begun anew.
        void = [one for one in ours if one.unfinished and one.key != job.key]
        delete_migrations(server, void, paths)
        create_migration(
            server,
            resource=job.resource,
            group_version=job.listing.group_version,
            key=job.key,
            existing=[one for one in job.existing if one not in void],
            paths=paths,
            owner=self._plan.owner,
        )
        found = observe_migrations_of(server, job.resource)
        unfinished = [one for one in found if one.unfinished and one.api == OUT_OF_TREE]
        first = [one for one in unfinished if one.name == name]
        if not first:
            raise LockstepError(
                f"The migration {name} is not there",
                "Somebody deleted it, or ended it, at the same moment",
                "Run the task again",
            )
        others = [one for one in unfinished if one.name != name] if job.only is None else []
        return (*first, *others)

    def _limits(self) -> Limits:
        full = self._params["speed"] == "full"
        return Limits(
            qps=self._params["max_qps"] or (0.0 if full else GENTLE_QPS),
            megabits=self._params["max_bandwidth"] or (0.0 if full else GENTLE_MEGABITS),
            connections=self._params["connections"]
            or (FULL_CONNECTIONS if full else GENTLE_CONNECTIONS),
            heed_latency=not full,
        )

    def _check(self, job: Job, lock: ProcessLock) -> bool:
        """Whether to hold; what ends the work is raised."""
        if not job.forced:
            self._require_watched(job.resource)
        _require_lock(lock)
        self._beat()
        return self._watcher.doubt is not None and not job.forced

    def _is_over(self) -> bool:
        return bool(self._seconds) and time.monotonic() - self._begun > self._seconds

    def _over(self, job: Job) -> Reason:
        return Reason(
            f"{job.resource}: {self._seconds:.0f} s have passed",
            "The next pass goes on" if self._by_pass else "Run the task again to go on",
            resource=job.resource,
        )

    def _require_watched(self, resource: str) -> None:
        void = self._watcher.broken(resource)
        if void:
            raise Stopped(void, "superseded")
        if self._watcher.doubted_for > self._params["stuck_after"]:
            raise Stopped(
                Reason(
                    f"{resource}: for {self._watcher.doubted_for:.0f} s nobody could see what"
                    f" every server writes. {self._watcher.doubt}",
                    "Run the task again once all servers answer",
                    resource=resource,
                ),
                "paused",
            )


def _require_lock(lock: ProcessLock) -> None:
    try:
        lock.keep()
    except LostError as lost:
        raise Stopped(Reason(f"{lost.what}. {lost.why}", lost.remedy), "paused") from lost


def _was_running(job: Job) -> bool:
    return any(one.phase == "running" for one in job.existing)


def _failure(counts: Counts) -> str:
    first = counts.failures[0]
    return (
        f"{plural(counts.failed, 'object')} could not be written, such as {first.name}:"
        f" {first.reason}"
    )
