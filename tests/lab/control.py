"""How the command line speaks to a lab that is up: one JSON line each way over a local socket."""

from __future__ import annotations

import json
import os
import signal
import socketserver
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from socket import AF_UNIX, socket
from typing import Any

from . import namespaces
from .binaries import BinaryError
from .control_plane import ControlPlane, LabError


class ControlError(Exception):
    """No such lab, or it could not do what was asked."""


def socket_path(name: str) -> Path:
    """Where the lab of this name listens."""
    base = os.environ.get("XDG_RUNTIME_DIR") or tempfile.gettempdir()
    return Path(base) / f"lockstep-lab-{namespaces.owner()}-{name}.sock"


def ask(name: str, wish: dict[str, Any]) -> dict[str, Any]:
    """Send one wish to a lab and wait for its answer."""
    with socket(AF_UNIX) as connection:
        try:
            connection.connect(str(socket_path(name)))
        except OSError:
            raise ControlError(
                f"no lab named {name} is up: start one with `python -m lab up`"
            ) from None
        connection.sendall(json.dumps(wish).encode() + b"\n")
        answer = json.loads(connection.makefile().readline())
    if "error" in answer:
        raise ControlError(answer["error"])
    return dict(answer)


def require_unused(name: str) -> None:
    """Refuse a name that a running lab has."""
    try:
        ask(name, {"do": "status"})
    except ControlError:
        return
    raise LabError(f"a lab named {name} is up already: end it, or give this one another --name")


@contextmanager
def listening(plane: ControlPlane, name: str) -> Iterator[None]:
    """Answer wishes in the background while the lab is up."""
    require_unused(name)
    path = socket_path(name)
    # One that was killed leaves its socket behind.
    path.unlink(missing_ok=True)

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            try:
                answer = _fulfil(plane, json.loads(self.rfile.readline()))
            except (LabError, BinaryError) as error:
                answer = {"error": str(error)}
            self.wfile.write(json.dumps(answer).encode() + b"\n")

    with socketserver.ThreadingUnixStreamServer(str(path), Handler) as server:
        path.chmod(0o600)
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield
        finally:
            server.shutdown()
            path.unlink(missing_ok=True)


def describe(plane: ControlPlane) -> str:
    """One line a server, for people."""
    lines = [f"etcd   {plane.etcd.url}", f"lb     {plane.balancer.url}"]
    for server in plane.servers.values():
        emulated = (
            f" emulating {server.spec.emulated_version}" if server.spec.emulated_version else ""
        )
        state = "ready" if server.running and server.api.ready() else "not ready"
        lines.append(f"{server.name:6} {server.url}  {server.spec.release}{emulated}  {state}")
    return "\n".join(lines)


def _fulfil(plane: ControlPlane, wish: dict[str, Any]) -> dict[str, Any]:
    if wish["do"] == "kubeconfig":
        return {"path": str(plane.kubeconfig())}
    if wish["do"] == "down":
        # After the answer, so that whoever asked gets one.
        threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGTERM)).start()
        return {}
    if wish["do"] == "restart":
        server = plane.servers.get(wish["server"])
        if not server:
            raise LabError(f"no server {wish['server']}: there are {', '.join(plane.servers)}")
        spec = server.spec
        if wish["release"]:
            spec = replace(spec, release=wish["release"])
        if wish["emulated_version"]:
            emulated = "" if wish["emulated_version"] == "none" else wish["emulated_version"]
            spec = replace(spec, emulated_version=emulated)
        server.restart(spec)
    return {"text": describe(plane)}
