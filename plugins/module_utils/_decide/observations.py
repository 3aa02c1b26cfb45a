# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""What was seen of a cluster: the data that every verdict is made from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from datetime import datetime
from typing import Any

UNKNOWN = "Unknown"


@dataclass(frozen=True)
class Release:
    """What one server says of itself under /version."""

    git_version: str
    emulated: str = ""
    min_compatibility: str = ""

    def __str__(self) -> str:
        if self.emulated and not self.git_version.startswith(f"v{self.emulated}."):
            return f"{self.git_version} emulating {self.emulated}"
        return self.git_version


@dataclass(frozen=True)
class Lease:
    """The identity lease that one server keeps in kube-system."""

    name: str
    hostname: str
    holder: str
    uid: str
    renewed: datetime
    duration_seconds: int
    # Where other servers reach the one that keeps it, as host:port. Not told before 1.36.
    address: str = ""


@dataclass(frozen=True)
class ClusterIdentity:
    """Which cluster answered: the namespace kube-system, and the identity leases of its servers.

    A cluster that was restored from another's snapshot has the same UID, but not its processes.
    """

    uid: str
    # The resourceVersion of that namespace, which is the mod_revision of its key in etcd.
    revision: str = ""
    leases: tuple[Lease, ...] = ()


@dataclass(frozen=True)
class ServedResource:
    """One resource, as one server's discovery document shows it."""

    resource: str
    kind: str
    storage_hash: str
    served_versions: tuple[str, ...]
    verbs: frozenset[str] = frozenset()
    namespaced: bool = False
    # The same server showed different hashes under two of its served versions.
    contradictory: bool = False

    @property
    def persisted(self) -> bool:
        """Whether objects of it are stored: reviews and bindings can only be created."""
        return bool(self.storage_hash) or bool(self.verbs & {"update", "patch", "delete"})


@dataclass(frozen=True)
class ServerSight:
    """What one address answered. A server that could not be read whole carries its fault."""

    address: str
    start_time: str = ""
    release: Release | None = None
    ready: bool = False
    fault: str = ""
    remedy: str = ""
    resources: Mapping[str, ServedResource] = field(default_factory=dict)
    # Group/versions that this server lists but could not serve, with its own words.
    unreadable: Mapping[str, str] = field(default_factory=dict)
    storage_version_api: bool = False
    # Which cluster it is of; None if it could not be read.
    identity: ClusterIdentity | None = None


@dataclass(frozen=True)
class CrdSight:
    """One CustomResourceDefinition, as far as storage is concerned."""

    resource: str
    uid: str
    generation: int
    storage_version: str = ""
    storage_version_served: bool = True
    changed: datetime | None = None


@dataclass(frozen=True)
class AggregatedSight:
    """One group/version that a kube-apiserver only proxies to a Service."""

    group_version: str
    service: str
    endpoints_before: tuple[str, ...] = ()
    endpoints_after: tuple[str, ...] = ()


@dataclass(frozen=True)
class StorageVersionEntry:
    """What one server reported of one resource through the StorageVersion API."""

    server_id: str
    encoding: str
    decodable: tuple[str, ...] = ()
    served: tuple[str, ...] = ()


@dataclass(frozen=True)
class StorageVersionSight:
    """One StorageVersion object."""

    resource: str
    name: str
    entries: tuple[StorageVersionEntry, ...]
    common: str = ""
    condition: str = UNKNOWN
    condition_reason: str = ""
    last_transition: str = ""
    resource_version: str = ""


@dataclass(frozen=True)
class ClusterSight:
    """One look at a whole cluster. `now` is the API servers' clock, not the control node's."""

    now: datetime
    servers: tuple[ServerSight, ...]
    leases: tuple[Lease, ...]
    gone_servers: frozenset[str] = frozenset()
    crds: Mapping[str, CrdSight] = field(default_factory=dict)
    aggregated: Mapping[str, AggregatedSight] = field(default_factory=dict)
    # None: no server serves the StorageVersion API.
    storage_versions: Mapping[str, StorageVersionSight] | None = None
    # The names of leases that were seen to be renewed, between two readings of them.
    renewed_leases: frozenset[str] = frozenset()
    # How many servers the EndpointSlice lists, and how many there must be; 0 is not known.
    published_servers: int = 0
    # Where it says they are, as URLs.
    published_addresses: frozenset[str] = frozenset()
    expected_servers: int = 0
    # The generation of that EndpointSlice before the servers were read, and after.
    published_generation: str = ""
    published_generation_after: str = ""
    # Which cluster the entry is of.
    identity: ClusterIdentity = field(default_factory=lambda: ClusterIdentity(""))
    # By resource, the revision of a consistent list that began after all servers were read: what
    # was stored before this observation is stored at that revision of the etcd that holds it.
    revisions: Mapping[str, int] = field(default_factory=dict)

    @property
    def all_report(self) -> bool:
        """Whether every server that was read serves the StorageVersion API."""
        read = [server for server in self.servers if not server.fault]
        return bool(read) and all(server.storage_version_api for server in read)


@dataclass(frozen=True)
class EtcdMember:
    """One member of etcd, by the list of members and by what it says itself."""

    name: str
    # The address for clients that it was asked at; empty where it has none yet.
    endpoint: str
    # Whether it has a vote: a learner has none.
    voter: bool
    # What it told; empty and 0 where it did not answer, with the reason.
    version: str = ""
    revision: int = 0
    fault: str = ""

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> EtcdMember:
        """Read back what `to_dict` made."""
        return cls(
            name=str(document["name"]),
            endpoint=str(document["endpoint"]),
            voter=bool(document["voter"]),
            version=str(document["version"]),
            revision=int(document["revision"]),
            fault=str(document["fault"]),
        )


@dataclass(frozen=True)
class EtcdSight:
    """How etcd itself is."""

    # Members that are not healthy, and raised alarms, in words.
    faults: tuple[str, ...]
    used_bytes: int
    # 0: not told, as by releases before 3.6.
    quota_bytes: int
    # The host in the address of the member that leads.
    leader: str = ""
    members: tuple[EtcdMember, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "faults": list(self.faults),
            "used_bytes": self.used_bytes,
            "quota_bytes": self.quota_bytes,
            "leader": self.leader,
            "members": [member.to_dict() for member in self.members],
        }

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> EtcdSight:
        """Read back what `to_dict` made."""
        return cls(
            faults=tuple(map(str, document["faults"])),
            used_bytes=int(document["used_bytes"]),
            quota_bytes=int(document["quota_bytes"]),
            leader=str(document.get("leader", "")),
            members=tuple(map(EtcdMember.from_dict, document.get("members", ()))),
        )
