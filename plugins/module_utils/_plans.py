# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""The modules of a roll, put together: what is left to do, and whether one server is through."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.agreement import (
    check_formula,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.catalogue import (
    parse_catalogues,
    parse_release,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.catalogue.data import (
    RELEASES,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.errors import (
    LockstepError,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.plans import (
    Wanted,
    Wish,
    decide_plan,
    judge_server,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.readable import (
    judge_writes,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.reasons import Reason
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.settling import Look
from ansible_collections.lockstep.kubernetes.plugins.module_utils._looks import look
from ansible_collections.lockstep.kubernetes.plugins.module_utils._module import entry_server
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.nodes import (
    observe_kubelets,
    observe_leader,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.servers import (
    normalise_addresses,
    read_access,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._present_plans import (
    present_plan,
    present_server,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._run import (
    NotReached,
    Result,
    check_patterns,
    tell,
)


def make_plan(module: AnsibleModule) -> Result:
    """What upgrade_plan does."""
    params = module.params
    wish = Wish(_release(params["release"]), params["mode"], params["direction"])
    hosts = _addresses(params["hosts"])
    # Nothing can be read from those that are down, and nothing written by them.
    module.params["servers"] = [hosts[one] for one in hosts if one not in params["down"]]
    module.params["gone_servers"] = [*params["gone_servers"], *params["down"]]
    with entry_server(module, what="The nodes can't be read") as server:
        kubelets, leader = observe_kubelets(server), observe_leader(server)
    _check_nodes(params["nodes"], kubelets)
    begun = time.monotonic()
    while True:
        plan = decide_plan(
            look(module, read_access(module), ["*"]),
            wish,
            hosts=hosts,
            nodes=params["nodes"],
            kubelets=kubelets,
            last=[leader, *params["last"]],
        )
        waited = time.monotonic() - begun
        if not plan.reasons or waited + params["wait_sleep"] > params["wait_timeout"]:
            return present_plan(plan, noted=params["noted"])
        tell(f"{waited:.0f} s: {plan.reasons[0]}")
        time.sleep(params["wait_sleep"])


def gate_server(module: AnsibleModule) -> Result:
    """What server_gate does."""
    params = module.params
    wanted = read_target(params)
    check_patterns(params["left_out"], option="left_out")
    left_out: tuple[str, ...] = ()
    [address] = normalise_addresses([params["server"]], option="server")
    begun = time.monotonic()
    while True:
        seen = None
        try:
            seen = look(module, read_access(module), ["*"])
            left_out = seen.left_out(params["left_out"])
            reasons = list(map(str, judge_server(seen, address, wanted, left_out=left_out)))
        except LockstepError as error:
            # While a server restarts, requests through a load balancer may fail: that passes.
            reasons = [str(error)]
        waited = time.monotonic() - begun
        unreadable, unproven = _judge_writes(seen, address) if seen else ((), ())
        if unreadable:
            # Waiting does not help, and every write makes it worse.
            raise NotReached(
                f"The server {address} writes what other servers can't read",
                " ".join(map(str, unreadable)),
                "No other server was touched",
                result={
                    "changed": False,
                    "reasons": list(map(str, unreadable)),
                    "waited": round(waited, 1),
                },
            )
        if seen is not None and not reasons:
            return present_server(
                seen, address, waited=waited, unproven=unproven, left_out=left_out
            )
        if waited + params["wait_sleep"] > params["wait_timeout"]:
            raise NotReached(
                f"The server {address} is not through after {waited:.0f} s",
                " ".join(reasons),
                "No other server was touched. Mend this one and run the same again, or go back"
                " with the playbook rollback",
                result={"changed": False, "reasons": reasons, "waited": round(waited, 1)},
            )
        tell(f"{waited:.0f} s: {reasons[0]}")
        time.sleep(params["wait_sleep"])


def _judge_writes(seen: Look, address: str) -> tuple[tuple[Reason, ...], tuple[Reason, ...]]:
    return judge_writes(
        seen,
        address,
        parse_catalogues(RELEASES),
        formula_holds=check_formula(seen.sight).holds,
    )


def read_target(params: Mapping[str, Any]) -> Wanted:
    """What servers are brought to, by a module's options."""
    return Wanted(_release(params["release"]), params["emulated_version"] or "")


def _release(text: str) -> str:
    parse_release(text)
    return f"v{text.removeprefix('v')}"


def _addresses(hosts: Mapping[str, Any]) -> dict[str, str]:
    if not hosts:
        raise LockstepError(
            "The option hosts is empty",
            "There is no server to be rolled",
            "Give the address of each host's API server; in the playbooks that is the inventory"
            " group kube_control_plane, or the one that upgrade_control_plane_group names",
        )
    return {host: normalise_addresses([str(one)], option="hosts")[0] for host, one in hosts.items()}


def _check_nodes(nodes: Mapping[str, str], kubelets: Mapping[str, str]) -> None:
    unknown = sorted(
        f"{host} ({node})" for host, node in nodes.items() if str(node) not in kubelets
    )
    if unknown:
        raise LockstepError(
            f"The option nodes names {', '.join(unknown)}",
            "The cluster has no node of that name",
            "Correct the inventory, or set upgrade_node_name for a host whose node is called"
            " otherwise",
        )
