"""A server that was taken out of the control plane before an upgrade."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from lab.control_plane import PrivateNetwork, ServerSpec, control_plane
from lab.upgrade import Cluster, rollable, said

OLD, NEW = "1.36.3", "1.37.0"
VERSIONS = "/apis/internal.apiserver.k8s.io/v1alpha1/storageversions"


@pytest.fixture
def cluster(network: PrivateNetwork) -> Iterator[Cluster]:
    """Two servers, of which the second was taken out of the inventory's control plane."""
    spec = ServerSpec(release=OLD).with_storage_version_api()
    with control_plane(spec, spec, network=network) as plane, rollable(plane) as cluster:
        inventory = json.loads(cluster.inventory.read_text())
        hosts = inventory["kube_control_plane"]["hosts"]
        inventory["kube_control_plane_gone"] = {"hosts": {"cp-2": hosts.pop("cp-2")}}
        cluster.inventory.write_text(json.dumps(inventory))
        yield cluster


def entries(cluster: Cluster) -> set[str]:
    """Who is named in the StorageVersion objects."""
    return {
        entry["apiServerID"]
        for one in cluster.plane.api.get(VERSIONS)["items"]
        for entry in one["status"].get("storageVersions", [])
    }


def test_it_is_proved_on_its_host_and_its_stale_entries_are_removed_on_request(
    cluster: Cluster,
) -> None:
    # given that it was killed, so that its lease and its entries are still there
    plane = cluster.plane
    gone = entries(cluster)
    assert len(gone) == 2
    plane.servers["cp-2"].kill()

    # when
    done = cluster.upgrade(
        NEW,
        upgrade_prune_storage_versions=True,
        # Its lease outlasts it for half a minute.
        upgrade_wait_timeout=60,
        environment={
            "K8S_AUTH_KUBECONFIG": str(plane.kubeconfig(server=plane.servers["cp-1"].url))
        },
    )

    # then
    assert done.returncode == 0, said(done)
    assert plane.servers["cp-1"].api.get("/version")["gitVersion"] == f"v{NEW}"
    assert len(entries(cluster)) == 1


def test_one_that_still_runs_stops_it_before_anything_is_touched(cluster: Cluster) -> None:
    done = cluster.upgrade(NEW)

    assert done.returncode != 0
    words = " ".join(done.stdout.split())
    assert "A process of an API server is there: kube-apiserver" in words
    assert set(cluster.releases().values()) == {f"v{OLD}"}
