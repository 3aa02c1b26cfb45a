"""What a look at every server costs, beside one ordinary task of kubernetes.core."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from statistics import median
from typing import Any

from lab.ansible import tasks
from lab.control_plane import ControlPlane, ServerSpec, control_plane
from lab.objects import crd
from lab.recorder import Recorder

from .figures import Figure, measures
from .tasks import time_tasks

ROUNDS = 7
PASSES = 5
CRDS = 100
TRIGGER = Path(__file__).parents[2] / "playbooks" / "trigger.yml"
ORDINARY = "read the namespaces"


@measures("discovery_vs_k8s_info")
def discovery_vs_k8s_info() -> Iterable[Figure]:
    """Both tasks in turn, in one playbook, so that both see the same machine."""
    with control_plane(ServerSpec(), ServerSpec(), ServerSpec()) as plane:
        create_definitions(plane)
        look = {
            "name": "look at every server",
            "lockstep.kubernetes.discovery_hash": {"kubeconfig": str(plane.kubeconfig())},
        }
        steps = [task for _round in range(ROUNDS) for task in (ordinary(plane), look)]
        seconds = time_tasks(tasks(*steps))
    looks, ordinaries = median(seconds[look["name"]]), median(seconds[ORDINARY])
    how = (
        f"median of {ROUNDS} interleaved tasks: {looks:.2f} s for discovery_hash on three"
        f" servers and {CRDS} CRDs, {ordinaries:.2f} s for one k8s_info of namespaces"
    )
    yield Figure("discovery_vs_k8s_info", looks / ordinaries, "x", 1.3, "lower", how)


@measures("trigger_pass_in_tasks")
def trigger_pass_in_tasks() -> Iterable[Figure]:
    """Passes with nothing due and ordinary tasks in turn."""
    with control_plane(ServerSpec()) as plane:
        create_definitions(plane)
        recorder = Recorder(plane)
        recorder.install()
        recorder.observe()
        recorder.vouch_for_all()
        environment = {"K8S_AUTH_KUBECONFIG": str(plane.kubeconfig())}
        whole, single = [], []
        for _round in range(PASSES):
            whole.append(
                sum(sum(one) for one in time_tasks(TRIGGER, environment=environment).values())
            )
            single.append(sum(time_tasks(tasks(ordinary(plane)))[ORDINARY]))
    how = (
        f"median of {PASSES} passes over {CRDS + 60} resources with nothing due:"
        f" {median(whole):.2f} s for all tasks of a pass, {median(single):.2f} s for one k8s_info"
    )
    yield Figure("trigger_pass_in_tasks", median(whole) / median(single), "tasks", 3, "lower", how)


def create_definitions(plane: ControlPlane) -> None:
    """Custom resources in twenty groups."""
    names = ((f"kind{n}s", f"group{n % 20}.example.com") for n in range(CRDS))
    plane.create_crds(*(crd(plural, group, storage="v1") for plural, group in names))


def time_ordinary(plane: ControlPlane, count: int) -> float:
    """The seconds of so many such tasks."""
    return sum(sum(one) for one in time_tasks(tasks(*[ordinary(plane)] * count)).values())


def ordinary(plane: ControlPlane) -> dict[str, Any]:
    """One task of kubernetes.core that reads a small list."""
    options = {"kubeconfig": str(plane.kubeconfig()), "kind": "Namespace"}
    return {"name": ORDINARY, "kubernetes.core.k8s_info": options}
