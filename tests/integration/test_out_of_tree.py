"""Beside the real out-of-tree trigger and migrator: theirs work with ours, and ours with theirs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from lab.control_plane import PrivateNetwork, ServerSpec, control_plane
from lab.objects import CRDS, seed_definition
from lab.processes import Process
from lab.recorder import STATES, UNKNOWN, Recorder
from lab.waiting import eventually

CHOSEN = ("configmaps", "deviceclasses.resource.k8s.io")
MAPS = CHOSEN[0]
EVIDENCE = "lockstep.kubernetes/evidence"
FAST = ("--kube-api-qps=200", "--kube-api-burst=500")


@dataclass
class Triggered:
    """A server of which the real trigger has recorded everything, and what it has recorded."""

    recorder: Recorder
    trigger: Process
    hashes: dict[str, Any]


@pytest.fixture(scope="module")
def trigger_at_work(recorded_server: Recorder) -> Iterator[Process]:
    """The real trigger and the real migrator, at work with our definitions."""
    recorder = recorded_server
    recorder.forget()
    # Only the chosen ones are left to them: each takes a second a resource.
    for resource in recorder.observe()["states"]:
        if resource in CHOSEN:
            recorder.api.delete(f"{STATES}/{resource}")
        else:
            recorder.vouch(resource)
    trigger, migrator = recorder.plane.start_trigger(), recorder.plane.start_migrator(*FAST)
    yield trigger
    trigger.stop()
    migrator.stop()


@pytest.fixture(scope="module")
def triggered(recorded_server: Recorder, trigger_at_work: Process) -> Triggered:
    """What they have made of it."""
    recorder = recorded_server
    recorder.wait_migrated(*CHOSEN)
    eventually(lambda: all(recorded_as_migrated(recorder, one) for one in CHOSEN), within=90)
    hashes = {one: hashes_of(recorder, one) for one in CHOSEN}
    return Triggered(recorder, trigger_at_work, hashes)


def recorded_as_migrated(recorder: Recorder, resource: str) -> bool:
    found = recorder.states().get(resource, {}).get("status", {})
    return found.get("persistedStorageVersionHashes", [UNKNOWN]) != [UNKNOWN]


def hashes_of(recorder: Recorder, resource: str) -> dict[str, Any]:
    status = recorder.status(resource)
    fields = ("persistedStorageVersionHashes", "currentStorageVersionHash")
    return {field: status[field] for field in fields}


@pytest.fixture(scope="class")
def foreign_server(network: PrivateNetwork, trigger_at_work: Process) -> Iterator[Recorder]:
    """A server with definitions that others installed; meanwhile the trigger gets on elsewhere."""
    with control_plane(ServerSpec(), network=network) as plane:
        recorder = Recorder(plane)
        recorder.install(
            seed_definition("storagestates", "StorageState", states_schema()),
            seed_definition(
                "storageversionmigrations", "StorageVersionMigration", migrations_schema()
            ),
        )
        yield recorder


@pytest.fixture
def foreign(foreign_server: Recorder) -> Recorder:
    """The same, with nothing recorded."""
    foreign_server.forget()
    return foreign_server


class TestTheirDefinitions:
    def test_evidence_lies_beside_the_status(self, foreign: Recorder) -> None:
        result = foreign.observe(MAPS)

        assert "evidence" not in foreign.status(MAPS)
        evidence = json.loads(foreign.state(MAPS)["metadata"]["annotations"][EVIDENCE])
        assert evidence["hashes"] == foreign.persisted(MAPS) == [UNKNOWN]
        assert evidence["current"] == foreign.shown_hash(MAPS)
        assert result["due"] == [MAPS]
        assert foreign.tell(MAPS)["states"][MAPS]["evidence"]["time"] == evidence["time"]

    def test_a_second_pass_writes_the_heartbeat_alone(self, foreign: Recorder) -> None:
        foreign.observe(MAPS)
        foreign.age(MAPS, seconds=5)
        key = f"migration.k8s.io/storagestates/{MAPS}"
        writes = foreign.writes_of(key)

        result = foreign.observe(MAPS)

        assert not result["changed"]
        assert result["heartbeats"] == 1
        assert foreign.writes_of(key) == writes + 1

    def test_a_migration_is_recorded_as_with_our_own(self, foreign: Recorder) -> None:
        foreign.observe(MAPS)
        foreign.ask(MAPS)
        migrator = foreign.plane.start_migrator(*FAST)
        foreign.wait_migrated(MAPS)
        migrator.stop()

        result = foreign.observe(MAPS, state="migrated")

        assert result["states"][MAPS]["evidence"]["source"] == "migrated"
        assert foreign.persisted(MAPS) == [foreign.shown_hash(MAPS)]
        assert foreign.tell(MAPS)["states"][MAPS]["evidence"]["source"] == "migrated"

    def test_evidence_is_ignored_once_somebody_else_wrote_the_status(
        self, foreign: Recorder
    ) -> None:
        foreign.observe(MAPS)
        before = foreign.state(MAPS)["metadata"]["annotations"]
        foreign.set_status(MAPS, persistedStorageVersionHashes=[foreign.shown_hash(MAPS)])

        told = foreign.tell(MAPS)["states"][MAPS]

        assert foreign.state(MAPS)["metadata"]["annotations"] == before
        assert told["evidence"]["time"] == ""
        assert "Nothing vouches for this" in " ".join(told["words"])

    def test_evidence_that_was_written_before_a_crash_is_ignored(self, foreign: Recorder) -> None:
        foreign.observe(MAPS)
        state = foreign.state(MAPS)
        evidence = json.loads(state["metadata"]["annotations"][EVIDENCE])
        evidence |= {"source": "migrated", "hashes": [evidence["current"]]}
        state["metadata"]["annotations"][EVIDENCE] = json.dumps(evidence)
        foreign.api.replace(f"{STATES}/{MAPS}", state)

        result = foreign.observe(MAPS)

        assert result["states"][MAPS]["persisted"] == [UNKNOWN]
        assert result["states"][MAPS]["evidence"]["source"] == "assumed"
        assert result["due"] == [MAPS]

    def test_labels_and_annotations_of_others_stay(self, foreign: Recorder) -> None:
        foreign.observe(MAPS)
        others = {"labels": {"team": "storage"}, "annotations": {"note": "ours"}}
        foreign.api.patch(f"{STATES}/{MAPS}", {"metadata": others})

        foreign.observe(MAPS, state="reset")
        foreign.set_status(MAPS, persistedStorageVersionHashes=[foreign.shown_hash(MAPS)])
        foreign.observe(MAPS)

        metadata = foreign.state(MAPS)["metadata"]
        assert metadata["labels"] == others["labels"]
        assert metadata["annotations"]["note"] == "ours"
        assert EVIDENCE in metadata["annotations"]

    def test_a_definition_that_takes_anything_has_room_for_evidence(
        self, foreign: Recorder
    ) -> None:
        path = f"{CRDS}/storagestates.migration.k8s.io"
        document = foreign.api.get(path)
        anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        document["spec"]["versions"][0]["schema"]["openAPIV3Schema"] = anything
        foreign.api.replace(path, document)

        def kept() -> bool:
            foreign.observe(MAPS)
            return "evidence" in foreign.status(MAPS)

        eventually(kept, within=30)


class TestOurDefinitions:
    def test_the_real_trigger_and_migrator_work_with_them(self, triggered: Triggered) -> None:
        for resource in CHOSEN:
            shown = triggered.recorder.shown_hash(resource)
            assert triggered.hashes[resource] == {
                "persistedStorageVersionHashes": [shown],
                "currentStorageVersionHash": shown,
            }

    def test_a_pass_beside_the_trigger_goes_on_from_its_record(self, triggered: Triggered) -> None:
        recorder = triggered.recorder

        first = recorder.observe(*CHOSEN)
        second = recorder.observe(*CHOSEN)

        assert triggered.trigger.running
        for resource in CHOSEN:
            assert first["states"][resource]["change"] == "same"
            assert hashes_of(recorder, resource) == triggered.hashes[resource]
            # Nobody knows which servers there were while the trigger looked.
            assert first["states"][resource]["evidence"]["source"] == "assumed"
        assert first["due"] == []
        assert "not known which servers there were" in str(first["notes"])
        assert not second["changed"]
        assert second["notes"] == []

    def test_a_strict_pass_does_not_believe_it(self, triggered: Triggered) -> None:
        recorder = triggered.recorder
        for resource in CHOSEN:
            document = recorder.state(resource)
            document["status"].pop("evidence", None)
            recorder.api.replace(f"{STATES}/{resource}/status", document)

        result = recorder.observe(*CHOSEN, on_unseen_change="unknown", check=True)

        assert result["due"] == list(CHOSEN)

    def test_we_reach_the_same_on_our_own(self, triggered: Triggered) -> None:
        recorder = triggered.recorder
        triggered.trigger.stop()
        recorder.forget()

        recorder.observe(*CHOSEN)
        recorder.ask(*CHOSEN)
        recorder.wait_migrated(*CHOSEN)
        recorder.observe(*CHOSEN, state="migrated")

        assert {one: hashes_of(recorder, one) for one in CHOSEN} == triggered.hashes

    def test_the_trigger_goes_on_from_our_record(self, triggered: Triggered) -> None:
        recorder = triggered.recorder
        triggered.trigger.stop()
        recorder.forget()
        recorder.observe(MAPS)
        recorder.vouch(MAPS)
        recorder.age(MAPS, seconds=60)
        then = recorder.status(MAPS)["lastHeartbeatTime"]

        trigger = recorder.plane.start_trigger()
        eventually(lambda: recorder.status(MAPS)["lastHeartbeatTime"] != then, within=60)
        trigger.stop()
        result = recorder.observe(MAPS)

        assert recorder.migrations(MAPS) == {}
        assert result["states"][MAPS]["persisted"] == [recorder.shown_hash(MAPS)]
        assert result["states"][MAPS]["change"] == "same"


def states_schema() -> dict[str, Any]:
    text = {"type": "string"}
    return record(
        spec=record(resource=record(group=text, resource=text)),
        status=record(
            persistedStorageVersionHashes={"type": "array", "items": text},
            currentStorageVersionHash=text,
            lastHeartbeatTime={"type": "string", "format": "date-time"},
        ),
    )


def migrations_schema() -> dict[str, Any]:
    text = {"type": "string"}
    fields = ("type", "status", "reason", "message", "lastUpdateTime")
    condition = record(**dict.fromkeys(fields, text))
    return record(
        spec=record(resource=record(group=text, version=text, resource=text), continueToken=text),
        status=record(conditions={"type": "array", "items": condition}),
    )


def record(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties}
