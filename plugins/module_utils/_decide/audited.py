# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""What an audit and the look before it say of one resource, read back from their results."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

from .agreement import Agreement
from .checks.facts import AuditFacts
from .epoch import Epoch
from .errors import LockstepError
from .hashes import hash_of
from .keys import chosen, place_known, same_objects
from .observations import UNKNOWN, EtcdSight
from .times import parse_time

_LOOK = {"resources", "epoch", "time"}
# What is kept in an etcd of its own is gone before it matters.
_EXPIRING = frozenset({"events", "events.events.k8s.io"})


@dataclass(frozen=True)
class AuditEvidence:
    """An audit of etcd, and a look at the servers that ended before it began."""

    audit: Mapping[str, Any]
    before: Mapping[str, Any]

    @property
    def revision(self) -> int:
        return int(self.audit["revision"])

    @property
    def time(self) -> datetime:
        """When the look before was taken, by the servers' clock."""
        return parse_time(self.before["time"]) or datetime.min.replace(tzinfo=timezone.utc)

    def covers(self, resource: str) -> bool:
        """Whether both looked at this resource at all."""
        seen = self.before["resources"].get(resource)
        if seen is None or set(same_objects(resource)) & set(self.audit["elsewhere"]):
            return False
        # Of a built-in resource that a newer release keeps elsewhere, no keys means nothing.
        findable = seen["origin"] == "custom" or place_known(resource)
        return findable and chosen(resource, self.audit["audited"])

    def hashes(self, *, resource: str, kind: str) -> tuple[str, ...] | None:
        """The hashes of what is stored; None where encryption hides them."""
        counted = self._counted(resource)
        versions = counted.get("versions", {})
        if UNKNOWN in versions:
            return None
        found = {hash_of(group_version=version, kind=kind) for version in versions}
        if counted.get("undecodable_keys"):
            found.add(UNKNOWN)
        return tuple(sorted(found))

    def outdated(self, resource: str) -> tuple[str, ...] | None:
        """The objects in another version than the servers write; None unless all are known."""
        if not self.covers(resource):
            return None
        counted = self._counted(resource)
        if not counted:
            return ()
        # Names that were held against another version than the look saw are the wrong ones.
        written = self.before["resources"][resource].get("encoding_version")
        if not written or counted.get("encoding_version") != written:
            return None
        return tuple(counted["outdated"]) if counted.get("outdated_complete") else None

    def agreement(self, resource: str) -> Agreement:
        """The verdict of the look before."""
        seen = self.before["resources"][resource]
        return Agreement(
            resource=resource,
            status=seen["status"],
            origin=seen["origin"],
            source=seen["source"],
            kind=seen["kind"],
            storage_hash=seen["hash"],
        )

    def epoch(self, resource: str, *, encryption: str) -> Epoch:
        """The epoch of the look before."""
        crd = self.before["resources"][resource]["crd"] or {"uid": "", "generation": 0}
        return Epoch.from_dict({**self.before["epoch"], "crd": crd, "encryption": encryption})

    def undecodable(self, resource: str) -> tuple[str, ...]:
        """The first keys of a resource that nobody can decode."""
        return tuple(one["key"] for one in self._counted(resource).get("undecodable", ()))

    def _counted(self, resource: str) -> Mapping[str, Any]:
        """The counts of a resource, also under the name of another that is the same objects."""
        counts: Mapping[str, Any] = self.audit["resources"]
        for name, counted in counts.items():
            if name == resource or resource in counted["shared_with"]:
                return dict(counted)
        return {}


def read_audit(audit: object, audited_after: object) -> AuditEvidence | None:
    """Take the two options apart; None without an audit, an error for anything but results."""
    if audit is None:
        return None
    needed = {"resources", "revision", "audited", "elsewhere"}
    if not isinstance(audit, Mapping) or not needed <= audit.keys():
        raise LockstepError(
            "The option audit holds something else than a result of storage_audit",
            f"It must have {', '.join(sorted(needed))}",
            "Register the task that runs storage_audit, and give what was registered",
        )
    if not isinstance(audited_after, Mapping) or not audited_after.keys() >= _LOOK:
        raise LockstepError(
            "The option audited_after holds no result of discovery_hash",
            "Without a look from before the audit nobody knows what changed while etcd was read",
            "Run discovery_hash before storage_audit, register it, and give what was registered",
        )
    return AuditEvidence(audit, audited_after)


def read_audit_facts(audit: Mapping[str, Any]) -> AuditFacts:
    """What an audit counted, for the checks of an upgrade."""
    counts: Mapping[str, Any] = audit["resources"]
    told = audit.get("etcd")
    return AuditFacts(
        versions={
            name: tuple(one["versions"])
            for resource, one in counts.items()
            for name in (resource, *one["shared_with"])
        },
        keys={
            name: int(one["keys"])
            for resource, one in counts.items()
            for name in (resource, *one["shared_with"])
        }
        if not audit.get("incremental") and not audit.get("later_revisions")
        else {},
        revision=int(audit["revision"]),
        bytes={name: int(one["bytes"]) for name, one in counts.items()},
        encryption={name: dict(one["encryption"]) for name, one in counts.items()},
        undecodable={
            name: tuple(key["key"] for key in one["undecodable"]) for name, one in counts.items()
        },
        unmapped={name: int(one["keys"]) for name, one in audit.get("unmapped", {}).items()},
        prefix=str(audit.get("prefix") or "/registry"),
        complete=list(audit["audited"]) == ["*"] and set(audit["elsewhere"]) <= _EXPIRING,
        etcd=EtcdSight(
            faults=tuple(told["faults"]),
            used_bytes=int(told["used_bytes"]),
            quota_bytes=int(told["quota_bytes"]),
        )
        if told
        else None,
    )
