"""`storage_migration` by itself: every object counts as what it is, and only names are read."""

from __future__ import annotations

import base64
import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.lockstep.kubernetes.plugins.module_utils._act.migrations import (
    controllers,
    direct,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide import pages
from lab import binaries
from lab.ansible import MODULES, run_module
from lab.api import ApiError, User
from lab.control_plane import ControlPlane, PrivateNetwork, ServerSpec, control_plane
from lab.direct import count_versions, migrate, running
from lab.objects import CRDS, crd
from lab.proxy import Proxy, cluster_admin
from lab.recorder import Recorder, call_module, conditions, parse_time
from lab.waiting import eventually
from lab.webhooks import VALIDATING_WEBHOOKS, Webhooks, denying_configuration

GROUP = "direct.example.com"
GARBAGE = b"no envelope of any kind"
MAPS, SECRETS = "configmaps", "secrets"
# Of which no test has objects.
QUIET = "podtemplates"
CANARY = b"canary-7d1f0a"
PROTOBUF = b"k8s\x00"
COUNT = 40
# Runs a module, and leaves the most memory that it ever had beside its arguments.
MEASURED = """
import atexit, importlib, pathlib, re, runpy, sys
importlib.import_module(sys.argv.pop(1))._PROBE_SECONDS = 0.2
def leave():
    status = pathlib.Path("/proc/self/status").read_text()
    pathlib.Path(sys.argv[-1] + ".peak").write_text(re.search(r"VmHWM:\\s+(\\d+)", status)[1])
atexit.register(leave)
runpy.run_module(sys.argv.pop(1), run_name="__main__", alter_sys=True)
"""


@dataclass(frozen=True)
class Things:
    """Custom resources of one test, which were stored as v1 and are to be stored as v2."""

    recorder: Recorder
    plural: str
    namespaced: bool = False

    @property
    def resource(self) -> str:
        return f"{self.plural}.{GROUP}"

    @property
    def prefix(self) -> str:
        return f"/registry/{GROUP}/{self.plural}/"

    def key(self, name: str, namespace: str = "default") -> str:
        return self.prefix + (f"{namespace}/{name}" if self.namespaced else name)

    def path(self, namespace: str = "default", *, version: str = "v1") -> str:
        where = f"namespaces/{namespace}/" if self.namespaced else ""
        return f"/apis/{GROUP}/{version}/{where}{self.plural}"

    def document(self, name: str, **metadata: Any) -> dict[str, Any]:
        kind = self.plural.removesuffix("s").capitalize()
        return {
            "apiVersion": f"{GROUP}/v1",
            "kind": kind,
            "metadata": {"name": name, **metadata},
            "note": name,
        }

    def fill(self, count: int, *, namespace: str = "default", prefix: str = "thing") -> None:
        self.recorder.api.populate(
            self.path(namespace), lambda n: self.document(f"{prefix}-{n:04d}"), count
        )

    def store_as(self, version: str) -> None:
        """Let what is written from now on be stored in that version."""
        api = self.recorder.api
        versions = crd(self.plural, GROUP, storage=version)["spec"]["versions"]
        api.patch(f"{CRDS}/{self.resource}", {"spec": {"versions": versions}})

        def written_so() -> bool:
            api.create(self.path(), self.document("probe"))
            stored = self.recorder.plane.etcd.stored_versions(self.key("probe"))
            api.delete(f"{self.path()}/probe")
            return list(stored.values()) == [f"{GROUP}/{version}"]

        eventually(written_so, within=30)

    def stored(self) -> Counter[str]:
        """How many objects are stored in which version."""
        return count_versions(self.recorder.plane, self.prefix)

    def writes(self) -> dict[str, int]:
        """How often each key has been written."""
        return self.recorder.plane.etcd.writes(self.prefix)


def namespace(recorder: Recorder, name: str) -> str:
    recorder.api.create("/api/v1/namespaces", {"metadata": {"name": name}})
    return name


def put_as_json(plane: ControlPlane, path: str, key: str) -> None:
    """Let an object be stored as JSON, as servers of long ago did: nobody writes that now."""
    document = plane.api.get(path)
    del document["metadata"]["resourceVersion"]
    plane.etcd.put(f"/registry/{key}", json.dumps(document).encode())


def empty(plane: ControlPlane, prefix: str) -> None:
    """Remove all objects below a prefix, whatever their size."""
    for key in plane.etcd.keys(prefix):
        plane.etcd.delete(key)


def kubectl(recorder: Recorder, *arguments: str, data: object = None) -> str:
    """What kubectl prints for the administrator."""
    program = binaries.find(binaries.kubernetes("kubectl", binaries.DEFAULT_RELEASE))
    done = subprocess.run(
        [program, f"--kubeconfig={recorder.kubeconfig()}", *arguments],
        input=json.dumps(data),
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def failures(result: Mapping[str, Any], resource: str) -> dict[str, str]:
    """What could not be written of a resource, with the reasons."""
    return {one["name"]: one["reason"] for one in result["resources"][resource]["failures"]}


@pytest.fixture(scope="module")
def lone(network: PrivateNetwork) -> Iterator[Recorder]:
    """One server with our definitions. A token expires there as soon as etcd is compacted."""
    spec = ServerSpec(feature_gates={"ListFromCacheSnapshot": False})
    with control_plane(spec, network=network) as plane:
        recorder = Recorder(plane)
        recorder.install()
        yield recorder


@pytest.fixture(scope="module")
def admin(lone: Recorder) -> User:
    return cluster_admin(lone.plane)


@pytest.fixture(scope="module", autouse=True)
def _no_migrator() -> Iterator[None]:
    """No out-of-tree migrator runs here, so that nobody need wait for its answer."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(controllers, "_PROBE_SECONDS", 0.2)
        yield


def passing(recorder: Recorder) -> Proxy:
    """A proxy that sees all that is asked of the server."""
    return Proxy(recorder.plane, recorder.plane.servers["cp-1"].url)


@pytest.fixture
def proxy(lone: Recorder) -> Iterator[Proxy]:
    with passing(lone) as proxy:
        yield proxy


@pytest.fixture(scope="module")
def things_of(lone: Recorder) -> Any:
    """Define custom resources by their plural, stored as v1 so far."""

    def define(plural: str, *, namespaced: bool = False) -> Things:
        definition = crd(plural, GROUP, storage="v1", namespaced=namespaced)
        lone.plane.create_crds(definition)
        return Things(lone, plural, namespaced)

    return define


class TestRecord:
    def test_r3_what_is_not_due_does_not_go_stale_while_the_rest_is_migrated(
        self, lone: Recorder, things_of: Any
    ) -> None:
        # Given one resource that is proved, and one that takes longer than a record lasts.
        things = things_of("slows")
        things.fill(12)
        lone.observe(QUIET, things.resource)
        lone.vouch(QUIET)
        things.store_as("v2")
        lone.observe(QUIET, things.resource)
        looked_at = parse_time(lone.status(QUIET)["lastHeartbeatTime"])

        result = migrate(lone, QUIET, things.resource, max_qps=2, stale_after=4)

        assert not result.get("failed"), result["msg"]
        assert things.stored() == {"v2": 12}
        again = parse_time(lone.status(QUIET)["lastHeartbeatTime"])
        assert (again - looked_at).total_seconds() >= 4
        assert lone.persisted(QUIET) == [lone.shown_hash(QUIET)]
        assert result["not_current"] == []
        assert result["recorded"] == "2 resources: 2 current, 0 mixed, 0 Unknown."


class TestNamesOnly:
    def test_r11_no_answer_carries_what_is_in_secrets_and_config_maps(
        self, lone: Recorder, admin: User, proxy: Proxy
    ) -> None:
        # Given some that kubectl has applied, so that an annotation holds all their data too.
        text = CANARY.decode()
        encoded = base64.b64encode(CANARY).decode()
        for kind, data in (("Secret", encoded), ("ConfigMap", text)):
            document = {"metadata": {"name": "applied"}, "data": {"key": data}}
            kubectl(lone, "apply", "-f", "-", data={"apiVersion": "v1", "kind": kind, **document})
        paths = [f"/api/v1/namespaces/default/{one}/applied" for one in (MAPS, SECRETS)]
        for path in paths:
            annotations = lone.api.get(path)["metadata"]["annotations"]
            held = annotations["kubectl.kubernetes.io/last-applied-configuration"]
            assert text in held or encoded in held
            put_as_json(lone.plane, path, f"{path.split('/')[-2]}/default/applied")
        proxy.watch_for(CANARY)

        # When they are migrated through a proxy that looks into every answer.
        result = migrate(lone, MAPS, SECRETS, kubeconfig=proxy.kubeconfig(admin))

        # Then they are written anew, and none of it came by.
        assert not result.get("failed"), result
        for path in paths:
            stored = lone.plane.etcd.get(f"/registry/{path.split('/')[-2]}/default/applied")
            assert stored
            assert stored.startswith(PROTOBUF)
            assert CANARY in stored or encoded.encode() in stored
            assert proxy.count("PATCH", path) == 1
        assert proxy.seen(CANARY) == []
        assert text not in json.dumps(result)
        assert encoded not in json.dumps(result)

    def test_a_megabyte_in_each_object_takes_no_more_memory(
        self, lone: Recorder, tmp_path: Path
    ) -> None:
        # Given as many large objects as there were small ones.
        path = f"/api/v1/namespaces/{namespace(lone, 'large')}/{MAPS}"
        lone.api.populate(path, lambda n: {"metadata": {"name": f"{n}"}}, COUNT)
        small = peak(lone, tmp_path)
        empty(lone.plane, f"/registry/{MAPS}/large/")
        data = {"key": "x" * 900_000}
        lone.api.populate(path, lambda n: {"metadata": {"name": f"{n}"}, "data": data}, COUNT)

        # When they are migrated.
        large = peak(lone, tmp_path)

        # Then that takes no more memory.
        empty(lone.plane, f"/registry/{MAPS}/large/")
        assert large - small < 15 * 1024


def peak(recorder: Recorder, directory: Path) -> int:
    """The kilobytes that a migration of all ConfigMaps takes at most."""
    recorder.forget()
    arguments = directory / "arguments.json"
    options = {
        "backend": "direct",
        "speed": "full",
        "resources": [MAPS],
        "settle": 0,
        "kubeconfig": str(recorder.kubeconfig()),
    }
    arguments.write_text(json.dumps({"ANSIBLE_MODULE_ARGS": options}))
    done = subprocess.run(
        [
            *(sys.executable, "-c", MEASURED),
            *(controllers.__name__, f"{MODULES}.storage_migration", arguments),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    result = json.loads(done.stdout)
    assert result["resources"][MAPS]["listed"] >= COUNT, result
    return int(Path(f"{arguments}.peak").read_text())


class TestDenied:
    @pytest.fixture(scope="class")
    @classmethod
    def runs(cls, lone: Recorder, admin: User, things_of: Any) -> dict[str, Any]:
        """A run while a webhook denies one object, and one after that."""
        things: Things = things_of("denieds")
        things.fill(5)
        things.store_as("v2")
        with Webhooks(lone.plane) as webhooks, passing(lone) as proxy:
            lone.api.create(
                VALIDATING_WEBHOOKS, denying_configuration("denying", webhooks, GROUP, "denieds")
            )
            webhooks.denied = {"thing-0002"}
            eventually(lambda: denied(things, "thing-0002"), within=30)
            first = migrate(lone, things.resource, kubeconfig=proxy.kubeconfig(admin))
            runs = {
                "things": things,
                "first": first,
                "tries": proxy.count("PATCH", f"{things.plural}/thing-0002"),
                "stored": things.stored(),
                "migrations": lone.migrations(things.resource),
                "persisted": lone.persisted(things.resource),
            }
            webhooks.denied = set()
            runs["second"] = migrate(lone, things.resource)
            lone.api.delete(f"{VALIDATING_WEBHOOKS}/denying")
        return runs

    def test_it_is_tried_again_before_it_is_given_up(self, runs: dict[str, Any]) -> None:
        assert runs["tries"] == 1 + len(direct._PATIENCE)

    def test_it_is_reported_by_name_and_reason(self, runs: dict[str, Any]) -> None:
        result, resource = runs["first"], runs["things"].resource

        assert result["failed"]
        assert result["resources"][resource]["status"] == "failed"
        assert result["resources"][resource]["failed"] == 1
        (failure,) = result["resources"][resource]["failures"]
        assert failure["name"] == "thing-0002"
        assert "lockstep lab: thing-0002 may not be written" in failure["reason"]
        assert "thing-0002" in result["msg"]

    def test_the_others_are_finished(self, runs: dict[str, Any]) -> None:
        assert runs["first"]["totals"]["rewritten"] == 4
        assert runs["stored"] == {"v1": 1, "v2": 4}

    def test_the_migration_has_failed_and_says_why(self, runs: dict[str, Any]) -> None:
        (migration,) = runs["migrations"].values()

        assert conditions(migration) == {"Failed"}
        (failure,) = migration["status"]["progress"]["failures"]
        assert failure["name"] == "thing-0002"

    def test_nothing_is_recorded_as_proved(self, runs: dict[str, Any]) -> None:
        assert "Unknown" in runs["persisted"]

    def test_once_it_is_allowed_a_second_run_succeeds_and_is_recorded(
        self, lone: Recorder, runs: dict[str, Any]
    ) -> None:
        resource = runs["things"].resource
        result = runs["second"]

        assert not result.get("failed"), result
        assert result["totals"]["rewritten"] == 1
        assert result["totals"]["already_current"] == 4
        assert result["resources"][resource]["verified"]
        assert runs["things"].stored() == {"v2": 5}
        assert lone.persisted(resource) == [lone.shown_hash(resource)]


def denied(things: Things, name: str) -> bool:
    """Whether a webhook has come to deny writes of an object, tried without writing."""
    try:
        things.recorder.api.patch(f"{things.path()}/{name}?dryRun=All", {"note": "other"})
    except ApiError as error:
        return "may not be written" in str(error)
    return False


class TestUndecodable:
    """A value that nobody can decode makes the list of all fail without naming it."""

    @pytest.fixture(scope="class", autouse=True)
    @classmethod
    def _impatient(cls, lone: Recorder) -> Iterator[None]:
        """What can't be decoded stays so until the end: nobody need wait long for it."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(direct, "_PATIENCE", (0.1,))
            yield
        etcd = lone.plane.etcd
        for key, value in list(etcd.items(f"/registry/{GROUP}/")):
            if value == GARBAGE:
                etcd.delete(key)

    @pytest.fixture(scope="class")
    @classmethod
    def spoilt(cls, lone: Recorder, things_of: Any) -> Things:
        return spoil(things_of("spoilts", namespaced=True), "spoilt-b/garbage")

    @pytest.fixture(scope="class")
    @classmethod
    def result(cls, lone: Recorder, spoilt: Things) -> Any:
        return migrate(lone, spoilt.resource)

    def test_the_other_namespaces_are_rewritten(self, spoilt: Things, result: Any) -> None:
        assert result["failed"]
        assert result["totals"]["rewritten"] == 4
        assert spoilt.stored() == {"v1": 2, "v2": 4, "undecodable": 1}

    def test_its_namespace_is_named(self, spoilt: Things, result: Any) -> None:
        assert list(failures(result, spoilt.resource)) == ["the namespace spoilt-b"]
        assert result["totals"]["failed"] == 1

    def test_the_migration_has_failed(self, lone: Recorder, spoilt: Things, result: Any) -> None:
        (migration,) = lone.migrations(spoilt.resource).values()

        assert result["resources"][spoilt.resource]["migration"] == migration["metadata"]["name"]
        assert conditions(migration) == {"Failed"}

    def test_an_audit_names_the_key(self, lone: Recorder, spoilt: Things, result: Any) -> None:
        result = migrate(lone, spoilt.resource, **audited(lone, spoilt.resource))

        key = spoilt.key("garbage", "spoilt-b")
        assert list(failures(result, spoilt.resource)) == [key]
        assert result["totals"]["failed"] == 1

    def test_one_before_all_others_keeps_nobody_from_the_rest(
        self, lone: Recorder, things_of: Any
    ) -> None:
        things = spoil(things_of("firsts", namespaced=True), "spoilt-a/a")

        result = migrate(lone, things.resource)

        assert list(failures(result, things.resource)) == ["the namespace spoilt-a"]
        assert things.stored() == {"v1": 2, "v2": 4, "undecodable": 1}

    def test_one_where_no_namespace_is_fails_the_whole_list(
        self, lone: Recorder, things_of: Any
    ) -> None:
        things = spoil(things_of("strays", namespaced=True), "nowhere/garbage")

        result = migrate(lone, things.resource)

        assert list(failures(result, things.resource)) == ["the whole list"]
        assert things.stored() == {"v2": 6, "undecodable": 1}


def spoil(things: Things, key: str) -> Things:
    """Objects in three namespaces, and among them something that nobody can decode."""
    for name in ("spoilt-a", "spoilt-b", "spoilt-c"):
        with suppress(ApiError):
            namespace(things.recorder, name)
        things.fill(2, namespace=name)
    # Before the definition changes: the server then reads all anew, and does not get far.
    things.recorder.plane.etcd.put(things.prefix + key, GARBAGE)
    things.store_as("v2")
    return things


def audited(recorder: Recorder, *resources: str) -> dict[str, Any]:
    """A look and an audit after it, as options of storage_migration."""
    seen = recorder.call("discovery_hash", resources=resources)
    etcd = recorder.plane.etcd
    read = call_module(
        "storage_audit",
        endpoints=[etcd.url],
        ca_cert=etcd.ca,
        client_cert=etcd.certificate,
        client_key=etcd.key,
        resources=resources,
        encodings=seen["resources"],
    )
    assert not read.get("failed"), read
    return {"audit": read, "audited_after": seen}


class TestOddObjects:
    """One run over objects that differ from others in how they can be written."""

    @pytest.fixture(scope="class")
    @classmethod
    def odd(cls, lone: Recorder, things_of: Any) -> Iterator[dict[str, Any]]:
        lone.forget()
        plane = lone.plane
        things: Things = things_of("odds", namespaced=True)
        things.fill(3)
        where = namespace(lone, "odd")
        for path in (f"/api/v1/namespaces/{where}/{one}" for one in (MAPS, SECRETS)):
            lone.api.create(path, {"metadata": {"name": "fixed"}, "immutable": True})
            put_as_json(plane, f"{path}/fixed", f"{path.split('/')[-1]}/{where}/fixed")
        # In namespaces that do not exist.
        orphans = {things.key("orphan", "nowhere"), f"/registry/{MAPS}/nowhere/orphan"}
        document = things.document("orphan", namespace="nowhere", uid="o-1")
        plane.etcd.put(things.key("orphan", "nowhere"), json.dumps(document).encode())
        document = {**document, "apiVersion": "v1", "kind": "ConfigMap"}
        plane.etcd.put(f"/registry/{MAPS}/nowhere/orphan", json.dumps(document).encode())
        # Deleted, and the last finalizer is gone: any write ends it.
        ended = {"uid": "e-1", "deletionTimestamp": "2026-01-01T00:00:00Z"}
        document = things.document("ended", namespace="default", **ended)
        plane.etcd.put(things.key("ended"), json.dumps(document).encode())
        metadata = {"name": "ended", "namespace": where, **ended}
        document = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata}
        plane.etcd.put(f"/registry/{MAPS}/{where}/ended", json.dumps(document).encode())
        things.store_as("v2")
        lone.observe(things.resource)
        lone.migrate_by_hand(things.resource, name="by-hand")
        result = migrate(lone, things.resource, MAPS, SECRETS)
        yield {"things": things, "result": result, "where": where}
        for key in orphans:
            plane.etcd.delete(key)

    def test_one_in_a_missing_namespace_is_reported_as_failed(self, odd: dict[str, Any]) -> None:
        resource = odd["things"].resource

        assert failures(odd["result"], resource) == {
            "nowhere/orphan": "its namespace does not exist: nothing can be written there"
        }
        assert odd["result"]["resources"][resource]["status"] == "failed"

    def test_a_config_map_in_a_missing_namespace_is_reported_as_failed(
        self, odd: dict[str, Any]
    ) -> None:
        assert failures(odd["result"], MAPS) == {
            "orphan": "its namespace does not exist: nothing can be written there"
        }
        assert odd["result"]["resources"][MAPS]["status"] == "failed"

    def test_one_whose_deletion_it_ends_is_gone(self, lone: Recorder, odd: dict[str, Any]) -> None:
        things, result = odd["things"], odd["result"]["resources"]

        assert lone.plane.etcd.get(things.key("ended")) is None
        assert result[things.resource]["gone"] == 1
        assert result[things.resource]["rewritten"] == 3

    def test_a_config_map_whose_deletion_it_ends_has_not_failed(
        self, lone: Recorder, odd: dict[str, Any]
    ) -> None:
        # An answer that holds names only does not tell that it is gone.
        assert lone.plane.etcd.get(f"/registry/{MAPS}/{odd['where']}/ended") is None
        assert "ended" not in str(failures(odd["result"], MAPS))

    @pytest.mark.parametrize("plural", [MAPS, SECRETS])
    def test_an_immutable_one_is_rewritten(
        self, lone: Recorder, odd: dict[str, Any], plural: str
    ) -> None:
        stored = lone.plane.etcd.get(f"/registry/{plural}/{odd['where']}/fixed")

        assert stored
        assert stored.startswith(PROTOBUF)
        assert lone.api.get(f"/api/v1/namespaces/{odd['where']}/{plural}/fixed")["immutable"]

    def test_a_pending_migration_that_somebody_else_made_ends_with_ours(
        self, lone: Recorder, odd: dict[str, Any]
    ) -> None:
        found = lone.migrations(odd["things"].resource)

        assert len(found) == 2
        assert [conditions(one) for one in found.values()] == [{"Failed"}] * 2


class TestByHand:
    def test_a_pending_migration_that_kubectl_made_is_run_and_succeeds(
        self, lone: Recorder, things_of: Any
    ) -> None:
        # Given objects of which nobody doubts that they are stored as they should be.
        things: Things = things_of("ordereds")
        things.fill(2)
        migrate(lone, things.resource)
        # When somebody asks for a migration all the same.
        target = {"group": GROUP, "version": "v1", "resource": things.plural}
        kind = {"apiVersion": "migration.k8s.io/v1alpha1", "kind": "StorageVersionMigration"}
        document = {**kind, "metadata": {"name": "ordered"}, "spec": {"resource": target}}
        kubectl(lone, "create", "-f", "-", data=document)
        result = migrate(lone, things.resource)

        # Then it is run, and says so.
        waited = kubectl(
            lone,
            "wait",
            "--for=condition=Succeeded",
            "--timeout=10s",
            "storageversionmigrations.migration.k8s.io/ordered",
        )
        assert "condition met" in waited
        assert result["totals"]["listed"] == 2


class TestDeletedMeanwhile:
    def test_what_is_deleted_after_it_was_listed_is_gone_and_has_not_failed(
        self, lone: Recorder, admin: User, proxy: Proxy, things_of: Any
    ) -> None:
        # Given a run that has read the names, and goes through them slowly.
        things: Things = things_of("fleetings")
        things.fill(12)
        things.store_as("v2")
        options = {"kubeconfig": proxy.kubeconfig(admin), "max_qps": 5}
        with running(lone, things.resource, **options) as run:
            eventually(lambda: proxy.count("PATCH", f"/{things.plural}/") > 0, within=60)
            # When all are deleted.
            lone.api.delete(things.path())
            result = run.result()

        # Then those that it had not come to are gone.
        assert not result.get("failed"), result
        assert result["totals"]["gone"] > 0
        assert result["totals"]["gone"] + result["totals"]["rewritten"] == 12


class TestStopped:
    """A run that was stopped goes on where it was, also where its token has expired since."""

    COUNT = 600
    PAGE = 50

    @pytest.fixture(scope="class")
    @classmethod
    def runs(
        cls,
        lone: Recorder,
        admin: User,
        things_of: Any,
        tmp_path_factory: pytest.TempPathFactory,
    ) -> dict[str, Any]:
        """Two runs that are stopped, and one that goes on when the token has expired."""
        things: Things = things_of("longs")
        things.fill(cls.COUNT)
        things.store_as("v2")
        writes = things.writes()
        file = tmp_path_factory.mktemp("metrics") / "lockstep.prom"
        runs: dict[str, Any] = {"things": things, "file": file}
        with pytest.MonkeyPatch.context() as patch, passing(lone) as proxy:
            patch.setattr(pages, "LIST_PAGE", cls.PAGE)
            always = {"kubeconfig": proxy.kubeconfig(admin), "metrics_file": file}

            def run(**options: Any) -> dict[str, Any]:
                before = proxy.count("PATCH", f"/{things.plural}/")
                result = migrate(lone, things.resource, **always, **options)
                (migration,) = lone.migrations(things.resource).values()
                patches = proxy.count("PATCH", f"/{things.plural}/") - before
                return {"result": result, "migration": migration, "patches": patches}

            runs["stopped"] = run(max_qps=60, stop_after=4)
            runs["again"] = run(max_qps=60, stop_after=4)
            lone.plane.etcd.compact(lone.plane.etcd.revision())
            expired = proxy.count("GET", things.plural, status=410)
            runs["last"] = run()
            runs["expired"] = proxy.count("GET", things.plural, status=410) - expired
        after = things.writes()
        runs["written"] = Counter(after[key] - writes[key] for key in writes)
        return runs

    def test_it_fails_as_unfinished(self, runs: dict[str, Any]) -> None:
        result = runs["stopped"]["result"]

        assert result["failed"]
        assert result["unfinished"]
        assert result["resources"][runs["things"].resource]["status"] == "unfinished"
        assert "run the task again" in result["msg"].lower()

    def test_the_migration_runs_and_tells_where_it_is(self, runs: dict[str, Any]) -> None:
        migration = runs["stopped"]["migration"]

        assert conditions(migration) == {"Running"}
        progress = migration["status"]["progress"]
        assert 0 < progress["rewritten"] < self.COUNT
        token = migration["spec"].get("continueToken", "")
        assert progress["resume"]["continueToken"] == token
        # Also where no page was finished, as on a busy machine, it is known which objects are done.
        assert token or progress["resume"]["after"]

    def test_the_next_run_goes_on_there(self, runs: dict[str, Any]) -> None:
        done = runs["stopped"]["migration"]["status"]["progress"]["resume"]["counts"]["listed"]
        reached = runs["again"]["migration"]["status"]["progress"]["resume"]["counts"]["listed"]

        assert runs["again"]["result"]["unfinished"]
        assert 0 < done < reached < self.COUNT
        # What was under way in a page when it was stopped is done once more.
        assert runs["again"]["patches"] <= reached - done + self.PAGE

    def test_an_expired_token_does_not_make_it_start_over(self, runs: dict[str, Any]) -> None:
        resource = runs["things"].resource
        reached = runs["again"]["migration"]["status"]["progress"]["resume"]["counts"]["listed"]
        last = runs["last"]

        assert runs["expired"] == 1
        assert not last["result"].get("failed"), last["result"]
        assert last["result"]["resources"][resource]["listed"] == self.COUNT
        assert last["patches"] == self.COUNT - reached

    def test_all_is_stored_anew_and_nothing_twice(self, runs: dict[str, Any]) -> None:
        assert runs["things"].stored() == {"v2": self.COUNT}
        assert runs["written"] == {1: self.COUNT}

    def test_the_metrics_count_what_each_run_did(self, runs: dict[str, Any]) -> None:
        labels = f'{{backend="direct",resource="{runs["things"].resource}"}}'
        metric = f"lockstep_migrated_objects_total{labels} "

        lines = runs["file"].read_text().splitlines()

        (counted,) = (float(one.removeprefix(metric)) for one in lines if one.startswith(metric))
        # The page that was under way at each of the two stops was visited once more.
        assert self.COUNT <= counted <= self.COUNT + 2 * self.PAGE

    def test_kubectl_waits_for_it(self, lone: Recorder, runs: dict[str, Any]) -> None:
        name = runs["last"]["migration"]["metadata"]["name"]

        waited = kubectl(
            lone,
            "wait",
            "--for=condition=Succeeded",
            "--timeout=10s",
            f"storageversionmigrations.migration.k8s.io/{name}",
        )

        assert "condition met" in waited

    def test_it_is_proved_and_recorded(self, lone: Recorder, runs: dict[str, Any]) -> None:
        resource = runs["things"].resource

        assert runs["last"]["result"]["resources"][resource]["verified"]
        assert lone.persisted(resource) == [lone.shown_hash(resource)]


class TestDeletedMigration:
    def test_the_run_stops_within_seconds(self, lone: Recorder, things_of: Any) -> None:
        # Given a run that will take half a minute.
        things: Things = things_of("unwanteds")
        things.fill(60)
        things.store_as("v2")
        with running(lone, things.resource, max_qps=2) as run:
            eventually(lambda: things.stored()["v2"] > 0, within=60)
            # When another process deletes its migration.
            done = run_module(
                "storage_migration",
                kubeconfig=lone.kubeconfig(),
                state="absent",
                resources=[things.resource],
            )
            begun = time.monotonic()
            result = run.result()

        # Then it ends, writes no more, and makes no other one.
        assert done["changed"]
        assert time.monotonic() - begun < 15
        assert result["failed"]
        assert result["resources"][things.resource]["status"] == "superseded"
        assert "was deleted while it ran" in result["msg"]
        assert lone.migrations(things.resource) == {}
        assert things.stored()["v1"] > 10


class TestAudited:
    @pytest.fixture
    def mixed(self, things_of: Any) -> Things:
        """Twenty objects, three of which are stored in the old version."""
        things: Things = things_of("mixeds")
        things.fill(3, prefix="old")
        things.store_as("v2")
        things.fill(17, prefix="new")
        return things

    def test_only_the_objects_in_another_version_are_visited(
        self, lone: Recorder, admin: User, proxy: Proxy, mixed: Things
    ) -> None:
        evidence = audited(lone, mixed.resource)

        checked = migrate(lone, mixed.resource, check=True, **evidence)
        kubeconfig = proxy.kubeconfig(admin)
        result = migrate(lone, mixed.resource, kubeconfig=kubeconfig, **evidence)

        assert checked["totals"]["would_rewrite"] == 3
        assert not result.get("failed"), result
        visited = {
            one.path.rpartition("/")[2].partition("?")[0]
            for one in proxy.requests
            if one.method == "PATCH" and f"/{mixed.plural}/" in one.path
        }
        assert visited == {"old-0000", "old-0001", "old-0002"}
        assert mixed.stored() == {"v2": 20}
        assert result["totals"]["rewritten"] == 3
        assert lone.persisted(mixed.resource) == [lone.shown_hash(mixed.resource)]


class TestCheckMode:
    def test_it_tells_how_many_objects_it_would_visit_and_writes_nothing(
        self, lone: Recorder, things_of: Any
    ) -> None:
        things: Things = things_of("checkeds")
        things.fill(7)
        things.store_as("v2")
        revision = written_revision(lone, things)

        result = migrate(lone, things.resource, check=True)

        assert result["changed"]
        assert result["totals"]["would_visit"] == 7
        assert result["totals"]["would_rewrite"] == "Unknown"
        assert result["resources"][things.resource]["status"] == "planned"
        assert written_revision(lone, things) == revision
        assert lone.migrations(things.resource) == {}
        assert things.resource not in lone.states()


def written_revision(recorder: Recorder, things: Things) -> list[int]:
    """The revisions at which the objects were last written."""
    objects = recorder.api.get(things.path())["items"]
    return [int(one["metadata"]["resourceVersion"]) for one in objects]


class TestMetrics:
    @pytest.fixture(scope="class")
    @classmethod
    def runs(
        cls, lone: Recorder, things_of: Any, tmp_path_factory: pytest.TempPathFactory
    ) -> dict[str, Any]:
        """Three runs for two generations of encryption keys."""
        things: Things = things_of("counteds")
        things.fill(4)
        file = tmp_path_factory.mktemp("metrics") / "lockstep.prom"
        runs: dict[str, Any] = {"things": things, "file": file}
        for name, generation in (("first", "key1"), ("second", "key2"), ("third", "key2")):
            runs[name] = migrate(
                lone,
                things.resource,
                scope="all",
                encryption_generation=generation,
                metrics_file=file,
            )
            assert not runs[name].get("failed"), runs[name]
        return runs

    def test_other_keys_have_all_rewritten_again_and_the_same_ones_do_not(
        self, runs: dict[str, Any]
    ) -> None:
        visited = [runs[name]["totals"]["listed"] for name in ("first", "second", "third")]

        assert visited == [4, 4, 0]
        assert [runs[name]["changed"] for name in ("second", "third")] == [True, False]

    def test_counters_add_up_over_runs(self, runs: dict[str, Any]) -> None:
        resource = runs["things"].resource
        lines = runs["file"].read_text().splitlines()

        labels = f'{{backend="direct",resource="{resource}"}}'
        assert f"lockstep_migrated_objects_total{labels} 8.0" in lines
        labels = f'{{resource="{resource}",status="succeeded"}}'
        assert f"lockstep_migrations_total{labels} 2.0" in lines

    def test_a_file_that_can_t_be_written_is_named_before_anything_is_done(
        self, lone: Recorder, things_of: Any
    ) -> None:
        things: Things = things_of("uncounteds")
        things.fill(1)
        things.store_as("v2")

        result = migrate(lone, things.resource, metrics_file="/no/such/directory/lockstep.prom")

        assert result["failed"]
        assert "The option metrics_file names /no/such/directory/lockstep.prom" in result["msg"]
        assert things.stored() == {"v1": 1}


class TestWrongOptions:
    @pytest.mark.parametrize(
        ("option", "value", "text"),
        [
            ("watch_every", 31, "The option watch_every is 31"),
            ("watch_every", 0, "The option watch_every is 0"),
            ("max_qps", 0, "The option max_qps is 0"),
            ("max_bandwidth", -1, "The option max_bandwidth is -1"),
            ("connections", 0, "The option connections is 0"),
            ("retries", -1, "The option retries is -1"),
            ("stop_after", -5, "The option stop_after is -5"),
        ],
    )
    def test_each_is_named_with_its_value(
        self, lone: Recorder, option: str, value: float, text: str
    ) -> None:
        result = migrate(lone, MAPS, **{option: value})

        assert result["failed"]
        assert text in result["msg"]

    def test_events_are_refused_by_name(self, lone: Recorder) -> None:
        result = migrate(lone, "events")

        assert result["failed"]
        assert "events can't be migrated" in result["msg"]

    def test_a_resource_that_does_not_exist_is_refused_by_name(self, lone: Recorder) -> None:
        result = migrate(lone, "nosuchthings.example.com")

        assert result["failed"]
        assert "nosuchthings.example.com" in result["msg"]
