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
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

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
    MigrationOwner,
    MigrationSight,
    Phase,
    read_migration,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.reasons import Reason
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.rewrites import ObjectName
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe import documents
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.documents import Document
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.objects import ObjectList
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.servers import (
    ApiServer,
    ServerFault,
)

_POLL_SECONDS = 1.0
_SAMPLE_SECONDS = 10.0
# Objects a second. One that is current already leaves no trace of having been visited, so that the
# in-tree controller is trusted to be at least this fast.
_SLOWEST = 50.0
_PROBE_SECONDS = 3.0
_PROBE_END_SECONDS = 10.0
_PROBE = "lockstep-probe"

WHO: Mapping[Api, str] = {
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
    # How many objects are visited without a trace.
    unseen: int = 0
    # Some objects that nobody has written since the first look at them.
    untouched: frozenset[ObjectName] | None = None
    sampled: float = 0.0


@dataclass(frozen=True)
class Ended:
    """How a controller's migration ended. Without a reason it has succeeded."""

    migration: str
    seconds: float
    reason: Reason | None = None
    superseded: bool = False
    # Whether another try is of no use: nobody is there to make it, or nobody wants it any more.
    final: bool = False


class ControllerBackend:
    """Has a controller run migrations, and waits until it has."""

    def __init__(
        self,
        server: ApiServer,
        *,
        api: Api,
        paths: Mapping[str, str],
        stuck_after: float,
        owner: MigrationOwner | None = None,
    ) -> None:
        self._server, self._api, self._paths = server, api, paths
        self._stuck_after, self._owner = stuck_after, owner
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
            owner=self._owner,
        )
        return ControllerRun(job, name, begun=time.monotonic(), unseen=self._unseen(job.listing))

    def _unseen(self, listing: ObjectList) -> int:
        if self._api != IN_TREE:
            # It says after each page how far it is.
            return 0
        try:
            return listing.count(self._server) or 0
        except ServerFault:
            return 0

    def wait(
        self,
        runs: list[ControllerRun],
        *,
        check: Callable[[str], Reason | None],
        tell: Callable[[int, int], None],
    ) -> dict[str, Ended]:
        """Wait for all of them. `check` gives the reason why one no longer counts."""
        ended: dict[str, Ended] = {}
        moved = time.monotonic()
        trace: object = None
        while len(ended) < len(runs):
            seen = self._read()
            shown = {name: (one.phase, one.continue_token) for name, one in seen.items()}
            under_way = [run for run in runs if run.job.listing.resource not in ended]
            # A controller has few hands: who waits for it waits as long as others get on.
            written = [run for run in under_way if self._is_written(run, seen.get(run.name))]
            if written or shown != trace:
                moved, trace = time.monotonic(), shown
            patience = self._stuck_after + sum(run.unseen for run in under_way) / _SLOWEST
            for run in under_way:
                resource = run.job.listing.resource
                outcome = self._judge(run, seen.get(run.name), check(resource), moved, patience)
                if outcome:
                    ended[resource] = outcome
            if len(ended) < len(runs):
                tell(len(ended), len(runs))
                time.sleep(_POLL_SECONDS)
        return ended

    def _judge(
        self,
        run: ControllerRun,
        seen: MigrationSight | None,
        void: Reason | None,
        moved: float,
        patience: float,
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
            return Ended(run.name, seconds, deleted, superseded=True, final=True)
        if seen.phase == "succeeded":
            return Ended(run.name, seconds)
        if seen.phase == "failed":
            said = seen.message or "no reason given"
            return Ended(
                run.name,
                seconds,
                Reason(
                    f"{WHO[self._api]} failed to migrate {resource}: {said}",
                    "Remove what it names, and run the task again; or set backend to direct, which"
                    " names every object",
                    resource=resource,
                ),
            )
        idle = time.monotonic() - moved
        if idle < (patience if seen.phase == "running" else self._stuck_after):
            return None
        # One that nobody has begun must not be begun when nobody waits for it any more.
        if seen.phase == "pending":
            self._delete(seen)
        return Ended(run.name, seconds, self._stuck(run, seen, idle), final=True)

    def _is_written(self, run: ControllerRun, seen: MigrationSight | None) -> bool:
        """Whether objects were written that nobody had written before.

        The in-tree controller goes through its objects in no order and reports nothing, so that
        any page of them shows whether it still writes. What others write again and again does not.
        """
        now = time.monotonic()
        every = min(_SAMPLE_SECONDS, self._stuck_after / 3)
        listing = run.job.listing
        if not seen or seen.phase != "running" or listing.by_namespace or now - run.sampled < every:
            return False
        run.sampled = now
        self._server.deadline = self._server.deadline.anew()
        try:
            names = frozenset(listing.read_page(self._server).names)
        except ServerFault:
            return False
        before = run.untouched
        run.untouched = names if before is None else names & before
        return run.untouched != before

    def _stuck(self, run: ControllerRun, seen: MigrationSight, idle: float) -> Reason:
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
            f"{WHO[self._api]} {did} to migrate {resource} for {idle:.0f} s{said}",
            remedy,
            resource=resource,
        )

    def _read(self) -> dict[str, MigrationSight]:
        """All migrations by name; a server that restarts is asked again."""
        begun = time.monotonic()
        while True:
            self._server.deadline = self._server.deadline.anew()
            try:
                items = self._server.get(self._path).read(_migration_items)
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

    While it runs another migration it does not, nor does that one show anything for minutes. So
    one that it has left half done counts as one that it is at.
    """
    document = {
        "apiVersion": f"{OUT_OF_TREE}/v1alpha1",
        "kind": "StorageVersionMigration",
        "metadata": {"generateName": f"{_PROBE}-"},
        "spec": {
            "resource": {"group": "probe.lockstep.invalid", "version": "v1", "resource": "probes"}
        },
    }
    before = _run_by_others(server, path)
    name, uid = server.post(path, document).read(_name_and_uid)
    place = f"{path}/{name}"
    try:
        answered = _reaches(server, place, ("running", "failed", "succeeded"), _PROBE_SECONDS)
        if answered:
            # One that is deleted before it has ended keeps it from all others for seconds.
            _reaches(server, place, ("failed", "succeeded"), _PROBE_END_SECONDS)
        return answered or bool(before)
    finally:
        server.deadline = server.deadline.anew()
        try:
            server.delete(place, {"preconditions": {"uid": uid}})
        except ServerFault as fault:
            if fault.status not in (404, 409):
                raise


def _reaches(server: ApiServer, place: str, phases: Sequence[Phase], seconds: float) -> bool:
    """Wait until a migration has come that far; False if it has not in that time."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        server.deadline = server.deadline.anew()
        seen = server.get(place).read(read_migration)
        if seen is not None and seen.phase in phases:
            return True
        time.sleep(0.2)
    return False


def _run_by_others(server: ApiServer, path: str) -> list[str]:
    """The migrations that run, but for those of our own, which say how far they are."""
    items = server.get(path).read(_migration_items)
    read = (read_migration({"apiVersion": f"{OUT_OF_TREE}/", **item}) for item in items)
    return [one.name for one in read if one and one.phase == "running" and not one.message]


def _migration_items(document: Document) -> list[Document]:
    return documents.list_items(document, "StorageVersionMigrationList")


def _name_and_uid(document: Document) -> tuple[str, str]:
    metadata = documents.required_section(document, "metadata")
    return documents.text(metadata, "name"), documents.text(metadata, "uid")
