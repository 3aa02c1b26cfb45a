# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""What was seen of a cluster: the data that every verdict is made from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
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
    # How many servers the EndpointSlice lists, and how many there must be; 0 is not known.
    published_servers: int = 0
    expected_servers: int = 0
    # The generation of that EndpointSlice before the servers were read, and after.
    published_generation: str = ""
    published_generation_after: str = ""

    @property
    def all_report(self) -> bool:
        """Whether every server that was read serves the StorageVersion API."""
        read = [server for server in self.servers if not server.fault]
        return bool(read) and all(server.storage_version_api for server in read)


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

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "faults": list(self.faults),
            "used_bytes": self.used_bytes,
            "quota_bytes": self.quota_bytes,
            "leader": self.leader,
        }
