"""What is in etcd: each case is a verdict that was wrong once, held against a real etcd."""

from __future__ import annotations

import json
import os
import random
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from lab import binaries
from lab.ansible import run_playbook
from lab.control_plane import PrivateNetwork
from lab.etcd import EtcdStore
from lab.etcd_cluster import EtcdCluster
from lab.etcd_proxy import EtcdProxy
from lab.recorder import Recorder, call_module
from lab.waiting import eventually

BINDINGS = "mutatingadmissionpolicybindings.admissionregistration.k8s.io"
DIRECTORY = "mutatingadmissionpolicybindings"
OLD, NEW = "admissionregistration.k8s.io/v1beta1", "admissionregistration.k8s.io/v1"
SCHEDULES = 200 if os.environ.get("LOCKSTEP_LONG") == "1" else 20
HTML = b"<html><body><h1>Sign in</h1></body></html>"


def connection(store: EtcdStore) -> dict[str, Any]:
    return {
        "endpoints": [store.url],
        "ca_cert": store.ca,
        "client_cert": store.certificate,
        "client_key": store.key,
    }


def try_audit(store: EtcdStore, **options: Any) -> Any:
    return call_module("storage_audit", **{**connection(store), "timeout": 5, **options})


def audit(store: EtcdStore, **options: Any) -> Any:
    result = try_audit(store, **options)
    assert not result.get("failed"), result["msg"]
    return result


def binding(version: str) -> bytes:
    kind = "MutatingAdmissionPolicyBinding"
    return json.dumps({"apiVersion": version, "kind": kind, "metadata": {}}).encode()


def bindings(version: str, *, prefix: str = "/registry", number: int = 5) -> dict[str, bytes]:
    return {f"{prefix}/{DIRECTORY}/b-{n}": binding(version) for n in range(number)}


@pytest.fixture(scope="module")
def clusters(
    network: PrivateNetwork, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[EtcdCluster, EtcdCluster]]:
    """Two etcds of one member each, behind one authority."""
    directory = tmp_path_factory.mktemp("etcd")
    with (
        EtcdCluster(network, directory / "first") as first,
        EtcdCluster(network, directory / "second", beside=first) as second,
    ):
        yield first, second


@pytest.fixture
def etcd(clusters: tuple[EtcdCluster, EtcdCluster]) -> EtcdStore:
    """The first of them, with nothing in it."""
    return emptied(clusters[0].store)


@pytest.fixture
def second(clusters: tuple[EtcdCluster, EtcdCluster]) -> EtcdStore:
    """The other one, with nothing in it either."""
    return emptied(clusters[1].store)


def emptied(store: EtcdStore) -> EtcdStore:
    store.call("kv/deleterange", {"key": "AA==", "range_end": "AA=="})
    return store


class TestIdentity:
    @pytest.mark.parametrize("resources", [["*"], ["leases.coordination.k8s.io"]])
    def test_an_audit_names_the_cluster_by_its_bytes(
        self, recorder: Recorder, resources: list[str]
    ) -> None:
        stored = audit(recorder.plane.etcd, resources=resources)

        namespace = recorder.api.get("/api/v1/namespaces/kube-system")["metadata"]
        assert stored["cluster"] == {
            "uid": namespace["uid"],
            "key_revision": int(namespace["resourceVersion"]),
        }

    def test_what_is_encrypted_is_known_by_its_revision(self, etcd: EtcdStore) -> None:
        etcd.put("/registry/namespaces/kube-system", b"k8s:enc:aescbc:v1:key1:hidden")

        stored = audit(etcd)

        assert stored["cluster"] == {"uid": "", "key_revision": etcd.revision()}

    def test_an_etcd_without_it_names_none(self, etcd: EtcdStore) -> None:
        assert audit(etcd)["cluster"] == {"uid": "", "key_revision": 0}


class TestKeys:
    @pytest.mark.parametrize(
        ("stray", "stored"),
        [
            (f"/registry/{DIRECTORY[:-1]}", bindings(OLD)),
            ("/registry/example.com/a", {"/registry/example.com/widgets/w": binding(OLD)}),
        ],
        ids=["beside a directory", "in a group"],
    )
    def test_a_stray_key_takes_no_other_with_it(
        self, etcd: EtcdStore, stray: str, stored: dict[str, bytes]
    ) -> None:
        etcd.put_all({stray: b"x", **stored})

        result = audit(etcd)

        (counted,) = result["resources"].values()
        assert counted["versions"] == {OLD: len(stored)}
        assert result["totals"]["unmapped_keys"] == 1


class TestManifest:
    @pytest.mark.parametrize(
        "arguments",
        [
            ["kube-apiserver --etcd-compaction-interval=0 --etcd-prefix=/other"],
            ["kube-apiserver", "--etcd-prefix", "/other"],
        ],
        ids=["one line", "two arguments"],
    )
    def test_a_prefix_is_found_however_it_is_written(
        self, etcd: EtcdStore, tmp_path: Path, arguments: list[str]
    ) -> None:
        etcd.put_all(bindings(OLD, prefix="/other"))
        manifest = tmp_path / "kube-apiserver.yaml"
        flags = [*arguments, f"--etcd-servers={etcd.url}"]
        manifest.write_text("command:\n" + "".join(f"- {one}\n" for one in flags))

        result = audit(etcd, endpoints=[], manifest=manifest)

        assert result["resources"][BINDINGS]["versions"] == {OLD: 5}


class TestOtherEtcds:
    def overrides(self, url: str) -> str:
        return f"admissionregistration.k8s.io/{DIRECTORY}#{url}"

    @pytest.fixture
    def manifest(self, etcd: EtcdStore, second: EtcdStore, tmp_path: Path) -> Path:
        """Of a server that keeps bindings in the second etcd."""
        path = tmp_path / "kube-apiserver.yaml"
        path.write_text(
            f"- --etcd-servers={etcd.url}\n"
            f"- --etcd-servers-overrides={self.overrides(second.url)}\n"
            f"- --etcd-cafile={etcd.ca}\n- --etcd-certfile={etcd.certificate}\n"
            f"- --etcd-keyfile={etcd.key}\n"
        )
        return path

    def test_what_another_etcd_holds_is_read_there(
        self, etcd: EtcdStore, second: EtcdStore, manifest: Path
    ) -> None:
        etcd.put_all({"/registry/namespaces/default": binding("v1")})
        second.put_all(bindings(OLD))

        result = call_module("storage_audit", manifest=manifest)

        assert result["resources"][BINDINGS]["versions"] == {OLD: 5}
        assert result["resources"]["namespaces"]["keys"] == 1
        assert result["elsewhere"] == []
        assert result["revisions"] == {BINDINGS: second.revision()}
        assert [store["resources"] for store in result["stores"]] == [[], [BINDINGS]]
        assert [store["endpoint"] for store in result["stores"]] == [etcd.url, second.url]

    def test_it_can_be_named_without_a_manifest(self, etcd: EtcdStore, second: EtcdStore) -> None:
        second.put_all(bindings(OLD))

        result = audit(etcd, etcd_servers_overrides=self.overrides(second.url))

        assert result["resources"][BINDINGS]["versions"] == {OLD: 5}

    def test_what_was_left_behind_is_not_taken_for_it(
        self, etcd: EtcdStore, second: EtcdStore, manifest: Path
    ) -> None:
        etcd.put_all(bindings(NEW, number=3))
        second.put_all(bindings(OLD))

        result = call_module("storage_audit", manifest=manifest)

        assert result["resources"][BINDINGS]["versions"] == {OLD: 5}
        assert result["unmapped"][f"/registry/{DIRECTORY}"]["keys"] == 3
        assert result["verdict"] == "unknown"

    def test_what_can_not_be_read_is_elsewhere_and_says_why(self, etcd: EtcdStore) -> None:
        nowhere = etcd.url.replace("6443", "6444")

        result = audit(etcd, etcd_servers_overrides=self.overrides(nowhere))

        assert result["elsewhere"] == [BINDINGS]
        assert f"{nowhere}: connection refused" in result["notes"][0]

    def test_another_address_of_the_same_etcd_holds_nothing_more(self, etcd: EtcdStore) -> None:
        etcd.put_all(bindings(OLD))

        result = audit(etcd, etcd_servers_overrides=self.overrides(etcd.url))

        assert result["resources"][BINDINGS]["versions"] == {OLD: 5}
        assert result["unmapped"] == {}

    def test_an_increment_goes_on_in_each(
        self, etcd: EtcdStore, second: EtcdStore, manifest: Path
    ) -> None:
        etcd.put_all({"/registry/namespaces/default": binding("v1")})
        second.put_all(bindings(OLD))
        before = call_module("storage_audit", manifest=manifest)
        second.put_all(bindings(NEW, number=2))

        result = call_module("storage_audit", manifest=manifest, since=before)

        assert result["incremental"]
        assert result["resources"][BINDINGS]["versions"] == {OLD: 3, NEW: 2}
        assert result["totals"]["read_keys"] == 5

    def test_a_snapshot_that_does_not_hold_all_stops(
        self, second: EtcdStore, manifest: Path, tmp_path: Path
    ) -> None:
        options = {"manifest": manifest, "path": tmp_path / "etcd.db", "verify": "digest"}

        refused = call_module("etcd_snapshot", **options)
        taken = call_module("etcd_snapshot", **options, allow_partial=True)

        assert refused["failed"]
        assert BINDINGS in refused["msg"]
        assert taken["not_held"] == [BINDINGS]
        assert any(f"NOT hold {BINDINGS}" in line for line in taken["summary"])

    def test_the_role_stops_there_too(self, manifest: Path, tmp_path: Path) -> None:
        variables = {
            "snapshot_etcd_manifest": str(manifest),
            "snapshot_path": str(tmp_path / "etcd.db"),
            "snapshot_verify": "digest",
        }
        role = {"role": "lockstep.kubernetes.snapshot"}
        play = [{"hosts": "localhost", "gather_facts": False, "roles": [role]}]

        done = run_playbook(play, variables=variables)

        assert done.returncode != 0
        assert "would not hold all" in done.stdout
        assert not (tmp_path / "etcd.db").exists()


class TestIncrements:
    def test_a_restored_backup_is_seen_for_what_it_holds(
        self, network: PrivateNetwork, tmp_path: Path
    ) -> None:
        with EtcdCluster(network, tmp_path / "etcd") as cluster:
            store = cluster.store
            store.put_all(bindings(OLD))
            cluster.save(tmp_path / "backup.db")
            store.put_all(bindings(NEW))
            migrated = audit(store)
            cluster.restore(tmp_path / "backup.db", bump_revision=1_000_000)

            result = audit(store, since=migrated)

        assert migrated["resources"][BINDINGS]["versions"] == {NEW: 5}
        assert result["cluster_id"] == migrated["cluster_id"]
        assert result["revision"] > migrated["revision"]
        assert result["resources"][BINDINGS]["versions"] == {OLD: 5}

    def test_a_key_that_was_written_again_is_counted_once(self, etcd: EtcdStore) -> None:
        etcd.put_all(bindings(OLD))
        before = audit(etcd)
        etcd.put_all(bindings(NEW))
        etcd.delete(f"/registry/{DIRECTORY}/b-0")

        result = audit(etcd, since=before)

        assert result["incremental"]
        assert result["resources"][BINDINGS]["versions"] == {NEW: 4}


@pytest.fixture(scope="module")
def three_members(
    network: PrivateNetwork, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[EtcdCluster]:
    with EtcdCluster(network, tmp_path_factory.mktemp("three"), size=3) as cluster:
        yield cluster


@pytest.fixture
def healthy(three_members: EtcdCluster) -> Iterator[EtcdCluster]:
    """Three members that agree, to be disturbed at will."""
    three_members.wait_ready()
    yield three_members
    for member in three_members.members:
        member.heal()


class TestBelief:
    def test_every_voter_is_asked(self, healthy: EtcdCluster) -> None:
        result = audit(healthy.store)

        assert result["believable"]
        members = result["etcd"]["members"]
        assert sorted(one["name"] for one in members) == ["m1", "m2", "m3"]
        assert {one["version"] for one in members} == {binaries.ETCD_VERSION}
        assert all(one["voter"] and one["revision"] == result["revision"] for one in members)

    def test_a_sound_version_does_not_need_all(self, healthy: EtcdCluster) -> None:
        healthy.members[2].freeze()

        result = audit(healthy.store, timeout=3)

        assert result["believable"]
        assert any("m3: it does not answer" in fault for fault in result["etcd"]["faults"])

    def test_with_stale_reads_a_silent_voter_makes_it_unknown(self, healthy: EtcdCluster) -> None:
        def older(path: str, body: bytes) -> bytes:
            return body.replace(b"3.6.16", b"3.5.21") if path == "/version" else body

        healthy.members[2].freeze()
        with EtcdProxy(healthy.store, change_bytes=older) as proxy:
            options = {"endpoints": [proxy.url], "transport": "gateway", "timeout": 3}
            result = audit(healthy.store, **options)

        assert (result["verdict"], result["believable"]) == ("unknown", False)
        assert "voting member m3" in result["reasons"][0]
        assert "etcd/issues/20418" in result["reasons"][0]

    def test_a_stale_read_is_outdone_by_what_the_voters_have(self, healthy: EtcdCluster) -> None:
        emptied(healthy.store).put_all(bindings(NEW, number=2))
        stale = healthy.store.revision()
        healthy.store.put_all(bindings(OLD))

        answered: list[str] = []

        def behind(path: str, body: bytes) -> bytes:
            """As etcd#20418 has it: one member answers for all, with what was true a while ago."""
            document = json.loads(body)
            if path == RANGE and RANGE not in answered:
                document["header"]["revision"] = str(stale)
            answered.append(path)
            return json.dumps(document).encode()

        with EtcdProxy(healthy.store, change_bytes=behind) as proxy:
            result = audit(healthy.store, endpoints=[proxy.url], transport="gateway")

        assert result["revision"] > stale
        assert result["resources"][BINDINGS]["versions"] == {OLD: 5}

    def test_an_audit_never_shows_less_than_was_acknowledged(self, healthy: EtcdCluster) -> None:
        emptied(healthy.store)
        believed, acknowledged = 0, 0
        for seed in range(SCHEDULES):
            schedule = Schedule(healthy, random.Random(seed))
            acknowledged = schedule.write(acknowledged)
            result = schedule.audit()
            healthy.wait_ready()

            if result.get("failed") or not result["believable"]:
                continue
            believed += 1
            counted = result["resources"].get("configmaps", {"keys": 0})["keys"]
            assert counted >= acknowledged, f"seed {seed}: {result['revision']}"
        # Else nothing was shown.
        assert believed > SCHEDULES // 2


class Schedule:
    """One order of writes, a fault, and an audit; the same for the same seed."""

    def __init__(self, cluster: EtcdCluster, choose: random.Random) -> None:
        self._cluster, self._choose = cluster, choose
        self._victim = choose.choice(cluster.members)
        self._fault: Callable[[], None] = choose.choice([self._victim.freeze, self._victim.cut])
        self._when = choose.choice(["before", "between", "meanwhile"])

    def write(self, acknowledged: int) -> int:
        """Write through any member that is there; how many writes were acknowledged by now."""
        members, victim = self._cluster.members, self._victim
        others = [one for one in members if one is not victim]
        through = self._choose.choice(others if self._when == "before" else members)
        if self._when == "before":
            frozen = victim.id if self._fault == victim.freeze else "0"
            self._fault()
            # What is sent to a leader that is frozen gets no answer for seconds.
            eventually(lambda: through.leader not in ("0", frozen), within=20)
        for number in range(acknowledged, acknowledged + self._choose.randint(1, 5)):
            value = b'{"apiVersion":"v1","kind":"ConfigMap"}'
            try:
                through.store.put(f"/registry/configmaps/default/c-{number:05}", value)
            except RuntimeError:
                # Not acknowledged, though it may be written later.
                break
            acknowledged += 1
        return acknowledged

    def audit(self) -> Any:
        """Read while the fault lasts, or comes; then all is well again."""
        if self._when == "between":
            self._fault()
        delay = self._choose.uniform(0, 0.1) if self._when == "meanwhile" else None
        timer = threading.Timer(delay, self._fault) if delay is not None else None
        if timer:
            timer.start()
        urls = self._choose.sample(self._cluster.urls, 3)
        try:
            options = {"endpoints": urls, "timeout": 1, "resources": ["configmaps"]}
            return try_audit(self._cluster.store, **options)
        finally:
            if timer:
                timer.join()
            self._victim.heal()


def broken(path: str, change: Callable[[bytes], bytes]) -> Callable[[str, bytes], bytes]:
    """Changes what etcd answers at one path."""
    return lambda asked, body: change(body) if asked == path else body


RANGE = "/v3/kv/range"


def without_keys(body: bytes) -> bytes:
    return json.dumps({**json.loads(body), "kvs": [], "count": "7"}).encode()


def with_garbage(body: bytes) -> bytes:
    document = json.loads(body)
    pairs = [{**pair, "key": "%%%"} for pair in document.get("kvs", [])]
    return json.dumps({**document, "kvs": pairs}).encode() if pairs else body


class TestWrongAnswers:
    """Whatever answers in etcd's place is named, in time, and nothing of it is taken."""

    @pytest.mark.parametrize("path", ["/version", RANGE])
    @pytest.mark.parametrize(
        "change",
        [
            lambda _body: HTML,
            lambda _body: b"null",
            lambda _body: b"[1, 2]",
            lambda _body: b"{}",
            lambda body: body[: len(body) // 2],
            lambda _body: b"",
            lambda _body: b'{"header":{"cluster_id":{},"revision":[]}}',
            lambda _body: b"[" * 20_000,
        ],
        ids=["html", "null", "list", "empty", "cut", "nothing", "wrong types", "deep"],
    )
    def test_an_answer_that_is_not_etcds_is_named(
        self, etcd: EtcdStore, path: str, change: Callable[[bytes], bytes]
    ) -> None:
        etcd.put_all(bindings(OLD))
        with EtcdProxy(etcd, change_bytes=broken(path, change)) as proxy:
            answer = try_audit(etcd, endpoints=[proxy.url], transport="gateway", timeout=2)

        assert_named(answer, proxy.url)

    @pytest.mark.parametrize("change", [without_keys, with_garbage], ids=["count only", "base64"])
    def test_an_answer_that_contradicts_itself_is_named(
        self, etcd: EtcdStore, change: Callable[[bytes], bytes]
    ) -> None:
        etcd.put_all(bindings(OLD))
        with EtcdProxy(etcd, change_bytes=broken(RANGE, change)) as proxy:
            answer = try_audit(etcd, endpoints=[proxy.url], transport="gateway", timeout=2)

        assert_named(answer, proxy.url)

    @pytest.mark.parametrize("module", ["storage_audit", "etcd_snapshot"])
    def test_an_answer_that_drips_is_over_in_time(
        self, etcd: EtcdStore, module: str, tmp_path: Path
    ) -> None:
        options: dict[str, Any] = {"path": tmp_path / "etcd.db", "verify": "none"}
        if module == "storage_audit":
            options = {"transport": "gateway"}
        begun = time.monotonic()
        with EtcdProxy(etcd, pause=0.25) as proxy:
            given = {**connection(etcd), "endpoints": [proxy.url], "timeout": 1}
            answer = call_module(module, **given, **options)

        assert_named(answer, proxy.url)
        assert "no answer within 1 s" in answer["msg"]
        assert time.monotonic() - begun < 5

    @pytest.mark.parametrize("path", ["/v3/cluster/member/list", "/v3/maintenance/status"])
    def test_a_member_that_tells_nothing_of_use_does_not_stop_an_audit(
        self, etcd: EtcdStore, path: str
    ) -> None:
        etcd.put_all(bindings(OLD))
        with EtcdProxy(etcd, change_bytes=broken(path, lambda _body: HTML)) as proxy:
            result = audit(etcd, endpoints=[proxy.url], transport="gateway", timeout=2)

        assert result["resources"][BINDINGS]["keys"] == 5


def assert_named(answer: Any, url: str) -> None:
    assert answer["failed"], answer
    assert url in answer["msg"]
    assert "exception" not in answer
    assert "Traceback" not in json.dumps(answer)
