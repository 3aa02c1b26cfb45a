# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""Makes and deletes StorageVersionMigration objects; whoever runs them, they look the same."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide import names
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.migrations import (
    KEY_ANNOTATION,
    OUT_OF_TREE,
    Api,
    MigrationKey,
    MigrationOwner,
    MigrationSight,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.servers import (
    ApiServer,
    ServerFault,
)


def delete_migrations(
    server: ApiServer, migrations: Iterable[MigrationSight], paths: Mapping[str, str]
) -> list[MigrationSight]:
    """Delete migrations as they were seen; one that is gone or was made anew is left alone."""
    deleted = []
    for migration in migrations:
        server.deadline = server.deadline.anew()
        guard = {"preconditions": {"uid": migration.uid}}
        try:
            server.delete(f"{paths[migration.api]}/{migration.name}", guard)
        except ServerFault as fault:
            if fault.status not in (404, 409):
                raise
        else:
            deleted.append(migration)
    return deleted


def create_migration(
    server: ApiServer,
    *,
    resource: str,
    group_version: str,
    key: MigrationKey,
    existing: Iterable[MigrationSight],
    paths: Mapping[str, str],
    api: Api = OUT_OF_TREE,
    owner: MigrationOwner | None = None,
) -> bool:
    """Make the migration of this turn; False if others did. All who make it choose one name."""
    name = migration_name(resource, key)
    server.deadline = server.deadline.anew()
    # One of this very turn that has ended and proved nothing stands in the way of another try.
    ended = [one for one in existing if one.name == name and not one.unfinished]
    delete_migrations(server, ended, paths)
    metadata: dict[str, object] = {"name": name, "annotations": {KEY_ANNOTATION: key.to_json()}}
    if owner:
        metadata["ownerReferences"] = [owner.to_reference()]
    document = {
        "apiVersion": _group_version(paths[api]),
        "kind": "StorageVersionMigration",
        "metadata": metadata,
        "spec": {"resource": _target(resource, group_version, paths[api])},
    }
    try:
        server.post(paths[api], document)
    except ServerFault as fault:
        # Somebody made the same one at the same time.
        if fault.status != 409:
            raise
        return False
    return True


def _target(resource: str, group_version: str, path: str) -> dict[str, str]:
    """How a migration names its resource: the later versions of the API ask for no version."""
    plural, group = names.split_resource(resource)
    target = {"group": group, "resource": plural}
    if path.endswith("/v1alpha1/storageversionmigrations"):
        target["version"] = names.split_group_version(group_version)[1]
    return target


def _group_version(path: str) -> str:
    return "/".join(path.split("/")[2:4])


def migration_name(resource: str, key: MigrationKey) -> str:
    """The name of a resource's migration of one turn."""
    return f"{resource}-{key.digest}"
