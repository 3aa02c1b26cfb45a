"""How long each task of a playbook took, by its name."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any

from lab.ansible import run_playbook


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
    for play in json.loads(done.stdout)["plays"]:
        for task in play["tasks"]:
            lasted = task["task"]["duration"]
            begin, end = (datetime.fromisoformat(lasted[key]) for key in ("start", "end"))
            seconds.setdefault(task["task"]["name"], []).append((end - begin).total_seconds())
    return seconds
