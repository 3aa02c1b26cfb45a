# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Verdicts for people: one HTML page."""

from __future__ import annotations

from collections.abc import Callable

from ansible.errors import AnsibleFilterError

from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.errors import (
    LockstepError,
)
from ansible_collections.lockstep.kubernetes.plugins.plugin_utils._report import render_report


def html_report(verdicts: object, migration: object = None, outcome: object = None) -> str:
    """Write the page."""
    try:
        return render_report(verdicts, migration, outcome)
    except LockstepError as error:
        raise AnsibleFilterError(f"html_report: {error}") from error


class FilterModule:
    """The filter of this file."""

    def filters(self) -> dict[str, Callable[..., str]]:
        """Name it."""
        return {"html_report": html_report}
