"""What an upgrade costs beside the rolls themselves, next to ordinary tasks."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace
from statistics import median

from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.settling import (
    CUSTOM_SECONDS,
)
from lab.control_plane import ServerSpec, control_plane
from lab.upgrade import Cluster, rollable

from .discovery import create_definitions, time_ordinary
from .figures import Figure, measures
from .tasks import TimedTask, read_tasks

ROUNDS = 3
SERVERS = 3
# While it emulates 1.35 it writes what it writes by itself, and serves it: nothing is due after the
# roll.
RELEASE, EMULATED = "1.36.3", "1.35"
SERVED = [
    "--runtime-config=admissionregistration.k8s.io/v1beta1=true",
    "--feature-gates=MutatingAdmissionPolicy=true",
    # It waits for v1, which a server that emulates 1.35 does not have.
    "--disable-admission-plugins=MutatingAdmissionPolicy",
]
# The roll itself: the driver's task, and the wait for the server that it has restarted.
ROLL = (
    "Restart it as the new release",
    "Control plane | Wait until this very server is through, and all others serve",
)
SETTLED = {"converge_settle": 0, "migrate_settle": 0, "preflight_settle": 0}


@measures("upgrade_overhead_ratio", "upgrade_tasks")
def upgrade_overhead() -> Iterable[Figure]:
    """The whole flow on three servers with 150 resources, of which nothing is due."""
    runs: list[list[TimedTask]] = []
    ordinary: list[float] = []
    spec = ServerSpec(release=RELEASE, emulated_version=EMULATED, arguments=SERVED)
    with control_plane(*[spec] * SERVERS) as plane, rollable(plane) as cluster:
        create_definitions(plane)
        # The first run installs our definitions, and records what is stored.
        _run(cluster)
        time.sleep(CUSTOM_SECONDS)
        for _round in range(ROUNDS):
            for server in plane.servers.values():
                server.restart(replace(server.spec, emulated_version=EMULATED))
            runs.append(_run(cluster))
            ordinary.append(time_ordinary(plane, _modules(runs[-1])))
    seconds = [_overhead(run) for run in runs]
    phases: dict[str, float] = defaultdict(float)
    for task in _besides(runs[-1]):
        phases[task.play] += task.seconds
    breakdown = ", ".join(f"{play}: {spent:.1f} s" for play, spent in phases.items() if spent > 0.5)
    yield Figure(
        "upgrade_overhead_ratio",
        median(seconds) / median(ordinary),
        "x",
        1.3,
        "lower",
        f"median of {ROUNDS} interleaved runs: {median(seconds):.1f} s for an upgrade of {SERVERS}"
        f" servers without the rolls ({breakdown}), {median(ordinary):.1f} s for as many tasks of"
        " k8s_info",
    )
    yield Figure(
        "upgrade_tasks",
        _modules(runs[-1]),
        "tasks",
        40,
        "lower",
        f"tasks that run a module in an upgrade of {SERVERS} servers after which nothing is due",
    )


def _run(cluster: Cluster) -> list[TimedTask]:
    environment = {"ANSIBLE_STDOUT_CALLBACK": "ansible.posix.json"}
    done = cluster.upgrade(RELEASE, environment=environment, **SETTLED)
    if done.returncode:
        raise RuntimeError(f"the upgrade failed:\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
    return read_tasks(done.stdout)


def _besides(run: Iterable[TimedTask]) -> list[TimedTask]:
    """All but the rolls."""
    # The name of a role comes before that of its task.
    return [task for task in run if task.name.rpartition(" : ")[2] not in ROLL]


def _modules(run: Iterable[TimedTask]) -> int:
    return sum(task.modules for task in _besides(run))


def _overhead(run: Iterable[TimedTask]) -> float:
    return sum(task.seconds for task in _besides(run))
