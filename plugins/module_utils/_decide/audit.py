# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""The audit: what was counted in every etcd of a cluster, and what can be made of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from . import names
from .increments import Source
from .keys import INTERNAL, RESOURCE, UNMAPPED, same_objects, shared_with
from .observations import UNKNOWN, EtcdSight
from .reasons import plural
from .tally import Encodings, Tally


@dataclass(frozen=True)
class StoreSight:
    """One etcd that was read, and at which moment."""

    source: Source
    endpoint: str
    etcd_version: str
    transport: str
    # Where compaction overtook the reading, the later moments that the rest was read at.
    later_revisions: tuple[int, ...] = ()
    # What it holds of the API servers' resources; nothing for the one that holds all the others.
    resources: tuple[str, ...] = ()
    # None where etcd does not tell.
    health: EtcdSight | None = None
    # Why it may have shown less than it holds.
    not_believed: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "endpoint": self.endpoint,
            "etcd_version": self.etcd_version,
            "transport": self.transport,
            "cluster_id": self.source.cluster_id,
            "revision": self.source.revision,
            "later_revisions": list(self.later_revisions),
            "resources": list(self.resources),
        }


@dataclass(frozen=True)
class StoredIdentity:
    """Whose keys they are: kube-system's UID by its stored bytes, and when it was written."""

    # Empty where it is encrypted, or could not be read.
    uid: str = ""
    key_revision: int = 0

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {"uid": self.uid, "key_revision": self.key_revision}


@dataclass(frozen=True)
class Audit:
    """Everything that was found out, to be shown."""

    # The first is the one that holds all that is not kept in another.
    stores: tuple[StoreSight, ...]
    tallies: Mapping[tuple[str, str], Tally]
    patterns: tuple[str, ...]
    prefix: str
    # For a later audit, which can go on from this one.
    since: str
    incremental: bool
    # How many keys etcd counted, and how many of them were looked at.
    stored_keys: int
    read_keys: int
    seconds: float
    cluster: StoredIdentity = field(default_factory=StoredIdentity)
    # Resources that are kept in another etcd, which could not be read.
    elsewhere: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    encodings: Encodings = field(default_factory=Encodings)
    # By resource the first objects that are in another version than the servers write.
    outdated: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why etcd may hold more than it has shown."""
        return tuple(store.not_believed for store in self.stores if store.not_believed)

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
        if (
            self.reasons
            or self.of(UNMAPPED)
            or any(UNKNOWN in tally.versions for tally in resources)
        ):
            return "unknown"
        if any(len(tally.versions) > 1 for tally in resources):
            return "mixed"
        return "uniform"

    def to_dict(self) -> dict[str, Any]:
        """The plain data that a module returns."""
        resources = self.of(RESOURCE)
        known = {*resources, *(name for one in resources for name in shared_with(one))}
        main = self.stores[0]
        return {
            "verdict": self.verdict,
            "summary": self._summary(),
            "notes": self._notes(),
            "believable": not self.reasons,
            "reasons": list(self.reasons),
            "cluster": self.cluster.to_dict(),
            "revision": main.source.revision,
            "later_revisions": list(main.later_revisions),
            "cluster_id": main.source.cluster_id,
            "endpoint": main.endpoint,
            "etcd_version": main.etcd_version,
            "transport": main.transport,
            "stores": [store.to_dict() for store in self.stores],
            "revisions": self._revisions(),
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
            "since": self.since,
            "prefix": self.prefix,
            "etcd": main.health.to_dict() if main.health else None,
        }

    def _revisions(self) -> dict[str, int]:
        """Where a resource was read in another etcd, at which revision; 0 if not at one moment."""
        return {
            name: 0 if store.later_revisions else store.source.revision
            for store in self.stores
            for resource in store.resources
            for name in same_objects(resource)
        }

    def _outdated(self, resource: str, tally: Tally) -> dict[str, Any]:
        """What a migration has to rewrite; nothing where nobody said what the servers write."""
        current = self.encodings.of(resource)
        if not current:
            return {}
        named, count = list(self.outdated.get(resource, ())), tally.outdated(current)
        return {
            "encoding_version": current,
            "outdated": named,
            "outdated_keys": count,
            # Fewer names than keys: the limit cut them, or a key is no object's.
            "outdated_complete": not tally.hidden and len(named) == count,
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
        revision = self.stores[0].source.revision
        counted = f"{plural(totals['resources'], 'resource')}, {plural(totals['keys'], 'key')}"
        lines = [f"{self.verdict}: {counted}, {size} at revision {revision}."]
        lines += [f"  {reason}." for reason in self.reasons]
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
        for store in self.stores:
            if store.later_revisions:
                then = ", ".join(map(str, store.later_revisions))
                notes.append(
                    "etcd was compacted while it was read, so the rest was read at revision"
                    f" {then}. Every key was looked at once, but not all at one moment: what was"
                    f" written after revision {store.source.revision} is counted in part."
                )
            if store.resources:
                notes.append(
                    f"The API servers keep {', '.join(store.resources)} in another etcd"
                    f" (--etcd-servers-overrides), which was read at {store.endpoint}, at its"
                    f" revision {store.source.revision}."
                )
        return notes


def _enumerate(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} in {name}" for name, count in sorted(counts.items()))
