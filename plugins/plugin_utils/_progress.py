# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This plugin_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""Shows on the control node, line by line and live, what a long-running module reports."""

from __future__ import annotations

import os
import tempfile
import threading
from typing import Any

from ansible.utils.display import Display
from ansible_collections.kubernetes.core.plugins.action.k8s_info import (
    ActionModule as KubernetesActionModule,
)

_PROGRESS_FILE = "LOCKSTEP_PROGRESS_FILE"
_POLL_SECONDS = 0.5


class ProgressActionModule(KubernetesActionModule):
    """Runs the module once, and follows the file that it appends its progress to."""

    @property
    def follows(self) -> bool:
        """Whether the module runs as a child of this process, and so can be followed."""
        return bool(self._connection.transport == "local")

    def run(self, tmp: Any = None, task_vars: Any = None) -> Any:
        file = None if self._task.no_log or not self.follows else _open_file()
        if file is None:
            return super().run(tmp, task_vars)
        with file:
            os.environ[_PROGRESS_FILE] = file.name
            done = threading.Event()
            thread = threading.Thread(target=_follow, args=(file, done), daemon=True)
            thread.start()
            try:
                return super().run(tmp, task_vars)
            finally:
                done.set()
                thread.join()
                del os.environ[_PROGRESS_FILE]


def _open_file() -> Any:
    """The file that the module appends to; None if there can be none, which stops no work."""
    try:
        return tempfile.NamedTemporaryFile(
            "r", prefix="lockstep-progress-", encoding="utf-8", errors="replace"
        )
    except OSError:
        return None


def show(line: str) -> None:
    """Show one line at once. On stdout it would break the JSON callback."""
    Display().display(f"  {line}", stderr=True)


def _follow(file: Any, done: threading.Event) -> None:
    while True:
        finished = done.wait(_POLL_SECONDS)
        for line in file:
            show(line.rstrip())
        if finished:
            return
