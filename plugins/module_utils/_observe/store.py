# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""A store: where it is by options and manifests, reading it page by page, and the audit of it."""

from __future__ import annotations

import re
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Callable

from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.audit import (
    Audit,
    Boundaries,
    Boundary,
    Encodings,
    Ledger,
    Source,
    State,
    stretches,
    why_not_incremental,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.errors import (
    LockstepError,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.keys import (
    DEFAULT_PREFIX,
    KeyRange,
    KeySpace,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.pages import (
    Ask,
    PageWalk,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.etcd import (
    AUTO,
    CANCELLED,
    UNAVAILABLE,
    UNIMPLEMENTED,
    UNREACHABLE,
    EtcdAccess,
    EtcdFault,
    Page,
    RangeRequest,
    Transport,
    greet,
    normalise_endpoints,
    transports,
    unreachable,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.etcd_health import (
    observe_health,
)

_ATTEMPTS = 4
_RETRY_SECONDS = 0.3
_PROGRESS_SECONDS = 2.0
_CHANGES_IN_FLIGHT = 4

Progress = Callable[[str], None]


# --- what an API server's manifest tells ------------------------------------------------------

_FLAG = re.compile(r"""^[^#]*?["'\s\[,]--(etcd-[a-z-]+)=("[^"]*"|'[^']*'|[^\s"'\]]*)""")


def read_manifest(path: str) -> dict[str, str]:
    """The flags about etcd in a static pod's manifest, each by its name without `etcd-`."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", "") or "it is no text"
        raise LockstepError(
            f"The option manifest names {path!r}, which can't be read",
            why,
            "Name the API server's static pod manifest on the host that the task runs on, or give"
            " endpoints and certificates instead",
        ) from error
    flags = parse_manifest(text)
    if "servers" not in flags:
        raise LockstepError(
            f"The manifest {path} names no etcd",
            "It holds no flag --etcd-servers",
            "Name the manifest of a kube-apiserver, or give endpoints and certificates instead",
        )
    return flags


def parse_manifest(text: str) -> dict[str, str]:
    """Find the flags without a YAML library, which hosts may lack."""
    flags = {}
    # In JSON, and in YAML's short form, several stand in a line.
    for line in re.sub(r"""(["'],|, )""", r"\1\n", text).splitlines():
        found = _FLAG.match(f" {line}")
        if found:
            flags[found[1][len("etcd-") :]] = found[2].strip("\"',")
    return flags


def kept_elsewhere(overrides: str) -> tuple[str, ...]:
    """The resources in `--etcd-servers-overrides`, written as GROUP/RESOURCE#SERVERS."""
    found = []
    for override in overrides.split(","):
        group, slash, resource = override.partition("#")[0].partition("/")
        if slash and resource:
            found.append(f"{resource}.{group}" if group else resource)
    return tuple(sorted(found))


@dataclass(frozen=True)
class StoreOptions:
    """What a module's options, and the manifest that they may name, say of a store."""

    access: EtcdAccess
    prefix: str
    elsewhere: tuple[str, ...]


# The options of every module that speaks to etcd; plugins/doc_fragments/_etcd.py tells of them.
ETCD_ARGUMENTS: dict[str, dict[str, Any]] = {
    "endpoints": {"type": "list", "elements": "str", "default": []},
    "ca_cert": {"type": "path"},
    "client_cert": {"type": "path"},
    "client_key": {"type": "path", "no_log": False},
    "tls_server_name": {"type": "str"},
    "manifest": {"type": "path"},
    "timeout": {"type": "float", "default": 30.0},
}


def read_options(params: Mapping[str, Any]) -> StoreOptions:
    """Where a store is, and what is known of it."""
    flags = _flags(params)
    return StoreOptions(
        access=_access(params, flags),
        prefix=params["etcd_prefix"] or flags.get("prefix") or DEFAULT_PREFIX,
        elsewhere=kept_elsewhere(flags.get("servers-overrides", "")),
    )


def read_access(params: Mapping[str, Any]) -> EtcdAccess:
    """Where etcd is, for modules that read no store."""
    return _access(params, _flags(params))


def _flags(params: Mapping[str, Any]) -> dict[str, str]:
    return read_manifest(params["manifest"]) if params["manifest"] else {}


def _access(params: Mapping[str, Any], flags: Mapping[str, str]) -> EtcdAccess:
    """Options outrank the manifest."""
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
    notes: list[str] = field(default_factory=list)
    later_revisions: list[int] = field(default_factory=list)
    _transport: Any = None
    _source: Source | None = None
    _revision: int = 0

    def open(self) -> Source:
        """Find a member that answers; one linearizable read gives the moment to read at."""
        faults: dict[str, EtcdFault] = {}
        for endpoint in self.access.endpoints:
            try:
                self._source = self._open(endpoint)
            except EtcdFault as fault:
                self.close()
                faults[endpoint] = fault
            else:
                self._revision = self._source.revision
                return self._source
        raise unreachable(faults)

    @property
    def _nothing(self) -> KeyRange:
        return KeyRange(self.within.start, self.within.start + b"\x00")

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    @property
    def transport(self) -> str:
        return str(self._transport.name)

    def pages(self, whole: KeyRange, *, page_size: int) -> Iterator[tuple[KeyRange, Page]]:
        """All keys of a range; the next page comes while one is looked at."""
        walk = PageWalk(whole, page_size=page_size)
        with ThreadPoolExecutor(1) as pool:
            ask = walk.ask()
            coming = pool.submit(self._ask, ask) if ask else None
            while ask and coming:
                try:
                    page = self._await(ask, coming)
                except EtcdFault as fault:
                    if not fault.too_large or not walk.too_large():
                        raise self._error(fault) from fault
                    ask = walk.ask()
                    coming = pool.submit(self._ask, ask) if ask else None
                    continue
                walk.took(
                    first=page.first,
                    last=page.last,
                    keys=page.keys,
                    size=page.size,
                    count=page.count,
                )
                asked, ask = ask, walk.ask()
                coming = pool.submit(self._ask, ask) if ask else None
                yield asked.keys, page

    def changes(
        self, short_ranges: Sequence[KeyRange], *, since: int, page_size: int
    ) -> Iterator[tuple[KeyRange, Page]]:
        """The keys of short ranges that were written after a revision, range by range.

        etcd looks at every key of a range to find those, so ranges have to be short; whether it
        has compacted that revision since does not matter.
        """
        waiting = deque(short_ranges)
        coming: deque[tuple[KeyRange, Ask, Future[Page]]] = deque()
        with ThreadPoolExecutor(_CHANGES_IN_FLIGHT) as pool:
            while waiting or coming:
                while waiting and len(coming) < _CHANGES_IN_FLIGHT:
                    one = waiting.popleft()
                    ask = Ask(one, page_size)
                    coming.append((one, ask, pool.submit(self._ask, ask, since + 1)))
                short, ask, future = coming.popleft()
                try:
                    page = self._await(ask, future, since + 1)
                except EtcdFault as fault:
                    if not fault.too_large or ask.limit == 1:
                        raise self._error(fault) from fault
                    again = Ask(ask.keys, max(ask.limit // 8, 1))
                    coming.appendleft((short, again, pool.submit(self._ask, again, since + 1)))
                    continue
                if page.more:
                    rest = Ask(KeyRange(page.last + b"\x00", short.end), ask.limit)
                    coming.appendleft((short, rest, pool.submit(self._ask, rest, since + 1)))
                yield ask.keys, page

    # -- one request, and what may come in its way --

    def _ask(self, ask: Ask, min_mod_revision: int = 0) -> Page:
        page: Page = self._transport.range(
            RangeRequest(
                ask.keys,
                limit=ask.limit,
                revision=self._revision,
                min_mod_revision=min_mod_revision,
            )
        )
        return page

    def _await(self, ask: Ask, future: Future[Page], min_mod_revision: int = 0) -> Page:
        """The page that was asked for; where something came in between, it is asked for again."""
        asked_at, attempts = self._revision, 0
        give_up = time.monotonic() + self.access.timeout
        while True:
            try:
                page = future.result() if not attempts else self._ask(ask, min_mod_revision)
                self._check_cluster(page.source)
                return page
            except EtcdFault as fault:
                attempts += 1
                if fault.compacted:
                    if asked_at == self._revision:
                        self._move_on()
                    asked_at = self._revision
                elif fault.ahead and time.monotonic() < give_up:
                    time.sleep(_RETRY_SECONDS)
                elif fault.code in UNREACHABLE and attempts < _ATTEMPTS:
                    self._reconnect(fault)
                elif fault.code != CANCELLED or attempts == _ATTEMPTS:
                    raise fault if fault.too_large else self._error(fault) from fault

    def _move_on(self) -> None:
        """The moment was compacted away: take a new one for the rest."""
        page = self._transport.range(RangeRequest(self._nothing, count_only=True))
        self._check_cluster(page.source)
        self._revision = page.source.revision
        self.later_revisions.append(self._revision)

    def _reconnect(self, fault: EtcdFault) -> None:
        """Go on through the next member that answers, perhaps the same one."""
        after = self.access.endpoints.index(self.endpoint) + 1
        candidates = (*self.access.endpoints[after:], *self.access.endpoints[:after])
        faults = {self.endpoint: fault}
        for endpoint in candidates:
            try:
                self.close()
                source = self._open(endpoint)
            except EtcdFault as another:
                faults[endpoint] = another
                continue
            self._check_cluster(source)
            self.notes.append(f"The connection broke while reading; went on at {endpoint}.")
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

    # -- connecting --

    def _open(self, endpoint: str) -> Source:
        self.endpoint = endpoint
        version = greet(self.access, endpoint)
        self.etcd_version = version or self.etcd_version
        kinds = transports(self.access, speaks_http=version is not None)
        for kind in kinds[:-1]:
            try:
                return self._try(kind, endpoint)
            except EtcdFault as fault:
                if fault.code not in (UNAVAILABLE, UNIMPLEMENTED):
                    raise
        return self._try(kinds[-1], endpoint)

    def _try(self, kind: Transport, endpoint: str) -> Source:
        self.close()
        self._transport = kind(self.access, endpoint)
        page: Page = self._transport.range(RangeRequest(self._nothing, count_only=True))
        return page.source

    def _error(self, fault: EtcdFault) -> LockstepError:
        return unreachable({self.endpoint: fault})


# --- the audit --------------------------------------------------------------------------------


def audit_store(
    options: StoreOptions,
    *,
    patterns: Sequence[str],
    page_size: int,
    since: State | None,
    tell: Progress,
    encodings: Encodings | None = None,
) -> Audit:
    """Read what is stored and count it; with an earlier state, only what was written since."""
    space = KeySpace(options.prefix)
    ranges = space.ranges(patterns)
    watch = _Progress(tell)
    reader = EtcdReader(options.access, ranges[0] if ranges else space.whole)
    try:
        source = reader.open()
        ledger, notes = Ledger(space, patterns, encodings), []
        if since:
            refusal = why_not_incremental(
                since,
                source=source,
                prefix=space.prefix,
                patterns=patterns,
                ranges=len(ranges),
            )
            if refusal:
                notes.append(f"Everything was read, since {refusal}.")
                since = None
        if since:
            boundaries = _read_changes(reader, ranges, since, page_size, ledger, watch)
            ledger.merge(since.tallies)
        else:
            boundaries = _read_all(reader, ranges, page_size, ledger, watch)
        health = observe_health(options.access, reader.endpoint)
    finally:
        reader.close()
    state = State(
        source=source,
        prefix=space.prefix,
        patterns=tuple(patterns),
        boundaries=boundaries,
        tallies=ledger.tallies,
        increments=since.increments + 1 if since else 0,
    )
    return Audit(
        source=source,
        endpoint=reader.endpoint,
        etcd_version=reader.etcd_version,
        transport=reader.transport,
        later_revisions=tuple(reader.later_revisions),
        tallies=ledger.tallies,
        patterns=tuple(patterns),
        state=state,
        incremental=since is not None,
        stored_keys=watch.stored,
        read_keys=watch.keys,
        seconds=watch.seconds,
        elsewhere=options.elsewhere,
        notes=(*notes, *reader.notes),
        encodings=encodings or Encodings(),
        outdated=ledger.outdated,
        health=health,
    )


def _read_all(
    reader: EtcdReader,
    ranges: Sequence[KeyRange],
    page_size: int,
    ledger: Ledger,
    watch: _Progress,
) -> tuple[tuple[Boundary, ...], ...]:
    found = []
    for whole in ranges:
        boundaries = Boundaries()
        for keys, page in reader.pages(whole, page_size=page_size):
            if keys.start == whole.start:
                watch.stored += page.count
            for key, value in page.items:
                ledger.add(key, value)
            boundaries.add(keys.start, keys=page.keys, size=page.size)
            watch.add(page)
        found.append(boundaries.result())
    return tuple(found)


def _read_changes(
    reader: EtcdReader,
    ranges: Sequence[KeyRange],
    since: State,
    page_size: int,
    ledger: Ledger,
    watch: _Progress,
) -> tuple[tuple[Boundary, ...], ...]:
    found = []
    for short_ranges in stretches(ranges, since):
        counts = {short.start: 0 for short in short_ranges}
        revision = since.source.revision
        for keys, page in reader.changes(short_ranges, since=revision, page_size=page_size):
            for key, value in page.items:
                ledger.add(key, value)
            # Later pages of a range begin within it, and count only what is left.
            if keys.start in counts:
                counts[keys.start] = page.count
                watch.stored += page.count
            watch.add(page)
        found.append(tuple(Boundary(start, keys) for start, keys in counts.items()))
    return tuple(found)


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
