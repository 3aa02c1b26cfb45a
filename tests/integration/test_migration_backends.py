"""`storage_migration`, whoever rewrites the objects: the proof is in the bytes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import pytest

from lab.api import Api
from lab.control_plane import ControlPlane, PrivateNetwork, ServerSpec, control_plane
from lab.objects import CRDS, crd
from lab.recorder import Recorder
from lab.traffic import traffic
from lab.waiting import eventually
from lab.webhooks import Webhooks, converted_crd

GROUP = "backends.example.com"
COUNT = 12
# One that is written while it is migrated, and one that waits for its finalizer to be deleted.
BUSY, DOOMED = "busy", "doomed"


@dataclass(frozen=True)
class Changing:
    """A resource whose objects are stored in one version, while servers write another by now."""

    plural: str
    group: str
    kind: str
    # The versions that its objects can be read in; they are created in the first.
    versions: tuple[str, ...]
    new: str
    spec: Mapping[str, Any]
    prefix: str
    namespace: str = ""

    @property
    def resource(self) -> str:
        return f"{self.plural}.{self.group}"

    def path(self, version: str = "") -> str:
        within = f"namespaces/{self.namespace}/" if self.namespace else ""
        return f"/apis/{self.group}/{version or self.versions[0]}/{within}{self.plural}"

    def create(self, api: Api, name: str, **metadata: Any) -> None:
        document = {
            "apiVersion": f"{self.group}/{self.versions[0]}",
            "kind": self.kind,
            "metadata": {"name": name, "labels": {"app": name}, **metadata},
            "spec": self.spec,
        }
        api.create(self.path(), document)


REQUEST = {"name": "gpu", "exactly": {"deviceClassName": "gpus"}}
CLAIMS = Changing(
    "resourceclaims",
    "resource.k8s.io",
    "ResourceClaim",
    versions=("v1",),
    new="resource.k8s.io/v1",
    spec={"devices": {"requests": [REQUEST]}},
    prefix="/registry/resourceclaims/",
    namespace="default",
)
PLAIN = Changing(
    "widgets",
    GROUP,
    "Widget",
    versions=("v1", "v2"),
    new=f"{GROUP}/v2",
    spec={"colour": "blue"},
    prefix=f"/registry/{GROUP}/widgets/",
)
CONVERTED = Changing(
    "gadgets",
    GROUP,
    "Gadget",
    versions=("v1", "v2"),
    new=f"{GROUP}/v2",
    spec={"size": 3},
    prefix=f"/registry/{GROUP}/gadgets/",
    namespace="default",
)
MAPS = "configmaps"
CUSTOM = (PLAIN, CONVERTED)
ALL = (CLAIMS, *CUSTOM)
RESOURCES = tuple(one.resource for one in ALL)


@dataclass(frozen=True)
class Way:
    """Who rewrites the objects, and which release the servers are of."""

    backend: str
    release: str = "1.36.3"

    @property
    def servers(self) -> ServerSpec:
        spec = ServerSpec(release=self.release)
        return spec.with_migration_api() if self.backend == "in_tree" else spec

    def begin(self, recorder: Recorder) -> None:
        """Start the controller, if it is one."""
        if self.backend == "in_tree":
            recorder.plane.start_in_tree_migrator(release=self.release)
        if self.backend == "migrator":
            recorder.plane.start_migrator("--kube-api-qps=200", "--kube-api-burst=500")
            recorder.wait_for_migrator()


WAYS = {
    "in-tree-1.36": Way("in_tree"),
    "in-tree-1.37": Way("in_tree", "1.37.0"),
    "migrator": Way("migrator"),
    "direct": Way("direct"),
}


@dataclass(frozen=True)
class Migrated:
    """A cluster after a migration: what was stored and could be read before, and the result."""

    way: Way
    recorder: Recorder
    stored: Mapping[str, str]
    objects: Mapping[str, Any]
    result: Any

    @property
    def plane(self) -> ControlPlane:
        return self.recorder.plane


@pytest.fixture(scope="module", params=WAYS.values(), ids=WAYS)
def migrated(request: pytest.FixtureRequest, network: PrivateNetwork) -> Iterator[Migrated]:
    """Objects that an older release stored, or an older definition, after their migration."""
    way: Way = request.param
    old = ServerSpec(emulated_version="1.34")
    with ExitStack() as stack:
        plane = stack.enter_context(control_plane(old, network=network))
        webhooks = stack.enter_context(Webhooks(plane))
        recorder = Recorder(plane)
        recorder.install()
        plane.create_crds(*definitions(webhooks, storage="v1"))
        populate(plane.api)
        for definition in definitions(webhooks, storage="v2"):
            change = {"spec": {"versions": definition["spec"]["versions"]}}
            plane.api.patch(f"{CRDS}/{definition['metadata']['name']}", change)
        plane.servers["cp-1"].restart(way.servers)
        # Definitions are served a little after the rest.
        paths = [one.path(version) for one in ALL for version in one.versions]
        eventually(lambda: all(plane.api.answers(path) for path in paths), within=30)
        way.begin(recorder)
        stored, objects = stored_versions(plane), read_objects(plane.api)
        busy = [f"{one.path()}/{BUSY}" for one in ALL]
        with traffic(plane.api, *busy):
            result = recorder.migrate(*RESOURCES, backend=way.backend)
        yield Migrated(way, recorder, stored, objects, result)


def definitions(webhooks: Webhooks, *, storage: str) -> list[dict[str, Any]]:
    return [
        crd(PLAIN.plural, GROUP, storage=storage),
        converted_crd(CONVERTED.plural, GROUP, webhooks, storage=storage, namespaced=True),
    ]


def populate(api: Api) -> None:
    for one in ALL:
        for number in range(COUNT):
            one.create(api, f"quiet-{number}")
        one.create(api, BUSY)
        one.create(api, DOOMED, finalizers=["example.com/wait"])
        api.delete(f"{one.path()}/{DOOMED}")


def stored_versions(plane: ControlPlane) -> dict[str, str]:
    return {k: v for one in ALL for k, v in plane.etcd.stored_versions(one.prefix).items()}


def read_objects(api: Api) -> dict[str, Any]:
    """All that is not written meanwhile, in every version that it is served in."""
    found = {}
    for path in (one.path(version) for one in ALL for version in one.versions):
        for item in api.get(path)["items"]:
            metadata = item["metadata"]
            del metadata["resourceVersion"], metadata["managedFields"]
            found[f"{path}/{metadata['name']}"] = item
    return {path: item for path, item in found.items() if not path.endswith(BUSY)}


class TestEveryBackend:
    def test_every_key_is_stored_in_the_new_version(self, migrated: Migrated) -> None:
        stored = stored_versions(migrated.plane)

        for one in ALL:
            before = {v for k, v in migrated.stored.items() if k.startswith(one.prefix)}
            after = {v for k, v in stored.items() if k.startswith(one.prefix)}
            assert before != {one.new}
            assert after == {one.new}
        assert list(stored) == list(migrated.stored)

    def test_every_object_is_as_it_was(self, migrated: Migrated) -> None:
        assert read_objects(migrated.plane.api) == migrated.objects

    def test_definitions_hold_the_new_version_only(self, migrated: Migrated) -> None:
        for one in CUSTOM:
            status = migrated.plane.api.get(f"{CRDS}/{one.resource}")["status"]
            assert status["storedVersions"] == ["v2"]
            assert migrated.result["resources"][one.resource]["stored_versions"] == ["v2"]

    def test_it_is_recorded_as_migrated(self, migrated: Migrated) -> None:
        recorder = migrated.recorder

        for resource in RESOURCES:
            assert recorder.persisted(resource) == [recorder.shown_hash(resource)]
            assert recorder.status(resource)["evidence"]["source"] == "migrated"

    def test_the_result_tells_who_did_it_and_that_it_is_proved(self, migrated: Migrated) -> None:
        result = migrated.result

        assert result["changed"]
        assert sorted(result["resources"]) == sorted(RESOURCES)
        for one in result["resources"].values():
            assert one["status"] == "succeeded"
            assert one["verified"]
            assert one["backend"] == migrated.way.backend
            assert one["backend_reason"] == f"backend is {migrated.way.backend}"
            assert one["attempts"] == 1
            assert one["notes"] == []

    def test_objects_are_counted_where_anybody_counts_them(self, migrated: Migrated) -> None:
        for one in migrated.result["resources"].values():
            counts = [one[key] for key in ("listed", "gone", "failed")]
            if migrated.way.backend == "direct":
                assert counts == [COUNT + 2, 0, 0]
                assert COUNT + 1 <= one["rewritten"] <= COUNT + 2
            else:
                assert counts == [None, None, None]

    def test_a_second_run_writes_no_object(self, migrated: Migrated) -> None:
        before = [list(migrated.plane.etcd.items(one.prefix)) for one in ALL]

        again = migrated.recorder.migrate(*RESOURCES, backend=migrated.way.backend)

        assert not again["changed"]
        assert again["resources"] == again["migrations"] == {}
        assert again["left_out"] == dict.fromkeys(
            RESOURCES, "all that is stored of it is in its current version"
        )
        assert [list(migrated.plane.etcd.items(one.prefix)) for one in ALL] == before


# Why each is taken where none is asked for, and what is refused where it stands.
WHY = {
    "in_tree": "storagemigration.k8s.io is served",
    "migrator": "storagemigration.k8s.io is not served, and the migrator is alive",
    "direct": "no controller that runs migrations was found",
}
OFF = "No server serves storagemigration.k8s.io. Turn it on"
REFUSALS: dict[str, list[tuple[dict[str, Any], str]]] = {
    "in_tree": [
        ({"backend": "in_tree", "max_qps": 5}, "a rate of its own and can't follow max_qps"),
    ],
    "migrator": [
        ({"backend": "in_tree"}, OFF),
        ({"backend": "direct"}, "An out-of-tree migrator is alive"),
        ({"max_qps": 5}, "An out-of-tree migrator is alive"),
    ],
    "direct": [
        ({"backend": "in_tree"}, OFF),
        ({"backend": "migrator"}, "No out-of-tree migrator answers in this cluster"),
    ],
}


class TestChoice:
    def test_auto_takes_the_first_that_is_there_and_tells_why(self, migrated: Migrated) -> None:
        # The in-tree controller would wait for traffic.
        check = migrated.way.backend == "in_tree"

        result = migrated.recorder.migrate(MAPS, check=check)

        chosen = result["resources"][MAPS]
        assert chosen["backend"] == migrated.way.backend
        assert chosen["backend_reason"] == WHY[migrated.way.backend]

    def test_what_can_t_be_had_is_refused_and_nothing_made(self, migrated: Migrated) -> None:
        before = migrated.recorder.migrations()

        for options, words in REFUSALS[migrated.way.backend]:
            result = migrated.recorder.try_to_migrate("secrets", **options)

            assert result.get("failed")
            assert words in result["msg"]
            assert result["remedy"]
        assert migrated.recorder.migrations() == before

    def test_a_rate_of_one_s_own_is_had_from_direct(self, migrated: Migrated) -> None:
        # Whether a migrator lives is not asked in check mode.
        result = migrated.recorder.migrate("secrets", max_qps=5, check=True)

        chosen = result["resources"]["secrets"]
        assert chosen["backend"] == "direct"
        assert chosen["backend_reason"] == "max_qps can be had from direct only"


class TestReencryption:
    def test_whoever_writes_it_the_servers_show_by_which_keys(self, migrated: Migrated) -> None:
        # Metrics tell nothing, as no server encrypts.
        result = migrated.recorder.migrate(
            PLAIN.resource,
            MAPS,
            backend=migrated.way.backend,
            scope="all",
            encryption_generation="key1",
        )

        assert {n: one["verified"] for n, one in result["resources"].items()} == {
            PLAIN.resource: True,
            MAPS: True,
        }
