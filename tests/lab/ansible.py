"""Runs the collection's modules and playbooks as users do, and gives back what they returned."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .control_plane import ControlPlane

MODULES = "ansible_collections.lockstep.kubernetes.plugins.modules"


def run_module(module: str, /, *, check: bool = False, diff: bool = False, **arguments: Any) -> Any:
    """Run one module by itself, as ansible would on a managed host; its result, failed or not."""
    document = {"_ansible_check_mode": check, "_ansible_diff": diff, **arguments}
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump({"ANSIBLE_MODULE_ARGS": document}, file, default=str)
        file.flush()
        done = subprocess.run(
            [sys.executable, "-m", f"{MODULES}.{module}", file.name],
            capture_output=True,
            text=True,
            check=False,
        )
    try:
        return json.loads(done.stdout)
    except ValueError:
        raise AssertionError(f"{module} printed no result:\n{done.stdout}{done.stderr}") from None


def look(plane: ControlPlane, **options: Any) -> Any:
    """What discovery_hash returns to the administrator of a control plane."""
    return run_module("discovery_hash", **{"kubeconfig": plane.kubeconfig(), **options})


def run_playbook(
    playbook: list[dict[str, Any]] | Path,
    *options: str,
    inventory: Path | None = None,
    variables: dict[str, Any] | None = None,
    environment: dict[str, str] | None = None,
) -> subprocess.CompletedProcess[str]:
    """Run a playbook (given as data, or as a file): on localhost, or on an inventory."""
    with running_playbook(
        playbook, *options, inventory=inventory, variables=variables, environment=environment
    ) as running:
        stdout, stderr = running.communicate()
    return subprocess.CompletedProcess(running.args, running.returncode, stdout, stderr)


@contextmanager
def running_playbook(
    playbook: list[dict[str, Any]] | Path,
    *options: str,
    inventory: Path | None = None,
    variables: dict[str, Any] | None = None,
    environment: dict[str, str] | None = None,
) -> Iterator[subprocess.Popen[str]]:
    """The same while it runs; leaving it early ends it."""
    with tempfile.TemporaryDirectory() as directory:
        path = playbook
        if not isinstance(playbook, Path):
            path = Path(directory) / "playbook.yml"
            # JSON is YAML as well.
            path.write_text(json.dumps(playbook, default=str))
        command = ["ansible-playbook", str(path), *options]
        if inventory:
            command += ["-i", str(inventory)]
        else:
            command += ["-i", "localhost,", "-c", "local"]
            command += ["-e", json.dumps({"ansible_python_interpreter": sys.executable})]
        if variables:
            command += ["-e", json.dumps(variables, default=str)]
        quiet = {"ANSIBLE_NOCOLOR": "1", "ANSIBLE_LOCALHOST_WARNING": "0"}
        pipe = subprocess.PIPE
        with subprocess.Popen(
            command,
            stdout=pipe,
            stderr=pipe,
            text=True,
            env={**os.environ, **quiet, **(environment or {})},
            # A group of its own, so that it can be killed with all its children.
            start_new_session=True,
        ) as running:
            try:
                yield running
            finally:
                running.terminate()


def running_modules(module: str, *, marked: Mapping[str, str]) -> list[int]:
    """The processes of a module whose playbook was started with these environment variables."""
    marks = [f"{name}={value}".encode() for name, value in marked.items()]
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            command = (process / "cmdline").read_bytes()
            environment = (process / "environ").read_bytes().split(b"\0")
        except OSError:
            # It has ended meanwhile.
            continue
        if f"AnsiballZ_{module}.py".encode() in command and set(marks) <= set(environment):
            found.append(int(process.name))
    return found


def tasks(*steps: dict[str, Any]) -> list[dict[str, Any]]:
    """A playbook of one play on localhost with these tasks."""
    return [{"hosts": "localhost", "gather_facts": False, "tasks": list(steps)}]
