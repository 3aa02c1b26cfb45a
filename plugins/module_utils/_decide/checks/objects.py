# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""Can all objects be read as they are, and written again?"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from shlex import quote
from urllib.parse import quote as quote_url

from ..gate import Finding, Severity
from ..keys import directory_of, object_name
from ..migrations import NEVER_MIGRATED
from ..names import resource_path, split_resource
from ..observations import UNKNOWN
from ..reasons import enumerate_names, plural
from .facts import NAMED, Facts, ListFacts


def check_lists(facts: Facts) -> Iterable[Finding]:
    """Whether every object can be read by the servers that run now."""
    if facts.lists is None:
        yield Finding(
            "list-unreadable",
            "acknowledgeable",
            "nobody has tried whether all objects can be read",
            f"Leave {facts.terms.option('lists')} on",
            "operator",
            unknown=True,
        )
    audited = facts.audit.undecodable if facts.audit else {}
    broken = {name for name, one in (facts.lists or {}).items() if one.fault}
    for name in sorted({*broken, *(one for one, keys in audited.items() if keys)}):
        keys = audited.get(name, ())
        listed = (facts.lists or {}).get(name)
        if keys:
            where = f": {enumerate_names(list(keys), at_most=NAMED)}"
        elif listed and listed.namespaces:
            where = f", in the namespace {enumerate_names(list(listed.namespaces), at_most=NAMED)}"
        else:
            where = ""
        said = f" ({listed.fault})" if listed and listed.fault else ""
        yield Finding(
            "list-unreadable",
            "acknowledgeable" if listed and listed.unknown else "block",
            f"not all of {name} can be read{where}{said}",
            "Give the servers back what they read it with, such as an encryption key or a version"
            " of its definition, or restore the object from a backup; only if neither can be done,"
            " delete it"
            if keys
            else f"See which key it is. {facts.terms.read_etcd}",
            "operator",
            resource=name,
            command=" && ".join(map(facts.terms.save_key, keys)),
            destructive_command=" && ".join(
                f"{facts.terms.save_key(key)} && {_delete(facts, name, key)}" for key in keys
            ),
            unknown=bool(listed and listed.unknown),
        )


def check_hidden(facts: Facts) -> Iterable[Finding]:
    """Whether servers and etcd hold the same objects, in both directions (R13).

    A cache leaves out what it can't read; and what etcd lacks lies in an etcd that was not read.
    """
    audit = facts.audit
    for name, one in sorted((facts.lists or {}).items()):
        if audit is None or name in NEVER_MIGRATED or one.objects is None:
            continue
        keys = None if audit.keys is None else audit.keys.get(name, 0)
        if keys is None or one.revision != audit.revision_of(name):
            yield Finding(
                "objects-hidden",
                "acknowledgeable",
                f"{name} could not be counted by its servers at the revision that etcd was read"
                " at: that one was compacted",
                facts.terms.read_etcd_again,
                "audit",
                resource=name,
                unknown=True,
                cause="compacted",
            )
        elif one.objects < keys:
            yield Finding(
                "objects-hidden",
                "block",
                f"etcd holds {plural(keys, 'object')} of {name}, and the server shows"
                f" {one.objects}: it can't read the others",
                "Restart the server, which makes it read all of them again, and run this again",
                "operator",
                resource=name,
            )
        elif one.objects > keys:
            yield Finding(
                "objects-hidden",
                "acknowledgeable",
                f"the servers show {plural(one.objects, 'object')} of {name}, and the etcd that was"
                f" read holds {keys}: the others are in another etcd or below another prefix",
                "Read etcd by the API servers' manifest, or with"
                f" {facts.terms.option('etcd_servers_overrides')} as the servers have it",
                "audit",
                resource=name,
                unknown=True,
            )


def join_compacted(facts: Facts, found: Sequence[Finding]) -> Finding:
    """That etcd had compacted what was read, once for all resources."""
    names = [one.resource for one in found]
    return replace(
        found[0],
        seen=f"{plural(len(names), 'resource')} could not be counted by their servers at the"
        " revision that etcd was read at, which was compacted:"
        f" {enumerate_names(names, at_most=NAMED)}",
        resource="",
        resources=tuple(names),
    )


def _delete(facts: Facts, resource: str, key: str) -> str:
    """Delete what can't be read: by a server, where it does that, and else behind its back."""
    directory = f"{facts.audit.prefix if facts.audit else ''}/{directory_of(resource)}/"
    served = next(
        (one.resources[resource] for one in facts.look.sight.servers if resource in one.resources),
        None,
    )
    named = object_name(key.encode(), directory.encode()) if key.startswith(directory) else ""
    if not facts.deletes_unreadable or served is None or not named:
        return facts.terms.delete_key(key)
    namespace, _slash, name = named.rpartition("/")
    path = resource_path(
        group_version=served.served_versions[0],
        plural=split_resource(resource)[0],
        namespace=namespace,
    )
    return facts.terms.delete_unreadable(f"{path}/{quote_url(name, safe=':')}")


def check_orphans(facts: Facts) -> Iterable[Finding]:
    """Whether objects lie in namespaces that do not exist: nobody can write those."""
    for name, one in sorted((facts.lists or {}).items()):
        if one.orphan_count:
            first = enumerate_names(list(one.orphans), at_most=NAMED)
            yield Finding(
                "orphans",
                _severity_of_writing(facts, name),
                f"{plural(one.orphan_count, 'object')} of {name} in namespaces that do not exist:"
                f" {first}",
                "Create the namespaces; what is not needed, delete then",
                "operator",
                resource=name,
                command=_with_namespaces(facts, one, "create"),
                destructive_command=" && ".join(
                    filter(None, (_with_namespaces(facts, one, do) for do in ("create", "delete")))
                ),
            )


def _with_namespaces(facts: Facts, listed: ListFacts, do: str) -> str:
    missing = dict.fromkeys(one.partition("/")[0] for one in listed.orphans if "/" in one)
    return " && ".join(f"{facts.terms.kubectl} {do} namespace {quote(one)}" for one in missing)


def check_managed_fields(facts: Facts) -> Iterable[Finding]:
    """Whether objects have fields managed in versions that are not served: writes may fail."""
    for name, one in sorted((facts.lists or {}).items()):
        if one.unserved_count:
            first = enumerate_names(list(one.unserved_fields), at_most=NAMED)
            yield Finding(
                "managed-fields",
                "warn",
                f"{plural(one.unserved_count, 'object')} of {name} with fields managed in a version"
                f" that is not served: {first}",
                "Migrate it with the backend direct, which does not apply; or clear"
                " metadata.managedFields of those objects",
                "operator",
                resource=name,
            )


def check_writes(facts: Facts) -> Iterable[Finding]:
    """Whether a rewrite would be refused, by a webhook or by validation: tried on a few."""
    for name, one in sorted(facts.samples.items()):
        for sample, why in one.refused[:NAMED]:
            yield Finding(
                "write-refused",
                _severity_of_writing(facts, name),
                f"{sample} of {name} could not be written again: {why}",
                "Mend the webhook or the object; a migration could not rewrite it",
                "operator",
                resource=name,
            )
        if one.untried:
            yield Finding(
                "write-untried",
                "warn",
                f"whether {name} can be written again could not be tried: {one.untried}",
                "See the reason",
                "operator",
                resource=name,
                unknown=True,
            )


def _severity_of_writing(facts: Facts, name: str) -> Severity:
    """What can't be written stops a step only where it has to be written."""
    return "acknowledgeable" if must_migrate(facts, name) else "warn"


def must_migrate(facts: Facts, name: str) -> bool:
    """Whether a resource has to be rewritten, before the step or after it."""
    agreement = facts.look.agreements.get(name)
    if agreement is None or facts.objects(name) == 0:
        return False
    stored = facts.stored(name)
    if UNKNOWN in stored or set(stored) - {agreement.encoding_version}:
        return True
    new = facts.step.target.resources.get(name) if facts.step.target else None
    return new is not None and bool(new.encoding) and new.encoding != agreement.encoding_version
