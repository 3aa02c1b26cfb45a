"""The lab itself: what every other test stands on must be real, and must end with its run."""

from __future__ import annotations

import contextlib
import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import urllib3

from lab import binaries, control, namespaces
from lab.api import Api, ApiError, User
from lab.control_plane import ControlPlane, PrivateNetwork, Server, ServerSpec, control_plane
from lab.etcd import stored_version
from lab.objects import CRDS, seed_definition
from lab.processes import AS_IN_A_TERMINAL
from lab.waiting import eventually

LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
SLICES = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"
STORAGE_VERSIONS = "/apis/internal.apiserver.k8s.io/v1alpha1/storageversions"
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
MIGRATION = "/apis/migration.k8s.io/v1alpha1"


@pytest.fixture(scope="module")
def pair(network: PrivateNetwork) -> Iterator[ControlPlane]:
    """Two servers with the StorageVersion API; every test puts right what it disturbs."""
    spec = ServerSpec().with_storage_version_api()
    with control_plane(spec, spec, network=network) as plane:
        yield plane


@pytest.fixture
def second(pair: ControlPlane) -> Iterator[Server]:
    """The second server of the pair, to disturb at will: it is as before afterwards."""
    server = pair.servers["cp-2"]
    spec, process = server.spec, server.process
    yield server
    if server.process is not process or not server.running:
        server.restart(spec)


def leases(api: Api) -> dict[str, dict[str, Any]]:
    """The identity leases by hostname."""
    items = api.get(f"{LEASES}?labelSelector=apiserver.kubernetes.io/identity")["items"]
    return {item["metadata"]["labels"]["kubernetes.io/hostname"]: item for item in items}


def start_time(api: Api) -> str:
    text = api.request("GET", "/metrics/slis").decode()
    found = re.search(r"^process_start_time_seconds (\S+)$", text, re.MULTILINE)
    assert found
    return found.group(1)


def config_map(name: str, **data: str) -> dict[str, Any]:
    """A ConfigMap as JSON would be stored."""
    metadata = {"name": name, "namespace": "default", "uid": "1"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def published(api: Api) -> set[str]:
    """The addresses in the EndpointSlice of the kubernetes service."""
    items = api.get(f"{SLICES}?labelSelector=kubernetes.io/service-name=kubernetes")["items"]
    return {a for item in items for e in item.get("endpoints") or [] for a in e["addresses"]}


class TestServers:
    def test_all_are_ready_side_by_side(self, three_servers: ControlPlane) -> None:
        assert [s.api.ready() for s in three_servers.servers.values()] == [True] * 3

    def test_they_tell_the_real_version(self, three_servers: ControlPlane) -> None:
        told = {s.api.get("/version")["gitVersion"] for s in three_servers.servers.values()}

        assert told == {"v1.36.3"}

    def test_each_is_a_process_of_its_own(self, three_servers: ControlPlane) -> None:
        assert len({start_time(s.api) for s in three_servers.servers.values()}) == 3

    def test_a_client_without_the_ca_is_not_served(self, three_servers: ControlPlane) -> None:
        url = three_servers.servers["cp-1"].url

        with pytest.raises(urllib3.exceptions.SSLError, match="CERTIFICATE_VERIFY_FAILED"):
            urllib3.PoolManager(retries=False).request("GET", f"{url}/readyz")

    def test_a_client_with_another_ca_is_not_served(self, three_servers: ControlPlane) -> None:
        admin = three_servers.admin
        stranger = replace(admin, ca=three_servers.foreign_authority.certificate_file)

        with pytest.raises(urllib3.exceptions.SSLError, match="CERTIFICATE_VERIFY_FAILED"):
            Api(three_servers.servers["cp-1"].url, stranger).get("/version")

    def test_a_client_certificate_of_another_ca_is_refused(
        self, three_servers: ControlPlane
    ) -> None:
        certificate, key = three_servers.foreign_authority.issue(
            "intruder", common_name="intruder", groups=["system:masters"]
        )
        intruder = User(
            "intruder", three_servers.authority.certificate_file, certificate=certificate, key=key
        )

        with pytest.raises(ApiError) as refused:
            Api(three_servers.servers["cp-1"].url, intruder).get("/api/v1/namespaces")

        assert refused.value.status == 401

    def test_a_user_without_rights_is_refused(self, three_servers: ControlPlane) -> None:
        guest = three_servers.user("guest")

        with pytest.raises(ApiError) as refused:
            Api(three_servers.servers["cp-1"].url, guest).get("/api/v1/namespaces")

        assert refused.value.status == 403


class TestIdentity:
    def test_each_server_keeps_a_lease_under_its_hostname(
        self, three_servers: ControlPlane
    ) -> None:
        found = leases(three_servers.api)

        assert sorted(found) == ["cp-1", "cp-2", "cp-3"]
        assert len({item["metadata"]["name"] for item in found.values()}) == 3

    def test_all_are_found_through_the_endpoint_slice(self, three_servers: ControlPlane) -> None:
        addresses = {server.address for server in three_servers.servers.values()}

        assert published(three_servers.api) == addresses

    @pytest.mark.parametrize(
        ("change", "version", "emulated"),
        [
            ({"release": binaries.NEXT_RELEASE}, "v1.37.0", "37"),
            ({"emulated_version": "1.34"}, "v1.36.3", "34"),
        ],
        ids=["another release", "an emulated version"],
    )
    def test_a_restart_in_place_as_something_else_keeps_address_and_identity(
        self,
        pair: ControlPlane,
        second: Server,
        change: dict[str, str],
        version: str,
        emulated: str,
    ) -> None:
        before, address = leases(pair.servers["cp-1"].api)["cp-2"], second.address

        second.restart(replace(second.spec, **change))

        told = second.api.get("/version")
        after = leases(second.api)["cp-2"]
        assert (told["gitVersion"], told["emulationMinor"]) == (version, emulated)
        assert second.address == address
        assert after["metadata"]["name"] == before["metadata"]["name"]
        assert after["spec"]["holderIdentity"] != before["spec"]["holderIdentity"]


class TestMishaps:
    def test_a_killed_server_leaves_its_lease(self, pair: ControlPlane, second: Server) -> None:
        second.kill()

        assert not second.api.ready()
        assert "cp-2" in leases(pair.servers["cp-1"].api)

    def test_a_stopped_server_takes_its_lease_along(
        self, pair: ControlPlane, second: Server
    ) -> None:
        second.stop()

        assert "cp-2" not in leases(pair.servers["cp-1"].api)

    def test_a_frozen_server_neither_answers_nor_refuses(self, second: Server) -> None:
        second.freeze()

        with pytest.raises(urllib3.exceptions.TimeoutError):
            second.api.request("GET", "/readyz", timeout=1)

        assert second.running
        second.thaw()
        eventually(second.api.ready, within=30)

    def test_a_server_that_is_cut_off_works_on_unreached(
        self, pair: ControlPlane, second: Server
    ) -> None:
        begun = start_time(second.api)

        second.cut()

        assert not second.api.ready()
        assert second.running
        second.rejoin()
        eventually(second.api.ready, within=30)
        assert start_time(second.api) == begun

    def test_a_server_that_cannot_start_is_reported_with_its_own_words(
        self, second: Server
    ) -> None:
        with pytest.raises(Exception, match="unknown flag"):
            second.restart(replace(second.spec, arguments=["--no-such-flag"]))


def new_connection(plane: ControlPlane) -> Api:
    """A client of its own to the load balancer, which leads to the next server."""
    return Api(plane.balancer.url, plane.admin)


class TestLoadBalancer:
    def test_successive_connections_reach_different_servers(
        self, three_servers: ControlPlane
    ) -> None:
        behind = {start_time(new_connection(three_servers)) for _connection in range(3)}

        assert behind == {start_time(s.api) for s in three_servers.servers.values()}

    def test_a_hash_read_through_it_proves_nothing(self, disagreement: ControlPlane) -> None:
        def read_hash() -> str:
            document = new_connection(disagreement).get("/apis/resource.k8s.io/v1")
            claims = next(r for r in document["resources"] if r["name"] == "resourceclaims")
            return str(claims["storageVersionHash"])

        assert len({read_hash() for _connection in range(3)}) == 2

    def test_a_dead_server_is_passed_over(self, pair: ControlPlane, second: Server) -> None:
        second.kill()

        assert all(new_connection(pair).ready() for _connection in range(3))


class TestEtcd:
    def test_an_object_is_read_back_as_it_was_stored(self, pair: ControlPlane) -> None:
        pair.api.create(CONFIG_MAPS, {"metadata": {"name": "stored"}, "data": {"a": "secret text"}})

        value = pair.etcd.get("/registry/configmaps/default/stored")

        assert value is not None
        assert value.startswith(b"k8s\x00")
        assert b"secret text" in value
        assert stored_version(value) == "v1"

    def test_raw_bytes_are_served_by_the_servers(self, pair: ControlPlane) -> None:
        raw = config_map("raw", written="past every server")

        pair.etcd.put("/registry/configmaps/default/raw", json.dumps(raw).encode())

        served = pair.api.get(f"{CONFIG_MAPS}/raw")
        pair.etcd.delete("/registry/configmaps/default/raw")
        assert served["data"] == {"written": "past every server"}

    def test_garbage_is_an_error_of_the_server(self, pair: ControlPlane) -> None:
        key = "/registry/podtemplates/default/garbage"
        pair.etcd.put(key, b"\x00garbage")

        try:
            with pytest.raises(ApiError) as failed:
                pair.api.get("/api/v1/namespaces/default/podtemplates/garbage")
        finally:
            pair.etcd.delete(key)

        assert failed.value.status == 500

    def test_an_object_in_an_old_version_can_be_planted_and_told(self, pair: ControlPlane) -> None:
        key = "/registry/deployments/default/old"
        pair.etcd.put(key, b'{"apiVersion":"apps/v1beta1","kind":"Deployment"}')

        versions = pair.etcd.stored_versions("/registry/deployments/")

        assert versions == {key: "apps/v1beta1"}
        pair.etcd.delete(key)

    def test_the_revision_counts_writes(self, pair: ControlPlane) -> None:
        before = pair.etcd.revision()

        for number in range(5):
            pair.etcd.put(f"/lockstep-test/{number}", b"x")

        # Servers renew their leases meanwhile.
        assert 5 <= pair.etcd.revision() - before <= 15
        assert len(pair.etcd.keys("/lockstep-test/")) == 5

    def test_many_objects_are_made_quickly(self, pair: ControlPlane) -> None:
        begun = time.monotonic()

        pair.api.populate(CONFIG_MAPS, lambda n: {"metadata": {"name": f"many-{n}"}}, 500)

        assert len(pair.etcd.keys("/registry/configmaps/default/many-")) == 500
        assert time.monotonic() - begun < 20

    def test_a_client_without_a_certificate_is_refused(self, pair: ControlPlane) -> None:
        pool = urllib3.PoolManager(ca_certs=str(pair.etcd.ca), retries=False)

        with pytest.raises(urllib3.exceptions.HTTPError):
            pool.request("POST", f"{pair.etcd.url}/v3/kv/range", body="{}")


class TestControllers:
    def test_the_controller_manager_collects_what_a_gone_server_reported(
        self, pair: ControlPlane, second: Server
    ) -> None:
        api = pair.servers["cp-1"].api
        second.kill()
        gone = leases(api)["cp-2"]["metadata"]["name"]
        assert gone in reporters(api)

        process = pair.start_controller_manager(
            controllers=["storageversion-garbage-collector-controller"],
            feature_gates={"StorageVersionAPI": True},
        )
        api.delete(f"{LEASES}/{gone}")

        eventually(lambda: gone not in reporters(api), within=60)
        process.stop()

    def test_the_migrator_migrates_and_the_trigger_finds_what_to_migrate(
        self, pair: ControlPlane
    ) -> None:
        api = pair.servers["cp-1"].api
        for plural, kind in (
            ("storageversionmigrations", "StorageVersionMigration"),
            ("storagestates", "StorageState"),
        ):
            api.create(CRDS, seed_definition(plural, kind))
        eventually(lambda: served(api, f"{MIGRATION}/storagestates"), within=30)
        key = "/registry/configmaps/default/as-json"
        pair.etcd.put(key, json.dumps(config_map("as-json")).encode())

        migrator = pair.start_migrator("--kube-api-qps=100", "--kube-api-burst=500")
        api.create(
            f"{MIGRATION}/storageversionmigrations",
            {
                "apiVersion": "migration.k8s.io/v1alpha1",
                "kind": "StorageVersionMigration",
                "metadata": {"name": "configmaps"},
                "spec": {"resource": {"group": "", "version": "v1", "resource": "configmaps"}},
            },
        )

        def succeeded() -> bool:
            made = api.get(f"{MIGRATION}/storageversionmigrations/configmaps")
            conditions = made.get("status", {}).get("conditions", [])
            return any((c["type"], c["status"]) == ("Succeeded", "True") for c in conditions)

        eventually(succeeded, within=60)
        assert (pair.etcd.get(key) or b"").startswith(b"k8s\x00")
        pair.etcd.delete(key)
        migrator.stop()
        trigger = pair.start_trigger()
        eventually(lambda: bool(items(api, f"{MIGRATION}/storagestates")), within=60)
        trigger.stop()
        for plural in ("storageversionmigrations", "storagestates"):
            api.delete(f"{CRDS}/{plural}.migration.k8s.io")


def reporters(api: Api) -> set[str]:
    """The servers that have an entry in any StorageVersion object."""
    found = api.get(STORAGE_VERSIONS)["items"]
    return {e["apiServerID"] for item in found for e in item["status"]["storageVersions"]}


def served(api: Api, path: str) -> bool:
    with contextlib.suppress(ApiError):
        api.get(path)
        return True
    return False


def items(api: Api, path: str) -> list[Any]:
    """A list, or nothing yet: servers answer 429 while they set up storage for a new definition."""
    with contextlib.suppress(ApiError):
        return list(api.get(path)["items"])
    return []


# --- the command line, and how a run ends ---


def on_the_host() -> dict[str, str]:
    """An environment in which the lab takes the network it finds for the host's."""
    left_out = (namespaces.INSIDE, namespaces.OWNER)
    return {name: value for name, value in os.environ.items() if name not in left_out}


def lab(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run one verb of the command line."""
    return subprocess.run(
        [sys.executable, "-m", "lab", *arguments],
        capture_output=True,
        text=True,
        env=on_the_host(),
        check=False,
        timeout=120,
    )


def free_ports() -> int:
    """The first of ten ports in a row that nobody uses here."""
    # Above 32767 any connection may take one of the row at any time.
    for first in random.sample(range(20000, 32000, 10), 100):
        if all(can_be_bound(first + number) for number in range(10)):
            return first
    raise AssertionError("no ten ports in a row are free")


def can_be_bound(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def processes_of(text: str) -> list[str]:
    """The command lines of all processes that name this text."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            line = path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
            if text in line:
                found.append(line)
    return found


class Up:
    """A lab that somebody started with `python -m lab up`."""

    def __init__(self, name: str) -> None:
        self.name, self.port = name, free_ports()
        command = [sys.executable, "-m", "lab", "up", "--server", binaries.DEFAULT_RELEASE]
        # A session of its own, as a terminal gives: signals go to all of its processes.
        self.process = subprocess.Popen(
            [*AS_IN_A_TERMINAL, *command, "--port", str(self.port), "--name", name],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            env=on_the_host(),
            start_new_session=True,
        )
        assert self.process.stdout
        self.said = ""
        for line in self.process.stdout:
            self.said += line
            if "Ctrl-C" in line:
                break
        found = re.search(r"KUBECONFIG=(\S+)/kubeconfigs/", self.said)
        assert found, self.said
        self.directory = Path(found.group(1))

    def kill(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        # A killed lab has no chance to clear up.
        shutil.rmtree(self.directory, ignore_errors=True)
        control.socket_path(self.name).unlink(missing_ok=True)


@pytest.fixture
def up() -> Iterator[Up]:
    """A lab on 127.0.0.1 with one server, to be ended."""
    lab_up = Up("to-be-ended")
    yield lab_up
    lab_up.kill()


@pytest.fixture(scope="module")
def standing() -> Iterator[Up]:
    """A lab on 127.0.0.1 with one server, to be asked."""
    lab_up = Up("idle")
    yield lab_up
    lab_up.kill()


class TestEnds:
    def test_ctrl_c_leaves_nothing_behind(self, up: Up) -> None:
        assert processes_of(str(up.directory))

        os.killpg(up.process.pid, signal.SIGINT)

        assert up.process.wait(20) == 130
        assert processes_of(str(up.directory)) == []
        assert all(can_be_bound(up.port + number) for number in range(5))
        assert not up.directory.exists()
        assert lab("status", "--name", up.name).returncode == 1

    def test_a_polite_end_leaves_nothing_behind(self, up: Up) -> None:
        os.kill(up.process.pid, signal.SIGTERM)

        assert up.process.wait(20) == 143
        assert processes_of(str(up.directory)) == []
        assert not up.directory.exists()

    def test_a_killed_lab_leaves_no_process_and_no_port(self, up: Up) -> None:
        os.kill(up.process.pid, signal.SIGKILL)

        eventually(lambda: processes_of(str(up.directory)) == [], within=10)
        # The kernel takes the files of a process away after its memory.
        eventually(lambda: all(can_be_bound(up.port + number) for number in range(5)), within=10)

    def test_a_crashed_run_leaves_no_process(self) -> None:
        script = (
            "import os, signal\n"
            "from lab.control_plane import ServerSpec, control_plane\n"
            "with control_plane(ServerSpec()) as plane:\n"
            "    assert plane.servers['cp-1'].api.ready()\n"
            "    print(plane.directory, flush=True)\n"
            "    os.kill(os.getpid(), signal.SIGKILL)\n"
        )

        run = lab("inside", "--", sys.executable, "-c", script)

        directory = run.stdout.strip()
        assert Path(directory, "logs", "cp-1.log").exists(), run.stderr
        assert run.returncode != 0
        assert processes_of(directory) == []
        shutil.rmtree(directory)

    def test_a_run_tells_how_its_command_ended(self) -> None:
        assert lab("inside", "--", "sh", "-c", "exit 7").returncode == 7

    def test_what_runs_inside_reaches_nobody_outside(self, pair: ControlPlane) -> None:
        address = pair.servers["cp-1"].address
        script = f"import socket; socket.create_connection(('{address}', 6443), 2)"

        run = lab("inside", "--", sys.executable, "-c", script)

        assert "Network is unreachable" in run.stderr

    def test_a_control_plane_gives_its_addresses_back(self, network: PrivateNetwork) -> None:
        with control_plane(network=network) as plane:
            address = plane.balancer.address
            namespaces.remove_address(address)
            namespaces.add_address(address)

        with pytest.raises(namespaces.AddressError):
            namespaces.remove_address(address)


class TestCommandLine:
    def test_status_names_every_part(self, standing: Up) -> None:
        said = lab("status", "--name", standing.name).stdout

        assert re.search(r"^cp-1 +https://127\.0\.0\.1:\d+ +1\.36\.3 +ready$", said, re.MULTILINE)
        assert re.search(r"^etcd +https://127\.0\.0\.1:\d+$", said, re.MULTILINE)
        assert re.search(r"^lb +https://127\.0\.0\.1:\d+$", said, re.MULTILINE)

    def test_kubeconfig_is_one_that_works(self, standing: Up, tmp_path: Path) -> None:
        kubeconfig = tmp_path / "kubeconfig"
        kubeconfig.write_text(lab("kubeconfig", "--name", standing.name).stdout)

        kubectl = binaries.find(binaries.kubernetes("kubectl", binaries.DEFAULT_RELEASE))
        answer = subprocess.run(
            [kubectl, "--kubeconfig", kubeconfig, "get", "--raw", "/readyz"],
            capture_output=True,
            text=True,
            check=False,
        )

        assert answer.stdout == "ok", answer.stderr

    def test_restart_changes_a_server_in_place(self, standing: Up) -> None:
        restarted = lab("restart", "cp-1", "--emulated-version", "1.35", "--name", standing.name)

        assert "1.36.3 emulating 1.35  ready" in restarted.stdout, restarted.stderr

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["restart", "cp-9"], "lab: no server cp-9: there are cp-1\n"),
            (
                ["restart", "cp-1", "--release", "1.36"],
                "lab: 1.36 is no release of Kubernetes: name one such as 1.36.3\n",
            ),
            (
                ["up"],
                "lab: a lab named idle is up already: end it, or give this one another --name\n",
            ),
        ],
        ids=["an unknown server", "an unknown release", "a name in use"],
    )
    def test_a_wrong_wish_is_answered_in_one_line(
        self, standing: Up, arguments: list[str], message: str
    ) -> None:
        run = lab(*arguments, "--name", standing.name)

        assert (run.returncode, run.stderr) == (1, message)
        assert "ready" in lab("status", "--name", standing.name).stdout

    @pytest.mark.parametrize("verb", ["status", "kubeconfig"])
    def test_asking_a_lab_that_is_not_up_is_answered_in_one_line(self, verb: str) -> None:
        run = lab(verb, "--name", "nowhere")

        message = "lab: no lab named nowhere is up: start one with `python -m lab up`\n"
        assert (run.returncode, run.stderr) == (1, message)
