#!/usr/bin/python
# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: release_catalogue
short_description: Keep what the servers of a cluster write and read, to judge an upgrade to them
version_added: 0.1.0
author:
  - The Lockstep authors (@lockstep)
description:
  - Asks all API servers of a cluster which versions they write and read of each built-in resource,
    and keeps that in a file for O(lockstep.kubernetes.upgrade_gate#module:target_catalogue). Use it
    for a vendor's build that is not in the collection's own catalogue, on a cluster that runs it
    already, such as a test cluster.
  - The StorageVersion API must be on there.
  - Only what the servers report is in it, of the APIs that are on. The rest counts as unreadable,
    so that a verdict may be too careful, and never too bold.
options:
  dest:
    description:
      - The file to write.
    type: path
    required: true
  default_apis:
    description:
      - Whether no C(--runtime-config) and no C(--feature-gates) turn any API of these servers on or
        off, but for the StorageVersion API. What they serve is then what the release serves by
        default.
      - Without it, that is not in the file, and a verdict that depends on it is V(unknown).
    type: bool
    default: false
extends_documentation_fragment:
  - lockstep.kubernetes._observing
  - lockstep.kubernetes._observing.attributes
  - kubernetes.core.k8s_auth_options
seealso:
  - module: lockstep.kubernetes.upgrade_gate
"""

EXAMPLES = r"""
- name: Keep what the test cluster's release writes and reads
  lockstep.kubernetes.release_catalogue:
    kubeconfig: ~/.kube/test-cluster
    dest: vendor-1.37.catalogue
    default_apis: true

- name: Judge the upgrade of the production cluster to it
  lockstep.kubernetes.upgrade_gate:
    kubeconfig: ~/.kube/production
    to_release: 1.37.0+vendor.1
    target_catalogue: vendor-1.37.catalogue
"""

RETURN = r"""
dest:
  description: The file.
  returned: success
  type: str
  sample: vendor-1.37.catalogue
release:
  description: The release that the servers run.
  returned: success
  type: str
  sample: v1.37.0+vendor.1
emulated:
  description: The minor release that they emulate; empty if none.
  returned: success
  type: str
  sample: ""
resources:
  description: The resources in it.
  returned: success
  type: list
  elements: str
  sample: [deployments.apps, pods]
"""

from ansible_collections.lockstep.kubernetes.plugins.module_utils._catalogue_files import (
    keep_catalogue,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._module import (
    OBSERVING_ARG_SPEC,
    run_module,
)


def main():
    observing = {key: spec for key, spec in OBSERVING_ARG_SPEC.items() if key != "resources"}
    run_module(
        keep_catalogue,
        arguments={
            **observing,
            "dest": {"type": "path", "required": True},
            "default_apis": {"type": "bool", "default": False},
        },
    )


if __name__ == "__main__":
    main()
