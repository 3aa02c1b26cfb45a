# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""What the checks of an upgrade go by: all that was seen of a cluster, as plain facts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from ..agreement import Agreement
from ..catalogue import Catalogue, ReleaseCatalogue, parse_release
from ..commands import Terms
from ..flags import ApiFlags
from ..hashes import hash_of
from ..migrations import MigrationSight
from ..observations import UNKNOWN, EtcdSight
from ..reasons import Reason
from ..rewrites import ObjectName
from ..settling import Look
from ..states import StorageState
from ..triggers import ForeignTrigger

# How many things of a kind are named.
NAMED = 5


@dataclass(frozen=True)
class CrdFacts:
    """A CustomResourceDefinition, as far as an upgrade is concerned."""

    resource: str
    kind: str
    versions: tuple[str, ...]
    storage: str
    stored: tuple[str, ...]
    namespaced: bool = True
    served: tuple[str, ...] = ()
    # Whether a webhook converts between its versions, and until when the CA holds that it trusts.
    webhook: bool = False
    ca_expires: datetime | None = None
    # Why that CA can't be read; empty if it can, or if there is none of its own.
    ca_fault: str = ""


@dataclass(frozen=True)
class ListFacts:
    """What came of listing all objects of a resource, as it is stored now."""

    # How many objects there are; None where not all of them can be read.
    objects: int | None
    # What the server says where it can't decode them, and in which namespaces.
    fault: str = ""
    namespaces: tuple[str, ...] = ()
    # Nobody could try it, so nobody knows.
    unknown: bool = False
    # Objects whose namespace does not exist, and objects with fields managed in a version that is
    # not served any more: how many, and the first of them by name.
    orphans: tuple[str, ...] = ()
    orphan_count: int = 0
    unserved_fields: tuple[str, ...] = ()
    unserved_count: int = 0
    # A few objects, spread over the list.
    samples: tuple[ObjectName, ...] = ()
    # At which revision of etcd it was listed; 0 is now, since that one was over.
    revision: int = 0


@dataclass(frozen=True)
class SampleFacts:
    """What servers made of a few objects of a resource."""

    # Objects whose rewriting, tried without effect, was refused: the name and the reason.
    refused: tuple[tuple[str, str], ...] = ()
    # Why it could not be tried.
    untried: str = ""
    # Served versions in which an object could not be read: the version and the reason.
    unconverted: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class AuditFacts:
    """What an audit counted in etcd, beside what the states make of it."""

    # By resource: its versions, the bytes of its values, its encryption keys, and the first keys
    # that nobody can decode.
    versions: Mapping[str, tuple[str, ...]]
    bytes: Mapping[str, int]
    # How many keys each has; None where they were not read at one moment.
    keys: Mapping[str, int] | None
    revision: int
    encryption: Mapping[str, Mapping[str, int]]
    undecodable: Mapping[str, tuple[str, ...]]
    # Directories that belong to no known resource, with the number of their keys.
    unmapped: Mapping[str, int]
    # Whether everything was read: all resources, none of them kept elsewhere.
    complete: bool
    # What all keys begin with.
    prefix: str = "/registry"
    etcd: EtcdSight | None = None
    # Why it tells nothing about this cluster as it is now.
    against: tuple[Reason, ...] = ()
    # Revisions of resources that an etcd of their own holds.
    revisions: Mapping[str, int] = field(default_factory=dict)
    # Resources in an etcd of their own whose revision the observation did not take.
    unordered: tuple[str, ...] = ()

    def revision_of(self, resource: str) -> int:
        """At which revision the keys of a resource were counted."""
        return self.revisions.get(resource, self.revision)


@dataclass(frozen=True)
class Step:
    """From where to where, and the way back."""

    from_release: str
    to_release: str
    rollback_release: str
    target: ReleaseCatalogue | None
    rollback: ReleaseCatalogue | None
    # What the servers run now, as the catalogue has it.
    current: ReleaseCatalogue | None
    # Some servers have been rolled already, so that they differ until all are.
    rolling: bool = False

    @property
    def down(self) -> bool:
        """Whether it goes to an older release."""
        return parse_release(self.to_release)[:2] < parse_release(self.from_release)[:2]


@dataclass(frozen=True)
class Facts:
    """All that was seen of a cluster."""

    step: Step
    catalogue: Catalogue
    look: Look
    states: Mapping[str, StorageState]
    migrations: tuple[MigrationSight, ...]
    crds: Mapping[str, CrdFacts]
    window: timedelta
    # Whether hashes may be computed (R9).
    formula_holds: bool
    # What turns APIs on and off in the servers to come; None where only discovery tells of it.
    flags: ApiFlags | None = None
    # Definitions that are to be installed, by resource.
    incoming: Mapping[str, CrdFacts] = field(default_factory=dict)
    # All objects of every resource, listed; None if that was not asked for.
    lists: Mapping[str, ListFacts] | None = None
    samples: Mapping[str, SampleFacts] = field(default_factory=dict)
    audit: AuditFacts | None = None
    # Encryption keys that are to be taken out of use.
    retired_keys: tuple[str, ...] = ()
    # When etcd was last saved, and how old that may be.
    snapshot: datetime | None = None
    snapshot_window: timedelta = timedelta(days=1)
    # The hash of each server's encryption configuration, empty if it does not tell; None where
    # nothing is encrypted.
    encryption_configs: Mapping[str, str] | None = None
    # Who else keeps the StorageStates, beside several servers.
    foreign_trigger: ForeignTrigger | None = None
    # Migration APIs whose list the server could not give, by their group, with its words.
    unlisted_migrations: Mapping[str, str] = field(default_factory=dict)
    # Whether every server deletes objects that it can't read, where it is told to.
    deletes_unreadable: bool = False
    # What nobody can know, and the operator does without, by name.
    left_out: tuple[str, ...] = ()
    # In whose words remedies are told.
    terms: Terms = field(default_factory=Terms)

    @property
    def audit_outdated(self) -> bool:
        """Whether bringing the audit up to date would let it count for more."""
        if self.audit is None:
            return False
        moved_on = any(
            self.audit.keys is None or one.revision != self.audit.revision_of(name)
            for name, one in (self.lists or {}).items()
            if one.objects is not None
        )
        return moved_on or bool(self.audit.unordered)

    def objects(self, resource: str) -> int | None:
        """How many objects there are, as far as somebody counted."""
        listed = (self.lists or {}).get(resource)
        return listed.objects if listed else None

    def stored(self, resource: str) -> tuple[str, ...]:
        """The versions that may be stored of a resource, Unknown among them."""
        state = self.states.get(resource)
        if state is None or state.stale(self.look.sight.now, self.window):
            return (UNKNOWN,)
        return tuple(dict.fromkeys(self._explain(resource, one) for one in state.persisted))

    def _explain(self, resource: str, storage_hash: str) -> str:
        """Which version a hash is: measured on a release, shown by a server now, or computed."""
        measured = self.catalogue.version_of(resource, storage_hash)
        agreement = self.look.agreements.get(resource)
        if measured or agreement is None or storage_hash == UNKNOWN:
            return measured or UNKNOWN
        if agreement.agreed and agreement.storage_hash == storage_hash:
            return agreement.encoding_version or UNKNOWN
        crd = self.crds.get(resource)
        versions = crd.versions if crd else self.catalogue.versions_of(resource)
        if self.formula_holds:
            for version in versions:
                if hash_of(group_version=version, kind=agreement.kind) == storage_hash:
                    return version
        return UNKNOWN

    @property
    def judged(self) -> Iterator[tuple[str, Agreement]]:
        """The resources that kube-apiservers store themselves."""
        for name, agreement in self.look.agreements.items():
            if agreement.origin != "aggregated":
                yield name, agreement
