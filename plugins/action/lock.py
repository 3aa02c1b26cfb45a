# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Finds kubeconfigs on the control node, and says which process of it runs the playbook.

from __future__ import annotations

from ansible_collections.lockstep.kubernetes.plugins.plugin_utils._process import (
    ProcessActionModule as ActionModule,
)

__all__ = ["ActionModule"]
