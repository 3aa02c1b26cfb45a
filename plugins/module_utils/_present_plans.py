# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""Plans of a roll as the plain data that modules return: what is next comes first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.plans import (
    Plan,
    PlannedServer,
    own_emulation,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.reasons import (
    Reason,
    enumerate_names,
    plural,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.settling import Look


def present_plan(plan: Plan, *, noted: str = "") -> dict[str, Any]:
    """A plan, as upgrade_plan returns it."""
    return {
        "changed": False,
        "summary": _summary(plan),
        "stage": plan.stage,
        "from_release": plan.from_release,
        "to_release": plan.wanted.release,
        "emulated_version": plan.wanted.emulated,
        "roll": list(plan.roll),
        "roll_nodes": list(plan.roll_nodes),
        "begun": plan.begun,
        "step": plan.step,
        "judged": plan.judged(noted),
        "finished": not plan.roll and not plan.roll_nodes,
        "complete": not plan.reasons,
        "reasons": list(map(str, plan.reasons)),
        "notes": list(map(str, plan.notes)),
        "silent": list(plan.silent),
        "answering": list(plan.answering),
        "servers": {one.host: _present(one) for one in plan.servers},
        "nodes": {one.host: {"kubelet": one.kubelet, "done": one.done} for one in plan.nodes},
    }


def _present(one: PlannedServer) -> dict[str, Any]:
    release = one.sight.release
    return {
        "address": one.address,
        "release": release.git_version if release else "",
        "emulated_version": own_emulation(release) if release else "",
        "ready": one.sight.ready,
        "fault": one.sight.fault,
        "done": one.done,
    }


def _summary(plan: Plan) -> list[str]:
    done = len(plan.servers) - len(plan.roll)
    step = f"{plan.wish.direction} to {plan.wanted}"
    if not plan.roll:
        first = f"{step}: all {plural(len(plan.servers), 'server')} run it"
    else:
        first = (
            f"{step}: {done} of {plural(len(plan.servers), 'server')} done; next"
            f" {enumerate_names(plan.roll)}"
        )
    lines = [f"{first}.", *(f"{one}." for one in plan.servers)]
    if plan.nodes:
        through = len(plan.nodes) - len(plan.roll_nodes)
        left = enumerate_names(plan.roll_nodes, at_most=10)
        rest = f"; next {left}" if left else ""
        lines.append(f"{through} of {plural(len(plan.nodes), 'node')} done{rest}.")
    return [*lines, *map(str, (*plan.reasons, *plan.notes))]


def present_server(
    look: Look,
    address: str,
    *,
    waited: float,
    unproven: Sequence[Reason] = (),
    left_out: Sequence[str] = (),
) -> dict[str, Any]:
    """A server that is through, as server_gate returns it."""
    sight = next(one for one in look.sight.servers if one.address == address)
    differ = sorted(name for name, one in look.agreements.items() if one.status == "disagreeing")
    lines = [f"{address} runs {sight.release}, is ready, and tells what it stores."]
    if differ:
        lines.append(
            "Until all servers are rolled they write"
            f" {enumerate_names(differ, at_most=5)} differently."
        )
    if left_out:
        lines.append(f"Left out, since it can't be known: {enumerate_names(left_out)}.")
    lines += map(str, unproven)
    return {
        "changed": False,
        "summary": lines,
        "release": sight.release.git_version if sight.release else "",
        "emulated_version": own_emulation(sight.release) if sight.release else "",
        "resources": len(sight.resources),
        "disagreeing": differ,
        "unproven": list(map(str, unproven)),
        "left_out": list(left_out),
        "servers": len(look.membership.distinct),
        "waited": round(waited, 1),
    }
