# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""Verdicts as the plain data that modules return: names and counts, never payloads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ansible_collections.lockstep.kubernetes.plugins.module_utils._act.storage_versions import (
    Pruning,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide import names
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.agreement import (
    Agreement,
    not_persisted,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.epoch import decide_epoch
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.errors import sentence
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.known import (
    present_known,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.membership import (
    Membership,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.observations import (
    ClusterSight,
    Lease,
    ServerSight,
    StorageVersionEntry,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.reasons import (
    Reason,
    plural,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.settling import Look
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.times import format_time
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.voting import (
    Vote,
    decide_vote,
)

TURN_ON = (
    "Start {where} with --feature-gates=StorageVersionAPI=true and"
    " --runtime-config=internal.apiserver.k8s.io/v1alpha1=true; kube-controller-manager needs the"
    " same feature gate to collect old entries."
)
_WORST_FIRST = ("disagreeing", "incomplete", "unknown", "agreed")


def present_look(look: Look, patterns: Iterable[str]) -> dict[str, Any]:
    """One look, as a module returns it: the verdict first."""
    return {
        **_present_view(look, patterns),
        "resources": {
            name: present_agreement(agreement, look) for name, agreement in look.agreements.items()
        },
        "encodings": present_encodings(look),
        "not_persisted": list(not_persisted(look.sight)),
        "time": format_time(look.sight.now),
        "cluster": present_cluster(look.sight),
        "epoch": decide_epoch(sight=look.sight, membership=look.membership, resource="").to_dict(),
        "known": present_known(look.sight, list(patterns)),
    }


def present_storage_versions(
    look: Look, patterns: Iterable[str], last_agreed: Mapping[str, str]
) -> dict[str, Any]:
    """The StorageVersion objects of one look, joined with the leases."""
    votes = {
        name: decide_vote(
            storage_version=sight,
            membership=look.membership,
            last_agreed=last_agreed.get(name, ""),
        )
        for name, sight in (look.sight.storage_versions or {}).items()
    }
    return {
        **_present_view(look, patterns),
        **present_api(look.sight),
        "selected": {name: vote.selected for name, vote in votes.items()},
        "resources": {name: _present_vote(vote, look) for name, vote in votes.items()},
    }


def present_pruning(pruning: Pruning) -> dict[str, Any]:
    """What was pruned, with a diff of names and versions."""
    look = pruning.look
    before = {name: _present_entries(pruning.before[name].entries) for name in pruning.pruned}
    after = {name: _present_entries(one.entries) for name, one in pruning.pruned.items()}
    return {
        "changed": bool(pruning.pruned),
        "pruned": {
            name: {
                "removed": list(one.removed),
                "common_encoding_version": one.common,
                "deleted": one.empty,
            }
            for name, one in pruning.pruned.items()
        },
        "kept": [
            str(one) for one in look.membership.reasons if one.lease or not look.membership.live
        ],
        "diff": {"before": before, "after": after},
        **present_api(look.sight),
    }


def present_api(sight: ClusterSight) -> dict[str, str]:
    """Whether the StorageVersion API is on, and how to turn it on."""
    read = [server for server in sight.servers if not server.fault]
    serving = [server for server in read if server.storage_version_api]
    if serving and len(serving) == len(read):
        return {"api": "on", "api_remedy": ""}
    where = "every server"
    if serving:
        where = ", ".join(server.address for server in read if server not in serving)
    return {"api": "partly" if serving else "off", "api_remedy": TURN_ON.format(where=where)}


def _present_view(look: Look, patterns: Iterable[str]) -> dict[str, Any]:
    known = {*look.agreements, *not_persisted(look.sight)}
    return {
        "agreed": look.agreed,
        "verdict": verdict(look),
        "summary": summarise(look),
        "reasons": [str(reason) for reason in all_reasons(look)],
        "notes": _notes(look),
        "servers": [present_server(server) for server in look.sight.servers],
        "leases": present_leases(look.membership),
        "unmatched": list(names.unmatched_patterns(resources=known, patterns=patterns)),
    }


def _notes(look: Look) -> list[str]:
    notes = [str(note) for note in look.membership.notes]
    api = present_api(look.sight)
    if api["api"] == "partly":
        notes.append(
            "The StorageVersion API is on in some servers only, so it was left out of account. "
            + api["api_remedy"]
        )
    return notes


def summarise(look: Look) -> list[str]:
    """The verdict for people: what it is, then each reason in a line, then what to do."""
    count, servers = len(look.agreements), len(look.membership.distinct)
    if look.agreed:
        return [
            f"agreed: {plural(servers, 'server')} encode all {plural(count, 'resource')} alike."
        ]
    open_ = [agreement for agreement in look.agreements.values() if not agreement.agreed]
    lines = [f"{verdict(look)}: {len(open_)} of {plural(count, 'resource')} not agreed."]
    view = (*look.membership.reasons, *unheard_of(look))
    lines += [f"  {sentence(reason.text)}" for reason in view]
    own = [reason for one in open_ for reason in one.reasons if reason not in view]
    lines += [f"  {line}" for line in dict.fromkeys(sentence(reason.text) for reason in own)]
    remedies = [reason.remedy for reason in (*view, *own) if reason.remedy]
    return lines + [f"To do: {sentence(remedy)}" for remedy in dict.fromkeys(remedies)]


def _present_vote(vote: Vote, look: Look) -> dict[str, Any]:
    sight = (look.sight.storage_versions or {})[vote.resource]
    agreement = look.agreements.get(vote.resource)
    return {
        "status": agreement.status if agreement else "unknown",
        "common_encoding_version": sight.common,
        "condition": {
            "status": sight.condition,
            "reason": sight.condition_reason,
            "last_transition_time": sight.last_transition,
        },
        "resource_version": sight.resource_version,
        "decodable_by_all": list(vote.decodable_by_all),
        "entries": [
            {
                "server_id": one.server_id,
                "hostname": one.hostname,
                "standing": one.standing,
                "encoding_version": one.encoding_version,
                "decodable_versions": list(one.decodable_versions),
                "served_versions": list(one.served_versions),
            }
            for one in vote.entries
        ],
        "stale": [one.name for one in vote.entries if one.standing == "stale"],
        "missing": [one.name for one in vote.entries if one.standing == "missing"],
        "vote": {
            "candidates": dict(vote.candidates),
            "selected": vote.selected,
            "pending": list(vote.pending),
            "why": vote.why,
        },
    }


def _present_entries(entries: Iterable[StorageVersionEntry]) -> dict[str, str]:
    return {entry.server_id: entry.encoding for entry in entries}


def verdict(look: Look) -> str:
    """The worst verdict on any resource; an incomplete view is one even without resources."""
    found = {agreement.status for agreement in look.agreements.values()}
    if not look.membership.complete:
        found.add("incomplete")
    if look.unheard_of:
        found.add("unknown")
    return next((status for status in _WORST_FIRST if status in found), "agreed")


def all_reasons(look: Look) -> list[Reason]:
    """Every reason against agreement, each once, those of the whole view first."""
    reasons = [*look.membership.reasons, *unheard_of(look)]
    for agreement in look.agreements.values():
        reasons += agreement.reasons
    return list(dict.fromkeys(reasons))


def unheard_of(look: Look) -> list[Reason]:
    """What was asked for by its whole name and is not there: of that nothing is known."""
    unread = [one for one in look.sight.servers if one.fault]
    if unread:
        # Then the name may well be right.
        return [
            Reason(
                f"nothing is known of {name}, since server {unread[0].address} could not be read:"
                f" {unread[0].fault}",
                unread[0].remedy,
                resource=name,
                server=unread[0].address,
            )
            for name in look.unheard_of
        ]
    return [
        Reason(
            f"no server knows {name}, which resources asks for by name",
            "Correct the name (plural and group, such as deployments.apps), or take it out",
            resource=name,
        )
        for name in look.unheard_of
    ]


def present_agreement(agreement: Agreement, look: Look) -> dict[str, Any]:
    """The verdict on one resource."""
    crd = look.sight.crds.get(agreement.resource)
    return {
        "status": agreement.status,
        "hash": agreement.storage_hash,
        "encoding_version": agreement.encoding_version,
        "kind": agreement.kind,
        "origin": agreement.origin,
        "source": agreement.source,
        "servers": {
            one.server: {"hash": one.storage_hash, "encoding_version": one.encoding_version}
            for one in agreement.servers
        },
        "reasons": [str(reason) for reason in agreement.reasons],
        "notes": [str(note) for note in agreement.notes],
        "crd": {"uid": crd.uid, "generation": crd.generation} if crd else {},
    }


def present_encodings(look: Look) -> dict[str, str]:
    """What the servers write of each resource, as storage_audit takes it."""
    # A group that nobody could list is no resource.
    named = {name: one for name, one in look.agreements.items() if "*" not in name}
    return {name: one.encoding_version for name, one in named.items()}


def present_cluster(sight: ClusterSight) -> dict[str, Any]:
    """Which cluster was observed, and at which revision of etcd."""
    return {
        "uid": sight.identity.uid,
        "kube_system_revision": sight.identity.revision,
        "revisions": dict(sight.revisions),
    }


def present_server(server: ServerSight) -> dict[str, Any]:
    """One address that was asked."""
    return {
        "address": server.address,
        "release": server.release.git_version if server.release else "",
        "emulated_version": server.release.emulated if server.release else "",
        "ready": server.ready,
        "start_time": server.start_time,
        "fault": server.fault,
        "remedy": server.remedy,
        "unreadable": dict(server.unreadable),
    }


def present_leases(membership: Membership) -> dict[str, list[str]]:
    """The hosts behind the identity leases, by what is known of them."""
    return {
        "live": _hosts(membership.live),
        "silent": _hosts(membership.silent),
        "expired": _hosts(membership.expired),
        "gone": _hosts(membership.gone),
    }


def _hosts(leases: Iterable[Lease]) -> list[str]:
    return [lease.hostname or lease.name for lease in leases]
