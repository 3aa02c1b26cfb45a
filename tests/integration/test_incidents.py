"""Fifteen upgrades that went wrong elsewhere, each in a form that the releases at hand can show.

The state is made for real; the gate must stop the step by the right check, name the resource, and
its remedy, run as it is printed, must open the way.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml

from lab.catalogue import key_of, raw_object
from lab.control_plane import ControlPlane, PrivateNetwork, ServerSpec, control_plane
from lab.fixtures import Planes
from lab.gate import audited, found, judge, run_remedy, stopped_by
from lab.objects import CRDS, crd
from lab.recorder import Recorder
from lab.vault import write_configuration
from lab.waiting import eventually
from lab.webhooks import (
    VALIDATING_WEBHOOKS,
    Webhooks,
    converted_crd,
    denying_configuration,
)

GROUP = "example.com"
NEXT = "1.37.0"


@pytest.fixture(scope="module")
def plane(network: PrivateNetwork) -> Iterator[ControlPlane]:
    """One server of 1.36.3 with our definitions."""
    with control_plane(ServerSpec(), network=network) as plane:
        Recorder(plane).install()
        yield plane


@pytest.fixture
def cluster(plane: ControlPlane) -> Iterator[Recorder]:
    """The same with nothing recorded, and nothing left of what a test put there."""
    recorder = Recorder(plane)
    recorder.forget()
    yield recorder
    for one in plane.api.get(CRDS)["items"]:
        if one["spec"]["group"] == GROUP:
            plane.api.delete(f"{CRDS}/{one['metadata']['name']}")
    eventually(lambda: not plane.etcd.keys(f"/registry/{GROUP}/"), within=30)


def define(cluster: Recorder, plural: str, *, storage: str = "v1") -> str:
    cluster.plane.create_crds(crd(plural, GROUP, storage=storage))
    return f"{plural}.{GROUP}"


def create(cluster: Recorder, plural: str, name: str = "one", **more: Any) -> None:
    kind = {"apiVersion": f"{GROUP}/v1", "kind": plural.removesuffix("s").capitalize()}
    path = f"/apis/{GROUP}/v1/{plural}"
    cluster.api.create(path, {**kind, "metadata": {"name": name}, **more})


def store(cluster: Recorder, plural: str, version: str) -> None:
    """Have a definition store another version from now on."""
    path = f"{CRDS}/{plural}.{GROUP}"
    before = _shown(cluster, plural)
    versions = cluster.api.get(path)["spec"]["versions"]
    for one in versions:
        one["storage"] = one["name"] == version
    cluster.api.patch(path, {"spec": {"versions": versions}})
    eventually(lambda: _shown(cluster, plural) != before, within=30)


def _shown(cluster: Recorder, plural: str) -> str:
    listed = cluster.api.get(f"/apis/{GROUP}/v1")["resources"]
    return next(one["storageVersionHash"] for one in listed if one["name"] == plural)


def manifest(directory: Path, *definitions: dict[str, Any]) -> Path:
    path = directory / "manifest.yaml"
    path.write_text(yaml.safe_dump_all(definitions))
    return path


def only(definition: dict[str, Any], version: str) -> dict[str, Any]:
    """A definition that has one version and no other."""
    versions = [one for one in definition["spec"]["versions"] if one["name"] == version]
    return {**definition, "spec": {**definition["spec"], "versions": versions}}


def put_raw(cluster: Recorder, resource: str, kind: str, version: str, **more: Any) -> str:
    key = key_of(resource, "left", namespace="default")
    document = {**raw_object(kind, version, name="left", namespace="default"), **more}
    cluster.plane.etcd.put(key, json.dumps(document).encode())
    return key


def test_1_a_version_that_nobody_reads_any_more_is_found_before_the_server_cant_start(
    cluster: Recorder, tmp_path: Path
) -> None:
    """Services in v1beta3 kept a new API server from starting; users wiped etcd."""
    resource = "workloads.scheduling.k8s.io"
    key = put_raw(cluster, resource, "Workload", "scheduling.k8s.io/v1alpha2")

    before = judge(cluster, NEXT, **audited(cluster))
    finding = found(before, "stored-unserved")[resource]
    run_remedy(cluster, finding, tmp_path, how="destructive_command")
    after = judge(cluster, NEXT, **audited(cluster))

    assert before["safe"] == "false"
    assert "scheduling.k8s.io/v1alpha2" in finding["seen"]
    assert cluster.plane.etcd.get(key) is None
    assert (after["safe"], after["passed"]) == ("true", True)


def test_2_an_object_that_nobody_touched_for_many_releases_is_still_found(
    cluster: Recorder, tmp_path: Path
) -> None:
    """Autoscalers of years ago made the project stop removing versions."""
    resource = "networkpolicies.networking.k8s.io"
    spec = {"podSelector": {}}
    key = put_raw(cluster, resource, "NetworkPolicy", "extensions/v1beta1", spec=spec)
    try:
        without_audit = judge(cluster, NEXT)
        finding = found(without_audit, "stored-unknown")[resource]
        audit = judge(cluster, NEXT, **audited(cluster))
        run_remedy(cluster, finding, tmp_path)
        after = judge(cluster, NEXT, **audited(cluster))
    finally:
        cluster.plane.etcd.delete(key)

    assert without_audit["safe"] == "unknown"
    assert "extensions/v1beta1" in audit["resources"][resource]["stored"]
    assert after["resources"][resource]["stored"] == ["networking.k8s.io/v1"]


def test_3_a_rollback_that_would_strand_data_is_stopped(start: Planes, tmp_path: Path) -> None:
    """CSINodes in v1 were left behind after going back to a release without it."""
    gates = {"GenericWorkload": True}
    spec = ServerSpec(
        release=NEXT, feature_gates=gates, runtime_config={"scheduling.k8s.io/v1beta1": True}
    )
    cluster = Recorder(start(spec))
    cluster.install()
    resource = "workloads.scheduling.k8s.io"
    key = put_raw(cluster, resource, "Workload", "scheduling.k8s.io/v1beta1")

    back = judge(cluster, "1.36.3", **audited(cluster))
    finding = found(back, "stored-undecodable")[resource]
    run_remedy(cluster, finding, tmp_path, how="destructive_command")
    after = judge(cluster, "1.36.3", **audited(cluster))

    assert (back["safe"], finding["severity"]) == ("false", "block")
    assert "scheduling.k8s.io/v1beta1" in finding["seen"]
    # 1.37 does not write v1alpha2 even while it emulates 1.36, so there is no other way.
    assert "Save the objects and delete them" in finding["remedy"]
    assert cluster.plane.etcd.get(key) is None
    assert found(after, "stored-undecodable")[resource]["severity"] == "warn"


def test_4_going_back_several_minor_releases_is_refused(cluster: Recorder) -> None:
    """A rollback from 1.16 to 1.8 lost all Deployments."""
    far = judge(cluster, "1.34.4", **audited(cluster))
    near = judge(cluster, "1.35.4", **audited(cluster))

    assert "more than one minor release back" in found(far, "skew")[""]["seen"]
    assert not found(near, "skew")


def test_5_a_release_that_writes_what_the_one_before_cant_read_is_flagged(start: Planes) -> None:
    """1.20 stored priority and fairness in a version that 1.19 could not read."""
    spec = ServerSpec(
        feature_gates={"GenericWorkload": True},
        runtime_config={"scheduling.k8s.io/v1alpha2": True},
    )
    cluster = Recorder(start(spec))
    cluster.install()
    resource = "workloads.scheduling.k8s.io"

    plain = judge(cluster, NEXT, **audited(cluster))
    coordinated = judge(cluster, NEXT, to_emulated="1.36", **audited(cluster))

    finding = found(plain, "target-writes")[resource]
    assert finding["severity"] == "block"
    assert "upgrade_mode=coordinated" in finding["remedy"]
    assert not found(coordinated, "target-writes")


def test_6_a_definition_that_drops_a_stored_version_is_stopped_until_it_is_migrated(
    cluster: Recorder, tmp_path: Path
) -> None:
    """cert-manager's users lost the way to 1.7."""
    define(cluster, "issuers")
    create(cluster, "issuers")
    crds = {
        "crd_manifests": [str(manifest(tmp_path, only(crd("issuers", GROUP, storage="v2"), "v2")))]
    }

    still_storage = judge(cluster, NEXT, **crds, **audited(cluster))
    store(cluster, "issuers", "v2")
    before = judge(cluster, NEXT, **crds, **audited(cluster))
    finding = found(before, "crd-manifest-drops-version")[f"issuers.{GROUP}"]
    run_remedy(cluster, finding, tmp_path)
    after = judge(cluster, NEXT, **crds, **audited(cluster))

    refused = found(still_storage, "crd-manifest-drops-version")[f"issuers.{GROUP}"]
    assert "Install first a definition" in refused["remedy"]
    assert (finding["severity"], finding["cured_by"]) == ("block", "migration")
    assert cluster.api.get(f"{CRDS}/issuers.{GROUP}")["status"]["storedVersions"] == ["v2"]
    assert (after["safe"], stopped_by(after)) == ("true", set())


def test_7_objects_that_all_look_new_while_the_definition_still_lists_the_old(
    cluster: Recorder, tmp_path: Path
) -> None:
    """Karpenter 1.1 and Longhorn 1.10 refused to be installed for no visible reason."""
    define(cluster, "nodepools")
    store(cluster, "nodepools", "v2")
    create(cluster, "nodepools")
    crds = {
        "crd_manifests": [
            str(manifest(tmp_path, only(crd("nodepools", GROUP, storage="v2"), "v2")))
        ]
    }
    stored = cluster.plane.etcd.stored_versions(f"/registry/{GROUP}/nodepools/")

    before = judge(cluster, NEXT, **crds, **audited(cluster))
    finding = found(before, "crd-manifest-drops-version")[f"nodepools.{GROUP}"]
    run_remedy(cluster, finding, tmp_path)
    after = judge(cluster, NEXT, **crds, **audited(cluster))

    assert set(stored.values()) == {f"{GROUP}/v2"}
    assert f"{GROUP}/v1" in finding["seen"]
    assert (after["safe"], stopped_by(after)) == ("true", set())


def test_8_a_bundle_that_comes_with_the_upgrade_is_scanned_too(
    cluster: Recorder, tmp_path: Path
) -> None:
    """A distribution's chart dropped a version of snapshots in the middle of an upgrade."""
    for plural in ("snapshots", "classes"):
        define(cluster, plural)
        create(cluster, plural)
    bundle = [
        crd("classes", GROUP, storage="v1"),
        only(crd("snapshots", GROUP, storage="v2"), "v2"),
    ]
    manifest(tmp_path, {"kind": "Namespace", "metadata": {"name": "x"}}, *bundle)
    handler = partial(SimpleHTTPRequestHandler, directory=tmp_path)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}/manifest.yaml"
        verdict = judge(cluster, NEXT, crd_manifests=[url], **audited(cluster))
        server.shutdown()

    assert set(found(verdict, "crd-manifest-drops-version")) == {f"snapshots.{GROUP}"}


def test_9_versions_that_were_trimmed_without_migrating_are_caught_by_the_list(
    cluster: Recorder,
) -> None:
    """A replaced definition made a controller crash on what was still stored."""
    define(cluster, "backups")
    create(cluster, "backups")
    store(cluster, "backups", "v2")
    path = f"{CRDS}/backups.{GROUP}"
    definition = cluster.api.get(path)
    definition["status"]["storedVersions"] = ["v2"]
    cluster.api.replace(f"{path}/status", definition)
    cluster.api.patch(path, {"spec": {"versions": only(definition, "v2")["spec"]["versions"]}})

    def refused() -> bool:
        return bool(found(judge(cluster, NEXT), "list-unreadable"))

    eventually(refused, within=30)
    without_audit = judge(cluster, NEXT)
    before = judge(cluster, NEXT, **audited(cluster))
    # The remedy: the version is put back, and all of it is migrated.
    versions = crd("backups", GROUP, storage="v2", served=("v2",))["spec"]["versions"]
    cluster.api.patch(path, {"spec": {"versions": versions}})
    eventually(lambda: not refused(), within=30)
    cluster.migrate(f"backups.{GROUP}")
    after = judge(cluster, NEXT, **audited(cluster))

    assert found(without_audit, "list-unreadable")[f"backups.{GROUP}"]["severity"] == "block"
    finding = found(before, "stored-undecodable")[f"backups.{GROUP}"]
    assert f"stored as {GROUP}/v1, which its definition does not have" in finding["seen"]
    assert "Put the version back" in finding["remedy"]
    assert before["safe"] == "false"
    assert (after["safe"], stopped_by(after)) == ("true", set())


def test_10_a_conversion_webhook_that_is_down_is_found_before_nodes_are_drained(
    cluster: Recorder,
) -> None:
    """Its pod ran on the nodes that waited for it."""
    with Webhooks(cluster.plane) as webhooks:
        cluster.plane.create_crds(converted_crd("shoots", GROUP, webhooks))
        create(cluster, "shoots", spec={"size": 3})
        well = judge(cluster, NEXT, **audited(cluster))
        webhooks.conversion_fault = "the database is away"
        down = judge(cluster, NEXT, **audited(cluster))
        webhooks.conversion_fault = ""
        again = judge(cluster, NEXT, **audited(cluster))
        cluster.api.delete(f"/apis/{GROUP}/v1/shoots/one")

    finding = found(down, "conversion-webhook")[f"shoots.{GROUP}"]
    assert finding["severity"] == "block"
    assert "the database is away" in finding["seen"]
    assert not found(well, "conversion-webhook")
    assert not found(again, "conversion-webhook")


def test_11_fields_that_are_managed_in_a_removed_version_are_reported(cluster: Recorder) -> None:
    """They made every server-side apply fail."""
    define(cluster, "machines")
    create(cluster, "machines", spec={"size": 1})
    key = f"/registry/{GROUP}/machines/one"
    document = json.loads(cluster.plane.etcd.get(key) or b"")
    for one in document["metadata"]["managedFields"]:
        one["apiVersion"] = f"{GROUP}/v1alpha3"
    cluster.plane.etcd.put(key, json.dumps(document).encode())

    before = judge(cluster, NEXT, **audited(cluster))
    cluster.api.patch(f"/apis/{GROUP}/v1/machines/one", {"metadata": {"managedFields": [{}]}})
    after = judge(cluster, NEXT, **audited(cluster))

    finding = found(before, "managed-fields")[f"machines.{GROUP}"]
    assert "1 object of machines.example.com" in finding["seen"]
    assert "clear metadata.managedFields" in finding["remedy"]
    assert not found(after, "managed-fields")


def test_12_servers_that_differ_stop_it_until_they_agree(start: Planes) -> None:
    """Discovery flapped while servers were rolled, and what was recorded was half of it."""
    plane = start(ServerSpec(), ServerSpec(emulated_version="1.34"))
    cluster = Recorder(plane)
    cluster.install()

    differing = judge(cluster, NEXT)
    plane.servers["cp-2"].restart(ServerSpec())
    eventually(lambda: not found(judge(cluster, NEXT), "agreement"), within=60)

    finding = found(differing, "agreement")["resourceclaims.resource.k8s.io"]
    assert finding["severity"] == "block"
    assert differing["safe"] == "false"
    assert not differing["resources"]["resourceclaims.resource.k8s.io"]["agreed"]


def test_13_a_migration_that_says_it_is_done_proves_nothing_by_itself(
    cluster: Recorder, tmp_path: Path
) -> None:
    """A job was Completed, and the upgrade was blocked all the same."""
    define(cluster, "brokers")
    create(cluster, "brokers")
    cluster.observe(f"brokers.{GROUP}")
    store(cluster, "brokers", "v2")
    cluster.migrate_by_hand(f"brokers.{GROUP}", name="brokers")
    cluster.finish(f"brokers.{GROUP}")
    crds = {
        "crd_manifests": [str(manifest(tmp_path, only(crd("brokers", GROUP, storage="v2"), "v2")))]
    }

    before = judge(cluster, NEXT, **crds, **audited(cluster))
    finding = found(before, "crd-manifest-drops-version")[f"brokers.{GROUP}"]
    run_remedy(cluster, finding, tmp_path)
    after = judge(cluster, NEXT, **crds, **audited(cluster))

    assert f"{GROUP}/v1" in before["resources"][f"brokers.{GROUP}"]["stored"]
    assert set(cluster.plane.etcd.stored_versions(f"/registry/{GROUP}/brokers/").values()) == {
        f"{GROUP}/v2"
    }
    assert (after["safe"], stopped_by(after)) == ("true", set())


def test_14_a_rewrite_that_would_be_rejected_is_predicted_by_a_dry_run(cluster: Recorder) -> None:
    """A validation was tightened, and a rewrite that changed nothing was rejected.

    Servers of today let definitions' own rules pass what is unchanged; webhooks do not.
    """
    define(cluster, "servers")
    create(cluster, "servers")
    store(cluster, "servers", "v2")
    with Webhooks(cluster.plane) as webhooks:
        webhooks.denied.add("one")
        policy = denying_configuration("tightened", webhooks, GROUP, "servers")
        cluster.api.create(VALIDATING_WEBHOOKS, policy)

        def predicted() -> bool:
            return bool(found(judge(cluster, NEXT, **audited(cluster)), "write-refused"))

        eventually(predicted, within=60)
        before = judge(cluster, NEXT, **audited(cluster))
        webhooks.denied.clear()
        after = judge(cluster, NEXT, **audited(cluster))
        cluster.api.delete(f"{VALIDATING_WEBHOOKS}/tightened")

    finding = found(before, "write-refused")[f"servers.{GROUP}"]
    assert finding["severity"] == "acknowledgeable"
    assert "one of servers.example.com" in finding["seen"]
    assert "one may not be written" in finding["seen"]
    assert not found(after, "write-refused")


def test_15_an_encryption_key_is_not_taken_away_while_anything_needs_it(
    start: Planes, tmp_path: Path
) -> None:
    """A key was removed before everything was rewritten."""
    old, new = (
        f"--encryption-provider-config={write_configuration(tmp_path / keys[0], *keys)}"
        for keys in (("key1",), ("key2", "key1"))
    )
    plane = start(ServerSpec(arguments=[old]))
    cluster = Recorder(plane)
    cluster.install()
    plane.api.create("/api/v1/namespaces/default/secrets", {"metadata": {"name": "s"}})
    plane.servers["cp-1"].restart(ServerSpec(arguments=[new]))
    retiring = {"retired_keys": ["key1"]}

    blind = judge(cluster, "1.36.3", **retiring)
    before = judge(cluster, "1.36.3", **retiring, **audited(cluster))
    finding = found(before, "encryption-key-needed")["secrets"]
    run_remedy(cluster, finding, tmp_path)
    after = judge(cluster, "1.36.3", **retiring, **audited(cluster))

    assert found(blind, "encryption-key-needed")[""]["unknown"]
    assert (finding["severity"], finding["cured_by"]) == ("block", "migration")
    value = plane.etcd.get("/registry/secrets/default/s") or b""
    assert value.startswith(b"k8s:enc:aescbc:v1:key2:")
    assert not found(after, "encryption-key-needed")
