#!/usr/bin/python
# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: storage_version_info
short_description: See what API servers report through the StorageVersion API, and who has not
version_added: 0.1.0
author:
  - The Lockstep authors (@lockstep)
description:
  - Joins the StorageVersion objects with the identity leases of the API servers. An object that
    says all servers agree speaks only of those that reported; this module names the servers that
    live and have not, and the entries that belong to no server any more.
  - Also tells what all live servers can decode, and what the voting rule for a coordinated storage
    version selects.
  - The API is alpha and off by default. Where it is off, or on in some servers only, RV(api) says
    so and RV(api_remedy) says how to turn it on; that is not an error.
options:
  last_agreed:
    description:
      - The encoding versions that were agreed on last, by resource, for example RV(selected) of an
        earlier run.
      - While servers vote for different versions, the one selected is the last that was agreed on.
    type: dict
    default: {}
extends_documentation_fragment:
  - lockstep.kubernetes._observing
  - lockstep.kubernetes._observing.resources
  - lockstep.kubernetes._observing.wait
  - lockstep.kubernetes._observing.attributes
  - kubernetes.core.k8s_auth_options
seealso:
  - module: lockstep.kubernetes.discovery_hash
  - module: lockstep.kubernetes.storage_version
"""

EXAMPLES = r"""
- name: See what every server reports
  lockstep.kubernetes.storage_version_info:
  register: reported

- name: Name the entries of servers that are gone
  ansible.builtin.debug:
    msg: "{{ reported.resources | dict2items | selectattr('value.stale') | map(attribute='key') }}"

- name: Keep what was agreed on before an upgrade, to know what stays selected during it
  lockstep.kubernetes.storage_version_info:
    last_agreed: "{{ reported.selected }}"
"""

RETURN = r"""
left_out:
  description: What O(left_out) names and nobody can know. It is not agreed.
  returned: always
  type: list
  elements: str
  sample: []
api:
  description: Whether the StorageVersion API is V(on) in every server, V(partly) on, or V(off).
  returned: always
  type: str
  sample: "on"
api_remedy:
  description: How to turn it on; empty where it is on.
  returned: always
  type: str
  sample: ""
agreed:
  description: Whether the view is complete and all servers encode every chosen resource alike.
  returned: always
  type: bool
  sample: true
verdict:
  description: The worst verdict on any chosen resource.
  returned: always
  type: str
  sample: agreed
summary:
  description: The verdict for people, a line for each thing that matters, with what to do.
  returned: always
  type: list
  elements: str
  sample: ["agreed: 3 servers encode all 59 resources alike."]
reasons:
  description: Every reason against agreement, each with what to do.
  returned: always
  type: list
  elements: str
  sample: []
selected:
  description: What the voting rule selects, by resource.
  returned: always
  type: dict
  sample: {deployments.apps: apps/v1}
resources:
  description: Each chosen resource that has a StorageVersion object, by name.
  returned: always
  type: dict
  contains:
    status:
      description: V(agreed), V(disagreeing), V(incomplete) or V(unknown), from both sources.
      type: str
    common_encoding_version:
      description: What the object calls common to all that reported; empty where they differ.
      type: str
    condition:
      description: The condition C(AllEncodingVersionsEqual), with its reason and last transition.
      type: dict
    resource_version:
      description: The resourceVersion of the object, which changes with every report.
      type: str
    decodable_by_all:
      description: What every live server can decode; empty while one of them has not reported.
      type: list
      elements: str
    entries:
      description: What each server reported, and how much that is worth.
      type: list
      elements: dict
    stale:
      description: Entries whose server is gone.
      type: list
      elements: str
    missing:
      description: Servers that live and have not reported.
      type: list
      elements: str
    vote:
      description: Candidates by server, what is selected, what is pending, and why.
      type: dict
  sample:
    deployments.apps:
      status: agreed
      common_encoding_version: apps/v1
      condition:
        status: "True"
        reason: CommonEncodingVersionSet
        last_transition_time: "2026-11-16T04:02:17Z"
      resource_version: "412"
      decodable_by_all: [apps/v1, apps/v1beta1, apps/v1beta2]
      entries:
        - server_id: apiserver-rplpdvtx3lntmi4xy2xnxookk4
          hostname: cp-1
          standing: live
          encoding_version: apps/v1
          decodable_versions: [apps/v1, apps/v1beta2, apps/v1beta1]
          served_versions: [apps/v1]
      stale: []
      missing: []
      vote:
        candidates: {apiserver-rplpdvtx3lntmi4xy2xnxookk4: apps/v1}
        selected: apps/v1
        pending: []
        why: "apps/v1 is selected for deployments.apps: every server votes for it"
unmatched:
  description: Patterns in O(resources) that chose nothing.
  returned: always
  type: list
  elements: str
  sample: []
servers:
  description: Every address that was asked, as M(lockstep.kubernetes.discovery_hash) returns it.
  returned: always
  type: list
  elements: dict
  sample: []
leases:
  description: The hosts whose identity leases are renewed, silent (perhaps frozen), expired, or
    vouched to be gone.
  returned: always
  type: dict
  sample: {live: [cp-1], silent: [], expired: [], gone: []}
waited:
  description: Seconds waited.
  returned: when O(wait=true)
  type: float
  sample: 12.4
"""

from ansible_collections.lockstep.kubernetes.plugins.module_utils._looks import observe_and_answer
from ansible_collections.lockstep.kubernetes.plugins.module_utils._module import (
    OBSERVING_ARG_SPEC,
    WAIT_ARG_SPEC,
    run_module,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._present import (
    present_storage_versions,
)


def main():
    def work(module):
        last_agreed = module.params["last_agreed"]
        return observe_and_answer(
            module, lambda *seen: present_storage_versions(*seen, last_agreed)
        )

    run_module(
        work,
        arguments={
            **OBSERVING_ARG_SPEC,
            **WAIT_ARG_SPEC,
            "last_agreed": {"type": "dict", "default": {}},
        },
    )


if __name__ == "__main__":
    main()
