# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""What is to be migrated, by whom, and why not the rest: decided anew before each attempt."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
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
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.encryption import (
    EncryptionConfig,
    encryption_doubts,
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
    MigrationOwner,
    MigrationSight,
    failed_lately,
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
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.triggers import (
    beside_several,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.watching import (
    LONGEST_GAP,
    LONGEST_WAIT,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._looks import look
from ansible_collections.lockstep.kubernetes.plugins.module_utils._module import entry_server
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.deployments import (
    observe_trigger,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.encryption import (
    observe_encryption_configs,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.objects import ObjectList
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.owners import (
    observe_owner,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.servers import (
    ApiServer,
    read_access,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.states import (
    RecordedStates,
    observe_states,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._run import (
    check_positive,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._states import (
    collect_gone,
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
    # Whether it is to prove that all lies under the encryption keys in use.
    reencrypts: bool = False

    @property
    def migration(self) -> str:
        return migration_name(self.resource, self.key)

    @property
    def done_before(self) -> bool:
        """Whether the migration of this turn has succeeded already."""
        return any(one.phase == "succeeded" and one.key == self.key for one in self.existing)


@dataclass(frozen=True)
class Plan:
    """What is to be done, and what is not, with the reason."""

    seen: Look
    known: RecordedStates
    jobs: tuple[Job, ...]
    settled: Mapping[str, Outcome]
    # When the look began, by the monotonic clock.
    looked_at: float
    # By which configuration each server encrypts, where a job is to prove that.
    encryption: Mapping[str, EncryptionConfig] = field(default_factory=dict)
    # What the migrations are to belong to.
    owner: MigrationOwner | None = None


class Planner:
    """Looks, judges and chooses; it writes nothing but what it saw of the servers."""

    def __init__(self, module: AnsibleModule, *, say: Callable[[str], None]) -> None:
        self._module, self._params, self._say = module, module.params, say
        # A pass does what can be done now, and leaves the rest to a later one.
        self._by_pass = self._params["state"] == "advanced"
        self._access = read_access(module)
        self._audit = read_audit(self._params["audit"], self._params["audited_after"])
        self._lives: bool | None = None
        # The cluster that was planned for.
        self.cluster_uid = ""
        # What is neither served nor stored any more, and whose records were deleted for that.
        self.collected: tuple[str, ...] = ()

    def plan(self) -> Plan:
        """Look, judge and choose, without writing anything but what was seen."""
        known, seen, looked_at = self._look_settled()
        self.cluster_uid = seen.sight.identity.uid
        owner = self._look_around(seen, known)
        self._warn_of_leftovers(seen, known)
        chosen, settled = self._choose(seen)
        if self._by_pass:
            waiting = {name: self._waits_for(name, seen, known) for name in chosen}
            chosen = [name for name in chosen if not waiting[name]]
            settled.update(
                {k: Outcome(k, "skipped", reason=why) for k, why in waiting.items() if why}
            )
        else:
            self._gate(seen, chosen)
        recorded = record_pass(
            self._module,
            self._access,
            seen,
            known,
            [one for one in chosen if one in seen.agreements],
        )
        self.collected = (*self.collected, *collect_gone(self._module, seen, known))
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
        encryption = self.read_encryption(jobs, seen)
        self._require_alone(jobs, known)
        return Plan(seen, known, tuple(jobs), settled, looked_at, encryption, owner)

    def read_encryption(self, jobs: Iterable[Job], seen: Look) -> Mapping[str, EncryptionConfig]:
        """By which configuration each server encrypts, where a job is to prove that."""
        if not any(one.reencrypts for one in jobs):
            return {}
        addresses = [one.address for one in seen.sight.servers]
        return observe_encryption_configs(self._access, addresses, timeout=self._params["timeout"])

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
            known = self._read_recorded()
            begun = time.monotonic()
            seen = look(self._module, self._access)
            moments = [
                settled_at(look=seen, resource=name, state=None, settle=settle)
                for name in recordable(seen, self._params["resources"])
            ]
            left = max(
                ((one - seen.sight.now).total_seconds() for one in moments if one), default=0.0
            )
            if left <= 0 or self._module.check_mode or self._by_pass:
                return known, seen, begun
            self._say(f"waiting {left:.0f} s until every server follows a definition")
            time.sleep(min(left, 5.0) + 0.1)

    def _look_around(self, seen: Look, known: RecordedStates) -> MigrationOwner | None:
        """Refuse to work beside another trigger; what the migrations are to belong to."""
        with entry_server(self._module, what="What migrations belong to can't be read") as server:
            require_no_other_trigger(server, seen, known)
            return observe_owner(server, self._params["owner"])

    def _read_recorded(self) -> RecordedStates:
        """All that is recorded. Where it can't be recorded yet, that is nothing in check mode."""
        if self._module.check_mode:
            with entry_server(self._module, what="The StorageStates can't be read") as server:
                known = observe_states(server, needed=False)
            if not known.installed:
                self._module.warn(
                    "Nothing is recorded yet, as the definitions for it are not installed (role"
                    " lockstep.kubernetes.migrator), so all objects would be migrated."
                )
                return known
        return read_recorded(self._module)

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
            elif name in patterns and not self._by_pass:
                raise LockstepError(
                    f"{name} can't be migrated",
                    why,
                    "Take it out of the option resources",
                )
            else:
                left_out[name] = Outcome(name, "skipped", reason=why)
        if seen.unheard_of and not self._by_pass:
            raise LockstepError(
                f"The option resources names {', '.join(seen.unheard_of)}",
                "No server serves it; a migration of what does not exist would crash the in-tree"
                " controller",
                "Correct the name, or take it out",
            )
        return chosen, left_out

    def _waits_for(self, resource: str, seen: Look, known: RecordedStates) -> str:
        """What a pass leaves a resource to a later one for; empty if it need not."""
        if not seen.agreements[resource].agreed:
            return f"the servers are not known to agree on {resource}"
        state, now = known.states.get(resource), seen.sight.now
        settle = timedelta(seconds=self._params["settle"])
        settled = settled_at(look=seen, resource=resource, state=state, settle=settle)
        if settled and now < settled:
            return f"the definition of {resource} was changed just now"
        return failed_lately(
            known.migrations_of(resource),
            key=key_for(state) if state else None,
            now=now,
            pause=self._params["retry_failed_after"],
        )

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
        name = migration_name(resource, key)
        reencrypts = self._reencrypts(state)
        if reencrypts or any(one.name != name for one in pending):
            # Who has made one that is pending may want more than versions, such as another key.
            only = None
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
            reencrypts=reencrypts,
        )

    def _due(self, state: StorageState, agreement: Agreement) -> bool:
        if self._params["scope"] == "due":
            due, _why = decide_due(state=state, agreement=agreement, migrations=())
            return due
        return needs_proof(state, encryption=self._params["encryption_generation"])

    def _reencrypts(self, state: StorageState | None) -> bool:
        """Whether a migration is to prove by which keys all is encrypted, which no hash shows."""
        if self._params["scope"] == "all":
            return True
        # From the record alone: a run before this one may have been killed.
        doubts = encryption_doubts(state.evidence.unseen) if state else ()
        return bool(doubts and self._params["encryption_generation"])

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
        if not direct or not known.installed:
            return
        require_place(known)
        if self._migrator_lives(known):
            raise LockstepError(
                f"{direct[0].resource} can't be migrated directly",
                "An out-of-tree migrator is alive, and would run the same migrations",
                "Set backend to migrator; or stop it, and delete what it was running with"
                " state=absent",
            )


def require_no_other_trigger(server: ApiServer, seen: Look, known: RecordedStates) -> None:
    """Refuse where somebody else migrates by what one of several servers says."""
    trigger = observe_trigger(server, known.foreign_trigger(seen.sight.now))
    beside = beside_several(trigger, seen.membership)
    if beside:
        raise beside.as_error()


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
        "retry_failed_after",
    )
    if params["watch_every"] > LONGEST_WAIT:
        raise LockstepError(
            f"The option watch_every is {params['watch_every']:g}",
            f"The servers must be observed every {LONGEST_GAP:g} s at least, and that takes time",
            f"Lower it to {LONGEST_WAIT:g} or less, or leave it out",
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
