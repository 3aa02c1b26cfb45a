# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""One look at a whole cluster: every server in parallel, and what they share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TypeVar

from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide import names
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.known import KnownServers
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.observations import (
    AggregatedSight,
    ClusterSight,
    CrdSight,
    Release,
    ServerSight,
    StorageVersionSight,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe import documents
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.crds import (
    observe_crds,
    observe_storage_of,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.discovery import (
    Known,
    observe_server,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.documents import Document
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.identity import (
    observe_identity,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.objects import ObjectList
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.servers import (
    PUBLISHED_IN,
    Access,
    ApiServer,
    Deadline,
    ServerFault,
    find_servers,
    ready_addresses,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.storage_versions import (
    observe_leases,
    observe_leases_again,
    observe_storage_versions,
)

Sight = TypeVar("Sight")

_API_SERVICES = "/apis/apiregistration.k8s.io/v1/apiservices"


def observe_cluster(
    access: Access,
    *,
    servers: Sequence[str] = (),
    gone_servers: Iterable[str] = (),
    server_count: int = 0,
    patterns: Sequence[str] = ("*",),
    timeout: float,
    known: KnownServers | None = None,
    revisions_of: Iterable[str] = (),
) -> ClusterSight:
    """Look at every server and at what they share.

    `servers` empty: they are found. `known`: what was seen earlier is not read again if it holds.
    `revisions_of`: resources in an etcd of their own, whose revision is taken as well.
    """
    entry = ApiServer(access, access.host, Deadline(timeout))
    try:
        published = find_servers(entry)
        addresses = list(servers) or published.addresses
        crds = _chosen(observe_crds(entry), patterns)
        aggregated = _observe_aggregated(entry, patterns)
        find = _finder(known, crds, aggregated)
        sights = _observe_servers(access, addresses, patterns, timeout, find)
        storage_versions = _observe_storage_versions(access, sights, patterns, timeout)
        # Last, so that a server that came up meanwhile is counted, and its entries are not taken
        # for stale; and with time of its own, since one that does not answer has used up the rest.
        entry.deadline = Deadline(timeout)
        leases, now, renewed = observe_leases_again(entry, *observe_leases(entry))
        identity = observe_identity(entry, leases)
        published_after = find_servers(entry)
        return ClusterSight(
            now=now,
            servers=sights,
            leases=leases,
            renewed_leases=renewed,
            gone_servers=frozenset(gone_servers),
            crds=observe_storage_of(entry, crds, _without_hash(sights)),
            aggregated=_observe_again(entry, aggregated),
            storage_versions=storage_versions,
            published_servers=published.count,
            published_addresses=frozenset(published.addresses),
            published_generation=published.generation,
            published_generation_after=published_after.generation,
            expected_servers=server_count,
            identity=identity,
            revisions={
                PUBLISHED_IN: published_after.revision,
                **_observe_revisions(entry, sights, revisions_of),
            },
        )
    except ServerFault as fault:
        raise fault.as_error(f"The cluster can't be read through {access.host}") from fault
    finally:
        entry.close()


def _finder(
    known: KnownServers | None,
    crds: Mapping[str, CrdSight],
    aggregated: Mapping[str, AggregatedSight],
) -> Known:
    def find(address: str, start_time: str, release: Release) -> ServerSight | None:
        if known is None or aggregated:
            return None
        return known.find(address, start_time=start_time, release=release, crds=crds)

    return find


def _observe_servers(
    access: Access,
    addresses: Sequence[str],
    patterns: Sequence[str],
    timeout: float,
    known: Known,
) -> tuple[ServerSight, ...]:
    if not addresses:
        return ()

    def observe(address: str) -> ServerSight:
        server = ApiServer(access, address, Deadline(timeout))
        return observe_server(server, patterns=patterns, known=known)

    with ThreadPoolExecutor(max_workers=len(addresses)) as pool:
        return tuple(pool.map(observe, addresses))


def _observe_storage_versions(
    access: Access, sights: Iterable[ServerSight], patterns: Sequence[str], timeout: float
) -> dict[str, StorageVersionSight] | None:
    """From a server that serves them: the API may be on in some servers only."""
    serving = [sight.address for sight in sights if sight.storage_version_api]
    if not serving:
        return None
    server = ApiServer(access, serving[0], Deadline(timeout))
    try:
        return _chosen(observe_storage_versions(server), patterns)
    except ServerFault as fault:
        what = f"The StorageVersion objects can't be read through {server.address}"
        raise fault.as_error(what) from fault
    finally:
        server.close()


def _chosen(sights: Mapping[str, Sight], patterns: Sequence[str]) -> dict[str, Sight]:
    chosen = names.select_resources(resources=sights, patterns=patterns)
    return {name: sights[name] for name in chosen}


def _observe_revisions(
    entry: ApiServer, sights: Iterable[ServerSight], resources: Iterable[str]
) -> dict[str, int]:
    """The revision of a consistent list of each; none of what no server serves."""
    found = {}
    for name in resources:
        served = next((one.resources[name] for one in sights if name in one.resources), None)
        if served:
            listing = ObjectList(name, served.served_versions[0], namespaced=served.namespaced)
            found[name] = int(listing.read_page(entry, limit=1).version)
    return found


def _without_hash(sights: Iterable[ServerSight]) -> set[str]:
    return {
        name
        for sight in sights
        for name, served in sight.resources.items()
        if served.persisted and not served.storage_hash
    }


def _observe_aggregated(entry: ApiServer, patterns: Sequence[str]) -> dict[str, AggregatedSight]:
    """The group/versions that servers only proxy, each with the endpoints behind it."""
    services = entry.get(_API_SERVICES).read(parse_api_services)
    return {
        group_version: AggregatedSight(
            group_version=group_version,
            service=service,
            endpoints_before=_endpoints(entry, service),
        )
        for group_version, service in services.items()
        if names.may_match(group=names.split_group_version(group_version)[0], patterns=patterns)
    }


def parse_api_services(document: Document) -> dict[str, str]:
    """The Service behind each group/version that has one."""
    found = {}
    for item in documents.list_items(document, "APIServiceList"):
        spec = documents.required_section(item, "spec")
        service = documents.section(spec, "service")
        if service:
            group, version = documents.optional_text(spec, "group"), documents.text(spec, "version")
            place = (documents.text(service, "namespace"), documents.text(service, "name"))
            found[f"{group}/{version}"] = "/".join(place)
    return found


def _observe_again(
    entry: ApiServer, aggregated: Mapping[str, AggregatedSight]
) -> dict[str, AggregatedSight]:
    return {
        name: replace(sight, endpoints_after=_endpoints(entry, sight.service))
        for name, sight in aggregated.items()
    }


def _endpoints(entry: ApiServer, service: str) -> tuple[str, ...]:
    namespace, name = service.split("/")
    return entry.get(
        f"/apis/discovery.k8s.io/v1/namespaces/{namespace}/endpointslices",
        labelSelector=f"kubernetes.io/service-name={name}",
    ).read(parse_endpoints)


def parse_endpoints(document: Document) -> tuple[str, ...]:
    """The ready endpoints of a Service."""
    found = set()
    for item in documents.list_items(document, "EndpointSliceList"):
        # Two ports of one address may be two processes.
        ports = [
            str(documents.optional_number(port, "port") or "")
            for port in documents.sections(item, "ports") or [{}]
        ]
        found |= {f"{address}:{'+'.join(ports)}" for address in ready_addresses(item)}
    return tuple(sorted(found))
