"""`upgrade_gate`: the verdict before an upgrade or a rollback, from what is really stored."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lab.ansible import look, run_module
from lab.catalogue import format_catalogue, read_release
from lab.control_plane import PrivateNetwork, ServerSpec, control_plane
from lab.recorder import Recorder

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


def audited(recorder: Recorder) -> dict[str, Any]:
    """An audit of what is stored, as options for the gate."""
    etcd = recorder.plane.etcd
    seen = look(recorder.plane)
    audit = run_module(
        "storage_audit",
        endpoints=[etcd.url],
        ca_cert=etcd.ca,
        client_cert=etcd.certificate,
        client_key=etcd.key,
    )
    assert not audit.get("failed"), audit
    return {"audit": audit, "audited_after": seen}


def gate(recorder: Recorder, to: str = "1.37.0", **options: Any) -> Any:
    return recorder.call("upgrade_gate", **{"to_release": to, "fail": False, **options})


def found(result: Any, check: str) -> dict[str, Any]:
    return {one["resource"]: one for one in result["findings"] if one["check"] == check}


class TestVerdict:
    def test_a_cluster_that_nobody_watched_is_not_known_to_be_safe(
        self, recorder: Recorder
    ) -> None:
        result = gate(recorder, fail=True)

        assert result["failed"]
        assert result["safe"] == "unknown"
        assert "configmaps" in found(result, "stored-unknown")
        assert "configmaps" in result["cured_by"]["audit"]
        assert "is not known to be safe" in result["msg"]

    def test_an_audit_makes_it_known_and_safe_and_nothing_is_written(
        self, recorder: Recorder
    ) -> None:
        result = gate(recorder, fail=True, **audited(recorder))

        assert not result.get("failed"), result["msg"]
        assert (result["safe"], result["passed"]) == ("true", True)
        assert result["summary"][0].startswith("safe: v1.36.3 to v1.37.0")
        assert result["resources"]["configmaps"]["stored"] == ["v1"]
        assert recorder.states() == {}

    def test_an_acknowledged_unknown_goes_on_and_stays_unknown(self, recorder: Recorder) -> None:
        known = {"check": "stored-unknown", "from": "1.36.3", "to": "1.37.0", "reason": "a lab"}

        result = gate(recorder, fail=True, acknowledgements=[known])

        assert (result["safe"], result["passed"]) == ("unknown", True)

    def test_more_than_one_minor_release_is_refused(self, recorder: Recorder) -> None:
        result = gate(recorder, to="1.34.4", **audited(recorder))

        assert "more than one minor release back" in found(result, "skew")[""]["seen"]


class TestAlpha:
    """1.37 neither reads nor writes what 1.36 stores of workloads."""

    def test_objects_that_the_target_cant_read_block_it_until_they_are_gone(
        self, alpha: Recorder
    ) -> None:
        spec = {"podGroupTemplates": [{"name": "a", "schedulingPolicy": {"basic": {}}}]}
        alpha.api.create(WORKLOADS_PATH, {"metadata": {"name": "stranded"}, "spec": spec})

        result = gate(alpha, **audited(alpha))
        alpha.api.delete(f"{WORKLOADS_PATH}/stranded")
        after = gate(alpha, **audited(alpha))

        finding = found(result, "stored-undecodable")[WORKLOADS]
        assert result["safe"] == "false"
        assert finding["severity"] == "block"
        assert "scheduling.k8s.io/v1alpha2" in finding["seen"]
        assert finding["remedy"].startswith(f"kubectl get {WORKLOADS}")
        assert found(after, "stored-undecodable")[WORKLOADS]["severity"] == "warn"

    def test_what_the_target_would_write_must_be_readable_too(self, alpha: Recorder) -> None:
        result = gate(alpha, **audited(alpha))

        finding = found(result, "target-writes")[WORKLOADS]
        assert "writes workloads.scheduling.k8s.io as scheduling.k8s.io/v1beta1" in finding["seen"]
        assert "upgrade_mode=coordinated" in finding["remedy"]


class TestCatalogue:
    def test_a_release_that_is_not_in_it_is_not_known_to_be_safe(self, recorder: Recorder) -> None:
        result = gate(recorder, to="1.36.3+vendor.1", **audited(recorder))

        assert result["safe"] == "unknown"
        assert "make catalogue" in found(result, "release-unknown")[""]["remedy"]

    def test_a_file_of_ones_own_makes_it_known(
        self, recorder: Recorder, network: PrivateNetwork, tmp_path: Path
    ) -> None:
        text = format_catalogue(read_release("1.36.3", network=network))
        path = tmp_path / "vendor.catalogue"
        path.write_text(text.replace("release v1.36.3", "release v1.36.3+vendor.1"))

        result = gate(recorder, to="1.36.3+vendor.1", target_catalogue=path, **audited(recorder))

        assert result["safe"] == "true"
        assert result["judged_by"]["target"] == "v1.36.3+vendor.1"

    def test_reading_a_release_again_gives_what_is_shipped(self, network: PrivateNetwork) -> None:
        from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide import catalogue
        from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.catalogue import (
            data,
        )

        shipped = catalogue.parse_catalogues(data.RELEASES).find("v1.37.0")
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
        result = gate(recorder, **options)

        assert result["failed"]
        assert text in result["msg"]
