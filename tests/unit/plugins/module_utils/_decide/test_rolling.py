# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What may wait in the middle of an upgrade, and what may not."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.agreement import (
    decide_agreement,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.catalogue import (
    Catalogue,
    ReleaseCatalogue,
    ReleaseResource,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.checks import find_all
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.checks.facts import (
    Facts,
    Step,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.gate import (
    Finding,
    decide_gate,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.membership import (
    decide_membership,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.observations import (
    CrdSight,
    Lease,
    ServedResource,
    ServerSight,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.rolling import (
    differing_by_upgrade,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.settling import Look
from ansible_collections.lockstep.kubernetes.tests.unit.sights import (
    NOW,
    cluster,
    lease,
    served,
    server,
)

OLD, NEW = "v1.36.3", "v1.37.0"
THINGS, WIDGETS = "deployments.apps", "widgets.example.com"
BETA, STABLE = served(THINGS, "apps/v1beta1"), served(THINGS, "apps/v1")


def running(host: str, release: str, *resources: ServedResource) -> ServerSight:
    return server(f"address-{host}", *resources, release=release)


def catalogued(release: str, encoding: str) -> ReleaseCatalogue:
    """A release that is known to write things in one version."""
    resource = ReleaseResource(THINGS, "Deployment", True, "", encoding, (encoding,), (encoding,))
    return ReleaseCatalogue(release, "", "by hand", "now", {THINGS: resource})


def midway(
    *servers: ServerSight,
    leases: Iterable[Lease] | None = None,
    step: dict[str, Any] | None = None,
    **more: Any,
) -> Facts:
    """A cluster in the middle of an upgrade, of which nothing is recorded."""
    hosts = "abc"[: len(servers)]
    sight = cluster(servers, leases or [lease(host) for host in hosts], **more)
    membership = decide_membership(sight)
    agreements = decide_agreement(sight=sight, membership=membership)
    released = {"target": None, "rollback": None, "current": None, "rolling": True, **(step or {})}
    return Facts(
        step=Step(OLD, NEW, OLD, **released),
        catalogue=Catalogue(()),
        look=Look(sight, membership, agreements),
        states={},
        migrations=(),
        crds={},
        window=timedelta(minutes=10),
        formula_holds=True,
    )


ROLLING = (running("a", NEW, STABLE), running("b", OLD, BETA), running("c", OLD, BETA))


def test_what_all_old_servers_write_alike_and_new_ones_otherwise_differs_by_the_upgrade() -> None:
    assert differing_by_upgrade(midway(*ROLLING)) == {THINGS}


def test_what_only_the_new_release_serves_differs_by_the_upgrade() -> None:
    alike = {"current": catalogued(OLD, "apps/v1"), "target": catalogued(NEW, "apps/v1")}
    facts = midway(running("a", NEW, STABLE), running("b", OLD), step=alike)
    assert differing_by_upgrade(facts) == {THINGS}


def test_what_servers_of_one_release_write_while_they_emulate_differs_by_the_upgrade() -> None:
    emulating = server("address-b", BETA, release=NEW, emulated="1.36")
    same = {"current": catalogued(NEW, "apps/v1"), "target": catalogued(NEW, "apps/v1")}
    facts = midway(running("a", NEW, STABLE), emulating, step=same)
    assert differing_by_upgrade(facts) == {THINGS}


@pytest.mark.parametrize(
    "facts",
    [
        midway(*ROLLING, step={"rolling": False}),
        midway(running("a", NEW, STABLE), running("b", OLD, BETA), running("c", OLD, STABLE)),
        midway(running("a", NEW, STABLE), running("b", "v1.35.4", BETA)),
        midway(running("a", NEW, STABLE), server("address-b", fault="no answer")),
        midway(*ROLLING[:2], leases=[lease(host) for host in "abc"]),
        midway(running("a", NEW, STABLE), running("b", OLD, served(THINGS, ""))),
        midway(
            *ROLLING,
            step={"current": catalogued(OLD, "apps/v1"), "target": catalogued(NEW, "apps/v1")},
        ),
        midway(
            running("a", NEW, served(WIDGETS, "example.com/v2")),
            running("b", OLD, served(WIDGETS, "example.com/v1")),
            crds={WIDGETS: CrdSight(WIDGETS, uid="uid", generation=1)},
        ),
    ],
    ids=[
        "no upgrade under way",
        "two old servers differ",
        "another release",
        "a server that does not answer",
        "a frozen server",
        "no hash",
        "both releases write it alike",
        "a custom resource",
    ],
)
def test_what_differs_for_another_reason_does_not(facts: Facts) -> None:
    assert differing_by_upgrade(facts) == frozenset()


def waiting(facts: Facts) -> dict[str, set[str]]:
    """What stops the step, by whether it may wait: checks and resources."""
    verdict = decide_gate(
        find_all(facts),
        from_release=OLD,
        to_release=NEW,
        now=NOW,
        differing=differing_by_upgrade(facts),
    )
    stops = [one for one in verdict.findings if one.stops]
    return {
        "may wait": {f"{one.check} {one.resource}".strip() for one in stops if one.may_wait},
        "may not": {f"{one.check} {one.resource}".strip() for one in stops if not one.may_wait},
    }


def test_only_what_is_not_known_of_differing_resources_may_wait() -> None:
    found = waiting(midway(*ROLLING))
    assert found["may wait"] == {f"stored-unknown {THINGS}"}
    assert {"keys-unseen", "release-unknown"} <= found["may not"]


def test_a_frozen_server_may_not_wait() -> None:
    frozen = midway(*ROLLING[:2], leases=[lease(host) for host in "abc"])
    found = waiting(frozen)
    assert found["may wait"] == set()
    assert "agreement" in found["may not"]


def test_what_is_known_to_be_unsafe_may_not_wait() -> None:
    finding = Finding("stored-undecodable", "block", "seen", "remedy", "migration", THINGS)
    [judged] = decide_gate(
        [finding], from_release=OLD, to_release=NEW, now=NOW, differing={THINGS}
    ).findings
    assert judged.differs_by_upgrade
    assert not judged.may_wait
    assert replace(judged, unknown=True).may_wait
