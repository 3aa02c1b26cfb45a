"""An audit of etcd turns Unknown into truth, where nothing changed while it was read."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from lab.ansible import look, run_module
from lab.control_plane import ControlPlane, PrivateNetwork, ServerSpec, control_plane
from lab.recorder import definition

DEVICE_CLASSES = "/apis/resource.k8s.io/v1/deviceclasses"
RESOURCE = "deviceclasses.resource.k8s.io"
UNKNOWN = ["Unknown"]
KEYS = [{"name": "first", "secret": "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="}]


def audit(plane: ControlPlane) -> dict[str, Any]:
    """What storage_audit returns to who holds etcd's client certificate."""
    etcd = plane.etcd
    certificate = {"ca_cert": etcd.ca, "client_cert": etcd.certificate, "client_key": etcd.key}
    answer = run_module("storage_audit", endpoints=[etcd.url], **certificate)
    assert isinstance(answer, dict)
    return answer


def record(plane: ControlPlane, **options: Any) -> dict[str, Any]:
    """What storage_state returns to the administrator."""
    answer = run_module("storage_state", kubeconfig=plane.kubeconfig(), **options)
    assert isinstance(answer, dict)
    return answer


@pytest.fixture(scope="module")
def rolled(network: PrivateNetwork) -> Iterator[ControlPlane]:
    """A server rolled from what 1.34 wrote, with objects of before and encrypted Secrets."""
    spec = ServerSpec(emulated_version="1.34")
    with control_plane(spec, network=network) as plane:
        plane.create_crds(definition("storagestates"), definition("storageversionmigrations"))
        for number in range(3):
            device_class = {"metadata": {"name": f"old-{number}"}, "spec": {}}
            plane.api.create(DEVICE_CLASSES, device_class)
        provider = {"aescbc": {"keys": KEYS}}
        resources = [{"resources": ["secrets"], "providers": [provider, {"identity": {}}]}]
        document = {"apiVersion": "apiserver.config.k8s.io/v1", "resources": resources}
        path = plane.directory / "encryption.json"
        path.write_text(json.dumps({**document, "kind": "EncryptionConfiguration"}))
        arguments = [f"--encryption-provider-config={path}"]
        plane.servers["cp-1"].restart(replace(spec, emulated_version="", arguments=arguments))
        plane.api.create("/api/v1/namespaces/default/secrets", {"metadata": {"name": "encrypted"}})
        yield plane


def test_what_is_stored_is_known_without_a_single_write_to_it(rolled: ControlPlane) -> None:
    before = look(rolled)
    audited = audit(rolled)
    revisions = rolled.etcd.stored_versions("/registry/deviceclasses/")

    recorded = record(rolled, audit=audited, audited_after=before)

    state = recorded["states"][RESOURCE]
    assert state["persisted_versions"] == ["resource.k8s.io/v1beta2", "resource.k8s.io/v1"]
    assert state["evidence"]["source"] == "etcd"
    assert state["evidence"]["revision"] == audited["revision"]
    assert recorded["states"]["pods"]["migrated"]
    assert RESOURCE in recorded["due"]
    assert rolled.etcd.stored_versions("/registry/deviceclasses/") == revisions


def test_r4_what_encryption_hides_stays_unknown(rolled: ControlPlane) -> None:
    before = look(rolled)

    recorded = record(rolled, audit=audit(rolled), audited_after=before)

    assert recorded["states"]["secrets"]["persisted"] == UNKNOWN
    assert any("hidden by encryption" in note for note in recorded["notes"])


def test_r4_a_key_that_nobody_can_decode_keeps_unknown_in(rolled: ControlPlane) -> None:
    key = "/registry/configmaps/default/garbage"
    record(rolled, state="reset", resources=["configmaps"])
    rolled.etcd.put(key, b"no envelope of any kind")
    before = look(rolled, resources=["configmaps"])

    recorded = record(rolled, audit=audit(rolled), audited_after=before, resources=["configmaps"])

    rolled.etcd.delete(key)
    assert "Unknown" in recorded["states"]["configmaps"]["persisted"]


def test_r4_a_restart_while_etcd_was_read_keeps_unknown_in(rolled: ControlPlane) -> None:
    record(rolled, state="reset", resources=["pods"])
    before = look(rolled, resources=["pods"])
    audited = audit(rolled)
    rolled.servers["cp-1"].restart()

    recorded = record(rolled, audit=audited, audited_after=before, resources=["pods"])

    assert "Unknown" in recorded["states"]["pods"]["persisted"]
    assert any("restarted" in note for note in recorded["notes"])


@pytest.mark.parametrize(
    ("options", "option"),
    [
        ({"audit": {"something": "else"}}, "audit"),
        (
            {
                "audit": {
                    "resources": {},
                    "revision": 1,
                    "audited": [],
                    "elsewhere": [],
                    "cluster": {"uid": "", "key_revision": 0},
                    "believable": True,
                }
            },
            "audited_after",
        ),
    ],
)
def test_anything_but_results_is_refused_by_name(
    rolled: ControlPlane, options: dict[str, Any], option: str
) -> None:
    answer = record(rolled, **options)
    assert answer["failed"]
    assert f"The option {option} holds" in answer["msg"]
