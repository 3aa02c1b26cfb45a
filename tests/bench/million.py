"""A million objects: memory stays flat, and each takes as long as one of ten thousand."""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Iterable
from statistics import mean

from lab.control_plane import ServerSpec
from lab.gate import audited
from lab.recorder import Recorder

from .figures import Figure, measures
from .modules import Run
from .programs import run_migration
from .stored import near_plane, put_objects

OBJECTS = int(os.environ.get("LOCKSTEP_BENCH_MILLION", "1000000"))
FEW = min(10_000, OBJECTS)
# Several: a single one is over before the server has to collect garbage or to compact etcd once.
FEW_ROUNDS = 6
# Two versions of every object do not fit into what etcd allows by itself.
ETCD_BYTES = 8 * 1024**3
# They take half an hour: not for every run.
NAMES = ("million_peak_mb", "million_linearity")
# Small, and built in: a server keeps all objects in memory, and custom ones take 20 KB each there.
RESOURCE, KIND = "leases.coordination.k8s.io", "Lease"
OLD_VERSION, NEW_VERSION = "coordination.k8s.io/v1beta1", "coordination.k8s.io/v1"
NAMESPACE = "default"
DIRECTORY = f"/registry/leases/{NAMESPACE}"


@measures(*NAMES)
def million() -> Iterable[Figure]:
    """All objects, and then few of them again, on the same server with all of them in it.

    A server and etcd take more CPU for each write the more they hold: that is theirs, not ours.
    """
    os.environ["ETCD_QUOTA_BACKEND_BYTES"] = str(ETCD_BYTES)
    with near_plane(ServerSpec()) as recorder:
        _store(recorder, OBJECTS)
        run = run_migration(recorder, RESOURCE)
        seconds = _seconds(run, OBJECTS)
        few = [_migrate_few(recorder) for _round in range(FEW_ROUNDS)]
    each, few_each = seconds / OBJECTS, mean(few) / FEW
    yield Figure(
        "million_peak_mb",
        run.peak_mb,
        "MB",
        200,
        "lower",
        f"peak memory of the module's process over {OBJECTS} small objects",
    )
    yield Figure(
        "million_linearity",
        each / few_each,
        "x",
        1.15,
        "lower",
        f"{each * 1000:.2f} ms an object over {OBJECTS} leases in an old version ({seconds:.0f} s),"
        f" {few_each * 1000:.2f} ms over {FEW} of them that an audit named, on the same server"
        f" afterwards (mean of {FEW_ROUNDS} runs, the best {min(few) / FEW * 1000:.2f} ms)",
    )


def _store(recorder: Recorder, count: int) -> None:
    """Store so many objects in an old version."""
    etcd = recorder.plane.etcd
    put_objects(etcd, DIRECTORY, (_lease(number) for number in range(count)))
    etcd.compact(etcd.revision())


def _migrate_few(recorder: Recorder) -> float:
    """Rewrite a few of them, which an audit names; the seconds that took."""
    _store(recorder, FEW)
    recorder.forget()
    known = audited(recorder, resources=[RESOURCE], encodings={RESOURCE: NEW_VERSION})
    return _seconds(run_migration(recorder, RESOURCE, **known), FEW)


def _seconds(run: Run, count: int) -> float:
    done = run.result["resources"][RESOURCE]
    if done["rewritten"] < count:
        raise RuntimeError(f"only {done['rewritten']} of {count} were rewritten")
    return float(done["seconds"])


def _lease(number: int) -> tuple[str, bytes]:
    name = f"lease-{number:07}"
    metadata = {"name": name, "namespace": NAMESPACE, "uid": str(uuid.uuid4())}
    document = {"apiVersion": OLD_VERSION, "kind": KIND, "metadata": metadata}
    return name, json.dumps(document).encode()
