# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""The names of a resource's objects, page by page, and nothing else of them (R11)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide import names, pages
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.rewrites import ObjectName
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.servers import (
    Answer,
    ApiServer,
    ServerFault,
)

_META = "g=meta.k8s.io;v=v1"
_METADATA = f"application/json;as=PartialObjectMetadata;{_META}"
_METADATA_LIST = f"application/json;as=PartialObjectMetadataList;{_META}"
_TABLE = f"application/json;as=Table;{_META}"
# Metadata holds the annotation that kubectl apply leaves: the whole object, data and all.
_TABLE_ONLY = frozenset({"secrets", "configmaps"})
# What a server answers to lists until it has read all of a resource: for ever, if it can't.
_INITIALISING = "storage is (re)initializing"


@dataclass(frozen=True)
class NamesPage:
    """One page of a list."""

    names: tuple[ObjectName, ...]
    # Where the next page begins; empty after the last one.
    token: str
    # How many more there are, as far as the server tells.
    remaining: int
    # The resourceVersion of the list.
    version: str
    # How many objects the next page should hold.
    next_limit: int = 0


@dataclass(frozen=True)
class ObjectList:
    """Where the objects of one resource are, and how they are read."""

    resource: str
    group_version: str
    namespaced: bool
    # The address of a server that serves it, where not all do; else any server can be asked.
    served_by: str = ""

    @property
    def by_namespace(self) -> bool:
        """Whether its names are told without their namespaces."""
        return self.namespaced and self.resource in _TABLE_ONLY

    @property
    def answer_type(self) -> tuple[str, Mapping[str, str]]:
        """What to accept of an answer about one object, and the query that goes with it."""
        if self.resource in _TABLE_ONLY:
            return _TABLE, {"includeObject": "None"}
        return _METADATA, {}

    def path(self, namespace: str = "", name: str = "") -> str:
        """The path of one object, or of the objects of a namespace, or of all."""
        plural, _group = names.split_resource(self.resource)
        path = names.resource_path(
            group_version=self.group_version, plural=plural, namespace=namespace
        )
        # Names of some resources hold colons; a server takes them as they are.
        return f"{path}/{quote(name, safe=':')}" if name else path

    def read_page(
        self, server: ApiServer, *, namespace: str = "", token: str = "", limit: int = 0
    ) -> NamesPage:
        """One page, of so many objects as the page before it asks for; 0 is a first page.

        A token that has expired is replaced by the one that the server offers.
        """
        answer = self._read(server, namespace, token, limit)
        return self._names(answer.json(), namespace, size=len(answer.body))

    def read_metadata(
        self, server: ApiServer, *, namespace: str = "", at: int = 0
    ) -> Iterator[tuple[NamesPage, Sequence[Mapping[str, Any]]]]:
        """All pages, each with the metadata of its objects, where a list may hold that (R11).

        `at` is a revision of etcd to read at; 0 is now.
        """
        token, limit = "", 0
        while True:
            answer = self._read(server, namespace, token, limit, at)
            document = answer.json()
            page = self._names(document, namespace, size=len(answer.body))
            yield page, [item["metadata"] for item in document.get("items") or []]
            token, limit = page.token, page.next_limit
            if not token:
                return

    def _read(
        self, server: ApiServer, namespace: str, token: str, limit: int, at: int = 0
    ) -> Answer:
        while True:
            query = {"limit": str(limit or pages.LIST_PAGE)}
            if token:
                query["continue"] = token
            elif at:
                query |= {"resourceVersion": str(at), "resourceVersionMatch": "Exact"}
            try:
                if self.resource in _TABLE_ONLY:
                    return server.get(
                        self.path(namespace), accept=_TABLE, includeObject="None", **query
                    )
                return server.get(self.path(namespace), accept=_METADATA_LIST, **query)
            except ServerFault as fault:
                if fault.status != 410 or at:
                    raise
                # It goes on at the same place, with what is there now; none means: from the start.
                token = str((fault.document.get("metadata") or {}).get("continue") or "")

    def _names(self, document: Mapping[str, Any], namespace: str, *, size: int) -> NamesPage:
        if self.resource in _TABLE_ONLY:
            rows = document.get("rows") or []
            found = [ObjectName(str(row["cells"][0]), namespace) for row in rows]
        else:
            found = [_name(item["metadata"]) for item in document.get("items") or []]
        metadata = document.get("metadata") or {}
        remaining = int(metadata.get("remainingItemCount") or 0)
        return NamesPage(
            names=tuple(found),
            token=str(metadata.get("continue") or ""),
            remaining=remaining,
            version=str(metadata.get("resourceVersion") or ""),
            next_limit=pages.list_limit(left=remaining, names=len(found), size=size),
        )

    def try_rewrite(self, server: ApiServer, name: ObjectName) -> None:
        """Have one object written without effect: webhooks and validation judge it all the same."""
        server.rewrite(
            self.path(name.namespace, name.name),
            accept=_TABLE,
            query={"includeObject": "None", "dryRun": "All"},
        )

    def read_one(self, server: ApiServer, name: ObjectName) -> None:
        """Have one object read in this group/version; only its metadata comes."""
        server.get(self.path(name.namespace, name.name), accept=self.answer_type[0])

    def count(self, server: ApiServer) -> int | None:
        """How many objects there are; None if nobody can tell, since one can't be decoded."""
        try:
            page = self.read_page(server, limit=1)
        except ServerFault as fault:
            if fault.status != 500:
                raise
            return None
        return len(page.names) + page.remaining

    def count_at(self, server: ApiServer, revision: int) -> int | None:
        """How many objects a server showed at a revision; None if that is over, or unreadable."""
        server.deadline = server.deadline.anew()
        try:
            return sum(len(page.names) for page, _m in self.read_metadata(server, at=revision))
        except ServerFault as fault:
            if fault.status != 410 and not unreadable(fault):
                raise
            return None

    def read_orphans(self, server: ApiServer, namespaces: Iterable[str]) -> tuple[str, ...]:
        """The names of objects outside of these namespaces; where they lie is not told."""
        selector = ",".join(f"metadata.namespace!={one}" for one in namespaces)
        document = server.get(
            self.path(), accept=_TABLE, includeObject="None", fieldSelector=selector, limit="500"
        ).json()
        return tuple(str(row["cells"][0]) for row in document.get("rows") or [])


def unreadable(fault: ServerFault) -> bool:
    """Whether a list failed since something in it can't be decoded."""
    return fault.status == 500 or _INITIALISING in fault.fault


def observe_namespaces(server: ApiServer) -> tuple[str, ...]:
    """The names of all namespaces."""
    found: list[str] = []
    listing = ObjectList("namespaces", "v1", namespaced=False)
    token = ""
    while True:
        page = listing.read_page(server, token=token)
        found += [one.name for one in page.names]
        token = page.token
        if not token:
            return tuple(sorted(set(found)))


def read_answer(document: Mapping[str, Any]) -> Mapping[str, Any]:
    """The metadata in an answer about one object; a Table carries little more than its version."""
    metadata = document.get("metadata")
    return metadata if isinstance(metadata, Mapping) else {}


def _name(metadata: Mapping[str, Any]) -> ObjectName:
    return ObjectName(
        # One that was broken in etcd may have none.
        name=str(metadata.get("name") or ""),
        namespace=str(metadata.get("namespace") or ""),
        version=str(metadata.get("resourceVersion") or ""),
    )
