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
  stale_after:
    description:
      - Seconds after which a record that nobody has confirmed counts as V(Unknown).
    type: float
    default: 600.0
  settle:
    description:
      - Seconds that API servers may take to follow a CustomResourceDefinition that was changed.
        Until then no migration of its resource is asked for, and none counts.
    type: float
    default: 60.0
extends_documentation_fragment:
  - lockstep.kubernetes._observing
  - lockstep.kubernetes._observing.resources
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
    msg: "{{ recorded.states | dict2items | community.general.json_query(query) }}"
  vars:
    query: "[?value.stale || contains(value.persisted, 'Unknown')].key"
"""

RETURN = r"""
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
paused:
  description: Who is upgrading the cluster at this moment; empty if nobody is.
  returned: always
  type: str
  sample: ""
"""

from ansible_collections.lockstep.kubernetes.plugins.module_utils._module import (
    OBSERVING_ARG_SPEC,
    run_module,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._states import tell_states


def main():
    run_module(
        tell_states,
        arguments={
            **OBSERVING_ARG_SPEC,
            "stale_after": {"type": "float", "default": 600.0},
            "settle": {"type": "float", "default": 60.0},
        },
    )


if __name__ == "__main__":
    main()
