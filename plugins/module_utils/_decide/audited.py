# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""What an audit and the look before it say of one resource, read back from their results."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Any

from .agreement import Agreement
from .checks.facts import AuditFacts
from .epoch import Epoch, compare_epochs, decide_epoch
from .errors import LockstepError
from .hashes import hash_of
from .keys import chosen, place_known, same_objects
from .migrations import NEVER_MIGRATED
from .observations import UNKNOWN, EtcdSight
from .reasons import Reason, enumerate_names, plural
from .settling import Look
from .times import parse_time

_LOOK = {"resources", "epoch", "time", "cluster"}
_AUDIT = {"resources", "revision", "audited", "elsewhere", "cluster", "believable"}
_AGAIN = "Observe the servers with discovery_hash, then read etcd with storage_audit"
_UP_TO_DATE = "Bring the audit up to date (storage_audit with since), and use it right after"


@dataclass(frozen=True)
class Shown:
    """How many objects of a resource the servers showed at the audit's revision."""

    # None: nobody can tell, and why.
    objects: int | None
    why: str = ""


@dataclass(frozen=True)
class AuditEvidence:
    """An audit of etcd, and an observation of the servers that ended before it began."""

    audit: Mapping[str, Any]
    before: Mapping[str, Any]

    @property
    def revision(self) -> int:
        return int(self.audit["revision"])

    def revision_of(self, resource: str) -> int:
        """At which revision a resource was read: another etcd has revisions of its own."""
        return int((self.audit.get("revisions") or {}).get(resource, self.revision))

    def against(self) -> tuple[Reason, ...]:
        """Why the audit as a whole proves nothing of this cluster since the observation (R12)."""
        return (
            *self._against_identity(),
            *self._against_belief(),
            *_against_order(self.revision, self._observed_at(None), "etcd"),
        )

    def against_resource(self, resource: str, shown: Shown | None) -> tuple[Reason, ...]:
        """Why it proves nothing of one resource: its order in time, and its completeness (R13)."""
        home = next((one for one in self._other_stores() if resource in one), None)
        order: Iterable[Reason] = ()
        if home is not None:
            what = f"the etcd of {resource}"
            order = _against_order(self.revision_of(resource), self._observed_at(home), what)
        return (*order, *self._against_completeness(resource, shown))

    def changes(self, epoch: Epoch) -> tuple[str, ...]:
        """What changed since the observation before the audit, apart from definitions."""
        before = Epoch.from_dict(
            {**self.before["epoch"], "crd": {"uid": "", "generation": 0}, "encryption": ""}
        )
        return tuple(map(str, compare_epochs(before=before, after=epoch)))

    def _against_identity(self) -> Iterable[Reason]:
        audited, seen = self.audit["cluster"], self.before["cluster"]
        if audited.get("uid"):
            # That it is the same one was checked when the two were read.
            return
        key_revision = int(audited.get("key_revision") or 0)
        if not key_revision:
            yield Reason(
                "the audit found no namespace kube-system in etcd, so nothing shows that it is of "
                "this cluster",
                "Audit the etcd and the prefix that the API servers use (--etcd-servers, "
                "--etcd-prefix), as a user who may read all keys",
            )
        elif str(key_revision) != str(seen.get("kube_system_revision") or ""):
            yield Reason(
                "kube-system is encrypted in etcd, and was last written at revision "
                f"{key_revision} there, but at {seen.get('kube_system_revision') or 'none'} by "
                "what the servers show: the audit is of another cluster, or the namespace was "
                "changed in between",
                _AGAIN,
            )

    def _against_belief(self) -> Iterable[Reason]:
        if not self.audit["believable"]:
            for why in self.audit.get("reasons") or ["etcd's answers can't be believed"]:
                yield Reason(str(why), "Bring all members of etcd up, and read it again")

    def _other_stores(self) -> list[frozenset[str]]:
        """The resources in each etcd besides the main one."""
        stores = self.audit.get("stores") or []
        return [frozenset(one.get("resources") or ()) for one in stores[1:]]

    @property
    def unordered(self) -> tuple[str, ...]:
        """A resource of each etcd whose revision the observation before did not take."""
        return tuple(
            sorted(home)[0] for home in self._other_stores() if home and not self._observed_at(home)
        )

    def _observed_at(self, home: frozenset[str] | None) -> int | None:
        """The revision that the observation ended at, in one etcd; None is the main one."""
        others: frozenset[str] = frozenset().union(*self._other_stores())
        for witness, revision in (self.before["cluster"].get("revisions") or {}).items():
            if witness in home if home is not None else witness not in others:
                return int(revision)
        return None

    def _against_completeness(self, resource: str, shown: Shown | None) -> Iterable[Reason]:
        if resource in NEVER_MIGRATED:
            return
        keys, at = self.keys(resource), f"at revision {self.revision_of(resource)}"
        if keys is None:
            yield Reason(
                f"etcd was compacted while {resource} was read, so that its keys were not counted "
                "at one moment",
                _UP_TO_DATE,
                resource=resource,
            )
        elif shown is None or shown.objects is None:
            why = f": {shown.why}" if shown and shown.why else ""
            yield Reason(
                f"how many objects of {resource} the servers show {at} could not be counted{why}",
                _UP_TO_DATE,
                resource=resource,
            )
        elif shown.objects > keys:
            yield Reason(
                f"the servers show {plural(shown.objects, 'object')} of {resource} {at}, and etcd "
                f"holds {plural(keys, 'key')} of it: the others are in another etcd, or below "
                "another prefix, that was not read",
                "Audit with the API servers' own manifest, or give endpoints, etcd_prefix and "
                "etcd_servers_overrides as the servers have them",
                resource=resource,
            )
        elif shown.objects < keys:
            yield Reason(
                f"etcd holds {plural(keys, 'key')} of {resource} {at}, and the servers show "
                f"{plural(shown.objects, 'object')}: they leave out what they can't read",
                "Restart the server, which makes it read all of them again, and see its log",
                resource=resource,
            )

    def keys(self, resource: str) -> int | None:
        """How many keys there were of a resource at the audit's revision; None if not counted."""
        moved = self.audit.get("later_revisions") and resource not in self.audit.get(
            "revisions", {}
        )
        if moved or not self.revision_of(resource):
            return None
        return int(self._counted(resource).get("keys", 0))

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


def _against_order(revision: int, observed_at: int | None, what: str) -> Iterable[Reason]:
    """Only what was read after an observation tells what was written until then."""
    if observed_at is None:
        yield Reason(
            f"the observation before the audit tells no revision of {what}, so their order is not"
            " known",
            "Observe again with revisions_of naming a resource that is kept there, and audit again",
        )
    elif revision < observed_at:
        yield Reason(
            f"{what} was read at revision {revision}, before the servers were observed (at "
            f"{observed_at}): what was written in between is not in it",
            _AGAIN,
        )


def read_audit(audit: object, audited_after: object) -> AuditEvidence | None:
    """Take the two options apart; None without an audit, an error for anything but results."""
    if audit is None:
        return None
    if not isinstance(audit, Mapping) or not audit.keys() >= _AUDIT:
        raise LockstepError(
            "The option audit holds something else than a result of storage_audit",
            f"It must have {', '.join(sorted(_AUDIT))}",
            "Register the task that runs storage_audit, and give what was registered",
        )
    if not isinstance(audited_after, Mapping) or not audited_after.keys() >= _LOOK:
        raise LockstepError(
            "The option audited_after holds no result of discovery_hash",
            "Without a look from before the audit nobody knows what changed while etcd was read",
            "Run discovery_hash before storage_audit, register it, and give what was registered",
        )
    audited, seen = audit["cluster"].get("uid"), audited_after["cluster"].get("uid")
    if audited and audited != seen:
        raise LockstepError(
            "The option audit is of another cluster than audited_after",
            f"The kube-system in that etcd has the UID {audited}, the servers show {seen}",
            "Audit the etcd of the cluster that the kubeconfig leads to",
        )
    return AuditEvidence(audit, audited_after)


def read_audit_facts(evidence: AuditEvidence, look: Look) -> AuditFacts:
    """What an audit counted, for the checks of an upgrade; the look is one of now."""
    audit = evidence.audit
    changes = evidence.changes(
        decide_epoch(sight=look.sight, membership=look.membership, resource="")
    )
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
        if not audit.get("later_revisions")
        else None,
        revision=evidence.revision,
        revisions={name: int(one) for name, one in (audit.get("revisions") or {}).items()},
        bytes={name: int(one["bytes"]) for name, one in counts.items()},
        encryption={name: dict(one["encryption"]) for name, one in counts.items()},
        undecodable={
            name: tuple(key["key"] for key in one["undecodable"]) for name, one in counts.items()
        },
        unmapped={name: int(one["keys"]) for name, one in audit.get("unmapped", {}).items()},
        prefix=str(audit.get("prefix") or "/registry"),
        unordered=evidence.unordered,
        against=(
            *evidence.against(),
            *(
                [Reason(f"since etcd was read {enumerate_names(changes)}", _AGAIN)]
                if changes
                else []
            ),
        ),
        complete=list(audit["audited"]) == ["*"] and set(audit["elsewhere"]) <= set(NEVER_MIGRATED),
        etcd=EtcdSight.from_dict(told) if told else None,
    )
