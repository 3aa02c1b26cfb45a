# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Finds kubeconfigs on the control node, and says which process of it runs the playbook.

from __future__ import annotations

import os

from ansible_collections.kubernetes.core.plugins.action.k8s_info import (
    ActionModule as KubernetesActionModule,
)


class ActionModule(KubernetesActionModule):
    """Runs the module."""

    def run(self, tmp=None, task_vars=None):
        # A task is run by a child of ansible-playbook.
        if str(self._task.args.get("process", "")) == "0":
            self._task.args["process"] = os.getppid()
        return super().run(tmp, task_vars)
