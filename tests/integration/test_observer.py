"""`observer`: beside a playbook that takes long, records stay fresh and its lock is held."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from lab.ansible import running_modules, running_playbook, tasks
from lab.control_plane import PrivateNetwork, ServerSpec, control_plane
from lab.recorder import LEASES, Recorder
from lab.waiting import eventually

MAPS = "configmaps"
LOCK = f"{LEASES}/lockstep-upgrade"
WINDOW = 18


@pytest.fixture(scope="module")
def recorded(network: PrivateNetwork) -> Iterator[Recorder]:
    """Two servers, asked through the first; what is stored of one resource is known."""
    with control_plane(ServerSpec(), ServerSpec(), network=network) as plane:
        recorder = Recorder(plane, through="cp-1")
        recorder.install()
        yield recorder


class Run:
    """A playbook under a lock, with an observer beside it, until a file is there."""

    def __init__(self, recorder: Recorder, directory: Path, **options: Any) -> None:
        self._end, self._told = directory / "end", directory / "told.json"
        self._mark = {"LOCKSTEP_TEST": str(directory)}
        connection = {"kubeconfig": str(recorder.kubeconfig())}
        owner = {"owner": "alice", "process": 0}
        held = {**connection, **owner, "name": "upgrade", "seconds": 15}
        observed = {**connection, **owner, "seconds": 15, "stale_after": WINDOW, "settle": 0}
        job = "{{ observing.ansible_job_id }}"
        self.playbook = tasks(
            {"lockstep.kubernetes.lock": held},
            {
                "lockstep.kubernetes.observer": {**observed, "resources": [MAPS], **options},
                "async": 600,
                "poll": 0,
                "register": "observing",
            },
            {"ansible.builtin.wait_for": {"path": str(self._end), "sleep": 1}},
            {"lockstep.kubernetes.lock": {**held, "state": "released"}},
            {
                "ansible.builtin.async_status": {"jid": job},
                "register": "observed",
                "until": "observed is finished",
                "retries": 30,
                "delay": 1,
            },
            {
                "ansible.builtin.copy": {
                    "content": "{{ observed | to_json }}",
                    "dest": str(self._told),
                }
            },
        )

    @contextmanager
    def going_on(self) -> Iterator[subprocess.Popen[str]]:
        with running_playbook(self.playbook, environment=self._mark) as running:
            eventually(lambda: bool(self.observers()), within=60)
            yield running

    def observers(self) -> list[int]:
        return running_modules("observer", marked=self._mark)

    def end(self, running: subprocess.Popen[str]) -> Any:
        """Let it go on to its end; what the observer told."""
        self._end.touch()
        stdout, stderr = running.communicate(timeout=120)
        assert running.returncode == 0, stdout + stderr
        return json.loads(self._told.read_text())


def renewed(recorder: Recorder) -> tuple[str, str]:
    spec = recorder.api.get(LOCK)["spec"]
    return spec["holderIdentity"], spec["renewTime"]


def begin(recorder: Recorder) -> None:
    recorder.observe(MAPS, stale_after=WINDOW)
    recorder.vouch(MAPS)


def test_records_stay_fresh_and_the_lock_is_held_for_as_long_as_it_takes(
    recorded: Recorder, tmp_path: Path
) -> None:
    # Given a record, and a playbook that takes twice as long as it stays fresh.
    begin(recorded)
    run = Run(recorded, tmp_path)

    # When it works, and gives its lock back.
    with run.going_on() as running:
        holders = set()
        until = time.monotonic() + 2 * WINDOW
        while time.monotonic() < until:
            holders.add(renewed(recorded)[0])
            # Nobody else gets it, though it was taken for a fraction of that time.
            refused = recorded.call("lock", name="upgrade", owner="bob")
            assert refused["failed"]
            time.sleep(2)
        told = run.end(running)

    # Then the record is what it was.
    assert len(holders) == 1
    state = recorded.tell(MAPS, stale_after=WINDOW)["states"][MAPS]
    assert (state["stale"], state["migrated"], state["evidence"]["unseen"]) == (False, True, [])
    assert told["ended"] == "the lock is given back"
    assert told["observations"] >= 4


def test_a_span_in_which_not_every_server_was_seen_is_told_and_confirms_nothing(
    recorded: Recorder, tmp_path: Path
) -> None:
    # Given a server that was started anew and can't be reached: what it writes is not known.
    begin(recorded)
    other = recorded.plane.servers["cp-2"]
    other.restart()
    other.cut()
    run = Run(recorded, tmp_path)
    with run.going_on() as running:
        # When it is observed, and is back later.
        try:
            before = recorded.states()[MAPS]["status"]
            time.sleep(WINDOW / 2)
            after = recorded.states()[MAPS]["status"]
        finally:
            other.rejoin()
        told = run.end(running)

    # Then no look in between counts.
    assert after == before
    assert told["gaps"]
    assert "could not be read" in told["gaps"][0]["why"]
    assert told["gaps"][0]["since"] < told["gaps"][0]["until"]
    assert "Records were not confirmed in" in told["summary"][0]


def test_it_ends_with_a_playbook_that_was_killed_and_leaves_its_lock_alone(
    recorded: Recorder, tmp_path: Path
) -> None:
    run = Run(recorded, tmp_path)
    with run.going_on() as running:
        # When nobody could tell it to end.
        os.kill(running.pid, signal.SIGKILL)
        running.wait()

        # Then it ends by itself, and the next run has the lock at once.
        taken = recorded.call("lock", name="upgrade", owner="bob")
        assert taken["held"], taken
        eventually(lambda: run.observers() == [], within=15)
    assert renewed(recorded)[0] == "bob"
    recorded.call("lock", name="upgrade", owner="bob", state="released")


def test_it_ends_when_somebody_takes_the_lock_over(recorded: Recorder, tmp_path: Path) -> None:
    run = Run(recorded, tmp_path)
    with run.going_on() as running:
        recorded.call("lock", name="upgrade", owner="bob", take_over=True)
        eventually(lambda: run.observers() == [], within=15)
        told = run.end(running)
    assert told["ended"] == "bob has the lock"
    assert renewed(recorded)[0] == "bob"
    recorded.call("lock", name="upgrade", owner="bob", state="released")
