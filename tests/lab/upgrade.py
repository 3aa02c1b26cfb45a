"""Control planes whose servers playbooks roll."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

from . import control
from .ansible import run_playbook, running_playbook
from .api import ApiError
from .control_plane import ControlPlane
from .objects import CRDS, crd, report_node
from .recorder import Recorder
from .waiting import eventually
from .webhooks import Webhooks, converted_crd

GROUP = "upgrade.example.com"
# How many objects do where it is not their number that matters.
FEW_OBJECTS = 90
PLAYBOOKS = Path(__file__).parents[2] / "playbooks"
# In the lab servers follow at once, and nobody else changes anything.
_QUICK = {
    "converge_settle": 1,
    "migrate_settle": 0,
    "preflight_settle": 0,
    "verify_settle": 0,
    "upgrade_wait_timeout": 5,
    "migrate_speed": "full",
    "migrate_backend": "direct",
}


class Cluster:
    """A control plane with an inventory."""

    roll_server = control.ROLL_SERVER

    def __init__(self, plane: ControlPlane, name: str) -> None:
        self.plane = plane
        self.inventory = plane.directory / "inventory.json"
        self.inventory.write_text(json.dumps(control.inventory(plane, name)))

    def upgrade(
        self, to: str, *options: str, playbook: str = "upgrade-cluster", **variables: Any
    ) -> subprocess.CompletedProcess[str]:
        """Run the playbook as an operator does."""
        return run_playbook(PLAYBOOKS / f"{playbook}.yml", *options, **self._how(to, variables))

    def upgrading(
        self, to: str, *options: str, playbook: str = "upgrade-cluster", **variables: Any
    ) -> AbstractContextManager[subprocess.Popen[str]]:
        """The same while it runs."""
        return running_playbook(PLAYBOOKS / f"{playbook}.yml", *options, **self._how(to, variables))

    def _how(self, to: str, variables: dict[str, Any]) -> dict[str, Any]:
        environment = variables.pop("environment", {})
        return {
            "inventory": self.inventory,
            "variables": {**_QUICK, "kubernetes_version": to, **variables},
            "environment": {"K8S_AUTH_KUBECONFIG": str(self.plane.kubeconfig()), **environment},
        }

    def add_node(self, name: str, release: str) -> None:
        """Have a node in the cluster and in the inventory."""
        report_node(self.plane.api, name, release)
        inventory = json.loads(self.inventory.read_text())
        inventory["kube_node"] = {"hosts": {name: {}}}
        self.inventory.write_text(json.dumps(inventory))

    def releases(self) -> dict[str, str]:
        """What every server says that it runs."""
        found = {}
        for name, server in self.plane.servers.items():
            version = server.api.get("/version")
            emulated = f"{version['emulationMajor']}.{version['emulationMinor']}"
            own = version["gitVersion"].startswith(f"v{emulated}.")
            found[name] = version["gitVersion"] + ("" if own else f" emulating {emulated}")
        return found


@contextmanager
def rollable(plane: ControlPlane) -> Iterator[Cluster]:
    """A control plane whose servers playbooks can roll."""
    name = plane.directory.name
    with control.listening(plane, name):
        yield Cluster(plane, name)


def populate(plane: ControlPlane, webhooks: Webhooks | None, count: int) -> None:
    """Objects of ten kinds: seven built in, two of which 1.37 stores otherwise; three custom."""
    definitions = [crd("plains", GROUP, storage="v1"), crd("others", GROUP, storage="v2")]
    if webhooks:
        definitions.append(converted_crd("converteds", GROUP, webhooks, storage="v1"))
    plane.create_crds(*definitions)
    core, default = "/api/v1", "/api/v1/namespaces/default"
    policies = "/apis/admissionregistration.k8s.io/v1"
    kinds: dict[str, dict[str, Any]] = {
        f"{default}/configmaps": {"data": {"a": "b"}},
        f"{default}/secrets": {"stringData": {"a": "b"}},
        f"{default}/serviceaccounts": {},
        f"{core}/namespaces": {},
        "/apis/rbac.authorization.k8s.io/v1/clusterroles": {"rules": []},
        f"{policies}/mutatingadmissionpolicies": {
            "spec": {
                "matchConstraints": {
                    "resourceRules": [
                        {
                            "apiGroups": ["none.example.com"],
                            "apiVersions": ["v1"],
                            "operations": ["CREATE"],
                            "resources": ["none"],
                        }
                    ]
                },
                "reinvocationPolicy": "Never",
                "mutations": [
                    {
                        "patchType": "ApplyConfiguration",
                        "applyConfiguration": {"expression": "Object{}"},
                    }
                ],
            }
        },
        f"{policies}/mutatingadmissionpolicybindings": {"spec": {"policyName": "none"}},
        f"/apis/{GROUP}/v1/plains": {"spec": {"a": 1}, "kind": "Plain"},
        f"/apis/{GROUP}/v2/others": {"spec": {"a": 1}, "kind": "Other"},
    }
    if webhooks:
        kinds[f"/apis/{GROUP}/v1/converteds"] = {"spec": {"size": 7}, "kind": "Converted"}
    for path, contents in kinds.items():
        version = path.removeprefix("/apis/").rsplit("/", 1)[0]
        head = {"apiVersion": version} if "kind" in contents else {}
        plane.api.populate(
            path,
            lambda n, body={**head, **contents}: {**body, "metadata": {"name": f"object-{n}"}},
            count // len(kinds),
        )


def contents(plane: ControlPlane) -> dict[str, Any]:
    """Every object that tests made, without what a rewrite changes."""
    found = _objects(plane)
    for one in found.values():
        one["metadata"] = {
            k: v
            for k, v in one["metadata"].items()
            if k not in ("resourceVersion", "managedFields")
        }
    return found


def resource_versions(plane: ControlPlane) -> dict[str, str]:
    """When every object that tests made was last written, by etcd's revision."""
    return {key: one["metadata"]["resourceVersion"] for key, one in _objects(plane).items()}


def _objects(plane: ControlPlane) -> dict[str, Any]:
    custom = [
        f"/apis/{GROUP}/v2/{one['spec']['names']['plural']}"
        for one in plane.api.get(CRDS)["items"]
        if one["spec"]["group"] == GROUP
    ]
    found = {}
    for path in (
        "/api/v1/configmaps",
        "/api/v1/secrets",
        "/api/v1/serviceaccounts",
        "/api/v1/namespaces",
        "/apis/rbac.authorization.k8s.io/v1/clusterroles",
        "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicies",
        "/apis/admissionregistration.k8s.io/v1/mutatingadmissionpolicybindings",
        *custom,
    ):
        for one in _items(plane, path):
            name = one["metadata"]["name"]
            if name.startswith("object-"):
                found[f"{path}/{name}"] = one
    return found


def _items(plane: ControlPlane, path: str) -> list[dict[str, Any]]:
    """All objects, once each server that has just started has read what is stored."""
    found: list[dict[str, Any]] = []

    def listed() -> bool:
        try:
            found[:] = plane.api.get(path)["items"]
        except ApiError:
            return False
        return True

    eventually(listed, within=60)
    return found


def outdated(plane: ControlPlane) -> dict[str, str]:
    """Policies that are stored in another version than 1.37 writes."""
    stored = plane.etcd.stored_versions("/registry/mutatingadmissionpolic")
    return {k: v for k, v in stored.items() if v != "admissionregistration.k8s.io/v1"}


def unproved(plane: ControlPlane) -> dict[str, list[str]]:
    """Resources of which the record holds anything but the current version, with what it holds."""
    found = {}
    for name, state in Recorder(plane).states().items():
        persisted = state["status"]["persistedStorageVersionHashes"]
        if persisted != [state["status"]["currentStorageVersionHash"]]:
            found[name] = persisted
    return found


def said(done: subprocess.CompletedProcess[str]) -> str:
    """All that a run printed."""
    return done.stdout + done.stderr


def reach(running: subprocess.Popen[str], task: str, before: int = 0) -> None:
    """Follow a run until a task begins; so many of the same name come before it."""
    assert running.stdout is not None
    printed = []
    for line in running.stdout:
        printed.append(line)
        if line.startswith("TASK [") and task in line:
            if before == 0:
                return
            before -= 1
    raise AssertionError(f"it never came to {task}:\n{''.join(printed)}")
