"""The rights in docs/reference/rbac.md are enough, and each of them is needed."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from lab.ansible import run_module
from lab.control_plane import ControlPlane, PrivateNetwork, ServerSpec, control_plane
from lab.objects import CRDS, crd
from lab.recorder import Recorder

DOCUMENT = Path(__file__).resolve().parents[2] / "docs" / "reference" / "rbac.md"
RBAC = "/apis/rbac.authorization.k8s.io/v1"


def documented_role(name: str) -> Any:
    """The ClusterRole of that name, as the document shows it."""
    blocks = re.findall(r"```yaml\n(.*?)```", DOCUMENT.read_text(), re.DOTALL)
    (role,) = (r for r in map(yaml.safe_load, blocks) if r["metadata"]["name"] == name)
    return role


Accounts = Callable[..., Path]


@pytest.fixture(scope="module")
def plane(network: PrivateNetwork) -> Iterator[ControlPlane]:
    """A server with everything that is read: all APIs that matter, and a hidden definition."""
    spec = ServerSpec().with_storage_version_api().with_migration_api()
    with control_plane(spec, network=network) as plane:
        # Nobody has the rights that every user of a new cluster has.
        plane.api.delete(f"{RBAC}/clusterrolebindings/system:discovery")
        plane.api.delete(f"{RBAC}/clusterrolebindings/system:public-info-viewer")
        hidden = crd("hidden", "rights.example.com", storage="v2", served=("v1",))
        plane.api.create(CRDS, hidden)
        plane.create_crds(crd("parts", "rights.example.com", storage="v2"))
        Recorder(plane).install()
        yield plane


@pytest.fixture(scope="module")
def kubeconfig_with(plane: ControlPlane) -> Accounts:
    """The kubeconfig of a new service account that roles are bound to."""

    def bind(name: str, role: Any, *, account: str) -> None:
        role["metadata"]["name"] = name
        namespace = role["metadata"].get("namespace")
        base, kind = (
            (f"{RBAC}/namespaces/{namespace}", "role") if namespace else (RBAC, "clusterrole")
        )
        plane.api.create(f"{base}/{kind}s", role)
        reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": role["kind"], "name": name}
        subject = {"kind": "ServiceAccount", "name": account, "namespace": "default"}
        binding = {"metadata": {"name": name}, "roleRef": reference, "subjects": [subject]}
        plane.api.create(f"{base}/{kind}bindings", binding)

    def make(name: str, *roles: Any) -> Path:
        account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name}}
        accounts = "/api/v1/namespaces/default/serviceaccounts"
        plane.api.create(accounts, account)
        for number, role in enumerate(roles):
            bind(f"{name}-{number}", copy.deepcopy(role), account=name)
        request = {"spec": {"expirationSeconds": 600}}
        token = plane.api.create(f"{accounts}/{name}/token", request)["status"]["token"]
        return plane.kubeconfig(plane.token_user(name, token))

    return make


class TestObserver:
    @pytest.mark.parametrize("module", ["discovery_hash", "storage_version_info"])
    def test_the_documented_role_is_enough(
        self, plane: ControlPlane, kubeconfig_with: Accounts, module: str
    ) -> None:
        name = f"observer-{module.replace('_', '-')}"
        kubeconfig = kubeconfig_with(name, documented_role("lockstep-observer"))

        seen = run_module(module, kubeconfig=kubeconfig)

        assert not seen.get("failed"), seen
        assert [one["fault"] for one in seen["servers"]] == [""]
        assert seen["resources"]["deployments.apps"]["status"] == "agreed"

    @pytest.mark.parametrize(
        "rule", range(len(documented_role("lockstep-observer")["rules"])), ids=lambda n: f"rule{n}"
    )
    def test_no_rule_of_the_documented_role_is_idle(
        self, kubeconfig_with: Accounts, rule: int
    ) -> None:
        role = documented_role("lockstep-observer")
        del role["rules"][rule]

        seen = run_module("discovery_hash", kubeconfig=kubeconfig_with(f"lacks-{rule}", role))

        assert "403 Forbidden" in str(seen)
        assert not seen.get("agreed")


class TestRecorder:
    ROLES = ("lockstep-observer", "lockstep-recorder", "lockstep-locker")

    def test_the_documented_roles_are_enough_for_a_whole_turn(
        self, plane: ControlPlane, kubeconfig_with: Accounts
    ) -> None:
        recorder = Recorder(plane)
        roles = [documented_role(name) for name in self.ROLES]
        options = {"kubeconfig": kubeconfig_with("recorder", *roles), "resources": ["*.apps"]}
        lock = {"kubeconfig": options["kubeconfig"], "name": "trigger", "owner": "test"}

        done = [
            recorder.call("lock", **lock),
            recorder.call("storage_state", **options),
            recorder.call("storage_migration", **options, state="present"),
            recorder.call("storage_state", **options, state="reset"),
            recorder.call("storage_migration", **options, state="absent"),
            recorder.call("storage_state_info", **options),
            recorder.call("storage_state", **options, state="absent"),
            recorder.call("lock", **lock, state="released"),
        ]

        assert not [one for one in done if one.get("failed")]
        # The reset has taken the migrations along, and reading changes nothing.
        assert [number for number, one in enumerate(done) if not one["changed"]] == [4, 5]

    def test_without_it_the_first_write_says_what_is_missing(
        self, plane: ControlPlane, kubeconfig_with: Accounts
    ) -> None:
        role = documented_role("lockstep-recorder")
        role["rules"] = [rule for rule in role["rules"] if "create" not in rule["verbs"]]
        role["rules"].append(
            {
                "apiGroups": ["migration.k8s.io", "storagemigration.k8s.io"],
                "resources": ["storagestates", "storageversionmigrations"],
                "verbs": ["list"],
            }
        )
        observer = documented_role("lockstep-observer")
        kubeconfig = kubeconfig_with("reader", observer, role)

        result = Recorder(plane).call("storage_state", kubeconfig=kubeconfig, resources=["pods"])

        assert "The StorageStates could not be written" in result["msg"]
        assert 'cannot create resource "storagestates"' in result["msg"]
        assert "docs/reference/rbac.md" in result["remedy"]


class TestMigrator:
    ROLES = (*TestRecorder.ROLES, "lockstep-migrator", "lockstep-rewriter")
    PART, MAPS = "parts.rights.example.com", "configmaps"

    @pytest.fixture
    def due(self, plane: ControlPlane) -> Recorder:
        """One object of a custom resource and some config maps, of which nothing is proved."""
        recorder = Recorder(plane)
        recorder.forget()
        part = {"apiVersion": "rights.example.com/v2", "kind": "Part", "metadata": {"name": "one"}}
        path = "/apis/rights.example.com/v2/parts"
        if not plane.api.get(path)["items"]:
            plane.api.create(path, part)
        plane.api.patch(f"{CRDS}/{self.PART}/status", {"status": {"storedVersions": ["v1", "v2"]}})
        return recorder

    def migrate(self, recorder: Recorder, kubeconfig: Path, **options: Any) -> Any:
        return recorder.call(
            "storage_migration",
            kubeconfig=kubeconfig,
            resources=[self.PART, self.MAPS],
            backend="direct",
            speed="full",
            **options,
        )

    def test_the_documented_roles_are_enough(
        self, due: Recorder, kubeconfig_with: Accounts
    ) -> None:
        roles = [documented_role(name) for name in self.ROLES]

        done = self.migrate(due, kubeconfig_with("migrator", *roles))

        assert not done.get("failed"), done
        assert [one["verified"] for one in done["resources"].values()] == [True, True]
        assert done["resources"][self.PART]["stored_versions"] == ["v2"]

    def test_they_are_enough_to_verify_a_reencryption(
        self, due: Recorder, kubeconfig_with: Accounts
    ) -> None:
        roles = [documented_role(name) for name in self.ROLES]
        keys = {"scope": "all", "encryption_generation": "key2"}

        done = self.migrate(due, kubeconfig_with("reencrypter", *roles), **keys)

        assert not done.get("failed"), done
        assert [one["verified"] for one in done["resources"].values()] == [True, True]

    @pytest.mark.parametrize(
        "rule", range(len(documented_role("lockstep-migrator")["rules"])), ids=lambda n: f"rule{n}"
    )
    def test_no_rule_of_the_documented_role_is_idle(
        self, due: Recorder, kubeconfig_with: Accounts, rule: int
    ) -> None:
        roles = [documented_role(name) for name in self.ROLES]
        del roles[3]["rules"][rule]

        done = self.migrate(due, kubeconfig_with(f"migrator-lacks-{rule}", *roles))

        # What a definition says to be stored is the one thing that a migration can do without.
        notes = [note for one in done.get("resources", {}).values() for note in one["notes"]]
        assert done.get("failed") or notes
        assert "is forbidden" in " ".join((done.get("msg", ""), *notes))

    def test_without_the_right_to_patch_a_resource_it_says_so(
        self, due: Recorder, kubeconfig_with: Accounts
    ) -> None:
        roles = [documented_role(name) for name in self.ROLES]
        roles[4]["rules"][1]["verbs"] = ["list"]

        done = self.migrate(due, kubeconfig_with("lists-only", *roles))

        assert done["resources"][self.PART]["status"] == "failed"
        assert done["resources"][self.MAPS]["status"] == "succeeded"
        assert 'cannot patch resource "parts"' in done["msg"]
        assert "docs/reference/rbac.md" in done["msg"]
