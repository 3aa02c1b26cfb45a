#!/usr/bin/python
# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: storage_state
short_description: Keep record of which versions of each resource may be stored
version_added: 0.1.0
author:
  - The Lockstep authors (@lockstep)
description:
  - Looks at every API server and records, in one StorageState object for each resource, in which
    versions its objects may be stored. That record tells later whether another release can read
    all of them.
  - What may be stored only ever grows by looking. It shrinks by a migration during which nothing
    changed, or by an audit of etcd. Where something may have gone unseen, V(Unknown) is recorded,
    and V(Unknown) is never safe.
  - One pass covers all resources. It is safe to run at any time, and by several at once.
options:
  state:
    description:
      - V(observed) records what was seen, with a heartbeat, takes back migrations that have become
        pointless, records those that have finished, and returns which are due.
      - V(migrated) does the same, and fails unless every chosen resource is then known to be stored
        in its current version alone. A server that was restarted between two observations may have
        written another version meanwhile, so that it is not known without O(audit).
      - V(reset) takes the chosen resources back to V(Unknown). Do this where servers were changed
        twice between two looks.
      - V(absent) deletes the record of the chosen resources.
    type: str
    choices: [observed, migrated, reset, absent]
    default: observed
  restarted_servers:
    description:
      - Addresses of the servers that you have restarted yourself since the last observation. Their
        restart is not taken for one that nobody saw.
      - Name a server here only while you hold the lock that keeps other runs out
        (M(lockstep.kubernetes.lock)).
    type: list
    elements: str
    default: []
  heartbeat_counts_as_change:
    description:
      - Whether a pass that only moved heartbeats reports C(changed).
    type: bool
    default: false
extends_documentation_fragment:
  - lockstep.kubernetes._observing
  - lockstep.kubernetes._observing.resources
  - lockstep.kubernetes._observing.passes
  - lockstep.kubernetes._observing.attributes
  - kubernetes.core.k8s_auth_options
attributes:
  diff_mode:
    support: full
notes:
  - Resources of aggregated APIs are recorded only where O(resources) names them.
seealso:
  - module: lockstep.kubernetes.storage_state_info
  - module: lockstep.kubernetes.storage_audit
  - module: lockstep.kubernetes.storage_migration
"""

EXAMPLES = r"""
- name: Record what every server stores, and learn what is due
  lockstep.kubernetes.storage_state:
    state: observed
  register: pass

- name: Know before the audit who the servers are
  lockstep.kubernetes.discovery_hash:
  register: before

- name: Read what is stored
  lockstep.kubernetes.storage_audit:
    manifest: /etc/kubernetes/manifests/kube-apiserver.yaml
  register: audit
  delegate_to: cp-1.example.com
  become: true

- name: Turn Unknown into truth
  lockstep.kubernetes.storage_state:
    state: observed
    audit: "{{ audit }}"
    audited_after: "{{ before }}"

- name: Begin anew after two changes in quick succession
  lockstep.kubernetes.storage_state:
    state: reset
    resources: ["*.example.com"]
"""

RETURN = r"""
cluster_uid:
  description: The cluster, by the UID of its namespace kube-system.
  returned: unless O(state=absent)
  type: str
  sample: 5e6a2a55-4b5c-4d0f-9a8e-6f0f3c0f4f9b
summary:
  description: What came of it for people, a line for each thing that matters.
  returned: always
  type: list
  elements: str
  sample: ["59 resources: 58 current, 1 mixed, 0 Unknown."]
states:
  description: The record of each chosen resource, by name.
  returned: always
  type: dict
  contains:
    persisted:
      description: The hashes of all versions that may be stored.
      type: list
      elements: str
    persisted_versions:
      description: The same as group/versions, where they could be explained.
      type: list
      elements: str
    current:
      description: The hash of what the servers write, V(Unknown) while they do not agree.
      type: str
    current_version:
      description: The same as a group/version.
      type: str
    migrated:
      description: Whether all that is stored is in the current version.
      type: bool
    stale:
      description: Whether nobody has looked for too long, so that all of it counts as Unknown.
      type: bool
    heartbeat:
      description: When it was last confirmed.
      type: str
    evidence:
      description: Why it is believed (V(assumed), V(observed), V(migrated), V(crd) or V(etcd)),
        since when, at which etcd revision, what changed between two looks, and which servers were
        missed at the last one though their very processes had been seen before.
      type: dict
    change:
      description: What this pass made of it.
      type: str
  sample:
    deployments.apps:
      persisted: ["8aSe+NMegvE="]
      persisted_versions: [apps/v1]
      current: "8aSe+NMegvE="
      current_version: apps/v1
      migrated: true
      stale: false
      heartbeat: "2026-11-16T04:02:17Z"
      evidence: {source: migrated, time: "2026-11-16T03:58:01Z", revision: 0, unseen: []}
      change: same
due:
  description: Resources that should be migrated now.
  returned: always
  type: list
  elements: str
  sample: [resourceclaims.resource.k8s.io]
pending:
  description: Resources with a migration of C(migration.k8s.io) that has not finished.
  returned: always
  type: list
  elements: str
  sample: []
superseded:
  description: Migrations that were deleted, or would be in check mode.
  returned: always
  type: list
  elements: str
  sample: []
finished:
  description: Migrations of Lockstep's own that were deleted, or would be in check mode, since what
    they proved is recorded and they succeeded more than five minutes ago.
  returned: always
  type: list
  elements: str
  sample: []
collected:
  description: Resources that are neither served nor, by O(audit), stored any more, so that their
    records were deleted, or would be in check mode.
  returned: always
  type: list
  elements: str
  sample: []
heartbeats:
  description: Number of records of which only the heartbeat moved.
  returned: always
  type: int
  sample: 58
paused:
  description: Who is upgrading the cluster at this moment, so that nothing should be migrated;
    empty if nobody is.
  returned: always
  type: str
  sample: ""
other_trigger:
  description: Which other trigger keeps the StorageStates beside several servers, and what to do
    about it; empty if none does. Nothing may be migrated then.
  returned: always
  type: str
  sample: ""
notes:
  description: What is worth knowing, each with what to do.
  returned: always
  type: list
  elements: str
  sample: []
"""

from ansible_collections.lockstep.kubernetes.plugins.module_utils._module import (
    OBSERVING_ARG_SPEC,
    PASS_ARG_SPEC,
    run_module,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._states import change_states


def main():
    run_module(
        change_states,
        arguments={
            **OBSERVING_ARG_SPEC,
            **PASS_ARG_SPEC,
            "state": {
                "type": "str",
                "choices": ["observed", "migrated", "reset", "absent"],
                "default": "observed",
            },
            "restarted_servers": {"type": "list", "elements": "str", "default": []},
            "heartbeat_counts_as_change": {"type": "bool", "default": False},
        },
    )


if __name__ == "__main__":
    main()
