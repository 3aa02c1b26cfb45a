# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""A look at the cluster that a module's options describe, once or until servers agree."""

from __future__ import annotations

import time
from collections.abc import Callable

from ansible.module_utils.basic import AnsibleModule

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
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.reasons import (
    enumerate_names,
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
    RefusedError,
    normalise_addresses,
    read_access,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._present import all_reasons
from ansible_collections.lockstep.kubernetes.plugins.module_utils._run import (
    NotReached,
    Result,
    check_patterns,
    tell,
)

# From a look and the patterns of the option resources to a result.
Present = Callable[[Look, "list[str]"], Result]


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
        revisions_of=params.get("revisions_of") or (),
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
    check_patterns(module.params["left_out"], option="left_out")
    if not module.params["wait"]:
        return {"changed": False, **_present(module, look(module, access), present)}
    last, waited, settled = look_until_settled(module, access)
    result = {"changed": False, **_present(module, last, present), "waited": round(waited, 1)}
    if settled:
        return result
    awaited = _awaited(last, module)
    if awaited.agreed:
        why = "The servers agree, but not for as long as settle asks"
        remedy = "Raise wait_timeout, or lower settle"
    else:
        why = " ".join(str(reason) for reason in all_reasons(awaited))
        remedy = "Or raise wait_timeout if the servers are still being rolled"
        unknowable = [name for name, one in awaited.agreements.items() if one.unknowable]
        if unknowable:
            named = enumerate_names(unknowable, at_most=5)
            remedy += f"; to go on without what can't be known, name it in left_out: {named}"
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
            awaited = _awaited(seen, module)
            settling = settler.take(awaited, at=time.monotonic())
            settled = settling.done
            if not settled:
                tell(_progress(awaited, settling))
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


def _present(module: AnsibleModule, seen: Look, present: Present) -> Result:
    """What was seen, and what was left out of it by name (R14)."""
    told = present(seen, module.params["resources"])
    left_out = seen.left_out(module.params["left_out"])
    if not left_out:
        return {**told, "left_out": []}
    rest = seen.without(left_out)
    summary = told["summary"]
    if rest.agreed:
        summary = [f"agreed except {enumerate_names(left_out)}.", *summary]
    return {**told, "left_out": list(left_out), "summary": summary}


def _awaited(seen: Look, module: AnsibleModule) -> Look:
    """The part of a look that is waited for."""
    rest = seen.without(seen.left_out(module.params["left_out"]))
    return rest.without_unknown if module.params["leave_out_unknown"] else rest


def _progress(look_: Look, settling: Settling) -> str:
    if look_.agreed:
        return f"agreed; held for {settling.held:.0f} of {settling.needed:.0f} s"
    open_ = [name for name, one in look_.agreements.items() if not one.agreed]
    reason = next(iter(look_.membership.reasons), "")
    return f"waiting for agreement on {len(open_)} of {len(look_.agreements)} resources. {reason}"
