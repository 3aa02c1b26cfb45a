#!/usr/bin/python
# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: discovery_hash
short_description: See in which version every API server stores each resource
version_added: 0.1.0
author:
  - The Lockstep authors (@lockstep)
description:
  - Reads the storage version hashes in the discovery documents of every API server, each one at its
    own address and all in parallel, and tells whether all of them encode each resource alike.
  - Behind a load balancer a hash proves nothing, since it belongs to whichever server answered.
    That is why servers are found and asked one by one, told apart by the moment they started, and
    counted against the identity leases. A view that may lack a server is never called agreed.
  - Where the StorageVersion API is served it is a second source, and the two must not contradict
    each other.
  - Only reads, and never reads objects that hold user data.
options:
  revisions_of:
    description:
      - Resources that the API servers keep in an etcd of their own (C(--etcd-servers-overrides)).
        Its revision is recorded too, so that an audit of it can be held against this observation.
      - Takes the right to list them.
    type: list
    elements: str
    default: []
extends_documentation_fragment:
  - lockstep.kubernetes._observing
  - lockstep.kubernetes._observing.resources
  - lockstep.kubernetes._observing.wait
  - lockstep.kubernetes._observing.attributes
  - kubernetes.core.k8s_auth_options
notes:
  - A resource of an aggregated API is V(unknown) unless its Service has exactly one ready endpoint,
    since the API servers only pass on what some server behind it says.
seealso:
  - module: lockstep.kubernetes.storage_version_info
  - plugin: lockstep.kubernetes.storage_version_hash
    plugin_type: filter
"""

EXAMPLES = r"""
- name: See whether all API servers store every resource alike
  lockstep.kubernetes.discovery_hash:
  register: seen

- name: Say what they do not agree on
  ansible.builtin.debug:
    msg: "{{ seen.summary }}"

- name: Go on only once the upgraded servers write the same versions
  lockstep.kubernetes.discovery_hash:
    wait: true
    wait_timeout: 600

- name: Ask three servers that the EndpointSlice does not show, about two groups
  lockstep.kubernetes.discovery_hash:
    servers:
      - https://cp-1.example.com:6443
      - https://cp-2.example.com:6443
      - https://cp-3.example.com:6443
    resources:
      - deployments.apps
      - "*.example.com"
"""

RETURN = r"""
agreed:
  description: Whether the view is complete and all servers encode every chosen resource alike.
  returned: always
  type: bool
  sample: false
verdict:
  description: The worst verdict on any chosen resource.
  returned: always
  type: str
  sample: disagreeing
summary:
  description: The verdict for people, a line for each thing that matters, with what to do.
  returned: always
  type: list
  elements: str
  sample: ["agreed: 3 servers encode all 60 resources alike."]
reasons:
  description: Every reason against agreement, each with what to do.
  returned: always
  type: list
  elements: str
  sample:
    - "the servers encode resourceclaims.resource.k8s.io differently: https://192.0.2.12:6443
      (v1.36.3) writes resource.k8s.io/v1; https://192.0.2.13:6443 (v1.36.3 emulating 1.34) writes
      resource.k8s.io/v1beta2. Bring every server to the same release and emulated version, and
      migrate nothing until then."
left_out:
  description: What O(left_out) names and nobody can know. It is not agreed.
  returned: always
  type: list
  elements: str
  sample: []
notes:
  description: What is worth knowing and speaks against nothing.
  returned: always
  type: list
  elements: str
  sample: []
resources:
  description: The verdict on each chosen resource that is stored, by name.
  returned: always
  type: dict
  contains:
    status:
      description: V(agreed), V(disagreeing), V(incomplete) or V(unknown).
      type: str
    hash:
      description: The hash that every server shows that serves it; empty where they differ.
      type: str
    encoding_version:
      description: The group/version that the hash stands for; empty where that is not known.
      type: str
    origin:
      description: V(built-in), V(custom) or V(aggregated).
      type: str
    source:
      description: What the verdict rests on, V(discovery), V(storage_version) or V(both).
      type: str
    servers:
      description: The hash and its explanation by server.
      type: dict
    reasons:
      description: Reasons against agreement on this resource alone.
      type: list
      elements: str
    crd:
      description: The uid and generation of the definition of a custom resource.
      type: dict
  sample:
    resourceclaims.resource.k8s.io:
      status: disagreeing
      hash: ""
      encoding_version: ""
      kind: ResourceClaim
      origin: built-in
      source: discovery
      servers:
        https://192.0.2.12:6443: {hash: kMMmeHuQTYU=, encoding_version: resource.k8s.io/v1}
        https://192.0.2.13:6443: {hash: SYm7uTmnlxU=, encoding_version: resource.k8s.io/v1beta2}
      reasons: []
      notes: []
      crd: {}
encodings:
  description: What the servers write of each chosen resource, for
    O(lockstep.kubernetes.storage_audit#module:encodings); empty where they differ.
  returned: always
  type: dict
  sample: {deployments.apps: apps/v1, pods: v1}
epoch:
  description: Who the servers are and what they run. Together with RV(resources.crd) it must not
    change for a verdict to stay true; compare it, don't read it.
  returned: always
  type: dict
  sample:
    cluster: 5e6a2a55-4b5c-4d0f-9a8e-6f0f3c0f4f9b
    servers:
      - lease: apiserver-rplpdvtx3lntmi4xy2xnxookk4
        holder: apiserver-rplpdvtx3lntmi4xy2xnxookk4_9a835610-b6a2-4a25-b6b8-b9b4baa726d7
    releases:
      - {start_time: "1.79480131493e+09", git_version: v1.36.3, emulated: "1.36"}
    crd: {uid: "", generation: 0}
    encryption: ""
cluster:
  description:
    - Which cluster was observed, and at which moment. An audit of etcd counts only for an
      observation of the same cluster that ended before it.
  returned: always
  type: dict
  contains:
    uid:
      description: The UID of the namespace kube-system, which every server must show.
      type: str
    kube_system_revision:
      description: The resourceVersion of that namespace.
      type: str
    revisions:
      description: By resource, the revision of a consistent list that was taken after all servers
        had been read.
      type: dict
  sample:
    uid: 5e6a2a55-4b5c-4d0f-9a8e-6f0f3c0f4f9b
    kube_system_revision: "4"
    revisions: {endpointslices.discovery.k8s.io: 4711}
known:
  description: What every server showed, for a later module that takes this result, so that it need
    not read it all again from servers that have not been restarted. Don't read it.
  returned: always
  type: dict
  sample: {}
not_persisted:
  description: Chosen resources of which nothing is stored, such as reviews.
  returned: always
  type: list
  elements: str
  sample: [bindings, tokenreviews.authentication.k8s.io]
time:
  description: When it was seen, by the clock of the API servers.
  returned: always
  type: str
  sample: "2026-11-16T04:02:17Z"
unmatched:
  description: Patterns in O(resources) that chose nothing.
  returned: always
  type: list
  elements: str
  sample: []
servers:
  description: Every address that was asked.
  returned: always
  type: list
  elements: dict
  contains:
    address:
      description: Where it was reached.
      type: str
    release:
      description: Its release.
      type: str
    emulated_version:
      description: The release that it emulates.
      type: str
    ready:
      description: Whether its readiness check is ok.
      type: bool
    start_time:
      description: When its process started. Two addresses with the same value are one server.
      type: str
    fault:
      description: Why it could not be read; empty if it was.
      type: str
    unreadable:
      description: Group/versions that it lists but could not serve, with its own words.
      type: dict
  sample:
    - address: https://192.0.2.12:6443
      release: v1.36.3
      emulated_version: "1.36"
      ready: true
      start_time: "1.79480131493e+09"
      fault: ""
      remedy: ""
      unreadable: {}
leases:
  description: The hosts whose identity leases are renewed, silent (perhaps frozen), expired, or
    vouched to be gone.
  returned: always
  type: dict
  sample: {live: [cp-1, cp-2, cp-3], silent: [], expired: [], gone: []}
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
from ansible_collections.lockstep.kubernetes.plugins.module_utils._present import present_look


def main():
    run_module(
        lambda module: observe_and_answer(module, present_look),
        arguments={
            **OBSERVING_ARG_SPEC,
            **WAIT_ARG_SPEC,
            "revisions_of": {"type": "list", "elements": "str", "default": []},
        },
    )


if __name__ == "__main__":
    main()
