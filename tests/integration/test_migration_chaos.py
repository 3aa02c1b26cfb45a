"""`storage_migration` under trouble: it ends, nothing is lost, and nothing is written twice.

`LOCKSTEP_LONG=1` makes more of it.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from ansible_collections.lockstep.kubernetes.plugins.module_utils._act.migrations import controllers
from lab.ansible import MODULES
from lab.api import User
from lab.control_plane import ControlPlane, PrivateNetwork, ServerSpec, control_plane
from lab.direct import count_versions, migrate, running
from lab.fixtures import Planes
from lab.objects import CRDS, crd
from lab.proxy import Proxy, cluster_admin
from lab.recorder import Recorder, conditions
from lab.waiting import eventually

GROUP = "chaos.example.com"
DEVICE_CLASSES = "/apis/resource.k8s.io/v1/deviceclasses"
BUILT_IN = "deviceclasses.resource.k8s.io"
SPEC = ServerSpec()
LONG = os.environ.get("LOCKSTEP_LONG") == "1"
KILLS = 20 if LONG else 3
FROZEN_SECONDS = 10 if LONG else 5
# A module as it is run, but that it does not wait for the answer of a migrator.
IMPATIENT = """
import importlib, runpy, sys
importlib.import_module(sys.argv.pop(1))._PROBE_SECONDS = 0.2
runpy.run_module(sys.argv.pop(1), run_name="__main__", alter_sys=True)
"""


@dataclass(frozen=True)
class Things:
    """Custom resources that were stored as v1 and are to be stored as v2."""

    plane: ControlPlane
    plural: str

    @property
    def resource(self) -> str:
        return f"{self.plural}.{GROUP}"

    @property
    def prefix(self) -> str:
        return f"/registry/{GROUP}/{self.plural}/"

    def stored(self) -> Counter[str]:
        """How many objects are stored in which version."""
        return count_versions(self.plane, self.prefix)

    def writes(self) -> dict[str, int]:
        """How often each key has been written."""
        return self.plane.etcd.writes(self.prefix)


@contextmanager
def process(recorder: Recorder, directory: Path, resource: str) -> Iterator[subprocess.Popen[str]]:
    """The same in a process of its own, which can be killed."""
    options = {"backend": "direct", "speed": "full", "resources": [resource], "settle": 0}
    arguments = directory / "arguments.json"
    document = {**options, "kubeconfig": str(recorder.kubeconfig())}
    arguments.write_text(json.dumps({"ANSIBLE_MODULE_ARGS": document}))
    command = [sys.executable, "-c", IMPATIENT, controllers.__name__]
    with subprocess.Popen(
        [*command, f"{MODULES}.storage_migration", arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as started:
        try:
            yield started
        finally:
            started.kill()


@pytest.fixture(scope="module")
def pair(network: PrivateNetwork) -> Iterator[Recorder]:
    """Two servers that agree, with our definitions."""
    with control_plane(SPEC, SPEC, network=network) as plane:
        recorder = Recorder(plane)
        recorder.install()
        yield recorder


def emulating(spec: ServerSpec) -> ServerSpec:
    """The same, but that it writes device classes as 1.34 did."""
    return replace(spec, emulated_version="1.34")


@pytest.fixture(scope="module")
def admin(pair: Recorder) -> User:
    return cluster_admin(pair.plane)


@pytest.fixture(scope="module", autouse=True)
def _no_migrator() -> Iterator[None]:
    """No out-of-tree migrator runs here, so that nobody need wait for its answer."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(controllers, "_PROBE_SECONDS", 0.2)
        yield


@pytest.fixture
def proxy(pair: Recorder) -> Iterator[Proxy]:
    with Proxy(pair.plane, pair.plane.servers["cp-1"].url) as proxy:
        yield proxy


@pytest.fixture(scope="module")
def outdated(pair: Recorder) -> Callable[[str, int], Things]:
    """Make custom resources by their plural, all of which are stored in an old version."""

    def make(plural: str, count: int) -> Things:
        plane = pair.plane
        definition = crd(plural, GROUP, storage="v1")
        plane.create_crds(definition)
        kind = {"apiVersion": f"{GROUP}/v1", "kind": definition["spec"]["names"]["kind"]}
        path = f"/apis/{GROUP}/v1/{plural}"
        plane.api.populate(path, lambda n: {**kind, "metadata": {"name": f"thing-{n:04d}"}}, count)
        versions = crd(plural, GROUP, storage="v2")["spec"]["versions"]
        plane.api.patch(f"{CRDS}/{plural}.{GROUP}", {"spec": {"versions": versions}})

        def written_so() -> bool:
            stored = []
            for server in plane.servers.values():
                server.api.create(path, {**kind, "metadata": {"name": "probe"}})
                stored += plane.etcd.stored_versions(f"/registry/{GROUP}/{plural}/probe").values()
                server.api.delete(f"{path}/probe")
            return set(stored) == {f"{GROUP}/v2"}

        eventually(written_so, within=30)
        return Things(plane, plural)

    return make


class Trouble:
    """Lets something happen to a run when it has written a number of objects."""

    def __init__(self, things: Things, count: int) -> None:
        self._things, self._count = things, count
        self._before = things.writes()

    def wait_until_written(self, number: int) -> None:
        """Wait until so many objects have been written anew."""
        eventually(lambda: self._things.stored()["v2"] >= number, within=90)

    def assert_all_written_once(self) -> None:
        after = self._things.writes()
        assert after.keys() == self._before.keys()
        grown = Counter(after[key] - before for key, before in self._before.items())
        assert self._things.stored() == {"v2": self._count}
        assert grown == {1: self._count}


class TestKilled:
    def test_runs_that_are_killed_anywhere_lose_nothing_and_write_nothing_twice(
        self, pair: Recorder, outdated: Callable[[str, int], Things], tmp_path: Path
    ) -> None:
        # Given runs that are killed when a number of writes has reached etcd, whatever they are.
        count = 2400 if LONG else 1200
        things = outdated("killeds", count)
        trouble = Trouble(things, count)
        chance = random.Random(20)
        etcd = pair.plane.etcd
        for number in range(KILLS):
            # A quick machine writes more before it is killed: half of them are left for that.
            end = etcd.revision() + chance.randint(1, count // (2 * KILLS))
            # On a starved machine all those writes may be renewed leases: the last one has begun.
            last = number == KILLS - 1
            with process(pair, tmp_path, things.resource) as run:
                while etcd.revision() < end or (last and not things.stored()["v2"]):
                    assert run.poll() is None, run.communicate()
                    time.sleep(0.01)
                run.kill()
        killed_at = things.stored()["v2"]

        # When the last one is let alone.
        result = migrate(pair, things.resource)

        # Then all is done, and every object was written once.
        assert 0 < killed_at < count
        assert not result.get("failed"), result
        assert result["totals"]["listed"] == count
        assert result["resources"][things.resource]["verified"]
        trouble.assert_all_written_once()


class TestTroubles:
    COUNT = 300

    def test_a_server_that_is_killed_and_comes_back_as_it_was_voids_nothing(
        self, pair: Recorder, admin: User
    ) -> None:
        # Given ConfigMaps as nobody stores them now, one in each namespace, and a slow way there.
        plane = pair.plane
        keys = [as_json(plane, f"space-{number}") for number in range(20)]
        before = plane.etcd.writes("/registry/configmaps/space-")
        with Proxy(plane, plane.balancer.url) as proxy:
            proxy.delay = 0.15
            options = {"kubeconfig": proxy.kubeconfig(admin), "watch_every": 1}
            with running(pair, "configmaps", **options) as run:
                eventually(lambda: proxy.count("PATCH", "/space-") > 1, within=60)
                # When a server dies, so that nobody knows what it writes, and comes back.
                plane.servers["cp-1"].kill()
                time.sleep(5)
                written = [key for key in keys if is_current(plane, key)]
                plane.servers["cp-1"].start()
                plane.servers["cp-1"].wait_ready()
                result = run.result()

        # Then it was waited for, and all is written, once.
        assert 0 < len(written) < len(keys)
        assert not result.get("failed"), result
        assert result["resources"]["configmaps"]["verified"]
        assert result["resources"]["configmaps"]["attempts"] == 1
        assert all(is_current(plane, key) for key in keys)
        after = plane.etcd.writes("/registry/configmaps/space-")
        assert {after[key] - before[key] for key in keys} == {1}

    def test_it_outlasts_an_etcd_that_is_frozen(
        self, pair: Recorder, outdated: Callable[[str, int], Things]
    ) -> None:
        things = outdated("frozens", self.COUNT)
        trouble = Trouble(things, self.COUNT)
        with running(pair, things.resource, max_qps=100, watch_every=2) as run:
            trouble.wait_until_written(50)
            pair.plane.etcd_process.freeze()
            time.sleep(FROZEN_SECONDS)
            pair.plane.etcd_process.thaw()
            result = run.result()

        assert not result.get("failed"), result
        assert result["resources"][things.resource]["verified"]
        trouble.assert_all_written_once()

    def test_it_outlasts_connections_that_are_reset(
        self, pair: Recorder, admin: User, proxy: Proxy, outdated: Callable[[str, int], Things]
    ) -> None:
        things = outdated("resets", self.COUNT)
        trouble = Trouble(things, self.COUNT)
        with running(pair, things.resource, kubeconfig=proxy.kubeconfig(admin)) as run:
            trouble.wait_until_written(1)
            proxy.reset_every = 7
            trouble.wait_until_written(self.COUNT - 50)
            proxy.calm()
            result = run.result()

        assert proxy.count("PATCH", f"/{things.plural}/", status=0) > 10
        assert not result.get("failed"), result
        trouble.assert_all_written_once()

    def test_it_outlasts_them_also_when_it_records_what_it_did(
        self, pair: Recorder, admin: User, proxy: Proxy, outdated: Callable[[str, int], Things]
    ) -> None:
        things = outdated("afters", 50)
        trouble = Trouble(things, 50)
        with running(pair, things.resource, kubeconfig=proxy.kubeconfig(admin)) as run:
            trouble.wait_until_written(1)
            proxy.reset_every = 10
            result = run.result()

        assert not result.get("failed"), result
        assert result["resources"][things.resource]["verified"]
        trouble.assert_all_written_once()

    def test_it_waits_for_the_end_of_a_storm_of_429(
        self, pair: Recorder, admin: User, proxy: Proxy, outdated: Callable[[str, int], Things]
    ) -> None:
        things = outdated("stormies", self.COUNT)
        trouble = Trouble(things, self.COUNT)
        with running(pair, things.resource, kubeconfig=proxy.kubeconfig(admin)) as run:
            trouble.wait_until_written(1)
            proxy.storm(3, retry_after=1)
            result = run.result()

        # It asks now and then, and not all the time.
        assert 0 < proxy.count("PATCH", f"/{things.plural}/", status=429) < 100
        assert not result.get("failed"), result
        trouble.assert_all_written_once()


def as_json(plane: ControlPlane, namespace: str) -> str:
    """A ConfigMap in a new namespace, stored as JSON; its key."""
    plane.api.create("/api/v1/namespaces", {"metadata": {"name": namespace}})
    path = f"/api/v1/namespaces/{namespace}/configmaps"
    document = plane.api.create(path, {"metadata": {"name": "map"}})
    del document["metadata"]["resourceVersion"]
    key = f"/registry/configmaps/{namespace}/map"
    plane.etcd.put(key, json.dumps({"apiVersion": "v1", "kind": "ConfigMap", **document}).encode())
    return key


def is_current(plane: ControlPlane, key: str) -> bool:
    """Whether a built-in object is stored as servers write it now."""
    return (plane.etcd.get(key) or b"").startswith(b"k8s\x00")


class TestDisagreement:
    """The second server changes what it writes while objects are rewritten."""

    def test_r6_another_version_that_is_seen_voids_the_migration_and_is_recorded(
        self, pair: Recorder
    ) -> None:
        # Given a slow migration of what is proved to be stored as it should be.
        server = pair.plane.servers["cp-2"]
        first = Recorder(pair.plane, through="cp-1")
        proved = populate(first)
        with running(first, BUILT_IN, max_qps=2, watch_every=2, retries=0) as run:
            eventually(lambda: under_way(first, BUILT_IN), within=60)
            # When one server comes back with another version.
            server.restart(emulating(SPEC))
            result = run.result()
        other = first.shown_hash(BUILT_IN, server="cp-2")
        server.restart(SPEC)

        # Then it is void, and both versions may be stored.
        assert other != proved
        assert result["failed"]
        assert result["resources"][BUILT_IN]["status"] == "superseded"
        assert other in result["resources"][BUILT_IN]["reason"]
        assert {proved, other} <= set(first.persisted(BUILT_IN))
        assert first.migrations(BUILT_IN) == {}

    def test_r6_there_and_back_between_two_looks_voids_it_too(self, start: Planes) -> None:
        # Given a slow migration, and much time between two looks.
        spec = SPEC.with_storage_version_api()
        plane = start(spec, spec)
        server = plane.servers["cp-2"]
        first = Recorder(plane, through="cp-1")
        first.install()
        proved = populate(first)
        with running(first, BUILT_IN, max_qps=2, watch_every=12, retries=0) as run:
            eventually(lambda: under_way(first, BUILT_IN), within=60)
            # When one server comes back with another version, writes, and comes back as it was.
            server.restart(emulating(spec))
            server.api.create(DEVICE_CLASSES, {"metadata": {"name": "between"}, "spec": {}})
            server.restart(spec)
            result = run.result()

        # Then it is void, and what was written in between is not denied.
        stored = plane.etcd.stored_versions("/registry/deviceclasses/between")
        assert list(stored.values()) == ["resource.k8s.io/v1beta2"]
        assert result["failed"]
        assert result["resources"][BUILT_IN]["status"] == "superseded"
        assert first.persisted(BUILT_IN) != [proved]


def populate(recorder: Recorder) -> str:
    """Device classes, whose hash is all that the records know; yet a migration is pending."""
    recorder.api.populate(
        DEVICE_CLASSES, lambda n: {"metadata": {"name": f"class-{n}"}, "spec": {}}, 100
    )
    recorder.observe(BUILT_IN)
    recorder.vouch(BUILT_IN)
    recorder.migrate_by_hand(BUILT_IN, name="wanted")
    return recorder.shown_hash(BUILT_IN)


def under_way(recorder: Recorder, resource: str) -> bool:
    """Whether a migration of a resource runs."""
    found = recorder.migrations(resource).values()
    return any("Running" in conditions(one) for one in found)
