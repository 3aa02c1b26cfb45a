"""How long each task of a playbook took."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from lab.ansible import run_playbook

# Done by Ansible itself, without a module.
_OWN = {
    "assert",
    "debug",
    "fail",
    "include_role",
    "include_tasks",
    "meta",
    "set_fact",
    "validate_argument_spec",
}


@dataclass(frozen=True)
class TimedTask:
    """One task of one play, and how many modules it ran: a loop runs one for each item."""

    play: str
    name: str
    seconds: float
    modules: int


def time_tasks(playbook: list[dict[str, Any]] | Path, **options: Any) -> dict[str, list[float]]:
    """Run a playbook on localhost; the seconds of every task, in order, by name."""
    environment = {
        **options.pop("environment", {}),
        "ANSIBLE_STDOUT_CALLBACK": "ansible.posix.json",
    }
    done = run_playbook(playbook, environment=environment, **options)
    if done.returncode:
        raise RuntimeError(f"the playbook failed:\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
    seconds: dict[str, list[float]] = {}
    for task in read_tasks(done.stdout):
        seconds.setdefault(task.name, []).append(task.seconds)
    return seconds


def read_tasks(printed: str) -> list[TimedTask]:
    """The tasks of a run that printed JSON, in order."""
    return [
        TimedTask(
            play=play["play"]["name"],
            name=task["task"]["name"],
            seconds=_seconds(task["task"]["duration"]),
            modules=sum(_modules(result) for result in task["hosts"].values()),
        )
        for play in json.loads(printed)["plays"]
        for task in play["tasks"]
    ]


def _seconds(lasted: Mapping[str, str]) -> float:
    begin, end = (datetime.fromisoformat(lasted[key]) for key in ("start", "end"))
    return (end - begin).total_seconds()


def _modules(result: Mapping[str, Any]) -> int:
    if result.get("skipped") or str(result.get("action")).rsplit(".", 1)[-1] in _OWN:
        return 0
    return len(result.get("results") or [0])
