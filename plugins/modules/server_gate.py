#!/usr/bin/python
# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: server_gate
short_description: Wait until one API server is through its upgrade, and all others still serve
version_added: 0.1.0
author:
  - The Lockstep authors (@lockstep)
description:
  - The gate between two servers of a rolling upgrade. It opens once that very server is ready,
    runs the release that it should, keeps its lease, shows the hashes of all that it stores and,
    where the StorageVersion API is on, has reported it there; and once every other server is ready.
  - That servers differ in what they write is no reason to wait here. They do until the last one is
    rolled.
  - What the server really writes must be readable for every other server, by the catalogue of its
    release, by what it serves or by what it reports to the StorageVersion API. If one of them can't
    read it, the module fails at once.
  - Only reads.
options:
  server:
    description:
      - The address of the server.
    type: str
    required: true
  release:
    description:
      - The release that it must run, such as V(1.37.0).
    type: str
    required: true
  emulated_version:
    description:
      - The minor release that it must emulate, such as V(1.36). Without it, it must emulate none.
    type: str
  left_out:
    description:
      - Resources, or patterns of them, to do without where nobody can know what is written of them,
        such as V(*.metrics.example.com) of an aggregated API that is not available.
    type: list
    elements: str
    default: []
  wait_timeout:
    description:
      - Seconds after which waiting fails, with every reason.
    type: float
    default: 300.0
  wait_sleep:
    description:
      - Seconds between two looks.
    type: float
    default: 2.0
extends_documentation_fragment:
  - lockstep.kubernetes._observing
  - lockstep.kubernetes._observing.attributes
  - kubernetes.core.k8s_auth_options
seealso:
  - module: lockstep.kubernetes.upgrade_plan
  - module: lockstep.kubernetes.discovery_hash
"""

EXAMPLES = r"""
- name: Go on to the next server only once this one is through
  lockstep.kubernetes.server_gate:
    server: https://cp-1.example.com:6443
    release: 1.37.0
    server_count: 3
"""

RETURN = r"""
summary:
  description: That it is through, and what the servers write differently by now.
  returned: always
  type: list
  elements: str
  sample: ["https://192.0.2.1:6443 runs v1.37.0, is ready, and tells what it stores."]
reasons:
  description: What it still lacks.
  returned: on failure
  type: list
  elements: str
  sample: ["server https://192.0.2.1:6443 runs v1.36.3, not v1.37.0."]
release:
  description: The release that it runs.
  returned: success
  type: str
  sample: v1.37.0
emulated_version:
  description: The minor release that it emulates; empty if none.
  returned: success
  type: str
  sample: ""
resources:
  description: How many resources it shows.
  returned: success
  type: int
  sample: 84
disagreeing:
  description: What the servers write differently by now.
  returned: success
  type: list
  elements: str
  sample: [mutatingadmissionpolicies.admissionregistration.k8s.io]
unproven:
  description: What it writes and another server is not known to read, nor known not to read.
  returned: success
  type: list
  elements: str
  sample: []
left_out:
  description: What O(left_out) names and nobody can know.
  returned: success
  type: list
  elements: str
  sample: []
servers:
  description: How many servers are there.
  returned: success
  type: int
  sample: 3
waited:
  description: Seconds waited.
  returned: always
  type: float
  sample: 4.1
"""

from ansible_collections.lockstep.kubernetes.plugins.module_utils._module import (
    OBSERVING_ARG_SPEC,
    run_module,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._plans import gate_server


def main():
    observing = {key: spec for key, spec in OBSERVING_ARG_SPEC.items() if key != "resources"}
    run_module(
        gate_server,
        arguments={
            **observing,
            "server": {"type": "str", "required": True},
            "release": {"type": "str", "required": True},
            "emulated_version": {"type": "str"},
            "left_out": {"type": "list", "elements": "str", "default": []},
            "wait_timeout": {"type": "float", "default": 300.0},
            "wait_sleep": {"type": "float", "default": 2.0},
        },
    )


if __name__ == "__main__":
    main()
