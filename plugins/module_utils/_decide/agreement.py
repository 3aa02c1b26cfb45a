# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""Do all servers encode a resource alike? One verdict per resource, from both sources.

The sources are the hash in each server's discovery document and, where it is served, the
StorageVersion API. Any doubt is a reason against agreement; disagreement outranks an incomplete
view, and that outranks what can't be known.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from .hashes import FormulaVerdict, LiveHash, explain_for, formula_holds
from .membership import Membership, decide_membership
from .names import group_version_of, split_group_version, split_resource
from .observations import AggregatedSight, ClusterSight, CrdSight, ServedResource, ServerSight
from .reasons import Reason, enumerate_names, plural
from .voting import ReportedVersion, classify_entries

Status = Literal["agreed", "disagreeing", "incomplete", "unknown"]
Source = Literal["discovery", "storage_version", "both"]
Origin = Literal["built-in", "custom", "aggregated"]

# The first of these that has a reason is the verdict.
_RANKED: tuple[Status, ...] = ("disagreeing", "incomplete", "unknown")


@dataclass(frozen=True)
class ServerEncoding:
    """What one address shows of a resource, and what that hash was explained as."""

    server: str
    storage_hash: str
    encoding_version: str = ""
    release: str = ""

    @property
    def written(self) -> str:
        """What this server writes, in words."""
        return self.encoding_version or f"an encoding version with the hash {self.storage_hash}"


@dataclass(frozen=True)
class Agreement:
    """The verdict on one resource, with every reason against it."""

    resource: str
    status: Status
    origin: Origin
    source: Source
    kind: str = ""
    # What every server that was read shows; it means something only together with the status.
    storage_hash: str = ""
    encoding_version: str = ""
    servers: tuple[ServerEncoding, ...] = ()
    reported: tuple[ReportedVersion, ...] = ()
    reasons: tuple[Reason, ...] = ()
    notes: tuple[Reason, ...] = ()

    @property
    def agreed(self) -> bool:
        """Whether every live server writes the same encoding version."""
        return self.status == "agreed"

    @property
    def unknowable(self) -> bool:
        """Whether nobody can tell, however long is waited: all servers may well be seen."""
        proxied = self.origin == "aggregated" and self.status == "incomplete"
        return self.status == "unknown" or proxied

    def __str__(self) -> str:
        if self.agreed:
            return (
                f"{self.resource}: agreed on {_written(self.encoding_version, self.storage_hash)}."
            )
        return f"{self.resource}: {self.status}: {' '.join(map(str, self.reasons))}"


@dataclass
class _Findings:
    """What speaks against agreement on one resource, by the verdict it leads to."""

    resource: str
    against: dict[Status, list[Reason]] = field(default_factory=dict)
    notes: list[Reason] = field(default_factory=list)

    def add(self, status: Status, text: str, remedy: str, *, server: str = "") -> None:
        reason = Reason(text, remedy, resource=self.resource, server=server)
        self.against.setdefault(status, []).append(reason)

    def note(self, text: str, remedy: str = "", *, server: str = "") -> None:
        self.notes.append(Reason(text, remedy, resource=self.resource, server=server))

    @property
    def status(self) -> Status:
        return next((status for status in _RANKED if status in self.against), "agreed")

    @property
    def reasons(self) -> tuple[Reason, ...]:
        return tuple(one for status in _RANKED for one in self.against.get(status, ()))


@dataclass(frozen=True)
class _Shown:
    """One resource, as each server that lists it shows it."""

    by_server: tuple[tuple[ServerSight, ServedResource], ...]
    encodings: tuple[ServerEncoding, ...]

    @property
    def hashes(self) -> tuple[str, ...]:
        return tuple(sorted({one.storage_hash for one in self.encodings if one.storage_hash}))

    @property
    def kind(self) -> str:
        return self.by_server[0][1].kind if self.by_server else ""


def decide_agreement(
    *, sight: ClusterSight, membership: Membership | None = None
) -> Mapping[str, Agreement]:
    """Decide on every persisted resource of every server, sorted by name."""
    membership = membership if membership is not None else decide_membership(sight)
    known = _known_group_versions(sight)
    left_out = set(not_persisted(sight))
    decided = {
        resource: _decide(resource=resource, sight=sight, membership=membership, known=known)
        for resource in _all_resources(sight, membership)
        if resource not in left_out
    }
    return {**decided, **{one.resource: one for one in _unlisted(sight, known)}}


def not_persisted(sight: ClusterSight) -> tuple[str, ...]:
    """Which resources no server stores (reviews, bindings): they need no agreement."""
    listed: set[str] = set()
    persisted = set(sight.crds) | set(sight.storage_versions or ())
    for server in sight.servers:
        for name, served in server.resources.items():
            (persisted if served.persisted else listed).add(name)
    return tuple(sorted(listed - persisted))


def check_formula(sight: ClusterSight) -> FormulaVerdict:
    """Hold the hash formula against every live hash of built-in and custom resources (R9)."""
    known = _known_group_versions(sight)
    live = []
    for server in sight.servers:
        for name, served in server.resources.items():
            if _origin(resource=name, served=(served,), sight=sight) != "aggregated":
                version = _explained(resource=name, served=served, sight=sight, known=known)
                live.append(LiveHash(name, served.kind, served.storage_hash, version))
    return formula_holds(live)


def _unlisted(sight: ClusterSight, known: tuple[str, ...]) -> Iterable[Agreement]:
    """Groups of which no server could say what they hold: nothing in them is agreed on."""
    unlisted: dict[str, _Findings] = {}
    for server in sight.servers:
        for group_version, said in server.unreadable.items():
            if group_version in known:
                continue
            group, _version = split_group_version(group_version)
            resource = f"*.{group}" if group else "*"
            findings = unlisted.setdefault(resource, _Findings(resource))
            findings.add(
                "incomplete",
                f"server {server.address} could not serve {group_version}, so which resources it "
                f"holds is not known: {said}",
                f"Make {group_version} available, or delete its APIService if nothing uses it",
                server=server.address,
            )
    for resource, findings in sorted(unlisted.items()):
        yield Agreement(
            resource=resource,
            status=findings.status,
            origin="aggregated",
            source="discovery",
            reasons=findings.reasons,
        )


def _decide(
    *, resource: str, sight: ClusterSight, membership: Membership, known: tuple[str, ...]
) -> Agreement:
    shown = _shown(resource=resource, sight=sight, known=known)
    origin = _origin(
        resource=resource, served=(one for _server, one in shown.by_server), sight=sight
    )
    reported = _reported(resource=resource, sight=sight, membership=membership)
    findings = _Findings(resource)

    _judge_hashes(findings, shown=shown, origin=origin)
    _judge_absence(findings, shown=shown, sight=sight)
    _judge_missing_hashes(findings, shown=shown, sight=sight)
    if origin == "aggregated":
        _judge_aggregated(findings, shown=shown, sight=sight)
    else:
        _judge_definition(findings, shown=shown, crd=sight.crds.get(resource))
        _judge_reported(findings, shown=shown, reported=reported)
    _judge_view(findings, membership)

    hashes = shown.hashes
    versions = {one.encoding_version for one in shown.encodings if one.storage_hash}
    agreed_hash = hashes[0] if len(hashes) == 1 else ""
    has_live_reports = any(one.standing in ("live", "silent") for one in reported)
    return Agreement(
        resource=resource,
        status=findings.status,
        origin=origin,
        source=_source(discovery=bool(hashes), storage_version=has_live_reports),
        kind=shown.kind,
        storage_hash=agreed_hash,
        encoding_version=versions.pop() if agreed_hash and len(versions) == 1 else "",
        servers=shown.encodings,
        reported=reported,
        reasons=findings.reasons,
        notes=tuple(findings.notes),
    )


# What there is to decide on


def _all_resources(sight: ClusterSight, membership: Membership) -> tuple[str, ...]:
    names = {name for server in sight.servers for name in server.resources} | set(sight.crds)
    for name in sight.storage_versions or ():
        reported = _reported(resource=name, sight=sight, membership=membership)
        if any(one.standing in ("live", "silent") for one in reported):
            names.add(name)
    return tuple(sorted(names))


def _known_group_versions(sight: ClusterSight) -> tuple[str, ...]:
    found: set[str] = set()
    for server in sight.servers:
        for name, served in server.resources.items():
            found.update(
                group_version_of(resource=name, version=version)
                for version in served.served_versions
            )
    for reported in (sight.storage_versions or {}).values():
        found.update(entry.encoding for entry in reported.entries if entry.encoding)
    return tuple(sorted(found))


def _explained(
    *, resource: str, served: ServedResource, sight: ClusterSight, known: tuple[str, ...]
) -> str:
    reported = (sight.storage_versions or {}).get(resource)
    encodings = tuple(entry.encoding for entry in reported.entries) if reported else ()
    own = (
        group_version_of(resource=resource, version=version) for version in served.served_versions
    )
    # Nearly every hash is of the resource's own versions; only then the whole cluster's are tried.
    for versions in ((*own, *filter(None, encodings)), known):
        explained = explain_for(
            resource=resource, kind=served.kind, storage_hash=served.storage_hash, known=versions
        )
        if explained:
            return explained
    return ""


def _shown(*, resource: str, sight: ClusterSight, known: tuple[str, ...]) -> _Shown:
    by_server = tuple(
        (server, server.resources[resource])
        for server in sorted(sight.servers, key=lambda one: one.address)
        if resource in server.resources
    )
    return _Shown(
        by_server=by_server,
        encodings=tuple(
            ServerEncoding(
                server=server.address,
                storage_hash=served.storage_hash,
                encoding_version=_explained(
                    resource=resource, served=served, sight=sight, known=known
                ),
                release=str(server.release) if server.release else "",
            )
            for server, served in by_server
        ),
    )


def _reported(
    *, resource: str, sight: ClusterSight, membership: Membership
) -> tuple[ReportedVersion, ...]:
    storage_version = (sight.storage_versions or {}).get(resource)
    # With the API on in some servers only, an entry may be what a server left before it was off.
    if storage_version is None or not sight.all_report:
        return ()
    return classify_entries(storage_version=storage_version, membership=membership)


def _origin(*, resource: str, served: Iterable[ServedResource], sight: ClusterSight) -> Origin:
    versions = {version for one in served for version in one.served_versions}
    names = (group_version_of(resource=resource, version=version) for version in versions)
    if any(name in sight.aggregated for name in names):
        return "aggregated"
    return "custom" if resource in sight.crds else "built-in"


def _source(*, discovery: bool, storage_version: bool) -> Source:
    if not storage_version:
        return "discovery"
    return "both" if discovery else "storage_version"


# What speaks against agreement


def _judge_hashes(findings: _Findings, *, shown: _Shown, origin: Origin) -> None:
    """Servers that were read and differ, whatever else is not known."""
    if len(shown.hashes) < 2:
        return
    groups = sorted(
        (
            [one for one in shown.encodings if one.storage_hash == storage_hash]
            for storage_hash in shown.hashes
        ),
        key=lambda group: (-len(group), group[0].server),
    )
    said = (
        f"{enumerate_names(_with_release(one) for one in group)} "
        f"{'writes' if len(group) == 1 else 'write'} {group[0].written}"
        for group in groups
    )
    findings.add(
        "disagreeing",
        f"the servers encode {findings.resource} differently: {'; '.join(said)}",
        "Wait until every server has followed its CustomResourceDefinition; restart one that "
        "does not"
        if origin == "custom"
        else "Bring every server to the same release and emulated version, and migrate nothing "
        "until then",
        server=enumerate_names(one.server for group in groups[1:] for one in group),
    )


def _judge_absence(findings: _Findings, *, shown: _Shown, sight: ClusterSight) -> None:
    """Servers that do not list the resource, or could not say whether they serve it."""
    _plural, group = split_resource(findings.resource)
    showing = {server.address for server, _served in shown.by_server}
    for server in sorted(sight.servers, key=lambda one: one.address):
        if server.address in showing or server.fault:
            continue
        unreadable = sorted(
            name for name in server.unreadable if split_group_version(name)[0] == group
        )
        if unreadable:
            findings.add(
                "incomplete",
                f"server {server.address} could not serve {unreadable[0]}, so what it writes of "
                f"{findings.resource} is not known: {server.unreadable[unreadable[0]]}",
                f"Make {unreadable[0]} available there, and look again",
                server=server.address,
            )
        elif not server.ready:
            findings.add(
                "incomplete",
                f"server {server.address} is not ready and does not serve {findings.resource} yet",
                "Wait until it is ready",
                server=server.address,
            )
        elif shown.by_server:
            findings.add(
                "disagreeing",
                f"server {_with_release_of(server)} does not serve {findings.resource}, while "
                f"{enumerate_names(sorted(showing))} {'does' if len(showing) == 1 else 'do'}",
                "Bring every server to the same release, emulated version and runtime-config; for "
                "a new CustomResourceDefinition wait until every server has taken it up",
                server=server.address,
            )


def _judge_missing_hashes(findings: _Findings, *, shown: _Shown, sight: ClusterSight) -> None:
    """A persisted resource without one clear hash."""
    resource = findings.resource
    crd = sight.crds.get(resource)
    audit = "or read with storage_audit what is stored"
    if not shown.by_server:
        if crd is not None:
            findings.add(
                "unknown",
                f"no server serves any version of {resource}, so none shows what it writes",
                f"Serve the storage version {crd.storage_version} of its "
                f"CustomResourceDefinition, {audit}",
            )
        else:
            findings.add(
                "unknown",
                f"the StorageVersion API reports {resource}, but no server lists it",
                "Turn its API on in every server, or wait until the entries have been collected",
            )
        return
    if crd is not None and not crd.storage_version_served and not shown.hashes:
        findings.add(
            "unknown",
            f"the CustomResourceDefinition of {resource} stores {crd.storage_version}, which is "
            "not served, so no server shows its hash",
            f"Serve {crd.storage_version} again, {audit}",
        )
        return
    for server, served in shown.by_server:
        if served.contradictory:
            findings.add(
                "unknown",
                f"server {server.address} shows different hashes of {resource} under its served "
                "versions",
                "Look again; if it stays, restart that server",
                server=server.address,
            )
        elif not served.storage_hash:
            gate_off = not any(one.storage_hash for one in server.resources.values())
            findings.add(
                "unknown",
                f"server {server.address} shows no hash of any resource: its feature gate "
                "StorageVersionHash is off"
                if gate_off
                else f"server {server.address} stores {resource} but shows no hash of it",
                f"Turn StorageVersionHash on there (it is by default), {audit}"
                if gate_off
                else f"Look again once that server has settled, {audit}",
                server=server.address,
            )


def _judge_aggregated(findings: _Findings, *, shown: _Shown, sight: ClusterSight) -> None:
    """R7: the servers only proxy it, so equal hashes prove nothing unless one backend answers."""
    resource = findings.resource
    names = {
        group_version_of(resource=resource, version=version)
        for _server, served in shown.by_server
        for version in served.served_versions
    }
    proxied = [sight.aggregated[name] for name in sorted(names) if name in sight.aggregated]
    unproven = [one for one in proxied if not _has_one_backend(one)]
    for one in unproven:
        findings.add(
            "unknown",
            f"{resource} is served through {one.group_version} by the Service {one.service}, and "
            f"{_backends(one)}: equal hashes prove nothing, since the servers only proxy it",
            "Run exactly one ready endpoint behind the Service while you look, or leave its "
            "agreement to its own operator",
            server=one.service,
        )
    if not unproven and any(name not in sight.aggregated for name in names):
        findings.add(
            "unknown",
            f"{resource} is served by the servers themselves and, in another version, by the "
            f"Service {proxied[0].service}",
            "Serve all of its versions from one place",
            server=proxied[0].service,
        )
    elif not unproven and len({(one.service, one.endpoints_after) for one in proxied}) > 1:
        findings.add(
            "unknown",
            f"the versions of {resource} are served by different backends",
            "Serve all of its versions from one place",
        )
    elif not unproven:
        findings.note(
            f"{resource} is aggregated: this counts for the one endpoint "
            f"{proxied[0].endpoints_after[0]} of the Service {proxied[0].service} only",
        )


def _has_one_backend(one: AggregatedSight) -> bool:
    return len(one.endpoints_before) == 1 and one.endpoints_before == one.endpoints_after


def _backends(one: AggregatedSight) -> str:
    if len(one.endpoints_before) == 1 and len(one.endpoints_after) == 1:
        return "its one endpoint changed while it was read"
    counts = sorted({len(one.endpoints_before), len(one.endpoints_after)})
    return f"that has {enumerate_names(plural(count, 'ready endpoint') for count in counts)}"


def _judge_definition(findings: _Findings, *, shown: _Shown, crd: CrdSight | None) -> None:
    """A custom resource whose servers have not followed its definition yet."""
    if crd is None or not crd.storage_version:
        return
    wanted = group_version_of(resource=findings.resource, version=crd.storage_version)
    for one in shown.encodings:
        if one.encoding_version and one.encoding_version != wanted:
            findings.add(
                "disagreeing",
                f"the CustomResourceDefinition of {findings.resource} stores {wanted}, but server "
                f"{one.server} still shows {one.encoding_version}",
                "Wait until it has followed; restart it if it does not",
                server=one.server,
            )


def _judge_reported(
    findings: _Findings,
    *,
    shown: _Shown,
    reported: tuple[ReportedVersion, ...],
) -> None:
    """The StorageVersion API: every live server must have reported, and all the same."""
    resource = findings.resource
    for one in reported:
        if one.standing == "stale":
            findings.note(
                f"the entry of {one.name} ({one.encoding_version}) in the StorageVersion of "
                f"{resource} is stale and was left out: its lease is gone, expired or vouched for",
                "Remove it with storage_version, or wait until it is collected",
                server=one.name,
            )
        elif one.standing == "missing":
            findings.add(
                "incomplete",
                f"server {one.name} has not reported {resource} to the StorageVersion API",
                "Wait until it has registered",
                server=one.name,
            )
    voices = [one for one in reported if one.standing in ("live", "silent")]
    versions = sorted({one.encoding_version for one in voices})
    if len(versions) > 1:
        said = (
            f"{enumerate_names(one.name for one in voices if one.encoding_version == version)} "
            f"encoding {version or 'nothing'}"
            for version in versions
        )
        findings.add(
            "disagreeing",
            f"the StorageVersion API reports {resource} with {'; '.join(said)}",
            "Bring every server to the same release and emulated version, and migrate nothing "
            "until then",
        )
    elif voices:
        _judge_contradiction(findings, shown=shown, common=versions[0])


def _judge_contradiction(findings: _Findings, *, shown: _Shown, common: str) -> None:
    """Two sources that each speak with one voice, and say different things."""
    for one in shown.encodings:
        if one.storage_hash and not one.encoding_version:
            findings.note(
                f"the hash {one.storage_hash} that server {one.server} shows of "
                f"{findings.resource} could not be explained, so it was not compared with "
                f"{common} of the StorageVersion API",
                server=one.server,
            )
        elif one.encoding_version and one.encoding_version != common:
            findings.add(
                "disagreeing",
                f"the two sources contradict each other on {findings.resource}: server "
                f"{one.server} shows {one.encoding_version}, the StorageVersion API reports "
                f"{common}",
                "Look again once every server has registered; if it stays, restart that server",
                server=one.server,
            )


def _judge_view(findings: _Findings, membership: Membership) -> None:
    """What the view lacks stands against every resource in it, in the same words."""
    if not membership.complete:
        findings.against.setdefault("incomplete", []).extend(membership.reasons)


# Words


def _written(encoding_version: str, storage_hash: str) -> str:
    return encoding_version or f"the hash {storage_hash}"


def _with_release(one: ServerEncoding) -> str:
    return f"{one.server} ({one.release})" if one.release else one.server


def _with_release_of(server: ServerSight) -> str:
    return f"{server.address} ({server.release})" if server.release else server.address
