# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""Restores a snapshot into an etcd of its own, which ends and goes away with its use.

It holds every secret of the cluster and asks nobody who they are, so it listens on no port: only
the user who runs the task can reach its sockets.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable

from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.errors import (
    LockstepError,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.snapshots import (
    last_words,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.etcd import EtcdAccess
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.etcd_answers import (
    UNREACHABLE,
    EtcdFault,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.snapshots import (
    KeyCount,
    count_keys,
)

try:
    import ctypes

    HAS_CTYPES = True
except ImportError:
    HAS_CTYPES = False

_PR_SET_PDEATHSIG = 1
_POLL_SECONDS = 0.1
_ANSWER_SECONDS = 10.0
# How long programs may take: some time for themselves, and some for each byte, on slow disks too.
_PATIENCE_SECONDS = 120.0
_BYTES_PER_SECOND = 5e6
# A member has to be told where its peers are. It has none, so nothing ever listens there.
_NOWHERE = "http://localhost:1"

Say = Callable[[Callable[[], str]], None]


@dataclass(frozen=True)
class Programs:
    """The programs that restore a snapshot and serve it, by their paths."""

    etcd: str
    etcdutl: str


def find_programs(*, etcd: str, etcdutl: str) -> Programs:
    """Find both, or name every one that is missing."""
    found = {"etcd": shutil.which(etcd) or "", "etcdutl": shutil.which(etcdutl) or ""}
    named = {"etcd": etcd, "etcdutl": etcdutl}
    missing = {option: named[option] for option, path in found.items() if not path}
    if missing:
        raise LockstepError(
            "A snapshot could not be restored here to verify it",
            f"No program {' and no program '.join(missing.values())} is on this host that the"
            " task's user may run",
            f"Name its path in {' and '.join(missing)}, copy it out of the etcd image, or set"
            " verify=digest, which then is said in the result",
        )
    return Programs(**found)


def restore_and_count(
    snapshot: Path, programs: Programs, *, beside: Path, name: str, say: Say
) -> KeyCount:
    """Restore a snapshot below a directory, and count its keys; nothing of it is left behind."""
    size = snapshot.stat().st_size
    patience = _PATIENCE_SECONDS + size / _BYTES_PER_SECOND
    # Sockets apart, since their names have to be short.
    with _directory(f".{name}.restore-", beside) as scratch, _directory("lockstep-") as sockets:
        data, log = scratch / "data", scratch / "log"
        _restore(snapshot, programs, data=data, log=log, patience=patience, say=say)
        return _serve_and_count(
            programs, data=data, log=log, sockets=sockets, patience=patience, say=say
        )


@contextmanager
def ending_in_order() -> Iterator[None]:
    """Let whatever ends this process end what it started as well, and clear up."""
    # Only the main thread may ask; and who ignores one, as nohup does, means it.
    asking = threading.current_thread() is threading.main_thread()
    numbers = [
        number
        for number in (signal.SIGTERM, signal.SIGHUP)
        if asking and signal.getsignal(number) is not signal.SIG_IGN
    ]

    def stop(*_details: object) -> None:
        # A second one must not interrupt the clearing up.
        for number in numbers:
            signal.signal(number, signal.SIG_IGN)
        raise KeyboardInterrupt

    before = [signal.signal(number, stop) for number in numbers]
    try:
        yield
    finally:
        for number, handler in zip(numbers, before):
            signal.signal(number, handler)


# --- the two programs -------------------------------------------------------------------------


def _restore(
    snapshot: Path, programs: Programs, *, data: Path, log: Path, patience: float, say: Say
) -> None:
    command = [
        programs.etcdutl,
        "snapshot",
        "restore",
        str(snapshot),
        f"--data-dir={data}",
        "--name=scratch",
        f"--initial-cluster=scratch={_NOWHERE}",
        f"--initial-advertise-peer-urls={_NOWHERE}",
    ]
    begun = time.monotonic()
    with _running(command, log=log, directory=log.parent) as process:
        while process.poll() is None:
            seconds = time.monotonic() - begun
            if seconds > patience:
                raise _failed(programs.etcdutl, f"It has not ended after {seconds:.0f} s", log)
            say(lambda: f"restoring it, for {time.monotonic() - begun:.0f} s")
            time.sleep(_POLL_SECONDS)
        if process.returncode:
            raise _failed(programs.etcdutl, f"It ended with code {process.returncode}", log)


def _serve_and_count(
    programs: Programs, *, data: Path, log: Path, sockets: Path, patience: float, say: Say
) -> KeyCount:
    url = f"unix://{sockets / 'clients'}"
    command = [
        programs.etcd,
        "--name=scratch",
        f"--data-dir={data}",
        f"--listen-client-urls={url}",
        f"--advertise-client-urls={_NOWHERE}",
        # Of this one etcd takes the host only, as a path from where it is started.
        "--listen-peer-urls=unix://peers",
        f"--initial-advertise-peer-urls={_NOWHERE}",
        f"--initial-cluster=scratch={_NOWHERE}",
        "--log-level=warn",
    ]
    access = EtcdAccess(endpoints=(url,), timeout=_ANSWER_SECONDS)
    begun = time.monotonic()
    with _running(command, log=log, directory=sockets) as process:
        while True:
            try:
                # Revision and count in one answer: leases expire here too, and change both.
                return count_keys(access, url)
            except EtcdFault as fault:
                why = fault.why
                if process.poll() is not None:
                    raise _failed(programs.etcd, "It ended early", log) from None
                if fault.code not in UNREACHABLE or time.monotonic() - begun > patience:
                    raise _failed(programs.etcd, f"It does not answer: {why}", log) from None
            say(lambda: f"starting it, for {time.monotonic() - begun:.0f} s")
            time.sleep(_POLL_SECONDS)


@contextmanager
def _running(
    command: Sequence[str], *, log: Path, directory: Path
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a program as long as it is needed, and no longer."""
    # Either program takes options from variables like these as well.
    environment = {k: v for k, v in os.environ.items() if not k.startswith("ETCD")}
    with log.open("wb") as output:
        try:
            process = subprocess.Popen(
                command,
                cwd=str(directory),
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                preexec_fn=_follower(),
            )
        except OSError as error:
            why = f"It can't be run: {error.strerror or error}"
            raise _failed(command[0], why, None) from error
        try:
            yield process
        finally:
            process.kill()
            process.wait()


def _follower() -> Callable[[], Any] | None:
    """Has the kernel end a program when this process is killed, which can't clear up then."""
    if not HAS_CTYPES:
        return None
    prctl = getattr(ctypes.CDLL(None), "prctl", None)
    return (lambda: prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)) if prctl else None


@contextmanager
def _directory(prefix: str, within: Path | None = None) -> Iterator[Path]:
    """A directory that only this user can look into, until it is left."""
    try:
        path = Path(tempfile.mkdtemp(prefix=prefix, dir=within))
    except OSError as error:
        raise LockstepError(
            "The snapshot could not be restored to verify it",
            f"No directory can be made in {within or tempfile.gettempdir()}:"
            f" {error.strerror or error}",
            "Name one in scratch that the task's user may write to, or set verify=digest, which"
            " then is said in the result",
        ) from error
    try:
        yield path
    finally:
        shutil.rmtree(str(path), ignore_errors=True)


def _failed(program: str, why: str, log: Path | None) -> LockstepError:
    said = ""
    if log:
        with suppress(OSError):
            said = f". It said: {last_words(log.read_text(encoding='utf-8', errors='replace'))}"
    return LockstepError(
        f"The snapshot could not be restored to verify it, by {program}",
        f"{why}{said}",
        "Give etcd and etcdutl of the version that the cluster runs, and a scratch directory with"
        " room; or set verify=digest, which then is said in the result",
    )
