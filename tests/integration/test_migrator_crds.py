"""The definitions that we ship: what they refuse, what they show, and that others accept them."""

from __future__ import annotations

import subprocess

import pytest

from lab import binaries
from lab.processes import Process
from lab.recorder import MIGRATIONS, STATES, Recorder, refused

MAPS = "configmaps"


def kubectl(recorder: Recorder, *arguments: str) -> str:
    """What kubectl prints for the administrator."""
    program = binaries.find(binaries.kubernetes("kubectl", binaries.DEFAULT_RELEASE))
    command = [str(program), f"--kubeconfig={recorder.kubeconfig()}", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


class TestStorageStates:
    @pytest.mark.parametrize(
        ("name", "group", "plural"),
        [
            ("pods", "", "pods"),
            ("deployments.apps", "apps", "deployments"),
            ("flunders.wardle.example.com", "wardle.example.com", "flunders"),
        ],
    )
    def test_a_name_that_is_the_resource_is_taken(
        self, recorder: Recorder, name: str, group: str, plural: str
    ) -> None:
        made = recorder.api.create(STATES, state(name, group=group, resource=plural))

        assert made["metadata"]["name"] == name

    @pytest.mark.parametrize(
        ("name", "group", "plural"),
        [
            ("pods", "", "nodes"),
            ("deployments", "apps", "deployments"),
            ("apps.deployments", "apps", "deployments"),
            ("pods.core", "", "pods"),
        ],
    )
    def test_any_other_name_is_refused(
        self, recorder: Recorder, name: str, group: str, plural: str
    ) -> None:
        said = refused(recorder.api.create, STATES, state(name, group=group, resource=plural))

        assert "422" in said
        assert "the name must be the resource, a dot and the group" in said

    def test_a_state_can_t_become_another_resource_s(self, recorder: Recorder) -> None:
        made = recorder.api.create(STATES, state("pods", group="", resource="pods"))
        made["spec"]["resource"]["resource"] = "nodes"

        assert "422" in refused(recorder.api.replace, f"{STATES}/pods", made)

    def test_kubectl_shows_what_matters(self, recorder: Recorder) -> None:
        recorder.observe(MAPS)

        header, row = kubectl(recorder, "get", "sst").splitlines()

        assert header.split() == ["NAME", "CURRENT", "PERSISTED", "EVIDENCE", "HEARTBEAT"]
        assert row.split()[:4] == [MAPS, recorder.shown_hash(MAPS), '["Unknown"]', "assumed"]

    def test_the_status_is_not_written_with_the_rest(self, recorder: Recorder) -> None:
        recorder.observe(MAPS)
        document = recorder.state(MAPS)
        document["status"]["persistedStorageVersionHashes"] = ["anything"]

        recorder.api.replace(f"{STATES}/{MAPS}", document)

        assert recorder.persisted(MAPS) == ["Unknown"]


class TestMigrations:
    def test_the_resource_of_a_migration_can_t_change(self, recorder: Recorder) -> None:
        made = recorder.migrate_by_hand(MAPS, name="by-hand")
        made["spec"]["resource"]["resource"] = "secrets"

        said = refused(recorder.api.replace, f"{MIGRATIONS}/by-hand", made)

        assert "422" in said
        assert "the resource of a migration can't change; create another migration" in said

    def test_where_it_goes_on_can_be_written(self, recorder: Recorder) -> None:
        made = recorder.migrate_by_hand(MAPS, name="by-hand")
        made["spec"]["continueToken"] = "from-here"

        written = recorder.api.replace(f"{MIGRATIONS}/by-hand", made)

        assert written["spec"]["continueToken"] == "from-here"

    def test_a_migration_of_nothing_is_refused(self, recorder: Recorder) -> None:
        said = refused(recorder.create_migration, {"metadata": {"name": "nothing"}, "spec": {}})

        assert "spec.resource" in said

    def test_kubectl_waits_for_and_shows_what_the_real_migrator_has_done(
        self, recorder: Recorder, migrator: Process
    ) -> None:
        recorder.migrate_by_hand(MAPS, name="by-hand")

        waited = kubectl(
            recorder,
            "wait",
            "--for=condition=Succeeded",
            "--timeout=90s",
            "storageversionmigrations.migration.k8s.io/by-hand",
        )
        header, row = kubectl(recorder, "get", "svm").splitlines()

        assert "condition met" in waited
        assert header.split() == [
            "NAME",
            "RESOURCE",
            "GROUP",
            "RUNNING",
            "SUCCEEDED",
            "FAILED",
            "AGE",
        ]
        assert row.split()[:2] == ["by-hand", MAPS]
        assert "True" in row.split()


def state(name: str, *, group: str, resource: str) -> dict[str, object]:
    return {
        "apiVersion": "migration.k8s.io/v1alpha1",
        "kind": "StorageState",
        "metadata": {"name": name},
        "spec": {"resource": {"group": group, "resource": resource}},
    }
