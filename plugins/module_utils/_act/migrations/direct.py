# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""Our own migrator: rewrites the objects of one resource, page by page, at a bounded pace.

A page's names are rewritten side by side; only when all of them are done is the place of the next
page saved. So a run that was killed repeats one page at most, and repeating writes nothing.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from queue import Empty, SimpleQueue
from typing import Literal, TypeVar

from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide import pages
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.answers import (
    explain_refused,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.pace import Limits, Pace
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.reasons import Reason
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.rewrites import (
    Counts,
    Failure,
    Fate,
    ObjectName,
    judge_answer,
    judge_fault,
    judge_version,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.objects import (
    NamesPage,
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

_TICK_SECONDS = 0.5
_SAVE_SECONDS = 5.0
# A denied object is tried again after each of these.
_PATIENCE = (0.5, 2.0, 5.0)
# With so many denied it is no passing fault any more: the rest is tried once.
_MANY_DENIED = 20
_LONGEST_PAUSE = 5.0
# What the headers of a request and its answer take, about.
_HEADERS = 1000

_T = TypeVar("_T")


StopKind = Literal[
    # What is written now proves nothing any more.
    "superseded",
    # Nobody wants it any more.
    "deleted",
    # Nothing can be written, or not any more.
    "failed",
    # It is taken up again later.
    "paused",
]


class Stopped(Exception):
    """The work was stopped before its end."""

    def __init__(self, reason: Reason, kind: StopKind = "failed") -> None:
        super().__init__(str(reason))
        self.reason, self.kind = reason, kind


class _Unreadable(Exception):
    """A list can't be read: something in it can't be decoded."""

    def __init__(self, fault: ServerFault) -> None:
        super().__init__(str(fault.document.get("message") or fault.fault))


@dataclass(frozen=True)
class Position:
    """Where the work goes on: in which namespace, where names are read by namespace, and where."""

    namespace: str = ""
    token: str = ""
    # The last name of that page up to which all are done; empty at its beginning.
    after: str = ""
    counts: Counts = field(default_factory=Counts)
    # Whether the list of all namespaces was given up, since something in it can't be decoded.
    by_namespace: bool = False
    # By which encryption configuration all was written so far, where that is to be proved, and the
    # objects that every server left as they were stored before the first write, with versions.
    encryption: str = ""
    samples: tuple[ObjectName, ...] = ()


@dataclass(frozen=True)
class Orders:
    """What is to be done, and how."""

    listing: ObjectList
    limits: Limits
    timeout: float
    # Seconds without any success after which it is given up.
    patience: float
    # The objects to visit, where it is known which; None visits all.
    only: Sequence[ObjectName] | None = None
    # Keys that nobody can decode, where etcd was read.
    undecodable: Sequence[str] = ()


class DirectMigration:
    """The rewriting of one resource's objects.

    `check` is called every moment: it says what to wait for, and raises Stopped to end the work.
    `save` is called after each page and every few seconds, with the page where it would be taken
    up again, and what has been counted by now.
    """

    def __init__(
        self,
        access: Access,
        orders: Orders,
        *,
        check: Callable[[], bool],
        save: Callable[[Position, Counts], None],
        total: int,
    ) -> None:
        self._access, self._orders = access, orders
        self._listing = orders.listing
        self._check, self._save = check, save
        self._gate = _Gate(Pace(orders.limits), orders.patience)
        self._connections: SimpleQueue[ApiServer] = SimpleQueue()
        self._opened: list[ApiServer] = []
        self._saved_at = time.monotonic()
        self._position = Position()
        # Counts of the page that is under way are not part of the position yet.
        self._counts = Counts()
        self._denied = 0
        self.total = total

    @property
    def counts(self) -> Counts:
        """What has come of the objects by now."""
        return self._counts

    def run(self, begin: Position) -> Counts:
        """Visit every object from there on; what has come of all of them."""
        self._position, self._counts = begin, begin.counts
        # One more than objects are rewritten at once, for the list of the next page.
        with ThreadPoolExecutor(self._orders.limits.connections + 1) as pool:
            try:
                if self._orders.only is not None:
                    self._run_named(pool, self._orders.only)
                elif begin.by_namespace or self._listing.by_namespace:
                    self._run_namespaces(pool, begin)
                else:
                    self._run_list(pool, begin)
            except BaseException:
                # Else leaving the pool would wait for all that has been begun.
                self._gate.stop()
                raise
            finally:
                self._close()
        return self._counts

    def _run_named(self, pool: ThreadPoolExecutor, every: Sequence[ObjectName]) -> None:
        for first in range(0, len(every), pages.LIST_PAGE):
            names = tuple(every[first : first + pages.LIST_PAGE])
            self._run_page(pool, NamesPage(names, "", len(every) - first - len(names), ""))

    def _run_list(self, pool: ThreadPoolExecutor, begin: Position) -> None:
        try:
            self._run_pages(pool, "", begin.token)
        except _Unreadable as error:
            if not self._listing.namespaced:
                self._fail_list("", error)
                return
            before = self._counts.rewritten
            self._counts = Counts()
            begin = Position(by_namespace=True, encryption=begin.encryption, samples=begin.samples)
            self._run_namespaces(pool, begin, error)
            # What was rewritten before was found current the second time.
            moved = min(before, self._counts.current)
            self._counts = replace(
                self._counts,
                rewritten=self._counts.rewritten + moved,
                current=self._counts.current - moved,
            )

    def _run_namespaces(
        self, pool: ThreadPoolExecutor, begin: Position, unreadable: _Unreadable | None = None
    ) -> None:
        """Go on namespace by namespace, perhaps since the list of all can't be read."""
        namespaces = self._await(pool.submit(self._ask, observe_namespaces))
        named = False
        for namespace in namespaces:
            if namespace < begin.namespace:
                continue
            begun = namespace == begin.namespace
            token, after = (begin.token, begin.after) if begun else ("", "")
            self._position = replace(
                begin, namespace=namespace, token=token, after=after, counts=self._counts
            )
            try:
                self._run_pages(pool, namespace, token)
            except _Unreadable as error:
                self._fail_list(namespace, error)
                named = True
        # With that in it, nobody can list what lies in no namespace either.
        if named:
            return
        if unreadable:
            self._fail_list("", unreadable)
        else:
            self._count_orphans(pool, namespaces)

    def _count_orphans(self, pool: ThreadPoolExecutor, namespaces: tuple[str, ...]) -> None:
        """Objects whose namespace is gone can't be written, and still are what they were."""
        # Those that came to be meanwhile hold nothing old.
        known = (*namespaces, *self._await(pool.submit(self._ask, observe_namespaces)))
        reading = pool.submit(
            self._ask, lambda server: self._listing.read_orphans(server, dict.fromkeys(known))
        )
        try:
            orphans = self._await(reading)
        except _Unreadable as error:
            self._fail_list("", error)
            return
        for name in orphans:
            self._fail(Failure(name, "its namespace does not exist: nothing can be written there"))

    def _run_pages(self, pool: ThreadPoolExecutor, namespace: str, token: str) -> None:
        page = self._await(pool.submit(self._read, namespace, token))
        while True:
            following = (
                pool.submit(self._read, namespace, page.token, page.next_limit)
                if page.token
                else None
            )
            self._run_page(pool, page)
            if following is None:
                return
            self._position = replace(
                self._position, token=page.token, after="", counts=self._counts
            )
            self.save_now()
            page = self._await(following)

    def _run_page(self, pool: ThreadPoolExecutor, page: NamesPage) -> None:
        names = _left_of(page.names, self._position.after)
        place = _Place(names, self._counts)
        self._counts = self._counts.list_more(len(names))
        self.total = max(self.total, self._counts.listed)
        todo = deque(names)
        visits: list[_Visit] = []
        workers = min(self._orders.limits.connections, len(todo))
        pending = {
            pool.submit(self._visit_all, todo, page.version, visits) for _number in range(workers)
        }
        counted = 0
        while pending:
            done, pending = wait(pending, timeout=_TICK_SECONDS)
            for one in done:
                one.result()
            for visit in visits[counted:]:
                self._counts = self._counts.add(visit.fate, visit.failure)
                place.take(visit)
                counted += 1
            if place.after:
                self._position = replace(self._position, after=place.after, counts=place.counts)
            self._tick()

    def _visit_all(
        self,
        todo: deque[ObjectName],
        listed_at: str,
        visits: list[_Visit],
    ) -> None:
        with self._connected() as server:
            while True:
                try:
                    name = todo.popleft()
                except IndexError:
                    return
                visits.append(_Visit(name, *self._visit(server, name, listed_at)))

    def _visit(
        self, server: ApiServer, name: ObjectName, listed_at: str
    ) -> tuple[Fate, Failure | None]:
        """Rewrite one object, as often as its server asks for patience."""
        tries = pauses = 0
        while True:
            begun = self._gate.enter()
            server.deadline = Deadline(self._orders.timeout)
            try:
                metadata, size = self._listing.rewrite(server, name)
            except ServerFault as fault:
                fate = judge_fault(
                    status=fault.status,
                    document=fault.document,
                    namespaced=self._listing.namespaced,
                )
                self._gate.leave_failed(fault, of_the_server=fate == "unavailable")
                if fate == "unavailable":
                    pauses += 1
                    self._gate.pause(min(0.1 * 2**pauses, _LONGEST_PAUSE))
                    continue
                if fate == "missing" and self._is_gone(name):
                    return "gone", None
                if fate in ("denied", "missing") and tries < self._tries():
                    self._gate.pause(_PATIENCE[tries])
                    tries += 1
                    continue
                return self._refused(fate, name, fault)
            self._gate.leave(begun, size + _HEADERS)
            fate = judge_answer(name=name, metadata=metadata, listed_at=listed_at)
            if fate == "missing" and self._is_gone(name):
                return "gone", None
            if fate == "missing":
                fate = judge_version(name=name, metadata=metadata, listed_at=listed_at)
            return fate, None

    def _is_gone(self, name: ObjectName) -> bool:
        """Whether a GET calls an object missing (R13); what can't be read is not gone."""
        return self._is_there(name) is False

    def _is_there(self, name: ObjectName) -> bool | None:
        """Whether a GET shows an object; None if it can't be read."""

        def shown(server: ApiServer) -> bool | None:
            try:
                return self._listing.is_there(server, name)
            except ServerFault as fault:
                if fault.status == 403:
                    return None
                raise

        try:
            return self._ask(shown)
        except _Unreadable:
            return None

    def _tries(self) -> int:
        return len(_PATIENCE) if self._denied < _MANY_DENIED else 0

    def _refused(
        self, fate: Fate, name: ObjectName, fault: ServerFault
    ) -> tuple[Fate, Failure | None]:
        if fate == "hopeless":
            raise Stopped(Reason(fault.fault, fault.remedy, resource=self._listing.resource))
        self._denied += 1
        said = str(fault.document.get("message") or fault.fault)
        if fate == "orphan":
            said = "its namespace does not exist: nothing can be written there"
        elif fate == "missing":
            resource = self._listing.resource
            shown = self._is_there(name)
            told = explain_refused(fault.document, resource=resource, name=name) if shown else ""
            said = told or f"{said}; but a GET of it does not say that it is gone"
        return fate, Failure(str(name), said)

    def _read(self, namespace: str, token: str, limit: int = 0) -> NamesPage:
        """One page of names, as often as its server asks for patience."""
        return self._ask(
            lambda server: self._listing.read_page(
                server, namespace=namespace, token=token, limit=limit
            )
        )

    def _ask(self, read: Callable[[ApiServer], _T]) -> _T:
        pauses = tries = 0
        while True:
            begun = self._gate.enter()
            try:
                with self._connected() as server:
                    server.deadline = Deadline(self._orders.timeout)
                    found = read(server)
            except ServerFault as fault:
                fate = judge_fault(status=fault.status, document=fault.document)
                self._gate.leave_failed(fault, of_the_server=fate == "unavailable")
                broken = unreadable(fault)
                if fate == "unavailable" and not broken:
                    pauses += 1
                    self._gate.pause(min(0.1 * 2**pauses, _LONGEST_PAUSE))
                elif broken and tries < self._tries():
                    self._gate.pause(_PATIENCE[tries])
                    tries += 1
                elif broken:
                    raise _Unreadable(fault) from fault
                else:
                    raise Stopped(
                        Reason(fault.fault, fault.remedy, resource=self._listing.resource)
                    ) from fault
            else:
                self._gate.leave(begun, _HEADERS)
                return found

    def _await(self, reading: Future[_T]) -> _T:
        """What another thread reads. Who waited for it here could not let it in again."""
        while True:
            done, _pending = wait([reading], timeout=_TICK_SECONDS)
            self._tick()
            if done:
                return reading.result()

    def _fail_list(self, namespace: str, error: _Unreadable) -> None:
        """Name what can't be decoded: the keys where etcd was read, else where they lie."""
        self._denied += 1
        keys = [one for one in self._orders.undecodable if f"/{namespace}/" in one or not namespace]
        where = f"the namespace {namespace}" if namespace else "the whole list"
        for name in keys or [where]:
            self._fail(Failure(name, f"it can't be read: {error}"))

    def _fail(self, failure: Failure) -> None:
        self._counts = self._counts.add("denied", failure)

    def _tick(self) -> None:
        self._gate.hold(self._check())
        if time.monotonic() - self._saved_at >= _SAVE_SECONDS:
            self.save_now()

    def save_now(self) -> None:
        """Keep the place from where a later run goes on."""
        self._saved_at = time.monotonic()
        self._save(self._position, self._counts)

    @contextmanager
    def _connected(self) -> Iterator[ApiServer]:
        """A connection of one's own, kept alive for the next one."""
        try:
            server = self._connections.get_nowait()
        except Empty:
            server = ApiServer(self._access, self._access.host, Deadline(self._orders.timeout))
            self._opened.append(server)
        try:
            yield server
        finally:
            self._connections.put(server)

    def _close(self) -> None:
        for server in self._opened:
            server.close()


@dataclass(frozen=True)
class _Visit:
    """What came of one object."""

    name: ObjectName
    fate: Fate
    failure: Failure | None


class _Place:
    """How far a page is done without a gap: objects side by side end in any order."""

    def __init__(self, names: Sequence[ObjectName], counts: Counts) -> None:
        self._left = deque(names)
        self._ahead: dict[ObjectName, _Visit] = {}
        self.after, self.counts = "", counts

    def take(self, visit: _Visit) -> None:
        """Count one in, as soon as all before it are."""
        self._ahead[visit.name] = visit
        while self._left and self._left[0] in self._ahead:
            done = self._ahead.pop(self._left.popleft())
            self.after = str(done.name)
            self.counts = self.counts.list_more(1).add(done.fate, done.failure)


def _left_of(names: Sequence[ObjectName], after: str) -> Sequence[ObjectName]:
    """What is left of a page; all of it, if that name is gone from it."""
    done = next((number for number, name in enumerate(names, 1) if str(name) == after), 0)
    return names[done:]


class _Gate:
    """Lets requests begin one by one, as the pace allows; all threads go through it."""

    def __init__(self, pace: Pace, patience: float) -> None:
        self._pace, self._patience = pace, patience
        self._turn = threading.Condition()
        self._under_way = 0
        self._held = self._stopped = False
        self._succeeded_at = time.monotonic()

    def enter(self) -> float:
        """Wait for one's turn; the moment at which it came."""
        with self._turn:
            while True:
                self._require_going()
                now = time.monotonic()
                left = self._pace.wait(now)
                if not self._held and left <= 0 and self._under_way < self._pace.connections:
                    self._under_way += 1
                    self._pace.begin(now)
                    return now
                self._turn.wait(min(left, _TICK_SECONDS) if left > 0 else _TICK_SECONDS)

    def leave(self, begun: float, size: int) -> None:
        """Say that an answer came."""
        with self._turn:
            now = time.monotonic()
            self._under_way -= 1
            self._succeeded_at = now
            self._pace.end(now, seconds=now - begun, size=size)
            self._turn.notify()

    def leave_failed(self, fault: ServerFault, *, of_the_server: bool) -> None:
        """Say that it failed; for too long nothing else has happened if that ends the work."""
        with self._turn:
            now = time.monotonic()
            self._under_way -= 1
            if of_the_server:
                self._pace.suffer(now, retry_after=fault.retry_after)
                if now - self._succeeded_at > self._patience:
                    waited = f"for {now - self._succeeded_at:.0f} s no object could be written"
                    raise Stopped(Reason(f"{waited}: {fault.fault}", fault.remedy))
            else:
                self._succeeded_at = now
            self._turn.notify()

    def hold(self, held: bool) -> None:
        """Let nobody in for now, or let them in again."""
        with self._turn:
            if held:
                # Who may not try can't succeed.
                self._succeeded_at = time.monotonic()
            self._held = held
            self._turn.notify_all()

    def pause(self, seconds: float) -> None:
        """Wait, outside of the queue, unless all ends."""
        with self._turn:
            self._turn.wait_for(lambda: self._stopped, seconds)
            self._require_going()

    def stop(self) -> None:
        """Let all who wait give up."""
        with self._turn:
            self._stopped = True
            self._turn.notify_all()

    def _require_going(self) -> None:
        if self._stopped:
            raise Stopped(Reason("the run has ended"))
