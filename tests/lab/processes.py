"""One program of the lab, from its start to its end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

# An API server's identity is made from its hostname, so each gets a UTS namespace of its own.
_WITH_HOSTNAME = (
    "import os, socket, sys; socket.sethostname(sys.argv[1]); os.execv(sys.argv[2], sys.argv[2:])"
)

# Before a command that a test interrupts: tests that run under nohup, or behind an ampersand, would
# have it ignore what a terminal sends.
AS_IN_A_TERMINAL = ("env", "--default-signal=INT,HUP")


class Process:
    """A running program whose output goes to a file."""

    def __init__(self, command: Sequence[str | Path], *, log: Path, hostname: str = "") -> None:
        arguments = [str(part) for part in command]
        if hostname:
            launcher = ["unshare", "--uts", sys.executable, "-S", "-c", _WITH_HOSTNAME, hostname]
            arguments = launcher + arguments
        self.log = log
        with log.open("ab") as output:
            self._popen = subprocess.Popen(
                arguments, stdout=output, stderr=output, stdin=subprocess.DEVNULL
            )

    @property
    def pid(self) -> int:
        return self._popen.pid

    @property
    def running(self) -> bool:
        return self._popen.poll() is None

    def stop(self, timeout: float = 20) -> None:
        """End it in an orderly way (SIGTERM); by force if it does not listen."""
        if not self.running:
            return
        self.thaw()
        self._popen.terminate()
        try:
            self._popen.wait(timeout)
        except subprocess.TimeoutExpired:
            self.kill()

    def kill(self) -> None:
        """End it as a power failure would (SIGKILL)."""
        if self.running:
            self._popen.kill()
            self._popen.wait()

    def freeze(self) -> None:
        """Stop it in its tracks (SIGSTOP): neither dead nor alive to others."""
        os.kill(self.pid, signal.SIGSTOP)

    def thaw(self) -> None:
        """Let a frozen one go on (SIGCONT)."""
        os.kill(self.pid, signal.SIGCONT)

    def tail(self, lines: int = 15) -> str:
        """The end of its log, for messages of failure."""
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])
