"""What goes wrong in an upgrade: it stops with the right words, and nothing is lost."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace

import pytest

from lab.api import ApiError
from lab.control_plane import PrivateNetwork, ServerSpec, control_plane
from lab.objects import CRDS, crd
from lab.upgrade import (
    FEW_OBJECTS,
    GROUP,
    Cluster,
    contents,
    outdated,
    reach,
    rollable,
    said,
)
from lab.webhooks import VALIDATING_WEBHOOKS, Webhooks, denying_configuration

OLD, NEW = "1.36.3", "1.37.0"
# That the same command goes on afterwards is seen once each time, and everywhere in the long run.
LONG = bool(os.environ.get("LOCKSTEP_LONG"))
# A wait that ends soon, where it is known to be in vain.
SOON = {"control_plane_wait_timeout": 15}
LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"


def lock_holder(cluster: Cluster) -> str:
    """Who keeps other runs out, from whichever host they are started."""
    for lease in cluster.plane.api.get(LEASES)["items"]:
        if lease["metadata"]["name"] == "lockstep-upgrade":
            return str(lease["spec"].get("holderIdentity", ""))
    return ""


def finish(cluster: Cluster, before: object) -> None:
    """Run the same command again: it ends as if nothing had happened."""
    done = cluster.upgrade(NEW)
    assert done.returncode == 0, said(done)
    assert set(cluster.releases().values()) == {f"v{NEW}"}
    assert outdated(cluster.plane) == {}
    assert contents(cluster.plane) == before


def test_a_server_that_does_not_start_stops_the_roll_and_the_rerun_begins_with_it(
    cluster: Cluster,
) -> None:
    # given a server whose new release will not start
    plane, before = cluster.plane, contents(cluster.plane)
    first = plane.servers["cp-1"]
    sound = first.spec
    first.spec = replace(sound, arguments=["--no-such-flag"])

    # when
    done = cluster.upgrade(NEW)

    # then the other one is untouched, and it is said how to go on and how to go back
    assert done.returncode != 0
    assert "Stopped at cp-1" in done.stdout
    assert "No other server was touched after it, and nothing was migrated" in done.stdout
    assert "run the same command again. It begins with that server" in done.stdout
    assert f"lockstep.kubernetes.rollback -e kubernetes_version={OLD}" in done.stdout
    assert plane.servers["cp-2"].api.get("/version")["gitVersion"] == f"v{OLD}"
    assert lock_holder(cluster) == ""

    # and once it is mended, the same command goes on
    first.spec = sound
    finish(cluster, before)


def test_a_server_with_a_wrong_certificate_stops_the_roll(cluster: Cluster) -> None:
    before = contents(cluster.plane)
    first = cluster.plane.servers["cp-1"]
    sound = first.spec
    first.spec = replace(sound, certificate="foreign")

    done = cluster.upgrade(NEW, **SOON)

    assert done.returncode != 0
    assert "Stopped at cp-1" in done.stdout
    assert "certificate" in done.stdout
    assert cluster.plane.servers["cp-2"].api.get("/version")["gitVersion"] == f"v{OLD}"

    if LONG:
        first.stop()
        first.spec = sound
        finish(cluster, before)


def test_a_server_that_is_frozen_stops_the_roll_and_every_later_run_until_it_goes_on(
    cluster: Cluster,
) -> None:
    # given a server that freezes right after its upgrade
    plane, before = cluster.plane, contents(cluster.plane)
    first, second = plane.servers.values()
    by_second = {"K8S_AUTH_KUBECONFIG": str(plane.kubeconfig(server=second.url))}
    with cluster.upgrading(NEW, environment=by_second, **SOON) as running:
        reach(running, "Control plane | Wait until this very server is through")
        first.freeze()
        printed, _errors = running.communicate()

    # then the other one is untouched
    assert running.returncode != 0
    assert "Stopped at cp-1" in printed
    assert second.api.get("/version")["gitVersion"] == f"v{OLD}"

    # and the next run does not take its silence for its end
    done = cluster.upgrade(NEW, environment=by_second)
    assert done.returncode != 0
    assert "it may be frozen" in " ".join(done.stdout.split())
    assert second.api.get("/version")["gitVersion"] == f"v{OLD}"

    # until it goes on
    first.thaw()
    if LONG:
        finish(cluster, before)


def store_in_another_version(cluster: Cluster) -> None:
    """Have a custom resource written in another version from now on."""
    plane = cluster.plane
    plane.api.patch(
        f"{CRDS}/plains.{GROUP}",
        {"spec": {"versions": crd("plains", GROUP, storage="v2")["spec"]["versions"]}},
    )


def test_an_admission_webhook_that_denies_is_named_before_anything_is_touched(
    cluster: Cluster,
) -> None:
    # given objects that have to be rewritten, and a webhook that lets nobody write them
    plane, before = cluster.plane, contents(cluster.plane)
    store_in_another_version(cluster)
    processes = [server.process for server in plane.servers.values()]
    with Webhooks(plane) as webhooks:
        webhooks.denied = {f"object-{number}" for number in range(FEW_OBJECTS)}
        configuration = denying_configuration("denying", webhooks, GROUP, "plains")
        plane.api.create(VALIDATING_WEBHOOKS, configuration)

        done = cluster.upgrade(NEW)

        assert done.returncode != 0
        assert "write-refused" in done.stdout
        assert "may not be written" in done.stdout
        assert "nothing was touched" in " ".join(done.stdout.split())
        assert [server.process for server in plane.servers.values()] == processes
        assert contents(plane) == before
        assert lock_holder(cluster) == ""


def test_an_etcd_that_is_near_its_quota_is_told_before_anything_is_touched(
    network: PrivateNetwork, monkeypatch: pytest.MonkeyPatch
) -> None:
    # 27 MB of objects fit, and what servers write besides; the same once more does not.
    monkeypatch.setenv("ETCD_QUOTA_BACKEND_BYTES", str(48 * 1024**2))
    spec = ServerSpec(release=OLD)
    with control_plane(spec, network=network) as plane, rollable(plane) as cluster:
        plane.create_crds(crd("plains", GROUP, storage="v1"))
        for number in range(30):
            plane.etcd.put(f"/registry/{GROUP}/plains/big-{number}", _big(number))
        store_in_another_version(cluster)
        process = plane.servers["cp-1"].process

        done = cluster.upgrade(NEW)

        assert done.returncode != 0
        assert "etcd-quota" in done.stdout
        assert "nothing was touched" in " ".join(done.stdout.split())
        assert plane.servers["cp-1"].process is process


def _big(number: int) -> bytes:
    document = {
        "apiVersion": f"{GROUP}/v1",
        "kind": "Plain",
        "metadata": {"name": f"big-{number}", "uid": f"uid-{number}"},
        "spec": {"a": "x" * 900_000},
    }
    return json.dumps(document).encode()


@pytest.fixture(scope="module")
def untouched(network: PrivateNetwork) -> Iterator[Cluster]:
    """Two servers that no test changes."""
    spec = ServerSpec(release=OLD)
    with control_plane(spec, spec, network=network) as plane, rollable(plane) as cluster:
        yield cluster


@pytest.mark.parametrize(
    ("release", "variables", "words"),
    [
        ("", {}, "give the release to go to with all three numbers"),
        ("1.37", {}, "give the release to go to with all three numbers"),
        ("1.38.0", {}, "more than one minor release up"),
        ("1.35.4", {}, "not an upgrade"),
        (NEW, {"upgrade_control_plane_group": "nobody"}, "No host is in the group"),
        (NEW, {"upgrade_mode": "sideways"}, "sideways"),
        (NEW, {"lockstep_server": "https://192.0.2.250:6443"}, "same server"),
    ],
    ids=[
        "none",
        "two numbers",
        "two minors",
        "down",
        "empty group",
        "no such mode",
        "one server twice",
    ],
)
def test_wrong_values_stop_before_anything_is_touched(
    untouched: Cluster, release: str, variables: dict[str, str], words: str
) -> None:
    plane = untouched.plane
    if "lockstep_server" in variables:
        variables = {"lockstep_server": plane.servers["cp-1"].url}
    processes = {name: server.process for name, server in plane.servers.items()}

    done = untouched.upgrade(release, **variables)

    assert done.returncode != 0
    assert words in " ".join(said(done).split())
    assert "Traceback" not in said(done)
    assert {name: server.process for name, server in plane.servers.items()} == processes
    assert not plane.api.answers("/apis/migration.k8s.io/v1alpha1/storagestates")
    assert lock_holder(untouched) == ""


def test_a_roll_that_nobody_judged_is_not_gone_on_with_while_it_is_unknown_what_is_stored(
    cluster: Cluster,
) -> None:
    # given a server that somebody has rolled by hand, so that the two differ
    first, second = cluster.plane.servers.values()
    first.restart(replace(first.spec, release=NEW))

    # when
    done = cluster.upgrade(NEW)

    # then it is left as it is
    assert done.returncode != 0
    assert "No run has judged this step" in " ".join(done.stdout.split())
    assert "Restart it as the new release" not in done.stdout
    assert second.api.get("/version")["gitVersion"] == f"v{OLD}"
    assert lock_holder(cluster) == ""


def test_a_host_that_can_not_be_reached_stops_before_anything_is_touched(
    untouched: Cluster,
) -> None:
    inventory = untouched.inventory.read_text()
    untouched.inventory.write_text(
        inventory.replace('"cp-2": {', '"cp-2": {"ansible_connection": "ssh", "ansible_port": 1, ')
    )
    try:
        done = untouched.upgrade(NEW)
    finally:
        untouched.inventory.write_text(inventory)

    assert done.returncode != 0
    assert "cp-2" in done.stdout
    assert "UNREACHABLE" in done.stdout
    assert "Plan | " not in done.stdout


def test_check_mode_prints_the_plan_and_touches_nothing(untouched: Cluster) -> None:
    plane = untouched.plane
    revision_of = dict(plane.etcd.items("/registry/apiextensions"))

    done = untouched.upgrade(NEW, "--check")

    assert done.returncode == 0, said(done)
    assert f"upgrade to v{NEW}: 0 of 2 servers done; next cp-1 and cp-2." in done.stdout
    assert f"v{OLD} to v{NEW}" in done.stdout
    assert set(untouched.releases().values()) == {f"v{OLD}"}
    assert dict(plane.etcd.items("/registry/apiextensions")) == revision_of


def test_no_server_is_rolled_that_the_same_run_has_not_judged(untouched: Cluster) -> None:
    done = untouched.upgrade(NEW, "--skip-tags", "preflight,pre-migrate")

    assert done.returncode != 0
    assert "This run has not judged" in " ".join(done.stdout.split())
    assert set(untouched.releases().values()) == {f"v{OLD}"}


def test_no_node_is_rolled_before_the_servers(untouched: Cluster) -> None:
    inventory = untouched.inventory.read_text()
    untouched.add_node("worker-1", f"v{OLD}")
    try:
        done = untouched.upgrade(NEW, playbook="upgrade_nodes")
    finally:
        untouched.inventory.write_text(inventory)
        untouched.plane.api.delete("/api/v1/nodes/worker-1")

    assert done.returncode != 0
    assert "a kubelet must not be newer than its API server" in " ".join(done.stdout.split())


def test_another_run_is_kept_out(untouched: Cluster) -> None:
    # A run that gave its lock back leaves the Lease.
    with suppress(ApiError):
        untouched.plane.api.delete(f"{LEASES}/lockstep-upgrade")
    untouched.plane.api.create(
        LEASES,
        {
            "metadata": {
                "name": "lockstep-upgrade",
                "labels": {"lockstep.kubernetes/lock": "upgrade"},
            },
            "spec": {
                "holderIdentity": "bob, other-host process 7 in 1",
                "leaseDurationSeconds": 3600,
                "renewTime": "2099-01-01T00:00:00.000000Z",
            },
        },
    )
    try:
        done = untouched.upgrade(NEW, "--check")
    finally:
        untouched.plane.api.delete(f"{LEASES}/lockstep-upgrade")

    assert done.returncode != 0
    assert "The lock upgrade is held by bob" in done.stdout
