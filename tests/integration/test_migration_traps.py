"""`storage_migration` where others have come to grief: it refuses, gets by, or says what is wrong.

The traps are those of the research on migrators; each has a test here or beside.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.lockstep.kubernetes.plugins.module_utils._act.migrations import direct
from lab.aggregated import FLUNDERS, WARDLE, Endpoint, Wardle
from lab.control_plane import PrivateNetwork, ServerSpec, control_plane
from lab.gate import found, judge, run_remedy
from lab.load_balancer import LoadBalancer
from lab.objects import CRDS, crd
from lab.processes import Process
from lab.recorder import IN_TREE_MIGRATIONS, UNKNOWN, Recorder, conditions
from lab.traffic import traffic
from lab.waiting import eventually
from lab.webhooks import VALIDATING_WEBHOOKS, Webhooks, denying_configuration

GROUP = "traps.example.com"
MAPS = "configmaps"
CLASSES = "deviceclasses.resource.k8s.io"
# Custom resources that were stored in another version before, one for each test that needs it.
PLURALS = ("changeds", "denieds", "gones", "lefts", "lines", "slows", "stucks")
COUNT = 30
# One with so many objects that it takes a while, all of which are current already.
MANY = "manys"
MANY_COUNT = 1200
BUSY, DENIED = "busy", "quiet-7"
UNPATCHED = "unpatcheds"
MAP_PATH = "/api/v1/namespaces/default/configmaps"


def path_of(plural: str, name: str = "") -> str:
    return f"/apis/{GROUP}/v1/{plural}/{name}".rstrip("/")


def definition_of(plural: str) -> str:
    return f"{CRDS}/{plural}.{GROUP}"


@pytest.fixture(scope="module")
def served(network: PrivateNetwork) -> Iterator[Recorder]:
    """A server with the in-tree API, and nobody who runs what is asked for there."""
    with control_plane(ServerSpec().with_migration_api(), network=network) as plane:
        recorder = Recorder(plane)
        recorder.install()
        plane.create_crds(
            *(crd(plural, GROUP, storage="v1") for plural in (*PLURALS, MANY, UNPATCHED))
        )
        populate(recorder, MANY, MANY_COUNT)
        for plural in PLURALS:
            populate(recorder, plural, COUNT)
            flip(recorder, plural)
        yield recorder


def populate(recorder: Recorder, plural: str, count: int) -> None:
    kind = {"apiVersion": f"{GROUP}/v1", "kind": plural.removesuffix("s").capitalize()}
    names = [BUSY, *(f"quiet-{number}" for number in range(count))]
    recorder.api.populate(
        path_of(plural), lambda n: {**kind, "metadata": {"name": names[n]}}, len(names)
    )


def flip(recorder: Recorder, plural: str) -> None:
    """Let a custom resource be stored as v2."""
    before = recorder.shown_hash(f"{plural}.{GROUP}")
    versions = crd(plural, GROUP, storage="v2")["spec"]["versions"]
    recorder.api.patch(definition_of(plural), {"spec": {"versions": versions}})
    eventually(lambda: recorder.shown_hash(f"{plural}.{GROUP}") != before, within=30)


@contextmanager
def meanwhile(disturb: Callable[[], None]) -> Iterator[None]:
    """Disturb what goes on; whatever fails there fails here."""
    with ThreadPoolExecutor(1) as pool:
        disturbing = pool.submit(disturb)
        yield
        disturbing.result()


@contextmanager
def denying(recorder: Recorder, plural: str) -> Iterator[None]:
    """Let one object of a resource be such as nobody may write."""
    with Webhooks(recorder.plane) as webhooks:
        webhooks.denied.add(DENIED)
        configuration = denying_configuration("deny", webhooks, GROUP, plural)
        recorder.api.create(VALIDATING_WEBHOOKS, configuration)
        yield
        recorder.api.delete(f"{VALIDATING_WEBHOOKS}/deny")


class TestNobodyRunsIt:
    def test_one_that_nobody_begins_is_given_up_with_the_remedy(self, served: Recorder) -> None:
        result = served.try_to_migrate(MAPS, backend="in_tree", stuck_after=3)

        said = result["resources"][MAPS]
        assert result["failed"]
        assert "kube-controller-manager has not begun to migrate configmaps" in said["reason"]
        assert "runs with the feature gate StorageVersionMigrator" in said["reason"]
        assert said["attempts"] == 1
        # It must not be begun when nobody watches the servers any more.
        assert served.migrations(MAPS, at=IN_TREE_MIGRATIONS) == {}

    def test_present_makes_it_where_the_in_tree_controller_looks(self, served: Recorder) -> None:
        served.observe(CLASSES)

        result = served.ask(CLASSES)

        ((name, made),) = served.migrations(CLASSES, at=IN_TREE_MIGRATIONS).items()
        target = {"group": "resource.k8s.io", "resource": "deviceclasses"}
        assert result["migrations"] == {CLASSES: [name]}
        assert made["spec"] == {"resource": target}
        assert served.migrations(CLASSES) == {}

    @pytest.mark.parametrize("backend", ["auto", "in_tree", "direct"])
    def test_none_is_made_of_what_does_not_exist(self, served: Recorder, backend: str) -> None:
        before = served.migrations(at=IN_TREE_MIGRATIONS)

        result = served.try_to_migrate(MAPS, f"nothings.{GROUP}", backend=backend)

        assert f"The option resources names nothings.{GROUP}" in result["msg"]
        assert served.migrations(at=IN_TREE_MIGRATIONS) == before
        assert served.migrations() == {}

    def test_events_are_refused_where_they_are_named(self, served: Recorder) -> None:
        result = served.try_to_migrate("events")

        assert "events can't be migrated. events expire by themselves" in result["msg"]
        assert served.migrations("events", at=IN_TREE_MIGRATIONS) == {}

    def test_events_are_left_out_of_everything_with_the_reason(self, served: Recorder) -> None:
        result = served.migrate("*", check=True)

        left = {name: why for name, why in result["left_out"].items() if "events" in name}
        assert "events" in left
        assert set(left.values()) == {"events expire by themselves"}
        assert not [name for name in result["resources"] if "events" in name]

    def test_one_that_somebody_deletes_meanwhile_is_not_made_anew(self, served: Recorder) -> None:
        def stop() -> None:
            wait_made(served, MAPS)
            (name,) = served.migrations(MAPS, at=IN_TREE_MIGRATIONS)
            served.api.delete(f"{IN_TREE_MIGRATIONS}/{name}")

        with meanwhile(stop):
            result = served.try_to_migrate(MAPS, backend="in_tree", stuck_after=10)

        said = result["resources"][MAPS]
        assert "was deleted while it ran" in said["reason"]
        assert said["attempts"] == 1
        assert served.migrations(MAPS, at=IN_TREE_MIGRATIONS) == {}

    def test_a_definition_that_is_deleted_meanwhile_takes_it_along(self, served: Recorder) -> None:
        # One that is left crashes the controller.
        resource = f"gones.{GROUP}"

        def delete() -> None:
            wait_made(served, resource)
            served.api.delete(definition_of("gones"))

        with meanwhile(delete):
            result = served.try_to_migrate(resource, backend="in_tree", watch_every=1)

        assert result["resources"][resource]["status"] == "superseded"
        assert "its definition was deleted" in result["resources"][resource]["reason"]
        assert served.migrations(resource, at=IN_TREE_MIGRATIONS) == {}

    def test_one_that_is_left_of_what_does_not_exist_is_named_and_can_be_deleted(
        self, served: Recorder
    ) -> None:
        resource = f"nothings.{GROUP}"
        kind = {"apiVersion": "storagemigration.k8s.io/v1beta1", "kind": "StorageVersionMigration"}
        spec = {"resource": {"group": GROUP, "resource": "nothings"}}
        left = {**kind, "metadata": {"name": "left"}, "spec": spec}
        served.api.create(IN_TREE_MIGRATIONS, left)

        told = served.migrate("*", check=True)
        result = served.ask(resource, state="absent")

        assert f"The migration left (storagemigration.k8s.io) is of {resource}" in str(
            told["warnings"]
        )
        assert result["migrations"] == {resource: ["left"]}
        assert served.migrations(resource, at=IN_TREE_MIGRATIONS) == {}

    def test_one_in_the_other_api_is_no_reason_to_migrate_again(self, served: Recorder) -> None:
        # Nobody runs it there, so that it would be a reason forever.
        served.observe("pods")
        served.vouch("pods")
        served.migrate_by_hand("pods", name="by-hand")

        result = served.migrate("pods", check=True)
        served.forget()

        assert not result["changed"]
        assert result["left_out"]["pods"] == "all that is stored of it is in its current version"


class TestInTreeController:
    @pytest.fixture(scope="class")
    @classmethod
    def controller(cls, served: Recorder) -> Iterator[Recorder]:
        """The same with kube-controller-manager at work."""
        process = served.plane.start_in_tree_migrator()
        yield served
        process.stop()

    def test_one_that_failed_is_made_anew_so_often_and_its_message_told(
        self, controller: Recorder
    ) -> None:
        resource = f"denieds.{GROUP}"
        with denying(controller, "denieds"), traffic(controller.api, path_of("denieds", BUSY)):
            result = controller.try_to_migrate(resource, backend="in_tree", retries=1)

        said = result["resources"][resource]
        assert result["failed"]
        assert said["status"] == "failed"
        assert said["attempts"] == 2
        assert f"{DENIED} may not be written" in said["reason"]
        assert f"{DENIED} may not be written" in result["msg"]
        assert controller.persisted(resource) == [UNKNOWN]

    def test_it_is_not_given_up_while_it_visits_what_needs_no_write(
        self, controller: Recorder
    ) -> None:
        with traffic(controller.api, path_of(MANY, BUSY)):
            result = controller.migrate(f"{MANY}.{GROUP}", backend="in_tree", stuck_after=3)

        assert result["resources"][f"{MANY}.{GROUP}"]["attempts"] == 1

    def test_stored_versions_that_it_leaves_are_taken_out_by_us(self, controller: Recorder) -> None:
        resource = f"lefts.{GROUP}"

        def make_it_leave_them() -> None:
            # It compares a generation that it keeps there.
            wait_running(controller, resource)
            document = controller.api.get(definition_of("lefts"))
            listed = document["status"]["conditions"]
            document["status"]["conditions"] = [
                one for one in listed if one["type"] != "StorageMigrating"
            ]
            controller.api.replace(f"{definition_of('lefts')}/status", document)
            with traffic(controller.api, path_of("lefts", BUSY)):
                wait_ended(controller, resource)

        with meanwhile(make_it_leave_them):
            result = controller.migrate(resource, backend="in_tree")

        status = controller.api.get(definition_of("lefts"))["status"]
        (told,) = [one for one in status["conditions"] if one["type"] == "StorageMigrating"]
        assert "the stored versions have not been updated" in told["message"]
        assert status["storedVersions"] == ["v2"]
        assert result["resources"][resource]["stored_versions"] == ["v2"]
        assert result["resources"][resource]["verified"]

    def test_a_definition_that_is_changed_meanwhile_voids_it(self, controller: Recorder) -> None:
        resource = f"changeds.{GROUP}"

        def change() -> None:
            wait_running(controller, resource)
            names = controller.api.get(definition_of("changeds"))["spec"]["names"]
            change = {"spec": {"names": {**names, "shortNames": ["chg"]}}}
            controller.api.patch(definition_of("changeds"), change)

        with meanwhile(change):
            result = controller.try_to_migrate(
                resource, backend="in_tree", retries=0, watch_every=1
            )

        said = result["resources"][resource]
        assert said["status"] == "superseded"
        assert "CustomResourceDefinition" in said["reason"]
        assert not said["verified"]
        assert controller.persisted(resource) == [UNKNOWN]
        assert controller.migrations(resource, at=IN_TREE_MIGRATIONS) == {}


def wait_made(recorder: Recorder, resource: str) -> None:
    eventually(lambda: bool(recorder.migrations(resource, at=IN_TREE_MIGRATIONS)), within=30)


def wait_running(recorder: Recorder, resource: str) -> None:
    def running() -> bool:
        found = recorder.migrations(resource, at=IN_TREE_MIGRATIONS).values()
        return any("Running" in conditions(one) for one in found)

    eventually(running, within=60)


def wait_ended(recorder: Recorder, resource: str) -> None:
    def ended() -> bool:
        found = recorder.migrations(resource, at=IN_TREE_MIGRATIONS).values()
        return any("Succeeded" in conditions(one) for one in found)

    eventually(ended, within=90)


class TestMigratorAtWork:
    @pytest.fixture
    def start_migrator(self, served: Recorder) -> Iterator[Callable[..., None]]:
        """Start the out-of-tree migrator with a rate; it ends with the test."""
        started: list[Process] = []

        def begin(*, qps: int, burst: int = 1) -> None:
            rate = (f"--kube-api-qps={qps}", f"--kube-api-burst={burst}")
            started.append(served.plane.start_migrator(*rate))
            served.wait_for_migrator()

        served.forget()
        yield begin
        for process in started:
            process.stop()
        served.forget()

    def test_one_that_is_busy_is_not_taken_for_dead(
        self, served: Recorder, start_migrator: Callable[..., None]
    ) -> None:
        start_migrator(qps=1, burst=15)
        served.migrate_by_hand(f"slows.{GROUP}", name="by-hand")
        eventually(lambda: "Running" in conditions(served.migrations()["by-hand"]), within=30)

        result = served.try_to_migrate(MAPS, backend="direct")

        assert result.get("failed"), result["resources"]
        assert "An out-of-tree migrator is alive" in result["msg"]

    def test_a_slow_one_is_found_however_often_one_asks(
        self, served: Recorder, start_migrator: Callable[..., None]
    ) -> None:
        start_migrator(qps=4)

        results = [served.try_to_migrate(MAPS, backend="direct") for _time in range(3)]

        for result in results:
            assert result.get("failed"), result["resources"]
            assert "An out-of-tree migrator is alive" in result["msg"]

    def test_who_waits_behind_others_is_not_given_up(
        self, served: Recorder, start_migrator: Callable[..., None]
    ) -> None:
        start_migrator(qps=5, burst=5)

        # It takes one after the other, and five seconds or more for each.
        result = served.migrate(
            f"lines.{GROUP}", f"stucks.{GROUP}", backend="migrator", stuck_after=4, retries=0
        )

        assert {one["status"] for one in result["resources"].values()} == {"succeeded"}

    def test_one_that_tries_an_object_forever_is_given_up_whoever_else_writes(
        self, served: Recorder, start_migrator: Callable[..., None]
    ) -> None:
        resource = f"denieds.{GROUP}"
        start_migrator(qps=50, burst=50)
        over = threading.Event()

        def use() -> None:
            with traffic(served.api, path_of("denieds", BUSY)):
                over.wait(15)

        with denying(served, "denieds"), meanwhile(use):
            result = served.try_to_migrate(resource, backend="migrator", stuck_after=4, retries=0)
            over.set()

        said = result["resources"][resource]
        assert "out-of-tree migrator has shown no progress" in said["reason"]
        assert "or stop it and set backend to direct" in said["reason"]
        assert said["seconds"] < 15


class TestWithoutUid:
    """Objects that somebody wrote into etcd past the API servers: they can be read, not patched."""

    @pytest.fixture(autouse=True)
    def _hurry(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(direct, "_PATIENCE", (0.05, 0.05, 0.05))

    @pytest.fixture(autouse=True)
    def _shell(self, monkeypatch: pytest.MonkeyPatch, served: Recorder) -> None:
        """The shell of somebody who uses kubectl with this cluster."""
        monkeypatch.setenv("KUBECONFIG", str(served.kubeconfig()))

    @pytest.fixture
    def plant(self, served: Recorder) -> Iterator[Callable[[str, dict[str, Any]], None]]:
        """Put an object into etcd as it is; what is left of it goes with the test."""
        planted: list[str] = []

        def put(key: str, document: dict[str, Any]) -> None:
            planted.append(key)
            served.plane.etcd.put(key, json.dumps(document).encode())

        yield put
        for key in planted:
            served.plane.etcd.delete(key)

    def test_it_is_named_with_a_remedy_that_works(
        self,
        served: Recorder,
        plant: Callable[[str, dict[str, Any]], None],
        tmp_path: Path,
    ) -> None:
        key = "/registry/configmaps/default/without-uid"
        metadata = {"name": "without-uid", "namespace": "default"}
        document = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}
        plant(key, {**document, "data": {"kept": "yes"}})

        # When it is migrated, then it has failed, and the reason is told.
        result = served.try_to_migrate(MAPS, backend="direct")
        (failure,) = result["resources"][MAPS]["failures"]
        assert failure["name"] == "default/without-uid"
        assert "although a GET shows it: most likely it has no metadata.uid" in failure["reason"]

        # When that is done which the reason says, then it is migrated.
        run_remedy(served, {"command": failure["reason"].partition("run: ")[2]}, tmp_path)
        result = served.migrate(MAPS, backend="direct")
        assert result["resources"][MAPS]["verified"]
        assert served.api.get(f"{MAP_PATH}/without-uid")["data"] == {"kept": "yes"}
        assert (served.plane.etcd.get(key) or b"").startswith(b"k8s\x00")

    def test_one_that_holds_others_is_not_told_to_be_deleted(
        self,
        served: Recorder,
        plant: Callable[[str, dict[str, Any]], None],
        tmp_path: Path,
    ) -> None:
        key = "/registry/namespaces/without-uid"
        metadata = {"name": "without-uid"}
        plant(key, {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata})

        result = served.try_to_migrate("namespaces", backend="direct")

        (failure,) = result["resources"]["namespaces"]["failures"]
        assert "Do not delete it" in failure["reason"]
        assert "--force" not in failure["reason"]
        run_remedy(served, {"command": failure["reason"].partition("run: ")[2]}, tmp_path)
        assert (served.plane.etcd.get(key) or b"").startswith(b"k8s\x00")

    def test_the_gate_says_the_same_of_it(
        self, served: Recorder, plant: Callable[[str, dict[str, Any]], None]
    ) -> None:
        resource = f"{UNPATCHED}.{GROUP}"
        kind = {"apiVersion": f"{GROUP}/v1", "kind": "Unpatched"}
        plant(f"/registry/{GROUP}/{UNPATCHED}/one", {**kind, "metadata": {"name": "one"}})

        verdict = judge(served, "1.36.3", lists=True)

        told = found(verdict, "write-refused")[resource]["seen"]
        assert "one of" in told
        assert "most likely it has no metadata.uid" in told
        assert f"kubectl get {resource} one -o json > one.json" in told


class TestAggregated:
    KEY = f"/registry/{WARDLE}/{WARDLE}/flunders/default/old"
    PATH = f"/apis/{WARDLE}/v1beta1/namespaces/default/flunders"

    @pytest.fixture(scope="class")
    @classmethod
    def wardle(cls, served: Recorder) -> Iterator[Wardle]:
        """An aggregated API behind one endpoint."""
        wardle = Wardle(served.plane)
        wardle.stand_on(wardle.endpoint)
        yield wardle
        wardle.remove()

    @pytest.fixture
    def flunder(self, served: Recorder, wardle: Wardle) -> Iterator[str]:
        """One object that is stored in another version than the API writes."""
        served.forget()
        kind = {"apiVersion": f"{WARDLE}/v1beta1", "kind": "Flunder"}
        document = {**kind, "metadata": {"name": "old"}, "spec": {"reference": "x"}}
        served.api.create(self.PATH, document)
        written = json.loads(served.plane.etcd.get(self.KEY) or b"")
        served.plane.etcd.put(self.KEY, json.dumps({**written, **kind}).encode())
        yield "old"
        served.api.delete(f"{self.PATH}/old")

    def test_it_is_migrated_where_it_is_named(self, served: Recorder, flunder: str) -> None:
        before = served.api.get(f"{self.PATH}/{flunder}")

        result = served.migrate(FLUNDERS)

        said = result["resources"][FLUNDERS]
        after = served.api.get(f"{self.PATH}/{flunder}")
        assert served.plane.etcd.stored_versions(self.KEY) == {self.KEY: f"{WARDLE}/v1alpha1"}
        assert after["spec"] == before["spec"]
        assert said["backend"] == "direct"
        assert said["backend_reason"] == "the in-tree controller can't migrate aggregated APIs"
        assert said["rewritten"] == 1
        assert said["verified"]
        assert served.persisted(FLUNDERS) == [served.shown_hash(FLUNDERS)]

    def test_it_is_left_out_with_the_reason_where_it_is_not(
        self, served: Recorder, wardle: Wardle
    ) -> None:
        result = served.migrate("*", check=True)

        why = "it belongs to an aggregated API, and is migrated only where it is named"
        assert result["left_out"][FLUNDERS] == why
        assert not [name for name in result["resources"] if name.endswith(WARDLE)]

    @pytest.mark.usefixtures("flunder")
    def test_the_in_tree_controller_is_not_asked_for_it(self, served: Recorder) -> None:
        result = served.try_to_migrate(FLUNDERS, backend="in_tree")

        assert f"{FLUNDERS} can't be migrated by the in-tree controller" in result["msg"]
        assert "It belongs to an aggregated API" in result["msg"]
        assert served.migrations(FLUNDERS, at=IN_TREE_MIGRATIONS) == {}

    def test_two_endpoints_are_no_agreement(
        self, served: Recorder, wardle: Wardle, copy: Endpoint
    ) -> None:
        wardle.stand_on(wardle.endpoint, copy)

        result = served.try_to_migrate(FLUNDERS)
        wardle.stand_on(wardle.endpoint)

        assert result["failed"]
        assert "has 2 ready endpoints" in result["msg"]

    def test_another_endpoint_meanwhile_voids_it(
        self, served: Recorder, wardle: Wardle, flunder: str, copy: Endpoint
    ) -> None:
        kind = {"apiVersion": f"{WARDLE}/v1beta1", "kind": "Flunder"}
        for number in range(10):
            document = {**kind, "metadata": {"name": f"more-{number}"}, "spec": {}}
            served.api.create(self.PATH, document)

        def swap() -> None:
            def running() -> bool:
                found = served.migrations(FLUNDERS).values()
                return any("Running" in conditions(one) for one in found)

            eventually(running, within=30)
            wardle.stand_on(copy)

        with meanwhile(swap):
            result = served.try_to_migrate(FLUNDERS, max_qps=2, retries=0, watch_every=1)
        wardle.stand_on(wardle.endpoint)

        said = result["resources"][FLUNDERS]
        assert said["status"] == "superseded"
        assert served.persisted(FLUNDERS) == [UNKNOWN]

    @pytest.fixture
    def copy(self, wardle: Wardle) -> Iterator[Endpoint]:
        """Another way to the same API."""
        address, port = wardle.plane.take_address()
        balancer = LoadBalancer(address, port + 1, backends=lambda: [wardle.endpoint])
        yield address, port + 1
        balancer.close()
