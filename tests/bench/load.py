"""The load generator: a small Go program, built once, that sends requests as fast as any client."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from lab import binaries
from lab.api import User

SOURCE = Path(__file__).parent / "generator"
# As the direct backend asks, so that the server has the same to do.
ACCEPT = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"


def generator() -> Path:
    """The program, built anew only if its source has changed."""
    files = sorted(path for path in SOURCE.iterdir() if path.suffix in (".go", ".mod"))
    digest = hashlib.sha256(b"\0".join(path.read_bytes() for path in files)).hexdigest()[:16]
    program = binaries.cache_directory() / "generator" / digest
    if not program.exists():
        _build(program)
    return program


def _build(program: Path) -> None:
    go, environment = binaries.find_go()
    program.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=program.parent) as scratch:
        fresh = Path(scratch) / "generator"
        subprocess.run([go, "build", "-o", fresh, "."], cwd=SOURCE, env=environment, check=True)
        fresh.replace(program)


def patch_all(url: str, user: User, paths: Sequence[str], *, concurrency: int) -> float:
    """Send an empty merge patch to every path; the seconds from the first to the last answer."""
    command = _command("patch", url, user, f"-concurrency={concurrency}", f"-accept={ACCEPT}")
    done = subprocess.run(
        command, input="\n".join(paths), stdout=subprocess.PIPE, text=True, check=True
    )
    answer = _read(done.stdout)
    return float(answer["seconds"])


def probe(url: str, user: User, path: str, *, rate: int, seconds: float) -> list[float]:
    """Read and create config maps at a fixed rate; how long each request took, in seconds."""
    command = _command("probe", url, user, f"-path={path}", f"-rate={rate}", f"-seconds={seconds}")
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return [float(one) for one in _read(done.stdout)["waited"]]


@contextmanager
def renewing(url: str, user: User, namespace: str, *, rate: int) -> Iterator[None]:
    """Renew leases in a namespace at a fixed rate while this lasts."""
    command = _command("renew", url, user, f"-path={namespace}", f"-rate={rate}")
    with subprocess.Popen(command) as process:
        try:
            yield
        finally:
            process.terminate()


def _command(verb: str, url: str, user: User, *options: str) -> list[str]:
    files = {"ca": user.ca, "cert": user.certificate, "key": user.key}
    named = [f"-{name}={file}" for name, file in files.items()]
    return [os.fspath(generator()), verb, f"-url={url}", *named, *options]


def _read(text: str) -> dict[str, Any]:
    answer = dict(json.loads(text))
    if answer["failed"]:
        raise RuntimeError(f"{answer['failed']} requests of the load generator failed")
    return answer


if __name__ == "__main__":
    print(f"load generator: {generator()}")
