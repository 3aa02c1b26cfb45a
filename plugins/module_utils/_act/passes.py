# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""One pass over all resources: record each state, delete migrations that are superseded or have
done their work, tell what is due.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import timedelta
from queue import SimpleQueue

from ansible_collections.lockstep.kubernetes.plugins.module_utils._act.migrations.objects import (
    delete_migrations,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._act.states import write_state
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.migrations import (
    MigrationSight,
    finished_work,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.passes import due_now
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.reasons import Reason
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.settling import Look
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.states import (
    StorageState,
    Transition,
    decide_superseded,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.servers import (
    Access,
    ApiServer,
    Deadline,
    ServerFault,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.states import (
    RecordedStates,
)

_CONNECTIONS = 8

# From a state and the migrations of its resource to what becomes of it.
DecideResource = Callable[
    [str, "StorageState | None", "tuple[MigrationSight, ...]"],
    Transition,
]


@dataclass(frozen=True)
class Recorded:
    """What became of one resource."""

    resource: str
    before: StorageState | None
    after: StorageState | None
    transition: Transition
    superseded: tuple[MigrationSight, ...]
    # Migrations of our own that have done their work, and were deleted as well.
    finished: tuple[MigrationSight, ...]
    due: bool
    why: Reason


def record(
    access: Access,
    *,
    look: Look,
    settle: timedelta,
    resources: Iterable[str],
    known: RecordedStates,
    decide: DecideResource,
    timeout: float,
    dry_run: bool,
) -> list[Recorded]:
    """Bring every resource's state up to date, several at a time."""
    servers: SimpleQueue[ApiServer] = SimpleQueue()
    opened = [ApiServer(access, access.host, Deadline(timeout)) for _number in range(_CONNECTIONS)]
    for server in opened:
        servers.put(server)

    def one(resource: str) -> Recorded:
        server = servers.get()
        server.deadline = Deadline(timeout)
        try:
            return _record(server, resource, look, settle, known, decide, dry_run)
        finally:
            servers.put(server)

    try:
        with ThreadPoolExecutor(_CONNECTIONS) as pool:
            return list(pool.map(one, resources))
    except ServerFault as fault:
        what = f"The StorageStates could not be written through {access.host}"
        raise fault.as_error(what) from fault
    finally:
        for server in opened:
            server.close()


def _record(
    server: ApiServer,
    resource: str,
    look: Look,
    settle: timedelta,
    known: RecordedStates,
    decide: DecideResource,
    dry_run: bool,
) -> Recorded:
    before = known.states.get(resource)
    migrations = known.migrations_of(resource)
    transition, after = write_state(
        server,
        resource=resource,
        state=before,
        decide=lambda state: decide(resource, state, migrations),
        evidence_in_status=known.evidence_in_status,
        dry_run=dry_run,
    )
    superseded: tuple[MigrationSight, ...] = ()
    if transition.supersede:
        superseded = migrations
    elif after is not None:
        superseded = decide_superseded(
            state=after, agreement=look.agreements[resource], migrations=migrations
        )
    finished: tuple[MigrationSight, ...] = ()
    # While a server is missed, nothing is deleted.
    agreed = look.agreements[resource].agreed
    if after is not None and after.migrated and agreed and not superseded:
        finished = finished_work(migrations, recorded=(resource,), now=look.sight.now)
    if not dry_run:
        delete_migrations(server, (*superseded, *finished), known.migration_paths)
    left = [one for one in migrations if one not in superseded]
    due, why = False, Reason(f"nothing is recorded of {resource}", resource=resource)
    if after is not None:
        due, why = due_now(look=look, state=after, migrations=left, settle=settle)
    return Recorded(resource, before, after, transition, superseded, finished, due, why)
