# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This plugin_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""Values of a document, read leniently: what it does not say plainly is unknown."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.errors import (
    LockstepError,
)

# What to give, by the variable that it belongs in.
_REMEDIES = {
    "report_verdicts": (
        "Give a list with the result of lockstep.kubernetes.upgrade_gate for each cluster"
    ),
    "report_migration": "Give the registered result of lockstep.kubernetes.storage_migration",
    "report_outcome": "Give it as the documentation of the role lockstep.kubernetes.report says",
}
_KINDS = {str: "a text", dict: "a dictionary", list: "a list", bool: "a boolean", int: "a number"}


def mapping(document: Mapping[str, Any], key: str, where: str) -> Mapping[str, Any]:
    """A dictionary in it; empty if it is missing."""
    value = document.get(key)
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise wrong(f"{where}.{key}", f"it is {kind(value)}, not a dictionary")
    return value


def mapping_of_mappings(
    document: Mapping[str, Any], key: str, where: str
) -> dict[str, Mapping[str, Any]]:
    """A dictionary of dictionaries in it; empty if it is missing."""
    every = mapping(document, key, where)
    for name, one in every.items():
        if not isinstance(one, Mapping):
            raise wrong(f"{where}.{key}", f"{name} is {kind(one)}, not a dictionary")
    return {str(name): one for name, one in every.items()}


def mappings(document: Mapping[str, Any], key: str, where: str) -> list[Mapping[str, Any]]:
    """A list of dictionaries in it; empty if it is missing."""
    value = document.get(key)
    if value is None:
        return []
    if not isinstance(value, (list, tuple)) or not all(isinstance(one, Mapping) for one in value):
        raise wrong(f"{where}.{key}", "it is not a list of dictionaries")
    return list(value)


def answer(value: object) -> str:
    """Yes and no only if they are told plainly."""
    if value is True or value == "true":
        return "yes"
    return "no" if value is False or value == "false" else "unknown"


def whole(value: object) -> int | None:
    """A count."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def number(value: object) -> float | None:
    """A measure that can be drawn."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return float(value) if math.isfinite(value) else None


def text(value: object) -> str:
    """A text; empty if it is missing."""
    return "" if value is None else str(value)


def texts(value: object) -> tuple[str, ...]:
    """A list of texts; empty if it is missing."""
    if isinstance(value, (list, tuple)):
        return tuple(str(one) for one in value)
    return (str(value),) if value else ()


def noun(count: int, word: str) -> str:
    """The word for so many things."""
    return word if count == 1 else f"{word}s"


def kind(value: object) -> str:
    """What a value is, for somebody who wrote YAML."""
    if value is None:
        return "empty"
    return next((words for one, words in _KINDS.items() if isinstance(value, one)), "no such value")


def wrong(where: str, why: str) -> LockstepError:
    """That a variable holds something else than it should."""
    variable = where.split(".")[0].split("[")[0]
    return LockstepError(f"{where} can't be reported", why, _REMEDIES[variable])
