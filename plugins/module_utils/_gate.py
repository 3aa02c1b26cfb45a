# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""The gate module, put together: look at everything, check, and tell the verdict."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.agreement import (
    check_formula,
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
    CrdFacts,
    Facts,
    Step,
    find_all,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.errors import (
    LockstepError,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.gate import (
    decide_gate,
    read_acknowledgements,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.observations import (
    Release,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.passes import (
    recordable,
    served_version,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.settling import Look
from ansible_collections.lockstep.kubernetes.plugins.module_utils._module import (
    entry_server,
    look,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.crds import (
    observe_definitions,
    read_definition,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.objects import ObjectList
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.servers import (
    read_access,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.states import (
    observe_states,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._present_gate import present_gate
from ansible_collections.lockstep.kubernetes.plugins.module_utils._run import (
    NotReached,
    Result,
    check_positive,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._states import judge_pass

# It comes with the package kubernetes, and the entry point reports that one missing.
with suppress(ImportError):
    import yaml


def judge_step(module: AnsibleModule) -> Result:
    """What upgrade_gate does."""
    params = module.params
    check_positive(params, "stale_after")
    acknowledgements = read_acknowledgements(params["acknowledgements"], checks=IDS)
    catalogue = _catalogue(params)
    incoming = _incoming(params["crd_manifests"])
    with entry_server(module, what="The StorageStates can't be read") as server:
        known = observe_states(server)
    seen = look(module, read_access(module), ["*"])
    step = _step(params, seen, catalogue)
    recorded = judge_pass(module, seen, known, recordable(seen, ["*"]))
    with entry_server(module, what="The definitions can't be read") as server:
        crds = observe_definitions(server)
    facts = Facts(
        step=step,
        catalogue=catalogue,
        look=seen,
        states={one.resource: one.after for one in recorded if one.after is not None},
        migrations=known.migrations,
        crds=crds,
        window=timedelta(seconds=params["stale_after"]),
        formula_holds=check_formula(seen.sight).holds,
        incoming=incoming,
        objects=_count(module, seen, step),
    )
    verdict = decide_gate(
        find_all(facts),
        acknowledgements=acknowledgements,
        from_release=step.from_release,
        to_release=step.to_release,
        now=seen.sight.now,
    )
    result = present_gate(verdict, facts)
    if params["fail"] and not verdict.passed:
        stopping = [one for one in verdict.findings if one.stops]
        raise NotReached(
            f"From {step.from_release} to {step.to_release} is not known to be safe"
            if verdict.safe == "unknown"
            else f"From {step.from_release} to {step.to_release} is not safe",
            f"{len(stopping)} findings stop it. {' '.join(result['summary'][1:4])}",
            "See findings in the result: each has its remedy",
            result=result,
        )
    return result


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


def _incoming(paths: Iterable[str]) -> dict[str, CrdFacts]:
    """The definitions in manifests that are to be installed."""
    found: dict[str, CrdFacts] = {}
    for path in paths:
        try:
            documents = list(yaml.safe_load_all(Path(path).read_text(encoding="utf-8")))
        except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
            raise LockstepError(
                f"The option crd_manifests names {path}",
                f"It can't be read: {error}",
                "Give the path of a YAML file on the host that runs the task",
            ) from error
        for one in documents:
            if isinstance(one, Mapping) and one.get("kind") == "CustomResourceDefinition":
                definition = read_definition(one)
                found[definition.resource] = definition
    return found


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


def _count(module: AnsibleModule, seen: Look, step: Step) -> dict[str, int]:
    """How many objects there are of what the target, or the way back, could not read."""
    counts: dict[str, int] = {}
    releases = [one for one in (step.target, step.rollback) if one is not None]

    def unreadable(name: str, encoding: str) -> bool:
        found = (one.resources.get(name) for one in releases)
        return any(one is None or encoding not in one.decodable for one in found)

    with entry_server(module, what="Objects can't be counted") as server:
        for name, agreement in seen.agreements.items():
            if agreement.origin != "built-in" or not unreadable(name, agreement.encoding_version):
                continue
            served = next(
                (one.resources[name] for one in seen.sight.servers if name in one.resources), None
            )
            if served is not None and "list" in served.verbs:
                version = served_version(seen.sight, name)
                count = ObjectList(name, version, namespaced=served.namespaced).count(server)
                if count is not None:
                    counts[name] = count
    return counts
