# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Finds kubeconfigs on the control node as kubernetes.core does, and shows progress: live where the
# module runs on the control node, and else by running it in slices.

from __future__ import annotations

from typing import Any

from ansible.module_utils.parsing.convert_bool import boolean

from ansible_collections.lockstep.kubernetes.plugins.plugin_utils._progress import (
    ProgressActionModule,
    show,
)
from ansible_collections.lockstep.kubernetes.plugins.plugin_utils._slices import run_slices


class ActionModule(ProgressActionModule):
    """Runs storage_migration until it is done."""

    def run(self, tmp: Any = None, task_vars: Any = None) -> Any:
        arguments = self._task.args
        if self.follows or arguments.get("stop_after") is not None:
            return super().run(tmp, task_vars)
        silent = self._task.no_log or not boolean(arguments.get("progress", True), strict=False)

        def run_once(seconds: float) -> Any:
            self._task.args = {**arguments, "stop_after": seconds}
            return super(ActionModule, self).run(tmp, task_vars)

        try:
            return run_slices(run_once, tell=(lambda _line: None) if silent else show)
        finally:
            self._task.args = arguments
