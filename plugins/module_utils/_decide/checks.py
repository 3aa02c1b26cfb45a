# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""The checks of stored data: can the target, and the way back, read what may lie in etcd?

Each check has an id that never changes. It sees everything at once and yields all that it finds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import timedelta

from .agreement import Agreement
from .catalogue import Catalogue, ReleaseCatalogue, parse_release
from .gate import Finding
from .hashes import hash_of
from .migrations import IN_TREE, MigrationSight
from .observations import UNKNOWN
from .reasons import enumerate_names, plural
from .settling import Look
from .states import StorageState

_MIGRATE = 'ansible-playbook lockstep.kubernetes.migrate -e \'{"migrate_resources": ["%s"]}\''
_AUDIT = "Read etcd with lockstep.kubernetes.storage_audit and give it as audit"
_NAMED = 5


@dataclass(frozen=True)
class CrdFacts:
    """A CustomResourceDefinition, as far as an upgrade is concerned."""

    resource: str
    kind: str
    versions: tuple[str, ...]
    storage: str
    stored: tuple[str, ...]


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
    # Definitions that are to be installed, by resource.
    incoming: Mapping[str, CrdFacts] = field(default_factory=dict)
    # How many objects there are, as far as somebody counted.
    objects: Mapping[str, int] = field(default_factory=dict)

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
        if self.formula_holds and crd:
            for version in crd.versions:
                if hash_of(group_version=version, kind=crd.kind) == storage_hash:
                    return version
        return UNKNOWN

    @property
    def judged(self) -> Iterator[tuple[str, Agreement]]:
        """The resources that kube-apiservers store themselves."""
        for name, agreement in self.look.agreements.items():
            if agreement.origin != "aggregated":
                yield name, agreement


Check = Callable[[Facts], Iterable[Finding]]


def check_releases(facts: Facts) -> Iterable[Finding]:
    """Whether it is known what the target, and the way back, can read."""
    step = facts.step
    for release, found, what in (
        (step.to_release, step.target, "the target"),
        (step.rollback_release, step.rollback, "the release to go back to"),
    ):
        if found is None:
            yield Finding(
                "release-unknown",
                "acknowledgeable",
                f"What {what}, {release}, can read is not in the catalogue",
                f"Read it off its kube-apiserver (make catalogue RELEASES={release.lstrip('v')}),"
                " and give the file as target_catalogue",
                "operator",
                unknown=True,
            )


def check_agreement(facts: Facts) -> Iterable[Finding]:
    """Whether all servers write alike before anything is changed."""
    for reason in facts.look.membership.reasons:
        yield Finding(
            "agreement", "acknowledgeable", reason.text, reason.remedy, "operator", unknown=True
        )
    for name, agreement in facts.judged:
        if agreement.agreed:
            continue
        first = next(iter(agreement.reasons), None)
        yield Finding(
            "agreement",
            "block" if agreement.status == "disagreeing" else "acknowledgeable",
            first.text if first else f"the servers are not known to agree on {name}",
            (first.remedy if first else "") or "Wait until every server agrees",
            "operator",
            resource=name,
            unknown=agreement.status != "disagreeing",
        )


def check_stored_known(facts: Facts) -> Iterable[Finding]:
    """Whether it is known what is stored at all."""
    for name, _agreement in facts.judged:
        if UNKNOWN not in facts.stored(name):
            continue
        state = facts.states.get(name)
        if state is None:
            seen = f"nothing is recorded of what is stored of {name}"
        elif state.stale(facts.look.sight.now, facts.window):
            seen = f"the record of {name} is stale: nobody looked since"
        else:
            seen = f"it is not known in which versions {name} is stored"
        yield Finding(
            "stored-unknown",
            "acknowledgeable",
            seen,
            f"{_AUDIT}; or migrate it: {_MIGRATE % name}",
            "audit",
            resource=name,
            unknown=True,
        )


def check_decodable(facts: Facts) -> Iterable[Finding]:
    """Whether the target reads every version that may be stored."""
    yield from _undecodable(facts, facts.step.target, "stored-undecodable", "the target")


def check_decodable_by_rollback(facts: Facts) -> Iterable[Finding]:
    """Whether the way back is open now, before anything is changed."""
    yield from _undecodable(
        facts, facts.step.rollback, "stored-undecodable-rollback", "the release to go back to"
    )


def _undecodable(
    facts: Facts, release: ReleaseCatalogue | None, check: str, what: str
) -> Iterable[Finding]:
    if release is None:
        return
    for name, agreement in facts.judged:
        if agreement.origin == "custom":
            continue
        known = release.resources.get(name)
        stored = [one for one in facts.stored(name) if one != UNKNOWN]
        if known is None:
            yield from _removed(facts, release, name, check, what)
            continue
        bad = [one for one in stored if one not in known.decodable]
        if bad:
            cured = agreement.encoding_version in known.decodable
            none = facts.objects.get(name) == 0
            yield Finding(
                check,
                # What the servers write counts as stored; without objects it is not yet.
                "warn" if none and bad == [agreement.encoding_version] else "block",
                f"{name} may be stored as {enumerate_names(bad)}, which {what}, {release}, can't"
                f" read{'; there is no object of it now' if none else ''}",
                (_MIGRATE % name) if cured else _without_migration(facts, name, release),
                "migration" if cured else "operator",
                resource=name,
            )


def _removed(
    facts: Facts, release: ReleaseCatalogue, name: str, check: str, what: str
) -> Iterable[Finding]:
    """A resource that the release does not have: what is left of it is lost to the cluster."""
    count = facts.objects.get(name)
    if count == 0:
        return
    left = "objects of it may be stored" if count is None else f"{plural(count, 'object')} is left"
    if count and count > 1:
        left = f"{plural(count, 'object')} are left"
    last = facts.catalogue.last_with(name)
    yield Finding(
        f"{check}-removed",
        "block" if count else "acknowledgeable",
        f"{what}, {release}, has no {name}"
        + (f" (the last release with it is {last})" if last else "")
        + f", and {left}",
        f"kubectl get {name} --all-namespaces; save what is needed and delete the objects",
        "operator",
        resource=name,
        unknown=count is None,
    )


def _without_migration(facts: Facts, name: str, release: ReleaseCatalogue) -> str:
    """What to do where even what the servers write now can't be read.

    A rollback is made safe by writing, while the new release runs, what the old one reads.
    """
    if release.minor >= parse_release(facts.step.from_release)[:2]:
        return (
            f"kubectl get {name} --all-namespaces -o yaml > {name}.yaml, then delete the objects,"
            " and create them anew after the step in a version that it has"
        )
    major, minor = release.minor
    return (
        f"Restart every server with --emulated-version={major}.{minor}, wait until they agree, and"
        f" migrate down: {_MIGRATE % name}"
    )


def check_target_writes(facts: Facts) -> Iterable[Finding]:
    """Whether the servers that are not rolled yet, and the way back, read what the target writes.

    While servers are rolled one by one, old ones read what new ones write (R10).
    """
    target = facts.step.target
    if target is None:
        return
    readers = {
        str(one): one for one in (facts.step.current, facts.step.rollback) if one is not None
    }
    for name, _agreement in facts.judged:
        new = target.resources.get(name)
        for reader in readers.values():
            old = reader.resources.get(name)
            if new is None or old is None or new.encoding in old.decodable:
                continue
            yield Finding(
                "target-writes",
                "block",
                f"{target} writes {name} as {new.encoding}, which {reader} can't read: not while"
                " servers are rolled, nor after going back",
                "Roll with upgrade_mode=coordinated: the new servers emulate the old release until"
                " all are new; or turn its API off",
                "operator",
                resource=name,
            )


def check_migrations(facts: Facts) -> Iterable[Finding]:
    """Whether migrations were left undone."""
    for one in facts.migrations:
        if one.phase == "succeeded" or one.resource not in facts.look.agreements:
            continue
        unproved = UNKNOWN in facts.stored(one.resource)
        words = {"failed": "has failed", "running": "still runs", "pending": "has not begun"}
        said = f": {one.message}" if one.message and one.phase == "failed" else ""
        yield Finding(
            f"migration-{'failed' if one.phase == 'failed' else 'unfinished'}",
            "acknowledgeable" if unproved else "warn",
            f"the migration {one} of {one.resource} {words[one.phase]}{said}",
            _MIGRATE % one.resource,
            "migration",
            resource=one.resource,
            unknown=unproved,
        )


def check_alpha_migrations(facts: Facts) -> Iterable[Finding]:
    """Whether migrations in the alpha API are left, which 1.35 can't read."""
    name = f"storageversionmigrations.{IN_TREE}"
    to_release, from_release = (
        parse_release(facts.step.to_release)[:2],
        parse_release(facts.step.from_release)[:2],
    )
    left = [one for one in facts.migrations if one.api == IN_TREE]
    if from_release < (1, 35) <= to_release and left:
        yield Finding(
            "alpha-migrations",
            "block",
            f"{plural(len(left), 'migration')} of {IN_TREE}/v1alpha1, such as {left[0].name}, would"
            " be unreadable",
            f"kubectl delete {name} --all",
            "operator",
            resource=name,
        )


def check_definitions(facts: Facts) -> Iterable[Finding]:
    """Whether definitions list versions as stored that they will not have."""
    for name, crd in sorted(facts.crds.items()):
        old = [one for one in crd.stored if one != crd.storage]
        if old:
            yield Finding(
                "crd-stored-versions",
                "warn" if name not in facts.incoming else "acknowledgeable",
                f"{name} may be stored as {enumerate_names(old)} besides {crd.storage}",
                _MIGRATE % name,
                "migration",
                resource=name,
            )
        incoming = facts.incoming.get(name)
        if incoming is None:
            continue
        dropped = [one for one in crd.stored if one not in incoming.versions]
        if dropped:
            cured = crd.storage in incoming.versions
            yield Finding(
                "crd-manifest-drops-version",
                "block",
                f"the manifest of {name} drops {enumerate_names(dropped)}, in which objects may be"
                " stored",
                (_MIGRATE % name)
                if cured
                else f"Install first a definition that stores {incoming.storage} and still has"
                f" {crd.storage}, then: {_MIGRATE % name}",
                "migration" if cured else "operator",
                resource=name,
            )


def check_unseen(facts: Facts) -> Iterable[Finding]:
    """Whether servers were changed while nobody looked."""
    for name, _agreement in facts.judged:
        state = facts.states.get(name)
        if state is not None and state.evidence.unseen:
            yield Finding(
                "unseen-change",
                "warn",
                f"since {name} was recorded {enumerate_names(state.evidence.unseen[:_NAMED])}",
                _AUDIT,
                "audit",
                resource=name,
            )


def check_skew(facts: Facts) -> Iterable[Finding]:
    """Whether the step is one that servers and their data are made for."""
    step = facts.step
    releases = sorted({str(one.release) for one in facts.look.sight.servers if one.release})
    if len(releases) > 1:
        yield Finding(
            "skew",
            "block",
            f"the servers run {enumerate_names(releases)}",
            "Bring all servers to one release first",
            "operator",
        )
    old, new = parse_release(step.from_release), parse_release(step.to_release)
    if abs(new[1] - old[1]) > 1 or new[0] != old[0]:
        way = "back" if step.down else "up"
        yield Finding(
            "skew",
            "block",
            f"from {step.from_release} to {step.to_release} is more than one minor release {way}",
            "Go one minor release at a time, with a migration after each",
            "operator",
        )


CHECKS: Mapping[str, Check] = {
    "release-unknown": check_releases,
    "agreement": check_agreement,
    "skew": check_skew,
    "stored-unknown": check_stored_known,
    "stored-undecodable": check_decodable,
    "stored-undecodable-rollback": check_decodable_by_rollback,
    "target-writes": check_target_writes,
    "migration-unfinished": check_migrations,
    "alpha-migrations": check_alpha_migrations,
    "crd-stored-versions": check_definitions,
    "unseen-change": check_unseen,
}
# Ids that a check gives besides the one it is listed under.
IDS = frozenset(
    {
        *CHECKS,
        "stored-undecodable-removed",
        "stored-undecodable-rollback-removed",
        "migration-failed",
        "crd-manifest-drops-version",
    }
)


def find_all(facts: Facts) -> tuple[Finding, ...]:
    """Run every check; all that they found, at once."""
    return tuple(finding for check in CHECKS.values() for finding in check(facts))
