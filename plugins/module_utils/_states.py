# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""The state modules, put together: look, judge, record, and tell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.lockstep.kubernetes.plugins.module_utils._act.passes import (
    DecideResource,
    Recorded,
    record,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._act.states import delete_state
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide import names
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.agreement import (
    check_formula,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.audited import (
    AuditEvidence,
    Shown,
    read_audit,
    read_audit_facts,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.gone import decide_gone
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.hashes import hash_of
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.known import read_known
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.migrations import (
    NEVER_MIGRATED,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.passes import (
    PassRules,
    decide_pass,
    recordable,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.reasons import (
    enumerate_names,
    plural,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.settling import Look
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.states import (
    StorageState,
    Transition,
    decide_reset,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.triggers import (
    beside_several,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.verification import (
    Records,
    Verification,
    decide_verified,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._looks import look
from ansible_collections.lockstep.kubernetes.plugins.module_utils._module import entry_server
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.crds import (
    observe_definitions,
    observe_stored_versions,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.deployments import (
    observe_trigger,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.lists import (
    listings_of,
    observe_counts,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.servers import (
    Access,
    ServerFault,
    normalise_addresses,
    read_access,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.states import (
    RecordedStates,
    observe_states,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._present import unheard_of
from ansible_collections.lockstep.kubernetes.plugins.module_utils._present_states import (
    present_recorded,
    present_states,
    present_states_absent,
    present_verification,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._run import (
    NotReached,
    Result,
    check_patterns,
    check_positive,
)

_NAMED = 5
# How often an audit is recorded anew, while others look at the same resources.
_LOOKS_AGAIN = 3


def change_states(module: AnsibleModule) -> Result:
    """What storage_state does."""
    params = module.params
    check_positive(params, "stale_after")
    access = read_access(module)
    if params["state"] == "absent":
        return _delete(module)
    # Before the look: what has finished by then has finished under the servers that are looked at.
    known = read_recorded(module)
    seen = look(module, access, known=read_known(params["audited_after"]))
    resources = recordable(seen, params["resources"])
    if params["state"] == "reset":
        done = _record(module, access, seen, known, resources, _resetting(seen))
        return present_recorded(done, look=seen, known=known, rules=read_rules(params))
    done = record_pass(module, access, seen, known, resources)
    collected = collect_gone(module, seen, known)
    with entry_server(module, what="Who else keeps the StorageStates can't be read") as server:
        trigger = observe_trigger(server, known.foreign_trigger(seen.sight.now))
    result = present_recorded(
        done,
        look=seen,
        known=known,
        rules=read_rules(params),
        heartbeat_counts=params["heartbeat_counts_as_change"],
        collected=collected,
        trigger=beside_several(trigger, seen.membership),
    )
    if params["state"] == "migrated":
        named = params["resources"]
        required = [
            one for one in done if one.resource not in NEVER_MIGRATED or one.resource in named
        ]
        _require_migrated(required, seen, result)
    return result


def record_pass(
    module: AnsibleModule,
    access: Access,
    seen: Look,
    known: RecordedStates,
    resources: Sequence[str],
    rules: PassRules | None = None,
) -> list[Recorded]:
    """Record what a look makes of these resources, by the module's options or by these rules.

    Of what somebody else has looked at in between an audit proves nothing: that is looked at again.
    """
    decide = _passing(module, seen, known, resources, rules=rules)
    done = {one.resource: one for one in _record(module, access, seen, known, resources, decide)}
    for _attempt in range(_LOOKS_AGAIN if module.params.get("audit") else 0):
        overtaken = [name for name, one in done.items() if _overtaken(one, seen)]
        if not overtaken or module.check_mode:
            break
        known, seen = read_recorded(module), look(module, access)
        left = [name for name in overtaken if name in seen.agreements]
        decide = _passing(module, seen, known, left, rules=rules)
        again = _record(module, access, seen, known, left, decide)
        done.update({one.resource: one for one in again})
    return list(done.values())


def _overtaken(one: Recorded, seen: Look) -> bool:
    beaten = one.after.heartbeat if one.after is not None else None
    return beaten is not None and beaten > seen.sight.now


def collect_gone(module: AnsibleModule, seen: Look, known: RecordedStates) -> list[str]:
    """Delete the records of what is neither served nor stored any more, where an audit shows it."""
    audit = read_audit(module.params["audit"], module.params["audited_after"])
    gone = decide_gone(
        known.states,
        look=seen,
        audit=read_audit_facts(audit, seen) if audit else None,
        patterns=module.params["resources"],
    )
    if module.check_mode or not gone:
        return list(gone)
    with entry_server(module, what="The StorageStates can't be deleted") as server:
        return [name for name in gone if delete_state(server, known.states[name])]


def reset_states(
    module: AnsibleModule, access: Access, seen: Look, resources: Sequence[str]
) -> None:
    """Take the records of these resources back to Unknown."""
    if resources:
        _record(module, access, seen, read_recorded(module), resources, _resetting(seen))


def judge_pass(
    module: AnsibleModule,
    seen: Look,
    known: RecordedStates,
    resources: Sequence[str],
    shown: Mapping[str, Shown] | None = None,
) -> list[Recorded]:
    """What a look would make of these resources; nothing is written.

    `shown` is how many objects there were at the audit's revision, where that was counted before.
    """
    decide = _passing(module, seen, known, resources, shown)
    access = read_access(module)
    return _record(module, access, seen, known, resources, decide, dry_run=True)


def tell_states(module: AnsibleModule) -> Result:
    """What storage_state_info does."""
    check_positive(module.params, "stale_after")
    check_patterns(module.params["left_out"], option="left_out")
    seen = look(module, read_access(module), known=read_known(module.params["audited_after"]))
    known = read_recorded(module)
    window = timedelta(seconds=module.params["stale_after"])
    resources = recordable(seen, module.params["resources"])
    # Also what nobody serves any more: it may still be stored.
    recorded = names.select_resources(resources=known.states, patterns=module.params["resources"])
    chosen = sorted({*resources, *recorded})
    settle = timedelta(seconds=module.params["settle"])
    told = present_states(seen, known, resources=chosen, window=window, settle=settle)
    if not module.params["verify"]:
        return told
    verification = _verify(module, seen, known, recorded)
    return {**told, "verification": present_verification(verification)}


def _verify(
    module: AnsibleModule, seen: Look, known: RecordedStates, recorded: Sequence[str]
) -> Verification:
    """Hold what is recorded against this look, the definitions, and an audit of this run."""
    params = module.params
    with entry_server(module, what="The definitions can't be read") as server:
        crds = observe_definitions(server) if seen.sight.crds else {}
    judged = judge_pass(module, seen, known, recordable(seen, params["resources"]))
    audit = read_audit(params["audit"], params["audited_after"])
    window = read_rules(params).window
    return decide_verified(
        seen,
        Records(
            before=known.states,
            judged={one.resource: one.after for one in judged if one.after is not None},
            stale=frozenset(
                name for name, one in known.states.items() if one.stale(seen.sight.now, window)
            ),
        ),
        resources={*seen.agreements, *recorded},
        crds=crds,
        audit=read_audit_facts(audit, seen) if audit else None,
        left_out=params["left_out"],
    )


def read_recorded(module: AnsibleModule) -> RecordedStates:
    """All states and migrations, as they are now."""
    with entry_server(module, what="The StorageStates can't be read") as server:
        return observe_states(server)


def read_rules(params: Mapping[str, Any]) -> PassRules:
    """How a module's options have it judge."""
    return PassRules(
        window=timedelta(seconds=params["stale_after"]),
        on_unseen_change=params["on_unseen_change"],
        encryption=params["encryption_generation"],
        settle=timedelta(seconds=params["settle"]),
        restarted=tuple(normalise_addresses(params.get("restarted_servers") or [])),
    )


def _record(
    module: AnsibleModule,
    access: Access,
    seen: Look,
    known: RecordedStates,
    resources: Sequence[str],
    decide: DecideResource,
    *,
    dry_run: bool = False,
) -> list[Recorded]:
    return record(
        access,
        look=seen,
        settle=read_rules(module.params).settle,
        resources=resources,
        known=known,
        decide=decide,
        timeout=module.params["timeout"],
        dry_run=dry_run or module.check_mode,
    )


def _passing(
    module: AnsibleModule,
    seen: Look,
    known: RecordedStates,
    resources: Sequence[str],
    shown: Mapping[str, Shown] | None = None,
    rules: PassRules | None = None,
) -> DecideResource:
    rules = rules or read_rules(module.params)
    audit = read_audit(module.params.get("audit"), module.params.get("audited_after"))
    counts = shown if shown is not None or audit is None else _count(module, seen, audit, resources)
    formula_holds = audit is not None and check_formula(seen.sight).holds
    crd_hashes = _crd_hashes(module, seen, known, resources)

    def decide(resource: str, state: StorageState | None, migrations: Any) -> Transition:
        return decide_pass(
            look=seen,
            resource=resource,
            state=state,
            migrations=migrations,
            rules=rules,
            crd_hashes=crd_hashes.get(resource, ()),
            audit=audit,
            shown=(counts or {}).get(resource),
            formula_holds=formula_holds,
        )

    return decide


def _count(
    module: AnsibleModule, seen: Look, audit: AuditEvidence, resources: Sequence[str]
) -> dict[str, Shown]:
    """How many objects the servers show of what an audit has counted, at its revision (R13)."""
    access = read_access(module)
    wanted = {name for name in resources if audit.covers(name)}
    listings = [one for name, one in listings_of(seen).items() if name in wanted]
    try:
        return observe_counts(
            access, listings, at=audit.revision_of, timeout=module.params["timeout"]
        )
    except ServerFault as fault:
        raise fault.as_error(f"Objects can't be counted through {access.host}") from fault


def _resetting(seen: Look) -> DecideResource:
    def decide(resource: str, state: StorageState | None, migrations: Any) -> Transition:
        if state is None:
            return Transition("same")
        return decide_reset(state=state, now=seen.sight.now, migrations=migrations)

    return decide


def _crd_hashes(
    module: AnsibleModule, seen: Look, known: RecordedStates, resources: Sequence[str]
) -> dict[str, tuple[str, ...]]:
    """What definitions that changed since the last look say to be stored, as hashes (R3)."""
    changed = []
    for name in resources:
        crd, state = seen.sight.crds.get(name), known.states.get(name)
        epoch = state.evidence.epoch if state else None
        if crd and epoch and (crd.uid, crd.generation) != (epoch.crd_uid, epoch.crd_generation):
            changed.append(name)
    if not changed:
        return {}
    with entry_server(module, what="A CustomResourceDefinition can't be read") as server:
        return {
            name: tuple(
                hash_of(group_version=version, kind=seen.agreements[name].kind)
                for version in observe_stored_versions(server, name)
            )
            for name in changed
        }


def _require_migrated(done: Sequence[Recorded], seen: Look, result: Result) -> None:
    short = [one for one in done if one.after is None or not one.after.migrated]
    # The hash is the same, but nobody saw what was written in between: Unknown is no pass (R8).
    unseen = [one for one in done if one not in short and one.after and one.after.evidence.doubts]
    unheard = unheard_of(seen)
    if short or unheard:
        notes = [note for one in short for note in (*one.transition.notes, one.why)]
        count, total = len(short) + len(unheard), len(done) + len(unheard)
        raise NotReached(
            f"{count} of {plural(total, 'resource')} may not be stored in their current version",
            " ".join(str(note) for note in (*unheard, *notes)),
            "Migrate them, and run the task again",
            result=result,
        )
    if unseen:
        named = [f"{one.resource}: {enumerate_names(_unseen(one))}." for one in unseen]
        raise NotReached(
            f"Whether {len(unseen)} of {plural(len(done), 'resource')} are stored in their current"
            " version is unknown",
            f"Servers changed between two observations. {' '.join(named[:_NAMED])}",
            "Read etcd with storage_audit and give its result as audit; nothing needs to be"
            " migrated for this",
            result=result,
        )


def _unseen(one: Recorded) -> Sequence[str]:
    return one.after.evidence.doubts if one.after else ()


def _delete(module: AnsibleModule) -> Result:
    with entry_server(module, what="The StorageStates can't be deleted") as server:
        known = observe_states(server)
        chosen = names.select_resources(resources=known.states, patterns=module.params["resources"])
        deleted = []
        for name in chosen:
            if module.check_mode or delete_state(server, known.states[name]):
                deleted.append(name)
    return present_states_absent(deleted, known)
