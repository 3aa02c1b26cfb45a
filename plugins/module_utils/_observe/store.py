# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""Stores: where they are by options and manifests, reading them page by page, and the audit."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, Callable

from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.audit import (
    Audit,
    StoredIdentity,
    StoreSight,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.envelopes import read_uid
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.errors import (
    LockstepError,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.etcd_versions import (
    voters,
    why_not_believed,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.increments import (
    Item,
    Source,
    State,
    StoreState,
    Stretch,
    StretchCheck,
    StretchWriter,
    batches,
    bounded,
    runs,
    why_not_incremental,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.keys import (
    DEFAULT_PREFIX,
    KeyRange,
    KeySpace,
    chosen,
    place_known,
    same_objects,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.observations import (
    EtcdSight,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.pages import (
    Ask,
    PageWalk,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.tally import (
    Encodings,
    Ledger,
    merge_tallies,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.etcd import (
    AUTO,
    EtcdAccess,
    normalise_endpoints,
    unreachable,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.etcd_answers import (
    CANCELLED,
    DENIED,
    UNREACHABLE,
    EtcdFault,
    Page,
    RangeRequest,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.etcd_health import (
    Connected,
    connect,
    observe_health,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.manifest import (
    read_manifest,
)

_ATTEMPTS = 4
_RETRY_SECONDS = 0.3
_PROGRESS_SECONDS = 2.0
# So many requests at once, each for few enough keys that none is waited for while others are idle.
_IN_FLIGHT = 4
_KEYS_AT_ONCE = 2000

Progress = Callable[[str], None]


# --- where it is ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Override:
    """A resource that the API servers keep in an etcd of its own (--etcd-servers-overrides)."""

    resource: str
    endpoints: tuple[str, ...]


def parse_overrides(text: str) -> tuple[Override, ...]:
    """Read GROUP/RESOURCE#SERVER;SERVER, with commas between; the core group has no name."""
    found = {}
    for override in filter(None, (part.strip() for part in text.split(","))):
        group, slash, rest = override.partition("/")
        plural, mark, servers = rest.partition("#")
        endpoints = [server for server in servers.split(";") if server]
        if not (slash and mark and plural and endpoints) or "#" in group:
            raise LockstepError(
                f"The option etcd_servers_overrides holds {override!r}",
                "That is not GROUP/RESOURCE#SERVERS, as the API servers take it",
                "Write it as /events#https://HOST:2379;https://HOST:2379, or as"
                " apps/deployments#https://HOST:2379, with commas between",
            )
        resource = f"{plural}.{group}" if group else plural
        urls = normalise_endpoints(endpoints, option="etcd_servers_overrides")
        found[same_objects(resource)[0]] = Override(same_objects(resource)[0], urls)
    return tuple(found[resource] for resource in sorted(found))


@dataclass(frozen=True)
class StoreOptions:
    """What a module's options, and the manifest that they may name, say of a store."""

    access: EtcdAccess
    prefix: str = DEFAULT_PREFIX
    overrides: tuple[Override, ...] = ()

    @property
    def not_held(self) -> tuple[str, ...]:
        """The resources that are kept in another etcd, as far as addresses tell."""
        here = set(self.access.endpoints)
        return tuple(one.resource for one in self.overrides if not here & set(one.endpoints))


# The options of every module that speaks to etcd; plugins/doc_fragments/_etcd.py tells of them.
ETCD_ARGUMENTS: dict[str, dict[str, Any]] = {
    "endpoints": {"type": "list", "elements": "str", "default": []},
    "ca_cert": {"type": "path"},
    "client_cert": {"type": "path"},
    "client_key": {"type": "path", "no_log": False},
    "tls_server_name": {"type": "str"},
    "manifest": {"type": "path"},
    "etcd_servers_overrides": {"type": "str"},
    "timeout": {"type": "float", "default": 30.0},
}


def read_options(params: Mapping[str, Any]) -> StoreOptions:
    """Where a store is, and what is known of it; options outrank the manifest."""
    flags = read_manifest(params["manifest"]) if params["manifest"] else {}
    overrides = params["etcd_servers_overrides"]
    return StoreOptions(
        access=_access(params, flags),
        prefix=params.get("etcd_prefix") or flags.get("prefix") or DEFAULT_PREFIX,
        overrides=parse_overrides(
            flags.get("servers-overrides", "") if overrides is None else overrides
        ),
    )


def _access(params: Mapping[str, Any], flags: Mapping[str, str]) -> EtcdAccess:
    servers = flags.get("servers", "").split(",")
    endpoints = params["endpoints"] or [one for one in servers if one]
    if not endpoints:
        raise LockstepError(
            "The option endpoints is empty",
            "Nothing says where etcd is",
            "Give the addresses of etcd's members, or an API server's manifest",
        )
    return EtcdAccess(
        endpoints=normalise_endpoints(endpoints),
        ca_cert=params["ca_cert"] or flags.get("cafile", ""),
        client_cert=params["client_cert"] or flags.get("certfile", ""),
        client_key=params["client_key"] or flags.get("keyfile", ""),
        tls_server_name=params["tls_server_name"] or "",
        timeout=params["timeout"],
        transport=params.get("transport") or AUTO,
    )


# --- reading ----------------------------------------------------------------------------------


@dataclass
class EtcdReader:
    """Reads one cluster at one moment, through whichever of its members answers."""

    access: EtcdAccess
    # Where to read when only the answer's header is wanted: a user may have no right elsewhere.
    within: KeyRange
    endpoint: str = ""
    etcd_version: str = ""
    health: EtcdSight | None = None
    notes: list[str] = field(default_factory=list)
    later_revisions: list[int] = field(default_factory=list)
    # Where to go on when the member that is read stops answering, or lags behind.
    _candidates: tuple[str, ...] = ()
    _transport: Any = None
    _pool: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(_IN_FLIGHT))
    _source: Source | None = None
    _revision: int = 0

    def open(self) -> Source:
        """Find a member that answers, and the moment to read at, which no write came before.

        One linearizable read gives it; where there are several voters, no less than the newest
        that any of them has, since that read may be stale (etcd#20418).
        """
        faults: dict[str, EtcdFault] = {}
        for endpoint in self.access.endpoints:
            try:
                reached = self._reach(endpoint)
                break
            except EtcdFault as fault:
                faults[endpoint] = fault
        else:
            raise unreachable(faults)
        self.health = observe_health(self.access, reached, self._header)
        members = self.health.members if self.health else ()
        answered = [member for member in voters(members) if not member.fault]
        newest = max([reached.page.source.revision, *(member.revision for member in answered)])
        known = (*self.access.endpoints, *(member.endpoint for member in answered))
        self._candidates = tuple(dict.fromkeys(known))
        self._source = replace(reached.page.source, revision=newest)
        self._revision = newest
        return self._source

    @property
    def not_believed(self) -> str:
        """Why it may show less than etcd holds; empty if it can't."""
        return why_not_believed(self.health.members if self.health else None, self.etcd_version)

    @property
    def _header(self) -> RangeRequest:
        """Asks for nothing but the header of an answer."""
        start = self.within.start
        return RangeRequest(KeyRange(start, start + b"\x00"), count_only=True)

    def close(self) -> None:
        self._pool.shutdown()
        self._hang_up()

    def _hang_up(self) -> None:
        if self._transport is not None:
            self._transport.close()

    @property
    def transport(self) -> str:
        return str(self._transport.name)

    def find(self, key: bytes) -> Item | None:
        """One key by itself; None where it is not there, or is not for this user to see."""
        ask = Ask(KeyRange(key, key + b"\x00"), 1)
        try:
            for item in self._await(ask, None).items:
                return item
        except EtcdFault as fault:
            if fault.code != DENIED:
                raise self._error(fault) from fault
        return None

    def pages(self, whole: KeyRange, *, page_size: int) -> Iterator[tuple[KeyRange, Page]]:
        """All keys of a range; the next page comes while one is looked at."""
        walk = PageWalk(whole, page_size=page_size)
        ask = walk.ask()
        coming = self._send(ask) if ask else None
        while ask and coming:
            try:
                page = self._await(ask, coming)
            except EtcdFault as fault:
                if not fault.too_large or not walk.too_large():
                    raise self._error(fault) from fault
                ask = walk.ask()
                coming = self._send(ask) if ask else None
                continue
            walk.took(
                first=page.first,
                last=page.last,
                keys=page.keys,
                size=page.size,
                count=page.count,
            )
            asked, ask = ask, walk.ask()
            coming = self._send(ask) if ask else None
            yield asked.keys, page

    def keys(self, short_ranges: Iterable[KeyRange], *, page_size: int) -> Iterator[Page]:
        """All keys of short ranges without their values, in their order; some are on the way."""
        asks = (Ask(keys, page_size) for keys in short_ranges)
        coming = deque((ask, self._send(ask, keys_only=True)) for ask in islice(asks, _IN_FLIGHT))
        while coming:
            ask, future = coming.popleft()
            try:
                page = self._await(ask, future, keys_only=True)
            except EtcdFault as fault:
                raise self._error(fault) from fault
            if page.more:
                rest = Ask(KeyRange(page.last + b"\x00", ask.keys.end), page_size)
                coming.appendleft((rest, self._send(rest, keys_only=True)))
            for another in islice(asks, 1):
                coming.append((another, self._send(another, keys_only=True)))
            yield page

    @contextmanager
    def naming_faults(self) -> Iterator[None]:
        """What is wrong with an item shows when it is looked at: say then whose it is."""
        try:
            yield
        except EtcdFault as fault:
            raise self._error(fault) from fault

    def _send(self, ask: Ask, *, keys_only: bool = False) -> Future[Page]:
        return self._pool.submit(self._ask, ask, keys_only)

    # -- one request, and what may come in its way --

    def _ask(self, ask: Ask, keys_only: bool) -> Page:
        request = RangeRequest(
            ask.keys, limit=ask.limit, revision=self._revision, keys_only=keys_only
        )
        page: Page = self._transport.range(request)
        return page

    def _await(self, ask: Ask, future: Future[Page] | None, keys_only: bool = False) -> Page:
        """The page that was asked for; where something came in between, it is asked for again."""
        asked_at, attempts = self._revision, 0
        give_up = time.monotonic() + self.access.timeout
        while True:
            try:
                page = future.result() if future and not attempts else self._ask(ask, keys_only)
                self._check_cluster(page.source)
                return page
            except EtcdFault as fault:
                attempts += 1
                if fault.compacted:
                    if asked_at == self._revision:
                        self._move_on()
                    asked_at = self._revision
                elif fault.ahead and time.monotonic() < give_up:
                    # Others have it: another one may be read sooner than this one has caught up.
                    if len(self._candidates) > 1:
                        self._reconnect(fault, remark=f"{self.endpoint} lags behind")
                    time.sleep(_RETRY_SECONDS)
                elif fault.code in UNREACHABLE and attempts < _ATTEMPTS:
                    self._reconnect(fault, remark="The connection broke while reading")
                elif fault.code != CANCELLED or attempts == _ATTEMPTS:
                    raise fault

    def _move_on(self) -> None:
        """The moment was compacted away: take a new one for the rest."""
        page = self._transport.range(self._header)
        self._check_cluster(page.source)
        self._revision = max(page.source.revision, self._revision)
        self.later_revisions.append(self._revision)

    def _reconnect(self, fault: EtcdFault, *, remark: str) -> None:
        """Go on through the next member that answers, perhaps the same one."""
        after = self._candidates.index(self.endpoint) + 1
        faults = {self.endpoint: fault}
        for endpoint in (*self._candidates[after:], *self._candidates[:after]):
            try:
                reached = self._reach(endpoint)
            except EtcdFault as another:
                faults[endpoint] = another
                continue
            self._check_cluster(reached.page.source)
            note = f"{remark}; went on at {endpoint}."
            self.notes += [] if note in self.notes else [note]
            return
        raise unreachable(faults)

    def _check_cluster(self, source: Source) -> None:
        if self._source and source.cluster_id != self._source.cluster_id:
            raise LockstepError(
                "The endpoints belong to different etcd clusters",
                f"{self.endpoint} is of cluster {source.cluster_id}, others are of"
                f" {self._source.cluster_id}",
                "Name members of one cluster only",
            )

    def _reach(self, endpoint: str) -> Connected:
        reached = connect(self.access, endpoint, self._header)
        self._hang_up()
        self.endpoint, self._transport = endpoint, reached.transport
        self.etcd_version = reached.version or self.etcd_version
        return reached

    def _error(self, fault: EtcdFault) -> LockstepError:
        return unreachable({self.endpoint: fault})


# --- the audit --------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Store:
    """One etcd that is to be read, and what of the API servers' resources it holds."""

    reader: EtcdReader
    source: Source
    patterns: tuple[str, ...]
    ranges: tuple[KeyRange, ...]
    # Nothing for the one that holds all that no other holds.
    resources: tuple[str, ...] = ()

    @property
    def sight(self) -> StoreSight:
        reader = self.reader
        return StoreSight(
            source=self.source,
            endpoint=reader.endpoint,
            etcd_version=reader.etcd_version,
            transport=reader.transport,
            later_revisions=tuple(reader.later_revisions),
            resources=self.resources,
            health=reader.health,
            not_believed=reader.not_believed,
        )


def audit_store(
    options: StoreOptions,
    *,
    patterns: Sequence[str],
    page_size: int,
    since: State | None,
    tell: Progress,
    encodings: Encodings | None = None,
) -> Audit:
    """Read what is stored and count it; with an earlier state, only what has changed since."""
    space, watch = KeySpace(options.prefix), _Progress(tell)
    notes: list[str] = []
    encodings = encodings or Encodings()
    with ExitStack() as closing:
        main = _open(options.access, space, patterns, closing)
        found = main.reader.find(space.key("namespaces/kube-system"))
        others, elsewhere, unread = _open_others(options, main, space, patterns, closing)
        notes += unread
        # A resource whose place is not known can't be told from others in any etcd.
        read = {resource for store in others for resource in store.resources}
        moved = sorted(read | {name for name in elsewhere if place_known(name)})
        states: list[StoreState] = []
        outdated: dict[str, list[str]] = {}
        kept = False
        for store in (main, *others):
            # What lies in the first etcd of a resource that is kept in another is nobody's.
            hidden = () if store.resources else moved
            ledger = Ledger(space, store.patterns, encodings, moved=hidden)
            before = None
            if since:
                refusal = why_not_incremental(
                    since,
                    prefix=space.prefix,
                    patterns=patterns,
                    moved=moved,
                    resources=store.resources,
                    source=store.source,
                    ranges=store.ranges,
                )
                note = f"Everything was read, since {refusal}."
                notes += [note] if refusal and note not in notes else []
                before = None if refusal else since.of(store.resources)
            reading = _Reading(store.reader, page_size, ledger, watch)
            ranges = tuple(
                tuple(reading.update(whole, before.ranges[at]) if before else reading.read(whole))
                for at, whole in enumerate(store.ranges)
            )
            states.append(StoreState(store.source, ranges, store.resources))
            outdated.update(ledger.outdated)
            kept = kept or before is not None
            notes += store.reader.notes
        stores = tuple(store.sight for store in (main, *others))
    state = State(space.prefix, tuple(patterns), tuple(states), tuple(moved))
    return Audit(
        stores=stores,
        tallies=merge_tallies(store.tallies for store in states),
        patterns=tuple(patterns),
        prefix=space.prefix,
        since=state.pack(),
        incremental=kept,
        stored_keys=watch.stored,
        read_keys=watch.keys,
        seconds=watch.seconds,
        cluster=StoredIdentity(read_uid(found[2]), found[1]) if found else StoredIdentity(),
        elsewhere=elsewhere,
        notes=tuple(notes),
        encodings=encodings,
        outdated=outdated,
    )


def _open(
    access: EtcdAccess,
    space: KeySpace,
    patterns: Sequence[str],
    closing: ExitStack,
    resources: tuple[str, ...] = (),
) -> _Store:
    ranges = space.ranges(patterns)
    reader = EtcdReader(access, ranges[0] if ranges else space.whole)
    closing.callback(reader.close)
    return _Store(reader, reader.open(), tuple(patterns), ranges, resources)


def _open_others(
    options: StoreOptions,
    main: _Store,
    space: KeySpace,
    patterns: Sequence[str],
    closing: ExitStack,
) -> tuple[list[_Store], tuple[str, ...], list[str]]:
    """The other etcds; of those that can't be read, the resources, and why, in words."""
    stores: list[_Store] = []
    elsewhere: list[str] = []
    notes: list[str] = []
    held: dict[tuple[str, ...], list[str]] = {}
    for override in options.overrides:
        if not chosen(override.resource, patterns):
            continue
        if place_known(override.resource):
            held.setdefault(override.endpoints, []).append(override.resource)
        else:
            elsewhere.append(override.resource)
            notes.append(
                f"The API servers keep {override.resource} in another etcd, and it is not known"
                " below which keys: it was not counted."
            )
    for endpoints, resources in held.items():
        try:
            access = replace(options.access, endpoints=endpoints)
            store = _open(access, space, resources, closing, tuple(resources))
        except LockstepError as error:
            elsewhere += resources
            notes.append(
                f"The API servers keep {', '.join(resources)} in another etcd"
                f" (--etcd-servers-overrides), which could not be read. {error.why}"
            )
            continue
        # Another address of the same one: nothing is kept elsewhere.
        if store.source.cluster_id != main.source.cluster_id:
            stores.append(store)
    return stores, tuple(sorted(elsewhere)), notes


@dataclass(frozen=True)
class _Reading:
    """Reads the ranges of one store, each whole or where it has changed."""

    reader: EtcdReader
    page_size: int
    ledger: Ledger
    watch: _Progress

    def read(self, whole: KeyRange) -> list[Stretch]:
        """All of a range."""
        return bounded(self._read(whole))

    def update(self, whole: KeyRange, stretches: Sequence[Stretch]) -> list[Stretch]:
        """What an earlier audit counted, where it is proven to be the same; the rest read again."""
        check = StretchCheck(stretches)
        size = min(self.page_size, _KEYS_AT_ONCE)
        short = batches(whole, stretches, at_most=size)
        for page in self.reader.keys(short, page_size=size):
            with self.reader.naming_faults():
                check.add(page.items)
        found: list[Stretch] = []
        for run in runs(whole, stretches, check.result(), self.ledger.encodings):
            found += [run.kept] if run.kept else self._read(run.keys)
            self.watch.stored += run.kept.mark.keys if run.kept else 0
        return bounded(found)

    def _read(self, whole: KeyRange) -> list[Stretch]:
        writer = StretchWriter(self.ledger, whole.start)
        for keys, page in self.reader.pages(whole, page_size=self.page_size):
            if keys.start == whole.start:
                self.watch.stored += page.count
            with self.reader.naming_faults():
                writer.add(page.items)
            self.watch.add(page)
        return writer.result()


class _Progress:
    """Counts what was read, and says so every few seconds."""

    def __init__(self, tell: Progress) -> None:
        self._tell = tell
        self._begun = time.monotonic()
        self._next = self._begun + _PROGRESS_SECONDS
        # How many keys etcd has counted in what was reached so far.
        self.stored = 0
        self.keys = self._bytes = 0

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._begun

    def add(self, page: Page) -> None:
        self.keys += page.keys
        self._bytes += page.size
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + _PROGRESS_SECONDS
            read = f"read {self.keys} of {self.stored} keys, {self._bytes / 1e6:.0f} MB"
            self._tell(f"{read}, in {self.seconds:.0f} s")
