#!/usr/bin/python
# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: server_process_info
short_description: Tell whether the API server of a host has ended, by the processes there
version_added: 0.1.0
author:
  - The Lockstep authors (@lockstep)
description:
  - From outside a server that has ended and one that is frozen look the same. This module looks for
    its process, on its own host.
  - It knows C(kube-apiserver), as a process of the host or of a container there (kubeadm, RKE2, k0s
    and others), and the programs that have an API server in them, C(k3s server), C(hyperkube) and
    the C(kubelite) of MicroK8s.
  - That none is seen counts only if all processes could be seen. So it must be run as root, and it
    must see process 1 and one that another user has started just for that. A kernel that hides
    processes (C(hidepid)) proves nothing.
  - What runs in a virtual machine of that host is not seen.
  - Only reads.
options:
  pattern:
    description:
      - A regular expression that the command line must hold, on a host with servers of several
        clusters. The default is to look for any API server.
    type: str
    default: ""
attributes:
  check_mode:
    description: Can run in check mode and tell what it would do, without doing it.
    support: full
  diff_mode:
    description: Shows what would be or was changed.
    support: none
seealso:
  - module: lockstep.kubernetes.upgrade_plan
"""

EXAMPLES = r"""
- name: See whether the server of cp-3 has ended
  lockstep.kubernetes.server_process_info:
  delegate_to: cp-3
  become: true
  register: left

- name: Stop unless that is proved
  ansible.builtin.assert:
    that: left.ended
    fail_msg: "{{ left.summary | join(' ') }}"
"""

RETURN = r"""
summary:
  description: What was seen, or why that proves nothing.
  returned: always
  type: list
  elements: str
  sample: ["No process of an API server is left; 214 processes were seen."]
ended:
  description: Whether it is proved that no process of an API server is left.
  returned: always
  type: bool
  sample: true
processes:
  description: The processes of API servers that are there, also frozen ones.
  returned: always
  type: list
  elements: dict
  sample: [{pid: 1742, name: kube-apiserver, state: T}]
blind:
  description: Why there may be processes that could not be seen.
  returned: always
  type: list
  elements: str
  sample: []
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.processes import (
    decide_ended,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.processes import (
    observe_processes,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._present_processes import (
    present_processes,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._run import end_module


def look(module):
    sight = observe_processes()
    return present_processes(decide_ended(sight, pattern=module.params["pattern"]), sight)


def main():
    module = AnsibleModule(
        argument_spec={"pattern": {"type": "str", "default": ""}},
        supports_check_mode=True,
    )
    end_module(module, look)


if __name__ == "__main__":
    main()
