#!/usr/bin/python
# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: storage_migration
short_description: Ask for stored objects to be written anew, in the version that all servers write
version_added: 0.1.0
author:
  - The Lockstep authors (@lockstep)
description:
  - Makes a StorageVersionMigration for each chosen resource that may be stored in other than its
    current version. Whoever runs migrations in the cluster, such as the out-of-tree migrator, then
    rewrites its objects.
  - No migration is made while the API servers do not agree, nor while nobody knows whether they do.
  - A migration carries what it was made for, so that M(lockstep.kubernetes.storage_state) can tell
    later whether anything changed while it ran.
options:
  state:
    description:
      - With V(present), there is a migration of every chosen resource that is due for one.
      - With V(absent), there is no migration of any chosen resource, whoever made it.
    type: str
    choices: [present, absent]
    default: present
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
attributes:
  diff_mode:
    support: full
notes:
  - What is due is what the StorageStates say; keep them with M(lockstep.kubernetes.storage_state).
seealso:
  - module: lockstep.kubernetes.storage_state
"""

EXAMPLES = r"""
- name: Record what every server stores
  lockstep.kubernetes.storage_state:
    state: observed
  register: pass

- name: Ask for what is due
  lockstep.kubernetes.storage_migration:
    state: present
    resources: "{{ pass.due }}"
  when: pass.due | length > 0

- name: Take back all that was asked for
  lockstep.kubernetes.storage_migration:
    state: absent
"""

RETURN = r"""
migrations:
  description: The migrations that were made or deleted, or would be in check mode, by resource.
  returned: always
  type: dict
  sample:
    deployments.apps: [deployments.apps-1c9f03b2aa]
skipped:
  description: Chosen resources of which no migration was made, with the reason.
  returned: always
  type: dict
  sample:
    pods: all that is stored of pods is written as the servers write it.
"""

from ansible_collections.lockstep.kubernetes.plugins.module_utils._migrations import (
    change_migrations,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._module import (
    OBSERVING_ARG_SPEC,
    run_module,
)


def main():
    run_module(
        change_migrations,
        arguments={
            **OBSERVING_ARG_SPEC,
            "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
            "settle": {"type": "float", "default": 60.0},
        },
    )


if __name__ == "__main__":
    main()
