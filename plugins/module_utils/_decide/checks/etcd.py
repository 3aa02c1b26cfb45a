# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""Can etcd take what the step writes, and is there a way back if it is lost?"""

from __future__ import annotations

from collections.abc import Iterable

from ..gate import Finding
from ..reasons import enumerate_names, plural
from ..times import format_time
from .facts import AUDIT, MIGRATE, Facts
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


def check_quota(facts: Facts) -> Iterable[Finding]:
    """Whether there is room for one more revision of all that is to be rewritten."""
    etcd = facts.audit.etcd if facts.audit else None
    if facts.audit is None or etcd is None or not etcd.quota_bytes:
        return
    needed = sum(size for name, size in facts.audit.bytes.items() if must_migrate(facts, name))
    left = etcd.quota_bytes - etcd.used_bytes
    if needed >= left:
        yield Finding(
            "etcd-quota",
            "block",
            f"etcd has room for {left / _MEGABYTE:.1f} MB more, and a migration would write"
            f" {needed / _MEGABYTE:.1f} MB",
            "Compact and defragment etcd, or raise --quota-backend-bytes on every member",
            "operator",
            command='etcdctl compact "$(etcdctl endpoint status --write-out=json | grep -o'
            ' \'"revision":[0-9]*\' | head -1 | cut -d: -f2)" && etcdctl defrag',
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
        "Save etcd, verify it, and give its time as snapshot_time",
        "operator",
        command="etcdctl snapshot save lockstep.db && etcdutl snapshot status lockstep.db",
    )


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
                command=f"{MIGRATE % name} -e migrate_scope=all",
            )


def check_retired_keys(facts: Facts) -> Iterable[Finding]:
    """Whether an encryption key that is to be taken away is still needed."""
    if facts.retired_keys and facts.audit is None:
        yield Finding(
            "encryption-key-needed",
            "acknowledgeable",
            f"nobody knows whether {enumerate_names(list(facts.retired_keys))} is still needed",
            AUDIT,
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
                    command=f"{MIGRATE % name} -e migrate_scope=all",
                )


def _is_key(stored: str, key: str) -> bool:
    """Whether a stored `aescbc:v1:key1` is what somebody calls so, or just `key1`."""
    return stored != _NOT_ENCRYPTED and (stored == key or key in stored.split(":")[2:])
