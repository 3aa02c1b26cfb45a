# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""What all modules share: options, the look at the cluster, and the one place that fails."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from ansible.module_utils.basic import AnsibleModule, missing_required_lib
from ansible_collections.kubernetes.core.plugins.module_utils.args_common import AUTH_ARG_SPEC

from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide import names
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.agreement import (
    decide_agreement,
    not_persisted,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.errors import (
    LockstepError,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.known import KnownServers
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.membership import (
    decide_membership,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.settling import (
    Look,
    Settler,
    Settling,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.cluster import (
    observe_cluster,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.servers import (
    Access,
    ApiServer,
    Deadline,
    RefusedError,
    ServerFault,
    normalise_addresses,
    read_access,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._present import all_reasons
from ansible_collections.lockstep.kubernetes.plugins.module_utils._run import (
    NotReached,
    Result,
    check_patterns,
    check_positive,
    end_module,
    tell,
)

KUBERNETES_IMPORT_ERROR: str | None = None
try:
    from kubernetes.client import Configuration  # noqa: F401  # pylint: disable=unused-import
except ImportError:
    KUBERNETES_IMPORT_ERROR = traceback.format_exc()

CONNECTION_ARG_SPEC: dict[str, dict[str, Any]] = {
    "tls_server_name": {"type": "str"},
    "timeout": {"type": "float", "default": 10.0},
}
OBSERVING_ARG_SPEC: dict[str, dict[str, Any]] = {
    "servers": {"type": "list", "elements": "str", "default": []},
    "gone_servers": {"type": "list", "elements": "str", "default": []},
    "server_count": {"type": "int"},
    "resources": {"type": "list", "elements": "str", "default": ["*"]},
}
WAIT_ARG_SPEC: dict[str, dict[str, Any]] = {
    "wait": {"type": "bool", "default": False},
    "wait_timeout": {"type": "float", "default": 300.0},
    "wait_sleep": {"type": "float", "default": 2.0},
    "settle": {"type": "float"},
}

# How a pass over the StorageStates judges.
PASS_ARG_SPEC: dict[str, dict[str, Any]] = {
    "stale_after": {"type": "float", "default": 600.0},
    "on_unseen_change": {"type": "str", "choices": ["keep", "unknown"], "default": "keep"},
    "encryption_generation": {"type": "str", "default": "", "no_log": False},
    "audit": {"type": "dict"},
    "audited_after": {"type": "dict"},
    "settle": {"type": "float", "default": 60.0},
}

# From a look and the patterns of the option resources to a result.
Present = Callable[[Look, "list[str]"], Result]


def run_module(work: Callable[[AnsibleModule], Result], *, arguments: Mapping[str, Any]) -> None:
    """Build a module that speaks to API servers, with the options of all such, and run it."""
    module = AnsibleModule(
        argument_spec={**AUTH_ARG_SPEC, **CONNECTION_ARG_SPEC, **arguments},
        supports_check_mode=True,
    )
    if KUBERNETES_IMPORT_ERROR:
        module.fail_json(msg=missing_required_lib("kubernetes"), exception=KUBERNETES_IMPORT_ERROR)

    _unmask_names(module)

    def checked(module: AnsibleModule) -> Result:
        _check_options(module.params)
        return work(module)

    end_module(module, checked)


@contextmanager
def entry_server(module: AnsibleModule, *, what: str) -> Iterator[ApiServer]:
    """The server that the connection names, for what any server can do; `what` is what may fail."""
    access = read_access(module)
    server = ApiServer(access, access.host, Deadline(module.params["timeout"]))
    try:
        yield server
    except ServerFault as fault:
        raise fault.as_error(f"{what} through {access.host}") from fault
    finally:
        server.close()


def look(
    module: AnsibleModule,
    access: Access,
    resources: list[str] | None = None,
    *,
    known: KnownServers | None = None,
) -> Look:
    """One look at the cluster that the module's options describe, and its verdicts."""
    params = module.params
    patterns = params["resources"] if resources is None else resources
    sight = observe_cluster(
        access,
        servers=normalise_addresses(params["servers"]),
        gone_servers=params["gone_servers"],
        server_count=params["server_count"] or 0,
        patterns=patterns,
        timeout=params["timeout"],
        known=known,
    )
    membership = decide_membership(sight)
    agreements = decide_agreement(sight=sight, membership=membership)
    seen = (*agreements, *not_persisted(sight))
    unmatched = names.unmatched_patterns(resources=seen, patterns=patterns)
    unheard_of = tuple(name for name in unmatched if "*" not in name)
    return Look(sight, membership, agreements, unheard_of)


def observe_and_answer(module: AnsibleModule, present: Present) -> Result:
    """Look once, or until agreement has settled; what was seen is the module's result."""
    access = read_access(module)
    if not module.params["wait"]:
        return {"changed": False, **present(look(module, access), module.params["resources"])}
    last, waited, settled = look_until_settled(module, access)
    seen = present(last, module.params["resources"])
    result = {"changed": False, **seen, "waited": round(waited, 1)}
    if settled:
        return result
    if last.agreed:
        why = "The servers agree, but not for as long as settle asks"
        remedy = "Raise wait_timeout, or lower settle"
    else:
        why = " ".join(str(reason) for reason in all_reasons(last))
        remedy = "Or raise wait_timeout if the servers are still being rolled"
    raise NotReached(f"No settled agreement after {waited:.0f} s", why, remedy, result=result)


def look_until_settled(module: AnsibleModule, access: Access) -> tuple[Look, float, bool]:
    """Look until agreement has settled or time is up: the last look, seconds, whether it has."""
    params = module.params
    settler = Settler(seconds=params["settle"])
    begun = time.monotonic()
    seen: Look | LockstepError
    first = True
    while True:
        settled = False
        try:
            seen = look(module, access)
            first = False
            settling = settler.take(seen, at=time.monotonic())
            settled = settling.done
            if not settled:
                tell(_progress(seen, settling))
        except LockstepError as error:
            if first and isinstance(error, RefusedError):
                raise
            # While servers restart, requests through the load balancer fail: that passes.
            seen = error
            settler.lose()
            tell(str(error))
        waited = time.monotonic() - begun
        if settled or waited + params["wait_sleep"] > params["wait_timeout"]:
            break
        time.sleep(params["wait_sleep"])
    if isinstance(seen, LockstepError):
        raise seen
    return seen, waited, settled


def _progress(look_: Look, settling: Settling) -> str:
    if look_.agreed:
        return f"agreed; held for {settling.held:.0f} of {settling.needed:.0f} s"
    open_ = [name for name, one in look_.agreements.items() if not one.agreed]
    reason = next(iter(look_.membership.reasons), "")
    return f"waiting for agreement on {len(open_)} of {len(look_.agreements)} resources. {reason}"


def _unmask_names(module: AnsibleModule) -> None:
    """Keep only the secrets of a kubeconfig given as data out of the output.

    The whole of it counts as secret, so that its `apiVersion: v1` would hide every v1 in a result.
    """
    kubeconfig = module.params.get("kubeconfig")
    if isinstance(kubeconfig, Mapping):
        users = [one.get("user") for one in kubeconfig.get("users") or []]
        # What an exec plugin is called and speaks is no secret either.
        secrets = set(_strings(users, without=("apiVersion", "command", "interactiveMode")))
        module.no_log_values -= set(_strings(kubeconfig)) - secrets


def _strings(data: Any, *, without: tuple[str, ...] = ()) -> Iterator[str]:
    """Every text in a document, but for those under some keys."""
    if isinstance(data, str):
        yield data
    elif isinstance(data, Mapping):
        for key, value in data.items():
            if key not in without:
                yield from _strings(value, without=without)
    elif isinstance(data, (list, tuple)):
        for value in data:
            yield from _strings(value, without=without)


def _check_options(params: Mapping[str, Any]) -> None:
    """Refuse what can never work, before anything is read or waited for."""
    normalise_addresses(params.get("servers") or [])
    check_patterns(params.get("resources") or [])
    check_positive(params, "timeout", "wait_timeout", "wait_sleep", "server_count", "seconds")
    # No time to settle is one that may be asked for.
    check_positive({"settle": params.get("settle") or None}, "settle")
