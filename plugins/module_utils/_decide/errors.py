# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""The one error family of the project."""

from __future__ import annotations


def sentence(text: str) -> str:
    """Give a text its full stop, unless it ends in one already."""
    text = text.strip()
    return text if not text or text[-1] in ".!?" else f"{text}."


class LockstepError(Exception):
    """What went wrong, why, and what to do about it."""

    def __init__(self, what: str, why: str, remedy: str) -> None:
        super().__init__(what, why, remedy)
        self.what = what
        self.why = why
        self.remedy = remedy

    def __str__(self) -> str:
        said = (sentence(part) for part in (self.what, self.why, self.remedy))
        return " ".join(part for part in said if part)


class InvalidNameError(LockstepError, ValueError):
    """A name, a pattern or a hash that can't be what it should be."""
