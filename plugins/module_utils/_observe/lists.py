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
from contextlib import contextmanager
from queue import SimpleQueue
from typing import Any

from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.checks.facts import (
    NAMED,
    ListFacts,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.rewrites import ObjectName
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

_CONNECTIONS = 4
# In so many namespaces at most is looked for what can't be read.
_NAMESPACES = 200


def observe_lists(
    access: Access,
    listings: Sequence[ObjectList],
    *,
    served: Collection[str],
    samples: int,
    timeout: float,
    tell: Callable[[Callable[[], str]], None],
) -> dict[str, ListFacts]:
    """List every resource, a few at a time; `served` are all group/versions that are served."""
    servers: SimpleQueue[ApiServer] = SimpleQueue()
    for _number in range(_CONNECTIONS):
        servers.put(ApiServer(access, access.host, Deadline(timeout)))
    first = servers.get()
    namespaces = observe_namespaces(first)
    servers.put(first)

    def observe(listing: ObjectList) -> ListFacts:
        server = servers.get()
        try:
            with serving(access, listing, server) as asked:
                listed = _observe_list(asked, listing, namespaces, served, samples)
            tell(lambda: f"all of {listing.resource} was listed")
            return listed
        finally:
            servers.put(server)

    try:
        with ThreadPoolExecutor(_CONNECTIONS) as pool:
            found = pool.map(observe, listings)
            return {one.resource: facts for one, facts in zip(listings, found)}
    finally:
        while not servers.empty():
            servers.get().close()


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
) -> ListFacts:
    known = frozenset(namespaces)
    count = 0
    # Some of them, in their order: all names of a long list would take much memory.
    names: list[ObjectName] = []
    orphans: list[str] = []
    unserved: list[str] = []
    try:
        for page, metadata in listing.read_metadata(server):
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
