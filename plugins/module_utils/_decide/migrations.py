# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""Migrations as they lie in the cluster: the StorageVersionMigration objects of both API groups.

One that Lockstep makes carries a key: the hash, the epoch and the turn of the StorageState that
it was made for. Only with it can a finished migration prove anything later on.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final, Literal

from .epoch import Epoch
from .errors import LockstepError
from .names import resource_name
from .times import format_time, parse_time

OUT_OF_TREE: Final = "migration.k8s.io"
IN_TREE: Final = "storagemigration.k8s.io"
KEY_ANNOTATION = "lockstep.kubernetes/made-for"

# They expire by themselves, and the in-tree controller would wait for them forever.
NEVER_MIGRATED = ("events", "events.events.k8s.io")
# How long a finished migration stays, for whoever waits for it with kubectl.
KEPT_FINISHED = timedelta(minutes=5)

Api = Literal["migration.k8s.io", "storagemigration.k8s.io"]
Phase = Literal["pending", "running", "succeeded", "failed"]


@dataclass(frozen=True)
class MigrationKey:
    """What a migration was made for.

    `since` is the turn of the StorageState: the moment from which its hashes have stood as they
    are. If they have grown or were reset since, a finished migration says nothing about them.
    """

    storage_hash: str
    epoch: Epoch
    since: datetime

    @property
    def digest(self) -> str:
        """A name's ending: the same for all who make the migration of this turn."""
        made_for = f"{self.storage_hash} {format_time(self.since)}"
        return hashlib.sha256(made_for.encode()).hexdigest()[:10]

    def to_json(self) -> str:
        """Write it as the text of an annotation, the same for the same key."""
        data = {
            "hash": self.storage_hash,
            "since": format_time(self.since),
            "epoch": self.epoch.to_dict(),
        }
        return json.dumps(data, sort_keys=True, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: object) -> MigrationKey | None:
        """Read an annotation; None if it is not what Lockstep writes."""
        try:
            data = json.loads(text) if isinstance(text, str) else None
        except (ValueError, RecursionError):
            return None
        if not isinstance(data, Mapping):
            return None
        storage_hash, since = data.get("hash"), parse_time(data.get("since"))
        epoch = read_epoch(data.get("epoch"))
        if not isinstance(storage_hash, str) or not storage_hash or since is None or epoch is None:
            return None
        return cls(storage_hash=storage_hash, epoch=epoch, since=since)


def read_epoch(data: object) -> Epoch | None:
    """Read a stored epoch; None if it can't be read."""
    try:
        return Epoch.from_dict(data) if isinstance(data, Mapping) else None
    except LockstepError:
        return None


@dataclass(frozen=True)
class MigrationOwner:
    """The ClusterRole that a migration belongs to, and is removed with."""

    name: str
    uid: str

    def to_reference(self) -> dict[str, object]:
        """As the metadata of a migration names it."""
        return {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRole",
            "name": self.name,
            "uid": self.uid,
        }


@dataclass(frozen=True)
class MigrationCondition:
    """One condition of a migration, as it was read."""

    type: str
    status: str
    reason: str = ""
    message: str = ""
    changed: datetime | None = None


@dataclass(frozen=True)
class MigrationSight:
    """One StorageVersionMigration object. Without a key somebody else made it."""

    name: str
    api: Api
    resource: str
    phase: Phase = "pending"
    created: datetime | None = None
    uid: str = ""
    resource_version: str = ""
    message: str = ""
    key: MigrationKey | None = None
    continue_token: str = ""
    conditions: tuple[MigrationCondition, ...] = ()
    # Where our own migrator stands, as it saved it.
    progress: Mapping[str, object] = field(default_factory=dict)

    @property
    def unfinished(self) -> bool:
        """Whether it still may write: it waits or runs."""
        return self.phase in ("pending", "running")

    @property
    def finished(self) -> datetime | None:
        """When it succeeded, or at least not before which moment; None if it has not."""
        if self.phase != "succeeded":
            return None
        told = (one.changed for one in self.conditions if one.type == "Succeeded")
        return next(filter(None, told), self.created)

    def __str__(self) -> str:
        return f"{self.name} ({self.api})"


def read_migration(data: Mapping[str, object]) -> MigrationSight | None:
    """Read one object of either API group; None if it is no migration of any resource."""
    api = _api(_text(data.get("apiVersion")))
    metadata, spec = _mapping(data.get("metadata")), _mapping(data.get("spec"))
    name, target = _text(metadata.get("name")), _mapping(spec.get("resource"))
    plural = _text(target.get("resource"))
    if api is None or not name or not plural:
        return None
    status = _mapping(data.get("status"))
    conditions = tuple(_conditions(status.get("conditions")))
    phase, message = decide_phase(api=api, conditions=conditions)
    return MigrationSight(
        name=name,
        api=api,
        resource=resource_name(group=_text(target.get("group")), plural=plural),
        phase=phase,
        created=parse_time(metadata.get("creationTimestamp")),
        uid=_text(metadata.get("uid")),
        resource_version=_text(metadata.get("resourceVersion")),
        message=message,
        key=MigrationKey.from_json(_mapping(metadata.get("annotations")).get(KEY_ANNOTATION)),
        continue_token=_text(spec.get("continueToken")),
        conditions=conditions,
        progress=_mapping(status.get("progress")),
    )


def decide_phase(*, api: Api, conditions: Iterable[MigrationCondition]) -> tuple[Phase, str]:
    """Tell how far a migration is, with the words of the condition that says so.

    The in-tree controller says Succeeded first and tidies up after that, still Running. One that
    says both Failed and Succeeded has failed.
    """
    holding = {one.type: one for one in conditions if one.status == "True"}
    running = holding.get("Running")
    ended = holding.get("Failed") or holding.get("Succeeded")
    if running is not None and (ended is None or api == IN_TREE):
        return "running", running.message
    if ended is None:
        return "pending", ""
    return ("failed" if ended.type == "Failed" else "succeeded"), ended.message


def finished_work(
    migrations: Iterable[MigrationSight],
    *,
    recorded: Container[str],
    now: datetime,
    kept: timedelta = KEPT_FINISHED,
) -> tuple[MigrationSight, ...]:
    """Those of Lockstep's own migrations that have done their work, and may go.

    `recorded` are the resources whose record holds that only the current version is stored: it
    takes no migration to prove that any more. What others have made is theirs to delete.
    """
    every = tuple(migrations)
    return tuple(
        one
        for one in every
        if one.key is not None
        and one.finished is not None
        and one.resource in recorded
        and (now - one.finished >= kept or any(_follows(other, one) for other in every))
    )


def failed_lately(
    migrations: Iterable[MigrationSight], *, key: MigrationKey | None, now: datetime, pause: float
) -> str:
    """Why another try at once would only be load: what this very turn failed for, and when.

    Empty if nothing failed, or long enough ago.
    """
    for one in migrations:
        if one.phase != "failed" or not key or not one.key or one.key.digest != key.digest:
            continue
        told = (condition.changed for condition in one.conditions if condition.type == "Failed")
        failed = next(filter(None, told), one.created)
        if failed is None:
            continue
        left = pause - (now - failed).total_seconds()
        if left > 0:
            return (
                f"{one} failed at {format_time(failed)}: {one.message or 'no reason given'}. It is"
                f" tried again in {left:.0f} s"
            )
    return ""


def _follows(other: MigrationSight, one: MigrationSight) -> bool:
    """Whether another migration of the same resource was made after one."""
    if other.resource != one.resource or other.created is None or one.created is None:
        return False
    return other.created > one.created


def _api(api_version: str) -> Api | None:
    group = api_version.partition("/")[0]
    if group == OUT_OF_TREE:
        return OUT_OF_TREE
    return IN_TREE if group == IN_TREE else None


def _conditions(data: object) -> Iterable[MigrationCondition]:
    for item in data if isinstance(data, (list, tuple)) else ():
        one = _mapping(item)
        yield MigrationCondition(
            type=_text(one.get("type")),
            status=_text(one.get("status")),
            reason=_text(one.get("reason")),
            message=_text(one.get("message")),
            # The two APIs call it differently.
            changed=parse_time(one.get("lastUpdateTime") or one.get("lastTransitionTime")),
        )


def _mapping(value: object) -> Mapping[str, object]:
    return value if isinstance(value, Mapping) else {}


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""
