#!/usr/bin/python
# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: lock
short_description: Hold a lock that all runs against a cluster respect
version_added: 0.1.0
author:
  - The Lockstep authors (@lockstep)
description:
  - Keeps two runs from doing the same work at once. The lock is a Lease in the namespace
    C(kube-system), with an owner and an expiry, so that it outlives neither a crash nor a lost
    control node for long.
  - Times are the API server's own.
  - A Lease of the same name that Lockstep did not make is left as it is, and the task fails. Not
    even O(take_over) takes it.
options:
  name:
    description:
      - Which lock, such as V(upgrade) or V(trigger). A word of lower-case letters, digits and
        hyphens.
    type: str
    required: true
  state:
    description:
      - V(held) takes the lock, or renews it where O(owner) holds it already. It fails where
        somebody else does.
      - V(released) gives it back. A lock of somebody else is left alone.
    type: str
    choices: [held, released]
    default: held
  owner:
    description:
      - Who holds it, in words that tell another operator whom to ask. It must be the same in the
        task that releases it.
    type: str
    required: true
  process:
    description:
      - The number of the process, on the host that runs the task, that works under the lock. Once
        it is gone, whoever asks for the lock on the same host gets it at once.
      - The process is told apart from others by the boot of its host, its PID namespace and the
        moment it started, so that another machine of the same name, or a later process of the
        same number, is never taken for it.
      - V(0) stands for the C(ansible-playbook) that runs the task, so that a run that was killed
        does not keep the next one out, while two runs of one operator do.
    type: int
  seconds:
    description:
      - After how many seconds the lock expires unless it is renewed.
    type: int
    default: 900
  take_over:
    description:
      - Take the lock although somebody else holds it. Do this only when you know that the other run
        is dead.
    type: bool
    default: false
  note:
    description:
      - What to keep with the lock for whoever takes it next, such as how far the work has come. It
        stays when the lock is released or expires.
      - Without it, what was noted before stays; an empty one removes it.
    type: str
  if_held:
    description:
      - What to do where somebody else holds the lock. V(fail) fails; V(tell) only says so in
        RV(held).
    type: str
    choices: [fail, tell]
    default: fail
  timeout:
    description:
      - Seconds in which the API server must have answered.
    type: float
    default: 10.0
  tls_server_name:
    description:
      - The name to verify in the server's certificate, where it does not hold the address that the
        server is reached at.
    type: str
extends_documentation_fragment:
  - lockstep.kubernetes._observing.attributes
  - kubernetes.core.k8s_auth_options
attributes:
  diff_mode:
    support: full
"""

EXAMPLES = r"""
- name: Keep other runs out while this one works
  lockstep.kubernetes.lock:
    name: upgrade
    owner: "{{ lookup('ansible.builtin.env', 'USER') }}"
    process: 0
    seconds: 3600

- name: Let others in again
  lockstep.kubernetes.lock:
    name: upgrade
    owner: "{{ lookup('ansible.builtin.env', 'USER') }}"
    process: 0
    state: released
"""

RETURN = r"""
held:
  description: Whether O(owner) holds the lock now.
  returned: always
  type: bool
  sample: true
owner:
  description: Who holds the lock now; empty if nobody does.
  returned: always
  type: str
  sample: alice from control-1
note:
  description: What is noted with the lock now, by whoever held it last with O(note).
  returned: always
  type: str
  sample: v1.36.3 and v1.37.0
"""

from ansible_collections.lockstep.kubernetes.plugins.module_utils._act.locks import (
    hold,
    identify_process,
    release,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.errors import (
    LockstepError,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.locks import check_lock
from ansible_collections.lockstep.kubernetes.plugins.module_utils._module import (
    entry_server,
    run_module,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._present_locks import present_lock


def work(module):
    params, dry_run = module.params, module.check_mode
    check_lock(name=params["name"], owner=params["owner"])
    lock, owner = params["name"], params["owner"]
    if params["process"] is not None:
        owner = f"{owner}, {_identify(params['process'])}"
    with entry_server(module, what=f"The lock {lock} can't be changed") as server:
        if params["state"] == "released":
            change = release(server, lock=lock, owner=owner, dry_run=dry_run, note=params["note"])
        else:
            change = hold(
                server,
                lock=lock,
                owner=owner,
                seconds=params["seconds"],
                take_over=params["take_over"],
                must=params["if_held"] == "fail",
                dry_run=dry_run,
                note=params["note"],
            )
    return present_lock(change, owner=owner)


def _identify(number):
    identity = identify_process(number)
    if identity.boot and not identity.started:
        raise LockstepError(
            f"The option process is {number}",
            f"{identity.host} has no such process, or this user may not see it",
            "Run the task on the host of the process (delegate_to: localhost for 0), or leave"
            " process out",
        )
    return identity


def main():
    run_module(
        work,
        arguments={
            "name": {"type": "str", "required": True},
            "state": {"type": "str", "choices": ["held", "released"], "default": "held"},
            "owner": {"type": "str", "required": True},
            "process": {"type": "int"},
            "seconds": {"type": "int", "default": 900},
            "take_over": {"type": "bool", "default": False},
            "note": {"type": "str"},
            "if_held": {"type": "str", "choices": ["fail", "tell"], "default": "fail"},
        },
    )


if __name__ == "__main__":
    main()
