# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""The gate module, put together: look at everything, check, and tell the verdict."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any
from urllib.error import URLError

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.agreement import (
    check_formula,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.audited import (
    AuditEvidence,
    Shown,
    read_audit,
    read_audit_facts,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.catalogue import (
    Catalogue,
    ReleaseCatalogue,
    parse_catalogue,
    parse_catalogues,
    parse_release,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.catalogue.data import (
    RELEASES,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.checks import (
    IDS,
    find_all,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.checks.facts import (
    CrdFacts,
    Facts,
    ListFacts,
    SampleFacts,
    Step,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.checks.objects import (
    must_migrate,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.commands import (
    Terms,
    kubectl_for,
    read_etcd_login,
    read_start,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.custom_checks import (
    read_custom_checks,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.errors import (
    LockstepError,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.flags import (
    ApiFlags,
    read_manifest,
    read_switches,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.gate import (
    GateVerdict,
    decide_gate,
    read_acknowledgements,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.keys import same_objects
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.known import read_known
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.passes import (
    recordable,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.plans import (
    decide_from,
    own_emulation,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.rolling import (
    differing_by_upgrade,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.settling import Look
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.times import parse_time
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.triggers import (
    beside_several,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._looks import look
from ansible_collections.lockstep.kubernetes.plugins.module_utils._module import entry_server
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.crds import (
    observe_definitions,
    read_definition,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.deployments import (
    observe_trigger,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.documents import (
    MalformedError,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.encryption import (
    observe_encryption,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.gates import (
    observe_feature,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.lists import (
    listings_of,
    observe_lists,
    serving,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.samples import (
    try_samples,
    try_versions,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.servers import (
    Access,
    ServerFault,
    read_access,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.states import (
    observe_states,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._present_gate import (
    SAFE_WORDS,
    present_gate,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._run import (
    NotReached,
    Result,
    Teller,
    check_patterns,
    check_positive,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._states import judge_pass

# Lets servers delete what they can't read; on by default since 1.37.
_DELETES_UNREADABLE = "AllowUnsafeMalformedObjectDeletion"

# It comes with the package kubernetes, and the entry point reports that one missing.
with suppress(ImportError):
    import yaml


def judge_step(module: AnsibleModule) -> Result:
    """What upgrade_gate does."""
    params = module.params
    check_positive(params, "stale_after", "snapshot_max_age")
    check_patterns(params["left_out"], option="left_out")
    custom = read_custom_checks(params["custom_checks"])
    read_start(params["started_with"])
    acknowledgements = read_acknowledgements(
        params["acknowledgements"], checks=[*IDS, *(one.name for one in custom)]
    )
    facts = _observe(module)
    findings = list(find_all(facts))
    step = facts.step

    def decide() -> GateVerdict:
        return decide_gate(
            findings,
            acknowledgements=acknowledgements,
            from_release=step.from_release,
            to_release=step.to_release,
            now=facts.look.sight.now,
            differing=differing_by_upgrade(facts),
            left_out=facts.left_out,
        )

    document = present_gate(decide(), facts)
    findings += [finding for one in custom for finding in one.find(document)]
    verdict = decide()
    result = present_gate(verdict, facts, custom=[one.name for one in custom])
    if params["fail"] and not verdict.passed:
        raise NotReached(
            f"From {step.from_release} to {step.to_release} is {SAFE_WORDS[verdict.safe]}",
            " ".join(line.strip() for line in result["summary"][1:4]),
            "See findings in the result: each has its remedy",
            result=result,
        )
    return result


def _observe(module: AnsibleModule) -> Facts:
    """Look at all that the checks go by."""
    params = module.params
    catalogue = _catalogue(params)
    incoming = _incoming(params["crd_manifests"])
    snapshot = _snapshot(params["snapshot_time"])
    access = read_access(module)
    with entry_server(module, what="The StorageStates can't be read") as server:
        known = observe_states(server, needed=False)
    seen = look(module, access, ["*"], known=read_known(params["audited_after"]))
    audit = read_audit(params["audit"], params["audited_after"])
    lists = _list(module, access, seen, audit) if params["lists"] else None
    shown = _shown(lists, audit) if lists is not None and audit else None
    recorded = judge_pass(module, seen, known, recordable(seen, ["*"]), shown)
    with entry_server(module, what="The definitions can't be read") as server:
        crds = observe_definitions(server)
        trigger = observe_trigger(server, known.foreign_trigger(seen.sight.now))
    audited = read_audit_facts(audit, seen) if audit else None
    facts = Facts(
        step=_step(params, seen, catalogue),
        catalogue=catalogue,
        look=seen,
        states={one.resource: one.after for one in recorded if one.after is not None},
        migrations=known.migrations,
        unlisted_migrations=known.unlisted,
        crds=crds,
        window=timedelta(seconds=params["stale_after"]),
        formula_holds=check_formula(seen.sight).holds,
        flags=_flags(params),
        incoming=incoming,
        lists=lists,
        audit=audited,
        retired_keys=tuple(params["retired_keys"]),
        snapshot=snapshot,
        snapshot_window=timedelta(seconds=params["snapshot_max_age"]),
        foreign_trigger=beside_several(trigger, seen.membership),
        left_out=seen.left_out(params["left_out"]),
        terms=_terms(params),
    )
    encrypted = audited is not None and any(
        set(one) - {"identity"} for one in audited.encryption.values()
    )
    return replace(
        facts,
        samples=_try(module, access, facts),
        encryption_configs=observe_encryption(
            access, [one.address for one in seen.sight.servers], timeout=params["timeout"]
        )
        if encrypted or facts.retired_keys
        else None,
        deletes_unreadable=bool(audited and any(audited.undecodable.values()))
        and observe_feature(
            access,
            [one.address for one in seen.sight.servers],
            feature=_DELETES_UNREADABLE,
            timeout=params["timeout"],
        ),
    )


def _terms(params: Mapping[str, Any]) -> Terms:
    """In whose words remedies are told, and how the commands in them begin."""
    given = params.get("kubeconfig") or os.environ.get("K8S_AUTH_KUBECONFIG")
    context = params.get("context") or os.environ.get("K8S_AUTH_CONTEXT")
    return Terms(
        asked_by=params["asked_by"],
        start=read_start(params["started_with"]),
        # One that was given as data, or came along for this task alone, is no file of theirs.
        kubectl=kubectl_for(given if isinstance(given, str) else "", context or ""),
        etcd=read_etcd_login((params["audit"] or {}).get("reached")),
    )


def _list(
    module: AnsibleModule, access: Access, seen: Look, audit: AuditEvidence | None
) -> dict[str, ListFacts]:
    """List all objects, at the very revision that an audit counted their keys at."""
    versions = {
        version
        for server in seen.sight.servers
        for one in server.resources.values()
        for version in one.served_versions
    }
    try:
        lists = observe_lists(
            access,
            list(listings_of(seen).values()),
            served=versions,
            samples=module.params["samples"],
            timeout=module.params["timeout"],
            tell=Teller(wanted=True).rarely,
            at=audit.revision_of if audit else lambda resource: 0,
        )
    except ServerFault as fault:
        raise fault.as_error(f"Objects can't be listed through {access.host}") from fault
    for name in seen.agreements:
        same = next((one for one in same_objects(name) if one in lists), None)
        if same:
            lists.setdefault(name, lists[same])
    return lists


def _shown(lists: Mapping[str, ListFacts], audit: AuditEvidence) -> dict[str, Shown]:
    """What lists at the audit's revision showed."""
    return {
        name: Shown(one.objects, one.fault)
        if one.revision == audit.revision_of(name)
        else Shown(None, "etcd has compacted that revision")
        for name, one in lists.items()
    }


def _try(module: AnsibleModule, access: Access, facts: Facts) -> dict[str, SampleFacts]:
    """Try a few objects of what has to be rewritten, and of what webhooks convert."""
    found: dict[str, SampleFacts] = {}
    listings = listings_of(facts.look)
    with entry_server(module, what="Objects can't be tried") as server:
        for name, listing in listings.items():
            listed, crd = (facts.lists or {}).get(name), facts.crds.get(name)
            if listed is None or not listed.samples:
                continue
            tried = SampleFacts()
            with serving(access, listing, server) as asked:
                if must_migrate(facts, name):
                    tried = try_samples(asked, listing, listed.samples)
                if crd and crd.webhook:
                    every = [replace(listing, group_version=one) for one in crd.served]
                    converted = try_versions(asked, every, listed.samples[0])
                    tried = replace(tried, unconverted=converted)
            if tried != SampleFacts():
                found[name] = tried
    return found


def _catalogue(params: Mapping[str, Any]) -> Catalogue:
    known = parse_catalogues(RELEASES)
    path = params["target_catalogue"]
    if path:
        known = known.with_release(_read_catalogue(Path(path)))
    return known


def _read_catalogue(path: Path) -> ReleaseCatalogue:
    try:
        return parse_catalogue(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise LockstepError(
            f"The option target_catalogue names {path}",
            f"It can't be read: {error}",
            "Make it with make catalogue, and give its path",
        ) from error


def _incoming(places: Iterable[str]) -> dict[str, CrdFacts]:
    """The definitions in manifests that are to be installed."""
    found: dict[str, CrdFacts] = {}
    for place in places:
        try:
            for one in yaml.safe_load_all(_read_manifest(place)):
                if isinstance(one, Mapping) and one.get("kind") == "CustomResourceDefinition":
                    definition = read_definition(one)
                    found[definition.resource] = definition
        except (OSError, UnicodeDecodeError, yaml.YAMLError, URLError, MalformedError) as error:
            why = error.why if isinstance(error, MalformedError) else error
            raise LockstepError(
                f"The option crd_manifests names {place}",
                f"It can't be read: {why}",
                "Give the path of a YAML file on the host that runs the task, or its URL",
            ) from error
    return found


def _read_manifest(place: str) -> str:
    if place.startswith(("https://", "http://")):
        # Only here: it takes a tenth of a second to import.
        from ansible.module_utils.urls import open_url

        return str(open_url(place, timeout=30).read().decode("utf-8"))
    return Path(place).expanduser().read_text(encoding="utf-8")


def _snapshot(text: str | None) -> datetime | None:
    """When etcd was saved: a time, or the seconds that stat tells of a file."""
    if not text:
        return None
    try:
        return datetime.fromtimestamp(float(text), timezone.utc)
    except (ValueError, OverflowError, OSError):
        taken = parse_time(text)
    if taken is None:
        raise LockstepError(
            f"The option snapshot_time is {text!r}",
            "That is no time",
            "Give it as 2026-12-31T00:00:00Z, or as the mtime that ansible.builtin.stat tells",
        )
    return taken


def _flags(params: Mapping[str, Any]) -> ApiFlags | None:
    """The flags that servers will have: as given, else as their manifest has them."""
    given = {
        name: read_switches(f"The option {name}", params[name])
        for name in ("runtime_config", "feature_gates")
        if params[name] is not None
    }
    read = _manifest_flags(params["apiserver_manifest"])
    if not given:
        return read
    return replace(read or ApiFlags(), **given)


def _manifest_flags(text: str | None) -> ApiFlags | None:
    if not text:
        return None
    try:
        return read_manifest(yaml.safe_load(text))
    except (yaml.YAMLError, LockstepError) as error:
        raise LockstepError(
            "The option apiserver_manifest can't be used",
            str(error),
            "Give the text of a kube-apiserver's static pod manifest, or runtime_config and"
            " feature_gates instead",
        ) from error


def _step(params: Mapping[str, Any], seen: Look, catalogue: Catalogue) -> Step:
    to_release = _named(params["to_release"])
    from_release, running = decide_from(
        _named(params["from_release"]) if params["from_release"] else "",
        [one.release for one in seen.sight.servers if one.release],
        to_release=to_release if params["from_recorded"] else "",
    )
    rollback = _named(params["rollback_release"] or from_release)
    return Step(
        from_release=from_release,
        to_release=to_release,
        rollback_release=rollback,
        target=catalogue.find(to_release, emulated=params["to_emulated"] or ""),
        rollback=catalogue.find(rollback),
        current=catalogue.find(running.git_version, emulated=own_emulation(running)),
        rolling=params["rolling"],
    )


def _named(release: str) -> str:
    parse_release(release)
    return f"v{release.removeprefix('v')}"
