# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""StorageState: each row of its life as the specification tells it, and each safety rule."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from datetime import timedelta

import pytest

from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.agreement import (
    Agreement,
    decide_agreement,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.encryption import (
    encryption_doubts,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.epoch import (
    Epoch,
    decide_epoch,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.hashes import hash_of
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.membership import (
    Membership,
    decide_membership,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.migrations import (
    IN_TREE,
    OUT_OF_TREE,
    MigrationSight,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.observations import (
    UNKNOWN,
    CrdSight,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.states import (
    UNSEEN_KEPT,
    Evidence,
    StorageState,
    decide_audited,
    decide_due,
    decide_migrated,
    decide_observed,
    decide_reset,
    decide_superseded,
    describe,
    key_for,
    needs_proof,
)
from ansible_collections.lockstep.kubernetes.tests.unit.sights import (
    NOW,
    cluster,
    lease,
    reported,
    served,
    server,
    three_servers,
)

WINDOW = timedelta(minutes=10)
MINUTE = timedelta(minutes=1)
DEPLOYMENTS, WIDGETS = "deployments.apps", "widgets.example.com"
V1, BETA1, BETA2 = (
    hash_of(group_version=f"apps/{version}", kind="Deployment")
    for version in ("v1", "v1beta1", "v1beta2")
)


@dataclass(frozen=True)
class Look:
    """One look at a cluster, with what was decided from it."""

    agreement: Agreement
    membership: Membership
    epoch: Epoch


def look_at(sight, resource=DEPLOYMENTS, encryption=""):
    membership = decide_membership(sight)
    return Look(
        agreement=decide_agreement(sight=sight, membership=membership)[resource],
        membership=membership,
        epoch=decide_epoch(
            sight=sight, membership=membership, resource=resource, encryption=encryption
        ),
    )


def look(*encodings, leases=None, **more):
    return look_at(three_servers(DEPLOYMENTS, *encodings, leases=leases, **more))


def look_at_widgets(encoding="example.com/v1", *, generation=1, uid="u"):
    crd = CrdSight(WIDGETS, uid, generation, storage_version=encoding.split("/")[1])
    return look_at(
        cluster([server("a1", served(WIDGETS, encoding))], [lease("a")], crds={WIDGETS: crd}),
        WIDGETS,
    )


def widget(version):
    return hash_of(group_version=f"example.com/{version}", kind="Widget")


ALIKE = look("apps/v1", "apps/v1")
OLDER = look("apps/v1beta1", "apps/v1beta1")
RESTARTED = look("apps/v1", "apps/v1", leases=[lease("a", holder="apiserver-a_2"), lease("b")])
DIFFERING = look("apps/v1", "apps/v1beta2")
UNSEEN_SERVER = look("apps/v1", leases=[lease("a"), lease("b")])
DEAD_SERVER = look("apps/v1", leases=[lease("a"), lease("b", age=90)])
UNSEEN_AND_OLDER = look("apps/v1beta1", leases=[lease("a"), lease("b")])
UNSEEN_AND_DIFFERING = look("apps/v1", "apps/v1beta2", leases=[lease("a"), lease("b"), lease("c")])
NO_HASH = look("", "")


def observe(state, seen=ALIKE, *, now=NOW, mode="keep", crd_hashes=(), patient=False):
    return decide_observed(
        state=state,
        agreement=seen.agreement,
        membership=seen.membership,
        epoch=seen.epoch,
        now=now,
        window=WINDOW,
        on_unseen_change=mode,
        crd_hashes=crd_hashes,
        patient=patient,
    )


def known(*persisted, current=None, seen=ALIKE, age=4 * MINUTE, source="migrated", **more):
    """A state that was last observed some minutes ago, by default migrated to what is written."""
    persisted = persisted or (seen.agreement.storage_hash,)
    current = current if current is not None else seen.agreement.storage_hash
    return StorageState(
        resource=seen.agreement.resource,
        persisted=persisted,
        current=current,
        heartbeat=NOW - age,
        evidence=Evidence(
            source=source,
            time=NOW - timedelta(hours=1),
            epoch=seen.epoch,
            hashes=persisted,
            current=current,
            last_agreed=current,
            last_agreed_version=seen.agreement.encoding_version,
            **more,
        ),
        resource_version="7",
        uid="u7",
    )


def migration(state=None, *, name="m", phase="pending", api=OUT_OF_TREE, **more):
    """A migration made for a state; without one, somebody else's."""
    return MigrationSight(
        name=name,
        api=api,
        resource=state.resource if state else DEPLOYMENTS,
        phase=phase,
        key=key_for(state) if state else None,
        **more,
    )


def said(reasons):
    return " ".join(map(str, reasons))


# The specification, row by row


def test_a_missing_state_begins_at_unknown_and_deletes_nothing_that_others_made():
    transition = observe(None)
    assert (transition.kind, transition.supersede) == ("created", False)
    assert transition.changed
    state = transition.state
    assert (state.resource, state.persisted, state.current) == (DEPLOYMENTS, (UNKNOWN,), V1)
    assert state.heartbeat == NOW
    assert (state.evidence.source, state.evidence.epoch) == ("assumed", ALIKE.epoch)
    assert (state.evidence.last_agreed, state.evidence.last_agreed_version) == (V1, "apps/v1")


def test_what_others_asked_for_is_not_deleted_for_want_of_a_state():
    state = observe(None).state
    by_hand, outdated = migration(phase="pending"), migration(GROWN, phase="pending")
    assert by_hand.key is None
    found = decide_superseded(
        state=state, agreement=ALIKE.agreement, migrations=[by_hand, outdated]
    )
    assert found == (outdated,)


def test_the_same_hash_moves_the_heartbeat_and_nothing_else():
    before = known()
    transition = observe(before)
    assert (transition.kind, transition.supersede) == ("same", False)
    assert transition.heartbeat_only
    assert not transition.changed
    assert transition.state == replace(before, heartbeat=NOW)


def test_the_same_hash_leaves_unknown_as_it_is():
    created = observe(None, now=NOW - 4 * MINUTE).state
    transition = observe(created)
    assert transition.heartbeat_only
    assert transition.state.persisted == (UNKNOWN,)


def test_a_changed_hash_is_appended_and_becomes_current_in_one_write():
    transition = observe(known(BETA1, current=BETA1))
    assert (transition.kind, transition.supersede) == ("changed", True)
    state = transition.state
    assert (state.persisted, state.current, state.heartbeat) == ((BETA1, V1), V1, NOW)
    assert state.evidence.source == "observed"
    assert (state.resource_version, state.uid) == ("7", "u7")


def test_a_hash_that_comes_back_is_not_appended_twice():
    state = known(BETA1, V1, current=BETA1)
    for seen in (ALIKE, OLDER, ALIKE):
        state = observe(state, seen).state
    assert (state.persisted, state.current) == ((BETA1, V1), V1)


@pytest.mark.parametrize("current", ["", UNKNOWN])
def test_a_hash_after_none_is_a_changed_hash(current):
    transition = observe(known(BETA1, current=current))
    assert transition.kind == "changed"
    assert (transition.state.persisted, transition.state.current) == ((BETA1, V1), V1)


def test_a_finished_migration_leaves_only_the_current_hash():
    state = observe(known(BETA1, current=BETA1)).state
    transition = finish(state)
    assert transition.kind == "migrated"
    assert not transition.supersede
    assert (transition.state.persisted, transition.state.current) == ((V1,), V1)
    assert transition.state.migrated
    assert (transition.state.evidence.source, transition.state.heartbeat) == ("migrated", NOW)


def test_offline_for_less_than_the_window_the_state_stays_valid():
    transition = observe(known(age=WINDOW))
    assert (transition.kind, transition.heartbeat_only) == ("same", True)


def test_a_stale_heartbeat_leads_back_to_unknown_as_if_recreated():
    transition = observe(known(BETA1, V1, age=WINDOW + MINUTE))
    assert (transition.kind, transition.supersede) == ("stale", True)
    state = transition.state
    assert (state.persisted, state.current, state.heartbeat) == ((UNKNOWN,), V1, NOW)
    assert state.evidence.source == "assumed"
    assert "nobody looked at deployments.apps for 11 min" in said(transition.notes)
    assert observe(state, now=NOW + MINUTE).heartbeat_only


def test_a_state_without_heartbeat_is_stale():
    state = replace(known(), heartbeat=None)
    transition = observe(state)
    assert transition.kind == "stale"
    assert "nobody has ever looked" in said(transition.notes)


def test_a_heartbeat_from_the_future_hides_no_gap():
    transition = observe(known(age=-WINDOW - MINUTE))
    assert (transition.kind, transition.state.persisted) == ("stale", (UNKNOWN,))
    assert "11 min in the future, by a wrong clock" in said(transition.notes)


def test_a_downgrade_in_the_middle_of_a_migration_keeps_both_hashes_and_is_due_anew():
    upgraded = observe(known(BETA1, current=BETA1, seen=OLDER)).state
    begun = migration(upgraded, phase="running")
    transition = observe(upgraded, OLDER, now=NOW + MINUTE)
    assert (transition.kind, transition.supersede) == ("changed", True)
    assert (transition.state.persisted, transition.state.current) == ((BETA1, V1), BETA1)
    assert superseded(transition.state, [begun], OLDER) == ["m"]
    assert due(transition.state, [begun], OLDER)


def test_the_whole_life_of_a_state():
    created = observe(None, OLDER).state
    assert due(created, [], OLDER)
    first = finish(created, seen=OLDER).state
    assert first.persisted == (BETA1,)
    upgraded = observe(first, ALIKE, now=NOW + 4 * MINUTE).state
    assert upgraded.persisted == (BETA1, V1)
    second = finish(upgraded, now=NOW + 5 * MINUTE).state
    assert second.persisted == (V1,)
    assert not due(second, [])


# Servers that disagree, or were not seen


def test_disagreement_adds_every_hash_in_one_write_and_makes_current_unknown():
    transition = observe(known(BETA1, current=BETA1), DIFFERING)
    assert (transition.kind, transition.supersede) == ("disagreement", True)
    state = transition.state
    assert (state.persisted, state.current, state.heartbeat) == ((BETA1, V1, BETA2), UNKNOWN, NOW)
    assert state.evidence.last_agreed == BETA1
    assert "address-b (v1.36.3) writes apps/v1beta2" in said(transition.notes)


def test_disagreement_seen_again_moves_the_heartbeat_only():
    state = observe(known(), DIFFERING).state
    transition = observe(state, DIFFERING, now=NOW + MINUTE)
    assert transition.heartbeat_only
    assert not transition.supersede
    assert transition.state == replace(state, heartbeat=NOW + MINUTE)


def test_disagreement_with_an_unseen_server_adds_unknown():
    state = observe(known(), UNSEEN_AND_DIFFERING).state
    assert state.persisted == (V1, BETA2, UNKNOWN)
    assert state.evidence.source == "assumed"


def test_disagreement_with_a_server_that_shows_nothing_adds_unknown():
    servers = [
        server("a1", served(DEPLOYMENTS, "apps/v1")),
        server("b1", served(DEPLOYMENTS, "apps/v1beta2")),
        server("c1", unreadable={"apps/v1": "the service is unavailable"}),
    ]
    seen = look_at(cluster(servers, [lease(host) for host in "abc"]))
    assert seen.agreement.status == "disagreeing"
    assert observe(known(), seen).state.persisted == (V1, BETA2, UNKNOWN)


def test_disagreement_that_only_the_storage_version_api_shows_adds_unknown():
    seen = look(
        "apps/v1",
        "apps/v1",
        storage_versions={
            DEPLOYMENTS: reported(DEPLOYMENTS, {"a": "apps/v1", "b": "apps/v1beta2"})
        },
    )
    assert seen.agreement.status == "disagreeing"
    assert observe(known(), seen).state.persisted == (V1, UNKNOWN)


def test_disagreement_on_a_resource_without_state_begins_at_unknown():
    transition = observe(None, DIFFERING)
    assert transition.kind == "disagreement"
    assert (transition.state.persisted, transition.state.current) == (
        (UNKNOWN, V1, BETA2),
        UNKNOWN,
    )


def test_disagreement_on_a_stale_state_begins_at_unknown():
    transition = observe(known(BETA1, age=2 * WINDOW), DIFFERING)
    assert transition.kind == "stale"
    assert transition.state.persisted == (UNKNOWN, V1, BETA2)
    assert transition.state.current == UNKNOWN


def test_agreement_after_disagreement_resumes_the_work():
    state = observe(known(BETA2, current=BETA2), DIFFERING).state
    transition = observe(state, now=NOW + MINUTE)
    assert transition.kind == "changed"
    assert (transition.state.persisted, transition.state.current) == ((BETA2, V1), V1)
    assert due(transition.state, [])


def test_r4_a_missed_server_whose_process_had_been_seen_keeps_the_record_marked():
    transition = observe(known(), DEAD_SERVER)
    assert (transition.kind, transition.supersede, transition.changed) == ("kept", False, True)
    state = transition.state
    assert (state.persisted, state.current, state.heartbeat) == ((V1,), V1, NOW)
    assert state.evidence == replace(known().evidence, missed=("b (apiserver-b)",))
    assert "b (apiserver-b) is missed" in said(transition.notes)
    assert "name it in gone_servers" in said(transition.notes)
    assert "b (apiserver-b) is missed" in " ".join(describe(state, now=NOW, window=WINDOW))


def test_r4_a_record_that_is_kept_stays_for_as_many_windows_as_it_takes():
    state = known()
    for number in range(5):
        now = NOW + number * 4 * MINUTE
        transition = observe(state, DEAD_SERVER, now=now)
        state = transition.state
        assert (transition.kind, transition.heartbeat_only) == ("kept", number > 0)
    assert not due(state, [], DEAD_SERVER)
    assert superseded(state, [migration(state), migration()], DEAD_SERVER) == []


def test_r4_a_server_that_ended_in_order_took_its_lease_along_and_keeps_the_record():
    stopped = look_at(
        cluster(
            [
                server("address-a", served(DEPLOYMENTS, "apps/v1")),
                server("address-b", fault="connection refused"),
            ],
            [lease("a")],
        )
    )
    transition = observe(known(), stopped)
    assert transition.kind == "kept"
    assert (transition.state.persisted, transition.state.heartbeat) == ((V1,), NOW)
    assert transition.state.evidence.missed == ("address-b",)


@pytest.mark.parametrize("seen", [UNSEEN_AND_OLDER, UNSEEN_AND_DIFFERING])
def test_who_looks_again_soon_adds_what_an_incomplete_look_showed_and_confirms_nothing(seen):
    before = known(source="observed")
    before = replace(before, evidence=replace(before.evidence, epoch=None))
    transition = observe(before, seen, patient=True)
    assert transition.kind == "missed"
    assert UNKNOWN not in transition.state.persisted
    assert len(transition.state.persisted) == 2
    assert transition.state.heartbeat == before.heartbeat


def test_who_looks_again_soon_leaves_a_record_alone_that_an_incomplete_look_adds_nothing_to():
    before = replace(known(), evidence=Evidence())
    transition = observe(before, UNSEEN_SERVER, patient=True)
    assert (transition.kind, transition.state) == ("missed", None)


def test_r4_what_was_unknown_before_is_kept_as_it_is():
    state = observe(None).state
    transition = observe(state, DEAD_SERVER, now=NOW + MINUTE)
    assert (transition.kind, transition.supersede) == ("kept", False)
    assert (transition.state.persisted, transition.state.current) == ((UNKNOWN,), V1)


def test_r4_a_server_that_is_back_takes_the_mark_away():
    state = observe(known(), DEAD_SERVER).state
    transition = observe(state, now=NOW + MINUTE)
    assert (transition.kind, transition.changed) == ("same", True)
    assert transition.state.evidence == known().evidence


@pytest.mark.parametrize(
    ("state", "seen"),
    [
        # Its process was started after the last look, or never seen.
        (known(), look("apps/v1", leases=[lease("a"), lease("b", age=90, holder="other")])),
        (known(), look("apps/v1", leases=[lease("a"), lease("c", age=90)])),
        # One that was read is another process.
        (
            known(),
            look_at(
                cluster(
                    [server("a1", served(DEPLOYMENTS, "apps/v1"), start_time="later")],
                    [lease("a"), lease("b", age=90)],
                )
            ),
        ),
        # Nobody answers at more addresses than there are servers missed.
        (
            known(),
            look_at(
                cluster(
                    [
                        server("address-a", served(DEPLOYMENTS, "apps/v1")),
                        *(server(f"address-{one}", fault="no answer") for one in "bc"),
                    ],
                    [lease("a"), lease("b", age=90)],
                )
            ),
        ),
        # More are expected than were ever seen.
        (known(), look("apps/v1", leases=[lease("a"), lease("b", age=90)], expected_servers=3)),
        # Nothing tells which servers the record goes back to.
        (replace(known(), evidence=Evidence()), look("apps/v1", leases=[lease("a"), lease("b")])),
    ],
    ids=["restarted", "new", "another read", "one too many", "expected", "no evidence"],
)
def test_r4_a_missed_server_that_is_not_accounted_for_is_a_missed_pass(state, seen):
    transition = observe(state, seen)
    assert (transition.kind, transition.state, transition.supersede) == ("missed", None, False)
    late = replace(state, heartbeat=NOW - WINDOW - MINUTE)
    assert UNKNOWN in observe(late, seen).state.persisted


@pytest.mark.parametrize(("generation", "kind"), [(1, "kept"), (2, "missed")])
def test_r4_a_definition_that_changed_is_followed_by_a_missed_server_too(generation, kind):
    crds = {WIDGETS: CrdSight(WIDGETS, "u", generation, storage_version="v1")}
    both = [server(f"{one}1", served(WIDGETS, "example.com/v1")) for one in "ab"]
    before = look_at(
        cluster(
            both, [lease("a"), lease("b")], crds={WIDGETS: replace(crds[WIDGETS], generation=1)}
        ),
        WIDGETS,
    )
    now = look_at(cluster(both[:1], [lease("a"), lease("b", age=90)], crds=crds), WIDGETS)
    assert observe(known(seen=before), now).kind == kind


def test_r4_known_processes_that_disagree_add_no_unknown_when_one_is_missed():
    leases = [lease(one) for one in "abc"]
    before = look("apps/v1", "apps/v1beta2", "apps/v1beta2", leases=leases)
    state = observe(known(), before).state
    dead = look("apps/v1", "apps/v1beta2", leases=[*leases[:2], lease("c", age=90)])
    transition = observe(state, dead, now=NOW + MINUTE)
    assert transition.kind == "disagreement"
    assert set(transition.state.persisted) == {V1, BETA2}
    assert transition.state.evidence.epoch == before.epoch


def test_missed_passes_let_the_state_go_stale():
    state = known(age=WINDOW + MINUTE)
    transition = observe(state, UNSEEN_SERVER)
    assert transition.kind == "stale"
    assert (transition.state.persisted, transition.state.current) == ((UNKNOWN, V1), UNKNOWN)
    assert observe(transition.state, UNSEEN_SERVER, now=NOW + MINUTE).heartbeat_only


def test_an_unseen_server_while_something_new_is_shown_adds_unknown():
    transition = observe(known(), UNSEEN_AND_OLDER)
    assert (transition.kind, transition.supersede) == ("disagreement", True)
    assert transition.state.persisted == (V1, BETA1, UNKNOWN)
    assert transition.state.current == UNKNOWN


def test_nothing_is_created_from_a_look_that_showed_nothing():
    crds = {WIDGETS: CrdSight(WIDGETS, "u", 1, storage_version="v1")}
    seen = look_at(cluster([server("a1", fault="no answer")], [lease("a")], crds=crds), WIDGETS)
    assert seen.agreement.status == "incomplete"
    transition = observe(None, seen)
    assert (transition.kind, transition.state) == ("missed", None)


def test_what_no_hash_proves_is_unknown():
    transition = observe(known(), NO_HASH)
    assert (transition.kind, transition.supersede) == ("unknown", True)
    assert (transition.state.persisted, transition.state.current) == ((V1, UNKNOWN), UNKNOWN)
    again = observe(transition.state, NO_HASH, now=NOW + MINUTE)
    assert again.heartbeat_only
    assert not again.supersede


def test_what_no_hash_proves_begins_at_unknown():
    transition = observe(None, NO_HASH)
    assert (transition.kind, transition.supersede) == ("unknown", False)
    assert (transition.state.persisted, transition.state.current) == ((UNKNOWN,), UNKNOWN)


# R3: what changed between two looks


def test_r3_an_unseen_change_is_recorded_and_kept():
    transition = observe(known(), RESTARTED)
    assert (transition.kind, transition.heartbeat_only) == ("same", False)
    assert not transition.supersede
    state = transition.state
    assert (state.persisted, state.current) == ((V1,), V1)
    assert state.evidence.unseen == ("server apiserver-a restarted",)
    assert state.evidence.epoch == RESTARTED.epoch
    assert state.evidence.time == known().evidence.time
    (note,) = transition.notes
    assert "server apiserver-a restarted" in note.text
    assert "storage_audit" in note.remedy
    assert observe(state, RESTARTED, now=NOW + MINUTE).heartbeat_only


def test_r12_a_record_of_another_cluster_is_unknown():
    state = known()
    there = replace(state.evidence.epoch, cluster="there")
    copied = replace(state, evidence=replace(state.evidence, epoch=there))
    transition = observe(copied)
    assert transition.state.persisted == (UNKNOWN,)
    assert "made in another cluster" in transition.notes[0].text


def test_r3_unseen_changes_are_bounded_and_never_twice():
    state = known(unseen=tuple(f"change {n}" for n in range(UNSEEN_KEPT)))
    state = observe(state, RESTARTED).state
    assert len(state.evidence.unseen) == UNSEEN_KEPT
    assert state.evidence.unseen[-1] == "server apiserver-a restarted"
    again = observe(observe(state, now=NOW + MINUTE).state, RESTARTED, now=NOW + 2 * MINUTE).state
    assert again.evidence.unseen == state.evidence.unseen


def test_r3_an_unseen_change_leads_to_unknown_where_that_is_asked_for():
    transition = observe(known(BETA1, V1), RESTARTED, mode="unknown")
    assert (transition.kind, transition.supersede) == ("unseen", True)
    assert (transition.state.persisted, transition.state.current) == ((UNKNOWN,), V1)
    assert transition.state.evidence.source == "assumed"
    assert "was not seen" in said(transition.notes)
    assert observe(transition.state, RESTARTED, now=NOW + MINUTE, mode="unknown").heartbeat_only


@pytest.mark.parametrize(
    ("seen", "persisted"), [(OLDER, (V1, BETA1, UNKNOWN)), (DIFFERING, (V1, BETA2, UNKNOWN))]
)
def test_r3_a_changed_hash_with_another_epoch_may_have_been_a_third_one_in_between(seen, persisted):
    restarted = replace(seen, epoch=RESTARTED.epoch)
    assert observe(known(), restarted, mode="unknown").state.persisted == persisted
    assert UNKNOWN not in observe(known(), restarted, mode="keep").state.persisted
    assert UNKNOWN not in observe(known(), seen, mode="unknown").state.persisted


def test_r3_nothing_is_unseen_where_all_is_unknown_anyway():
    for mode in ("keep", "unknown"):
        transition = observe(known(UNKNOWN, BETA1, source="assumed"), RESTARTED, mode=mode)
        assert (transition.kind, transition.supersede) == ("same", False)
        assert transition.state.persisted == (UNKNOWN, BETA1)
        assert transition.state.evidence.unseen == ()
        assert transition.state.evidence.epoch == RESTARTED.epoch


def test_r3_a_changed_definition_adds_its_stored_versions():
    before = known(seen=look_at_widgets())
    stored = [widget("v1"), widget("v1beta1")]
    transition = observe(before, look_at_widgets(generation=3), crd_hashes=stored)
    assert (transition.kind, transition.supersede) == ("same", True)
    assert transition.state.persisted == (widget("v1"), widget("v1beta1"))
    assert "generation 1, now 3" in said(transition.notes)
    assert transition.state.evidence.source == "crd"


def test_r3_a_definition_that_changed_twice_shows_the_version_in_between():
    before = known(seen=look_at_widgets())
    stored = [widget("v1"), widget("v1beta1"), widget("v2")]
    transition = observe(before, look_at_widgets("example.com/v2", generation=3), crd_hashes=stored)
    assert transition.kind == "changed"
    assert transition.state.persisted == (widget("v1"), widget("v2"), widget("v1beta1"))


def test_r3_a_definition_that_did_not_change_adds_nothing():
    before = known(seen=look_at_widgets())
    transition = observe(before, look_at_widgets(), crd_hashes=[widget("v1beta1")])
    assert transition.heartbeat_only


def test_r3_without_a_known_epoch_something_may_have_changed():
    before = replace(known(), evidence=Evidence())
    kept = observe(before)
    assert (kept.kind, kept.heartbeat_only) == ("same", False)
    assert kept.state.evidence.unseen
    assert kept.state.evidence.source == "assumed"
    assert observe(before, mode="unknown").state.persisted == (UNKNOWN,)


# Looks that are overtaken


def test_a_look_older_than_the_recorded_one_only_adds_hashes():
    state = known(age=-MINUTE)
    assert observe(state).state is None
    transition = observe(state, OLDER)
    assert (transition.kind, transition.supersede) == ("late", False)
    assert (transition.state.persisted, transition.state.current) == ((V1, BETA1), V1)
    assert transition.state.heartbeat == state.heartbeat
    assert transition.state.evidence.epoch == state.evidence.epoch
    assert transition.state.evidence.time > state.evidence.time


def test_a_look_older_than_the_recorded_one_proves_no_migration():
    state = observe(known(BETA1, current=BETA1), now=NOW + MINUTE).state
    transition = finish(state, now=NOW)
    assert transition.kind == "refused"
    assert "looked at deployments.apps since" in said(transition.notes)


# R4: persisted only grows, but for two causes


def finish(state, *, seen=ALIKE, made_for=None, phase="succeeded", now=NOW, **more):
    made_for = made_for if made_for is not None else state
    how = {key: more.pop(key) for key in ("watched", "reencrypted") if key in more}
    return decide_migrated(
        state=state,
        migration=replace(migration(made_for, phase=phase), **more),
        agreement=seen.agreement,
        epoch_now=seen.epoch,
        now=now,
        window=WINDOW,
        **how,
    )


GROWN = known(BETA1, V1, source="observed")


@pytest.mark.parametrize("phase", ["pending", "running", "failed"])
def test_r4_a_migration_that_has_not_succeeded_proves_nothing(phase):
    transition = finish(GROWN, phase=phase, message="no server")
    assert (transition.kind, transition.state) == ("refused", None)
    assert f"it is {phase}: no server" in said(transition.notes)


def test_r4_a_foreign_migration_proves_nothing_and_a_remedy_is_given():
    transition = finish(GROWN, key=None)
    assert transition.kind == "refused"
    (note,) = transition.notes
    assert "was not made by Lockstep" in note.text
    assert "storage_audit" in note.remedy


def test_r4_a_migration_for_another_hash_proves_nothing():
    transition = finish(GROWN, made_for=known(current=BETA1))
    assert transition.kind == "refused"
    assert f"was made for the hash {BETA1}" in said(transition.notes)


@pytest.mark.parametrize("seen", [DIFFERING, UNSEEN_SERVER, NO_HASH])
def test_r4_without_agreement_no_migration_proves_anything(seen):
    transition = finish(GROWN, seen=replace(seen, epoch=ALIKE.epoch))
    assert transition.kind == "refused"
    assert "not known to agree" in said(transition.notes)


def test_r4_a_hash_that_moved_since_proves_nothing():
    transition = finish(GROWN, seen=replace(OLDER, epoch=ALIKE.epoch))
    assert transition.kind == "refused"
    assert f"the servers write {BETA1} now" in said(transition.notes)


def test_r4_a_migration_from_before_the_hashes_grew_proves_nothing():
    grown = observe(observe(GROWN, DIFFERING).state, now=NOW + MINUTE).state
    assert grown.current == GROWN.current
    transition = finish(grown, made_for=GROWN, now=NOW + 2 * MINUTE)
    assert transition.kind == "refused"
    assert "has changed since m (migration.k8s.io) was made" in said(transition.notes)


def test_r4_a_migration_from_before_a_reset_proves_nothing():
    created = known(UNKNOWN)
    reset = decide_reset(state=created, now=NOW, migrations=[migration(created)]).state
    assert (reset.persisted, reset.current) == (created.persisted, created.current)
    assert finish(reset, made_for=created).kind == "refused"


def test_r3_a_migration_over_a_restart_proves_nothing_unless_it_was_watched():
    seen = observe(GROWN, RESTARTED).state
    unwatched = finish(seen, seen=RESTARTED, made_for=GROWN)
    assert unwatched.kind == "refused"
    assert "server apiserver-a restarted" in said(unwatched.notes)
    assert finish(seen, seen=RESTARTED, made_for=GROWN, watched=True).state.persisted == (V1,)


@pytest.mark.parametrize(
    "epoch",
    [
        look("apps/v1", "apps/v1", leases=[lease("a"), lease("x")]).epoch,
        replace(ALIKE.epoch, crd_uid="other"),
        replace(ALIKE.epoch, crd_generation=9),
        replace(ALIKE.epoch, encryption="key-2"),
        replace(
            ALIKE.epoch,
            releases=tuple(replace(one, git_version="v1.37.0") for one in ALIKE.epoch.releases),
        ),
        replace(
            ALIKE.epoch,
            releases=tuple(replace(one, start_time="later") for one in ALIKE.epoch.releases),
        ),
    ],
)
def test_r3_a_migration_over_another_epoch_proves_nothing(epoch):
    assert finish(GROWN, seen=replace(ALIKE, epoch=epoch)).kind == "refused"


def test_r3_even_watched_another_release_voids_a_migration():
    newer = tuple(replace(one, git_version="v1.37.0") for one in ALIKE.epoch.releases)
    seen = replace(ALIKE, epoch=replace(ALIKE.epoch, releases=newer))
    transition = finish(GROWN, seen=seen, watched=True)
    assert transition.kind == "refused"
    assert "now run v1.37.0" in said(transition.notes)


def test_r3_a_gap_voids_a_migration_unless_it_was_watched():
    neglected = replace(GROWN, heartbeat=NOW - 2 * WINDOW)
    assert finish(neglected).kind == "refused"
    assert finish(neglected, watched=True).state.migrated


def test_r4_a_migration_proves_nothing_without_evidence_of_when_it_began():
    assert finish(replace(GROWN, evidence=Evidence()), made_for=GROWN).kind == "refused"


def test_r4_a_migration_of_another_resource_or_without_state_proves_nothing():
    assert finish(GROWN, resource=WIDGETS).kind == "refused"
    transition = decide_migrated(
        state=None,
        migration=migration(GROWN, phase="succeeded"),
        agreement=ALIKE.agreement,
        epoch_now=ALIKE.epoch,
        now=NOW,
        window=WINDOW,
    )
    assert transition.kind == "refused"


def test_a_migration_recorded_twice_changes_nothing():
    migrated = finish(GROWN).state
    transition = finish(migrated, made_for=GROWN)
    assert (transition.kind, transition.state) == ("same", None)


def test_r3_a_new_migration_clears_what_went_unseen_and_an_old_one_does_not():
    doubted = observe(known(), RESTARTED).state
    assert doubted.evidence.unseen
    assert finish(doubted, seen=RESTARTED, made_for=known()).kind == "refused"
    cleared = finish(doubted, seen=RESTARTED).state
    assert cleared.evidence.unseen == ()
    assert cleared.evidence.source == "migrated"


def audit(state, hashes, *, before=ALIKE, after=ALIKE, now=NOW, revision=42):
    return decide_audited(
        state=state,
        hashes=hashes,
        agreement_before=before.agreement,
        agreement=after.agreement,
        epoch_before=before.epoch,
        epoch_now=after.epoch,
        revision=revision,
        now=now,
    )


def test_r4_an_audit_turns_unknown_into_what_is_there_and_what_is_written_now():
    transition = audit(known(UNKNOWN, BETA1, source="assumed", unseen=("x",)), [BETA2, BETA1])
    assert (transition.kind, transition.supersede) == ("audited", False)
    state = transition.state
    assert (state.persisted, state.current, state.heartbeat) == ((BETA1, BETA2, V1), V1, NOW)
    assert (state.evidence.source, state.evidence.revision) == ("etcd", 42)
    assert state.evidence.unseen == ()


def test_r4_an_audit_of_nothing_leaves_what_is_written_now():
    assert audit(known(UNKNOWN), []).state.persisted == (V1,)


def test_r4_an_audit_can_begin_a_state():
    transition = audit(None, [V1])
    assert (transition.kind, transition.supersede) == ("audited", False)
    assert transition.state.migrated


def test_an_audit_taken_over_twice_changes_only_the_heartbeat():
    state = audit(known(UNKNOWN), [V1, BETA1]).state
    assert audit(state, [BETA1, V1], now=NOW + MINUTE).heartbeat_only
    assert key_for(audit(state, [BETA1, V1], revision=43, now=NOW + MINUTE).state) == key_for(state)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (DIFFERING, ALIKE),
        (ALIKE, DIFFERING),
        (replace(UNSEEN_SERVER, epoch=ALIKE.epoch), ALIKE),
        (ALIKE, replace(UNSEEN_SERVER, epoch=ALIKE.epoch)),
        (ALIKE, RESTARTED),
        (replace(OLDER, epoch=ALIKE.epoch), ALIKE),
    ],
)
def test_r4_an_audit_without_agreement_and_the_same_epoch_removes_nothing(before, after):
    for state in (known(UNKNOWN, BETA1, source="assumed"), known(BETA1, V1)):
        transition = audit(state, [V1], before=before, after=after)
        assert transition.kind == "refused"
        assert transition.notes
        assert set(state.persisted) <= set((transition.state or state).persisted)
    assert audit(None, [V1], before=before, after=after).state is None


def test_r4_an_audit_older_than_the_recorded_look_removes_nothing():
    transition = audit(known(UNKNOWN, age=-MINUTE), [V1])
    assert transition.kind == "refused"
    assert UNKNOWN in transition.state.persisted


def test_r4_a_look_of_the_same_second_with_another_epoch_counts_as_later():
    state = observe(known(BETA1, current=BETA1), RESTARTED).state
    assert audit(state, [V1]).kind == "refused"
    assert audit(state, [V1], before=RESTARTED, after=RESTARTED).kind == "audited"


def test_r8_a_key_that_nobody_could_decode_is_unknown():
    transition = audit(known(), [V1, UNKNOWN])
    assert transition.kind == "refused"
    assert transition.state.persisted == (V1, UNKNOWN)
    assert "could not be decoded" in said(transition.notes)


def test_r8_versions_hidden_by_encryption_leave_unknown_in_but_spoil_no_better_evidence():
    assert audit(known(UNKNOWN, source="assumed"), None).state is None
    assert audit(known(), None).state is None
    foreign = replace(known(), evidence=Evidence())
    assert audit(foreign, None).state.persisted == (V1, UNKNOWN)


def test_r4_a_hash_in_etcd_that_nothing_explains_adds_unknown_where_the_audit_proves_nothing():
    learned = audit(known(), [BETA1], after=RESTARTED).state
    assert learned.persisted == (V1, BETA1, UNKNOWN)
    shown = audit(known(), [V1, BETA2], after=DIFFERING).state
    assert shown.persisted == (V1, BETA2)


def test_r8_stored_versions_never_remove_unknown():
    before = known(UNKNOWN, source="assumed", seen=look_at_widgets())
    seen = look_at_widgets("example.com/v2", generation=2)
    state = observe(before, seen, crd_hashes=[widget("v1"), widget("v2")]).state
    assert UNKNOWN in state.persisted
    assert state.evidence.source == "assumed"


def test_reset_leads_back_to_unknown_and_supersedes():
    transition = decide_reset(state=GROWN, now=NOW)
    assert (transition.kind, transition.supersede) == ("reset", True)
    state = transition.state
    assert (state.persisted, state.current) == ((UNKNOWN,), V1)
    assert state.heartbeat == GROWN.heartbeat
    assert decide_reset(state=state, now=NOW + MINUTE).state is None
    assert due(state, [])


# Encryption keys, which no hash shows

REKEYED = look_at(three_servers(DEPLOYMENTS, "apps/v1", "apps/v1"), encryption="key-2")
REKEYED_DIFFERING = look_at(
    three_servers(DEPLOYMENTS, "apps/v1", "apps/v1beta2"), encryption="key-2"
)


def restart(state, times):
    """Have servers change again and again between two looks."""
    for number in range(times):
        leases = [lease("a", holder=f"a_{number}"), lease(f"b{number}")]
        sight = three_servers(DEPLOYMENTS, "apps/v1", "apps/v1", leases=leases)
        state = observe(state, look_at(sight, encryption="key-2")).state
    return state


@pytest.mark.parametrize(
    "before",
    [None, known(), known(UNKNOWN, source="assumed"), GROWN, known(age=timedelta(hours=1))],
    ids=["no state", "migrated", "Unknown", "two versions", "stale"],
)
@pytest.mark.parametrize(
    "then",
    [
        lambda state: state,
        lambda state: observe(state, REKEYED_DIFFERING).state,
        lambda state: observe(state, REKEYED, now=NOW + timedelta(hours=1)).state,
        lambda state: audit(state, [V1], before=REKEYED, after=REKEYED).state,
        lambda state: finish(state, seen=REKEYED, watched=True).state or state,
        lambda state: decide_reset(state=state, now=NOW).state or state,
        lambda state: restart(state, UNSEEN_KEPT + 1),
        lambda state: StorageState.from_status(
            resource=DEPLOYMENTS, status=restart(state, UNSEEN_KEPT).to_status()
        ),
    ],
    ids=[
        "nothing",
        "a disagreement",
        "a long silence",
        "an audit",
        "another migration",
        "a reset",
        "many changes",
        "many changes, as they are stored",
    ],
)
def test_r3_a_new_encryption_generation_stays_unproved_whatever_comes(before, then):
    state = then(observe(before, REKEYED).state)
    assert encryption_doubts(state.evidence.unseen)
    assert len(state.evidence.unseen) <= UNSEEN_KEPT
    assert needs_proof(state, encryption="key-2")


def test_r3_a_reencryption_proves_the_encryption_generation():
    state = observe(known(), REKEYED).state
    proved = finish(state, seen=REKEYED, watched=True, reencrypted=True).state
    assert proved.evidence.unseen == ()
    assert not needs_proof(proved, encryption="key-2")
    assert observe(proved, REKEYED).heartbeat_only


def test_r3_a_migration_that_proves_no_keys_has_nothing_to_add_to_proved_versions():
    state = audit(observe(known(), REKEYED).state, [V1], before=REKEYED, after=REKEYED).state
    assert finish(state, seen=REKEYED, watched=True).kind == "same"


def test_a_reset_forgets_by_which_keys_all_was_encrypted():
    proved = known(UNKNOWN, source="assumed", seen=REKEYED)
    reset = decide_reset(state=proved, now=NOW).state
    assert encryption_doubts(reset.evidence.unseen)
    assert decide_reset(state=reset, now=NOW).kind == "same"


def test_what_was_read_from_etcd_is_not_doubted_for_its_keys():
    state = audit(observe(known(), REKEYED).state, [V1], before=REKEYED, after=REKEYED).state
    assert state.evidence.unseen
    assert state.evidence.doubts == ()
    assert observe(known(), REKEYED).state.evidence.doubts


def test_without_a_name_for_the_keys_nothing_is_held_against_them():
    assert observe(None).state.evidence.unseen == ()
    assert observe(known()).state.evidence.unseen == ()


# R5: due is level-based


def due(state, migrations, seen=ALIKE):
    return decide_due(state=state, agreement=seen.agreement, migrations=migrations)[0]


def superseded(state, migrations, seen=ALIKE):
    found = decide_superseded(state=state, agreement=seen.agreement, migrations=migrations)
    return [one.name for one in found]


def test_r5_what_is_stored_otherwise_than_written_is_due():
    is_due, reason = decide_due(state=GROWN, agreement=ALIKE.agreement, migrations=[])
    assert is_due
    assert f"may be stored as {BETA1} and {V1}, and the servers write {V1}" in reason.text
    assert due(known(UNKNOWN), [])
    assert due(known(BETA1), [])


def test_r5_nothing_is_due_where_all_is_stored_as_written():
    assert not due(known(), [])


@pytest.mark.parametrize("seen", [DIFFERING, UNSEEN_SERVER, NO_HASH])
def test_r5_nothing_is_due_without_agreement(seen):
    assert not due(GROWN, [], seen)


def test_r5_nothing_is_due_before_it_is_recorded():
    assert not due(GROWN, [], OLDER)
    assert not due(replace(GROWN, evidence=Evidence()), [])


@pytest.mark.parametrize("phase", ["pending", "running"])
@pytest.mark.parametrize("api", [OUT_OF_TREE, IN_TREE])
def test_r5_an_unfinished_migration_is_waited_for_whoever_made_it(phase, api):
    for one in (migration(GROWN, phase=phase, api=api), migration(phase=phase, api=api)):
        is_due, reason = decide_due(state=GROWN, agreement=ALIKE.agreement, migrations=[one])
        assert not is_due
        assert f"m ({api}) has not finished yet" in reason.text


def test_r5_a_migration_for_another_hash_turn_or_resource_is_not_waited_for():
    others = [
        migration(known(current=BETA1)),
        migration(replace(GROWN, evidence=replace(GROWN.evidence, time=NOW))),
        replace(migration(), resource=WIDGETS),
    ]
    assert due(GROWN, others)


def test_r5_a_finished_migration_that_proved_nothing_is_due_again_with_the_last_failure():
    failed = migration(GROWN, phase="failed", message="webhook denied it")
    is_due, reason = decide_due(
        state=GROWN,
        agreement=ALIKE.agreement,
        migrations=[failed, migration(phase="succeeded"), migration(GROWN, phase="succeeded")],
    )
    assert is_due
    assert "1 migration failed before: webhook denied it" in reason.text


def test_r5_unfinished_migrations_for_another_hash_or_turn_must_go():
    earlier = replace(GROWN, evidence=replace(GROWN.evidence, time=NOW))
    migrations = [
        migration(known(current=BETA1), name="other hash"),
        migration(earlier, name="other turn", api=IN_TREE),
        migration(GROWN, name="right"),
        migration(GROWN, name="finished", phase="succeeded"),
        migration(known(current=BETA1), name="finished before", phase="failed"),
        migration(name="foreign"),
        replace(migration(known(current=BETA1), name="other resource"), resource=WIDGETS),
    ]
    assert superseded(GROWN, migrations) == ["other hash", "other turn"]


MIXED = [
    migration(GROWN, name="ours"),
    migration(name="foreign", api=IN_TREE, phase="running"),
    migration(GROWN, name="finished", phase="succeeded"),
]


@pytest.mark.parametrize("seen", [DIFFERING, UNSEEN_AND_OLDER])
def test_r5_while_servers_disagree_every_unfinished_migration_must_go(seen):
    assert superseded(GROWN, MIXED, seen) == ["ours", "foreign"]


def test_r5_a_missed_pass_stops_no_migration():
    assert superseded(GROWN, MIXED, UNSEEN_SERVER) == []


def test_r5_what_can_never_be_known_may_be_migrated_by_hand():
    assert superseded(GROWN, MIXED, NO_HASH) == ["ours"]


def test_r5_two_observers_make_the_same_migration():
    first = observe(known(BETA1, current=BETA1)).state
    second = observe(first, RESTARTED, now=NOW + MINUTE).state
    assert key_for(first) != key_for(second)
    assert key_for(first).digest == key_for(second).digest


def test_a_turn_never_has_the_time_of_another_one():
    first = observe(known(BETA1, current=BETA1)).state
    second = observe(observe(first, DIFFERING).state).state
    assert first.current == second.current
    assert key_for(first).digest != key_for(second).digest


# Status and evidence


def read(status, **more):
    return StorageState.from_status(resource=DEPLOYMENTS, status=status, **more)


def test_a_state_round_trips_through_its_status():
    state = observe(GROWN, RESTARTED).state
    status = json.loads(json.dumps(state.to_status()))
    assert status["persistedStorageVersionHashes"] == [BETA1, V1]
    assert status["currentStorageVersionHash"] == V1
    assert status["lastHeartbeatTime"] == "2026-11-16T12:00:00Z"
    assert read(status, resource_version="7", uid="u7") == state


@pytest.mark.parametrize("status", [None, {}, [], {"persistedStorageVersionHashes": []}])
def test_an_empty_status_reads_as_unknown(status):
    state = read(status)
    assert (state.persisted, state.current, state.heartbeat) == ((UNKNOWN,), "", None)
    assert state.stale(NOW, WINDOW)
    assert not state.migrated


def test_hashes_that_were_appended_twice_are_read_once():
    status = {"persistedStorageVersionHashes": [V1, BETA1, V1, "", None]}
    assert read(status).persisted == (V1, BETA1)


def test_a_heartbeat_is_written_in_whole_seconds_and_never_younger():
    state = replace(GROWN, heartbeat=NOW + timedelta(microseconds=999_999))
    assert state.to_status()["lastHeartbeatTime"] == "2026-11-16T12:00:00Z"


def test_evidence_can_be_kept_beside_a_status_that_has_no_room_for_it():
    status = GROWN.to_status(with_evidence=False)
    assert "evidence" not in status
    assert read(status).evidence == Evidence()
    assert read(status, evidence=GROWN.evidence.to_dict()).evidence == GROWN.evidence


def test_evidence_for_another_status_does_not_count():
    for field, value in (
        ("persistedStorageVersionHashes", [V1]),
        ("currentStorageVersionHash", BETA1),
    ):
        evidence = read({**GROWN.to_status(), field: value}).evidence
        assert (evidence.source, evidence.time, evidence.epoch) == ("assumed", None, None)
        assert evidence.last_agreed == V1


def test_what_somebody_else_wrote_stays_assumed_whatever_is_observed():
    status = {**GROWN.to_status(), "persistedStorageVersionHashes": [V1]}
    state = observe(read(status)).state
    assert (state.persisted, state.evidence.source) == ((V1,), "assumed")
    assert observe(state, OLDER, now=NOW + MINUTE).state.evidence.source == "assumed"


@pytest.mark.parametrize(
    "data",
    [
        None,
        7,
        [],
        {},
        {**GROWN.evidence.to_dict(), "source": "guessed"},
        {**GROWN.evidence.to_dict(), "source": ["etcd"]},
        {**GROWN.evidence.to_dict(), "time": "soon"},
        {**GROWN.evidence.to_dict(), "epoch": {"servers": 3}},
        {**GROWN.evidence.to_dict(), "epoch": "x"},
        {**GROWN.evidence.to_dict(), "hashes": 3},
        {**GROWN.evidence.to_dict(), "current": None},
    ],
)
def test_garbage_is_no_evidence_and_no_error(data):
    state = read({**GROWN.to_status(), "evidence": data})
    assert state.evidence.time is None
    assert state.evidence.source == "assumed"
    assert observe(state).state.evidence.time == NOW


# Words


def test_a_state_is_described_in_words():
    lines = describe(known(BETA1, V1, source="etcd", revision=42), now=NOW, window=WINDOW)
    stand = "the hashes stand so since 2026-11-16T11:00:00Z"
    assert lines == (
        f"deployments.apps may be stored as {BETA1} and apps/v1 ({V1}).",
        f"The servers write apps/v1 ({V1}).",
        f"Evidence: what was read from etcd at revision 42; {stand}.",
    )


def test_hashes_are_explained_as_far_as_they_are_known():
    lines = describe(GROWN, now=NOW, window=WINDOW, versions={BETA1: "apps/v1beta1"})
    assert f"may be stored as apps/v1beta1 ({BETA1}) and apps/v1 ({V1})." in lines[0]


def test_every_doubt_is_described_with_its_remedy():
    stale = " ".join(describe(known(age=25 * MINUTE), now=NOW, window=WINDOW))
    assert "nobody looked at deployments.apps for 25 min, and the window is 10 min" in stale
    assert "counts as Unknown" in stale
    unknown = " ".join(describe(known(UNKNOWN, current=UNKNOWN), now=NOW, window=WINDOW))
    assert "Unknown is never a pass. Read with storage_audit" in unknown
    assert "not known, or they disagree" in unknown
    unseen = describe(known(unseen=("server a restarted",)), now=NOW, window=WINDOW)
    assert "While the hash stayed the same, server a restarted" in unseen[-1]
    foreign = describe(replace(known(), evidence=Evidence()), now=NOW, window=WINDOW)
    assert "Nothing vouches for this" in foreign[-1]
