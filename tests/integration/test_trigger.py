"""The roles migrator and trigger, and the playbook of one pass, against real servers."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.hashes import hash_of
from lab.ansible import run_module, run_playbook
from lab.api import Api, ApiError
from lab.control_plane import ControlPlane, PrivateNetwork, ServerSpec, control_plane
from lab.fixtures import Planes
from lab.gate import found, judge
from lab.objects import CRDS, crd
from lab.recorder import Recorder, conditions
from lab.waiting import eventually

ROOT = Path(__file__).parents[2]
STATES = "/apis/migration.k8s.io/v1alpha1/storagestates"
MIGRATIONS = "/apis/migration.k8s.io/v1alpha1/storageversionmigrations"
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
CHOSEN = ["configmaps", "priorityclasses.scheduling.k8s.io"]
WIDGET, WIDGETS = "widgets.trigger.example.com", "/apis/trigger.example.com/v1/widgets"
# In the lab servers follow a definition at once.
WIDGET_PASS = {"trigger_pass_resources": [WIDGET], "lockstep_trigger_crd_propagation": 0}
COUNT = 60


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
    return recap(run_pass(plane, **variables))


def pass_told(plane: ControlPlane, **variables: Any) -> str:
    """The same; what it printed."""
    done = run_pass(plane, **variables)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def run_pass(plane: ControlPlane, **variables: Any) -> subprocess.CompletedProcess[str]:
    defaults = {"trigger_pass_resources": CHOSEN, **variables}
    environment = {"K8S_AUTH_KUBECONFIG": str(plane.kubeconfig())}
    playbook = ROOT / "playbooks" / "trigger.yml"
    return run_playbook(playbook, variables=defaults, environment=environment)


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


def write_widgets(plane: ControlPlane, count: int) -> None:
    for number in range(count):
        widget = {"apiVersion": "trigger.example.com/v1", "kind": "Widget"}
        plane.api.create(WIDGETS, {**widget, "metadata": {"name": f"widget-{number}"}})


def store_as(plane: ControlPlane, version: str) -> None:
    """Change the storage version of the widgets, and wait until every server follows."""
    versions = plane.api.get(f"{CRDS}/{WIDGET}")["spec"]["versions"]
    changed = [{**one, "storage": one["name"] == version} for one in versions]
    plane.api.patch(f"{CRDS}/{WIDGET}", {"spec": {"versions": changed}})
    recorder = Recorder(plane)
    desired = hash_of(group_version=f"trigger.example.com/{version}", kind="Widget")
    eventually(
        lambda: all(recorder.shown_hash(WIDGET, server=one) == desired for one in plane.servers),
        within=30,
    )


def stored_widgets(plane: ControlPlane) -> list[str]:
    """In which version each widget is in etcd."""
    prefix = "/registry/trigger.example.com/widgets/"
    return list(plane.etcd.stored_versions(prefix).values())


class TestAlone:
    """A default cluster, in which nobody but the trigger is at work."""

    @pytest.fixture
    def flipped(self, start: Planes) -> Recorder:
        """Two servers, and widgets that are known to be stored as v1, while v2 is current now."""
        plane = start(ServerSpec(), ServerSpec())
        recorder = Recorder(plane)
        recorder.install()
        plane.create_crds(crd("widgets", "trigger.example.com", storage="v1"))
        write_widgets(plane, COUNT)
        recorder.migrate(WIDGET)
        assert set(stored_widgets(plane)) == {"trigger.example.com/v1"}
        store_as(plane, "v2")
        return recorder

    def test_a_changed_storage_version_is_migrated_by_passes_alone(self, flipped: Recorder) -> None:
        plane = flipped.plane

        # When passes are made, each of which may work for two seconds only.
        passes = 0
        while len(flipped.persisted(WIDGET)) != 1 or not passes:
            assert pass_once(plane, **WIDGET_PASS, lockstep_trigger_slice=2)["failed"] == 0
            passes += 1
            assert passes < 12
            # Then no record says less than etcd holds.
            hashes = {hash_of(group_version=one, kind="Widget") for one in stored_widgets(plane)}
            assert hashes <= set(flipped.persisted(WIDGET))

        # Then the work took several of them, and all of it is done, seen and recorded.
        assert passes > 1
        assert set(stored_widgets(plane)) == {"trigger.example.com/v2"}
        status = flipped.status(WIDGET)
        assert status["persistedStorageVersionHashes"] == [status["currentStorageVersionHash"]]
        assert status["evidence"]["source"] == "migrated"
        assert plane.api.get(f"{CRDS}/{WIDGET}")["status"]["storedVersions"] == ["v2"]
        (migration,) = flipped.migrations(WIDGET).values()
        assert "Succeeded" in conditions(migration)
        assert pass_once(plane, **WIDGET_PASS)["changed"] == 0


class TestPass:
    def test_it_migrates_what_is_unknown_and_then_knows(self, installed: ControlPlane) -> None:
        # Given objects, and nothing recorded.
        recorder = Recorder(installed)
        installed.api.create(CONFIG_MAPS, {"metadata": {"name": "a-map"}})
        recorder.observe(*CHOSEN)
        assert recorder.persisted("configmaps") == ["Unknown"]

        # When a pass is made.
        pass_once(installed)

        # Then all is known, and the next one has nothing to do.
        status = recorder.status("configmaps")
        assert status["persistedStorageVersionHashes"] == [status["currentStorageVersionHash"]]
        assert pass_once(installed)["changed"] == 0

    def test_it_runs_what_somebody_asked_for_by_hand(self, installed: ControlPlane) -> None:
        recorder = Recorder(installed)
        pass_once(installed)
        recorder.migrate_by_hand("configmaps", name="by-hand")

        pass_once(installed)

        assert "Succeeded" in conditions(recorder.migrations("configmaps")["by-hand"])
        installed.api.delete(f"{MIGRATIONS}/by-hand")

    def test_it_leaves_migrations_to_a_migrator_that_is_alive(
        self, installed: ControlPlane
    ) -> None:
        # Given a migrator, and something to do.
        recorder = Recorder(installed)
        migrator = installed.start_migrator("--kube-api-qps=200", "--kube-api-burst=500")
        recorder.wait_for_migrator()
        recorder.forget()

        # When passes are made.
        told = pass_told(installed)
        recorder.wait_migrated(*CHOSEN)
        migrator.stop()
        pass_once(installed)

        # Then it was left to that, and what it did is recorded.
        assert "2 asked for" in told
        status = recorder.status("configmaps")
        assert status["persistedStorageVersionHashes"] == [status["currentStorageVersionHash"]]
        assert status["evidence"]["source"] == "migrated"

    def test_one_works_and_others_say_who_does(self, installed: ControlPlane) -> None:
        with ThreadPoolExecutor(2) as pool:
            done = list(pool.map(lambda _number: pass_told(installed), range(2)))
        idle = [told for told in done if "Nothing is done here: trigger on" in told]
        assert len(idle) == 1

    def test_it_leaves_the_work_to_a_migration_that_runs(self, installed: ControlPlane) -> None:
        recorder = Recorder(installed)
        recorder.forget()
        held = {"name": "migrate", "owner": "another run"}
        recorder.call("lock", **held)

        told = pass_told(installed)

        assert "2 asked for" in told
        assert {frozenset(conditions(one)) for one in recorder.migrations().values()} == {
            frozenset()
        }
        recorder.call("lock", **held, state="released")

    def test_what_failed_is_not_tried_again_at_once(self, installed: ControlPlane) -> None:
        recorder = Recorder(installed)
        recorder.forget()
        recorder.observe("configmaps")
        recorder.ask("configmaps")
        (name,) = recorder.migrations("configmaps")
        failed = {"type": "Failed", "status": "True", "message": "a webhook said no"}
        then = datetime.now(UTC) - timedelta(seconds=5)
        failed["lastUpdateTime"] = then.strftime("%Y-%m-%dT%H:%M:%SZ")
        document = {**recorder.migrations()[name], "status": {"conditions": [failed]}}
        installed.api.replace(f"{MIGRATIONS}/{name}/status", document)

        paused = recorder.call("storage_migration", state="advanced", resources=["configmaps"])
        again = recorder.call(
            "storage_migration", state="advanced", resources=["configmaps"], retry_failed_after=1
        )

        assert "a webhook said no. It is tried again in" in paused["left_out"]["configmaps"]
        assert again["resources"]["configmaps"]["status"] == "succeeded"

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


class TestAnotherTrigger:
    @pytest.fixture
    def beside_another(self, start: Planes) -> Recorder:
        """Two servers with the real out-of-tree trigger, and the Deployment that would run it."""
        plane = start(ServerSpec(), ServerSpec())
        recorder = Recorder(plane)
        recorder.install()
        recorder.observe("configmaps")
        labels = {"app": "trigger"}
        container = {"name": "one", "image": "example.com/storage-version-migration-trigger:1"}
        template = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
        deployment = {
            "metadata": {"name": "svm-trigger"},
            "spec": {"selector": {"matchLabels": labels}, "template": template},
        }
        plane.api.create("/apis/apps/v1/namespaces/default/deployments", deployment)
        plane.start_trigger()
        writer = '"manager": "storage-version-migration-trigger"'
        eventually(lambda: writer in json.dumps(recorder.states()), within=90)
        return recorder

    def test_it_is_refused_and_named_by_all_who_migrate_or_judge(
        self, beside_another: Recorder
    ) -> None:
        made = set(beside_another.migrations())

        passed = run_pass(beside_another.plane)
        migrated = beside_another.try_to_migrate("configmaps")
        verdict = judge(beside_another)

        found_it = "the Deployment default/svm-trigger"
        assert passed.returncode
        assert found_it in passed.stdout
        assert found_it in migrated["msg"]
        (finding,) = found(verdict, "foreign-trigger").values()
        assert found_it in str(finding)
        assert finding["command"] == "kubectl --namespace default delete deployment svm-trigger"
        # What the other one does is its own.
        assert not made - set(beside_another.migrations())


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
