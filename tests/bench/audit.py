"""What reading all of etcd costs, beside etcd's own client, and what a second look saves."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from lab import binaries
from lab.ansible import MODULES
from lab.control_plane import control_plane
from lab.etcd import EtcdStore

from .figures import Figure, measures

ROUNDS = 5
KEYS = 100_000
# One in so many is a custom resource in JSON, and one in so many is written again.
CUSTOM = 10
CHANGED = 100
OBJECT_BYTES = 1000
# As many keys as are read again for a single one that has changed, at most.
STRETCH = 500
_TRANSACTION = 100


@dataclass(frozen=True)
class Run:
    """One run of the module as a process."""

    result: Any
    seconds: float
    peak_mb: float


@measures("audit_vs_etcdctl", "audit_peak_mb", "audit_incremental_speedup")
def audit() -> Iterable[Figure]:
    """All runs against one store, in turn, so that all see the same machine."""
    with control_plane() as plane:
        etcd = plane.etcd
        _write(etcd, _objects(range(KEYS)))
        first = _audit(etcd)
        _check(first, read=KEYS)
        _write(etcd, _objects(range(0, KEYS, CHANGED)))
        # All of them are custom resources, so only stretches with any of those are read again.
        changed, custom = KEYS // CHANGED, KEYS // CUSTOM
        runs: dict[str, list[Run]] = {}
        etcdctl = []
        for _round in range(ROUNDS):
            etcdctl.append(_timed(lambda: _get_all(etcd)))
            for name, options, read in (
                ("grpc", {}, KEYS),
                ("gateway", {"transport": "gateway"}, KEYS),
                ("increment", {"since": first.result["since"]}, custom),
                ("small", {"resources": ["widgets.example.com"]}, custom),
            ):
                run = _audit(etcd, **options)
                _check(run, read=read, beside=2 * STRETCH if name == "increment" else 0)
                runs.setdefault(name, []).append(run)

    seconds = {name: median(run.seconds for run in each) for name, each in runs.items()}
    read = {name: median(run.result["seconds"] for run in each) for name, each in runs.items()}
    peak = {name: max(run.peak_mb for run in each) for name, each in runs.items()}
    theirs = median(etcdctl)
    yield Figure(
        "audit_vs_etcdctl",
        theirs / seconds["grpc"],
        "x",
        0.6,
        "higher",
        f"{KEYS} keys of 1 KB, median of {ROUNDS} interleaved runs, whole processes: etcdctl get"
        f" --prefix {theirs:.2f} s, audit {seconds['grpc']:.2f} s with grpcio and"
        f" {seconds['gateway']:.2f} s ({theirs / seconds['gateway']:.2f} x) by the JSON gateway",
    )
    yield Figure(
        "audit_peak_mb",
        max(peak.values()),
        "MB",
        150,
        "lower",
        f"peak memory of the module's process: {peak['grpc']:.0f} MB at {KEYS} keys and"
        f" {peak['small']:.0f} MB at {KEYS // CUSTOM}; by the JSON gateway"
        f" {peak['gateway']:.0f} MB",
    )
    yield Figure(
        "audit_incremental_speedup",
        read["grpc"] / read["increment"],
        "x",
        2,
        "higher",
        f"proving what is the same of {KEYS} keys, {changed} of which had changed among"
        f" {custom}, and reading the rest took {read['increment']:.2f} s, all of them"
        f" {read['grpc']:.2f} s; with the start of the process {seconds['increment']:.2f} s and"
        f" {seconds['grpc']:.2f} s",
    )


def _objects(numbers: Iterable[int]) -> Iterator[tuple[str, bytes]]:
    """Config maps of many namespaces in protobuf, and custom resources in JSON."""
    for number in numbers:
        filling = os.urandom(OBJECT_BYTES // 2).hex()
        if number % CUSTOM == 0:
            head = {"apiVersion": "example.com/v1", "kind": "Widget", "spec": filling}
            yield f"/registry/example.com/widgets/{number:06}", json.dumps(head).encode()
        else:
            namespace = f"team-{number % 50:02}"
            head = b"k8s\0\n\x0f\n\x02v1\x12\x09ConfigMap\x12\xe8\x07"
            value = head + filling.encode() + b"\x1a\x00\x22\x00"
            yield f"/registry/configmaps/{namespace}/object-{number:06}", value


def _write(etcd: EtcdStore, objects: Iterable[tuple[str, bytes]]) -> None:
    puts: list[object] = []
    for key, value in objects:
        encoded = (base64.b64encode(part).decode() for part in (key.encode(), value))
        puts.append({"requestPut": dict(zip(("key", "value"), encoded, strict=True))})
        if len(puts) == _TRANSACTION:
            etcd.call("kv/txn", {"success": puts})
            puts = []
    if puts:
        etcd.call("kv/txn", {"success": puts})


def _get_all(etcd: EtcdStore) -> None:
    subprocess.run(
        [
            binaries.find(binaries.etcd("etcdctl")),
            f"--endpoints={etcd.url}",
            f"--cacert={etcd.ca}",
            f"--cert={etcd.certificate}",
            f"--key={etcd.key}",
            "get",
            "--prefix",
            "/registry/",
        ],
        stdout=subprocess.DEVNULL,
        check=True,
    )


def _audit(etcd: EtcdStore, **options: Any) -> Run:
    arguments = {
        "endpoints": [etcd.url],
        "ca_cert": str(etcd.ca),
        "client_cert": str(etcd.certificate),
        "client_key": str(etcd.key),
        **options,
    }
    with tempfile.TemporaryDirectory() as directory:
        file, output = Path(directory) / "arguments.json", Path(directory) / "result.json"
        file.write_text(json.dumps({"ANSIBLE_MODULE_ARGS": arguments}))
        begin = time.monotonic()
        with output.open("w") as stdout:
            process = subprocess.Popen(
                [sys.executable, "-m", f"{MODULES}.storage_audit", str(file)], stdout=stdout
            )
            _pid, status, usage = os.wait4(process.pid, 0)
        seconds = time.monotonic() - begin
        process.returncode = os.waitstatus_to_exitcode(status)
        return Run(json.loads(output.read_text()), seconds, usage.ru_maxrss / 1024)


def _check(run: Run, *, read: int, beside: int = 0) -> None:
    """So many keys were read, or some more that lie beside them."""
    if run.result.get("failed") or not 0 <= run.result["totals"]["read_keys"] - read <= beside:
        raise RuntimeError(f"the audit went wrong: {run.result.get('msg', run.result['summary'])}")


def _timed(work: Callable[[], None]) -> float:
    begin = time.monotonic()
    work()
    return time.monotonic() - begin
