# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""Can etcd take what the step writes, and is there a way back if it is lost?"""

from __future__ import annotations

from collections.abc import Iterable

from ..commands import Terms
from ..etcd_versions import KNOWN_BUGS, version_to_update_to, voters
from ..gate import Finding
from ..reasons import enumerate_names, plural
from ..times import format_time
from .facts import Facts
from .objects import must_migrate

_MEGABYTE = 1_000_000
_NOT_ENCRYPTED = "identity"


def check_health(facts: Facts) -> Iterable[Finding]:
    """Whether every member is healthy, and no alarm is raised."""
    etcd = facts.audit.etcd if facts.audit else None
    for fault in etcd.faults if etcd else ():
        yield Finding(
            "etcd-health", "block", fault, "Mend etcd before anything is changed", "operator"
        )


def check_versions(facts: Facts) -> Iterable[Finding]:
    """Whether any member runs a version with a bug that is known."""
    members = facts.audit.etcd.members if facts.audit and facts.audit.etcd else ()
    for version in sorted({member.version for member in members}):
        running = [member.name for member in members if member.version == version]
        for bug in KNOWN_BUGS:
            if bug.fixed_in(version) and len(voters(members)) >= bug.least_voters:
                yield Finding(
                    "etcd-version",
                    bug.severity,
                    f"{enumerate_names(running)} {'runs' if len(running) == 1 else 'run'} etcd"
                    f" {version}, in which {bug.what} ({', '.join(bug.sources)})",
                    f"Update etcd to {version_to_update_to(version)} or newer on every member, and"
                    " before any update to the next minor release",
                    "operator",
                )


def check_quota(facts: Facts) -> Iterable[Finding]:
    """Whether there is room for one more revision of all that is to be rewritten."""
    etcd = facts.audit.etcd if facts.audit else None
    if facts.audit is None or etcd is None or not etcd.quota_bytes:
        return
    needed = sum(size for name, size in facts.audit.bytes.items() if must_migrate(facts, name))
    left, etcdctl = etcd.quota_bytes - etcd.used_bytes, facts.terms.etcd.etcdctl
    if needed >= left:
        yield Finding(
            "etcd-quota",
            "block",
            f"etcd has room for {left / _MEGABYTE:.1f} MB more, and a migration would write"
            f" {needed / _MEGABYTE:.1f} MB",
            "Compact and defragment etcd, or raise --quota-backend-bytes on every member",
            "operator",
            command=f'{etcdctl} compact "$({etcdctl} endpoint status --write-out=json | grep -o'
            f' \'"revision":[0-9]*\' | head -1 | cut -d: -f2)" && {etcdctl} defrag',
        )


def check_snapshot(facts: Facts) -> Iterable[Finding]:
    """Whether etcd was saved lately."""
    taken, now = facts.snapshot, facts.look.sight.now
    if taken is not None and now - taken <= facts.snapshot_window:
        return
    seen = f"the last snapshot of etcd is of {format_time(taken)}" if taken else ""
    yield Finding(
        "etcd-snapshot",
        "warn",
        seen or "nobody has said when etcd was last saved",
        _saving(facts.terms),
        "operator",
        command=f"{facts.terms.etcd.one.etcdctl} snapshot save lockstep.db &&"
        " etcdutl snapshot status lockstep.db",
    )


def _saving(terms: Terms) -> str:
    """What to do, where it was asked."""
    if terms.asked_by == "upgrade":
        return (
            "The upgrade saves it before the first server is touched, unless upgrade_snapshot_skip"
            " is set; else save it yourself, and verify it"
        )
    given = "the file" if terms.asked_by == "preflight" else "its time"
    name = "snapshot" if terms.asked_by == "preflight" else "snapshot_time"
    return f"Save etcd, verify it, and give {given} as {terms.option(name)}"


def check_encryption(facts: Facts) -> Iterable[Finding]:
    """Whether objects lie under several encryption keys: a migration was not finished."""
    for name, keys in sorted(facts.audit.encryption.items() if facts.audit else ()):
        if len(keys) > 1:
            told = enumerate_names([f"{count} by {key}" for key, count in sorted(keys.items())])
            yield Finding(
                "encryption-mixed",
                "warn",
                f"{name} is encrypted in several ways: {told}",
                "Rewrite all of it once every server writes with one key",
                "migration",
                resource=name,
                command=facts.terms.migrate([name], migrate_scope="all"),
            )


def check_retired_keys(facts: Facts) -> Iterable[Finding]:
    """Whether an encryption key that is to be taken away is still needed."""
    if facts.retired_keys and facts.audit is None:
        yield Finding(
            "encryption-key-needed",
            "acknowledgeable",
            f"nobody knows whether {enumerate_names(list(facts.retired_keys))} is still needed",
            facts.terms.read_etcd,
            "audit",
            unknown=True,
        )
    for name, keys in sorted(facts.audit.encryption.items() if facts.audit else ()):
        for key in facts.retired_keys:
            count = sum(number for one, number in keys.items() if _is_key(one, key))
            if count:
                yield Finding(
                    "encryption-key-needed",
                    "block",
                    f"{plural(count, 'object')} of {name} can be read only with the key {key}",
                    "Keep the key on every server until all of it is rewritten",
                    "migration",
                    resource=name,
                    command=facts.terms.migrate([name], migrate_scope="all"),
                )


def _is_key(stored: str, key: str) -> bool:
    """Whether a stored `aescbc:v1:key1` is what somebody calls so, or just `key1`."""
    return stored != _NOT_ENCRYPTED and (stored == key or key in stored.split(":")[2:])
