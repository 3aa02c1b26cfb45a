"""The manifests of the trigger, applied with kubectl, and used with its ServiceAccount's token."""

from __future__ import annotations

import copy
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from lab import binaries
from lab.ansible import run_playbook
from lab.control_plane import ControlPlane, PrivateNetwork, ServerSpec, control_plane
from lab.objects import crd
from lab.recorder import STATES, Recorder
from lab.waiting import eventually

ROOT = Path(__file__).parents[2]
SHIPPED = ROOT / "roles" / "trigger" / "files" / "trigger.yml"
NAME, NAMESPACE = "lockstep-trigger", "lockstep"
ROLES = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
WIDGET, WIDGETS = "widgets.manifests.example.com", "/apis/manifests.example.com/v1/widgets"
MIGRATED = [WIDGET, "configmaps"]


def kubectl(plane: ControlPlane, *arguments: str | Path) -> str:
    program = binaries.find(binaries.kubernetes("kubectl", binaries.DEFAULT_RELEASE))
    command = [program, "--kubeconfig", plane.kubeconfig(), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def render(target: Path, **variables: Any) -> None:
    """Let the role write its manifests."""
    role = {"name": "lockstep.kubernetes.trigger", "tasks_from": "manifests"}
    task = {"name": "Write them", "ansible.builtin.import_role": role}
    play = {"hosts": "localhost", "gather_facts": False, "tasks": [task]}
    done = run_playbook([play], variables={"trigger_manifests_file": target, **variables})
    assert done.returncode == 0, done.stdout + done.stderr


def documents(path: Path) -> dict[str, Any]:
    """What is in a file of manifests, by kind; of definitions the last."""
    return {one["kind"]: one for one in yaml.safe_load(path.read_text())["items"]}


@pytest.fixture(scope="module")
def manifests(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Manifests for no more than the resources of these tests."""
    path = tmp_path_factory.mktemp("manifests") / "trigger.yml"
    render(path, trigger_resources=MIGRATED)
    return path


@pytest.fixture(scope="module")
def applied(network: PrivateNetwork, manifests: Path) -> Iterator[ControlPlane]:
    """A server on which they were applied, with an object of each resource."""
    with control_plane(ServerSpec(), network=network) as plane:
        plane.create_crds(crd("widgets", "manifests.example.com", storage="v1"))
        widget = {"apiVersion": "manifests.example.com/v1", "kind": "Widget"}
        plane.api.create(WIDGETS, {**widget, "metadata": {"name": "one"}})
        kubectl(plane, "apply", "-f", manifests)
        condition = "--for=condition=Established"
        kubectl(plane, "wait", condition, "crd/storageversionmigrations.migration.k8s.io")
        yield plane


def kubeconfig(plane: ControlPlane, manifests: Path, directory: Path) -> Path:
    """The kubeconfig of the ConfigMap, as a pod would see it: with a token and the CA in files."""
    account = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/{NAME}"
    asked = plane.api.create(f"{account}/token", {"spec": {"expirationSeconds": 3600}})
    (directory / "token").write_text(asked["status"]["token"])
    text = documents(manifests)["ConfigMap"]["data"]["kubeconfig"]
    place = "/var/run/secrets/kubernetes.io/serviceaccount"
    for told, here in (
        ("https://kubernetes.default.svc", plane.balancer.url),
        (f"{place}/ca.crt", str(plane.authority.certificate_file)),
        (f"{place}/token", str(directory / "token")),
    ):
        assert told in text
        text = text.replace(told, here)
    (directory / "kubeconfig").write_text(text)
    return directory / "kubeconfig"


def test_the_shipped_file_is_what_the_role_writes_by_default(tmp_path: Path) -> None:
    render(tmp_path / "trigger.yml")
    assert (tmp_path / "trigger.yml").read_text() == SHIPPED.read_text()


def test_a_server_accepts_the_shipped_file(applied: ControlPlane, manifests: Path) -> None:
    kubectl(applied, "apply", "--dry-run=server", "-f", SHIPPED)
    # What these tests use differs from it in nothing but the resources.
    ours, theirs = documents(manifests), documents(SHIPPED)
    assert theirs["ClusterRole"]["rules"][-1]["apiGroups"] == ["*"]
    assert ours["ClusterRole"]["rules"][: -len(MIGRATED)] == theirs["ClusterRole"]["rules"][:-1]
    assert [ours[one] for one in ("CronJob", "FlowSchema", "Role")] == [
        theirs[one] for one in ("CronJob", "FlowSchema", "Role")
    ]


def test_its_permissions_suffice_and_the_role_owns_the_migrations(
    applied: ControlPlane, manifests: Path, tmp_path: Path
) -> None:
    # Given the settings and the ServiceAccount that the CronJob has.
    settings = tmp_path / "trigger.yml"
    settings.write_text(documents(manifests)["ConfigMap"]["data"]["trigger.yml"])
    environment = {"K8S_AUTH_KUBECONFIG": str(kubeconfig(applied, manifests, tmp_path))}

    # When its playbook runs.
    playbook = ROOT / "playbooks" / "trigger.yml"
    quick = {"lockstep_trigger_crd_propagation": 0}
    done = run_playbook(playbook, "-e", f"@{settings}", variables=quick, environment=environment)

    # Then all that it was to migrate is known, and belongs to its ClusterRole.
    assert done.returncode == 0, done.stdout + done.stderr
    recorder = Recorder(applied)
    for resource in MIGRATED:
        status = recorder.status(resource)
        assert status["persistedStorageVersionHashes"] == [status["currentStorageVersionHash"]]
    uid = applied.api.get(f"{ROLES}/{NAME}")["metadata"]["uid"]
    for one in recorder.migrations().values():
        (owner,) = one["metadata"]["ownerReferences"]
        assert (owner["kind"], owner["name"], owner["uid"]) == ("ClusterRole", NAME, uid)
    # And its requests went their own way.
    measured = kubectl(applied, "get", "--raw", "/metrics")
    counted = "apiserver_flowcontrol_dispatched_requests_total"
    assert f'{counted}{{flow_schema="{NAME}",priority_level="workload-low"}}' in measured


@pytest.mark.parametrize(
    ("resource", "verb"),
    [
        ("endpointslices", "list"),
        ("leases", "list"),
        ("customresourcedefinitions", "list"),
        ("namespaces", "get"),
        ("storagestates", "create"),
        ("storagestates/status", "update"),
        ("storageversionmigrations", "create"),
        ("storageversionmigrations/status", "patch"),
        ("clusterroles", "get"),
        ("widgets", "patch"),
    ],
)
def test_a_permission_that_is_taken_away_is_missed_by_name(
    applied: ControlPlane, manifests: Path, tmp_path: Path, resource: str, verb: str
) -> None:
    # Given that role without one permission, and nothing recorded.
    recorder = Recorder(applied)
    recorder.forget()
    role = copy.deepcopy(documents(manifests)["ClusterRole"])
    for rule in role["rules"]:
        if resource in rule.get("resources", ()) and verb in rule["verbs"]:
            rule["verbs"].remove(verb)
    role["rules"] = [rule for rule in role["rules"] if rule["verbs"]]
    found = applied.api.get(f"{ROLES}/{NAME}")
    applied.api.replace(f"{ROLES}/{NAME}", {**found, "rules": role["rules"]})
    options = {"kubeconfig": kubeconfig(applied, manifests, tmp_path), "resources": [WIDGET]}

    # When a pass is made.
    def missed() -> bool:
        recorded = recorder.call("storage_state", **options)
        migrated = recorder.call("storage_migration", **options, state="advanced", owner=NAME)
        told = f"{recorded} {migrated}"
        return f'cannot {verb} resource "{resource.split("/")[0]}' in told

    # Then it says what it may not do: as soon as the server has taken up the role.
    try:
        eventually(missed, within=30)
    finally:
        changed = applied.api.get(f"{ROLES}/{NAME}")
        applied.api.replace(f"{ROLES}/{NAME}", {**changed, "rules": found["rules"]})


def test_removing_the_role_removes_the_migrations_and_no_evidence(applied: ControlPlane) -> None:
    # Given migrations of the role, one of somebody else, and records.
    recorder = Recorder(applied)
    recorder.forget()
    recorder.observe(*MIGRATED)
    recorder.ask(*MIGRATED, owner=NAME)
    recorder.migrate_by_hand("secrets", name="of-somebody-else")
    assert len(recorder.migrations()) == len(MIGRATED) + 1
    collector = applied.start_controller_manager(controllers=["garbage-collector-controller"])

    # When the role is deleted.
    kubectl(applied, "delete", "clusterrole", NAME)

    # Then the garbage collector deletes what it owns.
    eventually(lambda: list(recorder.migrations()) == ["of-somebody-else"], within=120)
    collector.stop()
    assert sorted(recorder.states()) == sorted(MIGRATED)
    assert applied.api.get(STATES)["items"]
    refused = recorder.call("storage_migration", state="present", owner=NAME)
    assert "There is no such ClusterRole" in refused["msg"]
