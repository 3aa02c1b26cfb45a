"""Records of resources that no server serves any more: kept until an audit shows none of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from lab.control_plane import PrivateNetwork, ServerSpec, control_plane
from lab.gate import audited
from lab.objects import CRDS, crd
from lab.recorder import Recorder
from lab.upgrade import FEW_OBJECTS, populate, rollable, said
from lab.waiting import eventually

GROUP = "gone.example.com"
BUNDLES = "clustertrustbundles.certificates.k8s.io"


@pytest.fixture(scope="module")
def recorded(network: PrivateNetwork) -> Iterator[Recorder]:
    with control_plane(ServerSpec(), network=network) as plane:
        recorder = Recorder(plane)
        recorder.install()
        yield recorder


def delete_crd(recorder: Recorder, plural: str, *, leave: bool = False) -> str:
    """Record a custom resource with an object, and delete its definition; perhaps not the bytes."""
    resource, key = f"{plural}.{GROUP}", f"/registry/{GROUP}/{plural}/one"
    plane = recorder.plane
    plane.create_crds(crd(plural, GROUP, storage="v1"))
    kind = plural.removesuffix("s").capitalize()
    one = {"apiVersion": f"{GROUP}/v1", "kind": kind, "metadata": {"name": "one"}}
    recorder.api.create(f"/apis/{GROUP}/v1/{plural}", one)
    recorder.observe(resource)
    [value] = [value for _key, value in plane.etcd.items(key)]
    recorder.api.delete(f"{CRDS}/{resource}")
    eventually(lambda: not served(recorder, resource), within=60)
    if leave:
        # As after a restore, or a namespace that was deleted by force.
        plane.etcd.put(key, value)
    return resource


def served(recorder: Recorder, resource: str) -> bool:
    return resource in recorder.call("discovery_hash")["resources"]


def verify(recorder: Recorder, resource: str, **audit: Any) -> Any:
    told = recorder.tell(resource, verify=True, **audit)
    return told["verification"]


def test_it_is_deleted_once_an_audit_shows_that_no_key_is_left(recorded: Recorder) -> None:
    resource = delete_crd(recorded, "emptieds")

    without = recorded.observe(resource)
    with_audit = recorded.observe(resource, **audited(recorded))

    assert without["collected"] == []
    assert (with_audit["collected"], with_audit["changed"]) == ([resource], True)
    assert resource in with_audit["diff"]["before"]
    assert resource not in recorded.states()
    assert recorded.observe(resource, **audited(recorded))["changed"] is False


def test_storage_migration_deletes_it_too(recorded: Recorder) -> None:
    resource = delete_crd(recorded, "migrateds")

    result = recorded.migrate(f"*.{GROUP}", **audited(recorded))

    assert result["collected"] == [resource]
    assert "No longer recorded" in str(result["summary"])
    assert resource not in recorded.states()


def test_while_a_key_is_left_it_stays_and_is_named_with_what_to_do(recorded: Recorder) -> None:
    resource = delete_crd(recorded, "leftovers", leave=True)

    seen = recorded.observe(resource, **audited(recorded))
    told = verify(recorded, resource, **audited(recorded))

    assert seen["collected"] == []
    assert resource in recorded.states()
    assert not told["verified"]
    [reason] = told["reasons"]
    assert f"1 key of it below /registry/{GROUP}/leftovers/ can't be read" in reason
    assert "install its definition" in reason


def test_where_etcd_is_not_read_it_is_named_with_the_way_to_clean_up(recorded: Recorder) -> None:
    resource = delete_crd(recorded, "unreads")

    told = verify(recorded, resource)

    assert not told["verified"]
    assert f"state=absent and resources={resource}" in str(told["reasons"])
    assert resource in recorded.states()


def test_a_kind_that_the_target_does_not_serve_is_no_longer_recorded_after_the_step(
    network: PrivateNetwork,
) -> None:
    # Given a server that serves ClusterTrustBundles, of which there are none.
    with (
        control_plane(ServerSpec(release="1.37.0"), network=network) as plane,
        rollable(plane) as cluster,
    ):
        populate(plane, None, FEW_OBJECTS)
        recorder = Recorder(plane)
        recorder.install()
        recorder.observe()
        assert BUNDLES in recorder.states()

        # When it goes back to a release that does not, by default.
        done = cluster.upgrade("1.36.3", playbook="rollback")

        # Then all is verified, and nothing is recorded of them any more.
        assert done.returncode == 0, said(done)
        assert BUNDLES not in recorder.states()
        assert "No longer recorded" in done.stdout
        assert BUNDLES in done.stdout
