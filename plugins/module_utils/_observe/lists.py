# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""All objects of every resource, listed as they are stored: whether each can be read at all.

A consistent list makes a server decode every object. Names and metadata are all that comes of it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from functools import partial
from queue import SimpleQueue
from typing import Any, TypeVar

from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.audited import Shown
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.checks.facts import (
    NAMED,
    ListFacts,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.keys import same_objects
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.passes import (
    served_version,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.rewrites import ObjectName
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.settling import Look
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.objects import (
    ObjectList,
    observe_namespaces,
    unreadable,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.servers import (
    Access,
    ApiServer,
    Deadline,
    ServerFault,
)

Found = TypeVar("Found")

_CONNECTIONS = 4
# In so many namespaces at most is looked for what can't be read.
_NAMESPACES = 200


class _OverError(Exception):
    """The revision that was to be listed at has been compacted."""


def observe_lists(
    access: Access,
    listings: Sequence[ObjectList],
    *,
    served: Collection[str],
    samples: int,
    timeout: float,
    tell: Callable[[Callable[[], str]], None],
    at: Callable[[str], int] = lambda resource: 0,
) -> dict[str, ListFacts]:
    """List every resource, a few at a time; `served` are all group/versions that are served.

    `at` tells the revision of etcd to list a resource at; 0, or one that is over, is now.
    """
    with closing(ApiServer(access, access.host, Deadline(timeout))) as first:
        namespaces = observe_namespaces(first)

    def observe(server: ApiServer, listing: ObjectList) -> ListFacts:
        read = partial(_observe_list, server, listing, namespaces, served, samples)
        try:
            listed = read(at(listing.resource))
        except _OverError:
            listed = read(0)
        tell(lambda: f"all of {listing.resource} was listed")
        return listed

    return _with_each(access, listings, observe, timeout=timeout)


def _with_each(
    access: Access,
    listings: Sequence[ObjectList],
    observe: Callable[[ApiServer, ObjectList], Found],
    *,
    timeout: float,
) -> dict[str, Found]:
    """What is observed of each, a few at a time, each over a connection that is kept."""
    servers: SimpleQueue[ApiServer] = SimpleQueue()
    for _number in range(_CONNECTIONS):
        servers.put(ApiServer(access, access.host, Deadline(timeout)))

    def one(listing: ObjectList) -> Found:
        server = servers.get()
        server.deadline = server.deadline.anew()
        try:
            with serving(access, listing, server) as asked:
                return observe(asked, listing)
        finally:
            servers.put(server)

    try:
        with ThreadPoolExecutor(_CONNECTIONS) as pool:
            return {
                listing.resource: found for listing, found in zip(listings, pool.map(one, listings))
            }
    finally:
        while not servers.empty():
            servers.get().close()


def listings_of(seen: Look) -> dict[str, ObjectList]:
    """How to list each resource that is stored; those that are the same objects, once."""
    found: dict[str, ObjectList] = {}
    for name, agreement in seen.agreements.items():
        served = next(
            (one.resources[name] for one in seen.sight.servers if name in one.resources), None
        )
        if agreement.origin == "aggregated" or served is None or "list" not in served.verbs:
            continue
        if not any(one in found for one in same_objects(name)):
            version = served_version(seen.sight, name)
            found[name] = ObjectList(
                name,
                version,
                namespaced=served.namespaced,
                served_by=_served_by(seen, name, version),
            )
    return found


def _served_by(seen: Look, resource: str, version: str) -> str:
    """A server that serves it, where others do not, as in the middle of a roll."""
    serving = [
        server.address
        for server in seen.sight.servers
        if resource in server.resources and version in server.resources[resource].served_versions
    ]
    return "" if len(serving) == len(seen.sight.servers) else serving[0]


def observe_counts(
    access: Access,
    listings: Sequence[ObjectList],
    *,
    at: Callable[[str], int],
    timeout: float,
) -> dict[str, Shown]:
    """How many objects servers show of each resource at a revision, by one short request each."""

    def count(server: ApiServer, listing: ObjectList) -> Shown:
        try:
            return Shown(listing.count_at(server, at(listing.resource)))
        except ServerFault as fault:
            if fault.lasting:
                raise
            return Shown(None, fault.fault)

    return _with_each(access, listings, count, timeout=timeout)


@contextmanager
def serving(access: Access, listing: ObjectList, server: ApiServer) -> Iterator[ApiServer]:
    """The server that is to be asked for a list: the given one, unless not all serve it."""
    if not listing.served_by:
        yield server
        return
    own = ApiServer(access, listing.served_by, server.deadline.anew())
    try:
        yield own
    finally:
        own.close()


def _observe_list(
    server: ApiServer,
    listing: ObjectList,
    namespaces: Sequence[str],
    served: Collection[str],
    samples: int,
    revision: int,
) -> ListFacts:
    known = frozenset(namespaces)
    count = 0
    # Some of them, in their order: all names of a long list would take much memory.
    names: list[ObjectName] = []
    orphans: list[str] = []
    unserved: list[str] = []
    try:
        for page, metadata in listing.read_metadata(server, at=revision):
            server.deadline = server.deadline.anew()
            count += len(page.names)
            names += _spread([one for one in page.names if one.name], samples)
            orphans += [
                str(one) for one in page.names if one.namespace and one.namespace not in known
            ]
            unserved += [_name(one) for one in metadata if _managed_versions(one) - set(served)]
        if listing.by_namespace:
            orphans += listing.read_orphans(server, namespaces)
            names = _somewhere(server, listing) if names else []
    except ServerFault as fault:
        if revision and fault.status == 410:
            raise _OverError from fault
        if fault.lasting:
            raise
        if not unreadable(fault):
            # It was deleted meanwhile, may not be read, or took too long: nobody can tell.
            return ListFacts(objects=None, fault=fault.fault, unknown=True)
        return ListFacts(
            objects=None,
            fault=str(fault.document.get("message") or fault.fault),
            namespaces=_unreadable_namespaces(server, listing, namespaces),
        )
    return ListFacts(
        objects=count,
        orphans=tuple(orphans[:NAMED]),
        orphan_count=len(orphans),
        unserved_fields=tuple(unserved[:NAMED]),
        unserved_count=len(unserved),
        samples=_spread(names, samples),
        revision=revision,
    )


def _unreadable_namespaces(
    server: ApiServer, listing: ObjectList, namespaces: Sequence[str]
) -> tuple[str, ...]:
    if not listing.namespaced:
        return ()
    found = []
    for namespace in namespaces[:_NAMESPACES]:
        server.deadline = server.deadline.anew()
        try:
            for _page in listing.read_metadata(server, namespace=namespace):
                pass
        except ServerFault:
            found.append(namespace)
    return tuple(found)


def _somewhere(server: ApiServer, listing: ObjectList) -> list[ObjectName]:
    """Objects of a namespace, where a list of all does not tell which one they are in."""
    for namespace in ("kube-system", "default"):
        page = listing.read_page(server, namespace=namespace, limit=1)
        if page.names:
            return list(page.names)
    return []


def _spread(names: Sequence[ObjectName], count: int) -> tuple[ObjectName, ...]:
    """A few of them, from the first to the last."""
    if len(names) <= count:
        return tuple(names)
    step = (len(names) - 1) / max(count - 1, 1)
    return tuple(names[round(number * step)] for number in range(count))


def _managed_versions(metadata: Mapping[str, Any]) -> set[str]:
    return {str(one.get("apiVersion") or "") for one in metadata.get("managedFields") or []} - {""}


def _name(metadata: Mapping[str, Any]) -> str:
    namespace = metadata.get("namespace")
    name = str(metadata.get("name") or "")
    return f"{namespace}/{name}" if namespace else name
