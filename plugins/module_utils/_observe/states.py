# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""StorageState and StorageVersionMigration objects, as they lie in the cluster."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial

from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide import names
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.errors import (
    LockstepError,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.locks import UPGRADE
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.migrations import (
    IN_TREE,
    OUT_OF_TREE,
    MigrationSight,
    read_migration,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.states import StorageState
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.times import parse_time
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe import documents
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.discovery import (
    parse_groups,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.documents import Document
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.locks import observe_lock
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.servers import (
    USER_AGENT,
    ApiServer,
    ServerFault,
)

STATES = f"/apis/{OUT_OF_TREE}/v1alpha1/storagestates"
# A trigger writes every minute.
_LATELY = timedelta(minutes=10)
# We, as of now and before we had a name, and people.
_OURS = (USER_AGENT, "python-urllib3", "kubectl")
EVIDENCE_ANNOTATION = "lockstep.kubernetes/evidence"
_DEFINITION = (
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/storagestates.migration.k8s.io"
)


class _NotInstalled(LockstepError):
    """Nobody has installed the definitions."""


@dataclass(frozen=True)
class RecordedStates:
    """All that is recorded of stored versions, and of their migrations."""

    states: Mapping[str, StorageState]
    migrations: tuple[MigrationSight, ...]
    # The paths of the migration APIs that are served, by their group.
    migration_paths: Mapping[str, str]
    # Whether the definition has room for evidence; one that others installed has not.
    evidence_in_status: bool
    # Who upgrades the cluster at this moment; empty if nobody does.
    upgrading: str = ""
    # Migration APIs whose list the server could not give, by their group, with its words.
    unlisted: Mapping[str, str] = field(default_factory=dict)
    # Who else writes states, and when they did last.
    others: Mapping[str, datetime] = field(default_factory=dict)
    # Whether there is a place to record them at all.
    installed: bool = True

    def foreign_trigger(self, now: datetime) -> str:
        """Who else kept the states lately; empty if nobody did."""
        return next((one for one, last in self.others.items() if now - last < _LATELY), "")

    def migrations_of(self, resource: str) -> tuple[MigrationSight, ...]:
        """The migrations of one resource, whoever made them."""
        return tuple(one for one in self.migrations if one.resource == resource)


def observe_states(server: ApiServer, *, needed: bool = True) -> RecordedStates:
    """Read all states and migrations; a cluster without StorageState is told how to get it.

    Unless they are needed, there are none then; nor is a list that fails an error.
    """
    try:
        evidence_in_status, installed = _has_room_for_evidence(server), True
    except _NotInstalled:
        if needed:
            raise
        evidence_in_status = installed = False
    unlisted: dict[str, str] = {}
    migrations, paths = _observe_migrations(server, None if needed else unlisted)
    lock = observe_lock(server, UPGRADE)
    upgrading = lock.sight.owner if lock.sight and lock.sight.held(lock.now) else ""
    states, others = server.get(STATES).read(parse_states) if installed else ({}, {})
    return RecordedStates(
        states=states,
        migrations=migrations,
        migration_paths=paths,
        evidence_in_status=evidence_in_status,
        upgrading=upgrading,
        unlisted=unlisted,
        others=others,
        installed=installed,
    )


def observe_migrations_of(server: ApiServer, resource: str) -> tuple[MigrationSight, ...]:
    """The migrations of one resource, as they are now, whoever made them."""
    server.deadline = server.deadline.anew()
    migrations, _paths = _observe_migrations(server)
    return tuple(one for one in migrations if one.resource == resource)


def _observe_migrations(
    server: ApiServer, unlisted: dict[str, str] | None = None
) -> tuple[tuple[MigrationSight, ...], dict[str, str]]:
    """All migrations, and the paths of their APIs by group."""
    paths: dict[str, str] = {}
    found: list[MigrationSight | None] = []
    for group, path, items in _list_migrations(server, unlisted):
        paths[group] = path
        found += [read_migration({"apiVersion": f"{group}/", **item}) for item in items]
    return tuple(one for one in found if one is not None), paths


def parse_states(document: Document) -> tuple[dict[str, StorageState], dict[str, datetime]]:
    """All states, by resource, and who else writes them."""
    items = documents.list_items(document, "StorageStateList")
    states = map(read_state, items)
    return {state.resource: state for state in states}, _other_writers(items)


def _other_writers(items: Iterable[Document]) -> dict[str, datetime]:
    """Who keeps the heartbeat of states, besides us and people."""
    found: dict[str, datetime] = {}
    for item in items:
        for one in documents.sections(documents.section(item, "metadata"), "managedFields"):
            manager = documents.optional_text(one, "manager")
            time = parse_time(one.get("time"))
            if one.get("subresource") == "status" and time and not manager.startswith(_OURS):
                found[manager] = max(time, found.get(manager, time))
    return found


def observe_state(server: ApiServer, resource: str) -> StorageState | None:
    """Read one state anew, after somebody else has written it."""
    name = names.storage_state_name(resource)
    try:
        return server.get(f"{STATES}/{name}").read(partial(parse_state, name=name))
    except ServerFault as fault:
        if fault.status != 404:
            raise
        return None


def parse_state(document: Document, *, name: str) -> StorageState:
    """The StorageState object of this name."""
    return read_state(documents.require_kind(document, "StorageState", name=name))


def read_state(item: Document) -> StorageState:
    """One StorageState object. Its status may be anybody's: what can't be read there is Unknown."""
    metadata = documents.section(item, "metadata")
    annotations = documents.section(metadata, "annotations")
    return StorageState.from_status(
        resource=names.resource_of_storage_state(documents.text(metadata, "name")),
        status=item.get("status"),
        evidence=_parse(documents.optional_text(annotations, EVIDENCE_ANNOTATION)),
        resource_version=documents.text(metadata, "resourceVersion"),
        uid=documents.text(metadata, "uid"),
    )


def _has_room_for_evidence(server: ApiServer) -> bool:
    try:
        return server.get(_DEFINITION).read(parse_room_for_evidence)
    except ServerFault as fault:
        if fault.status != 404:
            raise
        raise _NotInstalled(
            "This cluster has no StorageState API",
            "The definition storagestates.migration.k8s.io is not there",
            "Install it with the role lockstep.kubernetes.migrator",
        ) from fault


def parse_room_for_evidence(document: Document) -> bool:
    """Whether the definition of StorageStates has room for evidence in their status."""
    documents.require_kind(document, "CustomResourceDefinition")
    versions = documents.sections(documents.required_section(document, "spec"), "versions")
    served = (one for one in versions if documents.text(one, "name") == "v1alpha1")
    version: Document = next(served, {})
    schema = documents.section(documents.section(version, "schema"), "openAPIV3Schema")
    status = documents.section(documents.section(schema, "properties"), "status")
    open_ended = any(one.get("x-kubernetes-preserve-unknown-fields") for one in (schema, status))
    return open_ended or "evidence" in documents.section(status, "properties")


def _list_migrations(
    server: ApiServer, unlisted: dict[str, str] | None
) -> Iterator[tuple[str, str, list[Document]]]:
    """Where migrations lie and which there are, in each group: all its versions show the same.

    The list of groups is one for all servers: this one may not have what another release brought.
    A list that fails, as one does that holds something undecodable, goes to `unlisted` if that is
    given.
    """
    for group, versions in server.get("/apis").read(parse_groups).items():
        if group not in (OUT_OF_TREE, IN_TREE):
            continue
        for version in versions:
            path = f"{names.api_path(version)}/storageversionmigrations"
            try:
                items = server.get(path).read(parse_migrations)
            except ServerFault as fault:
                if fault.status == 500 and unlisted is not None:
                    unlisted[group] = fault.fault
                    break
                if fault.status != 404:
                    raise
            else:
                yield group, path, items
                break


def parse_migrations(document: Document) -> list[Document]:
    """The migrations in a list, as they are."""
    items = documents.list_items(document, "StorageVersionMigrationList")
    for item in items:
        documents.text(documents.section(item, "metadata"), "name")
    return items


def _parse(annotation: str) -> object:
    try:
        return json.loads(annotation) if annotation else None
    except (ValueError, RecursionError):
        return None
