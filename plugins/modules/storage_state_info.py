#!/usr/bin/python
# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: storage_state_info
short_description: Read which versions of each resource may be stored, and why that is believed
version_added: 0.1.0
author:
  - The Lockstep authors (@lockstep)
description:
  - Reads the record that M(lockstep.kubernetes.storage_state) keeps, explains its hashes as
    group/versions, and says in words what speaks against it.
  - A resource without a record, or one that nobody has looked at for O(stale_after), may be stored
    in any version.
options:
  verify:
    description:
      - Whether to tell in RV(verification) if all that is stored is in the version that the servers
        write now. With O(audit) that rests on the bytes in etcd, without it on what was recorded.
      - Not verified is a resource that servers do not agree on, or whose record has another current
        hash than they show, is missing, stale or V(Unknown), or holds more than the current
        version; and a CustomResourceDefinition that lists more than its storage version in
        C(status.storedVersions).
    type: bool
    default: false
  left_out:
    description:
      - Resources, or patterns as in O(resources), that need not be verified. They are named in the
        verdict.
      - Events and resources of aggregated APIs are never migrated, and always left out.
    type: list
    elements: str
    default: []
extends_documentation_fragment:
  - lockstep.kubernetes._observing
  - lockstep.kubernetes._observing.resources
  - lockstep.kubernetes._observing.passes
  - lockstep.kubernetes._observing.attributes
  - kubernetes.core.k8s_auth_options
seealso:
  - module: lockstep.kubernetes.storage_state
"""

EXAMPLES = r"""
- name: Read what may be stored
  lockstep.kubernetes.storage_state_info:
  register: recorded

- name: Name what can't be relied on
  ansible.builtin.debug:
    msg: "{{ (stale + unknown) | map(attribute='key') | unique }}"
  vars:
    states: "{{ recorded.states | dict2items }}"
    stale: "{{ states | selectattr('value.stale') }}"
    unknown: "{{ states | selectattr('value.persisted', 'contains', 'Unknown') }}"

- name: Require that all is stored as the servers write it
  lockstep.kubernetes.storage_state_info:
    verify: true
  register: recorded
  failed_when: not recorded.verification.verified
"""

RETURN = r"""
cluster_uid:
  description: The cluster, by the UID of its namespace kube-system.
  returned: always
  type: str
  sample: 5e6a2a55-4b5c-4d0f-9a8e-6f0f3c0f4f9b
summary:
  description: What is recorded for people, a line for each thing that matters.
  returned: always
  type: list
  elements: str
  sample: ["59 resources: 58 current, 1 mixed, 0 Unknown."]
states:
  description: The record of each chosen resource, by name, as M(lockstep.kubernetes.storage_state)
    returns it, whether there is one at all (C(recorded)), whether any server still serves the
    resource (C(served)), and all of it in C(words).
  returned: always
  type: dict
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
      recorded: true
      served: true
      words: ["deployments.apps may be stored as apps/v1 (8aSe+NMegvE=)."]
due:
  description: Resources that should be migrated now.
  returned: always
  type: list
  elements: str
  sample: []
encodings:
  description: What the servers write of each chosen resource, for
    O(lockstep.kubernetes.storage_audit#module:encodings); empty where they differ.
  returned: always
  type: dict
  sample: {deployments.apps: apps/v1, pods: v1}
migrations:
  description: All migrations, whoever made them, with resource, phase and message.
  returned: always
  type: dict
  sample: {}
verification:
  description: Whether all is stored as the servers write it.
  returned: if O(verify) is true
  type: dict
  contains:
    verified:
      description: Whether all that was not left out is proved.
      type: bool
    words:
      description: The verdict. It is V(verified) only if nothing was left out.
      type: str
    reasons:
      description: What speaks against it, with what to do.
      type: list
      elements: str
    proved_by:
      description: How many resources are proved by which evidence.
      type: dict
    unproved:
      description: The resources that are not proved, each with its reasons.
      type: dict
    doubted:
      description: The resources that are recorded as current, while a server was changed between
        two observations, each with what changed. Only an audit tells what was written meanwhile.
      type: dict
    unpruned:
      description: The CustomResourceDefinitions that list other versions as stored, and which.
      type: dict
    left_out:
      description: The resources that were left out, each with the reason.
      type: dict
    unused_left_out:
      description: What O(left_out) holds that is no resource.
      type: list
      elements: str
  sample:
    verified: true
    words: verified except events and events.events.k8s.io
    reasons: []
    proved_by: {etcd: 61, migrated: 2}
    unproved: {}
    doubted: {}
    unpruned: {}
    left_out:
      events: events expire by themselves, and are never migrated
      events.events.k8s.io: events expire by themselves, and are never migrated
    unused_left_out: []
paused:
  description: Who is upgrading the cluster at this moment; empty if nobody is.
  returned: always
  type: str
  sample: ""
"""

from ansible_collections.lockstep.kubernetes.plugins.module_utils._module import (
    OBSERVING_ARG_SPEC,
    PASS_ARG_SPEC,
    run_module,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._states import tell_states


def main():
    run_module(
        tell_states,
        arguments={
            **OBSERVING_ARG_SPEC,
            **PASS_ARG_SPEC,
            "verify": {"type": "bool", "default": False},
            "left_out": {"type": "list", "elements": "str", "default": []},
        },
    )


if __name__ == "__main__":
    main()
