# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""Is all stored as the servers write it? One verdict on everything, or on everything but X.

Only what is never migrated, or what the operator named, may be left out; and then the verdict
says so (R14). What is not known is not verified (R8).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from . import names
from .agreement import Agreement
from .checks.facts import AuditFacts, CrdFacts
from .gone import judge_gone
from .migrations import NEVER_MIGRATED
from .observations import UNKNOWN
from .reasons import Reason, enumerate_names, plural
from .settling import Look
from .states import Source, StorageState, is_hash

_NAMED = 5
_READ_ETCD = "Let etcd be read (verify_audit), which shows it without rewriting anything"
_MIGRATE = "Run the playbook lockstep.kubernetes.migrate, and this again"


@dataclass(frozen=True)
class Records:
    """What is recorded, and what it comes to with this look and with an audit of this run."""

    before: Mapping[str, StorageState]
    judged: Mapping[str, StorageState]
    stale: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Verification:
    """What is proved, what is not and why, and what nobody asked for."""

    # Why each resource is believed to be stored in its current version alone.
    proved: Mapping[str, Source]
    unproved: Mapping[str, tuple[Reason, ...]]
    # What is recorded as current, while nobody saw what some server wrote in between.
    doubted: Mapping[str, tuple[Reason, ...]] = field(default_factory=dict)
    # Definitions that list other versions than their storage version as stored.
    unpruned: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    left_out: Mapping[str, str] = field(default_factory=dict)
    # What the operator named that is not there.
    unused: tuple[str, ...] = ()

    @property
    def verified(self) -> bool:
        """Whether all that was not left out is proved."""
        return not self.unproved and not self.doubted and not self.unpruned

    def __str__(self) -> str:
        if not self.verified:
            short = sorted({*self.unproved, *self.doubted, *self.unpruned})
            total = len({*self.proved, *self.unproved, *self.doubted})
            named = enumerate_names(short, at_most=_NAMED)
            return f"not verified: {len(short)} of {plural(total, 'resource')}: {named}"
        if self.left_out:
            return f"verified except {enumerate_names(self.left_out, at_most=_NAMED)}"
        return "verified"


def decide_verified(
    look: Look,
    records: Records,
    *,
    resources: Iterable[str],
    crds: Mapping[str, CrdFacts],
    audit: AuditFacts | None = None,
    left_out: Iterable[str] = (),
) -> Verification:
    """Judge each resource; `left_out` are the patterns of what the operator takes out."""
    patterns = tuple(left_out)
    every = sorted({*resources, *look.unheard_of})
    named = set(names.select_resources(resources=every, patterns=patterns))
    proved: dict[str, Source] = {}
    unproved: dict[str, tuple[Reason, ...]] = {}
    doubted: dict[str, tuple[Reason, ...]] = {}
    unpruned: dict[str, tuple[str, ...]] = {}
    omitted: dict[str, str] = {}
    for name in every:
        agreement = look.agreements.get(name)
        why = _left_out(name, look, agreement, named)
        if why:
            omitted[name] = why
            continue
        against = tuple(_against(name, agreement, records, audit))
        doubts = tuple(_doubts(name, records.judged.get(name)))
        if against:
            unproved[name] = against
        elif doubts:
            doubted[name] = doubts
        else:
            proved[name] = records.judged[name].evidence.source if agreement else "etcd"
        crd = crds.get(name)
        others = tuple(one for one in crd.stored if one != crd.storage) if crd else ()
        if others:
            unpruned[name] = others
    unused = names.unmatched_patterns(resources=every, patterns=patterns)
    return Verification(proved, unproved, doubted, unpruned, omitted, unused)


def _left_out(name: str, look: Look, agreement: Agreement | None, named: set[str]) -> str:
    if name in named:
        return "it was named to be left out"
    if name in NEVER_MIGRATED:
        return "events expire by themselves, and are never migrated"
    if agreement is None or agreement.origin != "aggregated":
        return ""
    _plural, _dot, group = name.partition(".")
    groups = {names.split_group_version(one)[0] for one in look.sight.aggregated}
    # Of a group that no server could list, it has to be known that another server keeps it.
    if "*" in name and group not in groups:
        return ""
    return "it belongs to an aggregated API, which keeps its objects itself"


def _against(
    name: str, agreement: Agreement | None, records: Records, audit: AuditFacts | None
) -> Iterable[Reason]:
    """Every reason that a resource is not proved to be stored in its current version alone."""
    if agreement is None and name not in records.before:
        yield Reason(f"no server knows {name}", "Correct its name", resource=name)
        return
    if agreement is None:
        left = judge_gone(name, records.before[name], audit)
        if left:
            yield left
        return
    if not agreement.agreed:
        yield from agreement.reasons or (Reason(f"the servers are not known to agree on {name}"),)
        return
    before, judged = records.before.get(name), records.judged.get(name)
    if before and is_hash(before.current) and before.current != agreement.storage_hash:
        yield Reason(
            f"{name} is recorded as written with the hash {before.current}, and the servers write"
            f" {agreement.encoding_version or agreement.storage_hash} now",
            _MIGRATE,
            resource=name,
        )
    if judged is None or not judged.migrated or judged.current != agreement.storage_hash:
        yield Reason(_unknown(name, before, judged, records.stale), _MIGRATE, resource=name)
    # An audit that was asked for and does not count proves nothing.
    yield from audit.against if audit else ()


def _doubts(name: str, judged: StorageState | None) -> Iterable[Reason]:
    """Servers that were changed while nobody looked: only the bytes tell what they wrote (R8)."""
    if judged is not None and judged.evidence.doubts:
        yield Reason(
            f"since {name} was recorded {enumerate_names(judged.evidence.doubts[:_NAMED])}, and"
            " nobody saw what was written meanwhile",
            _READ_ETCD,
            resource=name,
        )


def _unknown(
    name: str, before: StorageState | None, judged: StorageState | None, stale: frozenset[str]
) -> str:
    persisted = judged.persisted if judged else (UNKNOWN,)
    if before is None:
        return f"nothing is recorded of what is stored of {name}"
    if name in stale:
        return f"the record of {name} is stale, and no audit of this run proves it"
    if UNKNOWN in persisted:
        return f"it is not known in which versions {name} is stored"
    return f"{name} may be stored in {plural(len(persisted), 'version')}"
