"""A million objects: memory stays flat, and each takes as long as one of ten thousand."""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Iterable

from lab.control_plane import ServerSpec
from lab.recorder import Recorder

from .figures import Figure, measures
from .programs import run_migration
from .stored import near_plane, put_objects

OBJECTS = int(os.environ.get("LOCKSTEP_BENCH_MILLION", "1000000"))
FEW = min(10_000, OBJECTS)
# Before and after the long run, so that a machine that gets slower does not pass for us.
FEW_ROUNDS = 2
# Two versions of every object do not fit into what etcd allows by itself.
ETCD_BYTES = 8 * 1024**3
# They take half an hour: not for every run.
NAMES = ("million_peak_mb", "million_linearity")
# Small, and built in: a server keeps all objects in memory, and custom ones take 20 KB each there.
RESOURCE, KIND = "leases.coordination.k8s.io", "Lease"
OLD_VERSION, NAMESPACE = "coordination.k8s.io/v1beta1", "default"
DIRECTORY = f"/registry/leases/{NAMESPACE}"


@measures(*NAMES)
def million() -> Iterable[Figure]:
    """Few objects, very many, and the few again, on one server."""
    os.environ["ETCD_QUOTA_BACKEND_BYTES"] = str(ETCD_BYTES)
    few_seconds: list[float] = []
    with near_plane(ServerSpec()) as recorder:
        few_peak = _migrate_few(recorder, few_seconds)
        seconds, peak = _migrate(recorder, OBJECTS)
        recorder.plane.etcd.delete_below(f"{DIRECTORY}/")
        _migrate_few(recorder, few_seconds)
    each, few_each = seconds / OBJECTS, min(few_seconds) / FEW
    yield Figure(
        "million_peak_mb",
        peak,
        "MB",
        200,
        "lower",
        f"peak memory of the module's process over {OBJECTS} small objects; {few_peak:.0f} MB over"
        f" {FEW}",
    )
    yield Figure(
        "million_linearity",
        each / few_each,
        "x",
        1.15,
        "lower",
        f"{each * 1000:.2f} ms an object over {OBJECTS} leases in an old version ({seconds:.0f} s),"
        f" {few_each * 1000:.2f} ms over {FEW} on the same server (best of {2 * FEW_ROUNDS} runs"
        " before and after)",
    )


def _migrate_few(recorder: Recorder, seconds: list[float]) -> float:
    """Keep how long each run took; the highest peak of memory."""
    peaks = []
    for _round in range(FEW_ROUNDS):
        lasted, peak = _migrate(recorder, FEW)
        seconds.append(lasted)
        peaks.append(peak)
    return max(peaks)


def _migrate(recorder: Recorder, count: int) -> tuple[float, float]:
    """Store so many objects in an old version and have them rewritten: seconds, and peak memory."""
    etcd = recorder.plane.etcd
    put_objects(etcd, DIRECTORY, (_lease(number) for number in range(count)))
    etcd.compact(etcd.revision())
    run = run_migration(recorder, RESOURCE)
    done = run.result["resources"][RESOURCE]
    if done["rewritten"] < count:
        raise RuntimeError(f"only {done['rewritten']} of {count} were rewritten")
    recorder.forget()
    return float(done["seconds"]), run.peak_mb


def _lease(number: int) -> tuple[str, bytes]:
    name = f"lease-{number:07}"
    metadata = {"name": name, "namespace": NAMESPACE, "uid": str(uuid.uuid4())}
    document = {"apiVersion": OLD_VERSION, "kind": KIND, "metadata": metadata}
    return name, json.dumps(document).encode()
