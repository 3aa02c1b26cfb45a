"""`storage_migration` without agreement: nothing is written, and what is forced proves nothing."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from lab.control_plane import PrivateNetwork, ServerSpec, control_plane
from lab.recorder import UNKNOWN, Recorder
from lab.waiting import eventually

CLASSES = "deviceclasses.resource.k8s.io"
MAPS = "configmaps"
PREFIX = "/registry/deviceclasses/"
PATH = "/apis/resource.k8s.io/v1/deviceclasses"


@pytest.fixture(scope="module")
def torn(network: PrivateNetwork) -> Iterator[Recorder]:
    """Two servers that write different versions of device classes."""
    older = ServerSpec(emulated_version="1.34")
    with control_plane(ServerSpec(), older, network=network) as plane:
        recorder = Recorder(plane, through="cp-1")
        recorder.install()
        kind = {"apiVersion": "resource.k8s.io/v1", "kind": "DeviceClass"}
        for number in range(5):
            document = {**kind, "metadata": {"name": f"class-{number}"}, "spec": {}}
            plane.servers["cp-2"].api.create(PATH, document)
        yield recorder


def test_nothing_is_migrated_without_agreement(torn: Recorder) -> None:
    before = torn.plane.etcd.stored_versions(PREFIX)

    result = torn.try_to_migrate(CLASSES, MAPS)

    assert result["failed"]
    assert "may not be migrated: the servers are not known to agree" in result["msg"]
    assert CLASSES in result["msg"]
    for server in torn.plane.servers.values():
        assert server.address in result["msg"]
    assert torn.migrations() == {}
    assert torn.plane.etcd.stored_versions(PREFIX) == before


def test_what_they_agree_on_is_migrated(torn: Recorder) -> None:
    result = torn.migrate(MAPS)

    assert result["resources"][MAPS]["verified"]


def test_force_is_for_what_is_named(torn: Recorder) -> None:
    result = torn.try_to_migrate("*.resource.k8s.io", force=True)

    assert "The option force can't be used for" in result["msg"]
    assert CLASSES in result["msg"]
    assert "Name each such resource in resources" in result["msg"]


def test_what_was_forced_is_written_and_proves_nothing(torn: Recorder) -> None:
    torn.observe(CLASSES)
    before = torn.persisted(CLASSES)

    result = torn.migrate(CLASSES, force=True)

    stored = torn.plane.etcd.stored_versions(PREFIX)
    said = result["resources"][CLASSES]
    assert set(stored.values()) == {"resource.k8s.io/v1"}
    assert said["status"] == "succeeded"
    assert not said["verified"]
    assert "migrated, not verified: it was forced" in " ".join(result["summary"])
    assert torn.persisted(CLASSES) == before
    assert UNKNOWN in before


def test_what_was_forced_past_a_server_that_can_t_be_seen_is_no_proof_later(
    torn: Recorder,
) -> None:
    torn.observe("secrets")
    unseen = torn.plane.servers["cp-2"]
    unseen.freeze()
    try:
        refused = torn.try_to_migrate("secrets", timeout=2)
        torn.migrate("secrets", force=True, timeout=2)
    finally:
        unseen.thaw()

    eventually(unseen.api.ready, within=30)
    result = torn.observe("secrets")

    assert "may not be migrated" in refused["msg"]
    assert result["states"]["secrets"]["persisted"] == [UNKNOWN]
    assert result["due"] == ["secrets"]
