"""`storage_migration`: what is due is asked for, once, and for a turn that can be told later."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from lab.ansible import run_module
from lab.control_plane import PrivateNetwork, ServerSpec, control_plane
from lab.processes import Process
from lab.recorder import MIGRATIONS, UNKNOWN, Recorder, conditions

MAPS, PODS = "configmaps", "pods"
CONFIG_MAP_KEY = "/registry/configmaps/default/as-json"
IN_TREE = "/apis/storagemigration.k8s.io/v1beta1/storageversionmigrations"


class TestPresent:
    def test_a_migration_of_each_resource_that_is_due_is_made(self, recorder: Recorder) -> None:
        recorder.observe(MAPS, PODS)
        recorder.vouch(PODS)

        result = recorder.ask(MAPS, PODS)

        ((name, made),) = recorder.migrations().items()
        assert result["changed"]
        assert result["migrations"] == {MAPS: [name]}
        assert (
            "all that is stored of pods is written as the servers write it"
            in (result["left_out"][PODS])
        )
        assert made["spec"]["resource"] == {"group": "", "version": "v1", "resource": MAPS}

    def test_it_carries_what_it_was_made_for(self, recorder: Recorder) -> None:
        recorder.observe(MAPS)
        (name,) = recorder.ask(MAPS)["migrations"][MAPS]

        annotations = recorder.migrations()[name]["metadata"]["annotations"]

        made_for = json.loads(annotations["lockstep.kubernetes/made-for"])
        evidence = recorder.status(MAPS)["evidence"]
        assert made_for["hash"] == recorder.shown_hash(MAPS)
        assert made_for["since"] == evidence["time"]
        assert made_for["epoch"] == evidence["epoch"]

    def test_check_mode_names_it_and_makes_nothing(self, recorder: Recorder) -> None:
        recorder.observe(MAPS)

        checked = recorder.ask(MAPS, check=True)
        left = recorder.migrations()
        result = recorder.ask(MAPS)

        assert left == {}
        assert checked["migrations"] == result["migrations"]
        assert checked["changed"]

    def test_once_more_makes_nothing_while_it_has_not_finished(self, recorder: Recorder) -> None:
        recorder.observe(MAPS)
        recorder.ask(MAPS)
        before = recorder.migrations()

        result = recorder.ask(MAPS)

        assert not result["changed"]
        assert "has not finished yet" in result["left_out"][MAPS]
        assert recorder.migrations() == before

    def test_one_that_failed_is_made_anew(self, recorder: Recorder) -> None:
        recorder.observe(MAPS)
        recorder.ask(MAPS)
        recorder.finish(MAPS, how="Failed", message="no")

        result = recorder.ask(MAPS)

        ((name, made),) = recorder.migrations().items()
        assert result["migrations"] == {MAPS: [name]}
        assert conditions(made) == set()

    def test_one_that_somebody_else_made_is_waited_for(self, recorder: Recorder) -> None:
        recorder.observe(MAPS)
        recorder.migrate_by_hand(MAPS, name="by-hand")

        result = recorder.ask(MAPS)

        assert not result["changed"]
        assert "by-hand (migration.k8s.io) has not finished yet" in result["left_out"][MAPS]

    def test_what_was_never_observed_is_not_asked_for(self, recorder: Recorder) -> None:
        result = recorder.ask(MAPS)

        assert not result["changed"]
        assert "is not recorded yet" in result["left_out"][MAPS]

    def test_two_at_once_make_one(self, recorder: Recorder) -> None:
        recorder.observe(MAPS)
        options = {"kubeconfig": recorder.kubeconfig(), "resources": [MAPS], "state": "present"}
        with ThreadPoolExecutor(2) as pool:
            runs = [pool.submit(run_module, "storage_migration", **options) for _number in "ab"]
            results = [run.result() for run in runs]

        assert not [result for result in results if result.get("failed")]
        assert len(recorder.migrations(MAPS)) == 1
        assert sorted(result["changed"] for result in results) == [False, True]

    def test_two_that_migrate_at_once_do_it_once(self, recorder: Recorder) -> None:
        options = {"kubeconfig": recorder.kubeconfig(), "resources": [MAPS], "settle": 0}
        with ThreadPoolExecutor(2) as pool:
            runs = [pool.submit(run_module, "storage_migration", **options) for _number in "ab"]
            results = [run.result() for run in runs]

        assert not [result for result in results if result.get("failed")]
        assert len(recorder.migrations(MAPS)) == 1
        assert recorder.persisted(MAPS) == [recorder.shown_hash(MAPS)]

    @pytest.fixture
    def as_json(self, recorder: Recorder) -> Iterator[None]:
        """A config map that was written past the servers; no server could patch it afterwards."""
        document = {"metadata": {"name": "as-json", "namespace": "default"}}
        kind = {"apiVersion": "v1", "kind": "ConfigMap"}
        recorder.plane.etcd.put(CONFIG_MAP_KEY, json.dumps({**kind, **document}).encode())
        yield
        recorder.plane.etcd.delete(CONFIG_MAP_KEY)

    @pytest.mark.usefixtures("as_json")
    def test_the_real_migrator_rewrites_what_is_stored(
        self, recorder: Recorder, migrator: Process
    ) -> None:
        recorder.observe(MAPS)
        recorder.ask(MAPS)

        recorder.wait_migrated(MAPS)

        assert (recorder.plane.etcd.get(CONFIG_MAP_KEY) or b"").startswith(b"k8s\x00")


class TestAbsent:
    def test_all_of_a_resource_go_whoever_made_them(self, recorder: Recorder) -> None:
        recorder.observe(MAPS, PODS)
        (ours,) = recorder.ask(MAPS)["migrations"][MAPS]
        recorder.migrate_by_hand(MAPS, name="by-hand")
        recorder.migrate_by_hand(PODS, name="of-another")

        checked = recorder.ask(MAPS, state="absent", check=True)
        left = sorted(recorder.migrations())
        result = recorder.ask(MAPS, state="absent")
        again = recorder.ask(MAPS, state="absent")

        assert checked["migrations"] == result["migrations"]
        assert left == sorted([ours, "by-hand", "of-another"])
        assert sorted(result["migrations"][MAPS]) == sorted([ours, "by-hand"])
        assert list(recorder.migrations()) == ["of-another"]
        assert not again["changed"]


class TestInTree:
    """The migration API that servers have of their own."""

    @pytest.fixture(scope="class")
    @classmethod
    def both(cls, network: PrivateNetwork) -> Iterator[Recorder]:
        """A server that serves both APIs for migrations."""
        spec = ServerSpec(
            feature_gates={"StorageVersionMigrator": True},
            runtime_config={"storagemigration.k8s.io/v1beta1": True},
        )
        with control_plane(spec, network=network) as plane:
            recorder = Recorder(plane)
            recorder.install()
            recorder.observe(MAPS)
            yield recorder

    @pytest.fixture
    def foreign(self, both: Recorder) -> str:
        """A migration in that API, made by hand."""
        kind = {"apiVersion": "storagemigration.k8s.io/v1beta1", "kind": "StorageVersionMigration"}
        spec = {"resource": {"group": "", "resource": MAPS}}
        both.api.create(IN_TREE, {**kind, "metadata": {"name": "in-tree"}, "spec": spec})
        return "in-tree"

    def test_one_that_has_not_finished_is_waited_for(self, both: Recorder, foreign: str) -> None:
        result = both.ask(MAPS)
        both.api.delete(f"{IN_TREE}/{foreign}")

        assert "in-tree (storagemigration.k8s.io) has not finished yet" in result["left_out"][MAPS]

    def test_it_goes_as_well_when_a_record_is_reset(self, both: Recorder, foreign: str) -> None:
        both.vouch(MAPS)

        result = both.observe(MAPS, state="reset")

        assert result["superseded"] == [f"{foreign} (storagemigration.k8s.io)"]
        assert both.api.get(IN_TREE)["items"] == []
        assert both.api.get(MIGRATIONS)["items"] == []
        assert both.persisted(MAPS) == [UNKNOWN]
