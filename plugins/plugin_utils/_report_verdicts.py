# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This plugin_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""Verdicts as a page shows them: what stands where, in which order and in which words.

Nothing is judged here. What a document does not say is unknown, and never a yes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.observations import (
    UNKNOWN,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.reasons import plural
from ansible_collections.lockstep.kubernetes.plugins.plugin_utils._report_values import (
    answer,
    kind,
    mapping,
    mapping_of_mappings,
    mappings,
    noun,
    text,
    texts,
    whole,
    wrong,
)

# Of a longer list the rest is folded.
SHOWN_AT_ONCE = 5

_HEADLINES = {"yes": "Safe", "no": "Not safe", "unknown": "Not known to be safe"}
_TONES = {"yes": "ok", "no": "stop", "unknown": "unknown"}
_CURES = {
    "migration": "a migration cures it",
    "audit": "an audit can tell",
    "operator": "it needs you",
}
# Results of checks with the tone they are shown in; what needs somebody comes first.
_RESULTS = {
    "failed": "stop",
    "unknown": "unknown",
    "acknowledged": "unknown",
    "warned": "warn",
    "not run": "quiet",
    "passed": "ok",
}


@dataclass(frozen=True)
class Server:
    """One API server, as the head of its column."""

    address: str
    release: str
    emulated: str

    @property
    def name(self) -> str:
        """Its address without what is the same for all."""
        return self.address.split("://", 1)[-1]


@dataclass(frozen=True)
class Cell:
    """The encoding version that one server writes; empty where it was not seen."""

    server: Server
    version: str
    differs: bool


@dataclass(frozen=True)
class Resource:
    """One row of the matrix."""

    name: str
    origin: str
    encoding: str
    cells: tuple[Cell, ...]
    # What is wrong with the agreement, in words; empty where there is one.
    disagreement: str
    stored: tuple[str, ...]
    evidence: str
    by_target: str
    target_note: str
    by_rollback: str
    rollback_note: str
    objects: str
    must_migrate: str

    @property
    def attention(self) -> bool:
        """Whether somebody should look at it."""
        answers = (self.by_target, self.by_rollback, self.must_migrate)
        return bool(self.disagreement) or answers != ("yes", "yes", "no")

    @property
    def rank(self) -> tuple[bool, bool, bool, bool, str]:
        """Where it stands: what is lost, then what differs, then what is unknown."""
        answers = (self.by_target, self.by_rollback)
        return (
            "no" not in answers,
            not self.disagreement,
            self.must_migrate != "yes",
            "unknown" not in answers,
            self.name,
        )


@dataclass(frozen=True)
class Group:
    """All findings of one check that came to the same, and have the same remedy."""

    check: str
    title: str
    result: str
    remedy: str
    cure: str
    acknowledged: str
    seen: tuple[tuple[str, str], ...]
    commands: tuple[str, ...] = ()
    # Those that delete data, and are no first choice.
    destructive: tuple[str, ...] = ()
    # All that findings tell of several resources at once are about.
    resources: tuple[str, ...] = ()

    @property
    def shown_destructive(self) -> tuple[str, ...]:
        """The same of those."""
        return self.destructive[:SHOWN_AT_ONCE]

    @property
    def shown_commands(self) -> tuple[str, ...]:
        """The first of its commands: those of other resources read the same."""
        return self.commands[:SHOWN_AT_ONCE]

    @property
    def tone(self) -> str:
        """How its result is shown."""
        return _RESULTS[self.result]

    @property
    def stops(self) -> bool:
        """Whether the step may not go on because of it."""
        return self.result in ("failed", "unknown")

    @property
    def first(self) -> tuple[tuple[str, str], ...]:
        """What is shown at once."""
        return self.seen if len(self.seen) <= SHOWN_AT_ONCE + 1 else self.seen[:SHOWN_AT_ONCE]

    @property
    def rest(self) -> tuple[tuple[str, str], ...]:
        """What is folded."""
        return self.seen[len(self.first) :]


@dataclass(frozen=True)
class Check:
    """One check with all that it found."""

    check: str
    title: str
    result: str
    groups: tuple[Group, ...]

    @property
    def tone(self) -> str:
        """How its result is shown."""
        return _RESULTS[self.result]

    @property
    def attention(self) -> bool:
        """Whether somebody should look at it."""
        return self.result != "passed"


@dataclass(frozen=True)
class Cluster:
    """One verdict: a section of the page."""

    key: str
    name: str
    safe: str
    passed: bool
    from_release: str
    to_release: str
    rollback_release: str
    judged_at: str
    # The UID of kube-system.
    uid: str
    judged_by: Mapping[str, str]
    servers: tuple[Server, ...]
    resources: tuple[Resource, ...]
    reasons: tuple[Group, ...]
    unexplained: tuple[str, ...]
    checks: tuple[Check, ...]
    acknowledged: int
    notices: tuple[str, ...]
    objects_to_migrate: int
    uncounted_to_migrate: int

    @property
    def tone(self) -> str:
        """The colour and the symbol, which only repeat the words."""
        return _TONES[self.safe]

    @property
    def headline(self) -> str:
        """The verdict in words."""
        return _HEADLINES[self.safe]

    @property
    def stops(self) -> int:
        """How many findings stop it."""
        return sum(len(one.seen) for one in self.reasons)

    @property
    def disagreements(self) -> int:
        """On how many resources the servers do not agree, or are not known to."""
        return sum(bool(one.disagreement) for one in self.resources)

    @property
    def to_migrate(self) -> int:
        """How many resources must be migrated."""
        return sum(one.must_migrate == "yes" for one in self.resources)

    @property
    def migrate_note(self) -> str:
        """How many objects that is, as far as it is known."""
        if not self.to_migrate:
            return "nothing to rewrite"
        if self.uncounted_to_migrate == self.to_migrate:
            return "number of objects not known"
        told = f"{self.objects_to_migrate:,} {noun(self.objects_to_migrate, 'object')}"
        return f"at least {told}" if self.uncounted_to_migrate else told

    @property
    def lead(self) -> str:
        """What the verdict means for the next minute."""
        if not self.passed:
            if not self.stops:
                return "The step must not go on."
            verb = "stops" if self.stops == 1 else "stop"
            return f"The step must not go on: {plural(self.stops, 'finding')} {verb} it."
        if self.safe == "yes":
            return (
                "The step may go on: the releases to go to and to go back to can read everything"
                " that may be stored."
            )
        if self.acknowledged:
            were = "was" if self.acknowledged == 1 else "were"
            return (
                f"The step may go on, since {plural(self.acknowledged, 'finding')} {were}"
                " acknowledged. That does not make it safe."
            )
        return "The step may go on, but that does not make it safe."


def read_verdicts(verdicts: object, *, needed: bool = True) -> list[Cluster]:
    """The documents that upgrade_gate returned; a run may have stopped before the first."""
    if not isinstance(verdicts, (list, tuple)):
        raise wrong("report_verdicts", f"it is {kind(verdicts)}, not a list")
    if needed and not verdicts:
        raise wrong("report_verdicts", "it is an empty list")
    return [_cluster(one, place, many=len(verdicts) > 1) for place, one in enumerate(verdicts)]


def _cluster(document: object, place: int, *, many: bool) -> Cluster:
    where = f"report_verdicts[{place}]"
    if not isinstance(document, Mapping):
        raise wrong(where, f"it is {kind(document)}, not a result")
    if document.get("safe") is None:
        failed = f"; the task said: {document['msg']}" if document.get("msg") else ""
        raise wrong(where, f"it has no verdict (safe){failed}")
    documents = mapping_of_mappings(document, "resources", where)
    findings = mappings(document, "findings", where)
    checks = mapping_of_mappings(document, "checks", where)
    servers = _servers(mappings(document, "servers", where), documents.values())
    resources = [_resource(name, one, servers) for name, one in documents.items()]
    groups = _groups(findings, checks)
    safe, reasons = answer(document["safe"]), tuple(one for one in groups if one.stops)
    due = [one for one in documents.values() if answer(one.get("must_migrate")) == "yes"]
    counted = [number for one in due if (number := whole(one.get("objects"))) is not None]
    return Cluster(
        key=f"cluster-{place + 1}",
        name=text(document.get("cluster")) or (f"Cluster {place + 1}" if many else ""),
        safe=safe,
        passed=document.get("passed", safe == "yes" and not reasons) is True,
        from_release=text(document.get("from_release")) or "an unknown release",
        to_release=text(document.get("to_release")) or "an unknown release",
        rollback_release=text(document.get("rollback_release")) or "an unknown release",
        judged_at=text(document.get("judged_at")),
        uid=text(document.get("cluster_uid")),
        judged_by={
            key: text(value) for key, value in mapping(document, "judged_by", where).items()
        },
        servers=servers,
        resources=tuple(sorted(resources, key=lambda one: one.rank)),
        reasons=reasons,
        # Findings tell more; without them these lines are all there is.
        unexplained=() if reasons else texts(document.get("summary"))[1:],
        checks=_checks(groups, checks),
        acknowledged=sum(bool(one.get("acknowledged")) for one in findings),
        notices=(
            *(f"Expired: {one}" for one in texts(document.get("expired_acknowledgements"))),
            *(f"Unused: {one}" for one in texts(document.get("unused_acknowledgements"))),
        ),
        objects_to_migrate=sum(counted),
        uncounted_to_migrate=len(due) - len(counted),
    )


def _servers(
    given: list[Mapping[str, Any]], resources: Iterable[Mapping[str, Any]]
) -> tuple[Server, ...]:
    """All that are listed, and all that a resource tells of."""
    servers = {
        text(one.get("address")): Server(
            text(one.get("address")), text(one.get("release")), text(one.get("emulated"))
        )
        for one in given
    }
    for resource in resources:
        for address in _encodings(resource):
            servers.setdefault(address, Server(address, "", ""))
    return tuple(servers.values())


def _resource(name: str, one: Mapping[str, Any], servers: tuple[Server, ...]) -> Resource:
    encodings = _encodings(one)
    counts = Counter(encodings.values()).most_common()
    # Of two that are as frequent none is the odd one: both are marked.
    usual = counts[0][0] if len(counts) == 1 or (counts and counts[0][1] > counts[1][1]) else None
    cells = tuple(
        Cell(server, version, differs=bool(version) and version != usual)
        for server, version in ((each, encodings.get(each.address, "")) for each in servers)
    )
    stored = texts(one.get("stored"))
    encoding = text(one.get("encoding_version"))
    will_write = text(one.get("target_encoding"))
    by_target = _decodable(one.get("decodable_by_target"), stored)
    by_rollback = _decodable(one.get("decodable_by_rollback"), stored)
    target_note = _reads(by_target, one.get("target_decodes"))
    if will_write and will_write != encoding:
        target_note = f"will write {will_write}" + (f"; {target_note}" if target_note else "")
    disagreement = "no agreement" if answer(one.get("agreed")) == "no" else ""
    if len(counts) > 1:
        disagreement = "servers disagree"
    number = whole(one.get("objects"))
    return Resource(
        name=name,
        origin=text(one.get("origin")),
        encoding=encoding,
        cells=cells,
        disagreement=disagreement,
        stored=stored,
        evidence=text(one.get("evidence")),
        by_target=by_target,
        target_note=target_note,
        by_rollback=by_rollback,
        rollback_note=_reads(by_rollback, one.get("rollback_decodes")),
        objects="not known" if number is None else f"{number:,}",
        must_migrate=answer(one.get("must_migrate")),
    )


def _decodable(told: object, stored: tuple[str, ...]) -> str:
    """Yes only if it is told, and if it is known what is stored."""
    return "unknown" if UNKNOWN in stored and answer(told) == "yes" else answer(told)


def _reads(decodable: str, decodes: object) -> str:
    versions = texts(decodes)
    return f"reads {', '.join(versions)}" if versions and decodable == "no" else ""


def _encodings(resource: Mapping[str, Any]) -> dict[str, str]:
    told = resource.get("encodings")
    if not isinstance(told, Mapping):
        return {}
    return {str(address): text(version) for address, version in told.items() if version}


def _groups(
    findings: Iterable[Mapping[str, Any]], checks: Mapping[str, Mapping[str, Any]]
) -> list[Group]:
    """Findings put together, known dangers before what is unknown."""
    together: dict[tuple[str, ...], list[tuple[str, str]]] = {}
    commands: dict[tuple[str, ...], list[str]] = {}
    destructive: dict[tuple[str, ...], list[str]] = {}
    resources: dict[tuple[str, ...], list[str]] = {}
    for one in findings:
        check = text(one.get("check"))
        key = (
            check,
            text(checks.get(check, {}).get("title")),
            _result(one),
            text(one.get("remedy")),
            _CURES.get(text(one.get("cured_by")), ""),
            text(one.get("acknowledged")),
        )
        seen = (text(one.get("resource")), text(one.get("seen")))
        together.setdefault(key, []).append(seen)
        if one.get("command"):
            commands.setdefault(key, []).append(text(one["command"]))
        if one.get("destructive_command"):
            destructive.setdefault(key, []).append(text(one["destructive_command"]))
        if len(texts(one.get("resources"))) > 1:
            resources.setdefault(key, []).extend(texts(one["resources"]))
    groups = [
        Group(
            *key,
            seen=tuple(seen),
            commands=tuple(dict.fromkeys(commands.get(key, ()))),
            destructive=tuple(dict.fromkeys(destructive.get(key, ()))),
            resources=tuple(dict.fromkeys(resources.get(key, ()))),
        )
        for key, seen in together.items()
    ]
    return sorted(groups, key=lambda one: _place(one.result))


def _checks(groups: Iterable[Group], checks: Mapping[str, Mapping[str, Any]]) -> tuple[Check, ...]:
    """Every check; its result is never better than what it found."""
    found: dict[str, list[Group]] = {check: [] for check in checks}
    for group in groups:
        found.setdefault(group.check, []).append(group)
    rows = []
    for check, own in found.items():
        results = [one.result for one in own]
        told = text(checks.get(check, {}).get("result"))
        if told or not own:
            results.append(told if told in _RESULTS else "unknown")
        title = text(checks.get(check, {}).get("title"))
        rows.append(Check(check, title, min(results, key=_place), tuple(own)))
    return tuple(sorted(rows, key=lambda one: (_place(one.result), one.check)))


def _result(finding: Mapping[str, Any]) -> str:
    severity = finding.get("severity")
    if severity == "warn":
        return "warned"
    if severity == "acknowledgeable" and finding.get("acknowledged"):
        return "acknowledged"
    return "unknown" if finding.get("unknown") else "failed"


def _place(result: str) -> int:
    return list(_RESULTS).index(result)


def tally(clusters: Iterable[Cluster]) -> str:
    """How many clusters have which verdict, the worst first."""
    counts = Counter(one.safe for one in clusters)
    return ", ".join(
        f"{counts[safe]} {_HEADLINES[safe].lower()}"
        for safe in ("no", "unknown", "yes")
        if counts[safe]
    )
