# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""The gate module, put together: look at everything, check, and tell the verdict."""

from __future__ import annotations

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
    AuditFacts,
    CrdFacts,
    Facts,
    ListFacts,
    SampleFacts,
    Step,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.checks.objects import (
    must_migrate,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.custom_checks import (
    read_custom_checks,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.errors import (
    LockstepError,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.gate import (
    GateVerdict,
    decide_gate,
    read_acknowledgements,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.keys import same_objects
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.known import read_known
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.observations import (
    Release,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.passes import (
    recordable,
    served_version,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.settling import Look
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.times import parse_time
from ansible_collections.lockstep.kubernetes.plugins.module_utils._looks import look
from ansible_collections.lockstep.kubernetes.plugins.module_utils._module import entry_server
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.crds import (
    observe_definitions,
    read_definition,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.encryption import (
    observe_encryption,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.lists import (
    observe_lists,
    serving,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.objects import ObjectList
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
    check_positive,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._states import judge_pass

# It comes with the package kubernetes, and the entry point reports that one missing.
with suppress(ImportError):
    import yaml


def judge_step(module: AnsibleModule) -> Result:
    """What upgrade_gate does."""
    params = module.params
    check_positive(params, "stale_after", "snapshot_max_age")
    custom = read_custom_checks(params["custom_checks"])
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
    recorded = judge_pass(module, seen, known, recordable(seen, ["*"]))
    with entry_server(module, what="The definitions can't be read") as server:
        crds = observe_definitions(server)
    audit = read_audit_facts(params["audit"]) if params["audit"] else None
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
        incoming=incoming,
        lists=_list(module, access, seen, audit) if params["lists"] else None,
        audit=audit,
        retired_keys=tuple(params["retired_keys"]),
        snapshot=snapshot,
        snapshot_window=timedelta(seconds=params["snapshot_max_age"]),
        foreign_trigger=known.foreign_trigger(seen.sight.now),
    )
    encrypted = audit is not None and any(
        set(one) - {"identity"} for one in audit.encryption.values()
    )
    return replace(
        facts,
        samples=_try(module, access, facts),
        encryption_configs=observe_encryption(
            access, [one.address for one in seen.sight.servers], timeout=params["timeout"]
        )
        if encrypted or facts.retired_keys
        else None,
    )


def _listings(seen: Look) -> dict[str, ObjectList]:
    """How to list each resource that is stored; those that are the same objects, once."""
    found: dict[str, ObjectList] = {}
    for name, agreement in seen.agreements.items():
        served = next(
            (one.resources[name] for one in seen.sight.servers if name in one.resources), None
        )
        if agreement.origin == "aggregated" or served is None or "list" not in served.verbs:
            continue
        if not any(one in found for one in same_objects(name)):
            version = served_version(seen.sight, name)
            found[name] = ObjectList(
                name,
                version,
                namespaced=served.namespaced,
                served_by=_served_by(seen, name, version),
            )
    return found


def _served_by(seen: Look, resource: str, version: str) -> str:
    """A server that serves it, where others do not, as in the middle of a roll."""
    serving = [
        server.address
        for server in seen.sight.servers
        if resource in server.resources and version in server.resources[resource].served_versions
    ]
    return "" if len(serving) == len(seen.sight.servers) else serving[0]


def _list(
    module: AnsibleModule, access: Access, seen: Look, audit: AuditFacts | None
) -> dict[str, ListFacts]:
    listings = _listings(seen)
    versions = {
        version
        for server in seen.sight.servers
        for one in server.resources.values()
        for version in one.served_versions
    }
    try:
        lists = observe_lists(
            access,
            list(listings.values()),
            served=versions,
            samples=module.params["samples"],
            timeout=module.params["timeout"],
            tell=Teller(wanted=True).rarely,
        )
    except ServerFault as fault:
        raise fault.as_error(f"Objects can't be listed through {access.host}") from fault
    with entry_server(module, what="Objects can't be counted") as server:
        for name, keys in (audit.keys if audit else {}).items():
            objects = lists[name].objects if name in lists else None
            if audit and objects is not None and objects < keys:
                with serving(access, listings[name], server) as asked:
                    shown = listings[name].count_at(asked, audit.revision)
                lists[name] = replace(lists[name], audited=keys, shown=shown)
    for name in seen.agreements:
        same = next((one for one in same_objects(name) if one in lists), None)
        if same:
            lists.setdefault(name, lists[same])
    return lists


def _try(module: AnsibleModule, access: Access, facts: Facts) -> dict[str, SampleFacts]:
    """Try a few objects of what has to be rewritten, and of what webhooks convert."""
    found: dict[str, SampleFacts] = {}
    listings = _listings(facts.look)
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
            documents = list(yaml.safe_load_all(_read_manifest(place)))
        except (OSError, UnicodeDecodeError, yaml.YAMLError, URLError) as error:
            raise LockstepError(
                f"The option crd_manifests names {place}",
                f"It can't be read: {error}",
                "Give the path of a YAML file on the host that runs the task, or its URL",
            ) from error
        for one in documents:
            if isinstance(one, Mapping) and one.get("kind") == "CustomResourceDefinition":
                definition = read_definition(one)
                found[definition.resource] = definition
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


def _step(params: Mapping[str, Any], seen: Look, catalogue: Catalogue) -> Step:
    from_release, emulated = _running(params["from_release"], seen)
    to_release = _named(params["to_release"])
    rollback = _named(params["rollback_release"] or from_release)
    return Step(
        from_release=from_release,
        to_release=to_release,
        rollback_release=rollback,
        target=catalogue.find(to_release, emulated=params["to_emulated"] or ""),
        rollback=catalogue.find(rollback),
        current=catalogue.find(from_release, emulated=emulated),
        rolling=params["rolling"],
    )


def _running(given: str | None, seen: Look) -> tuple[str, str]:
    """The release that is left: the one given, or the oldest that a server runs."""
    releases: list[Release] = [one.release for one in seen.sight.servers if one.release]
    if given:
        return _named(given), ""
    if not releases:
        raise LockstepError(
            "The option from_release is not given",
            "No server tells what it runs",
            "Give it, such as 1.36.3",
        )
    oldest = min(releases, key=lambda one: parse_release(one.git_version))
    name = ".".join(map(str, parse_release(oldest.git_version)[:2]))
    return oldest.git_version, "" if oldest.emulated in ("", name) else oldest.emulated


def _named(release: str) -> str:
    parse_release(release)
    return f"v{release.removeprefix('v')}"
