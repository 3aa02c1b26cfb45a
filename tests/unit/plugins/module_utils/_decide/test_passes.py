# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""One pass beside an upgrade: whose restarts are the run's own."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.agreement import (
    decide_agreement,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.membership import (
    decide_membership,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.observations import (
    ServerSight,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.passes import (
    PassRules,
    decide_pass,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.plans import Wanted
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.settling import Look
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.states import (
    StorageState,
)
from ansible_collections.lockstep.kubernetes.tests.unit.sights import (
    cluster,
    lease,
    served,
    server,
)

DEPLOYMENTS = "deployments.apps"
OLD, NEW = "v1.36.3", "v1.37.0"
UPGRADE = PassRules(window=timedelta(minutes=10), upgrades_to=Wanted(NEW))


def look(*releases: tuple[str, str], restarted: tuple[int, ...] = ()) -> Look:
    """Servers that run these releases, each with what it emulates, some of them started anew."""
    servers: list[ServerSight] = []
    leases = []
    for number, (release, emulated) in enumerate(releases):
        again = "again" if number in restarted else "first"
        servers.append(
            server(
                f"address-{number}",
                served(DEPLOYMENTS, "apps/v1"),
                start_time=f"{number}-{again}",
                release=release,
                emulated=emulated,
            )
        )
        leases.append(lease(f"host-{number}", holder=f"{number}-{again}"))
    sight = cluster(servers, leases)
    membership = decide_membership(sight)
    return Look(sight, membership, decide_agreement(sight=sight, membership=membership))


def doubts(before: Look, after: Look, rules: PassRules = UPGRADE) -> tuple[str, ...]:
    """What a record holds against itself after two looks, the second under these rules."""
    state = _pass(before, None, PassRules(window=rules.window))
    assert state is not None
    known = _pass(before, _proved(state), PassRules(window=rules.window))
    after_it = _pass(after, known, rules)
    assert after_it is not None
    return after_it.evidence.unseen


def _pass(seen: Look, state: StorageState | None, rules: PassRules) -> StorageState | None:
    return decide_pass(
        look=seen, resource=DEPLOYMENTS, state=state, migrations=(), rules=rules
    ).state


def _proved(state: StorageState) -> StorageState:
    """The same, as if all had been migrated."""
    evidence = replace(state.evidence, source="migrated", hashes=(state.current,))
    return replace(state, persisted=(state.current,), evidence=evidence)


BEFORE = look((OLD, ""), (OLD, ""))


def test_a_server_that_came_to_run_the_release_was_restarted_by_the_run() -> None:
    after = look((NEW, ""), (OLD, ""), restarted=(0,))
    assert doubts(BEFORE, after) == ()


def test_so_was_one_whose_emulation_was_taken_off() -> None:
    before = look((NEW, "1.36"), (NEW, "1.36"))
    after = look((NEW, "1.37"), (NEW, "1.36"), restarted=(0,))
    assert doubts(before, after) == ()


@pytest.mark.parametrize(
    ("before", "after"),
    [
        # kubeadm puts the old manifest back where the new server fails, which may have written.
        (BEFORE, look((OLD, ""), (OLD, ""), restarted=(0,))),
        # It ran the release already, so that somebody else has restarted it.
        (look((NEW, ""), (OLD, "")), look((NEW, ""), (OLD, ""), restarted=(0,))),
        # One of the two that were restarted was not upgraded.
        (BEFORE, look((NEW, ""), (OLD, ""), restarted=(0, 1))),
        # It emulates something else than the run asked for.
        (BEFORE, look((NEW, "1.36"), (OLD, ""), restarted=(0,))),
    ],
    ids=["to the old release", "of the release", "beside another", "emulating"],
)
def test_any_other_restart_went_unseen(before: Look, after: Look) -> None:
    assert "restarted" in str(doubts(before, after))


def test_without_an_upgrade_every_restart_went_unseen() -> None:
    after = look((NEW, ""), (OLD, ""), restarted=(0,))
    assert "restarted" in str(doubts(BEFORE, after, PassRules(window=UPGRADE.window)))
