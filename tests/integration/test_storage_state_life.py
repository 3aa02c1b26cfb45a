"""The life of a StorageState on real servers that change their release; the oracle is etcd."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from lab.control_plane import ControlPlane, PrivateNetwork, ServerSpec, control_plane
from lab.recorder import UNKNOWN, Recorder
from lab.waiting import eventually

# What 1.34 stores as v1beta2, and 1.36 as v1; and what both store alike.
CLASSES = "deviceclasses.resource.k8s.io"
MAPS = "configmaps"
OLD, NEW = "resource.k8s.io/v1beta2", "resource.k8s.io/v1"
OLD_RELEASE, NEW_RELEASE = ServerSpec(emulated_version="1.34"), ServerSpec()
COUNT = 40


def create_class(plane: ControlPlane, name: str) -> None:
    kind = {"apiVersion": NEW, "kind": "DeviceClass"}
    path = "/apis/resource.k8s.io/v1/deviceclasses"
    plane.servers["cp-1"].api.create(path, {**kind, "metadata": {"name": name}, "spec": {}})


def stored(plane: ControlPlane) -> set[str]:
    """In which versions objects are in etcd."""
    return set(plane.etcd.stored_versions("/registry/deviceclasses/").values())


def run_as(plane: ControlPlane, name: str, spec: ServerSpec) -> None:
    """Let a server run as another release, if it does not already."""
    server = plane.servers[name]
    if server.spec != spec or not server.running:
        server.restart(spec)
    others = [one for one in plane.servers.values() if one.running]
    eventually(lambda: all(plane.published(server, through=one) for one in others), within=30)


@pytest.fixture(scope="class")
def single(network: PrivateNetwork) -> Iterator[Recorder]:
    """One server that runs as the old release."""
    with control_plane(OLD_RELEASE, network=network) as plane:
        recorder = Recorder(plane)
        recorder.install()
        yield recorder


@pytest.fixture(scope="class")
def there_and_back(single: Recorder) -> Recorder:
    """A record, and a server that has written another version since, unseen."""
    single.forget()
    run_as(single.plane, "cp-1", NEW_RELEASE)
    single.observe(CLASSES, MAPS)
    single.vouch(CLASSES)
    single.ask(MAPS)
    run_as(single.plane, "cp-1", OLD_RELEASE)
    create_class(single.plane, "written-unseen")
    run_as(single.plane, "cp-1", NEW_RELEASE)
    assert OLD in stored(single.plane)
    return single


@pytest.fixture(scope="class")
def pair(network: PrivateNetwork) -> Iterator[Recorder]:
    """Two servers, asked through the first."""
    with control_plane(NEW_RELEASE, NEW_RELEASE, network=network) as plane:
        recorder = Recorder(plane, through="cp-1")
        recorder.install()
        yield recorder


class TestOneServer:
    def test_the_whole_life(self, single: Recorder) -> None:
        plane = single.plane
        for number in range(COUNT):
            create_class(plane, f"class-{number}")
        old = single.shown_hash(CLASSES)

        # Installed: there is no record.
        installed = single.observe(CLASSES)

        assert installed["states"][CLASSES]["persisted"] == [UNKNOWN]
        assert installed["states"][CLASSES]["current"] == old
        assert installed["due"] == [CLASSES]

        # The migration that it asks for is run by the real migrator.
        migrator = plane.start_migrator()
        single.ask(CLASSES)
        single.wait_migrated(CLASSES)
        migrator.stop()
        migrated = single.observe(CLASSES)

        assert migrated["states"][CLASSES]["persisted"] == [old]
        assert migrated["states"][CLASSES]["evidence"]["source"] == "migrated"
        assert migrated["due"] == []
        assert stored(plane) == {OLD}

        # The controller is away for less than the window.
        single.age(CLASSES, seconds=300)
        back = single.observe(CLASSES)

        assert back["states"][CLASSES]["change"] == "same"
        assert not back["changed"]

        # The server is upgraded, and writes another version.
        run_as(plane, "cp-1", NEW_RELEASE)
        new = single.shown_hash(CLASSES)
        upgraded = single.observe(CLASSES)

        assert upgraded["states"][CLASSES]["persisted"] == [old, new]
        assert upgraded["states"][CLASSES]["current"] == new
        assert upgraded["states"][CLASSES]["persisted_versions"] == [OLD, NEW]
        assert upgraded["due"] == [CLASSES]
        assert single.migrations() == {}

        # In the middle of the migration it is downgraded again.
        (halted,) = single.ask(CLASSES)["migrations"][CLASSES]
        migrator = plane.start_migrator("--kube-api-qps=4", "--kube-api-burst=4")
        eventually(lambda: stored(plane) == {OLD, NEW}, within=60)
        migrator.kill()
        run_as(plane, "cp-1", OLD_RELEASE)
        assert stored(plane) == {OLD, NEW}
        downgraded = single.observe(CLASSES)

        assert downgraded["states"][CLASSES]["persisted"] == [old, new]
        assert downgraded["states"][CLASSES]["current"] == old
        assert downgraded["superseded"] == [f"{halted} (migration.k8s.io)"]
        assert downgraded["due"] == [CLASSES]

        # It is upgraded for good.
        single.ask(CLASSES)
        run_as(plane, "cp-1", NEW_RELEASE)
        again = single.observe(CLASSES)

        assert again["states"][CLASSES]["persisted"] == [old, new]
        assert len(again["superseded"]) == 1
        assert again["due"] == [CLASSES]

        # Only a migration that ran under the last release lets the record shrink.
        single.ask(CLASSES)
        migrator = plane.start_migrator("--kube-api-qps=200", "--kube-api-burst=500")
        single.wait_migrated(CLASSES)
        migrator.stop()
        settled = single.observe(CLASSES, state="migrated")

        assert settled["states"][CLASSES]["persisted"] == [new]
        assert stored(plane) == {NEW}
        assert single.tell(CLASSES)["due"] == []

    def test_a_change_unseen_within_the_window_keeps_the_record_and_warns(
        self, there_and_back: Recorder
    ) -> None:
        result = there_and_back.observe(CLASSES, check=True)

        state = result["states"][CLASSES]
        assert state["change"] == "same"
        assert state["persisted"] == [there_and_back.shown_hash(CLASSES)]
        assert "restarted" in str(state["evidence"]["unseen"])
        (note,) = result["notes"]
        assert "another encoding version may have been written in between" in note
        assert "storage_audit" in note
        assert result["changed"]

    def test_a_change_unseen_is_unknown_if_asked(self, there_and_back: Recorder) -> None:
        result = there_and_back.observe(CLASSES, on_unseen_change="unknown", check=True)

        assert result["states"][CLASSES]["change"] == "unseen"
        assert result["states"][CLASSES]["persisted"] == [UNKNOWN]
        assert result["due"] == [CLASSES]

    def test_a_change_unseen_across_a_longer_gap_is_unknown(self, there_and_back: Recorder) -> None:
        # Two restarts took longer than this.
        result = there_and_back.observe(CLASSES, stale_after=1, check=True)

        assert result["states"][CLASSES]["change"] == "stale"
        assert result["states"][CLASSES]["persisted"] == [UNKNOWN]
        assert result["due"] == [CLASSES]

    def test_a_migration_during_which_the_server_changed_proves_nothing(
        self, there_and_back: Recorder
    ) -> None:
        there_and_back.finish(MAPS)

        result = there_and_back.observe(MAPS)
        made = there_and_back.ask(MAPS)

        assert result["states"][MAPS]["persisted"] == [UNKNOWN]
        assert result["due"] == list(made["migrations"]) == [MAPS]

    def test_reset_puts_right_what_was_not_seen(self, there_and_back: Recorder) -> None:
        there_and_back.observe(CLASSES)
        kept = there_and_back.status(CLASSES)["evidence"]

        result = there_and_back.observe(CLASSES, state="reset")

        assert "restarted" in str(kept["unseen"])
        assert there_and_back.persisted(CLASSES) == [UNKNOWN]
        assert there_and_back.status(CLASSES)["evidence"]["unseen"] == []
        assert result["due"] == [CLASSES]


class TestSeveralServers:
    @pytest.fixture
    def agreed(self, pair: Recorder) -> Recorder:
        """Two servers that agree, and all is stored as they write it."""
        run_as(pair.plane, "cp-2", NEW_RELEASE)
        return recorded(pair)

    @pytest.fixture
    def torn(self, pair: Recorder) -> Recorder:
        """The same, but the second has become another release since the last look."""
        if pair.plane.servers["cp-2"].spec != OLD_RELEASE:
            recorded(pair)
            run_as(pair.plane, "cp-2", OLD_RELEASE)
        else:
            # What was agreed on before is made up: two restarts cost more.
            pair.observe(CLASSES)
            pretend_agreed(pair)
        return pair

    def test_a_server_that_can_t_be_seen_leaves_the_record_alone(self, agreed: Recorder) -> None:
        agreed.migrate_by_hand(CLASSES, name="by-hand")
        before = agreed.status(CLASSES)
        frozen = agreed.plane.servers["cp-2"]
        frozen.freeze()
        try:
            result = agreed.observe(CLASSES, timeout=2)
        finally:
            frozen.thaw()

        # Its very process had been seen, so that the record is only marked.
        after = agreed.status(CLASSES)
        assert result["states"][CLASSES]["change"] == "kept"
        assert after["evidence"].pop("missed")
        assert before["evidence"].pop("missed") == []
        assert {**after, "lastHeartbeatTime": ""} == {**before, "lastHeartbeatTime": ""}
        assert result["due"] == []
        assert "the records stand" in str(result["notes"])
        assert list(agreed.migrations()) == ["by-hand"]

    def test_disagreement_adds_every_hash_in_one_write_and_ends_all_migrations(
        self, torn: Recorder
    ) -> None:
        new, old = (torn.shown_hash(CLASSES, server=name) for name in ("cp-1", "cp-2"))
        torn.migrate_by_hand(CLASSES, name="by-hand")
        torn.migrate_by_hand("configmaps", name="of-another")
        key = f"migration.k8s.io/storagestates/{CLASSES}"
        writes = torn.writes_of(key)

        result = torn.observe(CLASSES)

        state = torn.status(CLASSES)
        assert result["states"][CLASSES]["change"] == "disagreement"
        assert sorted(state["persistedStorageVersionHashes"]) == sorted([new, old])
        assert state["currentStorageVersionHash"] == UNKNOWN
        assert state["evidence"]["lastAgreedVersion"] == NEW
        assert torn.writes_of(key) == writes + 1
        assert result["superseded"] == ["by-hand (migration.k8s.io)"]
        assert list(torn.migrations()) == ["of-another"]
        assert result["due"] == []

    def test_nothing_is_asked_for_while_servers_disagree(self, torn: Recorder) -> None:
        torn.observe(CLASSES)

        result = torn.ask(CLASSES)

        assert not result["changed"]
        assert "not known to agree" in result["left_out"][CLASSES]
        assert torn.migrations() == {}

    def test_a_migration_made_by_hand_while_servers_disagree_does_not_last(
        self, torn: Recorder
    ) -> None:
        torn.observe(CLASSES)
        torn.migrate_by_hand(CLASSES, name="too-early")

        result = torn.observe(CLASSES)

        assert result["superseded"] == ["too-early (migration.k8s.io)"]
        assert torn.migrations() == {}

    def test_agreement_brings_current_back_and_is_due(self, torn: Recorder) -> None:
        torn.observe(CLASSES)
        old = torn.shown_hash(CLASSES, server="cp-2")
        run_as(torn.plane, "cp-2", NEW_RELEASE)
        new = torn.shown_hash(CLASSES)

        result = torn.observe(CLASSES)

        assert torn.status(CLASSES)["currentStorageVersionHash"] == new
        assert sorted(torn.persisted(CLASSES)) == sorted([new, old])
        assert result["due"] == [CLASSES]
        assert list(torn.ask(CLASSES)["migrations"]) == [CLASSES]

    def test_what_only_the_newer_release_serves_does_not_stop_the_pass(
        self, agreed: Recorder
    ) -> None:
        # 1.37 has an API for migrations of its own, which all servers then list.
        run_as(agreed.plane, "cp-2", ServerSpec(release="1.37.0"))
        newer = agreed.plane.servers["cp-2"].api
        eventually(lambda: newer.answers("/apis/storagemigration.k8s.io/v1"), within=30)
        listed = [one["name"] for one in agreed.api.get("/apis")["groups"]]
        assert "storagemigration.k8s.io" in listed
        assert not agreed.api.answers("/apis/storagemigration.k8s.io/v1")

        result = agreed.observe(CLASSES)

        assert result["states"][CLASSES]["current"] == agreed.shown_hash(CLASSES)

    def test_a_killed_server_adds_unknown_to_a_disagreement(self, torn: Recorder) -> None:
        # The last of these tests: it takes a while until nobody looks for the third any more.
        (third,) = torn.plane.add_servers(NEW_RELEASE)
        third.kill()

        result = torn.observe(CLASSES, timeout=2)

        assert UNKNOWN in result["states"][CLASSES]["persisted"]
        assert len(result["states"][CLASSES]["persisted"]) == 3
        assert result["states"][CLASSES]["current"] == UNKNOWN


def recorded(recorder: Recorder) -> Recorder:
    """Begin with a record that says that all is stored as the servers write it."""
    recorder.forget()
    recorder.observe(CLASSES)
    recorder.vouch(CLASSES)
    return recorder


def pretend_agreed(recorder: Recorder) -> None:
    """Let the record say what it did before the servers disagreed."""
    recorder.api.delete("/apis/migration.k8s.io/v1alpha1/storageversionmigrations")
    hashes = [recorder.shown_hash(CLASSES)]
    evidence = {**recorder.status(CLASSES)["evidence"], "hashes": hashes, "current": hashes[0]}
    recorder.set_status(
        CLASSES,
        persistedStorageVersionHashes=hashes,
        currentStorageVersionHash=hashes[0],
        evidence=evidence,
    )
