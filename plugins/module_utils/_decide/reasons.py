# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""A reason that a verdict gives: in words, with what it names and what to do."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from .errors import sentence


@dataclass(frozen=True)
class Reason:
    """One reason, for an operator who has been up all night."""

    text: str
    remedy: str = ""
    resource: str = ""
    server: str = ""
    lease: str = ""

    def __str__(self) -> str:
        said = (sentence(part) for part in (self.text, self.remedy))
        return " ".join(part for part in said if part)


def enumerate_names(names: Iterable[str], *, at_most: int = 0) -> str:
    """List names as a person would: `a`, `a and b`, `a, b and c`, or `a, b and 7 more`."""
    listed = list(names)
    if at_most and len(listed) > at_most + 1:
        listed = [*listed[:at_most], f"{len(listed) - at_most} more"]
    if len(listed) < 2:
        return "".join(listed)
    return f"{', '.join(listed[:-1])} and {listed[-1]}"


def plural(count: int, noun: str) -> str:
    """Count things: `1 server`, `3 servers`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
