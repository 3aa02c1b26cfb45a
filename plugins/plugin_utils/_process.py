# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This plugin_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""Says which process of the control node runs the playbook."""

from __future__ import annotations

import os
from typing import Any

from ansible_collections.kubernetes.core.plugins.action.k8s_info import (
    ActionModule as KubernetesActionModule,
)


class ProcessActionModule(KubernetesActionModule):
    """Finds kubeconfigs on the control node, and runs the module for the playbook's process."""

    def run(self, tmp: Any = None, task_vars: Any = None) -> Any:
        # A task is run by a child of ansible-playbook.
        if str(self._task.args.get("process", "")) == "0":
            self._task.args["process"] = os.getppid()
        return super().run(tmp, task_vars)
