# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""The verdict of the gate as plain data, and in words."""

from __future__ import annotations

from typing import Any

from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.checks import Facts
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.gate import (
    Finding,
    GateVerdict,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.reasons import (
    enumerate_names,
    plural,
)

_WORDS = {
    "true": "safe",
    "false": "not safe",
    "unknown": "not known to be safe",
}


def present_gate(verdict: GateVerdict, facts: Facts) -> dict[str, Any]:
    """The verdict document."""
    step = facts.step
    return {
        "changed": False,
        "safe": verdict.safe,
        "passed": verdict.passed,
        "summary": _summarise(verdict, facts),
        "from_release": step.from_release,
        "to_release": step.to_release,
        "rollback_release": step.rollback_release,
        "judged_by": {
            "target": str(step.target or ""),
            "rollback": str(step.rollback or ""),
            "current": str(step.current or ""),
        },
        "findings": [one.to_dict() for one in verdict.findings],
        "cured_by": {
            "migration": list(verdict.cured_by("migration")),
            "audit": list(verdict.cured_by("audit")),
            "operator": list(verdict.cured_by("operator")),
        },
        "resources": {name: _resource(name, facts) for name, _agreement in facts.judged},
        "unused_acknowledgements": [str(one) for one in verdict.unused],
        "expired_acknowledgements": [str(one) for one in verdict.expired],
    }


def _resource(name: str, facts: Facts) -> dict[str, Any]:
    agreement, state = facts.look.agreements[name], facts.states.get(name)
    target, rollback = facts.step.target, facts.step.rollback
    by_target = target.resources.get(name) if target else None
    by_rollback = rollback.resources.get(name) if rollback else None
    return {
        "encoding_version": agreement.encoding_version,
        "stored": list(facts.stored(name)),
        "evidence": state.evidence.source if state else "",
        "target_encoding": by_target.encoding if by_target else "",
        "target_decodes": list(by_target.decodable) if by_target else [],
        "rollback_decodes": list(by_rollback.decodable) if by_rollback else [],
    }


def _summarise(verdict: GateVerdict, facts: Facts) -> list[str]:
    step = facts.step
    stops = [one for one in verdict.findings if one.stops]
    first = (
        f"{_WORDS[verdict.safe]}: {step.from_release} to {step.to_release}, and back to"
        f" {step.rollback_release}. {plural(len(stops), 'finding')} of"
        f" {len(verdict.findings)} {'stops' if len(stops) == 1 else 'stop'} it."
    )
    lines = [first]
    by_check: dict[str, list[Finding]] = {}
    for one in (*stops, *(one for one in verdict.findings if not one.stops)):
        by_check.setdefault(one.check, []).append(one)
    for check, found in by_check.items():
        lines.append(_line(check, found))
    lines += [f"  unused acknowledgement: {one}" for one in verdict.unused]
    lines += [f"  expired acknowledgement: {one}" for one in verdict.expired]
    return lines


def _line(check: str, found: list[Finding]) -> str:
    """One line for a check: in full if it found one thing, else which resources."""
    first = found[0]
    told = "" if first.stops else f" ({first.severity}, goes on)"
    if len(found) == 1:
        return f"  {check}{told}: {first.seen}. {first.remedy}."
    named = enumerate_names([one.resource for one in found if one.resource], at_most=5)
    about = named or first.seen
    return f"  {check}{told}: {len(found)} findings, on {about}. {first.remedy}."
