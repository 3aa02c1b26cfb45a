# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""Pages: which piece of a key range, or how much of a list, to ask for next.

For every page etcd counts all keys up to the end of the range that it was asked for, wanted or
not. Over a large store that costs more than reading does, so ranges are kept short: their ends are
chosen from the keys seen so far, and moved by what etcd counted.

An API server goes over all objects behind a page of a list, too, and there the range can't be
chosen. So pages grow with what is left, else a long list would cost the square of its length.
"""

from __future__ import annotations

from dataclasses import dataclass

from .keys import KeyRange, after

# Large enough to be fast, small enough to hold three of them.
_PAGE_BYTES = 3 * 1024 * 1024
_FIRST_PAGE = 256
_GROWTH = 4
_SHRINKING = 8
# How many pages' worth of keys etcd may have to count for one.
_WIDE = 6
# Pages of a list: as many objects as kubectl asks for, and for long lists more.
LIST_PAGE = 500
_LONGEST_LIST_PAGE = 5000
# The part of what is left that a page of a long list holds.
_LIST_PART = 100


def list_limit(*, left: int, names: int, size: int) -> int:
    """How many objects to ask an API server for next, by the page before.

    `left` are still to come; that page held `names` in `size` bytes.
    """
    fitting = _PAGE_BYTES * names // max(size, 1)
    return max(min(left // _LIST_PART, fitting, _LONGEST_LIST_PAGE), LIST_PAGE)


@dataclass(frozen=True)
class Ask:
    """One request: the range, and how many keys at most."""

    keys: KeyRange
    limit: int


class PageWalk:
    """Walks over a key range in pages: `ask`, then `took` what came, until there is no more."""

    def __init__(self, whole: KeyRange, *, page_size: int) -> None:
        self._whole = self._range = whole
        self._page_size = page_size
        self._limit = min(_FIRST_PAGE, page_size)
        self._done = whole.start >= whole.end

    def ask(self) -> Ask | None:
        """What to ask for next; nothing once all has been read."""
        return None if self._done else Ask(self._range, self._limit)

    def took(self, *, first: bytes, last: bytes, keys: int, size: int, count: int) -> None:
        """Go on behind a page of so many keys and bytes; etcd counted `count` in the range."""
        self._adapt(keys, size)
        rest = count - keys
        start, end = (last + b"\x00", self._range.end) if rest > 0 else (self._range.end,) * 2
        if rest > _WIDE * self._limit:
            end = self._nearer(first, last)
        elif rest < self._limit:
            # Too little for a page: have what comes behind it as well.
            end = self._further(count)
        self._range = KeyRange(start, end)
        self._done = start >= self._whole.end

    def too_large(self) -> bool:
        """Ask for fewer keys of the same range; False if fewer than one would be left."""
        shrunk = max(self._limit // _SHRINKING, 1)
        changed, self._limit = shrunk < self._limit, shrunk
        return changed

    def _adapt(self, keys: int, size: int) -> None:
        if keys:
            wanted = _PAGE_BYTES * keys // max(size, 1)
            self._limit = max(min(wanted, self._limit * _GROWTH, self._page_size), 1)

    def _nearer(self, first: bytes, last: bytes) -> bytes:
        """An end within the range: behind what begins as this whole page does, or still nearer."""
        common = 0
        while common < min(len(first), len(last)) and first[common] == last[common]:
            common += 1
        for length in range(max(common, 1), len(last) + 1):
            end = after(last[:length])
            if end and last < end < self._range.end:
                return end
        return self._range.end

    def _further(self, count: int) -> bytes:
        """An end behind the range: as far again, or further where there was little in it."""
        prefix = self._range.end
        if count * 2 < self._limit:
            prefix = prefix[:-1]
        if not count:
            prefix = prefix[:-1]
        while prefix:
            end = after(prefix)
            if end and end > self._range.end:
                return min(end, self._whole.end)
            prefix = prefix[:-1]
        return self._whole.end
