"""A million objects: memory stays flat, and each takes as long as one of ten thousand."""

from __future__ import annotations

import os
from collections.abc import Iterable

from lab.control_plane import ServerSpec

from .figures import Figure, measures
from .programs import run_direct
from .stored import Things, near_plane

OBJECTS = int(os.environ.get("LOCKSTEP_BENCH_MILLION", "1000000"))
FEW = min(10_000, OBJECTS)
OBJECT_BYTES = 10
# Before and after the long run, so that a machine that gets slower does not pass for us.
FEW_ROUNDS = 2
# Two versions of every object do not fit into what etcd allows by itself.
ETCD_BYTES = 8 * 1024**3
# They take the better part of an hour: not for every run.
NAMES = ("million_peak_mb", "million_linearity")


@measures(*NAMES)
def million() -> Iterable[Figure]:
    """Few objects, very many, and the few again, on one server that holds both."""
    os.environ["ETCD_QUOTA_BACKEND_BYTES"] = str(ETCD_BYTES)
    few_seconds: list[float] = []
    with near_plane(ServerSpec()) as recorder:
        few = Things(recorder, "fews", FEW, size=OBJECT_BYTES)
        many = Things(recorder, "manys", OBJECTS, size=OBJECT_BYTES)
        few_peak = _migrate_few(few, few_seconds)
        many.flip()
        run = run_direct(many)
        _migrate_few(few, few_seconds)
    done = run.result["resources"][many.resource]
    if done["rewritten"] < OBJECTS:
        raise RuntimeError(f"only {done['rewritten']} of {OBJECTS} were rewritten")
    each, few_each = done["seconds"] / OBJECTS, min(few_seconds) / FEW
    yield Figure(
        "million_peak_mb",
        run.peak_mb,
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
        f"{each * 1000:.2f} ms an object over {OBJECTS} small objects ({done['seconds']:.0f} s),"
        f" {few_each * 1000:.2f} ms over {FEW} on the same server (best of {2 * FEW_ROUNDS} runs"
        " before and after)",
    )


def _migrate_few(few: Things, seconds: list[float]) -> float:
    """Keep how long each run took; the highest peak of memory."""
    peaks = []
    for _round in range(FEW_ROUNDS):
        few.flip()
        run = run_direct(few)
        seconds.append(run.result["resources"][few.resource]["seconds"])
        peaks.append(run.peak_mb)
    return max(peaks)
