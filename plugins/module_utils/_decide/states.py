# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""StorageState: what may be stored of a resource, why that is believed, and how it changes.

The hashes only grow (R4). They shrink by a migration of the same turn and epoch, or by an audit
with the same epoch before and after; and they fall back to Unknown, which is never wrong. What a
pass leaves undone, the next one finds again (R5).

`now` is always the moment of the look that is judged, also where the judgement is repeated after
a conflict. One pass goes: look, decide_observed, decide_migrated for what has finished, the
status write, decide_superseded, and at last decide_due.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Literal

from .agreement import Agreement
from .encryption import encryption_doubts, keep_doubt
from .epoch import Epoch, compare_epochs, same_versions
from .membership import Membership, name_lease
from .migrations import NEVER_MIGRATED, MigrationKey, MigrationSight, read_epoch
from .observations import UNKNOWN
from .reasons import Reason, enumerate_names, plural
from .times import format_time, parse_time

Source = Literal["assumed", "observed", "migrated", "crd", "etcd"]
UnseenChange = Literal["keep", "unknown"]
Kind = Literal[
    # What a look led to.
    "created",
    "stale",
    "same",
    "unseen",
    "changed",
    "disagreement",
    "unknown",
    "missed",
    "kept",
    "late",
    # What a deed led to. A refused one may still have taught new hashes.
    "migrated",
    "audited",
    "reset",
    "refused",
]

# How many unseen changes are remembered: one is enough to ask for an audit.
UNSEEN_KEPT = 10

_SOURCES: tuple[Source, ...] = ("assumed", "observed", "migrated", "crd", "etcd")
_AUDIT = "Read with storage_audit what is stored, or migrate the resource"
_OBSERVE = "Observe the resource first"
_REENCRYPT = "Migrate the resource with scope=all under this encryption_generation"


@dataclass(frozen=True)
class Evidence:
    """Why the hashes of a state are believed. It counts only for those that it names."""

    source: Source = "assumed"
    # The turn: since when the hashes stand as they do. None: there is no evidence.
    time: datetime | None = None
    epoch: Epoch | None = None
    hashes: tuple[str, ...] = ()
    current: str = ""
    # The etcd revision of the last audit that these hashes go back to, or 0.
    revision: int = 0
    last_agreed: str = ""
    last_agreed_version: str = ""
    # What changed between two looks that showed the same hash.
    unseen: tuple[str, ...] = ()
    # Which servers were not seen at the last look, though their very processes had been before.
    missed: tuple[str, ...] = ()

    def vouches_for(self, *, persisted: tuple[str, ...], current: str) -> bool:
        """Whether this is about a status with these hashes, and not about an older one."""
        return self.time is not None and (self.hashes, self.current) == (persisted, current)

    @property
    def doubts(self) -> tuple[str, ...]:
        """What speaks against the versions. Those that were read from etcd don't hang on keys."""
        keys = encryption_doubts(self.unseen) if self.source == "etcd" else ()
        return tuple(one for one in self.unseen if one not in keys)

    def to_dict(self) -> dict[str, object]:
        """Give it as plain JSON data."""
        data: dict[str, object] = {
            "source": self.source,
            "hashes": list(self.hashes),
            "current": self.current,
            "revision": self.revision,
            "lastAgreed": self.last_agreed,
            "lastAgreedVersion": self.last_agreed_version,
            "unseen": list(self.unseen),
            "missed": list(self.missed),
        }
        if self.time is not None:
            data["time"] = format_time(self.time)
        if self.epoch is not None:
            data["epoch"] = self.epoch.to_dict()
        return data

    @classmethod
    def from_dict(cls, data: object) -> Evidence:
        """Read back what to_dict gave; what is not that is no evidence."""
        if not isinstance(data, Mapping):
            return cls()
        agreed = cls(
            last_agreed=_text(data.get("lastAgreed")),
            last_agreed_version=_text(data.get("lastAgreedVersion")),
        )
        source = next((one for one in _SOURCES if one == data.get("source")), None)
        time = parse_time(data.get("time"))
        epoch = read_epoch(data.get("epoch"))
        if source is None or time is None or (epoch is None and data.get("epoch") is not None):
            return agreed
        return replace(
            agreed,
            source=source,
            time=time,
            epoch=epoch,
            hashes=_texts(data.get("hashes")),
            current=_text(data.get("current")),
            revision=_number(data.get("revision")),
            unseen=_texts(data.get("unseen"))[-UNSEEN_KEPT:],
            missed=_texts(data.get("missed")),
        )


@dataclass(frozen=True)
class StorageState:
    """What may be stored of one resource. `persisted` is never empty."""

    resource: str
    persisted: tuple[str, ...] = (UNKNOWN,)
    # What every server writes: a hash, Unknown while they disagree, nothing if never seen.
    current: str = ""
    heartbeat: datetime | None = None
    evidence: Evidence = field(default_factory=Evidence)
    resource_version: str = ""
    uid: str = ""

    @property
    def migrated(self) -> bool:
        """Whether all that is stored is written as the servers write it now."""
        return is_hash(self.current) and self.persisted == (self.current,)

    def stale(self, now: datetime, window: timedelta) -> bool:
        """Whether nobody has looked for longer than the window.

        A heartbeat further ahead than that hides a gap as well: a clock was wrong.
        """
        return self.heartbeat is None or abs(now - self.heartbeat) > window

    def to_status(self, *, with_evidence: bool = True) -> dict[str, object]:
        """Give it as the status of a StorageState object."""
        status: dict[str, object] = {
            "persistedStorageVersionHashes": list(self.persisted),
            "currentStorageVersionHash": self.current,
        }
        if self.heartbeat is not None:
            # The API keeps whole seconds. Cut off, so that a heartbeat never seems younger.
            status["lastHeartbeatTime"] = format_time(self.heartbeat.replace(microsecond=0))
        if with_evidence:
            status["evidence"] = self.evidence.to_dict()
        return status

    @classmethod
    def from_status(
        cls,
        *,
        resource: str,
        status: object,
        evidence: object = None,
        resource_version: str = "",
        uid: str = "",
    ) -> StorageState:
        """Read the status of a StorageState object, whoever wrote it.

        `evidence` is what was kept beside a status that has no room for it.
        """
        data = status if isinstance(status, Mapping) else {}
        persisted = _texts(data.get("persistedStorageVersionHashes")) or (UNKNOWN,)
        current = _text(data.get("currentStorageVersionHash"))
        found = [Evidence.from_dict(one) for one in (data.get("evidence"), evidence)]
        counting = [one for one in found if one.vouches_for(persisted=persisted, current=current)]
        # What was agreed on last stays true, whatever somebody else has made of the hashes.
        agreed = next((one for one in found if one.last_agreed), Evidence())
        forgotten = Evidence(
            last_agreed=agreed.last_agreed, last_agreed_version=agreed.last_agreed_version
        )
        return cls(
            resource=resource,
            persisted=persisted,
            current=current,
            heartbeat=parse_time(data.get("lastHeartbeatTime")),
            evidence=counting[0] if counting else forgotten,
            resource_version=resource_version,
            uid=uid,
        )


@dataclass(frozen=True)
class Transition:
    """What to do with a state: write it (None: leave it), and perhaps delete migrations."""

    kind: Kind
    state: StorageState | None = None
    # After the status write, all migrations of the resource go, whoever made them.
    supersede: bool = False
    heartbeat_only: bool = False
    notes: tuple[Reason, ...] = ()

    @property
    def changed(self) -> bool:
        """Whether anything but the heartbeat is written."""
        return self.state is not None and not self.heartbeat_only


def is_hash(text: str) -> bool:
    """Whether a status field holds a hash, and neither nothing nor Unknown."""
    return text not in ("", UNKNOWN)


def key_for(state: StorageState) -> MigrationKey | None:
    """Make the key for a migration to what the state holds current; None without evidence."""
    evidence = state.evidence
    if evidence.time is None or evidence.epoch is None or not is_hash(state.current):
        return None
    return MigrationKey(storage_hash=state.current, epoch=evidence.epoch, since=evidence.time)


# Looking


def decide_observed(
    *,
    state: StorageState | None,
    agreement: Agreement,
    membership: Membership,
    epoch: Epoch,
    now: datetime,
    window: timedelta,
    on_unseen_change: UnseenChange = "keep",
    crd_hashes: Collection[str] = (),
    restarted: Collection[str] = (),
    patient: bool = False,
) -> Transition:
    """Decide what one look makes of a state (None: there is no such object yet).

    `crd_hashes` are the hashes of the versions in a CustomResourceDefinition's storedVersions;
    `restarted` are the start times of processes that this very run has restarted. Who looks again
    soon is `patient`: a look that missed a server adds what it saw, and confirms nothing.
    """
    if state is not None and state.heartbeat is not None and now < state.heartbeat <= now + window:
        return _late(state, agreement=agreement, now=now)
    if state is None or state.stale(now, window) or _foreign(state, epoch):
        return _recreate(
            state, agreement=agreement, membership=membership, epoch=epoch, now=now, window=window
        )
    accounted = not membership.complete and _accounted(state, agreement, membership, epoch)
    if accounted and agreement.status == "incomplete":
        return _keep(state, agreement=agreement, membership=membership, now=now)
    if patient and not membership.complete and not accounted:
        notes = (_missed_note(agreement), *agreement.reasons)
        return _add_shown("missed", state, agreement=agreement, now=now, notes=notes)
    if _missed(state, agreement):
        return Transition("missed", notes=(_missed_note(agreement), *agreement.reasons))

    current, kind = _judge(agreement, before=state)
    changes = _epoch_changes(state, epoch, restarted)
    persisted = state.persisted
    unseen: tuple[str, ...] = ()
    learned: tuple[str, ...] = ()
    if UNKNOWN not in persisted:
        # storedVersions change with the definition only; where nobody trims them, they tell all.
        if any(one in ("crd", "unknown") for one, _text in changes):
            learned = tuple(crd_hashes)
        if changes and on_unseen_change == "unknown":
            # The strict reading of R3: nobody saw what was written in between, A -> C -> B too.
            kind = "unseen" if kind == "same" else kind
            learned = (UNKNOWN,)
        elif kind == "same":
            unseen = tuple(text for _kind, text in changes)
    if kind == "unseen":
        persisted = (UNKNOWN,)
    elif kind != "same" or UNKNOWN not in persisted:
        shown = _discovered(agreement) if accounted else _shown(agreement, membership)
        persisted = _merge(persisted, shown, learned)

    written = _write(
        state,
        resource=state.resource,
        persisted=persisted,
        current=current,
        heartbeat=now,
        now=now,
        source=_source(state, persisted, "crd" if learned else "observed"),
        epoch=state.evidence.epoch if accounted else epoch,
        agreement=agreement,
        unseen=_remember(state, unseen, epoch=epoch, versions=UNKNOWN not in persisted),
    )
    return Transition(
        kind,
        state=written,
        supersede=_hashes(state) != _hashes(written),
        heartbeat_only=_only_heartbeat(state, written),
        notes=(*_observed_notes(kind, state.resource, unseen), *agreement.reasons),
    )


def _accounted(
    state: StorageState, agreement: Agreement, membership: Membership, epoch: Epoch
) -> bool:
    """Whether all that any server may write is in the record, though not every one was seen (R4).

    So it is if each process that may be alive had been seen when the record was made, what each
    showed then is in it, and nothing has changed since that a running process follows.
    """
    before = state.evidence.epoch
    if before is None or membership.inexplicable or agreement.origin == "aggregated":
        return False
    unknown = UNKNOWN in state.persisted
    if not unknown and not set(state.persisted).issuperset(_discovered(agreement)):
        return False
    followed = (epoch.crd_uid, epoch.crd_generation, epoch.encryption)
    if followed != (before.crd_uid, before.crd_generation, before.encryption):
        return False
    if unknown and len(before.identities) != len(before.releases):
        # Nothing is missing from such a record, but the last look did not see every server.
        return False
    known = {(one.lease, one.holder) for one in before.identities}
    may_live = (*membership.live, *membership.silent)
    started = {one.start_time for one in before.releases}
    if any((one.name, one.holder) not in known for one in may_live):
        return False
    if any(one.start_time not in started for one in membership.distinct):
        return False
    # An address that nobody answers at must belong to one of those, and so must who is expected. A
    # server that ends in order deletes its lease.
    silent = len(known) - len(membership.distinct)
    return len(membership.unread) <= silent and membership.expected <= len(known)


def _keep(
    state: StorageState, *, agreement: Agreement, membership: Membership, now: datetime
) -> Transition:
    """Confirm a record while servers are missed that can write nothing that is not in it.

    The epoch stays that of the last look that saw all of them.
    """
    missed = tuple(name_lease(one) for one in (*membership.silent, *membership.doubtful))
    # One that renews its lease and does not answer can't be told apart from the others by it.
    missed = missed or tuple(membership.unread) or ("a server",)
    evidence = replace(state.evidence, missed=missed)
    written = replace(state, heartbeat=now, evidence=evidence)
    return Transition(
        "kept",
        state=written,
        heartbeat_only=_only_heartbeat(state, written),
        notes=(_kept_note(missed), *agreement.reasons),
    )


def _kept_note(missed: tuple[str, ...]) -> Reason:
    it, its, one = ("it is", "Its", True) if len(missed) == 1 else ("they are", "Their", False)
    return Reason(
        f"{enumerate_names(missed)} {'is' if one else 'are'} missed. {its} very process had been "
        "seen before, so the records stand, and nothing is migrated meanwhile",
        f"Bring back what is missed; or make sure that {it} dead, and name it in gone_servers",
    )


def _recreate(
    state: StorageState | None,
    *,
    agreement: Agreement,
    membership: Membership,
    epoch: Epoch,
    now: datetime,
    window: timedelta,
) -> Transition:
    """Begin at Unknown: there is no state, or nobody has looked for longer than the window."""
    if state is None and _missed(None, agreement):
        return Transition("missed", notes=(_missed_note(agreement), *agreement.reasons))
    current, kind = _judge(agreement, before=None)
    written = _write(
        state,
        resource=agreement.resource,
        persisted=(UNKNOWN,)
        if kind == "changed"
        else _merge((UNKNOWN,), _shown(agreement, membership)),
        current=current,
        heartbeat=now,
        now=now,
        source="assumed",
        epoch=epoch,
        agreement=agreement,
        revision=0,
        unseen=_remember(state, (), epoch=epoch, versions=False),
        turn=True,
    )
    if state is None:
        kind = "created" if kind == "changed" else kind
        # What others asked for is not undone for want of a record; decide_superseded judges it.
        return Transition(kind, state=written, notes=agreement.reasons)
    note = Reason(
        f"{_neglect(state, now)}, and the window is {_span(window)}: what is stored counts as "
        "Unknown",
        "Run the trigger more often than the window is long",
        resource=state.resource,
    )
    if _foreign(state, epoch):
        note = Reason(
            f"the record of {state.resource} was made in another cluster: what is stored counts "
            "as Unknown",
            _AUDIT,
            resource=state.resource,
        )
    return Transition("stale", state=written, supersede=True, notes=(note, *agreement.reasons))


def _foreign(state: StorageState, epoch: Epoch) -> bool:
    """Whether a record came from another cluster, such as by a restore of its objects (R12)."""
    return state.evidence.epoch is not None and state.evidence.epoch.cluster != epoch.cluster


def _judge(agreement: Agreement, *, before: StorageState | None) -> tuple[str, Kind]:
    """What the servers write now, and what that means for the state."""
    if agreement.agreed:
        same = before is not None and before.current == agreement.storage_hash
        return agreement.storage_hash, "same" if same else "changed"
    if agreement.status in ("disagreeing", "incomplete"):
        return UNKNOWN, "disagreement"
    return UNKNOWN, "unknown"


def _late(state: StorageState, *, agreement: Agreement, now: datetime) -> Transition:
    """Another look was taken after this one and is recorded: this one may only add to it."""
    note = Reason(
        f"this look at {state.resource} is older than the one that is recorded, so it only adds "
        "the hashes that it saw",
        resource=state.resource,
    )
    return _add_shown("late", state, agreement=agreement, now=now, notes=(note,))


def _add_shown(
    kind: Kind,
    state: StorageState,
    *,
    agreement: Agreement,
    now: datetime,
    notes: tuple[Reason, ...],
) -> Transition:
    """Add every hash that any server shows; what is recorded is not confirmed by that."""
    persisted = state.persisted
    if UNKNOWN not in persisted and agreement.status != "unknown":
        persisted = _merge(persisted, _discovered(agreement))
    if persisted == state.persisted:
        return Transition(kind, notes=notes)
    return Transition(kind, state=_grown(state, persisted, now=now), notes=notes)


def _grown(state: StorageState, persisted: tuple[str, ...], *, now: datetime) -> StorageState:
    """The same state with more hashes: what is current, and when it was seen, stays."""
    return _write(
        state,
        resource=state.resource,
        persisted=persisted,
        current=state.current,
        heartbeat=state.heartbeat,
        now=now,
        source=_source(state, persisted, "observed"),
        epoch=state.evidence.epoch,
    )


def _missed(state: StorageState | None, agreement: Agreement) -> bool:
    """Whether a look was incomplete and showed nothing new: as if nobody had looked."""
    known = {state.current} if state is not None else set()
    return agreement.status == "incomplete" and known.issuperset(_discovered(agreement))


def _discovered(agreement: Agreement) -> tuple[str, ...]:
    """Every hash that any server shows."""
    return _merge(one.storage_hash for one in agreement.servers)


def _shown(agreement: Agreement, membership: Membership) -> tuple[str, ...]:
    """Every hash that may be written from now on; Unknown too, where one has no name (R4)."""
    if agreement.agreed:
        return (agreement.storage_hash,)
    if agreement.status == "unknown":
        return (UNKNOWN,)
    addresses = {one.server for one in agreement.servers if one.storage_hash}
    named = {one.encoding_version for one in agreement.servers}
    nameless = (
        agreement.status == "incomplete"
        or not membership.complete
        or any(addresses.isdisjoint(one.addresses) for one in membership.distinct)
        or any(one.may_write and one.encoding_version not in named for one in agreement.reported)
    )
    return _merge(_discovered(agreement), (UNKNOWN,) if nameless else ())


def _epoch_changes(
    state: StorageState, epoch: Epoch, restarted: Collection[str]
) -> tuple[tuple[str, str], ...]:
    """What changed since the last look, by kind and in words."""
    if state.evidence.epoch is None:
        return (("unknown", "it is not known which servers there were at the look before"),)
    changes = compare_epochs(before=state.evidence.epoch, after=epoch, restarted=restarted)
    return tuple((one.kind, one.text) for one in changes)


def _observed_notes(kind: Kind, resource: str, unseen: tuple[str, ...]) -> Iterable[Reason]:
    if kind == "unseen":
        yield Reason(
            f"the servers changed between two looks at {resource}, and what they wrote meanwhile "
            "was not seen: what is stored counts as Unknown",
            _AUDIT,
            resource=resource,
        )
    elif unseen:
        yield Reason(
            f"{resource} shows the same hash as before, but {enumerate_names(unseen)}: another "
            "encoding version may have been written in between",
            _AUDIT,
            resource=resource,
        )


def _missed_note(agreement: Agreement) -> Reason:
    return Reason(
        f"not every server was seen, so this look confirms nothing of {agreement.resource}",
        resource=agreement.resource,
    )


# What is to be done


def decide_due(
    *, state: StorageState, agreement: Agreement, migrations: Iterable[MigrationSight]
) -> tuple[bool, Reason]:
    """Decide whether a migration must be made (R5), from what is there and nothing else."""
    resource = state.resource

    def judged(due: bool, text: str, remedy: str = "") -> tuple[bool, Reason]:
        return due, Reason(text, remedy, resource=resource)

    if resource in NEVER_MIGRATED:
        return judged(False, f"{resource} expire by themselves, and are never migrated")
    if not agreement.agreed:
        return judged(False, f"the servers are not known to agree on {resource}")
    if state.current != agreement.storage_hash or key_for(state) is None:
        return judged(False, f"what the servers write of {resource} is not recorded yet", _OBSERVE)
    if state.migrated:
        return judged(False, f"all that is stored of {resource} is written as the servers write it")
    own = [one for one in migrations if one.resource == resource]
    waiting = [one for one in own if one.unfinished and not _outdated(state, one)]
    if waiting:
        names = enumerate_names(str(one) for one in waiting)
        return judged(False, f"{names} {'has' if len(waiting) == 1 else 'have'} not finished yet")
    stored = enumerate_names(state.persisted)
    why = f"{resource} may be stored as {stored}, and the servers write {state.current}"
    failed = [one for one in own if one.phase == "failed" and not _outdated(state, one)]
    if failed:
        said = failed[-1].message or "no reason given"
        why += f"; {plural(len(failed), 'migration')} failed before: {said}"
    return judged(True, why)


def needs_proof(state: StorageState, *, encryption: str) -> bool:
    """Whether a migration would prove anything that is not proved already.

    Hashes don't show encryption keys: proof under another generation of them is none.
    """
    if not state.migrated or _doubted(state.evidence):
        return True
    epoch = state.evidence.epoch
    return epoch is None or epoch.encryption != encryption


def decide_superseded(
    *, state: StorageState, agreement: Agreement, migrations: Iterable[MigrationSight]
) -> tuple[MigrationSight, ...]:
    """Decide which migrations must go, of both API groups. Finished ones stay.

    While the servers disagree, all of them. Else those of ours that can't prove anything any
    more: for another hash, or from before the hashes grew.
    """
    unfinished = [one for one in migrations if one.resource == state.resource and one.unfinished]
    if agreement.status == "disagreeing":
        return tuple(unfinished)
    if agreement.status == "incomplete":
        kept = bool(state.evidence.missed) or _missed(state, agreement)
        return () if kept else tuple(unfinished)
    if not agreement.agreed:
        # Nobody may ever know: what a person has made by hand is left to that person.
        return tuple(one for one in unfinished if one.key is not None)
    return tuple(one for one in unfinished if _outdated(state, one))


def _outdated(state: StorageState, migration: MigrationSight) -> bool:
    """Whether Lockstep made it for a turn of the state that has passed."""
    key = migration.key
    return key is not None and (key.storage_hash, key.since) != (
        state.current,
        state.evidence.time,
    )


# Deeds


def decide_migrated(
    *,
    state: StorageState | None,
    migration: MigrationSight,
    agreement: Agreement,
    epoch_now: Epoch,
    now: datetime,
    window: timedelta,
    watched: bool = False,
    reencrypted: bool = False,
) -> Transition:
    """Decide whether a finished migration leaves only the current hash (R3, R4).

    `watched`: agreement and epoch were checked as R6 asks from before its first write until now.
    Else the very same processes must have run before and after.
    `reencrypted`: it has rewritten all, and by which keys was verified. No other migration takes
    away what is held against them: it may have rewritten a few names only.
    """
    doubts = () if reencrypted or state is None else encryption_doubts(state.evidence.unseen)
    if state is not None and state.migrated and not _doubted(state.evidence, but_for=doubts):
        return Transition("same")
    reasons = tuple(
        _against_migrated(
            state=state,
            migration=migration,
            agreement=agreement,
            epoch_now=epoch_now,
            now=now,
            window=window,
            watched=watched,
        )
    )
    if state is None or reasons:
        return Transition("refused", notes=reasons)
    written = _write(
        state,
        resource=state.resource,
        persisted=(state.current,),
        current=state.current,
        heartbeat=now,
        now=now,
        source="migrated",
        epoch=epoch_now,
        agreement=agreement,
        revision=0,
        unseen=doubts,
    )
    return Transition("migrated", state=written)


def _against_migrated(
    *,
    state: StorageState | None,
    migration: MigrationSight,
    agreement: Agreement,
    epoch_now: Epoch,
    now: datetime,
    window: timedelta,
    watched: bool,
) -> Iterable[Reason]:
    resource = agreement.resource

    def against(text: str, remedy: str) -> Reason:
        return Reason(text, remedy, resource=resource)

    again = "Let the next pass make a new migration"
    if state is None:
        yield against(f"{resource} has no StorageState", _OBSERVE)
        return
    if migration.resource != state.resource:
        yield against(
            f"{migration} is a migration of {migration.resource}, not of {resource}",
            "Name the migration of this resource",
        )
        return
    if migration.phase != "succeeded":
        said = f": {migration.message}" if migration.message else ""
        yield against(f"{migration} has not succeeded, it is {migration.phase}{said}", again)
    if not agreement.agreed:
        yield against(
            f"the servers are not known to agree on {resource}", "Wait until every server agrees"
        )
        yield from agreement.reasons
    elif agreement.storage_hash != state.current:
        yield against(
            f"the servers write {agreement.storage_hash} now, but {state.current or 'nothing'} is "
            "recorded as current",
            _OBSERVE,
        )
    if _looked_since(state, now=now, epoch=epoch_now):
        yield against(f"somebody has looked at {resource} since, and recorded it", "Look again")
    if not watched and state.stale(now, window):
        yield against(f"{_neglect(state, now)}, so what happened was not seen", again)
    key = migration.key
    if key is None:
        yield against(
            f"{migration} was not made by Lockstep, so nothing tells what the servers wrote while "
            "it ran",
            f"{again} of its own, or read with storage_audit what is stored",
        )
        return
    if key.storage_hash != state.current:
        yield against(
            f"{migration} was made for the hash {key.storage_hash}, and {state.current} is current",
            again,
        )
    elif key.since != state.evidence.time or state.evidence.epoch is None:
        yield against(
            f"what may be stored of {resource} has changed since {migration} was made", again
        )
    else:
        changes = _not_held(key.epoch, epoch_now, watched) or _not_held(
            state.evidence.epoch, epoch_now, watched
        )
        if changes:
            yield against(
                f"between the making of {migration} and now {enumerate_names(changes)}", again
            )


def _doubted(evidence: Evidence, *, but_for: Collection[str] = ()) -> bool:
    """Whether a migration could still prove something about a state that needs none."""
    return evidence.source == "assumed" or not set(evidence.unseen).issubset(but_for)


def _not_held(before: Epoch, after: Epoch, watched: bool) -> tuple[str, ...]:
    """What broke the epoch: restarts to the same release are no harm if somebody watched."""
    if before == after or (watched and same_versions(before=before, after=after)):
        return ()
    changes = tuple(str(one) for one in compare_epochs(before=before, after=after))
    return changes or ("the servers changed",)


def _looked_since(state: StorageState, *, now: datetime, epoch: Epoch) -> bool:
    """Whether the state may know of a later look than the one that is judged."""
    if state.heartbeat is None or state.heartbeat < now.replace(microsecond=0):
        return False
    return state.heartbeat > now or state.evidence.epoch != epoch


def decide_audited(
    *,
    state: StorageState | None,
    hashes: Collection[str] | None,
    agreement_before: Agreement,
    agreement: Agreement,
    epoch_before: Epoch,
    epoch_now: Epoch,
    revision: int,
    now: datetime,
    against: Iterable[Reason] = (),
) -> Transition:
    """Decide what the bytes in etcd say about a state (R4).

    `hashes` are those of all keys at the revision: Unknown among them if a key could not be
    decoded, None if the versions are hidden by encryption. `before` is a look that ended before
    the revision was read, the other one began after it. `against` is what speaks against the
    audit itself.
    """
    reasons = (
        *against,
        *_against_audited(
            state=state,
            hashes=hashes,
            agreement_before=agreement_before,
            agreement=agreement,
            epoch_before=epoch_before,
            epoch_now=epoch_now,
            now=now,
        ),
    )
    found = tuple(hashes) if hashes is not None else ()
    if reasons:
        return _learn(state, found=found, agreement=agreement, now=now, reasons=reasons)
    known = state.persisted if state is not None else ()
    kept = tuple(one for one in known if one in found)
    written = _write(
        state,
        resource=agreement.resource,
        persisted=_merge(kept, sorted(found), (agreement.storage_hash,)),
        current=agreement.storage_hash,
        heartbeat=now,
        now=now,
        source="etcd",
        epoch=epoch_now,
        agreement=agreement,
        revision=revision,
        # It has read versions, and says nothing of keys.
        unseen=_remember(state, (), epoch=epoch_now, versions=False),
    )
    return Transition(
        "audited",
        state=written,
        supersede=state is not None and state.current != written.current,
        heartbeat_only=state is not None and _only_heartbeat(state, written),
    )


def _against_audited(
    *,
    state: StorageState | None,
    hashes: Collection[str] | None,
    agreement_before: Agreement,
    agreement: Agreement,
    epoch_before: Epoch,
    epoch_now: Epoch,
    now: datetime,
) -> Iterable[Reason]:
    resource = agreement.resource

    def against(text: str, remedy: str) -> Reason:
        return Reason(text, remedy, resource=resource)

    if hashes is None:
        yield against(
            f"the versions of {resource} in etcd are hidden by encryption",
            "Migrate the resource: only that makes them known",
        )
    elif UNKNOWN in hashes:
        yield against(
            f"keys of {resource} in etcd could not be decoded",
            "See the keys that storage_audit names, and repair or delete them",
        )
    agree = "Wait until every server agrees, and audit again"
    if not agreement_before.agreed or not agreement.agreed:
        yield against(f"the servers did not agree on {resource} before and after the audit", agree)
        yield from agreement.reasons or agreement_before.reasons
    elif agreement_before.storage_hash != agreement.storage_hash:
        yield against(f"the servers changed what they write of {resource} meanwhile", agree)
    changes = _not_held(epoch_before, epoch_now, False)
    if changes:
        yield against(f"while etcd was read {enumerate_names(changes)}", "Audit again")
    if state is not None and _looked_since(state, now=now, epoch=epoch_now):
        yield against(f"somebody has looked at {resource} since, and recorded it", "Audit again")


def _learn(
    state: StorageState | None,
    *,
    found: tuple[str, ...],
    agreement: Agreement,
    now: datetime,
    reasons: tuple[Reason, ...],
) -> Transition:
    """Take from an audit that proves nothing what it still teaches: hashes that are there.

    A state that has evidence of its own keeps it, unless the audit found what that can't explain.
    """
    if state is None:
        return Transition("refused", notes=reasons)
    explained = {*state.persisted, *_discovered(agreement)}
    doubtful = state.evidence.source == "assumed" or not explained.issuperset(found)
    persisted = _merge(state.persisted, sorted(found), (UNKNOWN,) if doubtful else ())
    if persisted == state.persisted:
        return Transition("refused", notes=reasons)
    return Transition("refused", state=_grown(state, persisted, now=now), notes=reasons)


def decide_reset(
    *, state: StorageState, now: datetime, migrations: Iterable[MigrationSight] = ()
) -> Transition:
    """Take a state back to Unknown, as a person asked. With nothing to forget, do nothing."""
    own = [one for one in migrations if one.resource == state.resource]
    doubts = _reset_doubts(state.evidence)
    forgotten = (state.persisted, state.evidence.unseen) == ((UNKNOWN,), doubts)
    if forgotten and not own and state.evidence.time is not None:
        return Transition("same")
    written = _write(
        state,
        resource=state.resource,
        persisted=(UNKNOWN,),
        current=state.current,
        heartbeat=state.heartbeat,
        now=now,
        source="assumed",
        epoch=state.evidence.epoch,
        revision=0,
        unseen=doubts,
        turn=True,
    )
    return Transition("reset", state=written, supersede=True)


# Words


def describe(
    state: StorageState,
    *,
    now: datetime,
    window: timedelta,
    versions: Mapping[str, str] | None = None,
) -> tuple[str, ...]:
    """Tell a state in words: what may be stored, and every reason to doubt it.

    `versions` explains hashes as group/versions, as far as they are known.
    """
    evidence, resource = state.evidence, state.resource
    explained = {evidence.last_agreed: evidence.last_agreed_version, **(versions or {})}

    def named(text: str) -> str:
        return f"{explained[text]} ({text})" if explained.get(text) else text

    lines = [f"{resource} may be stored as {enumerate_names(map(named, state.persisted))}."]
    if is_hash(state.current):
        lines.append(f"The servers write {named(state.current)}.")
    else:
        lines.append("What the servers write is not known, or they disagree.")
    if state.stale(now, window):
        lines.append(
            f"It is stale: {_neglect(state, now)}, and the window is {_span(window)}. All of this "
            "counts as Unknown. Observe the resource, and migrate it."
        )
    elif UNKNOWN in state.persisted:
        lines.append(f"Unknown is never a pass. {_AUDIT}.")
    if evidence.time is None:
        lines.append(
            f"Nothing vouches for this: somebody else wrote it, or it was never observed. {_AUDIT}."
        )
    else:
        lines.append(f"Evidence: {_evidence(evidence)}.")
    if evidence.missed:
        lines.append(_kept_note(evidence.missed).text + ".")
    keys = encryption_doubts(evidence.unseen)
    others = [one for one in evidence.unseen if one not in keys]
    if others:
        lines.append(
            f"While the hash stayed the same, {enumerate_names(others)}: another encoding "
            f"version may have been written in between. {_AUDIT}."
        )
    if keys:
        lines.append(f"Of its keys: {enumerate_names(keys)}. {_REENCRYPT}.")
    return tuple(lines)


def _evidence(evidence: Evidence) -> str:
    at = f" at revision {evidence.revision}" if evidence.revision else ""
    told: Mapping[Source, str] = {
        "assumed": "nothing but the looks",
        "observed": "every look",
        "migrated": "a migration that rewrote everything",
        "crd": "the looks, and the storedVersions of its CustomResourceDefinition",
        "etcd": f"what was read from etcd{at}",
    }
    since = format_time(evidence.time) if evidence.time is not None else "never"
    return f"{told[evidence.source]}; the hashes stand so since {since}"


def _neglect(state: StorageState, now: datetime) -> str:
    if state.heartbeat is None:
        return f"nobody has ever looked at {state.resource}"
    if state.heartbeat > now:
        ahead = _span(state.heartbeat - now)
        return f"the last look at {state.resource} was {ahead} in the future, by a wrong clock"
    return f"nobody looked at {state.resource} for {_span(now - state.heartbeat)}"


def _span(span: timedelta) -> str:
    seconds = int(span.total_seconds())
    return f"{seconds} s" if seconds < 120 else f"{seconds // 60} min"


# Building blocks


def _write(
    before: StorageState | None,
    *,
    resource: str,
    persisted: tuple[str, ...],
    current: str,
    heartbeat: datetime | None,
    now: datetime,
    source: Source,
    epoch: Epoch | None,
    agreement: Agreement | None = None,
    revision: int | None = None,
    unseen: tuple[str, ...] | None = None,
    turn: bool = False,
) -> StorageState:
    """Give a state its new hashes, and evidence that vouches for exactly them."""
    state = before if before is not None else StorageState(resource)
    old = state.evidence
    agreed = agreement is not None and agreement.agreed
    moved = turn or old.time is None or _hashes(state) != (persisted, current)
    evidence = Evidence(
        source=source,
        time=_next_turn(old.time, now) if moved else old.time,
        epoch=epoch,
        hashes=persisted,
        current=current,
        revision=old.revision if revision is None else revision,
        last_agreed=current if agreed else old.last_agreed,
        last_agreed_version=agreement.encoding_version
        if agreement is not None and agreed
        else old.last_agreed_version,
        unseen=old.unseen if unseen is None else unseen,
    )
    return replace(
        state, persisted=persisted, current=current, heartbeat=heartbeat, evidence=evidence
    )


def _next_turn(last: datetime | None, now: datetime) -> datetime:
    """A turn never has the time of another one: migrations are told apart by it."""
    return now if last is None or now > last else last + timedelta(microseconds=1)


def _source(before: StorageState | None, persisted: tuple[str, ...], grown: Source) -> Source:
    """Why the hashes are believed after a look: no better than they were believed before."""
    if before is None or before.evidence.time is None or UNKNOWN in persisted:
        return "assumed"
    source = before.evidence.source
    if source == "assumed" or persisted == before.persisted:
        return source
    return grown


def _remember(
    state: StorageState | None, unseen: tuple[str, ...], *, epoch: Epoch, versions: bool
) -> tuple[str, ...]:
    """What a record holds against itself from now on.

    What is held against `versions` may be void. What is held against encryption keys is not, and
    is never pushed out by anything else: no hash shows keys, so that only a migration that has
    verified them takes it away, however many runs were killed before.
    """
    evidence = state.evidence if state is not None else Evidence()
    known = evidence.epoch
    renamed = known is None or (known.cluster, known.encryption) != (
        epoch.cluster,
        epoch.encryption,
    )
    held = _merge(evidence.unseen, unseen)
    keys = keep_doubt(held, generation=epoch.encryption, new=bool(epoch.encryption) and renamed)
    others = tuple(one for one in held if one not in keys) if versions else ()
    return (*others, *keys)[-UNSEEN_KEPT:]


def _reset_doubts(evidence: Evidence) -> tuple[str, ...]:
    """What is held against encryption keys of which nothing is known any more."""
    generation = evidence.epoch.encryption if evidence.epoch is not None else ""
    return keep_doubt(evidence.unseen, generation=generation, new=bool(generation))


def _only_heartbeat(before: StorageState, after: StorageState) -> bool:
    return _hashes(before) == _hashes(after) and before.evidence == after.evidence


def _hashes(state: StorageState) -> tuple[tuple[str, ...], str]:
    return state.persisted, state.current


def _merge(*lists: Iterable[str]) -> tuple[str, ...]:
    """Join lists in their order, each member once."""
    return tuple(dict.fromkeys(one for each in lists for one in each if one))


def _texts(data: object) -> tuple[str, ...]:
    items = data if isinstance(data, (list, tuple)) else ()
    return _merge(one for one in items if isinstance(one, str))


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _number(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else 0
