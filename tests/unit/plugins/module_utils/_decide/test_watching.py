# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The watch over servers while objects are rewritten (R6)."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.agreement import (
    decide_agreement,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.membership import (
    decide_membership,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.observations import (
    CrdSight,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.settling import Look
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.watching import Watch
from ansible_collections.lockstep.kubernetes.tests.unit.sights import (
    NOW,
    cluster,
    lease,
    reported,
    served,
    server,
)

WIDGETS = "widgets.example.com"
V1, V2 = "example.com/v1", "example.com/v2"


def look(
    *encodings: str,
    generation: int = 1,
    release: str = "v1.36.3",
    restarted: str = "",
    unseen: bool = False,
    defined: bool = True,
    transition: str = "",
) -> Look:
    """A look at servers a and b, one of which may have been restarted, or not be seen."""
    crds = {}
    if defined:
        crds[WIDGETS] = CrdSight(WIDGETS, "uid", generation, changed=NOW - timedelta(hours=1))
    servers = [
        server(
            f"address-{host}",
            served(WIDGETS, encoding),
            release=release,
            start_time=f"start-{host}{restarted}",
        )
        for host, encoding in zip("ab", encodings, strict=False)
    ]
    leases = [lease(host, holder=f"{host}{restarted}") for host in "ab"]
    if unseen:
        servers[1] = server("address-b", fault="connection refused")
    more = {}
    if transition:
        sight = reported(WIDGETS, dict(zip("ab", encodings, strict=False)))
        condition = {"condition": "True", "common": encodings[0], "last_transition": transition}
        more["storage_versions"] = {WIDGETS: replace(sight, **condition)}
    sight = cluster(servers, leases, crds=crds, **more)
    membership = decide_membership(sight)
    return Look(sight, membership, decide_agreement(sight=sight, membership=membership))


def watch(first: Look | None = None) -> Watch:
    return Watch(first or look(V1, V1), [WIDGETS], at=100.0)


def why(kept: Watch) -> str:
    return str(kept.broken.get(WIDGETS, ""))


def test_what_stands_still_is_not_broken():
    kept = watch()
    kept.take(look(V1, V1), at=110)
    assert not kept.broken
    assert kept.doubt is None
    assert kept.seen_at == 110


def test_one_server_that_writes_another_version_breaks_it():
    kept = watch()
    kept.take(look(V1, V2), at=110)
    assert "a server was seen that writes" in why(kept)
    assert kept.breaking is not None


def test_all_servers_with_another_version_break_it():
    kept = watch()
    kept.take(look(V2, V2), at=110)
    assert why(kept)


def test_back_again_does_not_mend_it():
    kept = watch()
    kept.take(look(V1, V2), at=110)
    kept.take(look(V1, V1), at=120)
    assert why(kept)
    assert kept.breaking.agreements[WIDGETS].status == "disagreeing"


def test_a_server_seen_with_another_version_in_an_incomplete_view_breaks_it():
    kept = watch()
    kept.take(look(V2, V1, unseen=True), at=110)
    assert why(kept)


def test_a_restart_to_the_same_version_does_not_break_it():
    kept = watch()
    kept.take(look(V1, V1, restarted="-again"), at=110)
    assert not kept.broken


def test_another_release_with_the_same_hash_breaks_it():
    kept = watch()
    kept.take(look(V1, V1, release="v1.37.0"), at=110)
    assert "v1.37.0" in why(kept)


def test_a_changed_definition_breaks_it():
    kept = watch()
    kept.take(look(V1, V1, generation=2), at=110)
    assert "generation 1, now 2" in why(kept)


def test_a_server_that_is_not_seen_is_a_doubt_and_no_break():
    kept = watch()
    kept.take(look(V1, V1, unseen=True), at=110)
    assert not kept.broken
    assert kept.doubt is not None
    assert kept.seen_at == 100


def test_a_look_that_failed_is_a_doubt_that_the_next_one_clears():
    kept = watch()
    kept.miss("no answer")
    assert "no answer" in str(kept.doubt)
    kept.take(look(V1, V1), at=110)
    assert kept.doubt is None


def test_a_restart_while_nobody_could_look_for_long_breaks_it():
    kept = watch()
    kept.take(look(V1, V1, unseen=True), at=110)
    kept.take(look(V1, V1, restarted="-again"), at=131)
    assert "nobody could look for 31 s" in why(kept)


def test_the_same_processes_after_a_long_gap_do_not_break_it():
    kept = watch()
    kept.take(look(V1, V1), at=200)
    assert not kept.broken


def test_no_look_that_ends_for_too_long_breaks_it():
    kept = watch()
    kept.miss("connection refused")
    kept.lapse(30.0)
    assert not kept.broken
    kept.lapse(31.0)
    assert "the servers were not observed for 31 s: connection refused" in why(kept)


def test_a_look_after_that_does_not_mend_it():
    kept = watch()
    kept.lapse(31.0)
    kept.take(look(V1, V1), at=131.5)
    assert "were not observed" in why(kept)


def test_a_disagreement_between_two_looks_shows_in_the_storage_version():
    first = look(V1, V1, transition="2026-11-16T11:00:00Z")
    kept = watch(first)
    kept.take(look(V1, V1, transition="2026-11-16T11:00:00Z"), at=110)
    assert not kept.broken
    kept.take(look(V1, V1, transition="2026-11-16T12:00:00Z"), at=120)
    assert "disagreed and came to agree again" in why(kept)


def test_nothing_to_watch_is_never_in_doubt():
    kept = Watch(look(V1, V1), [], at=100)
    assert kept.empty
    kept.take(look(V1, V2), at=110)
    assert not kept.broken
