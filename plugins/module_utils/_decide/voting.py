# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""The StorageVersion API joined with the leases: who reported, what is selected, what is stale."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Literal

from .errors import LockstepError
from .membership import Membership
from .observations import UNKNOWN, Lease, StorageVersionEntry, StorageVersionSight
from .reasons import enumerate_names

# live: its lease is renewed. silent: neither renewed nor expired, so it may still write (R2).
# stale: its lease is gone, expired or vouched for. missing: a lease without an entry.
Standing = Literal["live", "silent", "stale", "missing"]


@dataclass(frozen=True)
class ReportedVersion:
    """What one server reported of one resource, and how much that is worth."""

    server_id: str
    standing: Standing
    hostname: str = ""
    encoding_version: str = ""
    decodable_versions: tuple[str, ...] = ()
    served_versions: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The server, as an operator knows it."""
        return f"{self.hostname} ({self.server_id})" if self.hostname else self.server_id

    @property
    def may_write(self) -> bool:
        """Whether the server behind this entry may still write."""
        return self.standing != "stale"


@dataclass(frozen=True)
class Vote:
    """What the voting rule says of one resource."""

    resource: str
    selected: str
    why: str
    # Server id and the version it votes for, of every server that may still write.
    candidates: tuple[tuple[str, str], ...] = ()
    pending: tuple[str, ...] = ()
    # Nothing while a server has not reported: what it can decode is not known then.
    decodable_by_all: tuple[str, ...] = ()
    entries: tuple[ReportedVersion, ...] = ()


@dataclass(frozen=True)
class Pruned:
    """A StorageVersion object after entries were taken out of it."""

    resource: str
    entries: tuple[StorageVersionEntry, ...]
    removed: tuple[str, ...]
    common: str
    condition: Literal["True", "False"]
    condition_reason: str

    @property
    def changed(self) -> bool:
        """Whether anything was taken out."""
        return bool(self.removed)

    @property
    def empty(self) -> bool:
        """Whether nothing is left, so that the object must be deleted."""
        return not self.entries


def classify_entries(
    *, storage_version: StorageVersionSight, membership: Membership
) -> tuple[ReportedVersion, ...]:
    """Tell live, silent, stale and missing entries apart, sorted by server."""
    standings: dict[str, Standing] = {}
    hostnames: dict[str, str] = {}
    ranked: tuple[tuple[Standing, tuple[Lease, ...]], ...] = (
        ("stale", membership.expired + membership.gone),
        ("silent", membership.silent),
        ("live", membership.live),
    )
    for standing, leases in ranked:
        for lease in leases:
            standings[lease.name] = standing
            hostnames[lease.name] = lease.hostname
    reported = [
        ReportedVersion(
            server_id=entry.server_id,
            standing=standings.get(entry.server_id, "stale"),
            hostname=hostnames.get(entry.server_id, ""),
            encoding_version=entry.encoding,
            decodable_versions=entry.decodable,
            served_versions=entry.served,
        )
        for entry in storage_version.entries
    ]
    have = {entry.server_id for entry in storage_version.entries}
    reported += [
        ReportedVersion(server_id=lease.name, standing="missing", hostname=lease.hostname)
        for lease in membership.live + membership.silent
        if lease.name not in have
    ]
    return tuple(sorted(reported, key=lambda one: (one.server_id, one.encoding_version)))


def decide_vote(
    *, storage_version: StorageVersionSight, membership: Membership, last_agreed: str = ""
) -> Vote:
    """Apply the voting rule: a version is selected once every server votes for it.

    Until then the last agreed version stays selected; if none is known, it is Unknown.
    """
    entries = classify_entries(storage_version=storage_version, membership=membership)
    voters = tuple(one for one in entries if one.standing in ("live", "silent"))
    missing = tuple(one for one in entries if one.standing == "missing")
    wanted = sorted({one.encoding_version for one in voters})
    decodable = () if missing else _decodable_by_all(voters)
    resource = storage_version.resource

    if len(wanted) == 1 and not missing:
        selected = wanted[0]
        why = f"{selected} is selected for {resource}: every server votes for it"
    else:
        selected = last_agreed or UNKNOWN
        why = f"{_stays(resource, last_agreed)}: {_undecided(voters, missing, wanted)}"
        if last_agreed and not missing and voters and last_agreed not in decodable:
            unable = [one.name for one in voters if last_agreed not in one.decodable_versions]
            why += f"; mind that {enumerate_names(unable)} can't decode {last_agreed}"
    return Vote(
        resource=resource,
        selected=selected,
        why=why,
        candidates=tuple((one.server_id, one.encoding_version) for one in voters),
        pending=tuple(version for version in wanted if version != selected),
        decodable_by_all=decodable,
        entries=entries,
    )


def prunable_entries(
    *, storage_version: StorageVersionSight, membership: Membership
) -> tuple[str, ...]:
    """Which entries may be taken out: the stale ones.

    None at all while no lease lives: a server must have answered, so the leases were not seen.
    """
    if not membership.live:
        return ()
    entries = classify_entries(storage_version=storage_version, membership=membership)
    return tuple(sorted({one.server_id for one in entries if one.standing == "stale"}))


def prune_entries(
    *,
    storage_version: StorageVersionSight,
    membership: Membership,
    remove: Collection[str] | None = None,
) -> Pruned:
    """Take stale entries out (all, or those named) and recompute what the object says of itself.

    An entry whose server may still write is never taken out, not even by name.
    """
    prunable = prunable_entries(storage_version=storage_version, membership=membership)
    present = {entry.server_id for entry in storage_version.entries}
    chosen = set(prunable) if remove is None else set(remove) & present
    refused = sorted(chosen - set(prunable))
    if refused:
        raise LockstepError(
            f"The entry of {enumerate_names(refused)} in {storage_version.name} stays",
            "Its lease lives, or is silent and not expired: that server may still write"
            if membership.live
            else "No server renews a lease, so nothing tells which entries are stale",
            "Prune it after its lease has expired or was deleted, or name a dead server in "
            "gone_servers",
        )
    return recompute(storage_version=storage_version, remove=chosen)


def recompute(*, storage_version: StorageVersionSight, remove: Collection[str]) -> Pruned:
    """Compute the object without some entries: common encoding version and condition."""
    kept = tuple(one for one in storage_version.entries if one.server_id not in remove)
    encodings = {entry.encoding for entry in kept}
    common = next(iter(encodings)) if len(encodings) == 1 else ""
    return Pruned(
        resource=storage_version.resource,
        entries=kept,
        removed=tuple(sorted({one.server_id for one in storage_version.entries} & set(remove))),
        common=common,
        condition="True" if common else "False",
        condition_reason="CommonEncodingVersionSet" if common else "CommonEncodingVersionUnset",
    )


def _decodable_by_all(voters: Iterable[ReportedVersion]) -> tuple[str, ...]:
    decodable = [set(one.decodable_versions) for one in voters]
    return tuple(sorted(set.intersection(*decodable))) if decodable else ()


def _stays(resource: str, last_agreed: str) -> str:
    if last_agreed:
        return f"{last_agreed}, the last agreed version, stays selected for {resource}"
    return f"what is selected for {resource} is {UNKNOWN}, since no last agreed version is known"


def _undecided(
    voters: Collection[ReportedVersion],
    missing: Collection[ReportedVersion],
    wanted: Collection[str],
) -> str:
    parts = []
    if len(wanted) > 1:
        votes = (
            f"{enumerate_names(one.name for one in voters if one.encoding_version == version)} "
            f"for {version}"
            for version in wanted
        )
        parts.append(f"the servers vote differently ({', '.join(votes)})")
    if missing:
        verb = "has" if len(missing) == 1 else "have"
        parts.append(f"{enumerate_names(one.name for one in missing)} {verb} not voted yet")
    return " and ".join(parts) or "no server has voted"
