"""`storage_audit`: what is counted is what is in etcd, and nothing but names gets out."""

from __future__ import annotations

import base64
import json
import os
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide import keys
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.errors import (
    LockstepError,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.increments import Source
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe import etcd as wire
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe import store as reading
from lab import binaries
from lab.ansible import look, run_module, run_playbook, tasks
from lab.api import Api
from lab.control_plane import ControlPlane, PrivateNetwork, ServerSpec, control_plane
from lab.etcd import EtcdStore, stored_version
from lab.load_balancer import LoadBalancer
from lab.objects import CRDS, crd
from lab.pki import CertificateAuthority
from lab.processes import Process
from lab.waiting import eventually

CANARY = "canary-4b1d7e"
WIDGETS = "/apis/example.com/{}/widgets"
TRANSPORTS = ("grpc", "gateway")
STORED_AS_JSON = "configmaps/default/by-hand"
GARBAGE = "configmaps/default/garbage"

Start = Callable[..., ControlPlane]


def connection(store: EtcdStore) -> dict[str, Any]:
    return {
        "endpoints": [store.url],
        "ca_cert": store.ca,
        "client_cert": store.certificate,
        "client_key": store.key,
    }


def audit(store: EtcdStore, **options: Any) -> Any:
    result = run_module("storage_audit", **{**connection(store), **options})
    assert not result.get("failed"), result["msg"]
    assert result["changed"] is False
    return result


def secret(name: str) -> dict[str, Any]:
    data = {"password": base64.b64encode(CANARY.encode()).decode()}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "data": data}


def config_map(name: str) -> dict[str, Any]:
    metadata = {"name": name, "annotations": {"note": CANARY}}
    data = {CANARY: CANARY * 20}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def widget(name: str, version: str) -> dict[str, Any]:
    return {
        "apiVersion": f"example.com/{version}",
        "kind": "Widget",
        # Comes before apiVersion where names are sorted.
        "alpha": {"note": CANARY},
        "metadata": {"name": name},
    }


def store_as(plane: ControlPlane, version: str) -> None:
    """Let widgets be stored in another version from now on."""
    versions = crd("widgets", "example.com", storage=version)["spec"]["versions"]
    plane.api.patch(f"{CRDS}/widgets.example.com", {"spec": {"versions": versions}})

    def written_so() -> bool:
        path = WIDGETS.format("v1")
        plane.api.create(path, widget("probe", "v1"))
        stored = plane.etcd.get("/registry/example.com/widgets/probe")
        plane.api.delete(f"{path}/probe")
        return f'"example.com/{version}"'.encode() in (stored or b"")

    eventually(written_so, within=30)


@pytest.fixture(scope="module")
def populated(network: PrivateNetwork) -> Iterator[ControlPlane]:
    """A server with objects in several versions and encodings, and keys that are no objects."""
    spec = ServerSpec().with_storage_version_api()
    with control_plane(spec, network=network) as plane:
        plane.create_crds(crd("widgets", "example.com", storage="v1"))
        api = plane.api
        for number in range(7):
            api.create(WIDGETS.format("v1"), widget(f"old-{number}", "v1"))
        store_as(plane, "v2")
        for number in range(5):
            api.create(WIDGETS.format("v2"), widget(f"new-{number}", "v2"))
        namespaced = "/api/v1/namespaces/default"
        api.populate(f"{namespaced}/configmaps", lambda n: config_map(f"map-{n}"), 40)
        api.populate(f"{namespaced}/secrets", lambda n: secret(f"secret-{n}"), 6)
        by_hand = config_map("by-hand")
        by_hand["metadata"]["namespace"] = "default"
        plane.etcd.put(f"/registry/{STORED_AS_JSON}", json.dumps(by_hand, indent=2).encode())
        yield plane


@pytest.fixture
def damaged(populated: ControlPlane) -> Iterator[ControlPlane]:
    """The same with values that nobody can decode, and keys of no resource."""
    whole = populated.etcd.get("/registry/configmaps/default/map-1")
    assert whole
    stray = {
        f"/registry/{GARBAGE}": CANARY.encode(),
        "/registry/configmaps/default/cut": whole[: len(whole) // 2],
        "/registry/configmaps/default/empty": b"",
        "/registry/example.com/widgets/cut": b'{"apiVersion":"example.com/v1","kind":"Widget",',
        "/registry/sprockets/default/one": json.dumps(widget("one", "v9")).encode(),
        "/registry/wardle.example.com/wardle.example.com/flunders/default/a": whole,
    }
    for key, value in stray.items():
        populated.etcd.put(key, value)
    yield populated
    for key in stray:
        populated.etcd.delete(key)


def served(api: Api) -> dict[str, str]:
    """Every resource that can be listed and is stored, with its path."""
    paths = [f"/api/{version}" for version in api.get("/api")["versions"]]
    for group in api.get("/apis")["groups"]:
        paths += [f"/apis/{version['groupVersion']}" for version in group["versions"]]
    found: dict[str, str] = {}
    for path in paths:
        group = path.split("/")[2] if path.startswith("/apis/") else ""
        for resource in api.get(path)["resources"]:
            if resource.get("storageVersionHash") and "list" in resource["verbs"]:
                name = f"{resource['name']}.{group}" if group else resource["name"]
                found.setdefault(name, f"{path}/{resource['name']}")
    return found


class TestCounts:
    @pytest.mark.parametrize("transport", TRANSPORTS)
    def test_every_resource_has_as_many_keys_as_the_api_lists_objects(
        self, populated: ControlPlane, transport: str
    ) -> None:
        result = audit(populated.etcd, transport=transport, page_size=50)

        listed = {
            name: len(populated.api.get(path)["items"])
            for name, path in served(populated.api).items()
        }
        counted = {
            name: one["keys"]
            for resource, one in result["resources"].items()
            for name in (resource, *one["shared_with"])
        }
        assert counted == {name: count for name, count in listed.items() if count}
        assert result["transport"] == transport
        assert not result["unmapped"]

    @pytest.mark.parametrize("transport", TRANSPORTS)
    def test_an_audit_equals_a_walk_over_the_keys(
        self, damaged: ControlPlane, transport: str
    ) -> None:
        result = audit(damaged.etcd, transport=transport, page_size=17)

        stored = dict(damaged.etcd.items("/registry/"))
        sound = {
            key: stored_version(value)
            for key, value in stored.items()
            if key.rpartition("/")[2] not in ("garbage", "cut", "empty")
        }
        counted = [
            *result["resources"].values(),
            *result["internal"].values(),
            *result["unmapped"].values(),
        ]
        assert versions_in(counted) == Counter(sound.values())
        assert result["totals"]["undecodable_keys"] == len(stored) - len(sound) == 4
        assert result["totals"]["keys"] == result["totals"]["stored_keys"] == len(stored)
        assert result["totals"]["bytes"] == sum(map(len, stored.values()))
        for resource in ("secrets", "leases.coordination.k8s.io", "widgets.example.com"):
            (where,) = keys.KeySpace("/registry").ranges([resource])
            prefix = where.start.decode()
            walked = Counter(one for key, one in sound.items() if key.startswith(prefix))
            assert versions_in([result["resources"][resource]]) == walked

    def test_versions_are_counted_by_resource(self, populated: ControlPlane) -> None:
        result = audit(populated.etcd)

        widgets = result["resources"]["widgets.example.com"]
        assert widgets["versions"] == {"example.com/v1": 7, "example.com/v2": 5}
        assert widgets["kinds"] == ["Widget"]
        maps = result["resources"]["configmaps"]
        assert maps["versions"] == {"v1": maps["keys"]}
        definitions = result["resources"]["customresourcedefinitions.apiextensions.k8s.io"]
        # Served as v1 only, and stored as this to the present day.
        assert set(definitions["versions"]) == {"apiextensions.k8s.io/v1beta1"}
        assert result["verdict"] == "mixed"
        line = "  widgets.example.com: 7 in example.com/v1, 5 in example.com/v2."
        assert line in result["summary"]

    def test_what_api_servers_keep_for_themselves_is_internal(
        self, populated: ControlPlane
    ) -> None:
        internal = audit(populated.etcd)["internal"]

        assert internal["ranges"]["kinds"] == ["RangeAllocation"]
        assert internal["masterleases"]["keys"] == 1

    def test_undecodable_keys_are_named(self, damaged: ControlPlane) -> None:
        result = audit(damaged.etcd)

        maps = result["resources"]["configmaps"]
        assert {one["key"]: one["why"] for one in maps["undecodable"]} == {
            f"/registry/{GARBAGE}": "it begins with no envelope that Kubernetes writes",
            "/registry/configmaps/default/cut": "it is truncated",
            "/registry/configmaps/default/empty": "it is empty",
        }
        assert maps["undecodable_keys"] == 3
        widgets = result["resources"]["widgets.example.com"]
        assert widgets["undecodable"][0]["key"] == "/registry/example.com/widgets/cut"
        assert result["verdict"] == "undecodable"

    def test_keys_of_no_resource_are_not_guessed_at(self, damaged: ControlPlane) -> None:
        result = audit(damaged.etcd)

        assert set(result["unmapped"]) == {
            "/registry/sprockets",
            "/registry/wardle.example.com/wardle.example.com",
        }
        assert result["unmapped"]["/registry/sprockets"]["versions"] == {"example.com/v9": 1}

    def test_only_chosen_resources_are_read(self, populated: ControlPlane) -> None:
        result = audit(populated.etcd, resources=["*.example.com", "secrets", "pods"])

        assert set(result["resources"]) == {"widgets.example.com", "secrets"}
        assert result["totals"]["read_keys"] == 18
        assert result["unmatched"] == ["pods"]

    def test_check_mode_reads_as_well(self, populated: ControlPlane) -> None:
        assert audit(populated.etcd, check=True)["totals"]["keys"] > 50

    def test_nothing_is_written(self, populated: ControlPlane) -> None:
        def ours() -> dict[str, bytes]:
            return {
                key: value
                for key, value in populated.etcd.items("/registry/")
                if "leases" not in key
            }

        before = ours()
        audit(populated.etcd)
        assert ours() == before


def versions_in(counted: list[Any]) -> Counter[str]:
    return sum((Counter(one["versions"]) for one in counted), Counter())


class TestOutdated:
    def test_what_the_servers_would_write_otherwise_is_named(self, populated: ControlPlane) -> None:
        stale = "/registry/configmaps/default/stale"
        populated.etcd.put(stale, json.dumps({"apiVersion": "v0", "kind": "ConfigMap"}).encode())
        try:
            result = audit(populated.etcd, encodings=look(populated)["resources"])
        finally:
            populated.etcd.delete(stale)

        outdated = {
            name: (one["outdated"], one["outdated_complete"])
            for name, one in result["resources"].items()
            if one["outdated_keys"]
        }
        assert outdated == {
            "widgets.example.com": ([f"old-{number}" for number in range(7)], True),
            "configmaps": (["default/stale"], True),
        }
        assert all(one["outdated_complete"] for one in result["resources"].values())

    def test_a_list_that_was_cut_is_said_to_be(self, populated: ControlPlane) -> None:
        encodings = {"widgets.example.com": "example.com/v2"}

        result = audit(populated.etcd, encodings=encodings, outdated_limit=3)

        widgets = result["resources"]["widgets.example.com"]
        assert widgets["outdated"] == ["old-0", "old-1", "old-2"]
        assert widgets["outdated_keys"] == 7
        assert widgets["outdated_complete"] is False
        assert "outdated" not in result["resources"]["configmaps"]


class TestNames:
    """R11: names only."""

    @pytest.mark.parametrize("transport", TRANSPORTS)
    def test_no_value_gets_out(self, damaged: ControlPlane, transport: str) -> None:
        encodings = {"widgets.example.com": "example.com/v2", "configmaps": "v0"}
        options = {**connection(damaged.etcd), "transport": transport, "encodings": encodings}
        task = {"lockstep.kubernetes.storage_audit": options}

        done = run_playbook(tasks(task), "-vvvv")

        assert done.returncode == 0, done.stdout
        assert "undecodable" in done.stdout
        hidden = base64.b64encode(CANARY.encode()).decode().rstrip("=")
        for text in (CANARY, hidden, hidden[4:12]):
            assert text not in done.stdout + done.stderr


class TestKeyTable:
    @pytest.mark.parametrize("release", binaries.RELEASES)
    def test_every_resource_is_read_where_the_table_says(self, start: Start, release: str) -> None:
        """A value that is none, put where a resource is said to be, makes listing it fail."""
        plane = start(
            ServerSpec(
                release=release,
                feature_gates={"AllAlpha": True, "AllBeta": True},
                runtime_config={"api/all": True},
                arguments=["--watch-cache=false"],
            )
        )
        api, space = plane.servers["cp-1"].api, keys.KeySpace("/registry")
        resources = served(api)
        for resource, path in resources.items():
            (where,) = space.ranges([resource])
            stray = where.start.decode() + "stray"
            assert api.answers(path), resource
            plane.etcd.put(stray, b"garbage")
            assert not api.answers(path), f"{resource} is not read from {where.start!r}"
            plane.etcd.delete(stray)
            place = space.place(stray.encode())
            assert resource in (place.name, *keys.shared_with(place.name))
        assert len(resources) > 65


class TestPrefix:
    def test_another_prefix_is_read(self, start: Start) -> None:
        plane = start(ServerSpec(arguments=["--etcd-prefix=/other/place"]))
        plane.etcd.put("/registry/pods/default/stray", b"garbage")

        result = audit(plane.etcd, etcd_prefix="other/place/")

        assert result["verdict"] == "uniform"
        assert result["resources"]["namespaces"]["keys"] == 4
        assert audit(plane.etcd)["totals"]["keys"] == 1


class TestCbor:
    def test_custom_resources_in_cbor_are_read(self, start: Start) -> None:
        spec = ServerSpec(feature_gates={"CBORServingAndStorage": True})
        plane = start(spec)
        plane.create_crds(crd("widgets", "example.com", storage="v1"))
        plane.api.create(WIDGETS.format("v1"), widget("one", "v1"))
        stored = plane.etcd.get("/registry/example.com/widgets/one")
        assert stored
        assert stored.startswith(b"\xd9\xd9\xf7")

        widgets = audit(plane.etcd)["resources"]["widgets.example.com"]

        assert widgets["versions"] == {"example.com/v1": 1}
        assert widgets["undecodable_keys"] == 0


class TestEncryption:
    @pytest.mark.parametrize("provider", ["aescbc", "secretbox"])
    def test_secrets_are_counted_by_the_key_that_wrote_them(
        self, start: Start, provider: str
    ) -> None:
        plane = start()
        file = plane.directory / "encryption.yaml"

        def configure(*names: str) -> None:
            entries = [
                {"name": name, "secret": base64.b64encode(name.ljust(32).encode()).decode()}
                for name in names
            ]
            providers = [{provider: {"keys": entries}}, {"identity": {}}]
            resources = [{"resources": ["secrets"], "providers": providers}]
            kind = {"apiVersion": "apiserver.config.k8s.io/v1", "kind": "EncryptionConfiguration"}
            file.write_text(json.dumps({**kind, "resources": resources}))

        path = "/api/v1/namespaces/default/secrets"
        (server,) = plane.add_servers(ServerSpec())
        plane.api.create(path, secret("plain"))
        spec = ServerSpec(arguments=[f"--encryption-provider-config={file}"])
        configure("first")
        server.restart(spec)
        for number in range(3):
            plane.api.create(path, secret(f"by-first-{number}"))
        configure("second", "first")
        server.restart(spec)
        for number in range(2):
            plane.api.create(path, secret(f"by-second-{number}"))

        result = audit(plane.etcd)

        secrets = result["resources"]["secrets"]
        assert secrets["encryption"] == {
            f"{provider}:v1:first": 3,
            f"{provider}:v1:second": 2,
            "identity": 1,
        }
        assert secrets["versions"] == {"Unknown": 5, "v1": 1}
        assert secrets["undecodable_keys"] == 0
        assert result["verdict"] == "unknown"


class TestManifest:
    def test_all_is_taken_from_a_static_pod(self, start: Start, tmp_path: Path) -> None:
        plane = start(ServerSpec(arguments=["--etcd-prefix=/other"]))
        manifest = tmp_path / "kube-apiserver.yaml"
        flags = {
            "etcd-servers": plane.etcd.url,
            "etcd-cafile": plane.etcd.ca,
            "etcd-certfile": plane.etcd.certificate,
            "etcd-keyfile": plane.etcd.key,
            "etcd-prefix": "/other",
            "etcd-servers-overrides": "/events#https://192.0.2.250:2379",
        }
        lines = [f"    - --{name}={value}" for name, value in flags.items()]
        head = ["spec:", "  containers:", "  - command:", "    - kube-apiserver"]
        manifest.write_text("\n".join([*head, *lines]) + "\n")

        result = run_module("storage_audit", manifest=manifest)

        assert result["resources"]["namespaces"]["keys"] == 4
        assert result["elsewhere"] == ["events"]
        assert "keep events in another etcd" in result["notes"][0]
        assert "https://192.0.2.250:2379: " in result["notes"][0]

    @pytest.mark.parametrize(
        ("content", "says"),
        [(None, "No such file"), ("kind: Pod\n", "no flag --etcd-servers")],
    )
    def test_a_manifest_that_tells_nothing_is_named(
        self, tmp_path: Path, content: str | None, says: str
    ) -> None:
        manifest = tmp_path / "manifest.yaml"
        if content:
            manifest.write_text(content)

        assert_told(run_module("storage_audit", manifest=manifest), says, "endpoints")


class TestIncrement:
    @pytest.mark.parametrize("transport", TRANSPORTS)
    def test_only_what_changed_is_read_and_counts_are_exact(
        self, start: Start, transport: str
    ) -> None:
        plane = start()
        prefix = "/registry/example.com/widgets"
        stored = {
            f"{prefix}/w-{number:04}": json.dumps(widget(f"w-{number:04}", "v1")).encode()
            for number in range(1600)
        }
        plane.etcd.put_all(stored)
        options = {"transport": transport, "encodings": {"widgets.example.com": "example.com/v2"}}
        full = audit(plane.etcd, **options, outdated_limit=0)

        changed = {"w-0005": "v2", "w-1510": "v2", "x-new": "v2", "w-1599": "v1"}
        for name, version in changed.items():
            plane.etcd.put(f"{prefix}/{name}", json.dumps(widget(name, version)).encode())
        plane.etcd.delete(f"{prefix}/w-0100")
        # Whether etcd still has the earlier revision does not matter.
        plane.etcd.compact(plane.etcd.revision())
        again = audit(plane.etcd, **options, outdated_limit=0, since=full)

        assert again["incremental"]
        # Of four stretches the first and the last.
        assert again["totals"]["read_keys"] == 499 + 101
        assert again["totals"]["stored_keys"] == 1600
        assert again["revision"] > full["revision"]
        widgets = again["resources"]["widgets.example.com"]
        assert widgets["versions"] == {"example.com/v1": 1597, "example.com/v2": 3}
        assert again["notes"] == []
        third = audit(plane.etcd, **options, outdated_limit=0, since=again["since"])
        assert third["totals"]["read_keys"] == 0
        exact = audit(plane.etcd, **options)["resources"]
        assert audit(plane.etcd, **options, since=third)["resources"] == exact
        assert exact["widgets.example.com"]["outdated_complete"]

    def test_a_state_can_be_taken_further_on_another_way(self, populated: ControlPlane) -> None:
        full = audit(populated.etcd, resources=["configmaps"], transport="grpc")

        again = audit(populated.etcd, resources=["configmaps"], transport="gateway", since=full)

        assert again["totals"]["read_keys"] == 0
        assert again["resources"] == full["resources"]

    def test_an_audit_of_something_else_is_not_built_on(self, populated: ControlPlane) -> None:
        full = audit(populated.etcd, resources=["secrets"])

        result = audit(populated.etcd, since=full["since"])

        assert not result["incremental"]
        assert "the earlier audit is of other resources" in result["notes"][0]

    def test_what_is_no_audit_is_refused(self, populated: ControlPlane) -> None:
        options = {**connection(populated.etcd), "since": "something"}

        assert_told(run_module("storage_audit", **options), "since holds no state", "leave since")


def reader_of(store: EtcdStore, **more: Any) -> reading.EtcdReader:
    access = {
        "endpoints": (store.url,),
        "ca_cert": str(store.ca),
        "client_cert": str(store.certificate),
        "client_key": str(store.key),
    }
    within = keys.KeySpace("/registry").whole
    return reading.EtcdReader(wire.EtcdAccess(**{**access, **more}), within)


class TestReading:
    @pytest.mark.parametrize("transport", TRANSPORTS)
    def test_compaction_while_reading_does_not_stop_it(
        self, populated: ControlPlane, transport: str
    ) -> None:
        reader = reader_of(populated.etcd, transport=transport)
        source = reader.open()
        wanted = populated.etcd.keys("/registry/configmaps/")
        read = []
        pages = reader.pages(keys.below(b"/registry/configmaps/"), page_size=5)
        for number, (_range, page) in enumerate(pages):
            read += [key.decode() for key, _revision, _value in page.items]
            if number == 1:
                populated.etcd.put("/unrelated", b"x")
                populated.etcd.compact(populated.etcd.revision())
        reader.close()

        assert read == wanted
        assert reader.later_revisions
        assert reader.later_revisions[0] > source.revision

    @pytest.mark.parametrize("transport", TRANSPORTS)
    def test_a_page_that_is_too_large_is_read_in_parts(
        self, start: Start, transport: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(wire, "_MESSAGE_BYTES", 200_000)
        plane = start()
        for number in range(30):
            plane.etcd.put(f"/registry/pods/default/large-{number:02}", b"x" * 50_000)
        reader = reader_of(plane.etcd, transport=transport)
        reader.open()
        pages = list(reader.pages(keys.below(b"/registry/"), page_size=100))
        reader.close()

        assert sum(page.keys for _range, page in pages) == 30

    @pytest.mark.parametrize("transport", TRANSPORTS)
    def test_a_member_that_lags_is_waited_for_and_then_told(
        self, populated: ControlPlane, transport: str
    ) -> None:
        reader = reader_of(populated.etcd, transport=transport, timeout=1.5)
        reader.open()
        # As if another member had been asked for the moment.
        reader._revision += 1_000_000
        with pytest.raises(LockstepError, match="lags behind"):
            list(reader.pages(keys.below(b"/registry/"), page_size=5))
        reader.close()

    @pytest.mark.parametrize("transport", TRANSPORTS)
    def test_another_member_is_read_when_one_stops_answering(
        self, populated: ControlPlane, network: PrivateNetwork, transport: str
    ) -> None:
        host, _colon, port = populated.etcd.url.removeprefix("https://").partition(":")
        address, own_port = network.take()
        front = LoadBalancer(address, own_port, backends=lambda: [(host, int(port))])
        reader = reader_of(
            populated.etcd,
            endpoints=(f"https://{address}:{own_port}", populated.etcd.url),
            tls_server_name=host,
            transport=transport,
        )
        reader.open()
        read = []
        pages = reader.pages(keys.below(b"/registry/configmaps/"), page_size=5)
        for number, (_range, page) in enumerate(pages):
            read += [key.decode() for key, _revision, _value in page.items]
            if number == 0:
                front.close()
                network.give_back(address)
        reader.close()

        assert read == populated.etcd.keys("/registry/configmaps/")
        assert f"went on at {populated.etcd.url}" in reader.notes[0]

    def test_members_of_different_clusters_are_told(self, populated: ControlPlane) -> None:
        reader = reader_of(populated.etcd)
        reader.open()
        reader._source = Source("another", 1, 1)
        with pytest.raises(LockstepError, match="different etcd clusters"):
            list(reader.pages(keys.below(b"/registry/"), page_size=5))
        reader.close()


def assert_told(answer: Any, says: str, remedy: str) -> None:
    assert answer["failed"]
    assert "\n" not in answer["msg"]
    assert says in answer["msg"]
    assert remedy in answer["remedy"]
    assert "exception" not in answer
    assert "Traceback" not in json.dumps(answer)


class TestNotLetIn:
    @pytest.mark.parametrize(
        ("change", "says", "remedy"),
        [
            ({"client_cert": None, "client_key": None}, "a missing certificate", "client_cert"),
            ({"client_cert": "FOREIGN", "client_key": "FOREIGN"}, "accept the client", "own CA"),
            ({"ca_cert": "FOREIGN"}, "its certificate is not trusted", "ca_cert"),
            ({"ca_cert": "/nowhere/ca.crt"}, "names '/nowhere/ca.crt'", "--etcd-cafile"),
            ({"client_key": "/nowhere/key"}, "client_key names '/nowhere/key'", "--etcd-keyfile"),
            ({"client_key": "FOREIGN"}, "does not belong to it", "--etcd-certfile"),
            ({"tls_server_name": "elsewhere"}, "certificate is not trusted", "tls_server_name"),
            ({"endpoints": ["https://192.0.2.250:2379"]}, "192.0.2.250:2379", ""),
            ({"endpoints": ["https://nowhere.invalid:2379"]}, "can't be resolved", "address"),
            ({"endpoints": ["https://a b"]}, "option endpoints", "https://HOST:2379"),
            ({"endpoints": []}, "option endpoints", "manifest"),
            ({"etcd_prefix": "/"}, "option etcd_prefix", "--etcd-prefix"),
            ({"resources": ["Pods!"]}, "option resources holds 'Pods!'", "deployments.apps"),
            ({"page_size": 0}, "option page_size is 0", "Correct it"),
            ({"outdated_limit": -1}, "option outdated_limit is -1", "Correct it"),
            ({"encodings": {"pods": 1}}, "encodings holds 1 for 'pods'", "discovery_hash"),
        ],
    )
    @pytest.mark.parametrize("transport", TRANSPORTS)
    def test_it_is_told_in_one_line(
        self,
        populated: ControlPlane,
        transport: str,
        change: dict[str, Any],
        says: str,
        remedy: str,
    ) -> None:
        authority = populated.foreign_authority
        certificate, key = authority.issue("stranger", common_name="stranger")
        foreign = {
            "client_cert": certificate,
            "client_key": key,
            "ca_cert": authority.certificate_file,
        }
        options = {
            **connection(populated.etcd),
            **{name: foreign[name] if v == "FOREIGN" else v for name, v in change.items()},
        }

        answer = run_module("storage_audit", **options, transport=transport, timeout=3)

        assert_told(answer, says, remedy)

    def test_a_port_that_nothing_listens_on_is_told(self, populated: ControlPlane) -> None:
        url = populated.etcd.url.replace("6443", "6444")

        answer = run_module("storage_audit", **{**connection(populated.etcd), "endpoints": [url]})

        assert_told(answer, "connection refused", "2379")

    def test_an_api_server_is_no_etcd(self, populated: ControlPlane) -> None:
        admin = populated.admin
        answer = run_module(
            "storage_audit",
            endpoints=[populated.servers["cp-1"].url],
            ca_cert=admin.ca,
            client_cert=admin.certificate,
            client_key=admin.key,
        )

        assert_told(answer, "is no etcd", "not that of an API server")

    def test_the_next_endpoint_is_tried(self, populated: ControlPlane) -> None:
        dead = populated.etcd.url.replace("6443", "6444")
        endpoints = [dead, populated.etcd.url]

        assert audit(populated.etcd, endpoints=endpoints)["endpoint"] == populated.etcd.url


@dataclass
class OwnEtcd:
    """An etcd with flags of the test's own."""

    store: EtcdStore
    authority: CertificateAuthority
    process: Process

    def user(self, name: str) -> EtcdStore:
        certificate, key = self.authority.issue(f"user-{name}", common_name=name)
        store = self.store
        return EtcdStore(store.url, ca=store.ca, certificate=certificate, key=key)


@contextmanager
def own_etcd(network: PrivateNetwork, directory: Path, *flags: str) -> Iterator[OwnEtcd]:
    address, port = network.take()
    authority = CertificateAuthority(directory / "pki", "own-etcd")
    certificate, key = authority.issue("server", common_name="etcd", addresses=[address])
    client, client_key = authority.issue("root", common_name="root")
    url, peer = f"https://{address}:{port}", f"http://{address}:2380"
    command = [
        binaries.find(binaries.etcd()),
        f"--data-dir={directory / 'data'}",
        f"--listen-client-urls={url}",
        f"--advertise-client-urls={url}",
        f"--listen-peer-urls={peer}",
        f"--initial-advertise-peer-urls={peer}",
        f"--initial-cluster=default={peer}",
        f"--cert-file={certificate}",
        f"--key-file={key}",
        f"--trusted-ca-file={authority.certificate_file}",
        "--client-cert-auth",
        "--unsafe-no-fsync",
        "--log-level=info",
        *flags,
    ]
    process = Process(command, log=directory / "etcd.log")
    store = EtcdStore(url, ca=authority.certificate_file, certificate=client, key=client_key)
    try:
        eventually(lambda: "ready to serve client requests" in process.tail(200), within=30)
        yield OwnEtcd(store, authority, process)
    finally:
        process.kill()
        network.give_back(address)


class TestOtherEtcds:
    def test_without_the_gateway_grpc_reads(self, network: PrivateNetwork, tmp_path: Path) -> None:
        with own_etcd(network, tmp_path, "--enable-grpc-gateway=false") as etcd:
            result = audit(etcd.store)
            answer = run_module("storage_audit", **connection(etcd.store), transport="gateway")

        assert result["transport"] == "grpc"
        assert result["totals"]["keys"] == 0
        assert result["etcd"]["members"][0]["version"] == binaries.ETCD_VERSION
        assert_told(answer, "it has no JSON gateway", "grpcio")

    def test_an_address_without_http_is_told(self, network: PrivateNetwork, tmp_path: Path) -> None:
        http = "--listen-client-http-urls=https://127.0.0.1:24790"
        with own_etcd(network, tmp_path, http) as etcd:
            result = audit(etcd.store)
            answer = run_module("storage_audit", **connection(etcd.store), transport="gateway")

        assert result["transport"] == "grpc"
        assert_told(answer, "speaks gRPC only", "grpcio")

    def test_one_that_is_frozen_is_told(self, network: PrivateNetwork, tmp_path: Path) -> None:
        with own_etcd(network, tmp_path) as etcd:
            etcd.process.freeze()
            answer = run_module("storage_audit", **connection(etcd.store), timeout=1)

        assert_told(answer, "no answer within 1 s", "frozen or cut off")

    @pytest.mark.parametrize("transport", TRANSPORTS)
    def test_one_without_tls_is_read(
        self, network: PrivateNetwork, tmp_path: Path, transport: str
    ) -> None:
        plain = "http://127.0.0.1:24791"
        flags = (f"--listen-client-urls={plain}", f"--advertise-client-urls={plain}")
        with own_etcd(network, tmp_path, *flags):
            result = run_module("storage_audit", endpoints=[plain], transport=transport)
            answer = run_module("storage_audit", endpoints=[plain.replace("http", "https")])

        assert result["verdict"] == "uniform"
        assert_told(answer, "the TLS handshake failed", "https or http")

    def test_without_grpcio_the_gateway_reads(
        self, populated: ControlPlane, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "grpc.py").write_text("raise ImportError('not here')\n")
        path = os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH")]))
        monkeypatch.setenv("PYTHONPATH", path)

        result = audit(populated.etcd)
        options = connection(populated.etcd)
        answer = run_module("storage_audit", **options, transport="grpc")

        assert result["transport"] == "gateway"
        assert_told(answer, "grpcio is not on this host", "Install it")

    def test_a_user_who_may_not_read_is_told(self, network: PrivateNetwork, tmp_path: Path) -> None:
        with own_etcd(network, tmp_path) as etcd:
            call = etcd.store.call
            call("auth/user/add", {"name": "root", "password": "x"})
            call("auth/role/add", {"name": "root"})
            call("auth/user/grant", {"user": "root", "role": "root"})
            call("auth/user/add", {"name": "stranger", "password": "x"})
            call("auth/user/add", {"name": "reader", "password": "x"})
            call("auth/role/add", {"name": "reader"})
            below = {"key": _encoded("/registry/"), "range_end": _encoded("/registry0")}
            call("auth/role/grant", {"name": "reader", "perm": {**below, "permType": "READ"}})
            call("auth/user/grant", {"user": "reader", "role": "reader"})
            call("auth/enable", {})
            stranger = connection(etcd.user("stranger"))
            denied = run_module("storage_audit", **stranger)
            nameless = run_module("storage_audit", **stranger, transport="gateway")
            allowed = audit(etcd.user("reader"))

        assert_told(denied, "permission denied", "role grant")
        assert_told(nameless, "certificate's name", "grpcio")
        assert allowed["totals"]["keys"] == 0


def _encoded(key: str) -> str:
    return base64.b64encode(key.encode()).decode()


class TestProgress:
    def test_it_is_shown_while_the_store_is_read(
        self, populated: ControlPlane, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        lines: list[str] = []
        monkeypatch.setattr(reading, "_PROGRESS_SECONDS", 0.0)
        options = reading.StoreOptions(reader_of(populated.etcd).access)
        reading.audit_store(options, patterns=["*"], page_size=50, since=None, tell=lines.append)

        assert lines[-1].startswith("read ")
        assert len(lines) > 3
