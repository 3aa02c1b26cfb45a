# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""The epoch of a resource (R3): what must not have changed between two looks.

A hash can go from A to B and back unseen. The epoch notices what can do that: another server, a
restart, another release or emulation, another CustomResourceDefinition, another encryption.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from .errors import LockstepError
from .membership import Membership
from .observations import ClusterSight, Release
from .reasons import plural


@dataclass(frozen=True, order=True)
class EpochIdentity:
    """One server's identity: its lease, and who holds it since the last restart."""

    lease: str
    holder: str


@dataclass(frozen=True, order=True)
class EpochRelease:
    """What the server that started at that moment runs."""

    start_time: str
    git_version: str
    emulated: str = ""

    @property
    def name(self) -> str:
        """The release in words."""
        return str(Release(git_version=self.git_version or "?", emulated=self.emulated))


@dataclass(frozen=True)
class Epoch:
    """Everything a resource's encoding hangs on, apart from the hash itself."""

    identities: tuple[EpochIdentity, ...]
    releases: tuple[EpochRelease, ...]
    # The UID of kube-system: evidence of one cluster says nothing about another (R12).
    cluster: str = ""
    crd_uid: str = ""
    crd_generation: int = 0
    encryption: str = ""
    # The generation of what servers publish: it moves also for one that joined and left again.
    published: str = ""

    def to_dict(self) -> dict[str, object]:
        """Give it as plain JSON data, the same for the same epoch."""
        return {
            "cluster": self.cluster,
            "servers": [{"lease": one.lease, "holder": one.holder} for one in self.identities],
            "releases": [
                {
                    "start_time": one.start_time,
                    "git_version": one.git_version,
                    "emulated": one.emulated,
                }
                for one in self.releases
            ],
            "crd": {"uid": self.crd_uid, "generation": self.crd_generation},
            "encryption": self.encryption,
            "published": self.published,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, object]) -> Epoch:
        """Read back what to_dict gave."""
        try:
            crd = _mapping(data["crd"])
            return cls(
                identities=tuple(
                    sorted(
                        EpochIdentity(lease=_text(one["lease"]), holder=_text(one["holder"]))
                        for one in _mappings(data["servers"])
                    )
                ),
                releases=tuple(
                    sorted(
                        EpochRelease(
                            start_time=_text(one["start_time"]),
                            git_version=_text(one["git_version"]),
                            emulated=_text(one["emulated"]),
                        )
                        for one in _mappings(data["releases"])
                    )
                ),
                cluster=_text(data["cluster"]),
                crd_uid=_text(crd["uid"]),
                crd_generation=_number(crd["generation"]),
                encryption=_text(data["encryption"]),
                published=_text(data["published"]),
            )
        except (KeyError, TypeError) as error:
            raise LockstepError(
                "A stored epoch can't be read",
                f"It is not what Lockstep writes: {error}",
                "Treat the stored versions as Unknown: observe the resource anew",
            ) from error


ChangeKind = Literal["cluster", "joined", "left", "restarted", "release", "crd", "encryption"]


@dataclass(frozen=True)
class EpochChange:
    """One thing that changed between two epochs."""

    kind: ChangeKind
    text: str

    @property
    def harmless_to_versions(self) -> bool:
        """Whether versions, CRD and encryption stayed: a restart to the same release (R6)."""
        return self.kind in ("joined", "left", "restarted")

    def __str__(self) -> str:
        return self.text


def decide_epoch(
    *, sight: ClusterSight, membership: Membership, resource: str, encryption: str = ""
) -> Epoch:
    """Take the epoch of a resource from one look at the cluster."""
    crd = sight.crds.get(resource)
    return Epoch(
        identities=tuple(
            sorted(
                EpochIdentity(lease=lease.name, holder=lease.holder)
                for lease in membership.live + membership.silent
            )
        ),
        releases=tuple(
            sorted(
                EpochRelease(
                    start_time=server.start_time,
                    git_version=server.release.git_version if server.release else "",
                    emulated=server.release.emulated if server.release else "",
                )
                for server in membership.distinct
            )
        ),
        cluster=sight.identity.uid,
        crd_uid=crd.uid if crd else "",
        crd_generation=crd.generation if crd else 0,
        encryption=encryption,
        published=sight.published_generation_after,
    )


def compare_epochs(
    *, before: Epoch, after: Epoch, restarted: Collection[str] = ()
) -> tuple[EpochChange, ...]:
    """Say what changed, in words; nothing if it is the same epoch.

    `restarted` are the start times of processes that the run itself has put in the place of others:
    it saw both, so nothing about them went unseen.
    """
    servers = () if _only_restarted(before, after, restarted) else _changed_servers(before, after)
    return (
        *_changed_cluster(before, after),
        *servers,
        *_changed_crd(before, after),
        *_changed_encryption(before, after),
    )


def _only_restarted(before: Epoch, after: Epoch, restarted: Collection[str]) -> bool:
    """Whether every process but those is the same, and each of those replaced one."""
    old = {one.start_time for one in before.releases}
    new = {one.start_time for one in after.releases}
    came, went = new - old, old - new
    return bool(came) and came <= set(restarted) and len(went) <= len(came)


def _changed_servers(before: Epoch, after: Epoch) -> tuple[EpochChange, ...]:
    return (*_changed_identities(before, after), *_changed_releases(before, after))


def same_versions(*, before: Epoch, after: Epoch) -> bool:
    """Whether releases, CRD and encryption are the same, restarts aside."""
    return all(one.harmless_to_versions for one in compare_epochs(before=before, after=after))


def _changed_cluster(before: Epoch, after: Epoch) -> Iterable[EpochChange]:
    if before.cluster != after.cluster:
        yield EpochChange(
            "cluster",
            f"that was in the cluster {before.cluster or 'of unknown UID'}, this one is "
            f"{after.cluster or 'of unknown UID'}",
        )


def _changed_identities(before: Epoch, after: Epoch) -> Iterable[EpochChange]:
    old = {one.lease: one.holder for one in before.identities}
    new = {one.lease: one.holder for one in after.identities}
    for lease in sorted(old.keys() | new.keys()):
        if lease not in old:
            yield EpochChange("joined", f"server {lease} joined")
        elif lease not in new:
            yield EpochChange("left", f"server {lease} left")
        elif old[lease] != new[lease]:
            yield EpochChange("restarted", f"server {lease} restarted")
    started = {one.start_time for one in after.releases}
    if old == new and {one.start_time for one in before.releases} != started:
        yield EpochChange("restarted", "a server restarted, or another one was seen")
    elif old == new and before.published != after.published:
        yield EpochChange("joined", "a server joined and left again, or was cut off for a while")


def _changed_releases(before: Epoch, after: Epoch) -> Iterable[EpochChange]:
    old = Counter(one.name for one in before.releases)
    new = Counter(one.name for one in after.releases)
    gained, lost = new - old, old - new
    if (gained and lost) or set(old) != set(new):
        yield EpochChange(
            "release",
            f"the servers ran {_list_releases(old)} and now run {_list_releases(new)}",
        )


def _list_releases(releases: Counter[str]) -> str:
    listed = (f"{name} ({plural(count, 'server')})" for name, count in sorted(releases.items()))
    return ", ".join(listed) or "nothing that was seen"


def _changed_crd(before: Epoch, after: Epoch) -> Iterable[EpochChange]:
    if before.crd_uid != after.crd_uid:
        if not before.crd_uid:
            text = "the CustomResourceDefinition was created"
        elif not after.crd_uid:
            text = "the CustomResourceDefinition was deleted"
        else:
            text = "the CustomResourceDefinition was deleted and created again"
        yield EpochChange("crd", text)
    elif before.crd_generation != after.crd_generation:
        yield EpochChange(
            "crd",
            "the CustomResourceDefinition was changed (generation "
            f"{before.crd_generation}, now {after.crd_generation})",
        )


def _changed_encryption(before: Epoch, after: Epoch) -> Iterable[EpochChange]:
    if before.encryption != after.encryption:
        yield EpochChange(
            "encryption",
            f"the encryption generation was {before.encryption or 'not known'} and is now "
            f"{after.encryption or 'not known'}",
        )


def _mapping(value: object) -> Mapping[str, object]:
    if not isinstance(value, Mapping):
        raise TypeError(f"{value!r} is not a mapping")
    return value


def _mappings(value: object) -> list[Mapping[str, object]]:
    if not isinstance(value, (list, tuple)):
        raise TypeError(f"{value!r} is not a list")
    return [_mapping(one) for one in value]


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is not a text")
    return str(value)


def _number(value: object) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{value!r} is not a number")
    return int(value)
