# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""When a record of a resource that no server serves has done its work."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.agreement import (
    decide_agreement,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.checks.facts import (
    AuditFacts,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.epoch import Epoch
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.gone import (
    decide_gone,
    judge_gone,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.membership import (
    decide_membership,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.observations import (
    ClusterSight,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.reasons import Reason
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.settling import Look
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.states import (
    Evidence,
    StorageState,
)
from ansible_collections.lockstep.kubernetes.tests.unit.sights import (
    NO_KEYS,
    lease,
    three_servers,
)

WIDGETS, JOBS, DEPLOYMENTS = "widgets.example.com", "cronjobs.batch", "deployments.apps"
CUSTOM = StorageState(
    WIDGETS, evidence=Evidence(epoch=Epoch(identities=(), releases=(), crd_uid="u"))
)
STATES = {WIDGETS: CUSTOM, JOBS: StorageState(JOBS), DEPLOYMENTS: StorageState(DEPLOYMENTS)}
ALL = three_servers(DEPLOYMENTS, "apps/v1", "apps/v1")


def look(sight: ClusterSight) -> Look:
    membership = decide_membership(sight)
    return Look(sight, membership, decide_agreement(sight=sight, membership=membership))


def gone(
    *, sight: ClusterSight = ALL, audit: AuditFacts | None = NO_KEYS, patterns: Any = ("*",)
) -> tuple[str, ...]:
    return decide_gone(STATES, look=look(sight), audit=audit, patterns=patterns)


def test_what_is_neither_served_nor_stored_is_gone() -> None:
    assert set(gone()) == {WIDGETS, JOBS}


def test_only_what_was_chosen_is_looked_into() -> None:
    assert gone(patterns=["*.example.com"]) == (WIDGETS,)


def test_while_a_server_is_missed_it_may_serve_anything() -> None:
    unseen = three_servers(DEPLOYMENTS, "apps/v1", leases=[lease("a"), lease("b")])
    assert gone(sight=unseen) == ()


@pytest.mark.parametrize(
    ("audit", "words"),
    [
        (None, "etcd was not read"),
        (replace(NO_KEYS, complete=False), "not all of etcd was read"),
        (replace(NO_KEYS, against=(Reason("it is older"),)), "it is older"),
        (
            replace(NO_KEYS, versions={WIDGETS: ("example.com/v1",)}, keys={WIDGETS: 3}),
            "3 keys of it below /registry/example.com/widgets/ can't be read",
        ),
    ],
    ids=["no audit", "a part", "outdated", "keys are left"],
)
def test_without_proof_that_nothing_is_left_it_is_named_with_what_to_do(
    audit: AuditFacts | None, words: str
) -> None:
    assert WIDGETS not in gone(audit=audit)
    reason = judge_gone(WIDGETS, CUSTOM, audit)
    assert reason is not None
    assert words in reason.text


def test_without_etcd_the_command_that_deletes_its_record_is_told() -> None:
    reason = judge_gone(WIDGETS, CUSTOM, None)
    assert reason is not None
    assert f"state=absent and resources={WIDGETS}" in reason.remedy


def test_of_a_built_in_kind_whose_place_is_not_known_no_keys_mean_nothing() -> None:
    name = "novelties.new.k8s.io"
    reason = judge_gone(name, StorageState(name), NO_KEYS)
    assert reason is not None
    assert "where its keys lie in etcd is not known" in reason.text


def test_what_is_stored_under_its_other_name_is_stored() -> None:
    stored = replace(NO_KEYS, versions={"events": ("v1",)})
    assert judge_gone("events.events.k8s.io", StorageState("events.events.k8s.io"), stored)
