"""Wrong answers and wrong input: whatever comes, it is a fault that is named, and in time."""

from __future__ import annotations

import json
import os
import subprocess
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from kubernetes.client import Configuration

from ansible_collections.lockstep.kubernetes.plugins.module_utils._act import locks
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.membership import (
    Membership,
    decide_membership,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.observations import (
    ClusterIdentity,
    ClusterSight,
    Release,
    ServerSight,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.servers import (
    Access,
    ApiServer,
    Deadline,
    ServerFault,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.storage_versions import (
    observe_leases,
    observe_leases_again,
)
from lab.ansible import run_playbook, tasks
from lab.api import User
from lab.control_plane import ControlPlane, PrivateNetwork, ServerSpec, control_plane
from lab.proxy import Change, Proxy, cluster_admin, cut
from lab.recorder import LEASES, Recorder, call_module
from lab.waiting import eventually

RESOURCE = "deployments.apps"
CANARY = "canary-1b9f63e2"
# Beyond the timeout: what a module needs besides, on a machine with much else to do.
SLACK = 4.0


def wrong_types(body: bytes) -> bytes:
    """The same keys, with something else behind each but for the kind."""
    document = json.loads(body) if body.startswith(b"{") else {}
    changed = {key: 5 if isinstance(value, (dict, list)) else [] for key, value in document.items()}
    return json.dumps({**changed, "kind": document.get("kind")}).encode()


TROUBLES: dict[str, Change] = {
    "HTML": lambda _body: b"<html><body>Please wait</body></html>",
    "cut off": cut,
    "a list": lambda _body: b"[]",
    "null": lambda _body: b"null",
    "nothing": lambda _body: b"",
    "another document": lambda _body: b'{"code":200,"message":"maintenance"}',
    "wrong types": wrong_types,
}
MODULES: dict[str, dict[str, Any]] = {
    "discovery_hash": {"resources": [RESOURCE]},
    "storage_version_info": {"resources": [RESOURCE]},
    "storage_state": {"resources": [RESOURCE], "settle": 0},
    "storage_state_info": {"resources": [RESOURCE]},
    "upgrade_plan": {"release": "1.36.3"},
    "lock": {"name": "upgrade", "owner": "alice"},
}


@dataclass(frozen=True)
class Spoilt:
    """A server that is reached through a proxy only, which spoils its answers."""

    plane: ControlPlane
    proxy: Proxy
    user: User

    def call(self, module: str, *, timeout: float = 10.0) -> Any:
        """What a module returns through the proxy, which must come in time."""
        options = dict(MODULES[module])
        if module == "upgrade_plan":
            options["hosts"] = {"cp-1": self.proxy.url}
        elif module not in ("lock", "storage_state_info"):
            options["servers"] = [self.proxy.url]
        kubeconfig = self.proxy.kubeconfig(self.user)
        begun = time.monotonic()
        result = call_module(module, kubeconfig=kubeconfig, timeout=timeout, **options)
        assert time.monotonic() - begun < timeout + SLACK
        return result

    def assert_told(self, result: Any) -> None:
        """The result names the server as what is wrong, in a line, and says nothing good."""
        said = json.dumps({key: value for key, value in result.items() if key != "invocation"})
        assert "Traceback" not in said
        # A host of upgrade_plan is named as the operator does.
        assert any(name in said for name in (self.proxy.url, "cp-1: "))
        if result.get("failed"):
            assert "\n" not in result["msg"]
            assert result["remedy"]
        else:
            assert not result.get("agreed")
            assert not any(one["migrated"] for one in result.get("states", {}).values())


@pytest.fixture(scope="module")
def reporting(network: PrivateNetwork) -> Iterator[ControlPlane]:
    """One server that serves all that any module reads."""
    with control_plane(ServerSpec().with_storage_version_api(), network=network) as plane:
        Recorder(plane).install()
        yield plane


@pytest.fixture(scope="module")
def proxied(reporting: ControlPlane) -> Iterator[Spoilt]:
    user = cluster_admin(reporting, "spoilt")
    with Proxy(reporting, reporting.servers["cp-1"].url) as proxy:
        yield Spoilt(reporting, proxy, user)


@pytest.fixture
def spoilt(proxied: Spoilt) -> Iterator[Spoilt]:
    """The proxy at peace, before and after."""
    proxied.proxy.calm()
    yield proxied
    proxied.proxy.calm()


@pytest.mark.parametrize("module", MODULES)
def test_a_wrong_answer_to_any_request_names_the_server(spoilt: Spoilt, module: str) -> None:
    known = len(spoilt.proxy.requests)
    well = spoilt.call(module)
    asked = [one for one in spoilt.proxy.requests[known:] if one.status < 300]
    paths = list(dict.fromkeys(one.path.partition("?")[0] for one in asked))
    every = bool(os.environ.get("LOCKSTEP_LONG"))

    assert not well.get("failed"), well
    for number, path in enumerate(paths):
        chosen = list(TROUBLES) if every else [list(TROUBLES)[number % len(TROUBLES)]]
        for trouble in chosen:
            spoilt.proxy.answer_wrong(TROUBLES[trouble], path=path)
            spoilt.assert_told(spoilt.call(module))


@pytest.mark.parametrize("module", MODULES)
def test_an_answer_that_drips_ends_with_the_timeout(spoilt: Spoilt, module: str) -> None:
    spoilt.proxy.answer_slowly()

    result = spoilt.call(module, timeout=1.5)

    spoilt.assert_told(result)
    assert "no answer within 1.5 s" in json.dumps(result)


def connection(spoilt: Spoilt, *, timeout: float) -> ApiServer:
    """The way that all modules speak to one server."""
    configuration = Configuration()
    configuration.host = spoilt.proxy.url
    configuration.ssl_ca_cert = str(spoilt.user.ca)
    configuration.api_key = {"authorization": f"Bearer {spoilt.user.token}"}
    return ApiServer(Access(configuration), spoilt.proxy.url, Deadline(timeout))


def test_a_rewrite_whose_answer_drips_ends_with_the_timeout(spoilt: Spoilt) -> None:
    path = "/api/v1/namespaces/default"
    server = connection(spoilt, timeout=1.5)
    server.rewrite(path, accept="application/json", query={})
    spoilt.proxy.answer_slowly(path=path)

    begun = time.monotonic()
    with pytest.raises(ServerFault, match=r"no answer within 1\.5 s"):
        server.rewrite(path, accept="application/json", query={})

    assert time.monotonic() - begun < 1.5 + SLACK
    server.close()


class TestLocks:
    @pytest.fixture
    def recorder(self, reporting: ControlPlane) -> Recorder:
        recorder = Recorder(reporting)
        recorder.forget()
        return recorder

    def lock(self, recorder: Recorder, **options: Any) -> Any:
        asked = {"name": "upgrade", "owner": "alice", "process": os.getpid(), **options}
        return recorder.call("lock", **asked)

    def hold(self, recorder: Recorder, owner: str) -> None:
        """Let somebody hold the lock for an hour from now on."""
        held = recorder.call("lock", name="upgrade", owner=owner, seconds=3600)
        assert held["held"]

    @pytest.mark.parametrize("other", ["another machine", "another namespace"])
    def test_the_lock_of_another_machine_of_the_same_name_is_not_taken(
        self, recorder: Recorder, other: str
    ) -> None:
        here = locks.identify_process(os.getpid())
        # The number of no process on this machine.
        there = replace(here, number=4_000_000)
        if other == "another machine":
            there = replace(there, boot="00000000-1111-4222-8333-444444444444")
        else:
            there = replace(there, namespace="4026539999")
        self.hold(recorder, f"bob, {there}")

        result = self.lock(recorder)

        assert result["failed"]
        assert f"held by bob, {there}" in result["msg"]

    def test_a_later_process_of_the_same_number_does_not_hold_the_lock(
        self, recorder: Recorder
    ) -> None:
        with subprocess.Popen(["sleep", "60"]) as process:
            dead = replace(locks.identify_process(process.pid), started="1")
            self.hold(recorder, f"bob, {dead}")

            result = self.lock(recorder)

            process.kill()
        assert result["held"]

    def test_a_process_that_is_not_there_can_not_hold_a_lock(self, recorder: Recorder) -> None:
        result = self.lock(recorder, process=4_000_000)

        assert "The option process is 4000000" in result["msg"]
        assert "delegate_to: localhost" in result["remedy"]

    @pytest.mark.parametrize("options", [{}, {"take_over": True}, {"if_held": "tell"}])
    def test_a_lease_of_that_name_that_is_not_ours_is_named_and_left_alone(
        self, recorder: Recorder, options: dict[str, Any]
    ) -> None:
        spec = {"holderIdentity": "a rival tool", "leaseDurationSeconds": 1}
        foreign = {"metadata": {"name": "lockstep-upgrade"}, "spec": spec}
        before = recorder.api.create(LEASES, foreign)

        result = self.lock(recorder, **options)
        released = self.lock(recorder, state="released")

        assert "The Lease lockstep-upgrade in kube-system is not Lockstep's" in result["msg"]
        assert "a rival tool" in result["msg"]
        assert not released["changed"]
        assert recorder.api.get(f"{LEASES}/lockstep-upgrade") == before

    @pytest.fixture
    def held(
        self, recorder: Recorder, spoilt: Spoilt, monkeypatch: pytest.MonkeyPatch
    ) -> Iterator[locks.ProcessLock]:
        """A lock of a few seconds, as a run holds one that migrates."""
        for name, value in (("", 4), ("_MARGIN", 1.5), ("_RENEW", 0.5), ("_POLL", 0.1)):
            monkeypatch.setattr(locks.ProcessLock, f"{name}_SECONDS", value)
        server = connection(spoilt, timeout=1)
        lock = locks.ProcessLock(server, "work")
        lock.take(patience=1, say=str)
        lock.keep()
        yield lock
        server.close()

    def is_free(self, recorder: Recorder) -> bool:
        """Whether another run gets the lock."""
        asked = recorder.call("lock", name="work", owner="bob", if_held="tell")
        return bool(asked["held"])

    def test_one_that_can_not_be_renewed_is_lost_before_another_run_gets_it(
        self, recorder: Recorder, spoilt: Spoilt, held: locks.ProcessLock
    ) -> None:
        # Given a run that holds its lock, and servers that are away from now on.
        spoilt.proxy.unavailable(60)

        # When it goes on asking whether the lock is still its own.
        with pytest.raises(locks.LostError) as lost:
            hold_on(held, within=10)

        # Then it is told in time: until now nobody else can have had it.
        assert not self.is_free(recorder)
        assert "another run may have it now" in lost.value.why
        eventually(lambda: self.is_free(recorder), within=10)

    def test_one_of_a_process_that_stood_still_is_lost(self, held: locks.ProcessLock) -> None:
        time.sleep(3)

        with pytest.raises(locks.LostError, match="stood still"):
            held.keep()

    def test_one_that_somebody_has_broken_is_lost(
        self, recorder: Recorder, held: locks.ProcessLock
    ) -> None:
        recorder.call("lock", name="work", owner="bob", take_over=True)

        with pytest.raises(locks.LostError, match="bob has taken it"):
            hold_on(held, within=10)


def hold_on(lock: locks.ProcessLock, *, within: float) -> None:
    """Ask for so long whether a lock is still held, as a migration does while it works."""
    until = time.monotonic() + within
    while time.monotonic() < until:
        lock.keep()
        time.sleep(0.1)


class TestLeases:
    """A lease counts only while it is renewed, whatever else may make the count right."""

    @pytest.fixture
    def aged(self, reporting: ControlPlane) -> Iterator[str]:
        """The lease of a server that seems to have stopped half a minute ago."""
        path = f"{LEASES}/apiserver-aged"
        labels = {"apiserver.kubernetes.io/identity": "kube-apiserver"}
        metadata = {"name": "apiserver-aged", "labels": labels}
        reporting.api.create(LEASES, {"metadata": metadata, "spec": self.spec(age=26)})
        yield path
        reporting.api.delete(path)

    def spec(self, *, age: float) -> dict[str, Any]:
        then = datetime.now(UTC) - timedelta(seconds=age)
        moment = then.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        return {"holderIdentity": "x", "leaseDurationSeconds": 3600, "renewTime": moment}

    def read(self, spoilt: Spoilt) -> Membership:
        """Who is there, if as many servers were read as there are leases."""
        server = connection(spoilt, timeout=10)
        first, now = observe_leases(server)
        leases, now, renewed = observe_leases_again(server, first, now)
        server.close()
        identity = ClusterIdentity("the cluster's", leases=leases)
        servers = tuple(
            ServerSight(
                one.name,
                start_time=one.name,
                release=Release("v1.36.3"),
                ready=True,
                identity=identity,
            )
            for one in leases
        )
        sight = ClusterSight(now, servers, leases, renewed_leases=renewed, identity=identity)
        return decide_membership(sight)

    def test_one_that_is_not_renewed_makes_the_view_incomplete(
        self, spoilt: Spoilt, aged: str
    ) -> None:
        membership = self.read(spoilt)

        assert not membership.complete
        assert "may be frozen" in " ".join(map(str, membership.reasons))
        assert aged.endswith(membership.reasons[-1].lease)

    def test_one_that_is_renewed_while_it_is_read_again_counts(
        self, spoilt: Spoilt, aged: str
    ) -> None:
        # By its server's clock, which is late.
        spec = {"spec": self.spec(age=20)}
        renewing = threading.Timer(0.5, spoilt.plane.api.patch, (aged, spec))
        renewing.start()

        membership = self.read(spoilt)

        renewing.join()
        assert membership.complete
        assert len(membership.live) == 2


class TestSecrets:
    """A password in a URL stays hidden, wherever the URL comes from."""

    def kubeconfig(self, plane: ControlPlane, **cluster: str) -> dict[str, Any]:
        kubeconfig: dict[str, Any] = json.loads(plane.kubeconfig().read_text())
        kubeconfig["clusters"][0]["cluster"].update(cluster)
        return kubeconfig

    @pytest.mark.parametrize(
        "cluster",
        [
            {"proxy-url": f"http://alice:{CANARY}@127.0.0.1:1"},
            {"server": f"https://alice:{CANARY}@127.0.0.1:1"},
            {"server": f"https://alice:{CANARY}@host:port"},
        ],
        ids=["proxy", "server", "wrong server"],
    )
    def test_of_a_kubeconfig_given_as_data(
        self, reporting: ControlPlane, cluster: dict[str, str]
    ) -> None:
        result = call_module("discovery_hash", kubeconfig=self.kubeconfig(reporting, **cluster))

        assert result["failed"]
        assert CANARY not in json.dumps(result)

    @pytest.mark.parametrize(
        ("module", "options"),
        [
            ("discovery_hash", {"host": f"https://alice:{CANARY}@127.0.0.1:1"}),
            ("discovery_hash", {"proxy": f"http://alice:{CANARY}@127.0.0.1:1"}),
            ("discovery_hash", {"servers": [f"alice:{CANARY}@127.0.0.1:1"]}),
            ("discovery_hash", {"servers": [f"https://alice:{CANARY}@host:port"]}),
            ("storage_audit", {"endpoints": [f"https://alice:{CANARY}@127.0.0.1:1"]}),
        ],
    )
    def test_of_an_option(
        self, reporting: ControlPlane, module: str, options: dict[str, Any]
    ) -> None:
        cluster = {} if module == "storage_audit" else {"kubeconfig": reporting.kubeconfig()}

        result = call_module(module, **cluster, **options)

        assert "127.0.0.1" in json.dumps(result) or "host:port" in json.dumps(result)
        assert CANARY not in json.dumps(result)

    def test_in_all_that_a_verbose_playbook_prints(self, reporting: ControlPlane) -> None:
        hidden = {
            "proxy-url": f"http://alice:{CANARY}@127.0.0.1:1",
            "server": f"https://alice:{CANARY}@127.0.0.1:1",
        }
        options = {
            "kubeconfig": self.kubeconfig(reporting, **hidden),
            "servers": [f"https://alice:{CANARY}@127.0.0.1:1"],
        }
        step = {"lockstep.kubernetes.discovery_hash": options, "ignore_errors": True}

        done = run_playbook(tasks(step), "-vvv")

        assert "can't be read through https://127.0.0.1:1" in done.stdout
        assert "fatal: " in done.stdout
        assert CANARY not in done.stdout + done.stderr


@pytest.mark.parametrize("path", ["/nowhere/progress", "/dev/full", "/"])
def test_a_progress_file_that_can_not_be_written_is_no_failure(
    reporting: ControlPlane, monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    monkeypatch.setenv("LOCKSTEP_PROGRESS_FILE", path)
    options = {"wait": True, "settle": 0.2, "wait_sleep": 0.3, "resources": [RESOURCE]}

    result = call_module("discovery_hash", kubeconfig=reporting.kubeconfig(), **options)

    assert result["agreed"]
