# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""Storage version hashes: made from group, version and kind, and explained by them.

Upstream calls the hash opaque. Lockstep compares hashes with each other, and uses this formula to
explain them; it counts only after it has reproduced every hash that the servers show (R9).
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from .errors import InvalidNameError
from .names import join_group_version, split_group_version, split_resource

_HASHED_BYTES = 8
_STABLE = tuple(f"v{major}" for major in (1, 2, 3))
PLAUSIBLE_VERSIONS = _STABLE + tuple(
    f"{stable}{stage}{number}"
    for stable in _STABLE
    for stage in ("beta", "alpha")
    for number in range(1, 6)
)


@lru_cache(maxsize=16384)
def storage_version_hash(group: str, version: str, kind: str) -> str:
    """Compute the hash that a server shows while it encodes a kind in a group/version."""
    digest = hashlib.sha256(f"{group}/{version}/{kind}".encode()).digest()
    return base64.b64encode(digest[:_HASHED_BYTES]).decode("ascii")


def hash_of(*, group_version: str, kind: str) -> str:
    """Compute the hash for a group/version as the APIs write it (`apps/v1`, `v1`)."""
    group, version = split_group_version(group_version)
    return storage_version_hash(group, version, kind)


def is_storage_version_hash(text: str) -> bool:
    """Whether a text has the form of a storage version hash."""
    try:
        return len(base64.b64decode(text.encode("ascii"), validate=True)) == _HASHED_BYTES
    except (binascii.Error, UnicodeEncodeError):
        return False


def parse_group_version_kind(text: str) -> tuple[str, str, str]:
    """Take `apps/v1/Deployment` apart; `/v1/Pod` and `v1/Pod` are the core group's."""
    group_version, slash, kind = text.rpartition("/")
    group, version = "", ""
    if slash and kind:
        try:
            group, version = split_group_version(group_version)
        except InvalidNameError:
            version = ""
    if not version or kind != kind.strip() or not kind[0].isupper():
        raise InvalidNameError(
            f"{text!r} does not name a group, a version and a kind",
            "They must be joined by slashes, the kind with its capital letter",
            "Write it as apps/v1/Deployment, or as v1/Pod where the group is core",
        )
    return group, version, kind


def explain(storage_hash: str, kind: str, candidates: Iterable[str]) -> str:
    """Find the one group/version whose hash this is; an empty string if it is none of them."""
    if not storage_hash:
        return ""
    found = {
        join_group_version(group=group, version=version)
        for group, version in map(split_group_version, candidates)
        if storage_version_hash(group, version, kind) == storage_hash
    }
    return found.pop() if len(found) == 1 else ""


def candidate_versions(resource: str, known: Iterable[str] = ()) -> Iterator[str]:
    """Which group/versions a resource may be encoded in, the likeliest first.

    Those known of its own group, the plausible ones of its own group, and then every other that
    is known: resources can be stored in a foreign group, as events are.
    """
    _plural, group = split_resource(resource)
    seen: set[str] = set()
    plausible = (join_group_version(group=group, version=version) for version in PLAUSIBLE_VERSIONS)
    given = [join_group_version(group=g, version=v) for g, v in map(split_group_version, known)]
    own = [name for name in given if split_group_version(name)[0] == group]
    for name in (*own, *plausible, *given):
        if name not in seen:
            seen.add(name)
            yield name


def explain_for(*, resource: str, kind: str, storage_hash: str, known: Iterable[str] = ()) -> str:
    """Explain a resource's hash by its candidates, and stop at the first that fits.

    Two different group/versions with the same 64 bits are not to be expected; where time counts
    the first is as good as the only one.
    """
    if not storage_hash:
        return ""
    for candidate in candidate_versions(resource, known):
        if hash_of(group_version=candidate, kind=kind) == storage_hash:
            return candidate
    return ""


@dataclass(frozen=True)
class LiveHash:
    """One hash that a server shows, and what it was explained as (nothing: not reproduced)."""

    resource: str
    kind: str
    storage_hash: str
    encoding_version: str = ""


@dataclass(frozen=True)
class FormulaVerdict:
    """Whether computed hashes may be used, and the live ones that the formula did not give."""

    holds: bool
    reproduced: int
    unexplained: tuple[LiveHash, ...] = ()


def formula_holds(live: Iterable[LiveHash]) -> FormulaVerdict:
    """Hold the formula against every live hash (R9). With nothing to reproduce it proves nothing.

    Leave the hashes of aggregated APIs out: their servers may make them as they like.
    """
    shown = {one for one in live if one.storage_hash}
    unexplained = {
        one
        for one in shown
        if not one.encoding_version
        or hash_of(group_version=one.encoding_version, kind=one.kind) != one.storage_hash
    }
    return FormulaVerdict(
        holds=bool(shown) and not unexplained,
        reproduced=len(shown) - len(unexplained),
        unexplained=tuple(sorted(unexplained, key=lambda one: (one.resource, one.storage_hash))),
    )
