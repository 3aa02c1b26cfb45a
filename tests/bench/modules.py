"""A module run as a process of its own: its result, and what it took."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lab.ansible import MODULES


@dataclass(frozen=True)
class Run:
    """One run of a module."""

    result: Any
    # Of the whole process, its start included.
    seconds: float
    cpu_seconds: float
    peak_mb: float


def run_measured(module: str, **arguments: Any) -> Run:
    """Run one module by itself, as ansible would on a managed host."""
    with tempfile.TemporaryFile("w+") as output:
        begin = time.monotonic()
        with _started(module, arguments, output) as process:
            _pid, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.monotonic() - begin
        output.seek(0)
        text = output.read()
    try:
        result = json.loads(text)
    except ValueError:
        raise RuntimeError(f"{module} printed no result:\n{text}") from None
    cpu = usage.ru_utime + usage.ru_stime
    return Run(result, seconds, cpu, usage.ru_maxrss / 1024)


@contextmanager
def running(module: str, **arguments: Any) -> Iterator[None]:
    """The module while it runs; leaving it ends it."""
    with _started(module, arguments, subprocess.DEVNULL) as process:
        try:
            yield
        finally:
            process.terminate()


@contextmanager
def _started(
    module: str, arguments: dict[str, Any], output: Any
) -> Iterator[subprocess.Popen[bytes]]:
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory) / "arguments.json"
        file.write_text(json.dumps({"ANSIBLE_MODULE_ARGS": arguments}, default=str))
        command = [sys.executable, "-m", f"{MODULES}.{module}", str(file)]
        with subprocess.Popen(command, stdout=output) as process:
            yield process
