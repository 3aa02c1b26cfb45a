"""The programs that rewrite stored objects, each as its users run it."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from lab import binaries
from lab.objects import crd
from lab.processes import Process
from lab.recorder import MIGRATIONS, Recorder, conditions
from lab.traffic import traffic
from lab.waiting import eventually

from . import load
from .modules import Run, run_measured
from .stored import GROUP, NAMESPACE, Things

# Who has migrated this one is up and at work.
SPARKS = f"sparks.{GROUP}"
_SPARKS_PATH = f"/apis/{GROUP}/v1/sparks"
# What the manifests of the out-of-tree migrator set.
SHIPPED_QPS, SHIPPED_BURST = 40, 1000
_UNTHROTTLED = ("--kube-api-qps=10000", "--kube-api-burst=10000")
_SHIPPED = (f"--kube-api-qps={SHIPPED_QPS}", f"--kube-api-burst={SHIPPED_BURST}")
SHIPPED_SECONDS = 30.0
_POLL_SECONDS = 0.1
_LONG = 3600.0


@dataclass(frozen=True)
class Timing:
    """How long all objects took, the client's CPU time where it is known, and what to add."""

    seconds: float
    cpu_seconds: float = 0.0
    remark: str = ""


Program = Callable[[Things], Timing]


def create_sparks(recorder: Recorder) -> None:
    """A resource with one object, which controllers begin with."""
    recorder.plane.create_crds(crd("sparks", GROUP, storage="v1"))
    kind = {"apiVersion": f"{GROUP}/v1", "kind": "Spark"}
    recorder.api.create(_SPARKS_PATH, {**kind, "metadata": {"name": "spark"}})


def run_migration(recorder: Recorder, resource: str, **options: Any) -> Run:
    """Our own module as a process, at full speed."""
    run = run_measured(
        "storage_migration",
        kubeconfig=recorder.kubeconfig(),
        resources=[resource],
        backend="direct",
        speed="full",
        settle=0,
        **options,
    )
    if run.result.get("failed"):
        raise RuntimeError(f"storage_migration failed: {run.result['msg']}")
    return run


def direct(things: Things) -> Timing:
    """Our own migrator at full speed."""
    run = run_migration(things.recorder, things.resource)
    things.recorder.forget()
    return Timing(run.result["resources"][things.resource]["seconds"], run.cpu_seconds)


def limit(concurrency: int) -> Program:
    """The same patches from the load generator."""

    def run(things: Things) -> Timing:
        plane = things.recorder.plane
        url = plane.servers["cp-1"].url
        before = os.times()
        seconds = load.patch_all(url, plane.admin, things.paths, concurrency=concurrency)
        after = os.times()
        cpu = after.children_user + after.children_system
        return Timing(seconds, cpu - before.children_user - before.children_system)

    return run


def kubectl(things: Things) -> Timing:
    """All objects read, and written back."""
    program = binaries.find(binaries.kubernetes("kubectl", binaries.DEFAULT_RELEASE))
    command = [str(program), f"--kubeconfig={things.recorder.kubeconfig()}"]
    command.append(f"--cache-dir={things.recorder.plane.directory / 'kubectl'}")
    begin = time.monotonic()
    with (
        subprocess.Popen(
            [*command, "get", things.resource, f"--namespace={NAMESPACE}", "--output=json"],
            stdout=subprocess.PIPE,
        ) as reading,
        subprocess.Popen(
            [*command, "replace", "--filename=-"], stdin=reading.stdout, stdout=subprocess.DEVNULL
        ) as writing,
    ):
        assert reading.stdout is not None
        reading.stdout.close()
    if reading.returncode or writing.returncode:
        raise RuntimeError("kubectl get | kubectl replace failed")
    return Timing(time.monotonic() - begin)


def in_tree(release: str) -> Program:
    """The controller in kube-controller-manager, from the migration's creation to Succeeded."""
    version = "v1beta1" if release == binaries.DEFAULT_RELEASE else "v1"
    path = f"/apis/storagemigration.k8s.io/{version}/storageversionmigrations"

    def migrate(recorder: Recorder, resource: str) -> float:
        plural, _dot, group = resource.partition(".")
        kind = {
            "apiVersion": f"storagemigration.k8s.io/{version}",
            "kind": "StorageVersionMigration",
        }
        spec = {"resource": {"group": group, "resource": plural}}
        recorder.api.create(path, {**kind, "metadata": {"name": plural}, "spec": spec})
        return _wait(recorder, f"{path}/{plural}")

    def run(things: Things) -> Timing:
        recorder = things.recorder
        process = recorder.plane.start_in_tree_migrator(release=release)
        # Else it would wait for a sign of life of the resource before it begins.
        busy = (f"{_SPARKS_PATH}/spark", things.probe_path)
        with _ending(process), traffic(recorder.api, *busy):
            migrate(recorder, SPARKS)
            seconds = migrate(recorder, things.resource)
        recorder.api.delete(path)
        return Timing(seconds)

    return run


def migrator(things: Things) -> Timing:
    """The out-of-tree migrator without its throttle."""
    with _migrator(things, _UNTHROTTLED):
        _ask_migrator(things)
        seconds = _wait(things.recorder, f"{MIGRATIONS}/things")
    things.recorder.forget()
    return Timing(seconds)


def migrator_shipped(things: Things) -> Timing:
    """The same as shipped, by the rate that it has once its burst is used up."""
    recorder = things.recorder
    etcd = recorder.plane.etcd
    with _migrator(things, _SHIPPED):
        before, begin = etcd.revision(), time.monotonic()

        def written() -> int:
            return etcd.revision() - before

        def throttled() -> bool:
            # While it lasts, what it may use grows.
            return written() >= SHIPPED_BURST * 0.95 + SHIPPED_QPS * (time.monotonic() - begin)

        _ask_migrator(things)
        eventually(lambda: throttled() or written() >= things.count, within=_LONG)
        burst, burst_at = written(), time.monotonic()
        if things.count - burst < SHIPPED_QPS * SHIPPED_SECONDS:
            raise RuntimeError(f"{things.count} objects are too few to see the migrator's throttle")
        time.sleep(SHIPPED_SECONDS)
        rate = (written() - burst) / (time.monotonic() - burst_at)
    recorder.forget()
    # It leaves the rest as it was.
    limit(16)(things)
    whole = burst_at - begin + (things.count - burst) / rate
    remark = f", {things.count / whole:.0f}/s with the burst of {SHIPPED_BURST} before it"
    return Timing(things.count / rate, remark=remark)


@contextmanager
def _migrator(things: Things, arguments: tuple[str, ...]) -> Iterator[None]:
    recorder = things.recorder
    with _ending(recorder.plane.start_migrator(*arguments)):
        recorder.migrate_by_hand(SPARKS, name="sparks")
        _wait(recorder, f"{MIGRATIONS}/sparks")
        yield


def _ask_migrator(things: Things) -> None:
    things.recorder.migrate_by_hand(things.resource, name="things", version=things.version)


@contextmanager
def _ending(process: Process) -> Iterator[None]:
    try:
        yield
    finally:
        process.stop()


def _wait(recorder: Recorder, path: str) -> float:
    """The seconds until a migration that was just created has succeeded."""
    begin, api = time.monotonic(), recorder.api
    while True:
        held = conditions(api.get(path))
        if "Succeeded" in held:
            return time.monotonic() - begin
        if "Failed" in held or time.monotonic() - begin > _LONG:
            raise RuntimeError(f"the migration {path} did not succeed: {held}")
        time.sleep(_POLL_SECONDS)
