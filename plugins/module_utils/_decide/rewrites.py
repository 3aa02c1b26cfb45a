# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""Rewriting objects: what each answer of a server means, and what has come of all of them.

An object counts as what it is. One that is gone needs no migration; one that can't be written is
still stored as it was, and the migration has failed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

Fate = Literal[
    "rewritten",
    "current",
    "gone",
    # It is said to be gone, which only a GET of its name can prove (R13).
    "missing",
    # It may pass for this object: a webhook that is down, a validation that races.
    "denied",
    # The server is at fault, not the object.
    "unavailable",
    # No object of this resource can be written.
    "hopeless",
    "orphan",
]

# How many objects are named that could not be written, in results and in the migration.
NAMED_FAILURES = 100

# What a server says of itself, not of the object, when it answers 500.
_OF_THE_SERVER = (
    "etcdserver:",
    "context deadline exceeded",
    "context canceled",
    "connection refused",
    "connection reset",
    "request timed out",
    "too many requests",
    "transport is closing",
    "error reading from server",
)
_UNAVAILABLE = (0, 408, 429, 502, 503, 504)


@dataclass(frozen=True)
class ObjectName:
    """One object of a resource; `version` is its resourceVersion, where the list told it."""

    name: str
    namespace: str = ""
    version: str = ""

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


@dataclass(frozen=True)
class Failure:
    """An object that could not be written, or a part of the list that could not be read."""

    name: str
    reason: str

    def to_dict(self) -> dict[str, str]:
        """Plain data."""
        return {"name": self.name, "reason": self.reason}


def judge_fault(*, status: int, document: Mapping[str, Any], namespaced: bool = True) -> Fate:
    """Tell what a refused rewrite says about its object. Status 0: no answer came at all."""
    message = str(document.get("message") or "")
    details = document.get("details")
    details = details if isinstance(details, Mapping) else {}
    if status in _UNAVAILABLE:
        # A webhook that is down is not the server's fault, and may be this object's alone.
        return "denied" if status == 503 and "webhook" in message else "unavailable"
    if status in (404, 410):
        # A webhook may say so as well, of an object that is there.
        # Of a namespace itself a server says the same as of one that an object lies in.
        return "orphan" if namespaced and details.get("kind") == "namespaces" else "missing"
    if status in (401, 405, 406, 415) or (status == 403 and "cannot patch resource" in message):
        return "hopeless"
    if status == 500 and "webhook" not in message:
        lowered = message.lower()
        if any(text in lowered for text in _OF_THE_SERVER):
            return "unavailable"
    return "denied"


def judge_answer(*, name: ObjectName, metadata: Mapping[str, Any], listed_at: str) -> Fate:
    """Tell from the answer to a rewrite whether it wrote anything.

    Only a write moves the resourceVersion. Where the list did not tell the object's, it is
    compared with that of the whole list: what is newer was written since.
    """
    if metadata.get("deletionTimestamp") and not metadata.get("finalizers"):
        # The write has ended its deletion, unless a grace period is left.
        return "missing"
    return judge_version(name=name, metadata=metadata, listed_at=listed_at)


def judge_version(*, name: ObjectName, metadata: Mapping[str, Any], listed_at: str) -> Fate:
    """Tell from the version in the answer whether an object that is there was written."""
    answered = str(metadata.get("resourceVersion") or "")
    if name.version:
        return "current" if answered == name.version else "rewritten"
    return "rewritten" if _newer(answered, listed_at) else "current"


def _newer(version: str, other: str) -> bool:
    # Servers document that versions of one resource compare as numbers.
    if version.isdigit() and other.isdigit():
        return int(version) > int(other)
    return version != other


@dataclass(frozen=True)
class Counts:
    """What has come of the objects of one resource so far."""

    listed: int = 0
    rewritten: int = 0
    current: int = 0
    gone: int = 0
    failed: int = 0
    # The first of those that failed, by name.
    failures: tuple[Failure, ...] = ()

    @property
    def done(self) -> int:
        """How many objects need no further visit."""
        return self.rewritten + self.current + self.gone + self.failed

    def add(self, fate: Fate, failure: Failure | None = None) -> Counts:
        """Count one more object, or one more part of the list that could not be read."""
        if failure is not None:
            kept = (
                self.failures if len(self.failures) >= NAMED_FAILURES else (*self.failures, failure)
            )
            return replace(self, failed=self.failed + 1, failures=kept)
        if fate == "rewritten":
            return replace(self, rewritten=self.rewritten + 1)
        if fate == "current":
            return replace(self, current=self.current + 1)
        return replace(self, gone=self.gone + 1)

    def list_more(self, number: int) -> Counts:
        """Count what one more page of the list named."""
        return replace(self, listed=self.listed + number)

    def __add__(self, other: Counts) -> Counts:
        return Counts(
            listed=self.listed + other.listed,
            rewritten=self.rewritten + other.rewritten,
            current=self.current + other.current,
            gone=self.gone + other.gone,
            failed=self.failed + other.failed,
            failures=(*self.failures, *other.failures)[:NAMED_FAILURES],
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain data, as it lies in the migration and in results."""
        return {
            "listed": self.listed,
            "rewritten": self.rewritten,
            "current": self.current,
            "gone": self.gone,
            "failed": self.failed,
            "failures": [one.to_dict() for one in self.failures],
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Counts:
        """Read back what to_dict gave; what is missing counts as none."""
        return cls(
            **{key: _count(data.get(key)) for key in ("listed", "rewritten", "current", "gone")},
            failed=_count(data.get("failed")),
            failures=tuple(_failures(data.get("failures"))),
        )


def _count(value: object) -> int:
    return value if isinstance(value, int) and value > 0 else 0


def _failures(data: object) -> Iterable[Failure]:
    for one in data if isinstance(data, (list, tuple)) else ():
        if isinstance(one, Mapping):
            yield Failure(str(one.get("name") or ""), str(one.get("reason") or ""))
