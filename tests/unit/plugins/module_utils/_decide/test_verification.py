# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whether all is stored as the servers write it."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.agreement import (
    decide_agreement,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.checks.facts import (
    CrdFacts,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.hashes import hash_of
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.membership import (
    decide_membership,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.observations import (
    UNKNOWN,
    AggregatedSight,
    ClusterSight,
    CrdSight,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.reasons import Reason
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.settling import Look
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.states import (
    Evidence,
    StorageState,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.verification import (
    Records,
    Verification,
    decide_verified,
)
from ansible_collections.lockstep.kubernetes.tests.unit.sights import (
    NO_KEYS,
    NOW,
    cluster,
    lease,
    served,
    server,
    three_servers,
)

DEPLOYMENTS, WIDGETS = "deployments.apps", "widgets.example.com"
WRITTEN = hash_of(group_version="apps/v1", kind="Deployment")
OTHER = hash_of(group_version="apps/v1beta1", kind="Deployment")
CURRENT = StorageState(
    DEPLOYMENTS, (WRITTEN,), WRITTEN, heartbeat=NOW, evidence=Evidence(source="migrated", time=NOW)
)


def look(sight: ClusterSight) -> Look:
    membership = decide_membership(sight)
    return Look(sight, membership, decide_agreement(sight=sight, membership=membership))


def verify(
    before: StorageState | None = CURRENT,
    judged: StorageState | None = None,
    *,
    sight: ClusterSight | None = None,
    stale: frozenset[str] = frozenset(),
    **more: Any,
) -> Verification:
    """The verdict on one resource of three servers; what is judged is what was recorded."""
    seen = look(sight or three_servers(DEPLOYMENTS, "apps/v1", "apps/v1", "apps/v1"))
    judged = judged or before
    records = Records(
        before={before.resource: before} if before else {},
        judged={judged.resource: judged} if judged else {},
        stale=stale,
    )
    arguments = {"resources": {*seen.agreements, *records.before}, "crds": {}, **more}
    return decide_verified(seen, records, **arguments)


def test_what_is_recorded_as_current_alone_is_verified() -> None:
    found = verify()
    assert (found.verified, str(found)) == (True, "verified")
    assert found.proved == {DEPLOYMENTS: "migrated"}


@pytest.mark.parametrize(
    ("before", "judged", "words"),
    [
        (None, StorageState(DEPLOYMENTS, (UNKNOWN,), WRITTEN), "nothing is recorded"),
        (replace(CURRENT, persisted=(UNKNOWN,)), None, "not known in which versions"),
        (replace(CURRENT, persisted=(OTHER, WRITTEN)), None, "may be stored in 2 versions"),
        # Even where the bytes are right: somebody has changed the servers since.
        (replace(CURRENT, persisted=(OTHER,), current=OTHER), CURRENT, "the servers write apps/v1"),
    ],
    ids=["nothing recorded", "Unknown", "mixed", "another current hash"],
)
def test_a_record_that_proves_nothing_fails(
    before: StorageState | None, judged: StorageState | None, words: str
) -> None:
    found = verify(before, judged)
    assert not found.verified
    assert str(found) == f"not verified: 1 of 1 resource: {DEPLOYMENTS}"
    assert words in str(found.unproved[DEPLOYMENTS][0])


def test_a_stale_record_fails_unless_an_audit_of_this_run_proves_it() -> None:
    old = replace(CURRENT, heartbeat=NOW - timedelta(hours=1))
    assumed = replace(CURRENT, persisted=(UNKNOWN,))
    found = verify(old, assumed, stale=frozenset({DEPLOYMENTS}))
    assert "is stale, and no audit" in str(found.unproved[DEPLOYMENTS][0])

    read = replace(CURRENT, evidence=Evidence(source="etcd", time=NOW))
    assert verify(old, read, stale=frozenset({DEPLOYMENTS})).proved == {DEPLOYMENTS: "etcd"}


@pytest.mark.parametrize(
    ("sight", "words"),
    [
        (three_servers(DEPLOYMENTS, "apps/v1", "apps/v1", "apps/v1beta1"), "write"),
        (three_servers(DEPLOYMENTS, "", "", ""), "hash"),
        (three_servers(DEPLOYMENTS, "apps/v1", leases=[lease("a"), lease("b")]), "lease"),
    ],
    ids=["disagreement", "no hash", "a server unseen"],
)
def test_servers_that_are_not_known_to_agree_fail(sight: ClusterSight, words: str) -> None:
    found = verify(sight=sight)
    assert not found.verified
    assert words in " ".join(map(str, found.unproved[DEPLOYMENTS]))


def test_a_definition_that_lists_more_than_its_storage_version_fails() -> None:
    written = hash_of(group_version="example.com/v2", kind="Widget")
    sight = replace(
        three_servers(WIDGETS, "example.com/v2", "example.com/v2"),
        crds={WIDGETS: CrdSight(WIDGETS, uid="uid", generation=1)},
    )
    state = replace(CURRENT, resource=WIDGETS, persisted=(written,), current=written)
    versions = ("example.com/v1", "example.com/v2")
    crd = CrdFacts(WIDGETS, "Widget", versions, storage=versions[1], stored=versions)

    found = verify(state, sight=sight, crds={WIDGETS: crd})
    assert not found.verified
    assert found.unpruned == {WIDGETS: ("example.com/v1",)}

    pruned = replace(crd, stored=versions[1:])
    assert verify(state, sight=sight, crds={WIDGETS: pruned}).verified


def test_what_is_never_migrated_is_left_out_and_named() -> None:
    apis = {"metrics.example.com/v1": AggregatedSight("metrics.example.com/v1", "metrics/api")}
    shown = [
        served(DEPLOYMENTS, "apps/v1"),
        served("events", "v1"),
        served("nodes.metrics.example.com", "metrics.example.com/v1"),
    ]
    sight = cluster([server("address-a", *shown)], [lease("a")], aggregated=apis)

    found = verify(sight=sight)

    assert found.verified
    assert str(found) == "verified except events and nodes.metrics.example.com"


def test_what_the_operator_names_is_left_out_and_named() -> None:
    found = verify(replace(CURRENT, persisted=(UNKNOWN,)), left_out=["*.apps", "typos.example.com"])
    assert (found.verified, str(found)) == (True, f"verified except {DEPLOYMENTS}")
    assert found.unused == ("typos.example.com",)


def test_a_group_that_nobody_could_list_is_left_out_only_if_another_server_keeps_it() -> None:
    broken = server(
        "address-a", served(DEPLOYMENTS, "apps/v1"), unreadable={"example.com/v1": "503"}
    )
    apis = {"example.com/v1": AggregatedSight("example.com/v1", "some/api")}
    assert not verify(sight=cluster([broken], [lease("a")])).verified
    assert verify(sight=cluster([broken], [lease("a")], aggregated=apis)).verified


def test_a_record_of_what_nobody_serves_fails_unless_nothing_of_it_is_in_etcd() -> None:
    seen = cluster([server("address-a")], [lease("a")])
    assert "no server serves" in str(verify(sight=seen).unproved[DEPLOYMENTS][0])
    assert verify(sight=seen, audit=NO_KEYS).proved == {DEPLOYMENTS: "etcd"}

    partly = replace(NO_KEYS, complete=False)
    left = replace(NO_KEYS, versions={DEPLOYMENTS: ("apps/v1",)})
    assert not verify(sight=seen, audit=partly).verified
    assert not verify(sight=seen, audit=left).verified


def test_r8_a_change_that_nobody_saw_is_not_verified_without_etcd() -> None:
    doubted = replace(CURRENT, evidence=replace(CURRENT.evidence, unseen=("server a restarted",)))
    found = verify(doubted)
    assert not found.verified
    assert "server a restarted, and nobody saw" in str(found.doubted[DEPLOYMENTS][0])
    # It never asks for a migration by itself.
    assert not found.unproved


def test_r12_an_audit_that_does_not_count_proves_nothing() -> None:
    found = verify(audit=replace(NO_KEYS, against=(Reason("it is of another moment"),)))
    assert not found.verified
