# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""The migration module, put together: look, judge, make or delete, and tell."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.lockstep.kubernetes.plugins.module_utils._act.migrations.objects import (
    create_migration,
    delete_migrations,
    migration_name,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide import names
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.backends import (
    require_in_tree,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.migrations import (
    IN_TREE,
    OUT_OF_TREE,
    Api,
    MigrationKey,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.passes import (
    due_now,
    recordable,
    served_version,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.settling import Look
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.states import (
    StorageState,
    key_for,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._looks import look
from ansible_collections.lockstep.kubernetes.plugins.module_utils._migrating import MigrationTask
from ansible_collections.lockstep.kubernetes.plugins.module_utils._migration_plans import (
    Job,
    Planner,
    require_no_other_trigger,
    require_place,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._module import entry_server
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.owners import (
    observe_owner,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.servers import (
    read_access,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.states import (
    RecordedStates,
    observe_states,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._present_migrations import (
    Planned,
    present_outcomes,
    present_plan,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._run import Result
from ansible_collections.lockstep.kubernetes.plugins.module_utils._states import read_recorded


def change_migrations(module: AnsibleModule) -> Result:
    """What storage_migration does."""
    if module.params["state"] == "absent":
        return _delete(module)
    if module.params["state"] in ("succeeded", "advanced"):
        return _migrate(module)
    seen = look(module, read_access(module))
    with entry_server(module, what="The migrations can't be made") as server:
        known = observe_states(server)
        require_no_other_trigger(server, seen, known)
        owner = observe_owner(server, module.params["owner"])
        api = _place(module.params["backend"], known)
        settle = timedelta(seconds=module.params["settle"])
        keys, left_out = _choose(seen, known, module.params["resources"], settle)
        made = {}
        for resource, key in keys.items():
            name = migration_name(resource, key)
            if module.check_mode or create_migration(
                server,
                resource=resource,
                group_version=served_version(seen.sight, resource),
                key=key,
                existing=known.migrations_of(resource),
                paths=known.migration_paths,
                api=api,
                owner=owner,
            ):
                made[resource] = [name]
            else:
                left_out[resource] = f"somebody else has made {name} at the same time"
    return {
        "changed": bool(made),
        "migrations": made,
        "left_out": left_out,
        "diff": {"before": {}, "after": made},
    }


def _place(backend: str, known: RecordedStates) -> Api:
    """Which of the two APIs takes the migrations: the one whose controller is to run them."""
    if backend == "in_tree" or (backend == "auto" and IN_TREE in known.migration_paths):
        require_in_tree(IN_TREE in known.migration_paths)
        return IN_TREE
    require_place(known)
    return OUT_OF_TREE


def _migrate(module: AnsibleModule) -> Result:
    """Migrate what is chosen, and answer when it is done, or for as long as a pass may."""
    by_pass = module.params["state"] == "advanced"
    task = MigrationTask(module)
    metrics_file = module.params["metrics_file"]
    if metrics_file:
        # Only here: what writes metrics takes long to import.
        from ansible_collections.lockstep.kubernetes.plugins.module_utils._metrics import (
            check_metrics,
            write_metrics,
        )

        check_metrics(Path(metrics_file))
    if module.check_mode:
        plan = task.planner.plan()
        planned = {one.resource: _planned(one, task.planner) for one in plan.jobs}
        return {
            **present_plan(plan.settled, planned, collected=task.planner.collected),
            "cluster_uid": task.planner.cluster_uid,
        }
    outcomes = task.advance() if by_pass else task.run()
    if metrics_file:
        write_metrics(Path(metrics_file), outcomes)
    recorded = read_recorded(module).states
    return present_outcomes(
        outcomes,
        task.samples,
        recorded,
        cluster_uid=task.planner.cluster_uid,
        collected=task.planner.collected,
        tolerated=("superseded", "unfinished") if by_pass else (),
    )


def _planned(job: Job, planner: Planner) -> Planned:
    return Planned(
        backend=job.backend,
        why=job.why,
        visited=planner.count(job),
        rewritten=len(job.only) if job.only is not None else None,
    )


def _choose(
    seen: Look, known: RecordedStates, patterns: list[str], settle: timedelta
) -> tuple[dict[str, MigrationKey], dict[str, str]]:
    """Which resources are due, with the key of their migration; and why the others are not."""
    keys: dict[str, MigrationKey] = {}
    left_out: dict[str, str] = {}
    for resource in recordable(seen, patterns):
        state = known.states.get(resource) or StorageState(resource)
        due, why = due_now(
            look=seen,
            state=state,
            migrations=known.migrations_of(resource),
            settle=settle,
        )
        key = key_for(state)
        if due and key is not None:
            keys[resource] = key
        else:
            left_out[resource] = str(why)
    return keys, left_out


def _delete(module: AnsibleModule) -> Result:
    with entry_server(module, what="The migrations can't be deleted") as server:
        known = observe_states(server)
        chosen = names.select_resources(
            resources=(one.resource for one in known.migrations),
            patterns=module.params["resources"],
        )
        doomed = [one for one in known.migrations if one.resource in chosen]
        if not module.check_mode:
            doomed = delete_migrations(server, doomed, known.migration_paths)
    gone: dict[str, list[str]] = {}
    for one in doomed:
        gone.setdefault(one.resource, []).append(one.name)
    return {
        "changed": bool(gone),
        "migrations": gone,
        "left_out": {},
        "diff": {"before": gone, "after": {}},
    }
