# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Runs beside the playbook, by async, which kubernetes.core's own action plugins don't know.

from __future__ import annotations

from typing import Any

from ansible_collections.lockstep.kubernetes.plugins.plugin_utils._process import (
    ProcessActionModule,
)


class ActionModule(ProcessActionModule):
    """Starts the module, which goes on by itself."""

    _supports_async = True

    def run(self, tmp: Any = None, task_vars: Any = None) -> Any:
        self._task.args.setdefault("process", 0)
        return super().run(tmp, task_vars)

    def _execute_module(self, *args: Any, **options: Any) -> Any:
        return super()._execute_module(*args, wrap_async=bool(self._task.async_val), **options)

    def _remove_tmp_path(self, tmp_path: Any, force: bool = False) -> None:
        # A job that goes on needs what lies there, and removes it itself.
        if not self._task.async_val:
            super()._remove_tmp_path(tmp_path, force=force)
