"""Private namespaces: what runs in them can't reach out, clash over ports or outlive the run."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from typing import NoReturn

INSIDE = "LOCKSTEP_LAB_INSIDE"
# Who started the lab: inside, everybody is root.
OWNER = "LOCKSTEP_LAB_OWNER"
PRIVATE_NETWORK = "private"
HOST_NETWORK = "host"
_IFA_F_NODAD = 0x02

_REMEDY = (
    "The lab needs Linux namespaces: allow unprivileged user namespaces "
    "(sysctl kernel.unprivileged_userns_clone=1, or "
    "kernel.apparmor_restrict_unprivileged_userns=0), or run as root."
)


class NamespaceError(Exception):
    """Namespaces cannot be had here; the text says how to allow them."""


class AddressError(Exception):
    """An address is taken already, or is not there to be removed."""


def inside() -> bool:
    """Whether this process already runs in the lab's namespaces."""
    return os.environ.get(INSIDE) in (PRIVATE_NETWORK, HOST_NETWORK)


def network() -> str:
    """Which network this process is in: the lab's own, or the host's."""
    return os.environ.get(INSIDE, HOST_NETWORK)


def owner() -> int:
    """The user who started the lab, also from within."""
    return int(os.environ.get(OWNER) or os.getuid())


def enter(command: Sequence[str], *, private_network: bool) -> NoReturn:
    """Run `command` in namespaces of its own, and end as it ends. Does not return."""
    if not shutil.which("unshare"):
        raise NamespaceError("unshare (of util-linux) is not on this machine. " + _REMEDY)
    flags = ["--uts", "--pid", "--fork", "--kill-child", "--mount-proc"]
    if private_network:
        flags.append("--net")
    flags = _user_flags(flags) + flags
    environment = dict(os.environ)
    environment[INSIDE] = PRIVATE_NETWORK if private_network else HOST_NETWORK
    environment[OWNER] = str(owner())
    # unshare ignores signals while it waits, so they go past it through a pipe, which also tells
    # the namespaces when this process is gone.
    reader, writer = os.pipe()
    init = [sys.executable, "-m", "lab.namespaces", str(reader), *command]
    process = subprocess.Popen(["unshare", *flags, *init], env=environment, pass_fds=[reader])
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda signum, _frame: os.write(writer, bytes([signum])))
    # The terminal sends Ctrl-C to the command as well, which decides what it means.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.close(reader)
    code = process.wait()
    sys.exit(code if code >= 0 else 128 - code)


def _user_flags(flags: list[str]) -> list[str]:
    for user_flags in (["--user", "--map-root-user"], []):
        trial = subprocess.run(
            ["unshare", *user_flags, *flags, "true"], capture_output=True, check=False
        )
        if trial.returncode == 0:
            return user_flags
    raise NamespaceError(trial.stderr.decode().strip() + ". " + _REMEDY)


def join_port(address: str, port: int) -> str:
    """An address and a port as they stand in a URL."""
    return f"[{address}]:{port}" if ":" in address else f"{address}:{port}"


def add_address(address: str) -> None:
    """Give the private network one more address of its own."""
    _on_loopback("add", address)


def remove_address(address: str) -> None:
    """Take an address away: whoever speaks to it gets no answer any more."""
    _on_loopback("del", address)


def _on_loopback(verb: str, address: str) -> None:
    from pyroute2 import IPRoute, NetlinkError

    # Without looking for duplicates first, until when nobody could bind to it.
    how = {"prefixlen": 128, "flags": _IFA_F_NODAD} if ":" in address else {"prefixlen": 32}
    with IPRoute() as route:
        try:
            lo = route.link_lookup(ifname="lo")[0]
            route.addr(verb, index=lo, address=address, **how)
        except NetlinkError as error:
            raise AddressError(f"{verb} {address}: {error}") from error


def _init(signals: int, command: Sequence[str]) -> int:
    """Be process 1 of the namespaces: start the command, reap orphans, pass on its exit code."""
    if network() == PRIVATE_NETWORK:
        from pyroute2 import IPRoute

        with IPRoute() as route:
            route.link("set", index=route.link_lookup(ifname="lo")[0], state="up")
    child = subprocess.Popen(command)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_pass_on, args=(signals, child.pid), daemon=True).start()
    while True:
        pid, status = os.wait()
        if pid == child.pid:
            return os.waitstatus_to_exitcode(status) & 0xFF


def _pass_on(signals: int, pid: int) -> None:
    """Pass signals on to the command; kill it when nobody is left to send any."""
    while number := os.read(signals, 1):
        os.kill(pid, number[0])
    os.kill(pid, signal.SIGKILL)


if __name__ == "__main__":
    sys.exit(_init(int(sys.argv[1]), sys.argv[2:]))
