# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""Migrations that a controller runs, the in-tree one or the out-of-tree one: make them, and wait.

Neither tells how many objects it wrote. The in-tree one says Succeeded before it has tidied up,
does not notice that a migration was deleted, and may be off altogether: all that shows only in
what it leaves undone.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from ansible_collections.lockstep.kubernetes.plugins.module_utils._act.migrations.objects import (
    create_migration,
    delete_migrations,
    migration_name,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.migrations import (
    IN_TREE,
    OUT_OF_TREE,
    Api,
    MigrationKey,
    MigrationSight,
    read_migration,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.reasons import Reason
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.objects import ObjectList
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.servers import (
    ApiServer,
    ServerFault,
)

_POLL_SECONDS = 1.0
_SAMPLE_SECONDS = 10.0
_PROBE_SECONDS = 3.0
_PROBE = "lockstep-probe"

_WHO: Mapping[Api, str] = {
    IN_TREE: "the storage version migrator of kube-controller-manager",
    OUT_OF_TREE: "the out-of-tree migrator",
}


@dataclass(frozen=True)
class ControllerJob:
    """One resource that a controller is to migrate."""

    listing: ObjectList
    key: MigrationKey
    existing: tuple[MigrationSight, ...]


@dataclass
class ControllerRun:
    """How far one job is."""

    job: ControllerJob
    name: str
    begun: float
    moved: float
    # What was last seen of it: whatever moves here is progress.
    trace: object = None
    sample: object = None
    sampled: float = field(default=0.0)


@dataclass(frozen=True)
class Ended:
    """How a controller's migration ended. Without a reason it has succeeded."""

    migration: str
    seconds: float
    reason: Reason | None = None
    superseded: bool = False


class ControllerBackend:
    """Has a controller run migrations, and waits until it has."""

    def __init__(
        self, server: ApiServer, *, api: Api, paths: Mapping[str, str], stuck_after: float
    ) -> None:
        self._server, self._api, self._paths = server, api, paths
        self._stuck_after = stuck_after
        self._path = paths[api]

    def start(self, job: ControllerJob) -> ControllerRun:
        """Make the migration, or go on with the one of this turn that is there already."""
        name = migration_name(job.listing.resource, job.key)
        # What was begun under other processes proves nothing: it is begun anew.
        void = [
            one
            for one in job.existing
            if one.name == name and one.unfinished and one.key != job.key
        ]
        delete_migrations(self._server, void, self._paths)
        create_migration(
            self._server,
            resource=job.listing.resource,
            group_version=job.listing.group_version,
            key=job.key,
            existing=[one for one in job.existing if one not in void],
            paths=self._paths,
            api=self._api,
        )
        now = time.monotonic()
        return ControllerRun(job, name, begun=now, moved=now)

    def wait(
        self,
        runs: list[ControllerRun],
        *,
        check: Callable[[str], Reason | None],
        tell: Callable[[int, int], None],
    ) -> dict[str, Ended]:
        """Wait for all of them. `check` gives the reason why one no longer counts."""
        ended: dict[str, Ended] = {}
        while len(ended) < len(runs):
            seen = self._read()
            for run in runs:
                resource = run.job.listing.resource
                if resource not in ended:
                    outcome = self._judge(run, seen.get(run.name), check(resource))
                    if outcome:
                        ended[resource] = outcome
            if len(ended) < len(runs):
                tell(len(ended), len(runs))
                time.sleep(_POLL_SECONDS)
        return ended

    def _judge(
        self, run: ControllerRun, seen: MigrationSight | None, void: Reason | None
    ) -> Ended | None:
        seconds = time.monotonic() - run.begun
        resource = run.job.listing.resource
        if void:
            self._delete(seen)
            return Ended(run.name, seconds, void, superseded=True)
        if seen is None:
            deleted = Reason(
                f"the migration {run.name} was deleted while it ran",
                "Run the task again if that was not meant to stop it",
                resource=resource,
            )
            return Ended(run.name, seconds, deleted, superseded=True)
        if seen.phase == "succeeded":
            return Ended(run.name, seconds)
        if seen.phase == "failed":
            said = seen.message or "no reason given"
            return Ended(
                run.name,
                seconds,
                Reason(
                    f"{_WHO[self._api]} failed to migrate {resource}: {said}",
                    "Remove what it names, and run the task again; or set backend to direct, which"
                    " names every object",
                    resource=resource,
                ),
            )
        if self._moves(run, seen):
            return None
        # One that nobody has begun must not be begun when nobody waits for it any more.
        if seen.phase == "pending":
            self._delete(seen)
        return Ended(run.name, seconds, self._stuck(run, seen))

    def _moves(self, run: ControllerRun, seen: MigrationSight) -> bool:
        now = time.monotonic()
        trace = (seen.phase, seen.resource_version, seen.continue_token)
        if trace != run.trace:
            run.trace, run.moved = trace, now
        elif seen.phase == "running" and now - run.sampled > _SAMPLE_SECONDS:
            # The in-tree controller goes through its objects in no order and reports nothing, so
            # that any page of them shows whether it still writes.
            run.sampled = now
            sample = self._sample(run.job.listing)
            if sample != run.sample:
                run.sample, run.moved = sample, now
        return now - run.moved < self._stuck_after

    def _sample(self, listing: ObjectList) -> object:
        if listing.by_namespace:
            return None
        try:
            self._server.deadline = self._server.deadline.anew()
            return listing.read_page(self._server).names
        except ServerFault as fault:
            return fault.fault

    def _stuck(self, run: ControllerRun, seen: MigrationSight) -> Reason:
        resource = run.job.listing.resource
        did = "has not begun" if seen.phase == "pending" else "has shown no progress"
        remedy = (
            "See whether kube-controller-manager runs with the feature gate StorageVersionMigrator,"
            " and what it logs; or set backend to direct"
            if self._api == IN_TREE
            else "See whether its pod runs, and what it logs; or stop it and set backend to direct"
        )
        said = f"; it said: {seen.message}" if seen.message else ""
        return Reason(
            f"{_WHO[self._api]} {did} to migrate {resource} for {self._stuck_after:.0f} s{said}",
            remedy,
            resource=resource,
        )

    def _read(self) -> dict[str, MigrationSight]:
        """All migrations by name; a server that restarts is asked again."""
        begun = time.monotonic()
        while True:
            self._server.deadline = self._server.deadline.anew()
            try:
                items = self._server.get(self._path).json().get("items") or []
            except ServerFault as fault:
                if fault.lasting or fault.status == 403:
                    raise
                if time.monotonic() - begun > self._stuck_after:
                    raise
                time.sleep(_POLL_SECONDS)
                continue
            read = (read_migration({"apiVersion": f"{self._api}/", **item}) for item in items)
            return {one.name: one for one in read if one is not None}

    def _delete(self, migration: MigrationSight | None) -> None:
        if migration is not None:
            delete_migrations(self._server, [migration], self._paths)


def migrator_lives(server: ApiServer, path: str) -> bool:
    """Whether an out-of-tree migrator is at work: it answers at once to one it can't run.

    While it runs another migration it does not; then that one moves on.
    """
    document = {
        "apiVersion": f"{OUT_OF_TREE}/v1alpha1",
        "kind": "StorageVersionMigration",
        "metadata": {"generateName": f"{_PROBE}-"},
        "spec": {
            "resource": {"group": "probe.lockstep.invalid", "version": "v1", "resource": "probes"}
        },
    }
    before = _running(server, path)
    probe = server.post(path, document).json()["metadata"]
    place = f"{path}/{probe['name']}"
    deadline = time.monotonic() + _PROBE_SECONDS
    try:
        while time.monotonic() < deadline:
            server.deadline = server.deadline.anew()
            if (server.get(place).json().get("status") or {}).get("conditions"):
                return True
            time.sleep(0.2)
        return bool(before) and _running(server, path) != before
    finally:
        server.deadline = server.deadline.anew()
        try:
            server.delete(place, {"preconditions": {"uid": probe["uid"]}})
        except ServerFault as fault:
            if fault.status not in (404, 409):
                raise


def _running(server: ApiServer, path: str) -> dict[str, str]:
    """The migrations that run, and how far they are."""
    items = server.get(path).json().get("items") or []
    read = (read_migration({"apiVersion": f"{OUT_OF_TREE}/", **item}) for item in items)
    return {one.name: one.resource_version for one in read if one and one.phase == "running"}
