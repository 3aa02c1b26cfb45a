"""What is recorded of stored versions: the modules that keep it, and the objects themselves."""

from __future__ import annotations

import base64
import contextlib
import importlib
import io
import json
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import yaml
from ansible.module_utils import basic
from ansible.module_utils.common import warnings

from .ansible import MODULES
from .api import Api, ApiError
from .control_plane import ControlPlane
from .waiting import eventually

DEFINITIONS = Path(__file__).resolve().parents[2] / "roles" / "migrator" / "files"
GROUP = "/apis/migration.k8s.io/v1alpha1"
STATES = f"{GROUP}/storagestates"
MIGRATIONS = f"{GROUP}/storageversionmigrations"
IN_TREE_MIGRATIONS = "/apis/storagemigration.k8s.io/v1beta1/storageversionmigrations"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
UNKNOWN = "Unknown"


def definition(plural: str) -> Any:
    """One of our own definitions, as the role installs it."""
    return yaml.safe_load((DEFINITIONS / f"{plural}.yml").read_text())


def call_module(module: str, /, *, check: bool = False, **arguments: Any) -> Any:
    """Run a module in this process: the same code, without the second that each start costs.

    Not for several at once: the arguments of a module are global to its process.
    """
    main = importlib.import_module(f"{MODULES}.{module}").main
    document = {"_ansible_check_mode": check, "_ansible_diff": True, **arguments}
    told = io.StringIO()
    basic._ANSIBLE_ARGS = json.dumps({"ANSIBLE_MODULE_ARGS": document}, default=str).encode()
    basic._ANSIBLE_PROFILE = "legacy"
    # What an earlier module warned of is kept in the process, and is not this one's to tell.
    warnings._global_warnings.clear()
    warnings._global_deprecations.clear()
    try:
        with contextlib.redirect_stdout(told), contextlib.suppress(SystemExit):
            main()
    finally:
        basic._ANSIBLE_ARGS = None
    result = json.loads(told.getvalue())
    # As a playbook has them: plain data, which can be given to another module.
    plain = {
        "warnings": warnings.get_warning_messages(),
        "deprecations": warnings.get_deprecation_messages(),
    }
    return {key: plain.get(key, value) for key, value in result.items()}


class Recorder:
    """One control plane whose stored versions are recorded."""

    def __init__(self, plane: ControlPlane, *, through: str = "") -> None:
        self.plane = plane
        # A server's name: while another one is frozen, the load balancer may lead there.
        self._through = through

    @property
    def api(self) -> Api:
        return self.plane.servers[self._through].api if self._through else self.plane.api

    def kubeconfig(self) -> Path:
        url = self.plane.servers[self._through].url if self._through else ""
        return self.plane.kubeconfig(server=url)

    def install(self, *definitions: Mapping[str, Any]) -> None:
        """Install definitions, ours unless others are given."""
        ours = [definition("storagestates"), definition("storageversionmigrations")]
        self.plane.create_crds(*(definitions or ours))

    # --- the modules ---

    def call(self, module: str, **arguments: Any) -> Any:
        """What a module returns to the administrator, failed or not."""
        # Tests change definitions and go on: in the lab servers follow them at once.
        unsettling = ("lock", "release_catalogue")
        defaults: dict[str, Any] = {} if module in unsettling else {"settle": 0}
        defaults["kubeconfig"] = self.kubeconfig()
        return call_module(module, **{**defaults, **arguments})

    def observe(self, *resources: str, **arguments: Any) -> Any:
        """One pass of storage_state over these resources (none: all), which must succeed."""
        result = self.call("storage_state", resources=resources or ["*"], **arguments)
        assert not result.get("failed"), result
        return result

    def tell(self, *resources: str, **arguments: Any) -> Any:
        """What storage_state_info says."""
        result = self.call("storage_state_info", resources=resources or ["*"], **arguments)
        assert not result.get("failed"), result
        return result

    def ask(self, *resources: str, **arguments: Any) -> Any:
        """Ask for migrations with storage_migration, and leave them to whoever runs them."""
        asked = {"resources": resources or ["*"], "state": "present", **arguments}
        result = self.call("storage_migration", **asked)
        assert not result.get("failed"), result
        return result

    def migrate(self, *resources: str, **arguments: Any) -> Any:
        """Migrate with storage_migration, at full speed, which must succeed."""
        result = self.try_to_migrate(*resources, **arguments)
        assert not result.get("failed"), result["msg"]
        return result

    def try_to_migrate(self, *resources: str, **arguments: Any) -> Any:
        """The same, failed or not."""
        asked = {"resources": resources or ["*"], "speed": "full", **arguments}
        return self.call("storage_migration", state="succeeded", **asked)

    # --- the objects ---

    def states(self) -> dict[str, Any]:
        return {one["metadata"]["name"]: one for one in self.api.get(STATES)["items"]}

    def state(self, resource: str) -> Any:
        return self.api.get(f"{STATES}/{resource}")

    def status(self, resource: str) -> Any:
        return self.state(resource)["status"]

    def persisted(self, resource: str) -> list[str]:
        return list(self.status(resource)["persistedStorageVersionHashes"])

    def set_status(self, resource: str, **fields: Any) -> Any:
        """Write the status as any other client would, and after others that write it too."""
        while True:
            document = self.state(resource)
            document["status"] = {**document.get("status", {}), **fields}
            try:
                return self.api.replace(f"{STATES}/{resource}/status", document)
            except ApiError as error:
                if error.status != 409:
                    raise

    def age(self, *resources: str, seconds: float) -> None:
        """Let the last look at resources have been that much earlier."""
        for resource in resources:
            then = parse_time(self.status(resource)["lastHeartbeatTime"])
            earlier = (then - timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")
            self.set_status(resource, lastHeartbeatTime=earlier)

    def vouch(self, resource: str) -> None:
        """Let the current version be all that is stored, as a recorded migration would."""
        status = self.status(resource)
        hashes = [status["currentStorageVersionHash"]]
        evidence = {**status["evidence"], "source": "migrated", "hashes": hashes}
        self.set_status(resource, persistedStorageVersionHashes=hashes, evidence=evidence)

    def vouch_for_all(self) -> None:
        """The same for every resource that is recorded."""
        for resource in self.states():
            self.vouch(resource)

    def migrations(self, resource: str = "", *, at: str = MIGRATIONS) -> dict[str, Any]:
        """The migrations of one resource, or all, in one of the two APIs for them."""
        found = {one["metadata"]["name"]: one for one in self.api.get(at)["items"]}
        return {n: one for n, one in found.items() if resource in ("", resource_of(one))}

    def migrate_by_hand(self, resource: str, *, name: str, version: str = "v1") -> Any:
        """A migration as kubectl create would make it."""
        plural, _dot, group = resource.partition(".")
        target = {"group": group, "version": version, "resource": plural}
        return self.create_migration({"metadata": {"name": name}, "spec": {"resource": target}})

    def create_migration(self, document: Mapping[str, Any]) -> Any:
        kind = {"apiVersion": "migration.k8s.io/v1alpha1", "kind": "StorageVersionMigration"}
        return self.api.create(MIGRATIONS, {**kind, **document})

    def finish(self, resource: str, *, how: str = "Succeeded", message: str = "") -> None:
        """Let the migrations of a resource have ended, without rewriting anything."""
        for name, one in self.migrations(resource).items():
            condition = {"type": how, "status": "True", "message": message}
            document = {**one, "status": {"conditions": [condition]}}
            self.api.replace(f"{MIGRATIONS}/{name}/status", document)

    def wait_for_migrator(self) -> None:
        """Wait until a migrator is there: it fails at once what it can't run."""
        self.migrate_by_hand("nothings.example.com", name="is-anybody-there")
        # Not before it has ended: for one that is deleted meanwhile it waits for seconds.
        eventually(lambda: "Failed" in conditions(self.migrations()["is-anybody-there"]), within=60)
        self.api.delete(f"{MIGRATIONS}/is-anybody-there")

    def wait_migrated(self, *resources: str, within: float = 180) -> None:
        """Wait until somebody has run every migration of these resources."""
        for resource in resources:
            eventually(lambda one=resource: self._all_succeeded(one), within=within)

    def _all_succeeded(self, resource: str) -> bool:
        found = self.migrations(resource).values()
        return bool(found) and all("Succeeded" in conditions(one) for one in found)

    def forget(self) -> None:
        """Let nothing be recorded, nothing asked for, and no lock be held."""
        self.api.delete(MIGRATIONS)
        self.api.delete(STATES)
        for one in self.api.get(LEASES)["items"]:
            if one["metadata"]["name"].startswith("lockstep-"):
                self.api.delete(f"{LEASES}/{one['metadata']['name']}")

    def writes_of(self, path: str) -> int:
        """How often a key in etcd has been written since it was created; 0 if it is not there."""
        key = base64.b64encode(f"/registry/{path}".encode()).decode()
        pairs = self.plane.etcd.call("kv/range", {"key": key, "keys_only": True}).get("kvs", [])
        assert isinstance(pairs, list)
        return int(pairs[0]["version"]) if pairs else 0

    def shown_hash(self, resource: str, *, server: str = "cp-1") -> str:
        """What one server itself shows in its discovery document."""
        plural, _dot, group = resource.partition(".")
        api = self.plane.servers[server].api
        if not group:
            documents = [api.get("/api/v1")]
        else:
            versions = api.get(f"/apis/{group}")["versions"]
            documents = [api.get(f"/apis/{one['groupVersion']}") for one in versions]
        found = [one for each in documents for one in each["resources"] if one["name"] == plural]
        return str(found[0]["storageVersionHash"])


def resource_of(migration: Mapping[str, Any]) -> str:
    """The resource that a StorageVersionMigration is about."""
    target = migration["spec"]["resource"]
    return ".".join(part for part in (target["resource"], target.get("group", "")) if part)


def conditions(migration: Mapping[str, Any]) -> set[str]:
    """The conditions of a StorageVersionMigration that hold."""
    listed = migration.get("status", {}).get("conditions") or []
    return {one["type"] for one in listed if one["status"] == "True"}


def parse_time(text: str) -> datetime:
    return datetime.fromisoformat(text).astimezone(UTC)


def refused(call: Any, *arguments: Any) -> str:
    """What the API server says against a request that it must refuse."""
    try:
        call(*arguments)
    except ApiError as error:
        return str(error)
    raise AssertionError("it was not refused")
