# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""All checks of an upgrade. Each has an id that never changes, sees all facts, and yields all
that it finds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from ..gate import Finding
from . import definitions, etcd, migrations, objects, servers, serving, stored
from .facts import Facts


def _always(_facts: Facts) -> bool:
    return True


def _audited(facts: Facts) -> bool:
    return facts.audit is not None


def _etcd_told(facts: Facts) -> bool:
    return facts.audit is not None and facts.audit.etcd is not None


@dataclass(frozen=True)
class Check:
    """What is checked, in words, how, and whether what it needs is at hand."""

    title: str
    find: Callable[[Facts], Iterable[Finding]]
    can_run: Callable[[Facts], bool] = _always
    # Ids of findings that it gives besides the one it is listed under.
    also: frozenset[str] = field(default_factory=frozenset)
    # Tells those of its findings that have a cause as one.
    join: Callable[[Facts, Sequence[Finding]], Finding] | None = None


CHECKS: Mapping[str, Check] = {
    "release-unknown": Check("What the releases read is known", servers.check_releases),
    "agreement": Check("All servers write alike", servers.check_agreement),
    "aggregated-unknown": Check("What aggregated APIs write is known", servers.check_aggregated),
    "crd-storage-unserved": Check(
        "CRDs serve the version that they store", servers.check_crds_served
    ),
    "skew": Check("One minor release at a time", servers.check_skew),
    "foreign-trigger": Check("No other trigger is at work", servers.check_foreign_trigger),
    "encryption-config": Check(
        "All servers encrypt by one configuration",
        servers.check_encryption_configs,
        can_run=lambda facts: facts.encryption_configs is not None,
    ),
    "stored-unknown": Check(
        "What is stored is known", stored.check_stored_known, join=stored.join_unknown
    ),
    "keys-unseen": Check("All keys in etcd were seen", stored.check_all_seen),
    "stored-undecodable": Check(
        "The target reads what is stored",
        stored.check_decodable,
        also=frozenset({"stored-undecodable-removed"}),
    ),
    "stored-undecodable-rollback": Check(
        "The release to go back to reads what is stored",
        stored.check_decodable_by_rollback,
        also=frozenset({"stored-undecodable-rollback-removed"}),
    ),
    "stored-unserved": Check(
        "Nothing is stored that nobody serves", stored.check_unserved, can_run=_audited
    ),
    "target-unserved": Check("The target serves what is stored", serving.check_target_serves),
    "rollback-unserved": Check(
        "The release to go back to serves what is stored", serving.check_rollback_serves
    ),
    "target-writes": Check("What the target writes can be read", stored.check_target_writes),
    "migration-unfinished": Check(
        "No migration was left undone",
        migrations.check_migrations,
        also=frozenset({"migration-failed"}),
    ),
    "migrations-unlisted": Check(
        "All migrations could be seen", migrations.check_migrations_listed
    ),
    "alpha-migrations": Check(
        "No migrations in the alpha API are left", migrations.check_alpha_migrations
    ),
    "crd-stored-versions": Check(
        "Definitions hold what is stored",
        definitions.check_definitions,
        also=frozenset({"crd-manifest-drops-version"}),
    ),
    "conversion-webhook": Check(
        "Conversion webhooks do their work",
        definitions.check_conversions,
        also=frozenset({"conversion-webhook-ca"}),
    ),
    "list-unreadable": Check("All objects can be read", objects.check_lists),
    "objects-hidden": Check(
        "Servers show all that is stored",
        objects.check_hidden,
        can_run=lambda facts: facts.lists is not None and facts.audit is not None,
        join=objects.join_compacted,
    ),
    "orphans": Check(
        "No objects in missing namespaces",
        objects.check_orphans,
        can_run=lambda facts: facts.lists is not None,
    ),
    "managed-fields": Check(
        "Fields are managed in served versions",
        objects.check_managed_fields,
        can_run=lambda facts: facts.lists is not None,
    ),
    "write-refused": Check(
        "Objects can be written again",
        objects.check_writes,
        can_run=lambda facts: facts.lists is not None,
        also=frozenset({"write-untried"}),
    ),
    "unseen-change": Check(
        "No server was changed unseen", servers.check_unseen, join=servers.join_unseen
    ),
    "etcd-health": Check("etcd is healthy", etcd.check_health, can_run=_etcd_told),
    "etcd-version": Check(
        "etcd's version has no known bug",
        etcd.check_versions,
        can_run=lambda facts: bool(facts.audit and facts.audit.etcd and facts.audit.etcd.members),
    ),
    "etcd-quota": Check("etcd has room", etcd.check_quota, can_run=_etcd_told),
    "etcd-snapshot": Check("etcd was saved lately", etcd.check_snapshot),
    "encryption-mixed": Check(
        "Objects lie under one encryption key", etcd.check_encryption, can_run=_audited
    ),
    "encryption-key-needed": Check(
        "Retired encryption keys are not needed",
        etcd.check_retired_keys,
        can_run=lambda facts: bool(facts.retired_keys),
    ),
}
IDS = frozenset(CHECKS).union(*(check.also for check in CHECKS.values()))


def find_all(facts: Facts) -> tuple[Finding, ...]:
    """Run every check; all that they found, at once."""
    return tuple(
        finding
        for check in CHECKS.values()
        if check.can_run(facts)
        for finding in check.find(facts)
    )


def join_findings(facts: Facts, findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Tell together what has the same cause in many resources, after each was judged by itself.

    What was acknowledged for some of them, and what may wait, stays apart.
    """
    groups: dict[object, list[Finding]] = {}
    for one in findings:
        check = CHECKS.get(one.check)
        joins = one.cause and check is not None and check.join is not None
        told = (one.check, one.severity, one.cured_by, one.unknown)
        alike = (*told, one.acknowledged, one.differs_by_upgrade)
        groups.setdefault(alike if joins else object(), []).append(one)
    return tuple(_join(facts, group) for group in groups.values())


def _join(facts: Facts, group: Sequence[Finding]) -> Finding:
    check = CHECKS.get(group[0].check)
    if len(group) == 1 or check is None or check.join is None:
        return group[0]
    return check.join(facts, group)
