"""What a preflight costs: requests at the servers, and time beside ordinary tasks."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from statistics import median

from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.settling import (
    CUSTOM_SECONDS,
)
from lab.ansible import run_playbook, tasks
from lab.control_plane import ControlPlane, ServerSpec, control_plane
from lab.gate import etcd_options
from lab.recorder import Recorder

from .discovery import create_definitions, ordinary
from .figures import Figure, measures

ROUNDS = 5
SERVERS = 3
# Those of the role that run a module: the look, the audit, and the gate.
MODULE_TASKS = 3
PLAYBOOK = Path(__file__).parents[2] / "playbooks" / "preflight.yml"
POLICY = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived", "ResponseStarted"],
    "rules": [{"level": "Metadata"}],
}
AGENT = "lockstep.kubernetes"


@measures("preflight_requests_ratio", "preflight_vs_k8s_info")
def preflight() -> Iterable[Figure]:
    """The playbook as users run it, on three servers that keep count, beside ordinary tasks."""
    with tempfile.TemporaryDirectory(prefix="lockstep-bench-") as name:
        directory = Path(name)
        logs = [directory / f"audit-{number}.log" for number in range(SERVERS)]
        with control_plane(*(_counting(directory, log) for log in logs)) as plane:
            create_definitions(plane)
            recorder = Recorder(plane)
            recorder.install()
            # In a cluster that is in use, definitions are older than servers take to follow them.
            time.sleep(CUSTOM_SECONDS)
            requests = _count(recorder, logs)
            least = _group_versions(plane) * SERVERS + _persisted(recorder)
            whole, single = [], []
            for _round in range(ROUNDS):
                whole.append(_time_preflight(recorder))
                single.append(_time_ordinary(plane))
    yield Figure(
        "preflight_requests_ratio",
        requests / least,
        "x",
        1.5,
        "lower",
        f"{requests} requests of one run of the playbook preflight, by the servers' own audit"
        f" logs, over group-versions x {SERVERS} servers + persisted resources = {least}",
    )
    yield Figure(
        "preflight_vs_k8s_info",
        median(whole) / median(single),
        "x",
        1.5,
        "lower",
        f"median of {ROUNDS} interleaved runs: {median(whole):.2f} s for the playbook preflight,"
        f" {median(single):.2f} s for a playbook of {MODULE_TASKS} tasks of k8s_info",
    )


def _counting(directory: Path, log: Path) -> ServerSpec:
    policy = directory / "policy.json"
    policy.write_text(json.dumps(POLICY))
    return ServerSpec(
        arguments=[f"--audit-policy-file={policy}", f"--audit-log-path={log}"],
    )


def _run_preflight(recorder: Recorder) -> None:
    options = etcd_options(recorder)
    variables = {
        "kubernetes_version": "1.37.0",
        "preflight_settle": 0,
        **{f"preflight_etcd_{key}": value for key, value in options.items()},
    }
    environment = {"K8S_AUTH_KUBECONFIG": str(recorder.kubeconfig())}
    done = run_playbook(PLAYBOOK, variables=variables, environment=environment)
    if done.returncode:
        raise RuntimeError(f"preflight failed:\n{done.stdout[-3000:]}{done.stderr[-3000:]}")


def _count(recorder: Recorder, logs: Iterable[Path]) -> int:
    _run_preflight(recorder)
    lines = (line for log in logs for line in log.read_text().splitlines())
    agents = (str(json.loads(line).get("userAgent")) for line in lines)
    return sum(agent.startswith(AGENT) for agent in agents)


def _group_versions(plane: ControlPlane) -> int:
    groups = plane.api.get("/apis")["groups"]
    return 1 + sum(len(group["versions"]) for group in groups)


def _persisted(recorder: Recorder) -> int:
    return len(recorder.call("discovery_hash", settle=0)["resources"])


def _time_preflight(recorder: Recorder) -> float:
    begin = time.monotonic()
    _run_preflight(recorder)
    return time.monotonic() - begin


def _time_ordinary(plane: ControlPlane) -> float:
    begin = time.monotonic()
    done = run_playbook(tasks(*(ordinary(plane) for _number in range(MODULE_TASKS))))
    if done.returncode:
        raise RuntimeError(f"the playbook failed:\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
    return time.monotonic() - begin
