# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""The verdict of the gate as plain data, and in words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.catalogue import (
    ReleaseCatalogue,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.checks import (
    CHECKS,
    Check,
    join_findings,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.checks.facts import Facts
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.checks.objects import (
    must_migrate,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.checks.stored import (
    decodable,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.gate import (
    Finding,
    GateVerdict,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.observations import (
    ServerSight,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.reasons import (
    enumerate_names,
    plural,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.times import format_time
from ansible_collections.lockstep.kubernetes.plugins.module_utils._present import present_api

LAST_RESORT = "As a last resort, which DELETES DATA"
SAFE_WORDS = {
    "true": "safe",
    "false": "not safe",
    "unknown": "not known to be safe",
}


def present_gate(
    verdict: GateVerdict, facts: Facts, *, custom: Iterable[str] = ()
) -> dict[str, Any]:
    """The verdict document; `custom` are the ids of a site's own checks."""
    step = facts.step
    # Each was judged by itself; only now they are told together.
    told = replace(verdict, findings=join_findings(facts, verdict.findings))
    document = {
        "changed": False,
        "safe": verdict.safe,
        "passed": verdict.passed,
        "summary": _summarise(told, facts),
        "from_release": step.from_release,
        "to_release": step.to_release,
        "rollback_release": step.rollback_release,
        "judged_at": format_time(facts.look.sight.now),
        "cluster_uid": facts.look.sight.identity.uid,
        "revision": max(facts.look.sight.revisions.values(), default=0),
        "audit_outdated": facts.audit_outdated,
        "left_out": list(facts.left_out),
        "storage_version_api": _storage_version_api(facts),
        "judged_by": {
            "target": str(step.target or ""),
            "rollback": str(step.rollback or ""),
            "current": str(step.current or ""),
        },
        "flags": {
            "runtime_config": dict(facts.flags.runtime_config),
            "feature_gates": dict(facts.flags.feature_gates),
        }
        if facts.flags
        else {},
        "servers": [_server(one) for one in facts.look.sight.servers],
        "checks": {
            **{name: _check(name, check, told, facts) for name, check in CHECKS.items()},
            **{name: _told(name, told.of((name,))) for name in custom},
        },
        "findings": [one.to_dict() for one in told.findings],
        "cured_by": {
            "migration": list(verdict.cured_by("migration")),
            "audit": list(verdict.cured_by("audit")),
            "operator": list(verdict.cured_by("operator")),
        },
        "resources": {name: _resource(name, facts) for name, _agreement in facts.judged},
        "unused_acknowledgements": [str(one) for one in verdict.unused],
        "expired_acknowledgements": [str(one) for one in verdict.expired],
    }
    return {**document, "markdown": format_markdown(document)}


def _storage_version_api(facts: Facts) -> dict[str, Any]:
    """Whether the servers tell a second time what they write, and how to have them do so."""
    read = [one for one in facts.look.sight.servers if not one.fault]
    return {
        **present_api(facts.look.sight),
        "servers": [one.address for one in read if one.storage_version_api],
    }


def _server(server: ServerSight) -> dict[str, str]:
    release = server.release
    return {
        "address": server.address,
        "release": release.git_version if release else "",
        "emulated": release.emulated if release else "",
    }


def _check(name: str, check: Check, verdict: GateVerdict, facts: Facts) -> dict[str, Any]:
    told = _told(check.title, verdict.of((name, *check.also)))
    return told if check.can_run(facts) else {**told, "result": "not run"}


def _told(title: str, found: Sequence[Finding]) -> dict[str, Any]:
    """What came of one check, in a word; the worst of its findings counts."""
    serious = [one for one in found if one.severity != "warn"]
    if any(not one.unknown and not one.acknowledged for one in serious):
        result = "failed"
    elif any(one.unknown for one in found):
        result = "unknown"
    else:
        result = "warned" if found else "passed"
    return {"title": title, "result": result, "findings": len(found)}


def _resource(name: str, facts: Facts) -> dict[str, Any]:
    agreement, state = facts.look.agreements[name], facts.states.get(name)
    target, rollback = facts.step.target, facts.step.rollback
    return {
        "origin": agreement.origin,
        "agreed": agreement.agreed,
        "encoding_version": agreement.encoding_version,
        "encodings": {one.server: one.encoding_version for one in agreement.servers},
        "stored": list(facts.stored(name)),
        "evidence": state.evidence.source if state else "",
        "objects": facts.objects(name),
        **{f"target_{key}": value for key, value in _reading(name, target).items()},
        "rollback_decodes": _reading(name, rollback)["decodes"],
        "decodable_by_target": decodable(facts, name, target),
        "decodable_by_rollback": decodable(facts, name, rollback),
        "must_migrate": must_migrate(facts, name),
    }


def _reading(name: str, release: ReleaseCatalogue | None) -> dict[str, Any]:
    known = release.resources.get(name) if release else None
    return {
        "encoding": known.encoding if known else "",
        "decodes": list(known.decodable) if known else [],
    }


def _summarise(verdict: GateVerdict, facts: Facts) -> list[str]:
    step = facts.step
    stops = [one for one in verdict.findings if one.stops]
    first = (
        f"{SAFE_WORDS[verdict.safe]}: {step.from_release} to {step.to_release}, and back to"
        f" {step.rollback_release}. {plural(len(stops), 'finding')} of"
        f" {len(verdict.findings)} {'stops' if len(stops) == 1 else 'stop'} it."
    )
    if facts.left_out:
        first += f" Left out: {enumerate_names(facts.left_out, at_most=5)}."
    lines = [first]
    by_check: dict[object, list[Finding]] = {}
    for one in (*stops, *(one for one in verdict.findings if not one.stops)):
        # What is told of several resources at once has a line of its own.
        by_check.setdefault(one if one.resources else one.check, []).append(one)
    lines += map(_line, by_check.values())
    lines += [f"  unused acknowledgement: {one}" for one in verdict.unused]
    lines += [f"  expired acknowledgement: {one}" for one in verdict.expired]
    return [*lines, _tell_sources(facts)]


def _tell_sources(facts: Facts) -> str:
    """Who told what the servers write: each by its discovery, and perhaps a second time."""
    api = _storage_version_api(facts)
    if api["api"] == "on":
        return "  What servers write was read from discovery and from the StorageVersion API."
    where = f"on only on {enumerate_names(api['servers'])}" if api["servers"] else "off"
    return (
        "  What servers write was read from discovery alone, since the StorageVersion API is"
        f" {where}. For a second source: {api['api_remedy']}"
    )


def _line(found: Sequence[Finding]) -> str:
    """One line for a check: in full if it found one thing, else which resources."""
    first, check = found[0], found[0].check
    told = "" if first.stops else f" ({first.severity}, goes on)"
    if len(found) == 1:
        last = f" {LAST_RESORT}: {first.destructive_command}" if first.destructive_command else ""
        todo = f"{first.remedy}: {first.command}" if first.command else f"{first.remedy}."
        return f"  {check}{told}: {first.seen}. {todo}{last}"
    named = enumerate_names([name for one in found for name in one.about], at_most=5)
    # Whose command it is could not be told from one line.
    return f"  {check}{told}: {len(found)} findings, on {named or first.seen}. {first.remedy}."


def format_markdown(document: Mapping[str, Any]) -> str:
    """The verdict as Markdown, for a merge request, a ticket or a job's summary."""
    step = f"{document['from_release']} to {document['to_release']}"
    lines = [
        f"# {_capital(SAFE_WORDS[document['safe']])}: {step}",
        "",
        f"The release to go back to is {document['rollback_release']}.",
    ]
    for title, stops in (("What stops it", True), ("What to know", False)):
        found = [one for one in document["findings"] if _stops(one) is stops]
        if found:
            lines += [
                "",
                f"## {title}",
                "",
                "| check | resource | seen | remedy |",
                "|---|---|---|---|",
            ]
            lines += [_row(one) for one in found]
    lines += ["", "## Checks", "", "| check | result | findings |", "|---|---|---|"]
    lines += [
        f"| {_cell(one['title'])} (`{name}`) | {one['result']} | {one['findings']} |"
        for name, one in document["checks"].items()
    ]
    return "\n".join(lines) + "\n"


def _stops(finding: Mapping[str, Any]) -> bool:
    return finding["severity"] == "block" or (
        finding["severity"] == "acknowledgeable" and not finding["acknowledged"]
    )


def _row(finding: Mapping[str, Any]) -> str:
    remedy = _cell(finding["remedy"])
    if finding["command"]:
        remedy += f": `{_cell(finding['command'])}`"
    if finding["destructive_command"]:
        remedy += f". {LAST_RESORT}: `{_cell(finding['destructive_command'])}`"
    about = _cell(", ".join(finding["resources"]))
    return f"| `{finding['check']}` | {about} | {_cell(finding['seen'])} | {remedy} |"


def _cell(text: str) -> str:
    """Text in a table: what would end a cell, or begin markup, is taken as it stands."""
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("<", "&lt;").replace("\n", " ")


def _capital(text: str) -> str:
    return text[0].upper() + text[1:]
