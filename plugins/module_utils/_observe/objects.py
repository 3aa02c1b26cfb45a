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

from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide import (
    answers,
    names,
    pages,
)
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
        return self._names(server, answer.json(), namespace, size=len(answer.body))

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
            page = self._names(server, document, namespace, size=len(answer.body))
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
                if fault.status != 410 or at or not token or server.deadline.passed:
                    raise
                # It goes on at the same place, with what is there now; none means: from the start.
                token = answers.next_token(fault.document)

    def _names(
        self, server: ApiServer, document: object, namespace: str, *, size: int
    ) -> NamesPage:
        table = self.resource in _TABLE_ONLY
        try:
            read = answers.read_list(document, table=table, namespace=namespace)
        except answers.WrongAnswer as wrong:
            raise _wrong_answer(server, f"a list of {self.resource}", wrong) from wrong
        return NamesPage(
            names=read.names,
            token=read.token,
            remaining=read.remaining,
            version=read.version,
            next_limit=pages.list_limit(left=read.remaining, names=len(read.names), size=size),
        )

    def rewrite(self, server: ApiServer, name: ObjectName) -> tuple[Mapping[str, Any], int]:
        """Have one object written as this server encodes it: its metadata, and the bytes of both.

        An answer that is not about this very object is a fault of the server.
        """
        path = self.path(name.namespace, name.name)
        accept, query = self.answer_type
        answer = server.rewrite(path, accept=accept, query=query)
        table = self.resource in _TABLE_ONLY
        return self._object(server, answer, name, table=table), len(answer.body) + len(path)

    def try_rewrite(self, server: ApiServer, name: ObjectName) -> None:
        """Have one object written without effect: webhooks and validation judge it all the same."""
        answer = server.rewrite(
            self.path(name.namespace, name.name),
            accept=_TABLE,
            query={"includeObject": "None", "dryRun": "All"},
        )
        self._object(server, answer, name, table=True)

    def read_one(self, server: ApiServer, name: ObjectName) -> None:
        """Have one object read in this group/version; only its metadata comes."""
        accept, query = self.answer_type
        answer = server.get(self.path(name.namespace, name.name), accept=accept, **query)
        self._object(server, answer, name, table=self.resource in _TABLE_ONLY)

    def is_there(self, server: ApiServer, name: ObjectName) -> bool:
        """Whether an object is there."""
        return bool(self.read_version(server, name))

    def read_version(self, server: ApiServer, name: ObjectName) -> str:
        """The resourceVersion of an object, or nothing if a GET of that very name says so (R13).

        Who only patches can't tell: an admission webhook may answer 404 or 410 as well.
        """
        path = self.path(name.namespace, name.name)
        try:
            answer = server.get(path, accept=_TABLE, includeObject="None")
        except ServerFault as fault:
            if self.calls_missing(fault, name):
                return ""
            raise
        return str(self._object(server, answer, name, table=True)["resourceVersion"])

    def calls_missing(self, fault: ServerFault, name: ObjectName) -> bool:
        """Whether the answer to a GET says that this object is not there."""
        return fault.status == 404 and answers.names_missing(
            fault.document, resource=self.resource, name=name
        )

    def _object(
        self, server: ApiServer, answer: Answer, name: ObjectName, *, table: bool
    ) -> Mapping[str, Any]:
        try:
            return answers.read_object(answer.json(), table=table, name=name)
        except answers.WrongAnswer as wrong:
            raise _wrong_answer(server, f"{name} of {self.resource}", wrong) from wrong

    def count(self, server: ApiServer) -> int | None:
        """How many objects there are; None if nobody can tell, since one can't be decoded."""
        try:
            page = self.read_page(server, limit=1)
        except ServerFault as fault:
            if fault.status != 500:
                raise
            return None
        return len(page.names) + page.remaining

    def count_at(self, server: ApiServer, revision: int) -> int:
        """How many objects a server shows at a revision, by one page of one object."""
        server.deadline = server.deadline.anew()
        answer = self._read(server, "", "", 1, revision)
        page = self._names(server, answer.json(), "", size=len(answer.body))
        if page.token and not page.remaining:
            raise ServerFault(
                f"it does not tell how many objects of {self.resource} are left",
                "Take away the proxy that strips remainingItemCount.",
            )
        return len(page.names) + page.remaining

    def read_some(self, server: ApiServer, count: int) -> tuple[ObjectName, ...]:
        """The names of a few objects: of those written longest ago, where a list tells."""
        server.deadline = server.deadline.anew()
        if not self.by_namespace:
            found = [one for one in self.read_page(server).names if one.name]
            # Servers document that versions of one resource compare as numbers.
            found.sort(key=lambda one: int(one.version) if one.version.isdigit() else 0)
            return tuple(found[:count])
        if not self.read_page(server, limit=1).names:
            return ()
        named: list[ObjectName] = []
        for namespace in observe_namespaces(server):
            server.deadline = server.deadline.anew()
            page = self.read_page(server, namespace=namespace, limit=count - len(named))
            named += page.names
            if len(named) >= count:
                break
        return tuple(named[:count])

    def read_orphans(self, server: ApiServer, namespaces: Iterable[str]) -> tuple[str, ...]:
        """The names of objects outside of these namespaces; where they lie is not told."""
        selector = ",".join(f"metadata.namespace!={one}" for one in namespaces)
        answer = server.get(
            self.path(), accept=_TABLE, includeObject="None", fieldSelector=selector, limit="500"
        )
        try:
            found = answers.read_list(answer.json(), table=True)
        except answers.WrongAnswer as wrong:
            raise _wrong_answer(server, f"a list of {self.resource}", wrong) from wrong
        return tuple(one.name for one in found.names)


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


def _wrong_answer(server: ApiServer, asked: str, wrong: answers.WrongAnswer) -> ServerFault:
    return ServerFault(
        f"{server.address} did not answer with {asked}: {wrong}",
        "See whether a proxy or a load balancer answers in the server's place.",
    )
