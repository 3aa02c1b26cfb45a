# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""Can all objects be read as they are, and written again?"""

from __future__ import annotations

from collections.abc import Iterable

from ..gate import Finding, Severity
from ..observations import UNKNOWN
from ..reasons import enumerate_names, plural
from .facts import NAMED, Facts


def check_lists(facts: Facts) -> Iterable[Finding]:
    """Whether every object can be read by the servers that run now."""
    if facts.lists is None:
        yield Finding(
            "list-unreadable",
            "acknowledgeable",
            "nobody has tried whether all objects can be read",
            "Leave the option lists on",
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
            "Save the value of the key and delete the key from etcd"
            if keys
            else "Find the key with lockstep.kubernetes.storage_audit; save its value and delete"
            " it from etcd",
            "operator",
            resource=name,
            command=" && ".join(_save_and_delete_key(key) for key in keys),
            unknown=bool(listed and listed.unknown),
        )


def check_hidden(facts: Facts) -> Iterable[Finding]:
    """Whether servers show all objects that lie in etcd: a cache leaves out what it can't read."""
    for name, one in sorted((facts.lists or {}).items()):
        if one.shown is None or one.shown < one.audited:
            known = one.shown is not None
            yield Finding(
                "objects-hidden",
                "block" if known else "acknowledgeable",
                f"etcd holds {plural(one.audited, 'object')} of {name}, and the server shows"
                f" {one.shown if known else 'fewer'}: it can't read the others",
                "Restart the server, which makes it read all of them anew, and judge again"
                if known
                else "Judge again: objects may have been deleted right after etcd was read",
                "operator",
                resource=name,
                unknown=not known,
            )


def _save_and_delete_key(key: str) -> str:
    saved = key.strip("/").replace("/", "_")
    return f"etcdctl get --print-value-only '{key}' > '{saved}' && etcdctl del '{key}'"


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
                "Create the namespaces and delete them again, which takes the objects along",
                "operator",
                resource=name,
                command=" && ".join(
                    f"kubectl create namespace {namespace} && kubectl delete namespace {namespace}"
                    for namespace in dict.fromkeys(
                        orphan.partition("/")[0] for orphan in one.orphans if "/" in orphan
                    )
                ),
            )


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
