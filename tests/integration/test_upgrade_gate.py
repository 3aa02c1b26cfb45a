"""`upgrade_gate`: the verdict before an upgrade or a rollback, from what is really stored."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.catalogue import (
    parse_catalogue,
    parse_catalogues,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.catalogue.data import (
    RELEASES,
)
from lab import binaries
from lab.catalogue import format_catalogue, read_release
from lab.control_plane import ControlPlane, PrivateNetwork, ServerSpec, control_plane
from lab.fixtures import Planes
from lab.gate import audited, found, judge, run_remedy
from lab.recorder import Recorder, call_module
from lab.waiting import eventually

WORKLOADS = "workloads.scheduling.k8s.io"
WORKLOADS_PATH = "/apis/scheduling.k8s.io/v1alpha2/namespaces/default/workloads"


@pytest.fixture(scope="module")
def alpha(network: PrivateNetwork) -> Iterator[Recorder]:
    """A server of 1.36.3 with an alpha API on that 1.37 reads in other versions only."""
    spec = ServerSpec(
        feature_gates={"GenericWorkload": True},
        runtime_config={"scheduling.k8s.io/v1alpha2": True},
    )
    with control_plane(spec, network=network) as plane:
        recorder = Recorder(plane)
        recorder.install()
        yield recorder


class TestVerdict:
    def test_a_cluster_that_nobody_watched_is_not_known_to_be_safe(
        self, recorder: Recorder
    ) -> None:
        result = judge(recorder, fail=True)

        assert result["failed"]
        assert result["safe"] == "unknown"
        assert "configmaps" in found(result, "stored-unknown")
        assert "configmaps" in result["cured_by"]["audit"]
        assert "is not known to be safe" in result["msg"]

    def test_r14_what_no_etcd_tells_is_one_finding_that_names_every_resource(
        self, recorder: Recorder
    ) -> None:
        result = judge(recorder)

        [one, events] = [one for one in result["findings"] if one["check"] == "stored-unknown"]
        assert {*one["resources"], *events["resources"]} == set(result["resources"])
        assert f"{len(one['resources'])} resources may be stored" in one["seen"]
        assert one["command"] == "ansible-playbook lockstep.kubernetes.migrate"
        # They are never migrated.
        assert (events["resources"], events["command"]) == (["events", "events.events.k8s.io"], "")
        assert not set(events["resources"]) & set(result["cured_by"]["audit"])

    def test_r8_an_acknowledgement_of_one_resource_leaves_the_others_stopped(
        self, recorder: Recorder
    ) -> None:
        step = {"from": "1.36.3", "to": "1.37.0", "reason": "a lab"}
        known = [{"check": "stored-unknown", "resource": "configmaps", **step}]

        result = judge(recorder, acknowledgements=known)

        one = found(result, "stored-unknown")
        assert one["configmaps"]["resources"] == ["configmaps"]
        assert one["configmaps"]["acknowledged"]
        assert "configmaps" not in one["secrets"]["resources"]
        assert (result["safe"], result["passed"]) == ("unknown", False)

    def test_an_audit_makes_it_known_and_safe_and_nothing_is_written(
        self, recorder: Recorder
    ) -> None:
        result = judge(recorder, fail=True, **audited(recorder))

        assert not result.get("failed"), result["msg"]
        assert (result["safe"], result["passed"]) == ("true", True)
        assert result["summary"][0].startswith("safe: v1.36.3 to v1.37.0")
        assert result["resources"]["configmaps"]["stored"] == ["v1"]
        assert recorder.states() == {}

    def test_an_acknowledged_unknown_goes_on_and_stays_unknown(self, recorder: Recorder) -> None:
        step = {"from": "1.36.3", "to": "1.37.0", "reason": "a lab"}
        known = [{"check": check, **step} for check in ("stored-unknown", "keys-unseen")]

        result = judge(recorder, fail=True, acknowledgements=known)

        assert (result["safe"], result["passed"]) == ("unknown", True)

    def test_more_than_one_minor_release_is_refused(self, recorder: Recorder) -> None:
        result = judge(recorder, to="1.34.4", **audited(recorder))

        assert "more than one minor release back" in found(result, "skew")[""]["seen"]


class TestAlpha:
    """1.37 neither reads nor writes what 1.36 stores of workloads."""

    def test_objects_that_the_target_cant_read_block_it_until_they_are_gone(
        self, alpha: Recorder
    ) -> None:
        spec = {"podGroupTemplates": [{"name": "a", "schedulingPolicy": {"basic": {}}}]}
        alpha.api.create(WORKLOADS_PATH, {"metadata": {"name": "stranded"}, "spec": spec})

        result = judge(alpha, **audited(alpha))
        alpha.api.delete(f"{WORKLOADS_PATH}/stranded")
        after = judge(alpha, **audited(alpha))

        finding = found(result, "stored-undecodable")[WORKLOADS]
        assert result["safe"] == "false"
        assert finding["severity"] == "block"
        assert "scheduling.k8s.io/v1alpha2" in finding["seen"]
        assert f"get {WORKLOADS} --all-namespaces -o yaml >" in finding["destructive_command"]
        assert found(after, "stored-undecodable")[WORKLOADS]["severity"] == "warn"

    def test_what_the_target_would_write_must_be_readable_too(self, alpha: Recorder) -> None:
        result = judge(alpha, **audited(alpha))

        finding = found(result, "target-writes")[WORKLOADS]
        assert "writes workloads.scheduling.k8s.io as scheduling.k8s.io/v1beta1" in finding["seen"]
        assert "upgrade_mode=coordinated" in finding["remedy"]


class TestUnreadable:
    """An object that no server can decode: its bytes in etcd make every list of it fail."""

    KEY = "/registry/configmaps/default/garbled"

    def garbled(self, plane: ControlPlane) -> Recorder:
        recorder = Recorder(plane)
        recorder.install()
        # Written for real, so that every server knows of it, and then garbled behind their backs.
        maps = "/api/v1/namespaces/default/configmaps"
        recorder.api.create(maps, {"metadata": {"name": "garbled"}, "data": {"a": "b"}})
        plane.etcd.put(self.KEY, b"k8s\x00garbage")
        return recorder

    @pytest.mark.parametrize(
        ("release", "how"), [("1.37.0", "delete --raw"), ("1.36.3", "etcdctl --endpoints=")]
    )
    def test_it_is_saved_first_and_deleted_only_as_a_last_resort(
        self, start: Planes, tmp_path: Path, release: str, how: str
    ) -> None:
        plane = start(ServerSpec(release=release))
        recorder = self.garbled(plane)

        finding = found(judge(recorder, release, **audited(recorder)), "list-unreadable")[
            "configmaps"
        ]
        run_remedy(recorder, finding, tmp_path)
        saved = (tmp_path / "registry_configmaps_default_garbled").read_bytes()
        kept = plane.etcd.get(self.KEY)
        run_remedy(recorder, finding, tmp_path, how="destructive_command")
        # A server reads all of it again before it shows any.
        eventually(
            lambda: not found(judge(recorder, release, **audited(recorder)), "list-unreadable"),
            within=60,
        )

        assert (saved.rstrip(b"\n"), kept) == (b"k8s\x00garbage", b"k8s\x00garbage")
        assert how in finding["destructive_command"]
        assert plane.etcd.get(self.KEY) is None


class TestCatalogue:
    def test_a_release_that_is_not_in_it_is_not_known_to_be_safe(self, recorder: Recorder) -> None:
        result = judge(recorder, to="1.36.3+vendor.1", **audited(recorder))

        assert result["safe"] == "unknown"
        assert "make catalogue" in found(result, "release-unknown")[""]["remedy"]

    def test_a_file_of_ones_own_makes_it_known(
        self, recorder: Recorder, network: PrivateNetwork, tmp_path: Path
    ) -> None:
        text = format_catalogue(read_release("1.36.3", network=network))
        path = tmp_path / "vendor.catalogue"
        path.write_text(text.replace("release v1.36.3", "release v1.36.3+vendor.1"))

        result = judge(recorder, to="1.36.3+vendor.1", target_catalogue=path, **audited(recorder))

        assert result["safe"] == "true"
        assert result["judged_by"]["target"] == "v1.36.3+vendor.1"

    def test_a_kube_apiserver_of_ones_own_can_be_read(
        self, network: PrivateNetwork, tmp_path: Path
    ) -> None:
        program = binaries.find(binaries.kubernetes("kube-apiserver", "1.37.0"))

        read = read_release("1.36.3", program=str(program), network=network)

        assert read.release == "v1.37.0"
        assert "scheduling.k8s.io/v1beta1" in read.resources[WORKLOADS].decodable

    def test_a_cluster_that_runs_it_tells_what_it_reads(
        self, three_servers: ControlPlane, tmp_path: Path
    ) -> None:
        path = tmp_path / "running.catalogue"
        options = {"kubeconfig": three_servers.kubeconfig(), "dest": path}

        checked = call_module("release_catalogue", check=True, **options)
        assert (checked["changed"], path.exists()) == (True, False)
        first, second = (call_module("release_catalogue", **options) for _time in range(2))

        assert (first["changed"], second["changed"]) == (True, False)
        assert first["release"] == "v1.36.3"
        read = parse_catalogue(path.read_text())
        shipped = parse_catalogues(RELEASES).find("v1.36.3")
        assert shipped is not None
        for name, one in read.resources.items():
            assert set(one.decodable) <= set(shipped.resources[name].decodable)
            assert one.encoding == shipped.resources[name].encoding

    def test_one_that_does_not_report_is_told_how_to(
        self, recorder: Recorder, tmp_path: Path
    ) -> None:
        result = recorder.call("release_catalogue", dest=tmp_path / "none")

        assert result["failed"]
        assert "--feature-gates=StorageVersionAPI=true" in result["msg"]

    def test_reading_a_release_again_gives_what_is_shipped(self, network: PrivateNetwork) -> None:
        shipped = parse_catalogues(RELEASES).find("v1.37.0")
        read = read_release("1.37.0", network=network)

        assert shipped is not None
        assert read.resources == shipped.resources


class TestWrongInputs:
    @pytest.mark.parametrize(
        ("options", "text"),
        [
            ({"to": "newest"}, "'newest' is no release"),
            ({"target_catalogue": "/nowhere"}, "target_catalogue names /nowhere"),
            ({"crd_manifests": ["/nowhere"]}, "crd_manifests names /nowhere"),
            (
                {"acknowledgements": [{"check": "all", "from": "1.36.3", "to": "1.37.0"}]},
                "There is no check 'all'",
            ),
        ],
    )
    def test_each_is_named_with_its_value(
        self, recorder: Recorder, options: dict[str, Any], text: str
    ) -> None:
        result = judge(recorder, **options)

        assert result["failed"]
        assert text in result["msg"]
