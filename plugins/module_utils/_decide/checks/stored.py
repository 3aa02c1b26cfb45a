# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""Can the target, and the way back, read what may lie in etcd?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

from ..catalogue import ReleaseCatalogue
from ..gate import Finding, Safe
from ..keys import directory_of, same_objects
from ..migrations import NEVER_MIGRATED
from ..observations import UNKNOWN
from ..reasons import enumerate_names, plural
from .facts import NAMED, Facts
from .serving import serves

_EXPIRE = (
    "acknowledge it, as events expire by themselves (within an hour, unless --event-ttl says"
    " otherwise) and are never migrated"
)


def check_stored_known(facts: Facts) -> Iterable[Finding]:
    """Whether it is known what is stored at all."""
    for name, _agreement in facts.judged:
        if UNKNOWN not in facts.stored(name):
            continue
        state = facts.states.get(name)
        if state is None:
            seen, cause = f"nothing is recorded of what is stored of {name}", "not recorded"
        elif state.stale(facts.look.sight.now, facts.window):
            seen = f"the record of {name} is stale: nobody looked since"
            cause = "recorded too long ago"
        else:
            seen = f"it is not known in which versions {name} is stored"
            cause = "recorded as Unknown"
        expires = name in NEVER_MIGRATED
        yield Finding(
            "stored-unknown",
            "acknowledgeable",
            seen,
            f"{facts.terms.read_etcd}; or {_EXPIRE if expires else 'migrate it'}",
            "operator" if expires else "audit",
            resource=name,
            command="" if expires else facts.terms.migrate([name]),
            unknown=True,
            cause=cause,
        )


def join_unknown(facts: Facts, found: Sequence[Finding]) -> Finding:
    """That nothing tells what is stored, once for all resources."""
    names = [one.resource for one in found]
    causes = Counter(one.cause for one in found)
    why = enumerate_names([f"{count} {cause}" for cause, count in causes.items()])
    unread = "etcd was not read, and " if facts.audit is None else ""
    every = {name for name, _agreement in facts.judged} - {*NEVER_MIGRATED} == set(names)
    migrate = f"migrate {'everything' if every else 'them'}"
    expire = all(name in NEVER_MIGRATED for name in names)
    return replace(
        found[0],
        seen=f"{unread}nothing else tells in which versions {plural(len(names), 'resource')} may be"
        f" stored ({why}): {enumerate_names(names, at_most=NAMED)}",
        remedy=f"{facts.terms.read_etcd}; or {_EXPIRE if expire else migrate}",
        resource="",
        resources=tuple(names),
        command="" if expire else facts.terms.migrate([] if every else names),
    )


def check_decodable(facts: Facts) -> Iterable[Finding]:
    """Whether the target reads every version that may be stored."""
    yield from _undecodable(facts, facts.step.target, "stored-undecodable", "the target")
    yield from _undefined(facts)


def _undefined(facts: Facts) -> Iterable[Finding]:
    """Custom resources in versions that their definitions do not have: no release reads those."""
    for name, crd in sorted(facts.crds.items()):
        stored = facts.audit.versions.get(name, ()) if facts.audit else ()
        bad = [one for one in stored if one != UNKNOWN and one not in crd.versions]
        if bad:
            yield Finding(
                "stored-undecodable",
                "block",
                f"{name} is stored as {enumerate_names(bad)}, which its definition does not have",
                "Put the version back into the definition, served or not, and migrate it then",
                "operator",
                resource=name,
            )


def check_decodable_by_rollback(facts: Facts) -> Iterable[Finding]:
    """Whether the way back is open now, before anything is changed."""
    yield from _undecodable(
        facts, facts.step.rollback, "stored-undecodable-rollback", "the release to go back to"
    )


def decodable(facts: Facts, name: str, release: ReleaseCatalogue | None) -> Safe:
    """Whether a release reads all that may be stored of a resource, as far as is known."""
    stored = facts.stored(name)
    if facts.look.agreements[name].origin == "custom":
        # Any release reads what the definition has; the list shows whether it has all of it.
        listed = (facts.lists or {}).get(name)
        return "unknown" if listed is None or UNKNOWN in stored or listed.fault else "true"
    known = release.resources.get(name) if release else None
    if release is not None and any(
        known is None or one not in known.decodable for one in stored if one != UNKNOWN
    ):
        return "false"
    return "unknown" if release is None or UNKNOWN in stored else "true"


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
            none = facts.objects(name) == 0
            yield Finding(
                check,
                # What the servers write counts as stored; without objects it is not yet.
                "warn" if none and bad == [agreement.encoding_version] else "block",
                f"{name} may be stored as {enumerate_names(bad)}, which {what}, {release}, can't"
                f" read{'; there is no object of it now' if none else ''}",
                "Migrate it" if cured else _without_migration(facts, name, release),
                "migration" if cured else "operator",
                resource=name,
                command=facts.terms.migrate([name]) if cured else "",
                destructive_command=""
                if cured or _has_way_down(facts, name, release)
                else facts.terms.save_and_delete(name),
            )


def _removed(
    facts: Facts, release: ReleaseCatalogue, name: str, check: str, what: str
) -> Iterable[Finding]:
    """A resource that the release does not have: what is left of it is lost to the cluster."""
    count = facts.objects(name)
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
        "Move to what the release has in its place; then save the objects, and delete them",
        "operator",
        resource=name,
        destructive_command=facts.terms.save_and_delete(name),
        unknown=count is None,
    )


def _without_migration(facts: Facts, name: str, release: ReleaseCatalogue) -> str:
    """What to do where even what the servers write now can't be read.

    A rollback is made safe by writing, while the new release runs, what the old one reads.
    """
    if not _has_way_down(facts, name, release):
        return (
            "Save the objects and delete them; create them anew after the step, in a version that"
            " it has"
        )
    major, minor = release.minor
    return (
        f"Restart every server with --emulated-version={major}.{minor}, wait until they agree, and"
        " migrate it"
    )


def _has_way_down(facts: Facts, name: str, release: ReleaseCatalogue) -> bool:
    """Whether the release that runs writes what the other one reads while it emulates that."""
    major, minor = release.minor
    emulating = facts.catalogue.find(facts.step.from_release, emulated=f"{major}.{minor}")
    known = emulating.resources.get(name) if emulating else None
    # Alpha versions are not kept up for emulation.
    return known is not None and known.encoding in release.resources[name].decodable


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
            if serves(facts, new, target, facts.step.to_release) is False:
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


def check_unserved(facts: Facts) -> Iterable[Finding]:
    """Whether anything is stored that no server shows: what an audit found besides."""
    if facts.audit is None:
        return
    target = facts.step.target
    for name, versions in sorted(facts.audit.versions.items()):
        # What is served under one of its names can be read under it.
        if any(one in facts.look.agreements for one in same_objects(name)):
            continue
        known = target.resources.get(name) if target else None
        bad = [one for one in versions if known is None or one not in known.decodable]
        stored = (
            f"{name} is stored as {enumerate_names(list(versions))}, which no server serves now"
        )
        yield Finding(
            "stored-unserved",
            "acknowledgeable",
            f"{stored}, and {target or 'the target'} can't read it"
            if bad
            # Only its envelope is known: whether all of it can be read shows when it is read.
            else f"{stored}, so that nobody can tell whether all of it can be read",
            "Turn its API on, so that its objects can be saved and deleted; only if that can't be"
            " done, delete its keys from etcd"
            if bad
            else "Turn its API on, and run this again; only if that can't be done, delete its keys"
            " from etcd",
            "operator",
            resource=name,
            destructive_command=facts.terms.delete_keys(
                f"{facts.audit.prefix}/{directory_of(name)}/", name
            ),
            unknown=not bad,
        )
    for directory, count in sorted(facts.audit.unmapped.items()):
        yield Finding(
            "stored-unserved",
            "acknowledgeable",
            f"{plural(count, 'key')} below {directory} {'is' if count == 1 else 'are'} of no known"
            " resource",
            "If they are of an aggregated API server, acknowledge it; else find out whose they"
            " are, and delete them",
            "operator",
            resource=directory,
            unknown=True,
        )


def check_all_seen(facts: Facts) -> Iterable[Finding]:
    """Whether all keys were read: no API shows those of kinds that no server serves."""
    if facts.audit is None or not facts.audit.complete:
        what = "not all of etcd was read" if facts.audit else "etcd was not read"
        yield Finding(
            "keys-unseen",
            "acknowledgeable",
            f"{what}: keys of kinds that no server serves may be left there",
            facts.terms.read_etcd,
            "audit",
            unknown=True,
        )
    for reason in facts.audit.against if facts.audit else ():
        yield Finding(
            "keys-unseen",
            "acknowledgeable",
            f"the audit of etcd does not count: {reason.text}",
            facts.terms.translate(reason.remedy) or facts.terms.read_etcd,
            "audit",
            unknown=True,
        )
