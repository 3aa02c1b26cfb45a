"""The role preflight and its playbook: the verdict before an upgrade, as operators run it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from lab.ansible import run_playbook
from lab.control_plane import ControlPlane, PrivateNetwork, ServerSpec, control_plane
from lab.gate import etcd_options
from lab.recorder import Recorder

ROOT = Path(__file__).parents[2]
PLAYBOOK = ROOT / "playbooks" / "preflight.yml"
SCHEMA = json.loads((ROOT / "docs" / "reference" / "verdict.schema.json").read_text())


@pytest.fixture(scope="module")
def plane(network: PrivateNetwork) -> Iterator[ControlPlane]:
    """Two servers on which nobody has installed anything of ours."""
    with control_plane(ServerSpec(), ServerSpec(), network=network) as plane:
        yield plane


@pytest.fixture
def etcd_at_hand(plane: ControlPlane) -> dict[str, Any]:
    """The variables that tell the role how to reach etcd."""
    options = etcd_options(Recorder(plane))
    return {f"preflight_etcd_{key}": value for key, value in options.items()}


def preflight(
    plane: ControlPlane, *options: str, **variables: Any
) -> subprocess.CompletedProcess[str]:
    return run_playbook(
        PLAYBOOK,
        *options,
        variables={"kubernetes_version": "1.37.0", **variables},
        environment={"K8S_AUTH_KUBECONFIG": str(plane.kubeconfig())},
    )


def everything(plane: ControlPlane) -> dict[str, bytes]:
    busy = ("leases/", "masterleases/", "peerserverleases/", "events/")
    every = plane.etcd.items("/registry/")
    return {
        key: value for key, value in every if not key.removeprefix("/registry/").startswith(busy)
    }


def test_with_etcd_at_hand_a_sound_cluster_passes_and_nothing_is_written(
    plane: ControlPlane, etcd_at_hand: dict[str, Any]
) -> None:
    before = everything(plane)

    done = preflight(plane, **etcd_at_hand)

    assert done.returncode == 0, done.stdout + done.stderr
    assert "safe: v1.36.3 to v1.37.0, and back to v1.36.3." in done.stdout
    assert "changed=0" in done.stdout
    assert everything(plane) == before


def test_without_etcd_it_stops_and_says_what_to_acknowledge(plane: ControlPlane) -> None:
    done = preflight(plane)

    assert done.returncode != 0
    assert "not known to be safe: v1.36.3 to v1.37.0" in done.stdout
    assert "keys-unseen" in done.stdout
    assert "preflight_acknowledgements" in done.stdout


def test_without_etcd_it_says_once_how_to_have_it_read(plane: ControlPlane) -> None:
    done = preflight(plane)

    lines = [line for line in done.stdout.splitlines() if "etcd was not read" in line]
    assert len(lines) == 3, done.stdout
    assert all("-e preflight_etcd_host=HOST" in line for line in lines)
    assert "3 findings of" in done.stdout


def test_the_command_that_it_prints_runs_as_it_is_printed(
    plane: ControlPlane, etcd_at_hand: dict[str, Any], tmp_path: Path
) -> None:
    # given somebody with an inventory and variables of their own
    (tmp_path / "my hosts.yml").write_text("all: {hosts: {localhost: {migrate_speed: full}}}\n")
    started = ["ansible-playbook", str(PLAYBOOK), "-i", "my hosts.yml", "-c", "local"]
    started += ["-e", "kubernetes_version=1.37.0", "-e", "migrate_settle=0 my_password=hunter2"]
    done = run(started, plane, tmp_path)

    # when they run the command that is printed for what is not known
    [line] = [line for line in done.stdout.splitlines() if "or migrate everything: " in line]
    command = json.loads(f"{line.strip().rstrip(',')}").partition("or migrate everything: ")[2]
    migrated = run(["bash", "-c", command], plane, tmp_path)

    # then it is on the same inventory with the same variables, and what is secret is only named
    assert "my hosts.yml' -c local -e " in command
    assert '{"migrate_settle": "0"}' in command
    assert "hunter2" not in done.stdout
    assert "my_password" in command.partition("#")[2]
    assert migrated.returncode == 0, migrated.stdout + migrated.stderr
    after = preflight(plane, **etcd_at_hand)
    assert after.returncode == 0, after.stdout


def run(
    command: list[str], plane: ControlPlane, directory: Path
) -> subprocess.CompletedProcess[str]:
    environment = {
        **os.environ,
        "K8S_AUTH_KUBECONFIG": str(plane.kubeconfig()),
        "ANSIBLE_NOCOLOR": "1",
        "ANSIBLE_PYTHON_INTERPRETER": sys.executable,
    }
    return subprocess.run(
        command, cwd=directory, env=environment, capture_output=True, text=True, check=False
    )


def test_without_a_release_it_asks_for_one_in_a_sentence(plane: ControlPlane) -> None:
    done = run_playbook(PLAYBOOK, environment={"K8S_AUTH_KUBECONFIG": str(plane.kubeconfig())})

    words = " ".join((done.stdout + done.stderr).split())
    assert done.returncode != 0
    assert "The release to go to is not given" in words
    assert "-e kubernetes_version=1.37.0" in words
    assert "undefined" not in words
    assert "Traceback" not in words


@pytest.mark.parametrize("way", [["--check"], ["-e", "preflight_fail=false"]])
def test_it_only_reports_when_asked_to(plane: ControlPlane, way: list[str]) -> None:
    done = preflight(plane, *way)

    assert done.returncode == 0, done.stdout
    assert "not known to be safe" in done.stdout


def test_the_verdict_is_kept_as_json_of_the_published_schema_as_markdown_and_as_a_page(
    plane: ControlPlane, etcd_at_hand: dict[str, Any], tmp_path: Path
) -> None:
    verdict, markdown, page = (tmp_path / f"verdict.{ending}" for ending in ("json", "md", "html"))

    done = preflight(
        plane,
        **etcd_at_hand,
        preflight_verdict_path=verdict,
        preflight_markdown_path=markdown,
        preflight_report_path=page,
    )

    assert done.returncode == 0, done.stdout
    jsonschema.validate(json.loads(verdict.read_text()), SCHEMA)
    assert markdown.read_text().startswith("# Safe: v1.36.3 to v1.37.0\n")
    assert "v1.37.0" in page.read_text()
    assert {one.stat().st_mode & 0o777 for one in (verdict, markdown, page)} == {0o600}


def test_a_snapshot_is_found_by_its_file(
    plane: ControlPlane, etcd_at_hand: dict[str, Any], tmp_path: Path
) -> None:
    snapshot = tmp_path / "snapshot.db"
    snapshot.write_bytes(b"")

    done = preflight(plane, **etcd_at_hand, preflight_snapshot=snapshot)

    assert done.returncode == 0, done.stdout
    assert "etcd-snapshot" not in done.stdout


def test_a_rule_of_the_site_stops_it(plane: ControlPlane, etcd_at_hand: dict[str, Any]) -> None:
    rule = {"id": "three-servers", "expression": "length(servers) >= `3`", "remedy": "Add one"}

    done = preflight(plane, **etcd_at_hand, preflight_custom_checks=[rule])

    assert done.returncode != 0
    assert "site:three-servers" in done.stdout
    assert "Add one" in done.stdout


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({"kubernetes_version": "newest"}, "'newest' is no release"),
        ({"preflight_samples": "many"}, "preflight_samples"),
        (
            {"preflight_custom_checks": [{"id": "ours", "expression": "findings["}]},
            "'findings[' is no JMESPath",
        ),
        ({"preflight_fail": False, "preflight_crd_manifests": ["/nowhere"]}, "/nowhere"),
    ],
)
def test_wrong_input_is_named(plane: ControlPlane, variables: dict[str, Any], words: str) -> None:
    done = preflight(plane, **variables)

    assert done.returncode != 0
    assert words in done.stdout
    assert "Traceback" not in done.stdout + done.stderr
