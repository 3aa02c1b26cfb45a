# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""What servers showed in an earlier look, for a later one that need not read it all again.

What a server encodes hangs on its process and on the definitions of custom resources. While both
are the same, so is what it showed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

from .observations import ClusterSight, CrdSight, Release, ServedResource, ServerSight
from .settling import CUSTOM_SECONDS

_EVERYTHING = ["*"]


@dataclass(frozen=True)
class KnownServers:
    """Servers by address, and the definitions that there were."""

    servers: Mapping[str, ServerSight] = field(default_factory=dict)
    definitions: Mapping[str, tuple[str, int]] = field(default_factory=dict)

    def find(
        self, address: str, *, start_time: str, release: Release, crds: Mapping[str, CrdSight]
    ) -> ServerSight | None:
        """What that very process showed, if it shows the same now."""
        known = self.servers.get(address)
        same = known is not None and (known.start_time, known.release) == (start_time, release)
        return known if same and self.definitions == _definitions(crds) else None


def present_known(sight: ClusterSight, patterns: Sequence[str]) -> dict[str, Any]:
    """What is worth to be kept of a look, as plain data; nothing if it may change by itself."""
    settled = all(
        crd.changed is None or sight.now - crd.changed >= timedelta(seconds=CUSTOM_SECONDS)
        for crd in sight.crds.values()
    )
    # What is behind an aggregated API comes and goes without anybody noticing.
    if list(patterns) != _EVERYTHING or sight.aggregated or not settled:
        return {}
    # Most servers show the same: once is enough.
    alike: dict[str, dict[str, Any]] = {}
    for server in sight.servers:
        if server.fault or server.unreadable:
            continue
        shown = {name: _present_resource(one) for name, one in server.resources.items()}
        group = alike.setdefault(str(shown), {"shown_by": [], "resources": shown})
        group["shown_by"].append(_present_server(server))
    return {
        "definitions": {name: list(one) for name, one in _definitions(sight.crds).items()},
        "servers": list(alike.values()),
    }


def read_known(look: Mapping[str, Any] | None) -> KnownServers:
    """The same, from the result of an earlier look; nothing if it holds nothing."""
    data = (look or {}).get("known") or {}
    servers = {}
    for group in data.get("servers") or []:
        resources = {name: _read_resource(name, one) for name, one in group["resources"].items()}
        for one in group["shown_by"]:
            servers[one["address"]] = ServerSight(
                address=one["address"],
                start_time=one["start_time"],
                release=Release(*one["release"]),
                resources=resources,
                storage_version_api=one["storage_version_api"],
            )
    definitions = {
        name: (str(uid), int(generation))
        for name, (uid, generation) in (data.get("definitions") or {}).items()
    }
    return KnownServers(servers, definitions)


def _definitions(crds: Mapping[str, CrdSight]) -> dict[str, tuple[str, int]]:
    return {name: (crd.uid, crd.generation) for name, crd in crds.items()}


def _present_server(server: ServerSight) -> dict[str, Any]:
    release = server.release or Release("")
    return {
        "address": server.address,
        "start_time": server.start_time,
        "release": [release.git_version, release.emulated, release.min_compatibility],
        "storage_version_api": server.storage_version_api,
    }


def _present_resource(one: ServedResource) -> list[Any]:
    return [
        one.kind,
        one.storage_hash,
        list(one.served_versions),
        sorted(one.verbs),
        one.namespaced,
        one.contradictory,
    ]


def _read_resource(name: str, data: Sequence[Any]) -> ServedResource:
    kind, storage_hash, versions, verbs, namespaced, contradictory = data
    return ServedResource(
        resource=name,
        kind=kind,
        storage_hash=storage_hash,
        served_versions=tuple(versions),
        verbs=frozenset(verbs),
        namespaced=namespaced,
        contradictory=contradictory,
    )
