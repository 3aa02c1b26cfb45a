"""The kubeadm driver and the role nodes: what they do to a host, and to a real API server.

The host is a directory. Its programs are fetched over HTTP with real checksums; kubeadm, kubelet
and systemctl are stand-ins that note what they were asked for. The Node, its pods, evictions and
disruption budgets are those of a real API server, to which the stand-in of the kubelet reports.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from lab.ansible import run_playbook, running_playbook
from lab.api import ApiError
from lab.control_plane import ControlPlane, PrivateNetwork, ServerSpec, control_plane
from lab.waiting import eventually

OLD, NEW = "v1.36.3", "v1.37.0"
PARTS = ("kube-apiserver", "kube-controller-manager", "kube-scheduler")
CONFIG_MAPS = "/api/v1/namespaces/kube-system/configmaps"
MARK = "lockstep.kubernetes/cordoned"
TESTS = Path(__file__).parents[1]

PREFACE = f"""#!{sys.executable}
import json, os, pathlib, re, subprocess, sys

sys.path.insert(0, {str(TESTS)!r})
from lab.api import Api, User

host = pathlib.Path(os.environ["TEST_HOST"])
access = json.loads((host / "access").read_text())
api = Api(access["url"], User("admin", *map(pathlib.Path, access["files"])))
asked = sys.argv[1:]


def note(*words):
    with (host / "commands").open("a") as log:
        print(*words, file=log)


"""

# Writes manifests anew as kubeadm does: from what all share, and from patches.
KUBEADM = """
if asked[0] == "version":
    sys.exit(print("RELEASE"))
note("kubeadm", *(re.sub("lockstep-.*", "DIRECTORY", one) for one in asked))
if (host / "kubeadm-fails").exists():
    sys.exit("[upgrade] FATAL: the etcd cluster is not healthy")
if "--skip-phases=control-plane" in asked:
    sys.exit()
shared = "/api/v1/namespaces/kube-system/configmaps/kubeadm-config"
configuration = api.get(shared)["data"]["ClusterConfiguration"]
[release] = re.findall("kubernetesVersion: (.*)", configuration)
if asked[1] == "apply":
    release = asked[2]
patches = host / "none"
if "--patches" in asked:
    patches = pathlib.Path(asked[asked.index("--patches") + 1])
note("patches", *sorted(one.name for one in patches.glob("*")))
for part in ("kube-apiserver", "kube-controller-manager", "kube-scheduler"):
    manifest = host / "manifests" / f"{part}.yaml"
    text = re.sub(" *- --emulated-version=.*\\n", "", manifest.read_text())
    text = re.sub("(image: .*:).*", f"\\\\1{release}", text)
    for patch in sorted(patches.glob(f"{part}*+json.json")):
        for change in json.loads(patch.read_text()):
            assert change["op"] == "add" and change["path"] == "/spec/containers/0/command/-"
            text = text.replace("    image:", f"    - {change['value']}\\n    image:")
    manifest.write_text(text)
    note("wrote", part, *re.findall("--emulated-version=.*|v1[.].*", text))
if asked[1] == "apply":
    new = re.sub("(kubernetesVersion: ).*", f"\\\\1{release}", configuration)
    api.patch(shared, {"data": {"ClusterConfiguration": new}})
"""

# Starts the kubelet: it reports to the API server what release it is.
SYSTEMCTL = """
if asked[0] == "show":
    sys.exit(print("LoadState=loaded\\nActiveState=active"))
note("systemctl", *asked)
if asked[0] == "restart" and not (host / "kubelet-stuck").exists():
    told = subprocess.check_output([host / "programs" / "kubelet", "--version"], text=True)
    information = {"nodeInfo": {"kubeletVersion": told.split()[-1]}}
    api.patch(f"/api/v1/nodes/{access['node']}/status", {"status": information})
"""


@dataclass(frozen=True)
class Host:
    """One host, and the node that it is."""

    plane: ControlPlane
    directory: Path
    site: str

    @property
    def node(self) -> str:
        return self.directory.name

    @property
    def namespace(self) -> str:
        return f"/api/v1/namespaces/{self.node}"

    @property
    def environment(self) -> dict[str, str]:
        return {
            "K8S_AUTH_KUBECONFIG": str(self.plane.kubeconfig()),
            "PATH": f"{self.directory / 'bin'}:{os.environ['PATH']}",
            "TEST_HOST": str(self.directory),
        }

    def read_node(self) -> Any:
        return self.plane.api.get(f"/api/v1/nodes/{self.node}")

    @property
    def kubelet(self) -> str:
        return str(self.read_node()["status"]["nodeInfo"]["kubeletVersion"])

    @property
    def cordoned(self) -> bool:
        return bool(self.read_node()["spec"].get("unschedulable"))

    @property
    def commands(self) -> list[str]:
        """What was run on it, in order."""
        return [one for one in self.log() if one.startswith(("kubeadm ", "systemctl "))]

    @property
    def written(self) -> list[str]:
        """The manifests that kubeadm wrote, in order."""
        return [one.removeprefix("wrote ") for one in self.log() if one.startswith("wrote ")]

    def log(self) -> list[str]:
        path = self.directory / "commands"
        return path.read_text().splitlines() if path.exists() else []

    def manifest(self, part: str = "kube-apiserver") -> Path:
        return self.directory / "manifests" / f"{part}.yaml"

    def emulated(self) -> list[list[str]]:
        return [re.findall("--emulated-version=(.*)", self.manifest(p).read_text()) for p in PARTS]

    def fetch(self, release: str) -> None:
        """Have programs of a release, as a run leaves them that was killed right then."""
        for name, text in programs(release).items():
            write_program(self.directory / "programs" / name, text)

    def install(self, release: str) -> None:
        """Have programs and manifests of a release, and say so to the cluster."""
        self.fetch(release)
        for part in PARTS:
            self.manifest(part).write_text(manifest(part, release))
        status = {"status": {"nodeInfo": {"kubeletVersion": release}}}
        self.plane.api.patch(f"/api/v1/nodes/{self.node}/status", status)

    def share(self, release: str, extra: str = "") -> None:
        """What kubeadm keeps for all servers."""
        text = f"apiVersion: kubeadm.k8s.io/v1beta4\nkubernetesVersion: {release}\n{extra}"
        document = {"metadata": {"name": "kubeadm-config"}, "data": {"ClusterConfiguration": text}}
        try:
            self.plane.api.create(CONFIG_MAPS, document)
        except ApiError:
            self.plane.api.replace(f"{CONFIG_MAPS}/kubeadm-config", document)

    def add_pod(self, name: str, **spec: Any) -> None:
        """A pod of a ReplicaSet that runs on it, and ends at once when it is told to."""
        owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "some", "uid": "some"}
        metadata = {"name": name, "labels": {"app": name}, "ownerReferences": [owner]}
        containers = [{"name": "some", "image": "example.com/some"}]
        basics = {
            "nodeName": self.node,
            "containers": containers,
            "terminationGracePeriodSeconds": 0,
        }
        self.plane.api.create(
            f"{self.namespace}/pods", {"metadata": metadata, "spec": {**basics, **spec}}
        )
        ready = {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}
        self.plane.api.patch(f"{self.namespace}/pods/{name}/status", {"status": ready})

    def pods(self) -> list[str]:
        found = self.plane.api.get(f"{self.namespace}/pods")["items"]
        return [one["metadata"]["name"] for one in found]

    def forbid(self, name: str) -> None:
        """A disruption budget that lets no pod of this name go."""
        budgets = f"/apis/policy/v1/namespaces/{self.node}/poddisruptionbudgets"
        selector = {"matchLabels": {"app": name}}
        self.plane.api.create(
            budgets, {"metadata": {"name": name}, "spec": {"minAvailable": 1, "selector": selector}}
        )
        self.allow(name, disruptions=0)

    def allow(self, name: str, *, disruptions: int = 1) -> None:
        """Have the budget let pods go: what its controller does once others are ready."""
        path = f"/apis/policy/v1/namespaces/{self.node}/poddisruptionbudgets/{name}/status"
        counts = {"currentHealthy": 1 + disruptions, "desiredHealthy": 1, "expectedPods": 1}
        status = {"observedGeneration": 1, "disruptionsAllowed": disruptions, **counts}
        self.plane.api.patch(path, {"status": status})


def programs(release: str) -> dict[str, str]:
    return {
        "kubeadm": PREFACE + KUBEADM.replace("RELEASE", release),
        "kubelet": f"#!/bin/sh\necho Kubernetes {release}\n",
        "kubectl": f"#!/bin/sh\necho Client Version: {release}\n",
    }


def write_program(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)


def manifest(part: str, release: str) -> str:
    """The beginning of a manifest as kubeadm writes it."""
    return f"""apiVersion: v1
kind: Pod
metadata:
  name: {part}
  namespace: kube-system
spec:
  containers:
  - command:
    - {part}
    - --authorization-mode=Node,RBAC
    - --secure-port=6443
    image: registry.k8s.io/{part}:{release}
    name: {part}
  hostNetwork: true
"""


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, *_words: object) -> None:
        pass


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A download site with programs of two releases and their checksums."""
    directory = tmp_path_factory.mktemp("site")
    for release in (OLD, NEW):
        for name, text in programs(release).items():
            write_program(directory / release / name, text)
            digest = hashlib.sha256(text.encode()).hexdigest()
            (directory / release / f"{name}.sha256").write_text(digest)
    write_program(directory / "tampered" / "kubeadm", programs(NEW)["kubeadm"] + "# and more")
    (directory / "tampered" / "kubeadm.sha256").write_text(
        (directory / NEW / "kubeadm.sha256").read_text()
    )
    handler = partial(QuietHandler, directory=str(directory))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture(scope="module")
def plane(network: PrivateNetwork) -> Iterator[ControlPlane]:
    """One server, which knows the nodes and their pods."""
    with control_plane(ServerSpec(), network=network) as plane:
        eventually(lambda: plane.api.answers("/api/v1/namespaces/kube-system"), within=30)
        yield plane


@pytest.fixture
def host(
    plane: ControlPlane, site: str, tmp_path: Path, request: pytest.FixtureRequest
) -> Iterator[Host]:
    """A host of the old release, ready, and without pods."""
    name = f"node-{hashlib.sha256(request.node.name.encode()).hexdigest()[:8]}"
    host = Host(plane, tmp_path / name, site)
    (host.directory / "manifests").mkdir(parents=True)
    write_program(host.directory / "bin" / "systemctl", PREFACE + SYSTEMCTL)
    admin = plane.admin
    files = [str(admin.ca), str(admin.certificate), str(admin.key)]
    access = {"url": plane.balancer.url, "files": files, "node": name}
    (host.directory / "access").write_text(json.dumps(access))
    told = ["architecture", "bootID", "containerRuntimeVersion", "kernelVersion", "machineID"]
    told += ["kubeProxyVersion", "kubeletVersion", "operatingSystem", "osImage", "systemUUID"]
    message = "kubelet is posting ready status"
    condition = {"type": "Ready", "status": "True", "reason": "KubeletReady", "message": message}
    status = {"nodeInfo": dict.fromkeys(told, ""), "conditions": [condition]}
    plane.api.create("/api/v1/nodes", {"metadata": {"name": name}, "status": status})
    plane.api.create("/api/v1/namespaces", {"metadata": {"name": name}})
    plane.api.create(f"{host.namespace}/serviceaccounts", {"metadata": {"name": "default"}})
    host.install(OLD)
    host.share(OLD)
    yield host
    plane.api.delete(f"/api/v1/nodes/{name}")


@pytest.fixture
def fetched(host: Host) -> Host:
    """A host of the old release with programs of the new one, which spares a test the fetching."""
    host.fetch(NEW)
    return host


def roll(
    host: Host, role: str, *options: str, **variables: Any
) -> subprocess.CompletedProcess[str]:
    """Apply a role to the host as a playbook would."""
    return run_playbook(playbook(host, role, variables), *options, environment=host.environment)


def playbook(host: Host, role: str, variables: dict[str, Any]) -> list[dict[str, Any]]:
    prefix = role.partition(":")[0]
    name, _colon, tasks = role.partition(":")
    release = variables.pop("release", NEW)
    values = {
        "release": release,
        "binary_url": f"{host.site}/{release}",
        "binary_directory": str(host.directory / "programs"),
        "drain_timeout": 30,
        "wait_timeout": 30,
        "name" if prefix == "nodes" else "node": host.node,
        **({"manifests": str(host.directory / "manifests")} if prefix == "control_plane" else {}),
        **variables,
    }
    include = {"name": f"lockstep.kubernetes.{name}", **({"tasks_from": tasks} if tasks else {})}
    task = {
        "name": "Roll it",
        "ansible.builtin.include_role": include,
        "vars": {f"{prefix}_{key}": value for key, value in values.items()},
    }
    return [{"hosts": "localhost", "gather_facts": False, "tasks": [task]}]


def roll_server(host: Host, **variables: Any) -> subprocess.CompletedProcess[str]:
    """The driver alone: what follows it in the role asks servers that no kubelet here restarts."""
    return roll(host, "control_plane:kubeadm", **variables)


def succeeded(done: subprocess.CompletedProcess[str]) -> int:
    """How many tasks changed something."""
    assert done.returncode == 0, done.stdout + done.stderr
    found = re.search(r"changed=(\d+)", done.stdout)
    assert found
    return int(found[1])


def failed(done: subprocess.CompletedProcess[str]) -> str:
    """What it said at last, on one line."""
    assert done.returncode != 0, done.stdout
    assert "Traceback" not in done.stdout + done.stderr
    return " ".join((done.stdout + done.stderr).split())


KUBELET = [
    "kubeadm upgrade node --skip-phases=control-plane",
    "systemctl daemon-reload",
    "systemctl restart kubelet",
]


class TestServer:
    def test_the_first_one_applies_the_release_and_its_kubelet_follows(self, host: Host) -> None:
        assert succeeded(roll_server(host, first=True)) > 0

        applied = f"kubeadm upgrade apply {NEW} --yes --certificate-renewal=true"
        assert host.commands == [applied, *KUBELET]
        assert host.written == [f"{part} {NEW}" for part in PARTS]
        assert host.kubelet == NEW
        assert not host.cordoned

        # And once more: nothing.
        assert succeeded(roll_server(host, first=True)) == 0
        assert host.commands == [applied, *KUBELET]

    def test_one_with_images_by_digest_and_a_vendors_kubelet_is_known_to_be_upgraded(
        self, host: Host
    ) -> None:
        host.install(NEW)
        host.share(NEW)
        for part in PARTS:
            text = host.manifest(part).read_text().replace("registry.k8s.io", "example.com:5000")
            host.manifest(part).write_text(text.replace(NEW, f"{NEW}@sha256:{'4a0d' * 16}"))
        vendors = {"status": {"nodeInfo": {"kubeletVersion": f"{NEW}-eks-4a0d11f"}}}
        host.plane.api.patch(f"/api/v1/nodes/{host.node}/status", vendors)

        assert succeeded(roll_server(host)) == 0
        assert host.commands == []

    @pytest.mark.long
    def test_another_one_is_upgraded_as_a_node(self, fetched: Host) -> None:
        fetched.share(NEW)

        succeeded(
            roll_server(
                fetched,
                certificate_renewal=False,
                kubeadm_options=["--ignore-preflight-errors=CreateJob"],
                patches="/etc/patches",
                drain=False,
            )
        )

        more = "--patches /etc/patches --ignore-preflight-errors=CreateJob"
        assert fetched.commands == [
            f"kubeadm upgrade node --certificate-renewal=false {more}",
            f"{KUBELET[0]} {more}",
            *KUBELET[1:],
        ]

    @pytest.mark.long
    def test_it_goes_on_where_a_killed_run_stopped(self, fetched: Host) -> None:
        # Given a run that ended before the first server had shared the release.
        succeeded(roll_server(fetched, kubelet=False))
        assert fetched.commands == [f"kubeadm upgrade apply {NEW} --yes --certificate-renewal=true"]
        assert fetched.kubelet == OLD

        # And now one that ended before the kubelet was brought along.
        succeeded(roll_server(fetched, drain=False))
        assert fetched.commands[1:] == KUBELET
        assert fetched.kubelet == NEW

    def test_it_emulates_from_its_first_start_on_until_the_emulation_is_taken_off(
        self, fetched: Host, tmp_path: Path
    ) -> None:
        own = tmp_path / "patches"
        own.mkdir()
        (own / "etcd.yaml").write_text("metadata: {}\n")
        stage = {"first": True, "patches": str(own), "drain": False}

        # When it is rolled: kubeadm writes the flag itself, and the kubelet stays.
        succeeded(roll_server(fetched, **stage, emulated_version="1.36"))
        [applied] = fetched.commands
        options = r"--yes --certificate-renewal=true --patches \S*DIRECTORY"
        assert re.fullmatch(f"kubeadm upgrade apply {NEW} {options}", applied)
        assert "patches etcd.yaml kube-apiserverzz" in "\n".join(fetched.log())
        assert fetched.written == [f"{part} --emulated-version=1.36 {NEW}" for part in PARTS]
        assert fetched.kubelet == OLD

        # And once more: nothing.
        assert succeeded(roll_server(fetched, **stage, emulated_version="1.36")) == 0

        # When the emulation is taken off: without kubeadm, and then the kubelet follows.
        succeeded(roll_server(fetched, **stage))
        assert [fetched.manifest(part).read_text() for part in PARTS] == [
            manifest(part, NEW) for part in PARTS
        ]
        assert fetched.commands[1:] == [f"{KUBELET[0]} --patches {own}", *KUBELET[1:]]
        assert fetched.kubelet == NEW

    @pytest.mark.long
    def test_a_manifest_gets_the_flag_and_nothing_else(self, host: Host) -> None:
        host.install(NEW)
        host.share(NEW)
        plain = manifest("kube-apiserver", NEW)
        other = '    - "--emulated-version=kube=1.35"\n'
        host.manifest().write_text(plain.replace("    image:", f"{other}    image:"))

        assert succeeded(roll_server(host, emulated_version="1.36")) == 1

        assert host.emulated() == [["1.36"], ["1.36"], ["1.36"]]
        assert host.manifest().read_text().replace("    - --emulated-version=1.36\n", "") == plain
        assert host.manifest().stat().st_mode & 0o777 == 0o600
        names = sorted(one.name for one in host.manifest().parent.iterdir())
        assert names == [f"{part}.yaml" for part in PARTS]
        assert host.commands == []

        # And once more: nothing; and without it, as it was.
        assert succeeded(roll_server(host, emulated_version="1.36")) == 0
        assert succeeded(roll_server(host)) == 1
        assert host.manifest().read_text() == plain

    def test_on_the_way_back_the_kubelet_goes_first(self, host: Host) -> None:
        host.install(NEW)
        host.share(NEW)
        host.fetch(OLD)

        succeeded(roll_server(host, release=OLD, first=True, drain=False))

        applied = f"kubeadm upgrade apply {OLD} --yes --force --certificate-renewal=true"
        assert host.commands == [*KUBELET, applied]
        assert host.kubelet == OLD
        assert host.written == [f"{part} {OLD}" for part in PARTS]

    def test_a_failure_of_kubeadm_is_told_in_its_words(self, fetched: Host) -> None:
        (fetched.directory / "kubeadm-fails").touch()

        words = failed(roll_server(fetched, first=True, emulated_version="1.36"))

        assert "the etcd cluster is not healthy" in words
        assert fetched.kubelet == OLD
        assert not fetched.cordoned

    @pytest.mark.long
    def test_a_host_without_manifests_is_refused(self, host: Host) -> None:
        host.manifest("kube-scheduler").unlink()

        words = failed(roll_server(host, first=True))

        assert "has no server that kubeadm has made: not all manifests are in" in words
        assert host.commands == []

    @pytest.mark.long
    def test_an_emulation_that_kubeadm_keeps_for_all_is_refused(self, host: Host) -> None:
        extra = "apiServer:\n  extraArgs:\n  - name: emulated-version\n    value: '1.35'\n"
        host.share(OLD, extra)

        words = failed(roll_server(host, first=True))

        assert "kubeadm-config sets emulated-version" in words
        assert host.commands == []


class TestPrograms:
    def test_a_wrong_checksum_is_refused(self, host: Host) -> None:
        words = failed(roll_server(host, binary_url=f"{host.site}/tampered"))

        assert "did not match" in words
        self.assert_untouched(host)

    @pytest.mark.long
    def test_a_checksum_of_ones_own_comes_first(self, host: Host) -> None:
        checksums = {"kubeadm": f"sha256:{'0' * 64}"}

        words = failed(roll_server(host, binary_checksums=checksums))

        assert "did not match" in words
        self.assert_untouched(host)

    @pytest.mark.long
    def test_programs_of_another_release_are_refused_before_they_are_in_place(
        self, host: Host
    ) -> None:
        words = failed(roll_server(host, release=NEW, binary_url=f"{host.site}/{OLD}"))

        assert f"was to get {NEW}, but its kubeadm tells {OLD}" in words
        self.assert_untouched(host)

    @pytest.mark.long
    def test_a_package_manager_that_is_not_known_is_named(self, host: Host) -> None:
        words = failed(roll_server(host, binary_url="", package_manager="pacman"))

        assert "are installed by pacman, and only apt and dnf are known here" in words
        self.assert_untouched(host)

    def assert_untouched(self, host: Host) -> None:
        assert host.commands == []
        names = sorted(one.name for one in (host.directory / "programs").iterdir())
        assert names == sorted(programs(OLD))
        for name, text in programs(OLD).items():
            assert (host.directory / "programs" / name).read_text() == text


class TestNode:
    def test_it_is_drained_upgraded_seen_and_uncordoned(self, host: Host) -> None:
        host.add_pod("web", volumes=[{"name": "data", "emptyDir": {}}])
        options = {"delete_emptydir_data": True}

        assert succeeded(roll(host, "nodes", drain_options=options)) > 0

        assert host.pods() == []
        assert host.commands == KUBELET
        assert host.kubelet == NEW
        assert not host.cordoned
        assert MARK not in host.read_node()["metadata"].get("annotations", {})

        # And once more: nothing.
        host.add_pod("web")
        assert succeeded(roll(host, "nodes")) == 0
        assert host.pods() == ["web"]

    @pytest.mark.long
    def test_check_mode_says_what_would_be_done(self, host: Host) -> None:
        host.add_pod("web")

        done = roll(host, "nodes", "--check")

        assert succeeded(done) == 0
        would = f"runs {OLD}: it would be drained, brought to {NEW} by kubeadm and waited for"
        assert would in done.stdout
        assert host.pods() == ["web"]
        assert host.commands == []

    def test_a_disruption_budget_that_stays_is_named_and_the_node_uncordoned(
        self, fetched: Host
    ) -> None:
        fetched.add_pod("web")
        fetched.forbid("web")

        words = failed(roll(fetched, "nodes", drain_timeout=6))

        assert f"{fetched.node} could not be drained within 6 s" in words
        assert "violate the pod's disruption budget" in words
        assert f"Still there: {fetched.node}/web." in words
        assert "keeps its kubelet, and is as schedulable as it was before" in words
        assert fetched.pods() == ["web"]
        assert not fetched.cordoned
        assert MARK not in fetched.read_node()["metadata"].get("annotations", {})
        assert fetched.commands == []

    @pytest.mark.long
    def test_a_disruption_budget_that_gives_way_is_waited_for(self, fetched: Host) -> None:
        fetched.add_pod("web")
        fetched.forbid("web")
        steps = playbook(fetched, "nodes", {"drain_timeout": 60})

        with running_playbook(steps, environment=fetched.environment) as running:
            assert running.stdout
            seen = iter(running.stdout.readline, "")
            assert any("FAILED - RETRYING" in line for line in seen)
            fetched.allow("web")
            _rest, errors = running.communicate()

        assert running.returncode == 0, errors
        assert fetched.pods() == []
        assert fetched.kubelet == NEW

    @pytest.mark.long
    def test_a_pod_that_does_not_end_is_named(self, fetched: Host) -> None:
        # Given a pod that takes its time, and no kubelet that would end it.
        fetched.add_pod("slow", terminationGracePeriodSeconds=600)

        words = failed(roll(fetched, "nodes", drain_timeout=4))

        assert f"Still there: {fetched.node}/slow." in words
        assert not fetched.cordoned
        assert fetched.commands == []

    @pytest.mark.long
    def test_a_pod_with_data_is_not_evicted_unless_one_says_so(self, fetched: Host) -> None:
        fetched.add_pod("cache", volumes=[{"name": "data", "emptyDir": {}}])

        words = failed(roll(fetched, "nodes"))

        assert f"cannot delete Pods with local storage: {fetched.node}/cache" in words
        assert not fetched.cordoned

    @pytest.mark.long
    def test_without_a_drain_pods_stay_and_without_kubectl_none_is_installed(
        self, host: Host
    ) -> None:
        host.add_pod("web")
        (host.directory / "programs" / "kubectl").unlink()

        succeeded(roll(host, "nodes", drain=False))

        assert host.pods() == ["web"]
        assert host.kubelet == NEW
        assert not host.cordoned
        assert not (host.directory / "programs" / "kubectl").exists()

    @pytest.mark.long
    def test_a_node_that_somebody_has_cordoned_stays_cordoned(self, fetched: Host) -> None:
        fetched.plane.api.patch(f"/api/v1/nodes/{fetched.node}", {"spec": {"unschedulable": True}})

        succeeded(roll(fetched, "nodes"))

        assert fetched.kubelet == NEW
        assert fetched.cordoned

    @pytest.mark.long
    def test_a_node_that_a_killed_run_has_cordoned_is_uncordoned(self, host: Host) -> None:
        host.install(NEW)
        left = {"metadata": {"annotations": {MARK: NEW}}, "spec": {"unschedulable": True}}
        host.plane.api.patch(f"/api/v1/nodes/{host.node}", left)

        assert succeeded(roll(host, "nodes")) == 1

        assert not host.cordoned
        assert host.commands == []

    def test_a_kubelet_that_does_not_come_back_leaves_it_cordoned_and_says_so(
        self, fetched: Host
    ) -> None:
        (fetched.directory / "kubelet-stuck").touch()

        words = failed(roll(fetched, "nodes", wait_timeout=4))

        assert f"Its kubelet should tell {NEW} and tells {OLD}" in words
        assert "was left as it is, and cordoned where it was drained" in words
        assert fetched.cordoned

        # When it is mended, the same goes on.
        (fetched.directory / "kubelet-stuck").unlink()
        succeeded(roll(fetched, "nodes"))
        assert fetched.kubelet == NEW
        assert not fetched.cordoned

    @pytest.mark.long
    def test_what_fails_before_the_kubelet_is_replaced_leaves_it_schedulable(
        self, fetched: Host
    ) -> None:
        (fetched.directory / "kubeadm-fails").touch()

        words = failed(roll(fetched, "nodes"))

        assert "the etcd cluster is not healthy" in words
        assert not fetched.cordoned
        assert fetched.kubelet == OLD

    def test_a_node_that_is_not_there_is_named(self, host: Host) -> None:
        words = failed(roll(host, "nodes", name="nobody"))

        assert "The cluster has no node that is named nobody" in words
        assert host.commands == []

    @pytest.mark.long
    def test_your_own_tasks_replace_the_kubelet_between_your_hooks(
        self, host: Host, tmp_path: Path
    ) -> None:
        log = tmp_path / "log"
        shell = f"{host.directory / 'bin' / 'systemctl'} restart kubelet"
        kubelet = host.directory / "programs" / "kubelet"
        install = f"printf '#!/bin/sh\\necho Kubernetes v%s\\n' $0 > {kubelet}"
        files = {
            "before": f"echo before >> {log}",
            "mine": f"echo $0 $1 >> {log}; {install}; {shell}",
            "after": f"echo after >> {log}",
        }
        for name, line in files.items():
            given = ["{{ lockstep_release }}", "{{ lockstep_node }}"] if name == "mine" else []
            task = {"ansible.builtin.command": {"argv": ["sh", "-c", line, *given]}}
            (tmp_path / f"{name}.yml").write_text(json.dumps([task]))

        succeeded(
            roll(
                host,
                "nodes",
                driver="tasks",
                tasks=tmp_path / "mine.yml",
                hooks_before=tmp_path / "before.yml",
                hooks_after=tmp_path / "after.yml",
            )
        )

        assert log.read_text().splitlines() == ["before", f"1.37.0 {host.node}", "after"]
        assert host.kubelet == NEW
        assert host.commands == ["systemctl restart kubelet"]
        assert not host.cordoned

    @pytest.mark.long
    def test_a_failure_of_your_own_tasks_leaves_it_cordoned(
        self, host: Host, tmp_path: Path
    ) -> None:
        (tmp_path / "mine.yml").write_text(json.dumps([{"ansible.builtin.command": "false"}]))

        failed(roll(host, "nodes", driver="tasks", tasks=tmp_path / "mine.yml"))

        assert host.cordoned
