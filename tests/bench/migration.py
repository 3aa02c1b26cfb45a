"""How fast stored objects are rewritten, beside all others who can do it, and at whose cost."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab import binaries
from lab.ansible import run_playbook, tasks
from lab.control_plane import ControlPlane, ServerSpec
from lab.recorder import conditions
from lab.waiting import eventually

from . import load, programs
from .figures import Figure, measures
from .modules import running
from .programs import Timing
from .stored import Things, near_plane

OBJECTS = int(os.environ.get("LOCKSTEP_BENCH_OBJECTS", "10000"))
ROUNDS = int(os.environ.get("LOCKSTEP_BENCH_ROUNDS", "3"))
OBJECT_BYTES = 1000
# Small differences need more rounds to show.
PROGRESS_ROUNDS = ROUNDS + 2
PROBE_RATE = 50
PROBE_SECONDS = 30.0
# Its first requests also open connections, and a definition that was just changed is still read.
PROBE_WARM_UP = 3.0
PROBE_NAMESPACE = "others"
# Of five hundred nodes, which is what a control plane of 10 GB serves.
KUBELET_RATE = 50
KUBELET_NAMESPACE = "kubelets"
RATES = Path("build/bench/rates.json")
NEXT = binaries.NEXT_RELEASE

# The names that are asked for: only what they need is run.
WANTED: set[str] = set()

DIRECT, LIMIT_8, LIMIT_16 = "direct", "load generator, 8 at once", "load generator, 16 at once"
IN_TREE, IN_TREE_NEXT = "in-tree controller 1.36.3", f"in-tree controller {NEXT}"
KUBECTL, MIGRATOR = "kubectl get | replace", "out-of-tree migrator, unthrottled"
SHIPPED = "out-of-tree migrator, as shipped"
_PROGRAMS: Mapping[str, programs.Program] = {
    LIMIT_8: programs.limit(8),
    DIRECT: programs.direct,
    LIMIT_16: programs.limit(16),
    IN_TREE: programs.in_tree(binaries.DEFAULT_RELEASE),
    IN_TREE_NEXT: programs.in_tree(NEXT),
    KUBECTL: programs.kubectl,
    MIGRATOR: programs.migrator,
    SHIPPED: programs.migrator_shipped,
}


@dataclass(frozen=True)
class Comparison:
    """A figure that sets direct against others; the best of them counts."""

    name: str
    others: tuple[str, ...]
    aim: float
    remark: str


_TO_SUCCEEDED = "from the creation of the migration until it has succeeded"
COMPARISONS = (
    Comparison("direct_vs_in_tree", (IN_TREE,), 1.5, _TO_SUCCEEDED),
    Comparison("direct_vs_kubectl", (KUBECTL,), 2, "the whole pipeline"),
    Comparison("direct_vs_migrator", (MIGRATOR,), 2, _TO_SUCCEEDED),
    Comparison(
        "direct_vs_migrator_shipped",
        (SHIPPED,),
        9,
        f"at its {programs.SHIPPED_QPS} requests a second over {programs.SHIPPED_SECONDS:.0f} s",
    ),
    Comparison(
        "direct_vs_limit", (LIMIT_8, LIMIT_16), 0.9, "the same patches; the faster of the two"
    ),
)
COMPARISON_NEXT = Comparison("direct_vs_in_tree_1_37", (IN_TREE_NEXT,), 1.5, _TO_SUCCEEDED)


@measures(*(one.name for one in COMPARISONS))
def compare() -> Iterable[Figure]:
    """All programs in turn, each alone, on the same objects of the same server."""
    yield from _compare(COMPARISONS, ServerSpec().with_migration_api())


@measures(COMPARISON_NEXT.name)
def compare_next() -> Iterable[Figure]:
    """The same for the in-tree controller of the next release, which needs its own server."""
    yield from _compare([COMPARISON_NEXT], ServerSpec(release=NEXT).with_migration_api())


def _compare(comparisons: Sequence[Comparison], spec: ServerSpec) -> Iterator[Figure]:
    wanted = [one for one in comparisons if one.name in WANTED]
    chosen = {DIRECT, *(other for one in wanted for other in one.others)}
    timings: dict[str, list[Timing]] = {}
    with near_plane(spec) as recorder:
        programs.create_sparks(recorder)
        things = Things(recorder, "things", OBJECTS, size=OBJECT_BYTES)
        for number in range(ROUNDS):
            for name, program in _PROGRAMS.items():
                # Its rate is its throttle's: that is the same each time.
                if name in chosen and (name != SHIPPED or number == 0):
                    things.flip()
                    timings.setdefault(name, []).append(program(things))
                    things.check()
    rates = {name: [OBJECTS / one.seconds for one in each] for name, each in timings.items()}
    if len(wanted) == len(comparisons):
        _keep_rates(spec.release, rates)
    cpu = min(one.cpu_seconds for one in timings[DIRECT]) / OBJECTS * 1000
    how = (
        f"{OBJECTS} custom resources of 1 KB on one server of {spec.release}, best of {ROUNDS}"
        f" interleaved rounds: direct at speed full {max(rates[DIRECT]):.0f}/s (`seconds` of its"
        f" result; {cpu:.2f} ms of CPU an object, with the start of the process), "
    )
    for one in wanted:
        remark = one.remark + timings[one.others[0]][0].remark
        yield _judge(one, rates, how, remark)


def _judge(one: Comparison, rates: Mapping[str, list[float]], how: str, remark: str) -> Figure:
    best = {name: max(each) for name, each in rates.items()}
    others = ", ".join(f"{name} {best[name]:.0f}/s" for name in one.others)
    return Figure(
        one.name,
        best[DIRECT] / max(best[name] for name in one.others),
        "x",
        one.aim,
        "higher",
        f"{how}{others} ({remark})",
    )


def _keep_rates(release: str, rates: Mapping[str, list[float]]) -> None:
    """For the plots: what the figures were made from."""
    kept = json.loads(RATES.read_text()) if RATES.exists() else {}
    RATES.parent.mkdir(parents=True, exist_ok=True)
    kept[release] = {"objects": OBJECTS, "rates": rates}
    RATES.write_text(json.dumps(kept, indent=2) + "\n")


@measures("gentle_p99_ratio")
def gentle_p99_ratio() -> Iterable[Figure]:
    """Somebody else's requests, without and with a migration beside them, in turn.

    Kubelets renew leases all the time, as in any cluster: a list is slower once anything else is
    written, since the server's cache first has to hear of that.
    """
    before: list[float] = []
    during: list[float] = []
    with near_plane(ServerSpec()) as recorder, _kubelets(recorder.plane):
        plane = recorder.plane
        plane.api.create("/api/v1/namespaces", {"metadata": {"name": PROBE_NAMESPACE}})
        things = Things(recorder, "things", OBJECTS, size=OBJECT_BYTES)
        for _round in range(ROUNDS):
            things.flip()
            before += _probe(things)
            with running(
                "storage_migration",
                kubeconfig=recorder.kubeconfig(),
                resources=[things.resource],
                backend="direct",
                settle=0,
            ):
                eventually(lambda: _runs(things), within=60)
                during += _probe(things)
            recorder.forget()
    yield Figure(
        "gentle_p99_ratio",
        _p99(during) / _p99(before),
        "x",
        1.25,
        "lower",
        f"p99 of {PROBE_RATE} requests/s of another client (lists and creations of config maps"
        f" in turn, {ROUNDS} interleaved rounds of {PROBE_SECONDS:.0f} s) beside {KUBELET_RATE}"
        f" lease renewals/s: {_p99(before) * 1000:.1f} ms before, {_p99(during) * 1000:.1f} ms"
        " while storage_migration rewrites at speed gentle",
    )


@contextmanager
def _kubelets(plane: ControlPlane) -> Iterator[None]:
    """Renew a lease all the time, as often as the kubelets of five hundred nodes do."""
    url, user = plane.servers["cp-1"].url, plane.admin
    namespace = "/api/v1/namespaces"
    plane.api.create(namespace, {"metadata": {"name": KUBELET_NAMESPACE}})
    with load.renewing(url, user, KUBELET_NAMESPACE, rate=KUBELET_RATE):
        yield


def _p99(waited: Sequence[float]) -> float:
    return sorted(waited)[int(len(waited) * 0.99)]


def _probe(things: Things) -> list[float]:
    plane = things.recorder.plane
    path = f"/api/v1/namespaces/{PROBE_NAMESPACE}/configmaps"
    url = plane.servers["cp-1"].url
    seconds = PROBE_WARM_UP + PROBE_SECONDS
    waited = load.probe(url, plane.admin, path, rate=PROBE_RATE, seconds=seconds)
    return waited[int(PROBE_WARM_UP * PROBE_RATE) :]


def _runs(things: Things) -> bool:
    found = things.recorder.migrations(things.resource).values()
    return any("Running" in conditions(one) for one in found)


@measures("progress_cost")
def progress_cost() -> Iterable[Figure]:
    """The task in a playbook, with and without progress, in turn."""
    rates: dict[bool, list[float]] = {True: [], False: []}
    with near_plane(ServerSpec()) as recorder:
        things = Things(recorder, "things", OBJECTS, size=OBJECT_BYTES)
        for number in range(PROGRESS_ROUNDS):
            # Who is first changes, since who is first may have it easier.
            for shown in (number % 2 == 0, number % 2 == 1):
                things.flip()
                rates[shown].append(OBJECTS / _play(things, progress=shown))
                things.check()
                recorder.forget()
    best = {shown: max(each) for shown, each in rates.items()}
    yield Figure(
        "progress_cost",
        1 - best[True] / best[False],
        "of the throughput",
        0.03,
        "lower",
        f"{OBJECTS} objects by a playbook at speed full, best of {PROGRESS_ROUNDS} interleaved"
        f" rounds: {best[True]:.0f}/s with progress shown, {best[False]:.0f}/s without",
    )


def _play(things: Things, *, progress: bool) -> float:
    """The seconds of rewriting that the task in a playbook reports."""
    options: dict[str, Any] = {
        "kubeconfig": str(things.recorder.kubeconfig()),
        "resources": [things.resource],
        "backend": "direct",
        "speed": "full",
        "settle": 0,
        "progress": progress,
    }
    environment = {"ANSIBLE_STDOUT_CALLBACK": "ansible.posix.json"}
    playbook = tasks({"lockstep.kubernetes.storage_migration": options})
    done = run_playbook(playbook, environment=environment)
    if done.returncode:
        raise RuntimeError(f"the playbook failed:\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
    if bool("objects/s" in done.stderr) != progress:
        raise RuntimeError(f"progress was to be shown: {progress}\n{done.stderr[-3000:]}")
    (task,) = json.loads(done.stdout)["plays"][0]["tasks"]
    return float(task["hosts"]["localhost"]["resources"][things.resource]["seconds"])
