"""What a user installs: the built artifact holds what is needed, and works from an empty place."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sysconfig
import tarfile
from pathlib import Path
from typing import Any

import pytest
import yaml

CHECKOUT = Path(__file__).resolve().parents[2]

# Nothing listens on the discard port. With a token no kubeconfig of this machine is looked for.
UNREACHABLE = {"host": "https://127.0.0.1:9", "api_key": "not-a-token"}

SHIPPED = re.compile(
    r"""
    (FILES|MANIFEST)\.json
    | CHANGELOG\.(md|rst) | LICENSE | README\.md | requirements\.txt
    | changelogs(/(changelog|config)\.yaml)?
    | (docs|meta|playbooks|plugins|roles)(/.+)?
    | extensions(/eda(/.+)?)?
    | tests(/config\.yml|/sanity(/ignore-.+\.txt)?)?
    """,
    re.VERBOSE,
)
UNWANTED = re.compile(r"(^|/)(\.[^/]+|__pycache__|[^/]+\.(pyc|tar\.gz|log|so))(/|$)")


@pytest.fixture(scope="module")
def artifact(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The artifact, built in the checkout as it stands, with its caches and environments."""
    directory = tmp_path_factory.mktemp("artifact")
    run("ansible-galaxy", "collection", "build", "--output-path", str(directory), cwd=CHECKOUT)
    (built,) = directory.glob("lockstep-kubernetes-*.tar.gz")
    return built


@pytest.fixture(scope="module")
def installed(artifact: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An otherwise empty collections path that the artifact was installed in."""
    place = tmp_path_factory.mktemp("installed")
    # Without force the checkout's own link in this Python counts as installed already.
    options = ("--offline", "--no-deps", "--force", "--collections-path", str(place))
    run("ansible-galaxy", "collection", "install", *options, str(artifact))
    return place


def test_artifact_holds_only_what_users_need(artifact: Path) -> None:
    with tarfile.open(artifact) as archive:
        members = archive.getmembers()
    names = [member.name for member in members]

    assert [name for name in names if not SHIPPED.fullmatch(name)] == []
    assert [name for name in names if UNWANTED.search(name)] == []
    assert [member.name for member in members if not (member.isfile() or member.isdir())] == []


def test_artifact_holds_every_plugin_role_and_playbook(artifact: Path) -> None:
    with tarfile.open(artifact) as archive:
        names = set(archive.getnames())
    sources = {
        path.relative_to(CHECKOUT).as_posix()
        for room in ("meta", "playbooks", "plugins", "roles")
        for path in (CHECKOUT / room).rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }

    assert sources
    assert sources - names == set()


def test_filter_runs_from_the_installed_artifact(installed: Path) -> None:
    expression = "{{ 'apps/v1/Deployment' | lockstep.kubernetes.storage_version_hash }}"
    command = ("ansible", "localhost", "-m", "ansible.builtin.debug", "-a", f"msg={expression}")
    output = run_installed(installed, *command)
    command = ("ansible-doc", "-t", "filter", "--json", "lockstep.kubernetes.storage_version_hash")
    documentation = json.loads(run_installed(installed, *command))

    # The hash that real API servers show for deployments.apps.
    assert result_of(output)["msg"] == "8aSe+NMegvE="
    (filter_,) = documentation.values()
    assert filter_["doc"]["filename"].startswith(str(installed))


def test_module_runs_from_the_installed_artifact_and_names_the_host_it_cannot_reach(
    installed: Path,
) -> None:
    output = run_installed(
        installed,
        *("ansible", "localhost", "-vvv", "-m", "lockstep.kubernetes.discovery_hash"),
        *("-a", json.dumps(UNREACHABLE)),
        succeeds=False,
    )
    result = result_of(output)

    assert f"Using module file {installed}" in output
    assert "localhost | FAILED! =>" in output
    assert "127.0.0.1:9" in result["msg"]
    assert "Traceback" not in output


def test_module_defaults_of_the_group_reach_the_module(installed: Path, tmp_path: Path) -> None:
    playbook = tmp_path / "playbook.yml"
    playbook.write_text(yaml.safe_dump(PLAYBOOK))

    output = run_installed(installed, "ansible-playbook", str(playbook))

    assert "failed=0" in output


PLAYBOOK = [
    {
        "name": "Set the connection once",
        "hosts": "localhost",
        "gather_facts": False,
        "module_defaults": {"group/lockstep.kubernetes.k8s": UNREACHABLE},
        "tasks": [
            {
                "name": "Ask servers that cannot be reached",
                "lockstep.kubernetes.discovery_hash": {},
                "register": "answer",
                "failed_when": "answer.msg is not search('127.0.0.1:9')",
            },
        ],
    },
]


def run_installed(installed: Path, *command: str, succeeds: bool = True) -> str:
    """Run a command that finds the installed artifact first, and dependencies in this Python."""
    paths = (str(installed), sysconfig.get_path("purelib"))
    return run(*command, succeeds=succeeds, ANSIBLE_COLLECTIONS_PATH=os.pathsep.join(paths))


def run(*command: str, cwd: Path | None = None, succeeds: bool = True, **environment: str) -> str:
    done = subprocess.run(
        command,
        cwd=cwd,
        env=os.environ | {"ANSIBLE_NOCOLOR": "1"} | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode == 0) is succeeds, done.stdout
    return done.stdout


def result_of(output: str) -> dict[str, Any]:
    """The JSON that the ad hoc command shows of its one host."""
    shown = output.partition("=> ")[2]
    return dict(json.JSONDecoder().raw_decode(shown)[0])
