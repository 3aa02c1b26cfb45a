# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""Running a module: what every one shares, whatever it speaks to. It imports as good as nothing."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide import names
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.errors import (
    InvalidNameError,
    LockstepError,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.urls import passwords_in

Result = Mapping[str, Any]

# As seconds these are thirty years.
_LARGEST = 1e9
# Options that take addresses, with or without a scheme.
_ADDRESSES = ("host", "proxy", "servers", "endpoints")
# Options that take what another task returned.
_RESULTS = ("audit", "audited_after", "encodings", "since")


class NotReached(LockstepError):
    """A state was waited for and did not come; the last result goes along."""

    def __init__(self, what: str, why: str, remedy: str, *, result: Result) -> None:
        super().__init__(what, why, remedy)
        self.result = result


def end_module(module: AnsibleModule, work: Callable[[AnsibleModule], Result]) -> None:
    """Do a module's work and end it: nothing else does."""
    module.no_log_values.update(_hidden(module.params))
    # Before the work, which may take options apart.
    asked = {"module_args": _shown_options(module.params)}
    try:
        _check_numbers(module.params)
        result = work(module)
    except KeyboardInterrupt:
        module.fail_json(msg="Stopped by hand. What was begun goes on when the task is run again.")
    except NotReached as error:
        module.fail_json(msg=_line(error), remedy=error.remedy, **error.result, invocation=asked)
    except LockstepError as error:
        module.fail_json(msg=_line(error), remedy=error.remedy, invocation=asked)
    module.exit_json(**result, invocation=asked)


def _line(error: LockstepError) -> str:
    """What went wrong in one line, although what it quotes may have several."""
    return " ".join(str(error).splitlines())


def _check_numbers(params: Mapping[str, Any]) -> None:
    """Refuse numbers that no clock can count to, and what is called a number and is none."""
    for option, value in params.items():
        if isinstance(value, float) and not abs(value) <= _LARGEST:
            raise LockstepError(
                f"The option {option} is {value:g}",
                f"It must be a number of at most {_LARGEST:g}",
                "Correct it, or leave it out",
            )


def _hidden(params: Mapping[str, Any]) -> set[str]:
    """What must not be shown: any option may hold a URL with a password, and any error name it."""
    given = (params.get(option) or () for option in _ADDRESSES)
    addresses = (one for value in given for one in ([value] if isinstance(value, str) else value))
    return {*passwords_in(params), *passwords_in([f"//{one}" for one in addresses])}


def _shown_options(params: Mapping[str, Any]) -> dict[str, Any]:
    """The options for the result, which would double if it held the results of other tasks."""
    return {
        name: "the result of another task" if name in _RESULTS and value else value
        for name, value in params.items()
    }


def tell(line: str) -> None:
    """Report progress to the action plugin, if it listens; the work goes on if it can't."""
    path = os.environ.get("LOCKSTEP_PROGRESS_FILE")
    if path:
        # The file may be gone, or the disk full.
        with suppress(OSError), Path(path).open("a", encoding="utf-8") as file:
            file.write(f"{line}\n")


class Teller:
    """Reports progress, if it is wanted: at once, or every few seconds."""

    _SECONDS = 3.0

    def __init__(self, *, wanted: bool) -> None:
        self._wanted = wanted
        self._told_at = time.monotonic()

    def now(self, line: str) -> None:
        """Report this."""
        self._told_at = time.monotonic()
        if self._wanted:
            tell(line)

    def rarely(self, line: Callable[[], str]) -> None:
        """Report this if nothing was reported for a while."""
        if time.monotonic() - self._told_at >= self._SECONDS:
            self.now(line())


def check_patterns(patterns: Iterable[str], *, option: str = "resources") -> None:
    """Refuse patterns that can't choose any resource."""
    for pattern in patterns:
        try:
            names.select_resources(resources=(), patterns=[pattern])
        except InvalidNameError as error:
            what = f"The option {option} holds {pattern!r}"
            raise LockstepError(what, error.why, error.remedy) from error


def check_positive(params: Mapping[str, Any], *options: str) -> None:
    """Refuse numbers that must be above 0 and are not."""
    for option in options:
        value = params.get(option)
        if value is not None and value <= 0:
            raise LockstepError(
                f"The option {option} is {value:g}",
                "It must be a number above 0",
                "Correct it, or leave it out",
            )
