# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""Counting what is stored, key by key: by resource, version and encryption key.

Only names, numbers and the words of envelopes are kept. A value is looked at and forgotten.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .envelopes import read_envelope
from .errors import LockstepError
from .keys import RESOURCE, UNMAPPED, KeySpace, Place, chosen, object_name, same_objects
from .keys import show_key as show
from .observations import UNKNOWN

# What the configuration of encryption calls a value that is not encrypted.
IDENTITY = "identity"
_NAMED_KEYS = 20
_NAMED_DIRECTORIES = 50
_OTHERS = "others"
_RESOURCE = re.compile(r"[-.a-z0-9]+")
_GROUP_VERSION = re.compile(r"(?:[-.a-z0-9]*/)?[-a-z0-9]+")
_SHOWN = 80


@dataclass(frozen=True)
class Encodings:
    """What the servers write of each resource, and how many names of what differs to keep."""

    versions: Mapping[str, str] = field(default_factory=dict)
    limit: int = 0

    def of(self, resource: str) -> str:
        """The version that its objects should be stored in; empty where nobody knows."""
        given = {self.versions.get(name, "") for name in same_objects(resource)} - {""}
        # Two names of the same objects that contradict each other tell nothing.
        return given.pop() if len(given) == 1 else ""


def read_encodings(encodings: Mapping[str, Any] | None, *, limit: int) -> Encodings:
    """Take the options encodings and outdated_limit; what makes no sense is refused."""
    if limit < 0:
        raise LockstepError(
            f"The option outdated_limit is {limit}",
            "It must be a number from 0 on",
            "Correct it, or leave it out",
        )
    given = (encodings or {}).items()
    return Encodings({resource: _encoding(resource, one) for resource, one in given}, limit)


def _encoding(resource: Any, given: Any) -> str:
    """The group/version of one entry, given by itself or in a verdict of discovery_hash."""
    version = given.get("encoding_version") if isinstance(given, Mapping) else given
    # Where the servers differ discovery_hash gives an empty one.
    if (
        not _RESOURCE.fullmatch(str(resource))
        or not isinstance(version, str)
        or not (version == "" or _GROUP_VERSION.fullmatch(version))
    ):
        shown = repr(given)
        shown = shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}..."
        raise LockstepError(
            f"The option encodings holds {shown} for {str(resource)!r}",
            "It must hold the group/version that the servers write, by resource",
            "Give the resources that discovery_hash returned, or write it as"
            " {deployments.apps: apps/v1, pods: v1}",
        )
    return version.lstrip("/")


@dataclass
class Tally:
    """What was counted of one resource, or of one directory that belongs to none."""

    keys: int = 0
    size: int = 0
    versions: Counter[str] = field(default_factory=Counter)
    kinds: set[str] = field(default_factory=set)
    encryption: Counter[str] = field(default_factory=Counter)
    undecodable: int = 0
    # The first keys that can't be decoded, each with the reason.
    named: dict[str, str] = field(default_factory=dict)

    def add(self, key: bytes, value: bytes) -> str:
        """Count one key, and tell its version; an empty text where that can't be seen."""
        self.keys += 1
        self.size += len(value)
        envelope = read_envelope(value)
        if envelope.fault:
            self.undecodable += 1
            if len(self.named) < _NAMED_KEYS:
                self.named[show(key)] = envelope.fault
        elif envelope.encryption:
            self.versions[UNKNOWN] += 1
            self.encryption[envelope.encryption] += 1
        else:
            self.versions[envelope.version] += 1
            self.kinds.add(envelope.kind)
            self.encryption[IDENTITY] += 1
        return envelope.version

    def merge(self, other: Tally) -> None:
        """Add what was counted elsewhere."""
        self.keys += other.keys
        self.size += other.size
        self.versions += other.versions
        self.kinds |= other.kinds
        self.encryption += other.encryption
        self.undecodable += other.undecodable
        for key, why in other.named.items():
            if len(self.named) < _NAMED_KEYS:
                self.named[key] = why

    def outdated(self, current: str) -> int:
        """How many keys are known to be in another version than this."""
        return sum(self.versions.values()) - self.versions[current] - self.versions[UNKNOWN]

    @property
    def hidden(self) -> bool:
        """Whether the version of any key can't be seen."""
        return bool(self.undecodable or self.versions[UNKNOWN])

    @property
    def encrypted(self) -> int:
        return sum(self.encryption.values()) - self.encryption[IDENTITY]

    def to_dict(self) -> dict[str, Any]:
        return {
            "keys": self.keys,
            "bytes": self.size,
            "versions": dict(sorted(self.versions.items())),
            "kinds": sorted(self.kinds),
            "encryption": dict(sorted(self.encryption.items())),
            "undecodable_keys": self.undecodable,
            "undecodable": [{"key": key, "why": why} for key, why in self.named.items()],
        }

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Tally:
        return cls(
            keys=int(document["keys"]),
            size=int(document["bytes"]),
            versions=Counter(_counts(document["versions"])),
            kinds={str(kind) for kind in document["kinds"]},
            encryption=Counter(_counts(document["encryption"])),
            undecodable=int(document["undecodable_keys"]),
            named={str(one["key"]): str(one["why"]) for one in document["undecodable"]},
        )


def _counts(document: Mapping[str, Any]) -> dict[str, int]:
    return {str(name): int(count) for name, count in document.items()}


# By kind of place and its name.
Tallies = dict[tuple[str, str], Tally]


def merge_tallies(parts: Iterable[Mapping[tuple[str, str], Tally]]) -> Tallies:
    """What was counted in all parts together."""
    merged: Tallies = {}
    for part in parts:
        for place, tally in part.items():
            merged.setdefault(place, Tally()).merge(tally)
    return merged


class Ledger:
    """Counts keys as they come, in their order, by the place that they belong to."""

    def __init__(
        self,
        space: KeySpace,
        patterns: Sequence[str],
        encodings: Encodings | None = None,
        *,
        moved: Collection[str] = (),
    ) -> None:
        self._space, self._patterns = space, tuple(patterns)
        self.encodings = encodings or Encodings()
        # Resources that the servers keep in another etcd: what is here of them, no server reads.
        self._moved = frozenset(moved)
        self._everything = "*" in self._patterns
        self._tallies: Tallies = {}
        self._directories: set[str] = set()
        # By resource the first objects that are in another version than the servers write.
        self.outdated: dict[str, list[str]] = {}
        self._place = Place(UNMAPPED, "")
        self._tally: Tally | None = None
        self._current = ""

    def add(self, key: bytes, value: bytes) -> None:
        """Count one key where it belongs."""
        # Keys come sorted, so the next one most often belongs where the last one did.
        if not self._place.holds(key):
            self._place = self._find(key)
            self._tally = self._tally_of(self._place)
            self._current = self._current_of(self._place)
        if self._tally is not None:
            version = self._tally.add(key, value)
            if self._current and version and version != self._current:
                self._name(key)

    def cut(self) -> Tallies:
        """What was counted since the last cut; from here on counting begins anew."""
        counted, self._tallies = self._tallies, {}
        self._place, self._tally = Place(UNMAPPED, ""), None
        return counted

    def _find(self, key: bytes) -> Place:
        place = self._space.place(key)
        if place.kind == RESOURCE and place.name in self._moved:
            return Place(UNMAPPED, show(place.directory[:-1]), place.directory)
        return place

    def _tally_of(self, place: Place) -> Tally | None:
        if not self._everything and not (
            place.kind == RESOURCE and chosen(place.name, self._patterns)
        ):
            return None
        name = place.name
        if place.kind == UNMAPPED and name not in self._directories:
            if len(self._directories) < _NAMED_DIRECTORIES:
                self._directories.add(name)
            else:
                name = _OTHERS
        return self._tallies.setdefault((place.kind, name), Tally())

    def _current_of(self, place: Place) -> str:
        return self.encodings.of(place.name) if place.kind == RESOURCE else ""

    def _name(self, key: bytes) -> None:
        """Keep the name of an outdated object, up to the limit: memory stays flat."""
        found = self.outdated.setdefault(self._place.name, [])
        if len(found) < self.encodings.limit:
            name = object_name(key, self._place.directory)
            found += [name] if name else []
