# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""Increments: what an earlier audit counted is kept where its keys are proven to be the same.

A store is counted in short stretches of keys. Each has a mark, made of its keys and of the
revisions that they were last written at, which etcd tells without the values. Where the mark is
still the same, so is every value; any other stretch is read again as a whole. So counts are exact,
whatever has happened to the history in between: a restored backup brings old revisions back.
"""

from __future__ import annotations

import base64
import binascii
import json
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from .errors import LockstepError
from .keys import RESOURCE, KeyRange
from .tally import Encodings, Ledger, Tallies, Tally, merge_tallies

_STRETCH_KEYS = 500
_STRETCH_BYTES = 1024 * 1024
_STRETCHES = 1000
_NAMED_IN_STATE = 200
_STATE_FORMAT = 2
_STATE_BYTES = 16 * 1024 * 1024
_32_BITS = 0xFFFFFFFF

# A key, the revision that it was last written at, and its value.
Item = tuple[bytes, int, bytes]


@dataclass(frozen=True)
class Source:
    """The store that was read, and the moment that its first page shows."""

    cluster_id: str
    revision: int
    raft_term: int


@dataclass(frozen=True)
class Mark:
    """What tells one set of keys from another, and from itself after a write."""

    keys: int = 0
    # The revisions of all keys, added up.
    revisions: int = 0
    # Checksums of each key with its revision, added up: two keys that swap revisions differ.
    checksum: int = 0

    def __add__(self, other: Mark) -> Mark:
        return Mark(
            self.keys + other.keys,
            self.revisions + other.revisions,
            self.checksum + other.checksum,
        )


@dataclass(frozen=True)
class Stretch:
    """The keys from `start` up to the next stretch's, and what was counted of them."""

    start: bytes
    mark: Mark
    tallies: Mapping[tuple[str, str], Tally]

    def joined(self, following: Stretch) -> Stretch:
        """This and the next one as one."""
        tallies = merge_tallies([self.tallies, following.tallies])
        return Stretch(self.start, self.mark + following.mark, tallies)

    def outdated(self, encodings: Encodings) -> bool:
        """Whether any key is known to be in another version than the servers write."""
        return any(
            kind == RESOURCE and encodings.of(name) and tally.outdated(encodings.of(name))
            for (kind, name), tally in self.tallies.items()
        )


class StretchWriter:
    """Counts keys in their order, and divides them into stretches; memory stays flat."""

    def __init__(self, ledger: Ledger, start: bytes) -> None:
        self._ledger, self._start = ledger, start
        self._found: list[Stretch] = []
        self._limit = _STRETCH_KEYS
        self._keys = self._revisions = self._checksum = self._size = 0

    def add(self, items: Iterable[Item]) -> None:
        """Count the items of one page."""
        count, checksum = self._ledger.add, zlib.crc32
        keys, size, revisions, checksums = self._keys, self._size, self._revisions, self._checksum
        for key, revision, value in items:
            if keys >= self._limit or size >= _STRETCH_BYTES:
                self._end(Mark(keys, revisions, checksums))
                self._start = key
                keys = size = revisions = checksums = 0
            count(key, value)
            keys += 1
            size += len(value)
            revisions += revision
            checksums += checksum(key, revision & _32_BITS)
        self._keys, self._size, self._revisions, self._checksum = keys, size, revisions, checksums

    def result(self) -> list[Stretch]:
        """All stretches; the first begins where the range does, even if nothing is in it."""
        self._end(Mark(self._keys, self._revisions, self._checksum))
        return self._found

    def _end(self, mark: Mark) -> None:
        self._found.append(Stretch(self._start, mark, self._ledger.cut()))
        if len(self._found) >= 2 * _STRETCHES:
            self._found = bounded(self._found)
            self._limit *= 2


class StretchCheck:
    """Marks keys in their order, stretch by stretch, to hold them against earlier marks."""

    def __init__(self, stretches: Sequence[Stretch]) -> None:
        self._starts = [stretch.start for stretch in stretches]
        self._marks: list[Mark] = []
        self._keys = self._revisions = self._checksum = 0

    def add(self, items: Iterable[Item]) -> None:
        """Mark the items of one page, whose values do not matter."""
        checksum, behind = zlib.crc32, self._behind
        keys, revisions, checksums = self._keys, self._revisions, self._checksum
        for key, revision, _value in items:
            while behind is not None and key >= behind:
                self._marks.append(Mark(keys, revisions, checksums))
                behind = self._behind
                keys = revisions = checksums = 0
            keys += 1
            revisions += revision
            checksums += checksum(key, revision & _32_BITS)
        self._keys, self._revisions, self._checksum = keys, revisions, checksums

    def result(self) -> list[Mark]:
        """The mark that each stretch has now."""
        self._marks.append(Mark(self._keys, self._revisions, self._checksum))
        return [*self._marks, *[Mark()] * (len(self._starts) - len(self._marks))]

    @property
    def _behind(self) -> bytes | None:
        """Where the stretch ends that keys are added to; None for the last one."""
        following = len(self._marks) + 1
        return self._starts[following] if following < len(self._starts) else None


def bounded(stretches: list[Stretch]) -> list[Stretch]:
    """The same keys in at most so many stretches as a state may hold."""
    while len(stretches) > _STRETCHES:
        pairs = (stretches[at : at + 2] for at in range(0, len(stretches), 2))
        stretches = [pair[0].joined(pair[1]) if pair[1:] else pair[0] for pair in pairs]
    return stretches


def batches(whole: KeyRange, stretches: Sequence[Stretch], *, at_most: int) -> Iterator[KeyRange]:
    """A range in parts that have about so many keys, or had when they were last counted."""
    start, keys = whole.start, 0
    for stretch in stretches:
        if keys and keys + stretch.mark.keys > at_most:
            yield KeyRange(start, stretch.start)
            start, keys = stretch.start, 0
        keys += stretch.mark.keys
    yield KeyRange(start, whole.end)


@dataclass(frozen=True)
class Run:
    """A stretch that is kept, or neighbours that are read again as one range."""

    keys: KeyRange
    kept: Stretch | None = None


def runs(
    whole: KeyRange, stretches: Sequence[Stretch], marks: Sequence[Mark], encodings: Encodings
) -> Iterator[Run]:
    """What is to be done with a range: stretch by stretch, those to be read again joined."""
    # Names are not kept, so those that are wanted are read again.
    named = encodings.limit > 0
    ends = [*(stretch.start for stretch in stretches[1:]), whole.end]
    begun: bytes | None = None
    for stretch, mark, end in zip(stretches, marks, ends):
        if mark == stretch.mark and not (named and stretch.outdated(encodings)):
            if begun is not None:
                yield Run(KeyRange(begun, stretch.start))
                begun = None
            yield Run(KeyRange(stretch.start, end), stretch)
        elif begun is None:
            begun = stretch.start
    if begun is not None:
        yield Run(KeyRange(begun, whole.end))


@dataclass(frozen=True)
class StoreState:
    """What a later audit needs to know of one etcd: for each range that was read, its stretches."""

    source: Source
    ranges: tuple[tuple[Stretch, ...], ...]
    # What it holds of the API servers' resources; nothing for the one that holds all the others.
    resources: tuple[str, ...] = ()

    @property
    def tallies(self) -> Tallies:
        return merge_tallies(stretch.tallies for each in self.ranges for stretch in each)


@dataclass(frozen=True)
class State:
    """All that a later audit needs to know of this one."""

    prefix: str
    patterns: tuple[str, ...]
    stores: tuple[StoreState, ...]
    # Resources that are kept in another etcd than the first.
    moved: tuple[str, ...] = ()

    def of(self, resources: Sequence[str]) -> StoreState | None:
        """The store that held these resources."""
        for store in self.stores:
            if set(store.resources) == set(resources):
                return store
        return None

    def pack(self) -> str:
        """As one short text."""
        names = _NameBudget(_NAMED_IN_STATE)
        document = {
            "format": _STATE_FORMAT,
            "prefix": self.prefix,
            "patterns": self.patterns,
            "moved": self.moved,
            "stores": [
                {
                    "source": asdict(store.source),
                    "resources": store.resources,
                    "ranges": [[_pack(one, names) for one in each] for each in store.ranges],
                }
                for store in self.stores
            ],
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
                prefix=str(document["prefix"]),
                patterns=tuple(map(str, document["patterns"])),
                moved=tuple(map(str, document["moved"])),
                stores=tuple(
                    StoreState(
                        source=Source(**store["source"]),
                        resources=tuple(map(str, store["resources"])),
                        ranges=tuple(tuple(map(_unpack, each)) for each in store["ranges"]),
                    )
                    for store in document["stores"]
                ),
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


@dataclass
class _NameBudget:
    """How many names of keys may still be kept: a state stays small however much is broken."""

    left: int

    def take(self, tally: Tally) -> Tally:
        kept = dict(list(tally.named.items())[: self.left])
        self.left -= len(kept)
        return replace(tally, named=kept)


def _pack(stretch: Stretch, names: _NameBudget) -> list[Any]:
    tallies = [[*place, names.take(tally).to_dict()] for place, tally in stretch.tallies.items()]
    mark = stretch.mark
    return [_text(stretch.start), mark.keys, mark.revisions, mark.checksum, tallies]


def _unpack(packed: Any) -> Stretch:
    start, keys, revisions, checksum, tallies = packed
    return Stretch(
        _bytes(start),
        Mark(int(keys), int(revisions), int(checksum)),
        {(str(kind), str(name)): Tally.from_dict(tally) for kind, name, tally in tallies},
    )


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
    state: State,
    *,
    prefix: str,
    patterns: Sequence[str],
    moved: Sequence[str],
    resources: Sequence[str],
    source: Source,
    ranges: Sequence[KeyRange],
) -> str:
    """Why nothing can be kept of what an earlier audit counted in one store; empty if it can."""
    if state.prefix != prefix:
        return f"the earlier audit is of the keys below {state.prefix}"
    if set(state.patterns) != set(patterns) or set(state.moved) != set(moved):
        return "the earlier audit is of other resources"
    before = state.of(resources)
    if before is None or len(before.ranges) != len(ranges):
        return "the earlier audit is of other resources"
    if before.source.cluster_id != source.cluster_id:
        return "the earlier audit is of another etcd cluster"
    if before.source.revision > source.revision or before.source.raft_term > source.raft_term:
        return "etcd's history is older than the earlier audit: a backup was restored"
    fits = all(
        each and each[0].start == whole.start and each[-1].start < whole.end
        for whole, each in zip(ranges, before.ranges)
    )
    return "" if fits else "the earlier audit is of other resources"
