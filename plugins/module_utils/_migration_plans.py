# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""What is to be migrated, by whom, and why not the rest: decided anew before each attempt."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.lockstep.kubernetes.plugins.module_utils._act.migrations import controllers
from ansible_collections.lockstep.kubernetes.plugins.module_utils._act.migrations.objects import (
    migration_name,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.agreement import Agreement
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.audited import (
    AuditEvidence,
    read_audit,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.backends import (
    Backend,
    Surroundings,
    against_migrating,
    choose_backend,
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
    MigrationKey,
    MigrationSight,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.observations import (
    ServedResource,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.outcomes import (
    Outcome,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.passes import (
    recordable,
    settled_at,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.reasons import (
    plural,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.rewrites import (
    ObjectName,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.settling import (
    Look,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.states import (
    StorageState,
    decide_due,
    key_for,
    needs_proof,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.watching import (
    LONGEST_GAP,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._looks import look
from ansible_collections.lockstep.kubernetes.plugins.module_utils._module import entry_server
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.objects import ObjectList
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.servers import (
    read_access,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.states import (
    RecordedStates,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._run import (
    check_positive,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._states import (
    read_recorded,
    record_pass,
)


@dataclass(frozen=True)
class Job:
    """One resource to migrate, and by whom."""

    resource: str
    listing: ObjectList
    key: MigrationKey
    backend: Backend
    why: str
    agreement: Agreement
    existing: tuple[MigrationSight, ...] = ()
    only: tuple[ObjectName, ...] | None = None
    undecodable: tuple[str, ...] = ()
    # Without agreement, on the operator's own risk: it proves nothing.
    forced: bool = False

    @property
    def migration(self) -> str:
        return migration_name(self.resource, self.key)


@dataclass(frozen=True)
class Plan:
    """What is to be done, and what is not, with the reason."""

    seen: Look
    known: RecordedStates
    jobs: tuple[Job, ...]
    settled: Mapping[str, Outcome]
    # When the look began, by the monotonic clock.
    looked_at: float


class Planner:
    """Looks, judges and chooses; it writes nothing but what it saw of the servers."""

    def __init__(self, module: AnsibleModule, *, say: Callable[[str], None]) -> None:
        self._module, self._params, self._say = module, module.params, say
        self._access = read_access(module)
        self._audit = read_audit(self._params["audit"], self._params["audited_after"])
        self._lives: bool | None = None

    def plan(self) -> Plan:
        """Look, judge and choose, without writing anything but what was seen."""
        known, seen, looked_at = self._look_settled()
        self._warn_of_leftovers(seen, known)
        chosen, settled = self._choose(seen)
        self._gate(seen, chosen)
        recorded = record_pass(
            self._module,
            self._access,
            seen,
            known,
            [one for one in chosen if one in seen.agreements],
        )
        # What it says is known now; after the first write it is outdated.
        self._params["audit"] = None
        states = {one.resource: one.after for one in recorded if one.after is not None}
        if not self._module.check_mode:
            known = read_recorded(self._module)
        jobs = []
        for resource in chosen:
            job = self._job(resource, seen, known, states.get(resource))
            if isinstance(job, Job):
                jobs.append(job)
            else:
                settled[resource] = job
        self._require_alone(jobs, known)
        return Plan(seen, known, tuple(jobs), settled, looked_at)

    def count(self, job: Job) -> int:
        """How many objects a job would visit."""
        if job.only is not None:
            return len(job.only)
        with entry_server(self._module, what="The objects can't be counted") as server:
            return job.listing.count(server) or 0

    def _look_settled(self) -> tuple[RecordedStates, Look, float]:
        """Look; if a definition was changed just now, once more when every server follows it."""
        settle = timedelta(seconds=self._params["settle"])
        while True:
            # First: what has ended by then has ended under the servers that are looked at.
            known = read_recorded(self._module)
            begun = time.monotonic()
            seen = look(self._module, self._access)
            moments = [
                settled_at(look=seen, resource=name, state=None, settle=settle)
                for name in recordable(seen, self._params["resources"])
            ]
            left = max(
                ((one - seen.sight.now).total_seconds() for one in moments if one), default=0.0
            )
            if left <= 0 or self._module.check_mode:
                return known, seen, begun
            self._say(f"waiting {left:.0f} s until every server follows a definition")
            time.sleep(min(left, 5.0) + 0.1)

    def _warn_of_leftovers(self, seen: Look, known: RecordedStates) -> None:
        """Name migrations that crash the in-tree controller, up to 1.36, as long as they are."""
        if "*" not in self._params["resources"]:
            return
        for one in known.migrations:
            if one.api == IN_TREE and one.unfinished and one.resource not in seen.agreements:
                self._module.warn(
                    f"The migration {one} is of {one.resource}, which no server serves."
                    " kube-controller-manager up to 1.36 crashes over it. Delete it with"
                    f" state=absent and resources={one.resource}."
                )

    def _choose(self, seen: Look) -> tuple[list[str], dict[str, Outcome]]:
        """The resources to look into, and why others are left out."""
        patterns = self._params["resources"]
        chosen: list[str] = []
        left_out: dict[str, Outcome] = {}
        for name, agreement in seen.agreements.items():
            why = ""
            if agreement.origin == "aggregated" and name not in patterns:
                why = "it belongs to an aggregated API, and is migrated only where it is named"
            else:
                why = against_migrating(name, _served(seen, name))
            if not why and agreement.status == "unknown" and name not in patterns:
                why = " ".join(str(one) for one in agreement.reasons)
            if not why:
                chosen.append(name)
            elif name in patterns:
                raise LockstepError(
                    f"{name} can't be migrated",
                    why,
                    "Take it out of the option resources",
                )
            else:
                left_out[name] = Outcome(name, "skipped", reason=why)
        if seen.unheard_of:
            raise LockstepError(
                f"The option resources names {', '.join(seen.unheard_of)}",
                "No server serves it; a migration of what does not exist would crash the in-tree"
                " controller",
                "Correct the name, or take it out",
            )
        return chosen, left_out

    def _gate(self, seen: Look, chosen: Sequence[str]) -> None:
        """Refuse to begin without agreement, with every reason at once."""
        against = [name for name in chosen if not seen.agreements[name].agreed]
        if self._params["force"]:
            unnamed = [name for name in against if name not in self._params["resources"]]
            if unnamed:
                raise LockstepError(
                    f"The option force can't be used for {', '.join(unnamed[:5])}",
                    "What is migrated without agreement must be named: some servers may go on"
                    " writing, or be unable to read, what this run writes",
                    "Name each such resource in resources, or wait until the servers agree",
                )
            return
        if against:
            reasons = [
                *(str(one) for one in seen.membership.reasons),
                *(str(one) for name in against[:10] for one in seen.agreements[name].reasons[:1]),
            ]
            raise LockstepError(
                f"{plural(len(against), 'resource')} of {len(chosen)} may not be migrated: the"
                " servers are not known to agree",
                " ".join(dict.fromkeys(reasons)),
                "Wait until all servers agree (role lockstep.kubernetes.converge)",
            )

    def _job(
        self, resource: str, seen: Look, known: RecordedStates, state: StorageState | None
    ) -> Job | Outcome:
        agreement = seen.agreements[resource]
        forced = not agreement.agreed
        existing = known.migrations_of(resource)
        # A key of the state's own would make it a proof later on (R4).
        key = self._forced_key(seen, resource) if forced else key_for(state) if state else None
        if key is None or (state is None and not forced):
            return Outcome(resource, "failed", reason=f"nothing could be recorded of {resource}")
        pending = [one for one in existing if one.unfinished and one.api == OUT_OF_TREE]
        current = bool(state and not forced and not self._due(state, agreement))
        done = Outcome(resource, "ok", reason="all that is stored of it is in its current version")
        if current and not pending:
            return done
        served = _served(seen, resource)
        if served is None:
            return Outcome(resource, "failed", reason="no server serves it")
        only = self._only(state, agreement) if state else None
        backend, why = self._backend(resource, agreement, served, known, only)
        if current and backend != "direct":
            # What is pending there is not run by us.
            return done
        return Job(
            resource=resource,
            listing=ObjectList(
                resource, _version_to_use(agreement, served), namespaced=served.namespaced
            ),
            key=key,
            backend=backend,
            why=why,
            agreement=agreement,
            existing=existing,
            only=only if backend == "direct" else None,
            undecodable=self._audit.undecodable(resource) if self._audit else (),
            forced=forced,
        )

    def _due(self, state: StorageState, agreement: Agreement) -> bool:
        if self._params["scope"] == "due":
            due, _why = decide_due(state=state, agreement=agreement, migrations=())
            return due
        return needs_proof(state, encryption=self._params["encryption_generation"])

    def _forced_key(self, seen: Look, resource: str) -> MigrationKey:
        epoch = decide_epoch(sight=seen.sight, membership=seen.membership, resource=resource)
        return MigrationKey(storage_hash="forced", epoch=epoch, since=seen.sight.now)

    def _only(self, state: StorageState, agreement: Agreement) -> tuple[ObjectName, ...] | None:
        """The objects that an audit has found in another version, if it still counts."""
        audit: AuditEvidence | None = self._audit
        # Versions don't show encryption keys, which all is rewritten for.
        if audit is None or self._params["scope"] == "all" or not agreement.agreed:
            return None
        evidence = state.evidence
        if evidence.source != "etcd" or evidence.revision != audit.revision:
            return None
        outdated = audit.outdated(state.resource)
        if outdated is None:
            return None
        return tuple(_object_name(one) for one in outdated)

    def _backend(
        self,
        resource: str,
        agreement: Agreement,
        served: ServedResource,
        known: RecordedStates,
        only: tuple[ObjectName, ...] | None,
    ) -> tuple[Backend, str]:
        asked = self._params["backend"]
        wishes = [one for one in ("max_qps", "max_bandwidth", "connections") if self._params[one]]
        in_tree = IN_TREE in known.migration_paths
        if asked == "auto" and only is not None:
            return "direct", "the audit names the objects that are stored in another version"
        backend, why = choose_backend(
            asked=asked,
            resource=resource,
            origin=agreement.origin,
            served=served,
            surroundings=Surroundings(
                in_tree=in_tree,
                migrator=self._migrator_lives(known)
                if asked == "migrator" or (asked == "auto" and not in_tree and not wishes)
                else None,
                wishes=tuple(wishes),
            ),
        )
        return backend, why

    def _migrator_lives(self, known: RecordedStates) -> bool | None:
        """Whether the out-of-tree migrator is at work; None if that may not be tried."""
        path = known.migration_paths.get(OUT_OF_TREE)
        if path is None:
            return False
        if self._module.check_mode:
            # Trying writes an object.
            return None
        if self._lives is None:
            with entry_server(self._module, what="The migrator can't be asked") as server:
                self._lives = controllers.migrator_lives(server, path)
        return self._lives

    def _require_alone(self, jobs: Iterable[Job], known: RecordedStates) -> None:
        """Refuse to run migrations that somebody else would run at the same time."""
        direct = [one for one in jobs if one.backend == "direct"]
        if not direct:
            return
        require_place(known)
        if self._migrator_lives(known):
            raise LockstepError(
                f"{direct[0].resource} can't be migrated directly",
                "An out-of-tree migrator is alive, and would run the same migrations",
                "Set backend to migrator; or stop it, and delete what it was running with"
                " state=absent",
            )


def require_place(known: RecordedStates) -> None:
    """Refuse where there is no API to keep our own migrations in."""
    if OUT_OF_TREE not in known.migration_paths:
        raise LockstepError(
            "This cluster has no place for migrations",
            "The definition storageversionmigrations.migration.k8s.io is not there",
            "Install it with the role lockstep.kubernetes.migrator",
        )


def check_options(params: Mapping[str, Any]) -> None:
    """Refuse what can never work, before anything is read."""
    check_positive(
        params,
        "stale_after",
        "max_qps",
        "max_bandwidth",
        "connections",
        "stuck_after",
        "stop_after",
        "watch_every",
    )
    if params["watch_every"] > LONGEST_GAP:
        raise LockstepError(
            f"The option watch_every is {params['watch_every']:g}",
            f"The servers must be looked at every {LONGEST_GAP:g} s at least",
            "Lower it, or leave it out",
        )
    if params["retries"] < 0:
        raise LockstepError(
            f"The option retries is {params['retries']}",
            "It must be 0 or more",
            "Correct it, or leave it out",
        )


def _served(seen: Look, resource: str) -> ServedResource | None:
    shown = (one.resources.get(resource) for one in seen.sight.servers)
    return next((one for one in shown if one is not None), None)


def _version_to_use(agreement: Agreement, served: ServedResource) -> str:
    """The version under which objects are patched: the one that is written needs no conversion."""
    if agreement.encoding_version in served.served_versions:
        return agreement.encoding_version
    return served.served_versions[0]


def _object_name(text: str) -> ObjectName:
    namespace, _slash, name = text.rpartition("/")
    return ObjectName(name, namespace)
