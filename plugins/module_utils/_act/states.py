# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""Writes StorageState objects: one guarded status update each, decided anew after a conflict."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide import names
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.errors import (
    LockstepError,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.states import (
    StorageState,
    Transition,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.servers import (
    ApiServer,
    ServerFault,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.states import (
    EVIDENCE_ANNOTATION,
    STATES,
    observe_state,
    parse_state,
)

_ATTEMPTS = 5
_API = {"apiVersion": "migration.k8s.io/v1alpha1", "kind": "StorageState"}

Decide = Callable[["StorageState | None"], Transition]


def write_state(
    server: ApiServer,
    *,
    resource: str,
    state: StorageState | None,
    decide: Decide,
    evidence_in_status: bool,
    dry_run: bool,
) -> tuple[Transition, StorageState | None]:
    """Bring one state to what `decide` makes of it: what was decided, and the state after it."""
    for attempt in range(1, _ATTEMPTS + 1):
        transition = decide(state)
        if transition.state is None:
            return transition, state
        if dry_run:
            return transition, transition.state
        try:
            return transition, _write(server, state, transition.state, evidence_in_status)
        except ServerFault as fault:
            # Whether a write that broke was made is not known: it is read, and judged anew.
            if fault.status not in (404, 409) and not (fault.broken and attempt < _ATTEMPTS):
                raise
        state = observe_state(server, resource)
    raise LockstepError(
        f"The StorageState of {resource} could not be written",
        f"Others wrote it during each of {_ATTEMPTS} attempts",
        "Run the task again",
    )


def delete_state(server: ApiServer, state: StorageState) -> bool:
    """Delete one state as it was seen; gone already is as good."""
    server.deadline = server.deadline.anew()
    guard = {"preconditions": {"uid": state.uid}}
    try:
        server.delete(_path(state.resource), guard)
    except ServerFault as fault:
        if fault.status not in (404, 409):
            raise
        return False
    return True


def _write(
    server: ApiServer,
    before: StorageState | None,
    after: StorageState,
    evidence_in_status: bool,
) -> StorageState:
    document = _document(after)
    parse = partial(parse_state, name=names.storage_state_name(after.resource))
    # A new object has no status yet, and the status has no room for annotations: two writes.
    # A crash between them is harmless: an empty status reads as Unknown, and evidence that is
    # not about the status beside it does not count.
    if before is None:
        if not evidence_in_status:
            _annotate(document, after)
        version = server.post(STATES, document).read(parse).resource_version
    elif evidence_in_status or after.evidence == before.evidence:
        version = before.resource_version
    else:
        # Read, since labels and annotations of others would be lost by an update without them.
        found = server.get(_path(after.resource))
        found.read(parse)
        whole = found.json()
        whole["metadata"]["resourceVersion"] = before.resource_version
        _annotate(whole, after)
        version = server.put(_path(after.resource), whole).read(parse).resource_version
    document["metadata"]["resourceVersion"] = version
    document["status"] = after.to_status(with_evidence=evidence_in_status)
    written = server.put(f"{_path(after.resource)}/status", document).read(parse)
    return replace(written, evidence=after.evidence)


def _annotate(document: dict[str, Any], state: StorageState) -> None:
    evidence = json.dumps(state.evidence.to_dict(), sort_keys=True)
    annotations = document["metadata"].get("annotations") or {}
    document["metadata"]["annotations"] = {**annotations, EVIDENCE_ANNOTATION: evidence}


def _document(state: StorageState) -> dict[str, Any]:
    plural, group = names.split_resource(state.resource)
    return {
        **_API,
        "metadata": {"name": names.storage_state_name(state.resource)},
        "spec": {"resource": {"group": group, "resource": plural}},
    }


def _path(resource: str) -> str:
    return f"{STATES}/{names.storage_state_name(resource)}"
