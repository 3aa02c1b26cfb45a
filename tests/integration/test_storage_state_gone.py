"""Records of resources that no server serves any more: kept until an audit shows none of them."""

from __future__ import annotations

from typing import Any

from lab.control_plane import PrivateNetwork, ServerSpec, control_plane
from lab.gate import audited
from lab.objects import CRDS, crd
from lab.recorder import Recorder
from lab.upgrade import FEW_OBJECTS, populate, rollable, said
from lab.waiting import eventually

GROUP = "gone.example.com"
BUNDLES = "clustertrustbundles.certificates.k8s.io"


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


def test_it_is_deleted_once_an_audit_shows_that_no_key_is_left(only_server: Recorder) -> None:
    resource = delete_crd(only_server, "emptieds")

    without = only_server.observe(resource)
    with_audit = only_server.observe(resource, **audited(only_server))

    assert without["collected"] == []
    assert (with_audit["collected"], with_audit["changed"]) == ([resource], True)
    assert resource in with_audit["diff"]["before"]
    assert resource not in only_server.states()
    assert only_server.observe(resource, **audited(only_server))["changed"] is False


def test_storage_migration_deletes_it_too(only_server: Recorder) -> None:
    resource = delete_crd(only_server, "migrateds")

    result = only_server.migrate(f"*.{GROUP}", **audited(only_server))

    assert result["collected"] == [resource]
    assert "No longer recorded" in str(result["summary"])
    assert resource not in only_server.states()


def test_while_a_key_is_left_it_stays_and_is_named_with_what_to_do(only_server: Recorder) -> None:
    resource = delete_crd(only_server, "leftovers", leave=True)

    seen = only_server.observe(resource, **audited(only_server))
    told = verify(only_server, resource, **audited(only_server))

    assert seen["collected"] == []
    assert resource in only_server.states()
    assert not told["verified"]
    [reason] = told["reasons"]
    assert f"1 key of it below /registry/{GROUP}/leftovers/ can't be read" in reason
    assert "install its definition" in reason


def test_where_etcd_is_not_read_it_is_named_with_the_way_to_clean_up(only_server: Recorder) -> None:
    resource = delete_crd(only_server, "unreads")

    told = verify(only_server, resource)

    assert not told["verified"]
    assert f"state=absent and resources={resource}" in str(told["reasons"])
    assert resource in only_server.states()


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
