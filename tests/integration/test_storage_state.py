"""`storage_state` and `storage_state_info` on one server: what is recorded, and what never is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from ansible_collections.lockstep.kubernetes.plugins.module_utils import _states
from lab.ansible import run_module
from lab.control_plane import ControlPlane
from lab.objects import CRDS, crd
from lab.processes import Process
from lab.recorder import MIGRATIONS, STATES, UNKNOWN, Recorder, definition, parse_time
from lab.waiting import eventually

PODS = "pods"
MAPS = "configmaps"
GROUP = "recorded.example.com"


@pytest.fixture
def define(recorder: Recorder) -> Iterator[Callable[[str], str]]:
    """Define a custom resource that is stored as v1; it goes away with the test."""
    defined = []

    def create(plural: str) -> str:
        recorder.plane.create_crds(crd(plural, GROUP, storage="v1"))
        defined.append(f"{plural}.{GROUP}")
        return defined[-1]

    yield create
    for name in defined:
        recorder.api.delete(f"{CRDS}/{name}")


def store_as(recorder: Recorder, resource: str, version: str) -> str:
    """Let a custom resource be stored in another version; the hash that the server then shows."""
    before = recorder.shown_hash(resource)
    plural, _dot, group = resource.partition(".")
    versions = crd(plural, group, storage=version)["spec"]["versions"]
    recorder.api.patch(f"{CRDS}/{resource}", {"spec": {"versions": versions}})
    eventually(lambda: recorder.shown_hash(resource) != before, within=30)
    return recorder.shown_hash(resource)


class TestLadder:
    """Each state in check mode, once, and once more."""

    def test_check_mode_says_what_would_be_recorded_and_writes_nothing(
        self, recorder: Recorder
    ) -> None:
        result = recorder.observe(PODS, MAPS, check=True)

        assert result["changed"]
        assert result["states"][PODS]["persisted"] == [UNKNOWN]
        assert result["states"][PODS]["change"] == "created"
        assert result["due"] == [MAPS, PODS]
        assert recorder.plane.etcd.keys("/registry/migration.k8s.io/") == []

    def test_the_first_look_records_unknown_and_what_is_due(self, recorder: Recorder) -> None:
        result = recorder.observe(PODS, MAPS)

        assert result["changed"]
        assert result["due"] == [MAPS, PODS]
        assert result["heartbeats"] == 0
        assert sorted(recorder.states()) == [MAPS, PODS]
        status = recorder.status(PODS)
        assert status["persistedStorageVersionHashes"] == [UNKNOWN]
        assert status["currentStorageVersionHash"] == recorder.shown_hash(PODS)
        assert status["evidence"]["source"] == "assumed"

    def test_the_second_look_moves_only_the_heartbeat_and_says_so(self, recorder: Recorder) -> None:
        recorder.observe(PODS, MAPS)
        recorder.age(PODS, MAPS, seconds=5)
        before = recorder.states()

        result = recorder.observe(PODS, MAPS)

        after = recorder.states()
        assert not result["changed"]
        assert result["heartbeats"] == 2
        assert result["diff"] == {"before": {}, "after": {}}
        for name in (PODS, MAPS):
            then = before[name]["status"].pop("lastHeartbeatTime")
            assert parse_time(after[name]["status"].pop("lastHeartbeatTime")) > parse_time(then)
            assert after[name]["status"] == before[name]["status"]

    def test_a_second_look_in_check_mode_leaves_the_heartbeat(self, recorder: Recorder) -> None:
        recorder.observe(PODS)
        recorder.age(PODS, seconds=5)
        before = recorder.state(PODS)

        result = recorder.observe(PODS, check=True)

        assert result["heartbeats"] == 1
        assert recorder.state(PODS) == before

    def test_a_heartbeat_counts_as_a_change_if_asked(self, recorder: Recorder) -> None:
        recorder.observe(PODS)

        result = recorder.observe(PODS, heartbeat_counts_as_change=True)

        assert result["changed"]
        assert result["heartbeats"] == 1

    def test_the_diff_shows_hashes_before_and_after(
        self, recorder: Recorder, define: Callable[[str], str]
    ) -> None:
        name = define("differs")
        recorder.observe(name)
        recorder.vouch(name)
        first = recorder.shown_hash(name)
        second = store_as(recorder, name, "v2")

        result = recorder.observe(name)

        before, after = result["diff"]["before"][name], result["diff"]["after"][name]
        assert before == {"persisted": [first], "current": first, "evidence": "migrated"}
        assert after["persisted"] == [first, second]
        assert after["current"] == second

    def test_reset_goes_back_to_unknown_and_takes_migrations_along(
        self, recorder: Recorder
    ) -> None:
        recorder.observe(PODS)
        recorder.vouch(PODS)
        recorder.migrate_by_hand(PODS, name="by-hand")

        checked = recorder.observe(PODS, state="reset", check=True)
        kept = recorder.status(PODS)["persistedStorageVersionHashes"]
        result = recorder.observe(PODS, state="reset")

        assert checked["changed"]
        assert kept == [recorder.shown_hash(PODS)]
        assert result["changed"]
        assert result["due"] == [PODS]
        assert result["superseded"] == ["by-hand (migration.k8s.io)"]
        assert recorder.persisted(PODS) == [UNKNOWN]
        assert recorder.migrations() == {}

    def test_reset_once_more_changes_nothing(self, recorder: Recorder) -> None:
        recorder.observe(PODS)
        recorder.vouch(PODS)
        recorder.observe(PODS, state="reset")
        before = recorder.state(PODS)

        result = recorder.observe(PODS, state="reset")

        assert not result["changed"]
        assert result["due"] == [PODS]
        assert recorder.state(PODS) == before

    def test_reset_of_what_was_never_recorded_records_nothing(self, recorder: Recorder) -> None:
        result = recorder.observe(PODS, state="reset")

        assert not result["changed"]
        assert recorder.states() == {}

    def test_absent_deletes_what_is_chosen_and_nothing_else(self, recorder: Recorder) -> None:
        recorder.observe(PODS, MAPS)

        checked = recorder.observe(PODS, state="absent", check=True)
        left = sorted(recorder.states())
        result = recorder.observe(PODS, state="absent")
        again = recorder.observe(PODS, state="absent")

        assert checked["changed"]
        assert left == [MAPS, PODS]
        assert result["changed"]
        assert list(result["diff"]["before"]) == [PODS]
        assert not again["changed"]
        assert list(recorder.states()) == [MAPS]

    def test_all_resources_are_recorded_in_one_task(self, recorder: Recorder) -> None:
        result = recorder.observe()

        assert len(result["states"]) == len(recorder.states()) > 50
        assert "deployments.apps" in result["states"]
        # What the definitions of this very record are stored as is recorded as well.
        assert "storagestates.migration.k8s.io" in result["states"]
        assert "bindings" not in result["states"]


class TestMigrated:
    def test_it_fails_with_reasons_while_a_resource_is_not_migrated(
        self, recorder: Recorder
    ) -> None:
        recorder.observe(PODS, MAPS)
        recorder.vouch(MAPS)

        result = recorder.call("storage_state", state="migrated", resources=[PODS, MAPS])

        assert result["failed"]
        assert "1 of 2 resources may not be stored in their current version" in result["msg"]
        assert "pods may be stored as Unknown, and the servers write" in result["msg"]
        assert "Migrate them, and run the task again" in result["remedy"]
        assert result["states"][MAPS]["migrated"]
        assert not result["states"][PODS]["migrated"]

    def test_it_passes_once_the_real_migrator_has_run(
        self, recorder: Recorder, migrator: Process
    ) -> None:
        recorder.observe(MAPS)
        recorder.ask(MAPS)
        recorder.wait_migrated(MAPS)

        result = recorder.observe(MAPS, state="migrated")

        assert result["changed"]
        assert result["states"][MAPS]["change"] == "migrated"
        assert result["states"][MAPS]["persisted"] == [recorder.shown_hash(MAPS)]
        assert result["states"][MAPS]["evidence"]["source"] == "migrated"
        assert not recorder.observe(MAPS, state="migrated")["changed"]

    def test_a_resource_that_no_server_knows_is_no_pass(self, recorder: Recorder) -> None:
        result = recorder.call("storage_state", state="migrated", resources=["pots"])

        assert result["failed"]
        assert "no server knows pots" in result["msg"].lower()

    def test_a_migration_that_somebody_else_made_proves_nothing(self, recorder: Recorder) -> None:
        recorder.observe(PODS)
        recorder.migrate_by_hand(PODS, name="by-hand")
        recorder.finish(PODS)

        result = recorder.observe(PODS)

        assert result["states"][PODS]["persisted"] == [UNKNOWN]
        assert result["due"] == [PODS]

    def test_a_finished_migration_of_an_earlier_turn_proves_nothing(
        self, recorder: Recorder, define: Callable[[str], str]
    ) -> None:
        name = define("turns")
        recorder.observe(name)
        (made,) = recorder.ask(name)["migrations"][name]
        kept = recorder.migrations()[made]
        store_as(recorder, name, "v2")
        recorder.observe(name)
        again = {key: kept["metadata"][key] for key in ("name", "annotations")}
        recorder.create_migration({"metadata": again, "spec": kept["spec"]})
        recorder.finish(name)

        result = recorder.observe(name)

        assert result["states"][name]["persisted"][0] == UNKNOWN
        assert not result["states"][name]["migrated"]

    def test_a_migration_that_finished_after_the_look_waits_for_the_next(
        self, recorder: Recorder, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        recorder.observe(PODS)
        recorder.ask(PODS)
        look = _states.look

        def look_then_finish(*arguments: Any, **options: Any) -> Any:
            seen = look(*arguments, **options)
            recorder.finish(PODS)
            return seen

        with monkeypatch.context() as patched:
            patched.setattr(_states, "look", look_then_finish)
            first = recorder.observe(PODS)
        second = recorder.observe(PODS)

        # Nobody knows what the servers were between that look and the end of the migration.
        assert first["states"][PODS]["persisted"] == [UNKNOWN]
        assert second["states"][PODS]["change"] == "migrated"

    def test_a_failed_migration_is_told_and_due_again(self, recorder: Recorder) -> None:
        recorder.observe(PODS)
        recorder.ask(PODS)
        recorder.finish(PODS, how="Failed", message="a webhook said no")

        result = recorder.call("storage_state", state="migrated", resources=[PODS])

        assert result["due"] == [PODS]
        assert "1 migration failed before: a webhook said no" in result["msg"]


class TestWindow:
    def test_a_gap_shorter_than_the_window_keeps_the_record(self, recorder: Recorder) -> None:
        recorder.observe(PODS)
        recorder.vouch(PODS)
        recorder.age(PODS, seconds=590)

        result = recorder.observe(PODS)

        assert result["states"][PODS]["change"] == "same"
        assert result["states"][PODS]["persisted"] == [recorder.shown_hash(PODS)]
        assert not result["changed"]
        assert result["due"] == []

    def test_a_gap_longer_than_the_window_makes_it_unknown_and_due(
        self, recorder: Recorder
    ) -> None:
        recorder.observe(PODS)
        recorder.vouch(PODS)
        recorder.age(PODS, seconds=660)

        result = recorder.observe(PODS)

        assert result["states"][PODS]["change"] == "stale"
        assert result["states"][PODS]["persisted"] == [UNKNOWN]
        assert result["due"] == [PODS]
        assert (
            "nobody looked at pods for 11 min, and the window is 10 min"
            in str(result["notes"]).lower()
        )

    def test_the_window_is_an_option(self, recorder: Recorder) -> None:
        recorder.observe(PODS)
        recorder.vouch(PODS)
        recorder.age(PODS, seconds=660)

        result = recorder.observe(PODS, stale_after=3600)

        assert result["states"][PODS]["change"] == "same"

    def test_six_looks_on_the_timers_schedule_reset_nothing(self, recorder: Recorder) -> None:
        recorder.observe(PODS)
        recorder.vouch(PODS)
        changes = []
        for jitter in (0, 25, 60, 5, 45, 30):
            recorder.age(PODS, seconds=240 + jitter)
            changes.append(recorder.observe(PODS)["states"][PODS]["change"])

        assert changes == ["same"] * 6
        assert recorder.persisted(PODS) == [recorder.shown_hash(PODS)]

    def test_another_encryption_generation_is_a_change_that_no_hash_shows(
        self, recorder: Recorder
    ) -> None:
        recorder.observe(PODS, encryption_generation="key-1")
        recorder.vouch(PODS)

        kept = recorder.observe(PODS, encryption_generation="key-2", check=True)
        strict = recorder.observe(
            PODS, encryption_generation="key-2", on_unseen_change="unknown", check=True
        )

        assert "the encryption generation was key-1 and is now key-2" in str(kept["notes"])
        assert strict["states"][PODS]["persisted"] == [UNKNOWN]

    def test_info_says_that_a_record_is_stale(self, recorder: Recorder) -> None:
        recorder.observe(PODS)
        recorder.vouch(PODS)
        recorder.age(PODS, seconds=660)

        told = recorder.tell(PODS, MAPS)["states"]

        assert told[PODS]["recorded"]
        assert told[PODS]["stale"]
        assert "It is stale: nobody looked at pods for 11 min" in " ".join(told[PODS]["words"])
        assert not told[MAPS]["recorded"]
        assert told[MAPS]["persisted"] == [UNKNOWN]

    @pytest.mark.parametrize("module", ["storage_state", "storage_state_info"])
    def test_a_window_of_nothing_is_refused(self, recorder: Recorder, module: str) -> None:
        result = recorder.call(module, resources=[PODS], stale_after=0)

        assert "The option stale_after is 0" in result["msg"]


class TestCrash:
    """What a pass that died between two writes leaves, the next one finds (R5)."""

    def test_after_an_object_was_created_without_its_status(self, recorder: Recorder) -> None:
        recorder.api.create(
            STATES,
            {
                "apiVersion": "migration.k8s.io/v1alpha1",
                "kind": "StorageState",
                "metadata": {"name": PODS},
                "spec": {"resource": {"group": "", "resource": PODS}},
            },
        )

        told = recorder.tell(PODS)
        result = recorder.observe(PODS)

        assert told["states"][PODS]["persisted"] == [UNKNOWN]
        assert result["states"][PODS]["persisted"] == [UNKNOWN]
        assert result["states"][PODS]["current"] == recorder.shown_hash(PODS)
        assert result["due"] == [PODS]

    def test_after_a_status_write_before_old_migrations_were_deleted(
        self, recorder: Recorder, define: Callable[[str], str]
    ) -> None:
        name = define("halves")
        recorder.observe(name)
        (old,) = recorder.ask(name)["migrations"][name]
        kept = recorder.migrations()[old]
        store_as(recorder, name, "v2")
        recorder.observe(name)
        again = {key: kept["metadata"][key] for key in ("name", "annotations")}
        recorder.create_migration({"metadata": again, "spec": kept["spec"]})

        result = recorder.observe(name)

        assert result["superseded"] == [f"{old} (migration.k8s.io)"]
        assert result["due"] == [name]
        assert recorder.migrations() == {}

    def test_after_old_migrations_were_deleted_before_a_new_one_was_made(
        self, recorder: Recorder, define: Callable[[str], str]
    ) -> None:
        name = define("orphans")
        recorder.observe(name)
        recorder.ask(name)
        store_as(recorder, name, "v2")
        recorder.observe(name)
        assert recorder.migrations() == {}

        result = recorder.observe(name)

        assert result["due"] == [name]
        assert list(recorder.ask(name)["migrations"]) == [name]

    def test_after_a_migration_finished_before_that_was_recorded(self, recorder: Recorder) -> None:
        recorder.observe(PODS)
        recorder.ask(PODS)
        recorder.finish(PODS)

        assert recorder.observe(PODS)["states"][PODS]["change"] == "migrated"

    def test_flapping_adds_no_hash_twice_and_leaves_one_migration(
        self, recorder: Recorder, define: Callable[[str], str]
    ) -> None:
        name = define("flaps")
        recorder.observe(name)
        recorder.vouch(name)
        first = recorder.shown_hash(name)
        for version in ("v2", "v1", "v2", "v1"):
            last = store_as(recorder, name, version)
            recorder.observe(name)
            recorder.ask(name)

        assert last == first
        assert recorder.status(name)["currentStorageVersionHash"] == first
        assert len(recorder.persisted(name)) == 2
        assert len(recorder.migrations(name)) == 1


class TestAtOnce:
    def test_three_passes_at_once_lose_nothing(
        self, recorder: Recorder, define: Callable[[str], str]
    ) -> None:
        name = define("crowded")
        recorder.observe()
        recorder.vouch(name)
        first = recorder.shown_hash(name)
        second = store_as(recorder, name, "v2")

        results = run_at_once(3, kubeconfig=recorder.kubeconfig(), settle=0)

        assert not [result for result in results if result.get("failed")]
        assert recorder.persisted(name) == [first, second]
        assert recorder.status(name)["currentStorageVersionHash"] == second
        assert all(name in result["due"] for result in results)
        changes = [result["states"][name]["change"] for result in results]
        assert changes.count("changed") == 1, changes

    def test_two_first_passes_at_once_make_one_record(self, recorder: Recorder) -> None:
        results = run_at_once(2, kubeconfig=recorder.kubeconfig(), resources=["*.apps"])

        assert not [result for result in results if result.get("failed")]
        assert len(recorder.states()) == len(results[0]["states"]) > 3

    def test_a_write_in_between_is_not_overwritten(
        self, recorder: Recorder, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        recorder.observe(PODS)
        recorder.vouch(PODS)
        happen_before_the_write(
            monkeypatch,
            lambda: recorder.set_status(
                PODS, persistedStorageVersionHashes=[*recorder.persisted(PODS), "c29tZXRoaW5n"]
            ),
        )

        recorder.observe(PODS)

        assert recorder.persisted(PODS) == [recorder.shown_hash(PODS), "c29tZXRoaW5n"]

    def test_a_record_that_is_deleted_in_between_is_made_anew(
        self, recorder: Recorder, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        recorder.observe(PODS)
        recorder.vouch(PODS)
        happen_before_the_write(monkeypatch, lambda: recorder.api.delete(f"{STATES}/{PODS}"))

        result = recorder.observe(PODS)

        assert result["states"][PODS]["change"] == "created"
        assert recorder.persisted(PODS) == [UNKNOWN]


class TestCustomResources:
    def test_the_record_follows_a_storage_version_that_moves(
        self, recorder: Recorder, define: Callable[[str], str], migrator: Process
    ) -> None:
        name = define("movers")
        plural = name.partition(".")[0]
        objects = f"/apis/{GROUP}/v1/{plural}"
        kind = {"apiVersion": f"{GROUP}/v1", "kind": "Mover"}
        recorder.api.create(objects, {**kind, "metadata": {"name": "one"}})
        recorder.observe(name)
        recorder.vouch(name)
        second = store_as(recorder, name, "v2")

        moved = recorder.observe(name)["states"][name]
        recorder.ask(name)
        recorder.wait_migrated(name)
        migrated = recorder.observe(name)["states"][name]

        assert moved["persisted_versions"] == [f"{GROUP}/v1", f"{GROUP}/v2"]
        assert moved["current_version"] == f"{GROUP}/v2"
        assert migrated["persisted"] == [second]
        bytes_ = recorder.plane.etcd.stored_versions(f"/registry/{GROUP}/{plural}/")
        assert set(bytes_.values()) == {f"{GROUP}/v2"}

    def test_r3_nothing_is_due_before_every_server_can_follow_a_definition_that_moved(
        self, recorder: Recorder, define: Callable[[str], str]
    ) -> None:
        name = define("unsettled")
        recorder.observe(name)
        recorder.vouch(name)
        store_as(recorder, name, "v2")

        hasty = recorder.observe(name, settle=60)
        refused = recorder.ask(name, settle=60)
        settled = recorder.observe(name, settle=0)

        assert hasty["due"] == []
        assert refused["migrations"] == {}
        assert "may not follow it yet" in refused["left_out"][name]
        assert settled["due"] == [name]

    def test_r3_a_migration_made_before_every_server_followed_the_definition_proves_nothing(
        self, recorder: Recorder, define: Callable[[str], str]
    ) -> None:
        name = define("early")
        recorder.observe(name)
        recorder.vouch(name)
        store_as(recorder, name, "v2")
        recorder.observe(name)
        recorder.ask(name)
        recorder.finish(name)

        too_early = recorder.observe(name, settle=3600)["states"][name]
        in_time = recorder.observe(name, settle=0)["states"][name]

        assert not too_early["migrated"]
        assert in_time["migrated"]

    def test_two_changes_between_looks_are_told_by_the_definition(
        self, recorder: Recorder, define: Callable[[str], str]
    ) -> None:
        name = define("returns")
        recorder.observe(name)
        recorder.vouch(name)
        first = recorder.shown_hash(name)
        second = store_as(recorder, name, "v2")
        store_as(recorder, name, "v1")

        result = recorder.observe(name)

        state = result["states"][name]
        assert state["current"] == first
        assert sorted(state["persisted"]) == sorted([first, second])
        assert state["evidence"]["source"] == "crd"
        assert result["due"] == [name]

    def test_a_definition_made_anew_is_told(
        self, recorder: Recorder, define: Callable[[str], str]
    ) -> None:
        name = define("reborn")
        recorder.observe(name)
        recorder.vouch(name)
        recorder.api.delete(f"{CRDS}/{name}")
        eventually(lambda: not recorder.api.answers(f"/apis/{GROUP}/v1/reborn"), within=30)
        recorder.plane.create_crds(crd("reborn", GROUP, storage="v1"))

        result = recorder.observe(name)

        assert "deleted and created again" in str(result["states"][name]["evidence"]["unseen"])


class TestRemoved:
    def test_info_still_shows_what_no_server_serves_any_more(self, recorder: Recorder) -> None:
        plural, group = "relics", "gone.example.com"
        recorder.plane.create_crds(crd(plural, group, storage="v1"))
        recorder.observe(f"{plural}.{group}")
        recorder.api.delete(f"{CRDS}/{plural}.{group}")
        path = f"/apis/{group}/v1/{plural}"
        eventually(lambda: not recorder.api.answers(path), within=30)

        state = recorder.tell("*.gone.example.com")["states"][f"{plural}.{group}"]

        assert state["recorded"]
        assert not state["served"]
        assert "No server serves it any more" in state["words"][-1]


class TestPaused:
    def test_while_somebody_upgrades_it_still_records_and_says_who(
        self, recorder: Recorder
    ) -> None:
        recorder.call("lock", name="upgrade", owner="alice from control-1")

        result = recorder.observe(PODS)
        told = recorder.tell(PODS)

        assert result["paused"] == told["paused"] == "alice from control-1"
        assert result["states"][PODS]["change"] == "created"
        assert "nothing yet, since alice from control-1 is upgrading the cluster" in str(
            result["summary"]
        )

    @pytest.mark.parametrize("name", ["trigger", "upgrade"])
    def test_a_lock_of_another_name_or_a_released_one_pauses_nothing(
        self, recorder: Recorder, name: str
    ) -> None:
        recorder.call("lock", name=name, owner="alice")
        if name == "upgrade":
            recorder.call("lock", name=name, owner="alice", state="released")

        assert recorder.observe(PODS)["paused"] == ""


class TestFailures:
    @pytest.mark.parametrize("module", ["storage_state", "storage_state_info"])
    def test_without_the_definitions_it_says_how_to_get_them(
        self, two_servers: ControlPlane, module: str
    ) -> None:
        result = Recorder(two_servers).call(module)

        assert result["failed"]
        assert "This cluster has no StorageState API" in result["msg"]
        assert "Install it with the role lockstep.kubernetes.migrator" in result["remedy"]

    def test_without_a_place_for_migrations_states_are_still_recorded(
        self, recorder: Recorder
    ) -> None:
        recorder.api.delete(f"{CRDS}/storageversionmigrations.migration.k8s.io")
        eventually(lambda: not recorder.api.answers(MIGRATIONS), within=30)
        try:
            result = recorder.observe(PODS)
            refused = recorder.call("storage_migration", resources=[PODS])
        finally:
            recorder.plane.create_crds(definition("storageversionmigrations"))

        assert result["due"] == [PODS]
        assert "This cluster has no place for migrations" in refused["msg"]

    def test_a_user_without_rights_is_told_which_one_is_missing(self, recorder: Recorder) -> None:
        nobody = recorder.plane.kubeconfig(recorder.plane.user("nobody"))

        result = recorder.call("storage_state", kubeconfig=nobody)

        assert result["failed"]
        assert "403 Forbidden" in result["msg"]
        assert "nobody" in result["msg"]
        assert "docs/reference/rbac.md" in result["remedy"]


def run_at_once(count: int, **arguments: Any) -> list[Any]:
    """Several passes at the same time, each in a process of its own."""
    with ThreadPoolExecutor(count) as pool:
        runs = [pool.submit(run_module, "storage_state", **arguments) for _number in range(count)]
        return [run.result() for run in runs]


def happen_before_the_write(monkeypatch: pytest.MonkeyPatch, event: Callable[[], Any]) -> None:
    """Let something happen after a pass has read the records, and before it writes one."""
    record, pending = _states.record, [event]

    def late(*arguments: Any, **options: Any) -> Any:
        while pending:
            pending.pop()()
        return record(*arguments, **options)

    monkeypatch.setattr(_states, "record", late)
