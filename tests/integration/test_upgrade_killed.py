"""A run that is killed anywhere: the same command again ends in the same state."""

from __future__ import annotations

import os
import signal

import pytest
from truth.target import read_copy

from lab import gate
from lab.control_plane import PrivateNetwork, ServerSpec
from lab.recorder import Recorder
from lab.upgrade import Cluster, contents, outdated, reach, said, unproved

OLD, NEW = "1.36.3", "1.37.0"
# The task during which it is killed, and how many of that name come before it.
POINTS = [
    ("Restart it as the new release", 0),
    ("Control plane | Wait until this very server is through", 0),
    ("Control plane | Record what every server stores now", 1),
    ("Plan | Hold the lock", 0),
    ("Preflight | Judge the step", 0),
    ("Migrator | Install the definitions", 0),
    ("Record what every server stores", 0),
    ("Snapshot | ", 0),
    ("Restart it as the new release", 1),
    ("Converge | Look at every API server", 0),
    ("Migrate | Rewrite", 0),
    ("Verify | Hold what is recorded and stored", 0),
]
# With a server that is down and with servers that differ each time, everywhere in the long run.
KILLED = POINTS if os.environ.get("LOCKSTEP_LONG") else POINTS[:2]


@pytest.mark.parametrize(("task", "before"), KILLED)
def test_a_run_that_was_killed_goes_on_to_the_same_end(
    cluster: Cluster, network: PrivateNetwork, task: str, before: int
) -> None:
    plane, made = cluster.plane, contents(cluster.plane)

    # given a run that is killed in the middle of a task, with all that it started
    kill_at(cluster, task, before)
    if task.startswith("Restart"):
        # The lab ends what was begun; a host that is cut off does not.
        plane.servers["cp-2" if before else "cp-1"].kill()

    # then what the gate calls safe to go back to can be read by the old release
    verdict = gate.judge(
        Recorder(plane), OLD, rolling=True, from_release=NEW, **gate.audited(Recorder(plane))
    )
    if verdict.get("safe") == "true":
        spec = ServerSpec(release=OLD)
        assert read_copy(plane.etcd, spec, network=network).unreadable == {}

    # when the same command is run again
    done = cluster.upgrade(NEW)

    # then it ends as if nothing had happened
    assert done.returncode == 0, said(done)
    assert set(cluster.releases().values()) == {f"v{NEW}"}
    assert outdated(plane) == {}
    assert contents(plane) == made
    assert unproved(plane) == {}


def kill_at(cluster: Cluster, task: str, before: int) -> None:
    """Run the upgrade until a task begins, and kill it with all its children."""
    with cluster.upgrading(NEW) as running:
        reach(running, task, before)
        os.killpg(running.pid, signal.SIGKILL)
        running.wait()
