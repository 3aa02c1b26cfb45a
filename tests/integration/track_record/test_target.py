"""Wrong verdicts on what the target serves, and on the release that is left."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from truth.target import read_copy

from lab.ansible import look
from lab.control_plane import ControlPlane, PrivateNetwork, ServerSpec, control_plane
from lab.gate import audited, found, judge
from lab.recorder import MIGRATIONS, Recorder, call_module
from lab.waiting import eventually

OLD, NEW = "1.36.3", "1.37.0"
BUNDLES = "clustertrustbundles.certificates.k8s.io"
CANDIDATES = "leasecandidates.coordination.k8s.io"
WORKLOADS = "workloads.scheduling.k8s.io"
BUNDLES_PATH = "/apis/certificates.k8s.io/v1/clustertrustbundles"
CANDIDATES_PATH = "/apis/coordination.k8s.io/v1beta1/namespaces/default/leasecandidates"
COORDINATION = {"coordination.k8s.io/v1beta1": True}


@pytest.fixture(scope="module")
def newer(network: PrivateNetwork) -> Iterator[Recorder]:
    """A server of 1.37.0 with one API on by a flag, a ClusterTrustBundle and a LeaseCandidate."""
    with control_plane(
        ServerSpec(release=NEW, runtime_config=COORDINATION), network=network
    ) as plane:
        recorder = Recorder(plane)
        recorder.install()
        recorder.api.create(
            BUNDLES_PATH,
            {"metadata": {"name": "stranded"}, "spec": {"trustBundle": plane.etcd.ca.read_text()}},
        )
        recorder.api.create(
            CANDIDATES_PATH,
            {
                "metadata": {"name": "stranded", "namespace": "default"},
                "spec": {
                    "leaseName": "any",
                    "binaryVersion": "1.37.0",
                    "emulationVersion": "1.37.0",
                    "strategy": "OldestEmulationVersion",
                },
            },
        )
        yield recorder


class TestServed:
    def test_a_rollback_that_strands_objects_is_not_safe(
        self, newer: Recorder, network: PrivateNetwork
    ) -> None:
        result = judge(newer, OLD, runtime_config=COORDINATION, **audited(newer))
        truth = read_copy(
            newer.plane.etcd, ServerSpec(runtime_config=COORDINATION), network=network
        )

        finding = found(result, "target-unserved")[BUNDLES]
        assert result["safe"] == "false"
        assert "1 object is stored" in finding["seen"]
        assert "/registry/clustertrustbundles/stranded" in truth.unreadable
        assert CANDIDATES not in found(result, "target-unserved")
        assert not any("leasecandidates" in key for key in truth.unreadable)

    def test_what_only_a_flag_turns_on_is_unknown_until_the_flags_are_given(
        self, newer: Recorder
    ) -> None:
        audit = audited(newer)

        without = judge(newer, OLD, **audit)
        with_none = judge(newer, OLD, runtime_config={}, **audit)

        assert found(without, "target-unserved")[CANDIDATES]["unknown"]
        assert not found(with_none, "target-unserved")[CANDIDATES]["unknown"]
        assert with_none["safe"] == "false"

    def test_flags_are_taken_from_a_manifest(self, newer: Recorder) -> None:
        manifest = """
          kind: Pod
          spec:
            containers:
              - command: [kube-apiserver, --v=2, --runtime-config, coordination.k8s.io/v1beta1=true]
        """

        result = judge(newer, OLD, apiserver_manifest=manifest)

        assert result["flags"]["runtime_config"] == COORDINATION
        assert CANDIDATES not in found(result, "target-unserved")

    def test_what_an_upgrade_turns_on_and_a_rollback_strands_is_told_before(
        self, recorder: Recorder
    ) -> None:
        result = judge(recorder, NEW, fail=True, **audited(recorder))

        assert result["safe"] == "true"
        assert found(result, "rollback-unserved")[BUNDLES]["severity"] == "warn"


class TestReleaseThatIsLeft:
    def test_one_that_no_server_runs_is_refused(self, newer: Recorder) -> None:
        result = judge(newer, OLD, from_release="1.35.4")

        assert result["failed"]
        assert "No server runs or emulates that: they run v1.37.0" in result["msg"]

    def test_one_from_a_record_is_accepted_once_every_server_runs_the_target(
        self, newer: Recorder
    ) -> None:
        result = judge(newer, NEW, from_release=OLD, from_recorded=True)

        assert result["from_release"] == "v1.36.3"


class TestFinishedMigrations:
    def test_our_own_go_once_they_are_recorded_and_those_of_others_stay(
        self, recorder: Recorder
    ) -> None:
        recorder.observe("secrets")
        recorder.migrate("configmaps", backend="direct")
        recorder.migrate_by_hand("secrets", name="by-hand")
        recorder.finish("secrets")
        (ours,) = recorder.migrations("configmaps")

        fresh = recorder.observe("configmaps", "secrets")
        _age(recorder, minutes=6)
        later = recorder.observe("configmaps", "secrets")

        assert fresh["finished"] == []
        assert later["finished"] == [f"{ours} (migration.k8s.io)"]
        assert recorder.migrations().keys() == {"by-hand"}
        assert recorder.tell("configmaps")["states"]["configmaps"]["migrated"]


def _age(recorder: Recorder, *, minutes: float) -> None:
    """Let every migration have ended that long ago."""
    then = (datetime.now(UTC) - timedelta(minutes=minutes)).strftime("%Y-%m-%dT%H:%M:%SZ")
    for name, one in recorder.migrations().items():
        status = one["status"]
        conditions = [{**each, "lastUpdateTime": then} for each in status["conditions"]]
        document = {**one, "status": {**status, "conditions": conditions}}
        recorder.api.replace(f"{MIGRATIONS}/{name}/status", document)


class TestUnlistedVersions:
    """All servers share one list of APIs, which the last one to start leaves its own versions in.

    The other one serves and writes its version all the same, whichever of the two that is.
    """

    @pytest.fixture(scope="class")
    @classmethod
    def differing(cls, network: PrivateNetwork) -> Iterator[ControlPlane]:
        """The upgraded server cp-1, and cp-2, which can't read what cp-1 writes."""
        specs = (
            ServerSpec(
                release=release,
                feature_gates={"GenericWorkload": True},
                runtime_config={f"scheduling.k8s.io/{version}": True},
            )
            for release, version in ((NEW, "v1beta1"), (OLD, "v1alpha2"))
        )
        with control_plane(*specs, network=network) as plane:
            yield plane

    @pytest.fixture(scope="class", params=["cp-1", "cp-2"])
    @classmethod
    def unlisted(cls, request: pytest.FixtureRequest, differing: ControlPlane) -> ControlPlane:
        """The same, where the other server was restarted last."""
        (last,) = differing.servers.keys() - {request.param}
        differing.servers[last].restart()
        version = {"cp-1": "v1beta1", "cp-2": "v1alpha2"}[request.param]
        eventually(lambda: not lists(differing, f"scheduling.k8s.io/{version}"), within=30)
        return differing

    def test_servers_that_write_them_differently_do_not_agree(self, unlisted: ControlPlane) -> None:
        seen = look(unlisted)["resources"][WORKLOADS]

        assert seen["status"] == "disagreeing"
        assert {one["encoding_version"] for one in seen["servers"].values()} == {
            "scheduling.k8s.io/v1beta1",
            "scheduling.k8s.io/v1alpha2",
        }

    def test_one_that_writes_what_another_cant_read_stops_the_upgrade(
        self, unlisted: ControlPlane
    ) -> None:
        result: Any = call_module(
            "server_gate",
            kubeconfig=unlisted.kubeconfig(),
            server=unlisted.servers["cp-1"].url,
            release=NEW,
            server_count=2,
        )

        assert result.get("failed"), result
        assert f"writes {WORKLOADS}" in result["msg"]


def lists(plane: ControlPlane, group_version: str) -> bool:
    """Whether any server still lists it."""
    group = group_version.split("/")[0]
    return any(
        group_version in str(server.api.get(f"/apis/{group}")) for server in plane.servers.values()
    )
