# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""What each server says it encodes: its discovery documents, release and readiness."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide import names
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.observations import (
    Release,
    ServedResource,
    ServerSight,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe import documents
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.documents import Document
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.identity import (
    observe_identity,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.servers import (
    ApiServer,
    ServerFault,
)

STORAGE_VERSION_API = "internal.apiserver.k8s.io/v1alpha1"
_START_TIME = re.compile(rb"^process_start_time_seconds (\S+)$", re.MULTILINE)
_GROUP_VERSION_PATH = re.compile(r"/apis/([^/]+/[^/]+)")
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
        identity = observe_identity(server)
        return replace(_observe(server, patterns, known), identity=identity)
    except ServerFault as fault:
        return ServerSight(address=server.address, fault=fault.fault, remedy=fault.remedy)
    finally:
        server.close()


def _observe(server: ApiServer, patterns: Sequence[str], known: Known) -> ServerSight:
    start_time = read_start_time(server)
    release = server.get("/version").read(parse_release)
    unready = _read_unreadiness(server)
    earlier = known(server.address, start_time, release)
    if earlier:
        _require_same_process(server, start_time)
        return replace(earlier, ready=not unready, remedy=unready)
    served: dict[str, ServedResource] = {}
    unreadable: dict[str, str] = {}
    answered: set[str] = set()
    group_versions = _group_versions(server)
    wanted = [
        one
        for one in group_versions
        if names.may_match(group=names.split_group_version(one)[0], patterns=patterns)
    ]
    for number, group_version in enumerate(wanted, start=1):
        try:
            shown = _read_resources(server, group_version)
        except ServerFault as fault:
            if not fault.status:
                raise
            # A server of an older release lists what newer ones registered, and has it not.
            # An aggregated API that is down takes only its own group/version with it.
            if fault.status != 404:
                unreadable[group_version] = fault.fault
            continue
        answered.add(group_version)
        _collect(served, shown)
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
        storage_version_api=STORAGE_VERSION_API in answered
        or (STORAGE_VERSION_API in group_versions and _serves(server, STORAGE_VERSION_API)),
    )


def read_start_time(server: ApiServer) -> str:
    """When the process that answers was started: what tells servers apart (R1)."""
    start_time = parse_start_time(server.get("/metrics/slis", accept="text/plain").body)
    if not start_time:
        raise ServerFault(
            "/metrics/slis has no process_start_time_seconds, so the server can't be told apart",
            "Kubernetes 1.27 or newer is needed, on Linux.",
        )
    return start_time


def parse_start_time(metrics: bytes) -> str:
    """The moment in the metrics of a server; empty if there is none."""
    found = _START_TIME.search(metrics)
    try:
        start_time = found[1].decode("ascii") if found else ""
        return start_time if math.isfinite(float(start_time)) else ""
    except ValueError:
        return ""


def _require_same_process(server: ApiServer, start_time: str) -> None:
    if read_start_time(server) != start_time:
        raise ServerFault(
            "more than one process answers here: a load balancer, or the server was restarted",
            "Give each server's own address in servers, never the load balancer's.",
        )


def parse_release(document: Document) -> Release:
    """What a server says under /version."""
    return Release(
        git_version=documents.text(document, "gitVersion"),
        emulated=_minor(document, "emulation"),
        min_compatibility=_minor(document, "minCompatibility"),
    )


def _minor(document: Document, prefix: str) -> str:
    major = documents.optional_text(document, f"{prefix}Major")
    minor = documents.optional_text(document, f"{prefix}Minor")
    return f"{major}.{minor}" if major and minor else ""


def _read_unreadiness(server: ApiServer) -> str:
    """Empty if the server is ready; else which of its own checks fail."""
    try:
        said = server.get("/readyz", accept="text/plain").body
    except ServerFault as fault:
        if fault.status != 500:
            raise
        return f"Its /readyz says: {fault.fault}. Wait until it is ready."
    if said.strip() != b"ok":
        raise ServerFault(
            "GET /readyz was answered with something else than ok",
            "See what answers at that address: it must be an API server itself.",
        )
    return ""


def _group_versions(server: ApiServer) -> tuple[str, ...]:
    """All that this server may have: what all servers list together, and what it has itself.

    The list under /apis lies in etcd: the last server to start takes off it what it lacks, and a
    server still serves and writes what others took off. Its own paths show that.
    """
    groups = server.get("/apis").read(parse_groups)
    found = [
        *server.get("/api").read(parse_core_versions),
        *(version for versions in groups.values() for version in versions),
        *server.get("/").read(parse_paths),
    ]
    return tuple(dict.fromkeys(found))


def parse_core_versions(document: Document) -> tuple[str, ...]:
    """The versions of the core group."""
    versions = documents.texts(documents.require_kind(document, "APIVersions"), "versions")
    return tuple(names.check_group_version(version) for version in versions)


def parse_groups(document: Document) -> dict[str, tuple[str, ...]]:
    """The group/versions of every other group."""
    found = {}
    for group in documents.sections(documents.require_kind(document, "APIGroupList"), "groups"):
        versions = documents.sections(group, "versions")
        found[documents.text(group, "name")] = tuple(
            names.check_group_version(documents.text(version, "groupVersion"))
            for version in versions
        )
    return found


def parse_paths(document: Document) -> tuple[str, ...]:
    """The group/versions among the paths that a server has."""
    paths = documents.texts(document, "paths")
    if "/apis" not in paths:
        raise documents.MalformedError("its paths lack /apis")
    found = (_GROUP_VERSION_PATH.fullmatch(path) for path in paths)
    return tuple(names.check_group_version(one[1]) for one in found if one)


def _serves(server: ApiServer, group_version: str) -> bool:
    """Whether this very server has it, which it may also list since others do."""
    try:
        _read_resources(server, group_version)
    except ServerFault as fault:
        if fault.status != 404:
            raise
        return False
    return True


def _read_resources(server: ApiServer, group_version: str) -> tuple[ServedResource, ...]:
    answer = server.get(names.api_path(group_version))
    return answer.read(partial(parse_resources, group_version=group_version))


def parse_resources(document: Document, *, group_version: str) -> tuple[ServedResource, ...]:
    """The resources in the discovery document of one group/version."""
    documents.require_kind(document, "APIResourceList")
    if documents.text(document, "groupVersion") != group_version:
        raise documents.MalformedError(f"it is not about {group_version}")
    group, _version = names.split_group_version(group_version)
    shown = (
        ServedResource(
            resource=names.resource_name(group=group, plural=documents.text(item, "name")),
            kind=documents.optional_text(item, "kind"),
            storage_hash=documents.optional_text(item, "storageVersionHash"),
            served_versions=(group_version,),
            verbs=frozenset(documents.texts(item, "verbs")),
            namespaced=documents.flag(item, "namespaced"),
        )
        for item in documents.sections(document, "resources")
        # Subresources are never stored by themselves.
        if "/" not in documents.text(item, "name")
    )
    return tuple(_check_resource(one) for one in shown)


def _check_resource(served: ServedResource) -> ServedResource:
    """The same, if it can be true. Metrics, which are never stored, have names of any form."""
    if served.persisted:
        names.split_resource(served.resource)
        if not served.kind:
            raise documents.MalformedError(f"{served.resource} has no kind")
    return served


def _collect(served: dict[str, ServedResource], shown: Sequence[ServedResource]) -> None:
    """Add what one group/version shows to what others have shown of the same resources."""
    for resource in shown:
        known = served.get(resource.resource)
        served[resource.resource] = resource if known is None else _joined(known, resource)


def _joined(known: ServedResource, shown: ServedResource) -> ServedResource:
    return replace(
        shown,
        storage_hash=known.storage_hash,
        served_versions=(*known.served_versions, *shown.served_versions),
        verbs=known.verbs | shown.verbs,
        contradictory=known.contradictory or known.storage_hash != shown.storage_hash,
    )
