#!/usr/bin/python
# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: observer
short_description: Keep records fresh and a lock held while something else works
version_added: 0.1.0
author:
  - The Lockstep authors (@lockstep)
description:
  - A record that is not confirmed for O(stale_after) seconds becomes V(Unknown), since anything may
    have been written meanwhile. The upgrade of one server, with its drain, can take longer than
    that. This module observes the servers all the while, and renews the lock.
  - Run it in the background with C(async) and C(poll=0) after M(lockstep.kubernetes.lock). It ends
    by itself when the process has ended, or when the lock is released or taken by somebody else.
  - A record is confirmed only by an observation that saw every server, or that missed only servers
    whose very process had been seen before. Any other observation adds the versions that it saw and
    confirms nothing. A span without one is returned in RV(gaps), and is never bridged.
  - Only records that are there and not stale are confirmed. The module creates none.
options:
  lock:
    description:
      - The lock to keep, which O(owner) holds already. It is never taken, only renewed.
    type: str
    default: upgrade
  owner:
    description:
      - Who holds it, as given to M(lockstep.kubernetes.lock).
    type: str
    required: true
  process:
    description:
      - The number of the process that works under the lock, as given to
        M(lockstep.kubernetes.lock). V(0) stands for the C(ansible-playbook) that runs the task.
    type: int
    default: 0
  seconds:
    description:
      - After how many seconds the lock expires unless it is renewed, as given to
        M(lockstep.kubernetes.lock).
    type: int
    default: 900
  release:
    description:
      - The release that servers are brought to under this lock. A server that comes to run it was
        restarted by this run, so that its restart is not taken for one that nobody saw.
    type: str
  emulated_version:
    description:
      - What the servers are to emulate then. Without it, nothing.
    type: str
  stale_after:
    description:
      - Seconds without an observation after which a record counts as V(Unknown). The servers are
        observed six times as often.
    type: float
    default: 600.0
  on_unseen_change:
    description:
      - What to make of a server that was restarted between two observations by somebody else, as in
        M(lockstep.kubernetes.storage_state).
    type: str
    choices: [keep, unknown]
    default: keep
  encryption_generation:
    description:
      - The name of the encryption keys in use, as in M(lockstep.kubernetes.storage_state).
    type: str
    default: ""
  settle:
    description:
      - Seconds that servers may take to follow a CustomResourceDefinition that was changed.
    type: float
    default: 60.0
extends_documentation_fragment:
  - lockstep.kubernetes._observing
  - lockstep.kubernetes._observing.resources
  - lockstep.kubernetes._observing.attributes
  - kubernetes.core.k8s_auth_options
attributes:
  async:
    description: Supports being used with the C(async) keyword.
    support: full
  diff_mode:
    support: none
notes:
  - In check mode it ends at once.
  - A kubeconfig that is encrypted with Ansible Vault can't be used, since Ansible removes its
    decrypted copy while the module goes on.
seealso:
  - module: lockstep.kubernetes.lock
  - module: lockstep.kubernetes.storage_state
"""

EXAMPLES = r"""
- name: Keep other runs out
  lockstep.kubernetes.lock:
    name: upgrade
    owner: alice
    process: 0

- name: Keep the records fresh while servers are upgraded
  lockstep.kubernetes.observer:
    owner: alice
    process: 0
    release: 1.37.0
  async: 86400
  poll: 0
  register: observing

- name: Let others in again, which ends the observer as well
  lockstep.kubernetes.lock:
    name: upgrade
    state: released
    owner: alice
    process: 0

- name: See whether records could be confirmed all the time
  ansible.builtin.async_status:
    jid: "{{ observing.ansible_job_id }}"
  register: observed
  until: observed is finished
  retries: 30
  delay: 1
"""

RETURN = r"""
summary:
  description: Whether records were confirmed throughout, and if not, when last and why.
  returned: always
  type: list
  elements: str
  sample: [Records were confirmed by every observation]
observations:
  description: How many observations confirmed the records.
  returned: always
  type: int
  sample: 36
gaps:
  description: The last spans in which none did, at most 50.
  returned: always
  type: list
  elements: dict
  contains:
    since:
      description: When the records were last confirmed.
      type: str
    until:
      description: When they were confirmed again, or the module ended.
      type: str
    why:
      description: Why the first observation in between confirmed nothing.
      type: str
  sample: []
ended:
  description: Why it has ended.
  returned: always
  type: str
  sample: the lock is given back
"""

from ansible_collections.lockstep.kubernetes.plugins.module_utils._module import (
    OBSERVING_ARG_SPEC,
    PASS_ARG_SPEC,
    run_module,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observer import keep_observing


def main():
    judged = ("stale_after", "on_unseen_change", "encryption_generation", "settle")
    run_module(
        keep_observing,
        arguments={
            **OBSERVING_ARG_SPEC,
            **{option: PASS_ARG_SPEC[option] for option in judged},
            "lock": {"type": "str", "default": "upgrade"},
            "owner": {"type": "str", "required": True},
            "process": {"type": "int", "default": 0},
            "seconds": {"type": "int", "default": 900},
            "release": {"type": "str"},
            "emulated_version": {"type": "str"},
        },
    )


if __name__ == "__main__":
    main()
