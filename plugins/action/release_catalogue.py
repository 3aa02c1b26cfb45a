# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# Finds kubeconfigs on the control node, also relative and vaulted ones, as kubernetes.core does.

from __future__ import annotations

from ansible_collections.kubernetes.core.plugins.action.k8s_info import ActionModule

__all__ = ["ActionModule"]
