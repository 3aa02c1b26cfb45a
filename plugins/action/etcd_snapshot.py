# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Shows progress while etcd is saved and the file is restored.

from __future__ import annotations

from ansible_collections.lockstep.kubernetes.plugins.plugin_utils._progress import (
    ProgressActionModule as ActionModule,
)

__all__ = ["ActionModule"]
