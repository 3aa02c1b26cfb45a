# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""What each server says it encodes: its discovery documents, release and readiness."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide import names
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.observations import (
    Release,
    ServedResource,
    ServerSight,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.servers import (
    ApiServer,
    ServerFault,
)

STORAGE_VERSION_API = "internal.apiserver.k8s.io/v1alpha1"
_START_TIME = re.compile(rb"^process_start_time_seconds (\S+)$", re.MULTILINE)
# How many documents are read before it is checked again that the same process still answers.
_DOCUMENTS_PER_CHECK = 25


# What a process showed in an earlier look, if that still holds.
Known = Callable[[str, str, Release], "ServerSight | None"]


def observe_server(
    server: ApiServer,
    *,
    patterns: Sequence[str],
    known: Known = lambda address, start_time, release: None,
) -> ServerSight:
    """Read one server, as far as the patterns go; what stops that becomes its fault."""
    try:
        return _observe(server, patterns, known)
    except ServerFault as fault:
        return ServerSight(address=server.address, fault=fault.fault, remedy=fault.remedy)
    finally:
        server.close()


def _observe(server: ApiServer, patterns: Sequence[str], known: Known) -> ServerSight:
    start_time = read_start_time(server)
    release = _read_release(server)
    unready = _read_unreadiness(server)
    earlier = known(server.address, start_time, release)
    if earlier:
        _require_same_process(server, start_time)
        return replace(earlier, ready=not unready, remedy=unready)
    served: dict[str, ServedResource] = {}
    unreadable: dict[str, str] = {}
    group_versions = _group_versions(server)
    wanted = [
        one
        for one in group_versions
        if names.may_match(group=names.split_group_version(one)[0], patterns=patterns)
    ]
    for number, group_version in enumerate(wanted, start=1):
        try:
            document = server.get(names.api_path(group_version)).json()
        except ServerFault as fault:
            if not fault.status:
                raise
            # A server of an older release lists what newer ones registered, and has it not.
            # An aggregated API that is down takes only its own group/version with it.
            if fault.status != 404:
                unreadable[group_version] = fault.fault
            continue
        _collect(served, group_version, document.get("resources") or [])
        if number % _DOCUMENTS_PER_CHECK == 0:
            _require_same_process(server, start_time)
    _require_same_process(server, start_time)
    return ServerSight(
        address=server.address,
        start_time=start_time,
        release=release,
        ready=not unready,
        remedy=unready,
        resources={
            name: served[name]
            for name in names.select_resources(resources=served, patterns=patterns)
        },
        unreadable=unreadable,
        storage_version_api=_serves(server, STORAGE_VERSION_API),
    )


def read_start_time(server: ApiServer) -> str:
    """When the process that answers was started: what tells servers apart (R1)."""
    found = _START_TIME.search(server.get("/metrics/slis", accept="text/plain").body)
    if not found:
        raise ServerFault(
            "/metrics/slis has no process_start_time_seconds, so the server can't be told apart",
            "Kubernetes 1.27 or newer is needed, on Linux.",
        )
    return found.group(1).decode()


def _require_same_process(server: ApiServer, start_time: str) -> None:
    if read_start_time(server) != start_time:
        raise ServerFault(
            "more than one process answers here: a load balancer, or the server was restarted",
            "Give each server's own address in servers, never the load balancer's.",
        )


def _read_release(server: ApiServer) -> Release:
    document = server.get("/version").json()
    return Release(
        git_version=document["gitVersion"],
        emulated=_minor(document, "emulation"),
        min_compatibility=_minor(document, "minCompatibility"),
    )


def _minor(document: Mapping[str, Any], prefix: str) -> str:
    major, minor = document.get(f"{prefix}Major"), document.get(f"{prefix}Minor")
    return f"{major}.{minor}" if major and minor else ""


def _read_unreadiness(server: ApiServer) -> str:
    """Empty if the server is ready; else which of its own checks fail."""
    try:
        server.get("/readyz", accept="text/plain")
    except ServerFault as fault:
        if fault.status != 500:
            raise
        return f"Its /readyz says: {fault.fault}. Wait until it is ready."
    return ""


def _group_versions(server: ApiServer) -> list[str]:
    group_versions = list(server.get("/api").json().get("versions") or [])
    for group in server.get("/apis").json().get("groups") or []:
        group_versions += [version["groupVersion"] for version in group["versions"]]
    return group_versions


def _serves(server: ApiServer, group_version: str) -> bool:
    """Whether this very server has it. Its list can't tell: all servers share that in etcd.

    So a server lists what only others have, and leaves out what the last one to start lacks.
    """
    try:
        server.get(names.api_path(group_version))
    except ServerFault as fault:
        if fault.status != 404:
            raise
        return False
    return True


def _collect(
    served: dict[str, ServedResource], group_version: str, resources: Sequence[Mapping[str, Any]]
) -> None:
    group, _version = names.split_group_version(group_version)
    for item in resources:
        # Subresources are never stored by themselves.
        if "/" in item["name"]:
            continue
        name = names.resource_name(group=group, plural=item["name"])
        known = served.get(name)
        shown = item.get("storageVersionHash") or ""
        served[name] = ServedResource(
            resource=name,
            kind=item["kind"],
            storage_hash=known.storage_hash if known else shown,
            served_versions=(*(known.served_versions if known else ()), group_version),
            verbs=frozenset(item.get("verbs") or ()) | (known.verbs if known else frozenset()),
            namespaced=bool(item.get("namespaced")),
            contradictory=known is not None
            and (known.contradictory or known.storage_hash != shown),
        )
