"""The roles migrator and trigger, and the playbook of one pass, against real servers."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import yaml

from lab.ansible import run_module, run_playbook
from lab.api import Api, ApiError
from lab.control_plane import ControlPlane, PrivateNetwork, ServerSpec, control_plane
from lab.waiting import eventually

ROOT = Path(__file__).parents[2]
STATES = "/apis/migration.k8s.io/v1alpha1/storagestates"
MIGRATIONS = "/apis/migration.k8s.io/v1alpha1/storageversionmigrations"
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
CHOSEN = ["configmaps", "priorityclasses.scheduling.k8s.io"]


def install(plane: ControlPlane, *options: str, **variables: Any) -> dict[str, int]:
    """Run the role migrator; the numbers of its recap."""
    play = {
        "hosts": "localhost",
        "gather_facts": False,
        "module_defaults": {
            "group/lockstep.kubernetes.k8s": {"kubeconfig": str(plane.kubeconfig())}
        },
        "roles": [{"role": "lockstep.kubernetes.migrator", "vars": variables}],
    }
    return recap(run_playbook([play], *options))


def pass_once(plane: ControlPlane, **variables: Any) -> dict[str, int]:
    """Run the playbook of one pass over two resources; the numbers of its recap."""
    defaults = {"trigger_pass_resources": CHOSEN, **variables}
    environment = {"K8S_AUTH_KUBECONFIG": str(plane.kubeconfig())}
    playbook = ROOT / "playbooks" / "trigger.yml"
    return recap(run_playbook(playbook, variables=defaults, environment=environment))


def recap(done: subprocess.CompletedProcess[str]) -> dict[str, int]:
    assert done.returncode == 0, done.stdout + done.stderr
    line = next(line for line in done.stdout.splitlines() if line.startswith("localhost "))
    return {key: int(value) for key, value in (part.split("=") for part in line.split()[2:])}


def state_of(plane: ControlPlane, resource: str) -> dict[str, Any]:
    status = plane.api.get(f"{STATES}/{resource}")["status"]
    assert isinstance(status, dict)
    return status


@pytest.fixture(scope="module")
def installed(network: PrivateNetwork) -> Iterator[ControlPlane]:
    """One server, on which the role has installed the definitions."""
    with control_plane(ServerSpec(), network=network) as plane:
        install(plane)
        yield plane


class TestRoleMigrator:
    def test_it_is_idempotent(self, installed: ControlPlane) -> None:
        assert install(installed)["changed"] == 0

    def test_it_supports_check_mode(self, installed: ControlPlane) -> None:
        assert install(installed, "--check")["failed"] == 0

    def test_the_controller_is_refused_without_an_image(self, installed: ControlPlane) -> None:
        with pytest.raises(AssertionError, match="migrator_image"):
            install(installed, migrator_controller=True)

    def test_the_controller_may_touch_what_was_named_and_nothing_else(
        self, installed: ControlPlane
    ) -> None:
        # Given the role's rights, and a migrator that runs with them as the Deployment would.
        install(
            installed,
            migrator_controller=True,
            migrator_image="example.com/migrator:1",
            migrator_resources=["configmaps"],
        )
        account = "/api/v1/namespaces/kube-storage-migration/serviceaccounts/storage-migrator"
        asked = {"spec": {"expirationSeconds": 3600}}
        token = installed.api.create(f"{account}/token", asked)["status"]["token"]
        user = installed.token_user("storage-migrator", token)
        migrator = installed.start_migrator(user=user)

        # When a migration of what was named is asked for.
        target = {"group": "", "version": "v1", "resource": "configmaps"}
        document = {
            "apiVersion": "migration.k8s.io/v1alpha1",
            "kind": "StorageVersionMigration",
            "metadata": {"name": "by-least-privilege"},
            "spec": {"resource": target},
        }
        installed.api.create(MIGRATIONS, document)

        # Then it succeeds, and anything else is forbidden.
        path = f"{MIGRATIONS}/by-least-privilege"
        eventually(lambda: "Succeeded" in json.dumps(installed.api.get(path)), within=60)
        with pytest.raises(ApiError, match="secrets is forbidden"):
            Api(installed.servers["cp-1"].url, user).get("/api/v1/secrets")
        migrator.stop()
        installed.api.delete(path)

    def test_the_deployment_is_what_a_server_accepts(self, installed: ControlPlane) -> None:
        path = "/apis/apps/v1/namespaces/kube-storage-migration/deployments/migrator"
        pod = installed.api.get(path)["spec"]["template"]["spec"]
        assert pod["serviceAccountName"] == "storage-migrator"
        assert pod["containers"][0]["args"] == ["--kube-api-qps=10", "--kube-api-burst=20"]


class TestPass:
    def test_it_records_asks_and_at_last_knows(self, installed: ControlPlane) -> None:
        # Given objects, and nothing recorded.
        installed.api.create(CONFIG_MAPS, {"metadata": {"name": "a-map"}})

        # When the first pass is made.
        assert pass_once(installed)["changed"] == 2
        assert state_of(installed, "configmaps")["persistedStorageVersionHashes"] == ["Unknown"]
        assert len(installed.api.get(MIGRATIONS)["items"]) == 2

        # Then another one has nothing to do until the migrations have run.
        assert pass_once(installed)["changed"] == 0

        # When the migrator has run them, the next pass records that.
        migrator = installed.start_migrator()
        eventually(
            lambda: json.dumps(installed.api.get(MIGRATIONS)).count('"Succeeded"') == 2, within=60
        )
        migrator.stop()
        assert pass_once(installed)["changed"] == 1
        status = state_of(installed, "configmaps")
        assert status["persistedStorageVersionHashes"] == [status["currentStorageVersionHash"]]
        assert pass_once(installed)["changed"] == 0

    def test_several_at_once_take_turns(self, installed: ControlPlane) -> None:
        with ThreadPoolExecutor(3) as pool:
            done = list(pool.map(lambda _number: pass_once(installed), range(3)))
        assert [one["failed"] for one in done] == [0, 0, 0]

    def test_it_only_records_while_an_upgrade_holds_its_lock(self, installed: ControlPlane) -> None:
        kubeconfig = str(installed.kubeconfig())
        run_module("lock", kubeconfig=kubeconfig, name="upgrade", owner="an upgrade")
        run_module("storage_state", kubeconfig=kubeconfig, state="reset", resources=CHOSEN)
        before = installed.api.get(MIGRATIONS)["items"]

        pass_once(installed)

        assert installed.api.get(MIGRATIONS)["items"] == before
        released = {"name": "upgrade", "owner": "an upgrade", "state": "released"}
        run_module("lock", kubeconfig=kubeconfig, **released)

    def test_reset_takes_everything_back_to_unknown(self, installed: ControlPlane) -> None:
        pass_once(installed)
        environment = {"K8S_AUTH_KUBECONFIG": str(installed.kubeconfig())}
        variables = {"reset_resources": CHOSEN}

        recap(
            run_playbook(
                ROOT / "playbooks" / "reset.yml", variables=variables, environment=environment
            )
        )

        assert state_of(installed, "configmaps")["persistedStorageVersionHashes"] == ["Unknown"]


class TestRoleTrigger:
    def test_a_period_that_makes_records_stale_is_refused(self) -> None:
        variables = {"trigger_period": 301}
        play = {"hosts": "localhost", "gather_facts": False}
        roles = [{"role": "lockstep.kubernetes.trigger", "vars": variables}]
        done = run_playbook([{**play, "roles": roles}], "--check")
        assert done.returncode
        assert "trigger_period is 301 s" in done.stdout

    @pytest.mark.parametrize("unit", ["service", "timer"])
    def test_systemd_accepts_the_units(self, unit: str, tmp_path: Path) -> None:
        role = ROOT / "roles" / "trigger"
        variables = yaml.safe_load((role / "defaults/main.yml").read_text())
        variables |= {"trigger_user": "root", "trigger_ansible_playbook": shutil.which("true")}
        for name in ("service", "timer"):
            source = role / "templates" / f"trigger.{name}.j2"
            target = tmp_path / f"lockstep-trigger.{name}"
            render(source, target, variables)

        unit_file = tmp_path / f"lockstep-trigger.{unit}"
        checked = subprocess.run(
            ["systemd-analyze", "verify", "--man=no", str(unit_file)],
            capture_output=True,
            text=True,
            check=False,
        )
        complaints = [line for line in checked.stderr.splitlines() if "lockstep" in line]
        assert not complaints


def render(source: Path, target: Path, variables: dict[str, Any]) -> None:
    """Render a template as ansible does."""
    task = {
        "name": "Render",
        "ansible.builtin.template": {"src": str(source), "dest": str(target), "mode": "0644"},
    }
    play = {"hosts": "localhost", "gather_facts": False, "tasks": [task]}
    recap(run_playbook([play], variables=variables))
