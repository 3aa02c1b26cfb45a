"""Evidence of another cluster, or of another moment, was taken for this one's (R12, R13)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from lab.ansible import look
from lab.control_plane import ControlPlane, PrivateNetwork, ServerSpec, control_plane
from lab.gate import audited, etcd_options, found, judge
from lab.recorder import Recorder, call_module

# What 1.36.3 emulating 1.34 writes as v1beta2, and 1.36.3 itself as v1.
RESOURCE, PATH = "deviceclasses.resource.k8s.io", "/apis/resource.k8s.io/v1/deviceclasses"
KEYS = "/registry/deviceclasses/"
PLAIN, OLDER = ServerSpec(), ServerSpec(emulated_version="1.34")
CRON_JOB = {
    "metadata": {"name": "nightly"},
    "spec": {
        "schedule": "0 3 * * *",
        "jobTemplate": {
            "spec": {
                "template": {
                    "spec": {
                        "restartPolicy": "Never",
                        "containers": [{"name": "one", "image": "example.com/one"}],
                    }
                }
            }
        },
    },
}


def device_class(name: str) -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": {}}


@pytest.fixture(scope="module")
def recorder(network: PrivateNetwork) -> Iterator[Recorder]:
    """One server that tests restart as they need it, with an object that it wrote as v1."""
    with control_plane(PLAIN, network=network) as plane:
        recorder = Recorder(plane)
        recorder.install()
        plane.api.create(PATH, device_class("new"))
        yield recorder


def become(recorder: Recorder, spec: ServerSpec) -> None:
    """Restart the server as another one, unless it is that one already."""
    server = recorder.plane.servers["cp-1"]
    if server.spec != spec:
        server.restart(spec)


def audit(recorder: Recorder, **options: Any) -> dict[str, Any]:
    result = call_module("storage_audit", **{**etcd_options(recorder), **options})
    assert not result.get("failed"), result
    return result


def record(recorder: Recorder, **options: Any) -> Any:
    """What is recorded of the resource after one observation with these options."""
    recorder.forget()
    return recorder.observe(RESOURCE, **options)["states"][RESOURCE]


@pytest.fixture(scope="module")
def another(recorder: Recorder, network: PrivateNetwork) -> Iterator[ControlPlane]:
    """Another cluster, whose certificates are of the same CA."""
    with control_plane(PLAIN, network=network, authority=recorder.plane.authority) as plane:
        yield plane


class TestIdentity:
    def test_servers_of_another_cluster_are_not_agreed_with(
        self, recorder: Recorder, another: ControlPlane
    ) -> None:
        # Given a server here that writes v1beta2, and one of another cluster that writes v1.
        become(recorder, OLDER)

        # When the kubeconfig leads here, and the servers are those of the other cluster.
        seen = look(recorder.plane, servers=[another.servers["cp-1"].url])
        migrated = recorder.try_to_migrate(RESOURCE, servers=[another.servers["cp-1"].url])

        # Then nothing is agreed on, and nothing was migrated.
        assert (seen["agreed"], seen["verdict"]) == (False, "incomplete")
        assert "is of another cluster: its kube-system has the UID" in seen["summary"][1]
        assert migrated["failed"]
        assert "is of another cluster" in migrated["msg"]

    def test_an_audit_of_another_cluster_is_refused(
        self, recorder: Recorder, another: ControlPlane
    ) -> None:
        foreign = call_module("storage_audit", **etcd_options(Recorder(another)))
        seen = look(recorder.plane)

        result = recorder.call("storage_state", audit=foreign, audited_after=seen)

        assert result["failed"]
        assert "The option audit is of another cluster than audited_after" in result["msg"]

    def test_a_verdict_names_its_cluster(self, recorder: Recorder) -> None:
        uid = recorder.api.get("/api/v1/namespaces/kube-system")["metadata"]["uid"]

        verdict = judge(recorder, lists=False)

        assert verdict["cluster_uid"] == uid


class TestOrder:
    def test_an_audit_from_before_the_observation_proves_nothing(self, recorder: Recorder) -> None:
        # Given an audit, then an object in v1beta2, then servers that write v1.
        become(recorder, PLAIN)
        before = audit(recorder)
        become(recorder, OLDER)
        recorder.api.create(PATH, device_class("old"))
        become(recorder, PLAIN)

        # When that audit is given with an observation that came after it.
        state = record(recorder, audit=before, audited_after=look(recorder.plane))

        # Then what is stored is not known, as it was not.
        assert "resource.k8s.io/v1beta2" in recorder.plane.etcd.stored_versions(KEYS).values()
        assert not state["migrated"]
        assert "Unknown" in state["persisted"]

    def test_an_audit_from_before_a_restart_does_not_count_for_the_gate(
        self, recorder: Recorder
    ) -> None:
        become(recorder, PLAIN)
        evidence = audited(recorder)
        recorder.plane.servers["cp-1"].restart()

        verdict = judge(recorder, **evidence)

        (finding,) = found(verdict, "keys-unseen").values()
        assert verdict["safe"] != "true"
        assert "since etcd was read server" in finding["seen"]

    def test_what_is_no_longer_served_since_the_audit_is_found(self, recorder: Recorder) -> None:
        # Given an object that is counted by an audit, and its API turned off after it.
        become(recorder, PLAIN)
        recorder.api.create("/apis/batch/v1/namespaces/default/cronjobs", CRON_JOB)
        evidence = audited(recorder)
        become(recorder, replace(PLAIN, runtime_config={"batch/v1": False}))

        # When the step is judged by that audit.
        verdict = judge(recorder, **evidence)
        become(recorder, PLAIN)

        # Then the key that nobody serves is named, and the step is not safe.
        assert recorder.plane.etcd.keys("/registry/cronjobs/")
        assert "cronjobs.batch" in found(verdict, "stored-unserved")
        assert verdict["safe"] != "true"


class TestCompleteness:
    def test_no_keys_prove_nothing_where_servers_show_objects(self, recorder: Recorder) -> None:
        # Given servers that keep their objects below another prefix than the one audited.
        become(recorder, PLAIN)
        before = look(recorder.plane)
        result = audit(recorder, resources=[RESOURCE, "namespaces"])
        emptied = json.loads(json.dumps(result))
        del emptied["resources"][RESOURCE]

        # When such an audit is recorded.
        state = record(recorder, audit=emptied, audited_after=before)

        # Then the objects that the servers show speak against it.
        assert not state["migrated"]

    def test_another_prefix_is_not_this_cluster(self, recorder: Recorder) -> None:
        become(recorder, replace(PLAIN, arguments=["--etcd-prefix=/other"]))
        seen = look(recorder.plane)

        result = recorder.call(
            "upgrade_gate",
            to_release="1.37.0",
            audit=audit(recorder),
            audited_after=seen,
            fail=False,
        )
        become(recorder, PLAIN)

        assert result["failed"]
        assert "is of another cluster" in result["msg"]


class TestUnseenRestarts:
    def test_a_restart_that_nobody_saw_leaves_migrated_unknown(self, recorder: Recorder) -> None:
        # Given a resource that is known to be stored as the servers write it.
        become(recorder, PLAIN)
        recorder.forget()
        recorder.observe(RESOURCE)
        recorder.migrate(RESOURCE, backend="direct")
        assert not recorder.call("storage_state", state="migrated", resources=[RESOURCE]).get(
            "failed"
        )

        # When the server was another one in between, which wrote v1beta2, and is the same again.
        become(recorder, OLDER)
        recorder.api.create(PATH, device_class("between"))
        become(recorder, PLAIN)
        result = recorder.call("storage_state", state="migrated", resources=[RESOURCE])

        # Then it is not known, and nothing is due by that alone; an audit tells the truth.
        assert result["failed"]
        assert "is unknown" in result["msg"]
        assert result["due"] == []
        known = recorder.observe(RESOURCE, **audited(recorder))["states"][RESOURCE]
        assert "resource.k8s.io/v1beta2" in known["persisted_versions"]

    def test_a_restart_that_the_run_made_itself_was_seen(self, recorder: Recorder) -> None:
        become(recorder, PLAIN)
        recorder.forget()
        recorder.observe(RESOURCE)
        recorder.migrate(RESOURCE, backend="direct")
        server = recorder.plane.servers["cp-1"]

        server.restart()
        recorder.observe(RESOURCE, restarted_servers=[server.url])

        assert not recorder.call("storage_state", state="migrated", resources=[RESOURCE]).get(
            "failed"
        )
