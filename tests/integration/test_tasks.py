"""discovery_hash as a task of a playbook: its defaults, its kubeconfig and its progress."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from lab.ansible import run_playbook, running_playbook
from lab.control_plane import ControlPlane

GROUP = "group/lockstep.kubernetes.k8s"


def play(kubeconfig: object, **options: Any) -> list[dict[str, Any]]:
    """One task that gets its connection from the defaults of the action group."""
    return [
        {
            "hosts": "localhost",
            "gather_facts": False,
            "module_defaults": {GROUP: {"kubeconfig": str(kubeconfig)}},
            "tasks": [
                {"name": "See what is stored", "lockstep.kubernetes.discovery_hash": options}
            ],
        }
    ]


@pytest.fixture
def results_as_json(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ansible prints its results as one JSON document."""
    monkeypatch.setenv("ANSIBLE_STDOUT_CALLBACK", "ansible.posix.json")


def result_in(output: str) -> Any:
    (task,) = json.loads(output)["plays"][0]["tasks"]
    return task["hosts"]["localhost"]


@pytest.mark.usefixtures("results_as_json")
class TestTask:
    def test_the_action_group_sets_the_connection(self, three_servers: ControlPlane) -> None:
        done = run_playbook(play(three_servers.kubeconfig(), resources=["*.apps"]))

        assert done.returncode == 0, done.stdout + done.stderr
        assert result_in(done.stdout)["agreed"]
        assert not result_in(done.stdout)["changed"]

    def test_a_relative_kubeconfig_is_found_beside_the_playbook_in_check_mode_too(
        self, three_servers: ControlPlane, tmp_path: Path
    ) -> None:
        (tmp_path / "files").mkdir()
        kubeconfig = three_servers.kubeconfig().read_text()
        (tmp_path / "files" / "cluster.yaml").write_text(kubeconfig)
        playbook = tmp_path / "playbook.yml"
        playbook.write_text(json.dumps(play("cluster.yaml", resources=["pods"])))

        done = run_playbook(playbook, "--check")

        assert done.returncode == 0, done.stdout + done.stderr
        assert result_in(done.stdout)["agreed"]

    def test_progress_is_printed_on_stderr_while_waiting_and_results_stay_json(
        self, three_servers: ControlPlane
    ) -> None:
        waiting = play(
            three_servers.kubeconfig(), resources=["pods"], wait=True, settle=3, wait_sleep=0.5
        )
        with running_playbook(waiting) as running:
            assert running.stderr is not None
            told = next(line for line in running.stderr if "held for" in line)
            still_running = running.poll() is None
            output, _rest = running.communicate(timeout=60)

        assert still_running
        assert re.fullmatch(r" +agreed; held for \d of 3 s\n", told)
        assert running.returncode == 0
        assert result_in(output)["agreed"]

    def test_a_failure_says_what_to_do_and_shows_no_traceback(
        self, disagreement: ControlPlane
    ) -> None:
        waiting = play(disagreement.kubeconfig(), wait=True, wait_timeout=1, wait_sleep=0.5)

        done = run_playbook(waiting)

        assert done.returncode == 2
        assert "No settled agreement after" in result_in(done.stdout)["msg"]
        assert "Traceback" not in done.stdout + done.stderr
