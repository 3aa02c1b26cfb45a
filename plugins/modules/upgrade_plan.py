#!/usr/bin/python
# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: upgrade_plan
short_description: See which servers and nodes are still to be rolled, and in what order
version_added: 0.1.0
author:
  - The Lockstep authors (@lockstep)
description:
  - Reads from the cluster alone how far an upgrade or a rollback has come, so that a run that was
    killed goes on where it stopped, and one that has ended changes nothing.
  - Holds the inventory against the servers that are there. A host without a server, a server that
    is no host, one server under two names, and a step of more than one minor release are errors
    before anything is touched.
  - Only reads.
options:
  hosts:
    description:
      - The address of the API server of each host, by the host's name in the inventory.
    type: dict
    required: true
  nodes:
    description:
      - The name of the node that each host is, by the host's name in the inventory.
    type: dict
    default: {}
  release:
    description:
      - The release that all servers are to run, such as V(1.37.0).
    type: str
    required: true
  mode:
    description:
      - V(rolling) brings each server to the release.
      - V(coordinated) brings it there in two stages. In the first the new servers emulate the old
        minor release, and write what it can read. Once all are new, the next plan is for the
        second, in which they write as themselves.
    type: str
    choices: [rolling, coordinated]
    default: rolling
  direction:
    description:
      - V(upgrade) goes to a newer release, V(rollback) to an older one. A step in the other
        direction is an error.
    type: str
    choices: [upgrade, rollback]
    default: upgrade
  last:
    description:
      - Hosts, or addresses of hosts, whose server is to be rolled last, such as that of etcd's
        leader. The host of the leading controller manager is rolled late in any case.
    type: list
    elements: str
    default: []
  down:
    description:
      - Hosts whose server does not answer, and whose process was proved on the host to have ended.
        They are rolled first.
    type: list
    elements: str
    default: []
  gone_servers:
    description:
      - Servers that are gone for good, each by hostname or by the name of its lease.
    type: list
    elements: str
    default: []
  noted:
    description:
      - What was noted with the lock C(upgrade) when the step was judged, which is its RV(step).
    type: str
    default: ""
  server_count:
    description:
      - How many API servers there must be.
    type: int
  wait_timeout:
    description:
      - Up to how many seconds to wait for servers that do not answer or are not ready. What is
        missing then is in RV(reasons), and no error.
    type: float
    default: 0.1
  wait_sleep:
    description:
      - Seconds between two looks.
    type: float
    default: 2.0
  tls_server_name:
    description:
      - The name to verify in each server's certificate, where it does not hold the address that
        the server is reached at.
    type: str
  timeout:
    description:
      - Seconds in which each server must have answered everything that is read from it.
    type: float
    default: 10.0
extends_documentation_fragment:
  - lockstep.kubernetes._observing.attributes
  - kubernetes.core.k8s_auth_options
requirements:
  - kubernetes >= 24.2.0
  - kubernetes.core >= 5.0.0
seealso:
  - module: lockstep.kubernetes.server_gate
  - module: lockstep.kubernetes.upgrade_gate
"""

EXAMPLES = r"""
- name: See how far the upgrade has come
  lockstep.kubernetes.upgrade_plan:
    release: 1.37.0
    hosts:
      cp-1: https://cp-1.example.com:6443
      cp-2: https://cp-2.example.com:6443
      cp-3: https://cp-3.example.com:6443
    nodes:
      worker-1: worker-1
  register: plan

- name: Say what is next
  ansible.builtin.debug:
    msg: "{{ plan.summary }}"
"""

RETURN = r"""
summary:
  description: What is next, then a line for each server.
  returned: always
  type: list
  elements: str
  sample:
    - "upgrade to v1.37.0: 1 of 3 servers done; next cp-2 and cp-3."
    - "cp-1 (https://192.0.2.1:6443): v1.37.0; done."
stage:
  description: V(emulate) while new servers are to write as old ones, else V(release).
  returned: always
  type: str
  sample: release
from_release:
  description: The release that is left.
  returned: always
  type: str
  sample: v1.36.3
to_release:
  description: The release that all servers are to run.
  returned: always
  type: str
  sample: v1.37.0
emulated_version:
  description: The minor release that they are to emulate in this stage; empty if none.
  returned: always
  type: str
  sample: ""
roll:
  description: The hosts whose servers are still to be rolled, in order.
  returned: always
  type: list
  elements: str
  sample: [cp-2, cp-3]
roll_nodes:
  description: The hosts whose kubelets are still to be rolled.
  returned: always
  type: list
  elements: str
  sample: [worker-1]
begun:
  description: Whether some servers are rolled and some are not.
  returned: always
  type: bool
  sample: true
step:
  description: The step by its name, the same for the way back.
  returned: always
  type: str
  sample: v1.36.3 and v1.37.0
judged:
  description: Whether O(noted) says that this step was judged before its first server was rolled. A
    note holds only while some servers are rolled and some are not, so it dies when that is undone.
  returned: always
  type: bool
  sample: true
finished:
  description: Whether nothing is left to be rolled.
  returned: always
  type: bool
  sample: false
complete:
  description: Whether every server was seen and is ready.
  returned: always
  type: bool
  sample: true
reasons:
  description: What speaks against that.
  returned: always
  type: list
  elements: str
  sample: []
notes:
  description: What to know besides, such as nodes whose kubelet tells a version that is no release.
  returned: always
  type: list
  elements: str
  sample: []
silent:
  description: Hosts whose servers do not answer.
  returned: always
  type: list
  elements: str
  sample: []
answering:
  description: The addresses of all others.
  returned: always
  type: list
  elements: str
  sample: ["https://192.0.2.1:6443"]
servers:
  description: What was found of each host's server.
  returned: always
  type: dict
  sample:
    cp-1:
      address: https://192.0.2.1:6443
      release: v1.37.0
      emulated_version: ""
      ready: true
      fault: ""
      done: true
nodes:
  description: The version of each host's kubelet, and whether it is of the wanted release. What
    a vendor appends, such as C(-eks-4a0d11f), counts only where O(release) has such an ending.
  returned: always
  type: dict
  sample:
    worker-1: {kubelet: v1.36.3, done: false}
"""

from ansible_collections.lockstep.kubernetes.plugins.module_utils._module import run_module
from ansible_collections.lockstep.kubernetes.plugins.module_utils._plans import make_plan


def main():
    run_module(
        make_plan,
        arguments={
            "hosts": {"type": "dict", "required": True},
            "nodes": {"type": "dict", "default": {}},
            "release": {"type": "str", "required": True},
            "mode": {"type": "str", "choices": ["rolling", "coordinated"], "default": "rolling"},
            "direction": {"type": "str", "choices": ["upgrade", "rollback"], "default": "upgrade"},
            "last": {"type": "list", "elements": "str", "default": []},
            "down": {"type": "list", "elements": "str", "default": []},
            "gone_servers": {"type": "list", "elements": "str", "default": []},
            "noted": {"type": "str", "default": ""},
            "server_count": {"type": "int"},
            "wait_timeout": {"type": "float", "default": 0.1},
            "wait_sleep": {"type": "float", "default": 2.0},
        },
    )


if __name__ == "__main__":
    main()
