# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""A site's own rules over the verdict document, as JMESPath expressions of what must hold."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from .errors import LockstepError
from .gate import Finding, Severity

try:
    import jmespath
    from jmespath.exceptions import JMESPathError

    _MISSING = False
except ImportError:
    _MISSING = True

_SEVERITIES = ("block", "acknowledgeable", "warn")


@dataclass(frozen=True)
class CustomCheck:
    """A rule: an expression that must hold, and what to do if it does not."""

    name: str
    expression: Any
    text: str
    severity: Severity
    remedy: str

    def find(self, document: Mapping[str, Any]) -> Iterable[Finding]:
        """A finding if the expression gives nothing, or something empty or false."""
        try:
            held = self.expression.search(document)
        except JMESPathError as error:
            yield self._finding(f"its expression can't be evaluated: {error}", unknown=True)
            return
        # JMESPath takes 0 for true.
        if held is None or held is False or held in ("", [], {}):
            yield self._finding(f"{self.text} does not hold")

    def _finding(self, seen: str, *, unknown: bool = False) -> Finding:
        return Finding(self.name, self.severity, seen, self.remedy, "operator", unknown=unknown)


def read_custom_checks(data: Iterable[Mapping[str, Any]]) -> tuple[CustomCheck, ...]:
    """Read the option; a bad expression is named before anything is looked at."""
    checks = tuple(_read(one) for one in data)
    names = [one.name for one in checks]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise LockstepError(
            f"The option custom_checks has the id {twice[0]!r} twice",
            "Acknowledgements and reports name a check by its id",
            "Give each check an id of its own",
        )
    return checks


def _read(data: Mapping[str, Any]) -> CustomCheck:
    name, text = str(data["id"]), str(data["expression"])
    if _MISSING:
        raise LockstepError(
            "The option custom_checks is given",
            "The Python package jmespath is not there",
            "Install it for the Python that runs the task",
        )
    if data["severity"] not in _SEVERITIES:
        raise _wrong(name, f"Its severity is {data['severity']!r}")
    try:
        expression = jmespath.compile(text)
    except JMESPathError as error:
        raise _wrong(
            name, f"Its expression {text!r} is no JMESPath: {_first_line(error)}"
        ) from error
    return CustomCheck(f"site:{name}", expression, text, data["severity"], data["remedy"] or "")


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0].rstrip(":")


def _wrong(name: str, why: str) -> LockstepError:
    return LockstepError(
        f"The option custom_checks holds {name!r}",
        why,
        "Write it as {id: few-warnings, expression: \"length(findings[?severity=='warn']) < `5`\"}",
    )
