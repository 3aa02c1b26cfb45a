# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""The audit: what is stored, counted key by key, and what an earlier audit adds to it.

Only names, numbers and the words of envelopes are kept. A value is looked at and forgotten.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from . import names
from .envelopes import read_envelope
from .errors import LockstepError
from .keys import (
    INTERNAL,
    RESOURCE,
    UNMAPPED,
    KeyRange,
    KeySpace,
    Place,
    chosen,
    object_name,
    same_objects,
    shared_with,
)
from .keys import show_key as show
from .observations import UNKNOWN, EtcdSight
from .reasons import plural

# What the configuration of encryption calls a value that is not encrypted.
IDENTITY = "identity"
_NAMED_KEYS = 20
_NAMED_DIRECTORIES = 50
_OTHERS = "others"
_BOUNDARIES = 1000
_BOUNDED_KEYS = 5000
_BOUNDED_BYTES = 8 * 1024 * 1024
_STATE_FORMAT = 1
_STATE_BYTES = 16 * 1024 * 1024
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
        # A key that is still broken, and was touched, is in both.
        again = len(self.named.keys() & other.named.keys())
        self.undecodable += other.undecodable - again
        for key, why in other.named.items():
            if key in self.named or len(self.named) < _NAMED_KEYS:
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


@dataclass(frozen=True)
class Source:
    """The store that was read, and the moment that its first page shows."""

    cluster_id: str
    revision: int
    raft_term: int


@dataclass(frozen=True)
class Boundary:
    """A short stretch of keys, from `start` up to the next boundary's, and how many were there."""

    start: bytes
    keys: int


class Ledger:
    """Counts keys as they come, in their order, by the place that they belong to."""

    def __init__(
        self, space: KeySpace, patterns: Sequence[str], encodings: Encodings | None = None
    ) -> None:
        self._space, self._patterns = space, tuple(patterns)
        self._encodings = encodings or Encodings()
        self._everything = "*" in self._patterns
        self.tallies: dict[tuple[str, str], Tally] = {}
        # By resource the first objects that are in another version than the servers write.
        self.outdated: dict[str, list[str]] = {}
        self._place = Place(UNMAPPED, "", b"\xff")
        self._tally: Tally | None = None
        self._current = ""

    def add(self, key: bytes, value: bytes) -> None:
        """Count one key where it belongs."""
        # Keys come sorted, so the next one most often belongs where the last one did.
        if not key.startswith(self._place.directory):
            self._place = self._space.place(key)
            self._tally = self._tally_of(self._place)
            self._current = self._current_of(self._place)
        if self._tally is not None:
            version = self._tally.add(key, value)
            if self._current and version and version != self._current:
                self._name(key)

    def _tally_of(self, place: Place) -> Tally | None:
        if not self._everything and not (
            place.kind == RESOURCE and chosen(place.name, self._patterns)
        ):
            return None
        name = place.name
        if place.kind == UNMAPPED and (UNMAPPED, name) not in self.tallies:
            known = sum(1 for kind, _name in self.tallies if kind == UNMAPPED)
            name = name if known < _NAMED_DIRECTORIES else _OTHERS
        return self.tallies.setdefault((place.kind, name), Tally())

    def _current_of(self, place: Place) -> str:
        return self._encodings.of(place.name) if place.kind == RESOURCE else ""

    def _name(self, key: bytes) -> None:
        """Keep the name of an outdated object, up to the limit: memory stays flat."""
        found = self.outdated.setdefault(self._place.name, [])
        if len(found) < self._encodings.limit:
            name = object_name(key, self._place.directory)
            found += [name] if name else []

    def merge(self, tallies: Mapping[tuple[str, str], Tally]) -> None:
        """Add what an earlier audit had counted."""
        for place, tally in tallies.items():
            self.tallies.setdefault(place, Tally()).merge(tally)


class Boundaries:
    """Collects where pages began, so that a later audit can ask for short ranges only."""

    def __init__(self) -> None:
        self._found: list[tuple[bytes, int, int]] = []

    def add(self, start: bytes, *, keys: int, size: int) -> None:
        """Add a page; small neighbours become one."""
        if self._found:
            last, had, bytes_ = self._found[-1]
            if had + keys <= _BOUNDED_KEYS and bytes_ + size <= _BOUNDED_BYTES:
                self._found[-1] = (last, had + keys, bytes_ + size)
                return
        self._found.append((start, keys, size))

    def result(self) -> tuple[Boundary, ...]:
        found = [Boundary(start, keys) for start, keys, _size in self._found]
        while len(found) > _BOUNDARIES:
            pairs = (found[at : at + 2] for at in range(0, len(found), 2))
            found = [Boundary(pair[0].start, sum(one.keys for one in pair)) for pair in pairs]
        return tuple(found)


@dataclass(frozen=True)
class State:
    """All that a later audit needs to know of this one."""

    source: Source
    prefix: str
    patterns: tuple[str, ...]
    # For each range that was read, the short stretches that it is made of.
    boundaries: tuple[tuple[Boundary, ...], ...]
    tallies: Mapping[tuple[str, str], Tally]
    # How many audits of changes only have been added since the last one of everything.
    increments: int = 0

    def pack(self) -> str:
        """As one short text."""
        document = {
            "format": _STATE_FORMAT,
            "source": asdict(self.source),
            "prefix": self.prefix,
            "patterns": self.patterns,
            "boundaries": [
                [[_text(one.start), one.keys] for one in stretch] for stretch in self.boundaries
            ],
            "tallies": [[*place, tally.to_dict()] for place, tally in self.tallies.items()],
            "increments": self.increments,
        }
        packed = zlib.compress(json.dumps(document, separators=(",", ":")).encode(), 9)
        return base64.b64encode(packed).decode("ascii")

    @classmethod
    def unpack(cls, text: Any) -> State:
        """Read it back; what is none is refused."""
        try:
            packed = base64.b64decode(text.encode("ascii"), validate=True)
            document = json.loads(zlib.decompressobj().decompress(packed, _STATE_BYTES))
            if document["format"] != _STATE_FORMAT:
                raise ValueError(document["format"])
            return cls(
                source=Source(**document["source"]),
                prefix=str(document["prefix"]),
                patterns=tuple(map(str, document["patterns"])),
                boundaries=tuple(
                    tuple(Boundary(_bytes(start), int(keys)) for start, keys in stretch)
                    for stretch in document["boundaries"]
                ),
                tallies={
                    (str(kind), str(name)): Tally.from_dict(tally)
                    for kind, name, tally in document["tallies"]
                },
                increments=int(document["increments"]),
            )
        except (
            ValueError,
            KeyError,
            TypeError,
            AttributeError,
            UnicodeError,
            binascii.Error,
            zlib.error,
            RecursionError,
        ) as error:
            raise LockstepError(
                "The option since holds no state of an earlier audit",
                "It was cut or changed, or an older or newer Lockstep wrote it",
                "Give the result of an earlier storage_audit as it is, or leave since out for an"
                " audit of everything",
            ) from error


def earlier_state(since: Any) -> State | None:
    """The state in an earlier audit's result, or given by itself; none if none was given."""
    text = since.get("since") if isinstance(since, Mapping) else since
    if since is None or text == "":
        return None
    return State.unpack(text)


def _text(key: bytes) -> str:
    return key.decode("utf-8", "surrogateescape")


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def why_not_incremental(
    state: State, *, source: Source, prefix: str, patterns: Sequence[str], ranges: int
) -> str:
    """Why changes since an earlier audit can't be told; empty if they can."""
    before = state.source
    if before.cluster_id != source.cluster_id:
        return "the earlier audit is of another etcd cluster"
    if before.revision > source.revision or before.raft_term > source.raft_term:
        return "etcd's history is older than the earlier audit: a backup was restored"
    if state.prefix != prefix:
        return f"the earlier audit is of the keys below {state.prefix}"
    if set(state.patterns) != set(patterns) or len(state.boundaries) != ranges:
        return "the earlier audit is of other resources"
    return ""


def stretches(ranges: Sequence[KeyRange], state: State) -> list[list[KeyRange]]:
    """The short ranges that are to be asked for changes, for each range that was read."""
    found = []
    for whole, boundaries in zip(ranges, state.boundaries):
        inner = [one.start for one in boundaries if whole.start < one.start < whole.end]
        starts, ends = [whole.start, *inner], [*inner, whole.end]
        found.append([KeyRange(start, end) for start, end in zip(starts, ends)])
    return found


@dataclass(frozen=True)
class Audit:
    """Everything that was found out, to be shown."""

    source: Source
    endpoint: str
    etcd_version: str
    transport: str
    # Where compaction overtook the reading, the later moments that the rest was read at.
    later_revisions: tuple[int, ...]
    tallies: Mapping[tuple[str, str], Tally]
    patterns: tuple[str, ...]
    state: State
    incremental: bool
    # How many keys etcd counted, and how many of them were looked at.
    stored_keys: int
    read_keys: int
    seconds: float
    # Resources that the API servers keep in another etcd.
    elsewhere: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    encodings: Encodings = field(default_factory=Encodings)
    # By resource the first objects that are in another version than the servers write.
    outdated: Mapping[str, Sequence[str]] = field(default_factory=dict)
    # None where etcd does not tell.
    health: EtcdSight | None = None

    def of(self, kind: str) -> dict[str, Tally]:
        return {
            name: tally
            for (of_kind, name), tally in sorted(self.tallies.items())
            if of_kind == kind
        }

    @property
    def verdict(self) -> str:
        """The worst that was found: undecodable, unknown, mixed; or uniform."""
        resources = self.of(RESOURCE).values()
        if any(tally.undecodable for tally in self.tallies.values()):
            return "undecodable"
        if self.of(UNMAPPED) or any(UNKNOWN in tally.versions for tally in resources):
            return "unknown"
        if any(len(tally.versions) > 1 for tally in resources):
            return "mixed"
        return "uniform"

    def to_dict(self) -> dict[str, Any]:
        """The plain data that a module returns."""
        resources = self.of(RESOURCE)
        known = {*resources, *(name for one in resources for name in shared_with(one))}
        return {
            "verdict": self.verdict,
            "summary": self._summary(),
            "notes": self._notes(),
            "revision": self.source.revision,
            "later_revisions": list(self.later_revisions),
            "cluster_id": self.source.cluster_id,
            "endpoint": self.endpoint,
            "etcd_version": self.etcd_version,
            "transport": self.transport,
            "incremental": self.incremental,
            "seconds": round(self.seconds, 2),
            "totals": self._totals(),
            "resources": {
                name: {
                    **tally.to_dict(),
                    "shared_with": list(shared_with(name)),
                    **self._outdated(name, tally),
                }
                for name, tally in resources.items()
            },
            "internal": {name: tally.to_dict() for name, tally in self.of(INTERNAL).items()},
            "unmapped": {name: tally.to_dict() for name, tally in self.of(UNMAPPED).items()},
            "elsewhere": list(self.elsewhere),
            "audited": list(self.patterns),
            "unmatched": list(names.unmatched_patterns(resources=known, patterns=self.patterns)),
            "since": self.state.pack(),
            "prefix": self.state.prefix,
            "etcd": self.health.to_dict() if self.health else None,
        }

    def _outdated(self, resource: str, tally: Tally) -> dict[str, Any]:
        """What a migration has to rewrite; nothing where nobody said what the servers write."""
        current = self.encodings.of(resource)
        if not current:
            return {}
        named, count = list(self.outdated.get(resource, ())), tally.outdated(current)
        whole = not self.incremental and not tally.hidden
        return {
            "encoding_version": current,
            "outdated": named,
            "outdated_keys": count,
            # Fewer names than keys: the limit cut them, or a key is no object's.
            "outdated_complete": whole and len(named) == count,
        }

    def _totals(self) -> dict[str, int]:
        def of(kinds: Iterable[str]) -> int:
            return sum(tally.keys for kind in kinds for tally in self.of(kind).values())

        every = self.tallies.values()
        return {
            "keys": of((RESOURCE, INTERNAL, UNMAPPED)),
            "bytes": sum(tally.size for tally in every),
            "resources": len(self.of(RESOURCE)),
            "encrypted_keys": sum(tally.encrypted for tally in every),
            "undecodable_keys": sum(tally.undecodable for tally in every),
            "internal_keys": of([INTERNAL]),
            "unmapped_keys": of([UNMAPPED]),
            "stored_keys": self.stored_keys,
            "read_keys": self.read_keys,
        }

    def _summary(self) -> list[str]:
        totals, resources = self._totals(), self.of(RESOURCE)
        size = f"{totals['bytes'] / 1e6:.1f} MB"
        at_most = "at most " if self.incremental else ""
        counted = f"{plural(totals['resources'], 'resource')}, {at_most}"
        counted += f"{plural(totals['keys'], 'key')}, {size} at revision {self.source.revision}"
        lines = [f"{self.verdict}: {counted}."]
        todo: list[str] = []
        for tally in self.tallies.values():
            lines += [f"  nobody can decode {key}: {why}." for key, why in tally.named.items()]
            unnamed = tally.undecodable - len(tally.named)
            lines += [f"  and {plural(unnamed, 'more key')} beside it."] if unnamed > 0 else []
        if totals["undecodable_keys"]:
            todo.append("restore the keys that nobody can decode from a backup, or delete them.")
        mixed = {name: one for name, one in resources.items() if len(one.versions) > 1}
        lines += [f"  {name}: {_enumerate(one.versions)}." for name, one in mixed.items()]
        outdated = self._outdated_counts()
        lines += [
            f"  {name}: {count} not in {self.encodings.of(name)}, which the servers write."
            for name, count in outdated.items()
        ]
        if mixed:
            todo.append("migrate what is stored in several versions once all servers agree.")
        elif outdated:
            todo.append("migrate what is stored in another version than the servers write.")
        secret = {name: one for name, one in resources.items() if one.encrypted}
        lines += [
            f"  {name}: {_enumerate(one.encryption)}; the version of what is encrypted is Unknown."
            for name, one in secret.items()
        ]
        for name, tally in self.of(UNMAPPED).items():
            lines.append(f"  {name}: {plural(tally.keys, 'key')} of no resource that is known.")
        return lines + [f"To do: {one}" for one in todo]

    def _outdated_counts(self) -> dict[str, int]:
        found = {
            name: tally.outdated(self.encodings.of(name))
            for name, tally in self.of(RESOURCE).items()
            if self.encodings.of(name)
        }
        return {name: count for name, count in found.items() if count}

    def _notes(self) -> list[str]:
        notes = list(self.notes)
        if self.later_revisions:
            then = ", ".join(map(str, self.later_revisions))
            notes.append(
                "etcd was compacted while it was read, so the rest was read at revision"
                f" {then}. Every key was looked at once, but not all at one moment: what was"
                f" written after revision {self.source.revision} is counted in part."
            )
        if self.incremental:
            notes.append(
                "Only what was written since the earlier audit was read. Versions and keys of"
                " encryption are complete, but counts are upper bounds: a key that was written"
                " again is counted twice, and one that was deleted still is. Leave since out for"
                " exact counts."
            )
        if self.elsewhere:
            notes.append(
                f"The API servers keep {', '.join(self.elsewhere)} in another etcd"
                " (--etcd-servers-overrides), which was not read. Audit it by its own endpoints."
            )
        return notes


def _enumerate(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} in {name}" for name, count in sorted(counts.items()))
