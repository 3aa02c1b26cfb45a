# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""What our own migrator keeps in a StorageVersionMigration: where it stands, and how it ended.

So `kubectl wait --for=condition=Succeeded` works, and a run that was killed can be taken up.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timezone
from typing import Any

from ansible_collections.lockstep.kubernetes.plugins.module_utils._act.migrations.direct import (
    Position,
    Stopped,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.migrations import (
    MigrationSight,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.reasons import Reason
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.rewrites import (
    Counts,
    ObjectName,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.times import format_time
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.servers import (
    ApiServer,
    ServerFault,
)

# How a migration ended is written once more after each of these, while its server is away.
_PAUSES = (0.2, 1.0, 5.0, 10.0, 10.0)
_LASTING = (401, 403, 422)


class MigrationRecord:
    """The migrations of one resource that one run serves; progress is kept in the first."""

    def __init__(self, server: ApiServer, path: str, migrations: Sequence[MigrationSight]) -> None:
        self._server, self._path = server, path
        self._migrations = migrations
        self._token = migrations[0].continue_token

    def begin(self, message: str) -> None:
        """Say that it runs now."""
        for one in self._migrations:
            self._insist(one, _condition("Running", "True", message))

    def save(self, position: Position, counts: Counts, message: str) -> None:
        """Keep where the work would be taken up. A server that is away is no reason to stop."""
        try:
            self._save(position, counts, message)
        except ServerFault as fault:
            if fault.status in _LASTING:
                raise

    def end(self, *, succeeded: bool, message: str, counts: Counts) -> None:
        """Say how it ended."""
        ended = _condition("Succeeded" if succeeded else "Failed", "True", message)
        for number, one in enumerate(self._migrations):
            progress = counts.to_dict() if number == 0 else None
            self._insist(one, _condition("Running", "False", ""), ended, progress=progress)

    def _insist(
        self,
        migration: MigrationSight,
        *conditions: Mapping[str, str],
        progress: Mapping[str, Any] | None = None,
    ) -> None:
        """Write what must not be lost, also past a connection that breaks."""
        for pause in _PAUSES:
            try:
                self._write(migration, *conditions, progress=progress)
            except ServerFault as fault:
                if fault.lasting or fault.status in _LASTING:
                    raise
                time.sleep(pause)
            else:
                return
        self._write(migration, *conditions, progress=progress)

    def _save(self, position: Position, counts: Counts, message: str) -> None:
        first = self._migrations[0]
        if not position.namespace and position.token != self._token:
            # Only such a token means anything to others who read it there.
            guard = {"metadata": {"uid": first.uid}}
            self._patch(first, "", {**guard, "spec": {"continueToken": position.token}})
            self._token = position.token
        progress = {**counts.to_dict(), "resume": _resume(position)}
        self._write(first, _condition("Running", "True", message), progress=progress)

    def _write(
        self,
        migration: MigrationSight,
        *conditions: Mapping[str, str],
        progress: Mapping[str, Any] | None = None,
    ) -> None:
        status: dict[str, Any] = {"conditions": list(conditions)}
        if progress is not None:
            status["progress"] = progress
        document = {"metadata": {"uid": migration.uid}, "status": status}
        self._patch(migration, "/status", document)

    def _patch(self, migration: MigrationSight, part: str, document: Mapping[str, Any]) -> None:
        self._server.deadline = self._server.deadline.anew()
        try:
            self._server.patch(f"{self._path}/{migration.name}{part}", document)
        except ServerFault as fault:
            # Gone, or another one of that name: then nobody wants this one any more.
            if fault.status not in (404, 409):
                raise
            raise Stopped(
                Reason(
                    f"the migration {migration.name} was deleted while it ran",
                    "Run the task again if that was not meant to stop it",
                    resource=migration.resource,
                ),
                "deleted",
            ) from fault


def read_position(migration: MigrationSight) -> Position:
    """Where a migration was left; the start, if nothing tells."""
    resume = migration.progress.get("resume")
    if not isinstance(resume, Mapping):
        return Position()
    counts = resume.get("counts")
    return Position(
        namespace=str(resume.get("namespace") or ""),
        token=str(resume.get("continueToken") or ""),
        after=str(resume.get("after") or ""),
        counts=Counts.from_dict(counts if isinstance(counts, Mapping) else {}),
        by_namespace=resume.get("byNamespace") is True,
        encryption=str(resume.get("encryption") or ""),
        samples=tuple(_read_samples(resume.get("samples"))),
    )


def _resume(position: Position) -> dict[str, Any]:
    return {
        "namespace": position.namespace,
        "continueToken": position.token,
        "after": position.after,
        "byNamespace": position.by_namespace,
        "encryption": position.encryption,
        "samples": [
            {"namespace": one.namespace, "name": one.name, "resourceVersion": one.version}
            for one in position.samples
        ],
        "counts": position.counts.to_dict(),
    }


def _read_samples(data: object) -> Iterator[ObjectName]:
    for one in data if isinstance(data, (list, tuple)) else ():
        if isinstance(one, Mapping):
            fields = (str(one.get(key) or "") for key in ("name", "namespace", "resourceVersion"))
            yield ObjectName(*fields)


def _condition(kind: str, status: str, message: str) -> dict[str, str]:
    now = format_time(datetime.now(timezone.utc))
    return {"type": kind, "status": status, "lastUpdateTime": now, "message": message}
