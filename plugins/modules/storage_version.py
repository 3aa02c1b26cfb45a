#!/usr/bin/python
# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: storage_version
short_description: Remove what servers that are gone left in the StorageVersion API
version_added: 0.1.0
author:
  - The Lockstep authors (@lockstep)
description:
  - A server that is gone leaves its entries in the StorageVersion objects until its lease has been
    collected, an hour or two later. As long as they differ from the others, nobody can tell
    agreement from the object.
  - This module removes them, recomputes the common encoding version and the condition, and deletes
    an object of which nothing is left.
  - An entry whose lease lives is never removed. A lease that is not renewed but has not expired
    counts as living, since its server may be frozen and may write again, unless you name the server
    in O(gone_servers).
options:
  state:
    description:
      - With V(pruned), no entry of a server that is gone is left.
    type: str
    choices: [pruned]
    default: pruned
extends_documentation_fragment:
  - lockstep.kubernetes._observing
  - lockstep.kubernetes._observing.resources
  - lockstep.kubernetes._observing.attributes
  - kubernetes.core.k8s_auth_options
attributes:
  diff_mode:
    support: full
notes:
  - Every write is guarded by the resourceVersion that was looked at; after a conflict the whole
    view is taken anew.
seealso:
  - module: lockstep.kubernetes.storage_version_info
"""

EXAMPLES = r"""
- name: Remove what a replaced control plane node left behind
  lockstep.kubernetes.storage_version:
    state: pruned
    gone_servers:
      - cp-3.example.com
"""

RETURN = r"""
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
pruned:
  description: What was removed, or would be in check mode, by resource.
  returned: always
  type: dict
  contains:
    removed:
      description: The entries that were removed, by server id.
      type: list
      elements: str
    common_encoding_version:
      description: What the object calls common afterwards; empty where live servers differ.
      type: str
    deleted:
      description: Whether nothing was left, so that the object was deleted.
      type: bool
  sample:
    deployments.apps:
      removed: [apiserver-n3bqr4b3lprotupx63kwhlrj7u]
      common_encoding_version: apps/v1
      deleted: false
kept:
  description: Reasons for which entries were kept although their server was not seen.
  returned: always
  type: list
  elements: str
  sample: []
"""

from ansible_collections.lockstep.kubernetes.plugins.module_utils._act.storage_versions import (
    prune_stale_entries,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._looks import look
from ansible_collections.lockstep.kubernetes.plugins.module_utils._module import (
    OBSERVING_ARG_SPEC,
    run_module,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.servers import (
    read_access,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._present import present_pruning


def main():
    def work(module):
        access = read_access(module)
        pruning = prune_stale_entries(
            access,
            look=lambda: look(module, access),
            timeout=module.params["timeout"],
            dry_run=module.check_mode,
        )
        return present_pruning(pruning)

    run_module(
        work,
        arguments={
            **OBSERVING_ARG_SPEC,
            "state": {"type": "str", "choices": ["pruned"], "default": "pruned"},
        },
    )


if __name__ == "__main__":
    main()
