"""The role migrate and its playbook, and the action plugin of storage_migration."""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lab.ansible import run_playbook, tasks
from lab.control_plane import ControlPlane, PrivateNetwork, ServerSpec, control_plane
from lab.objects import CRDS, crd
from lab.recorder import Recorder

PLAYBOOK = Path(__file__).parents[2] / "playbooks" / "migrate.yml"
LONG = os.environ.get("LOCKSTEP_LONG") == "1"
GROUP = "example.com"
# The same as local, but for its name: the action plugin takes it for another host.
CONNECTION = '''
DOCUMENTATION = """
name: elsewhere
short_description: the control node, as if it were another host
description: A connection for tests.
author: The Lockstep authors
extends_documentation_fragment: [connection_pipelining]
"""
from ansible.plugins.connection.local import Connection as Local


class Connection(Local):
    transport = "elsewhere"
'''


@pytest.fixture(scope="module")
def plane(network: PrivateNetwork) -> Iterator[ControlPlane]:
    """One server on which nothing is installed yet."""
    with control_plane(ServerSpec(), network=network) as plane:
        yield plane


@pytest.fixture
def installed(plane: ControlPlane) -> ControlPlane:
    """The same with our definitions, whoever installed them."""
    if "storagestates.migration.k8s.io" not in json.dumps(plane.api.get(CRDS)):
        Recorder(plane).install()
    return plane


def populate(plane: ControlPlane, plural: str, *, objects: int) -> str:
    """A custom resource whose objects are stored in v1, while servers write v2 now."""
    plane.create_crds(crd(plural, GROUP, storage="v1"))
    path = f"/apis/{GROUP}/v1/{plural}"
    kind = {"apiVersion": f"{GROUP}/v1", "kind": plural.removesuffix("s").capitalize()}
    for number in range(objects):
        plane.api.create(path, {**kind, "metadata": {"name": f"one-{number}"}})
    versions = crd(plural, GROUP, storage="v2")["spec"]["versions"]
    plane.api.patch(f"{CRDS}/{plural}.{GROUP}", {"spec": {"versions": versions}})
    return f"{plural}.{GROUP}"


def stored(plane: ControlPlane, plural: str) -> list[str]:
    """In which versions the objects of a resource lie in etcd."""
    found = plane.etcd.stored_versions(f"/registry/{GROUP}/{plural}/")
    return sorted(set(found.values()))


def everything(plane: ControlPlane) -> dict[str, bytes]:
    """All bytes in etcd but for what servers themselves write all the time."""
    leases = ("leases/kube-system/apiserver-", "masterleases/", "peerserverleases/")
    busy = tuple(f"/registry/{one}" for one in leases)
    every = plane.etcd.items("/registry/")
    return {key: value for key, value in every if not key.startswith(busy)}


def migrate(
    plane: ControlPlane, resource: str, *options: str, **variables: Any
) -> subprocess.CompletedProcess[str]:
    """Run the playbook for resources of one pattern."""
    chosen = {"migrate_resources": [resource], "migrate_settle": 0, **variables}
    environment = {"K8S_AUTH_KUBECONFIG": str(plane.kubeconfig())}
    return run_playbook(PLAYBOOK, *options, variables=chosen, environment=environment)


def recap(done: subprocess.CompletedProcess[str]) -> dict[str, int]:
    assert done.returncode == 0, done.stdout + done.stderr
    line = next(line for line in done.stdout.splitlines() if line.startswith("localhost "))
    return {key: int(value) for key, value in (part.split("=") for part in line.split()[2:])}


class TestRoleMigrate:
    def test_the_first_run_migrates_and_the_second_has_nothing_to_do(
        self, plane: ControlPlane
    ) -> None:
        # Given objects in the version of yesterday, and a definition that nobody can judge.
        name = populate(plane, "gadgets", objects=6)
        plane.api.create(CRDS, crd("hidden", GROUP, storage="v2", served=("v1",)))
        before = stored(plane, "gadgets")

        # When the playbook is run, which installs what the record is kept in.
        known = {"migrate_left_out": [f"hidden.{GROUP}"]}
        by_itself = {"migrate_install_definitions": False, **known}
        checked = migrate(plane, f"*.{GROUP}", "--check", **by_itself)
        done = migrate(plane, f"*.{GROUP}", migrate_max_qps=1.5, **known)
        again = migrate(plane, f"*.{GROUP}", **by_itself)

        # Then the bytes in etcd are of the new version, and that is recorded as proved.
        assert before == ["example.com/v1"]
        assert stored(plane, "gadgets") == ["example.com/v2"]
        recorder = Recorder(plane)
        assert recorder.persisted(name) == [recorder.shown_hash(name)]
        assert recorder.status(name)["evidence"]["source"] == "migrated"
        assert plane.api.get(f"{CRDS}/{name}")["status"]["storedVersions"] == ["v2"]
        # The report has the verdict first, then counts, and what was left out with the reason.
        assert recap(done)["changed"] > 0
        assert "migrated: 1 resource migrated and 0 current already. 6 objects" in done.stdout
        assert f"  {name}: 6 visited, 6 rewritten, 0 current already, 0 gone" in done.stdout
        assert "Recorded: 2 resources: 1 current, 0 mixed, 1 Unknown." in done.stdout
        assert f"  left out: hidden.{GROUP}: the CustomResourceDefinition of" in done.stdout
        assert f"verified except hidden.{GROUP}" in done.stdout
        # While it ran, lines of plain text told how far it was.
        told = [line for line in done.stderr.splitlines() if name in line]
        progress = rf"  {re.escape(name)}: \d+ % \(\d of 6\), \d objects/s(, \d+ s left)?"
        assert told
        assert all(re.fullmatch(progress, line) for line in told)
        # The second run changed nothing, and the check before counted on a fresh cluster.
        assert recap(again)["changed"] == 0
        assert "nothing to do: 0 resources migrated and 1 current already." in again.stdout
        assert recap(checked)["failed"] == 0
        assert "1 resource would be migrated, 6 objects visited" in checked.stdout
        assert f"  {name}: 6 objects by direct" in checked.stdout
        assert "Nothing is recorded yet" in checked.stderr
        plane.api.delete(f"{CRDS}/hidden.{GROUP}")

    def test_check_mode_counts_and_touches_nothing(self, installed: ControlPlane) -> None:
        name = populate(installed, "widgets", objects=5)
        before = everything(installed)

        done = migrate(installed, name, "--check", migrate_install_definitions=False)

        assert recap(done)["failed"] == 0
        assert "1 resource would be migrated, 5 objects visited, Unknown rewritten." in done.stdout
        assert f"  {name}: 5 objects by direct" in done.stdout
        assert everything(installed) == before


class TestTask:
    def test_without_progress_no_line_tells_it(self, installed: ControlPlane) -> None:
        name = populate(installed, "sprockets", objects=4)
        options = {"resources": [name], "max_qps": 1, "settle": 0, "progress": False}

        done = run_playbook(one_task(installed, **options))

        assert recap(done)["changed"] == 1
        assert stored(installed, "sprockets") == ["example.com/v2"]
        assert "objects/s" not in done.stderr

    def test_on_another_host_it_runs_in_slices(
        self, installed: ControlPlane, tmp_path: Path
    ) -> None:
        (tmp_path / "connection_plugins").mkdir()
        (tmp_path / "connection_plugins" / "elsewhere.py").write_text(CONNECTION)
        # In long runs the first slice ends within the second resource.
        numbers, rate = ({"bolts": 30, "nuts": 45}, 1) if LONG else ({"bolts": 2, "nuts": 3}, 10)
        names = [populate(installed, plural, objects=number) for plural, number in numbers.items()]
        playbook = tmp_path / "playbook.yml"
        play = one_task(installed, resources=names, max_qps=rate, settle=0)
        playbook.write_text(json.dumps(play))

        done = run_playbook(playbook, variables={"ansible_connection": "elsewhere"})

        assert recap(done)["changed"] == 1
        assert [stored(installed, plural) for plural in numbers] == [["example.com/v2"]] * 2
        assert f'"listed": {sum(numbers.values())}' in done.stdout
        assert '"migrated": 2' in done.stdout
        # What is shown is the verdict on each slice but the last; nobody can see more of it.
        told = [line for line in done.stderr.splitlines() if "objects visited" in line]
        assert len(told) == (1 if LONG else 0), done.stderr
        assert "objects/s" not in done.stderr


def one_task(plane: ControlPlane, **options: Any) -> list[dict[str, Any]]:
    """A playbook that migrates by one task, and tells its counts."""
    arguments = {"kubeconfig": str(plane.kubeconfig()), **options}
    return tasks(
        {
            "name": "Migrate",
            "lockstep.kubernetes.storage_migration": arguments,
            "register": "migrated",
        },
        {"name": "Tell", "ansible.builtin.debug": {"var": "migrated.totals"}},
    )
