# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""Were migrations left undone?"""

from __future__ import annotations

from collections.abc import Iterable

from ..catalogue import parse_release
from ..gate import Finding
from ..migrations import IN_TREE
from ..observations import UNKNOWN
from ..reasons import plural
from .facts import Facts


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
            "Finish it, or have it done anew",
            "migration",
            resource=one.resource,
            command=facts.terms.migrate([one.resource]),
            unknown=unproved,
        )


def check_migrations_listed(facts: Facts) -> Iterable[Finding]:
    """Whether all migrations could be seen."""
    for group, fault in facts.unlisted_migrations.items():
        yield Finding(
            "migrations-unlisted",
            "acknowledgeable",
            f"the migrations of {group} can't be listed: {fault}",
            "See which of them can't be read, by an audit of etcd, and delete it there",
            "operator",
            resource=f"storageversionmigrations.{group}",
            unknown=True,
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
            "Wait until they have ended, and delete them: nothing else is kept in them",
            "operator",
            resource=name,
            destructive_command=facts.terms.delete_objects(name),
        )
