"""How the command line speaks to a lab that is up: one JSON line each way over a local socket."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import socketserver
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from socket import AF_UNIX, socket
from typing import Any

from . import binaries, namespaces
from .binaries import BinaryError
from .control_plane import ControlPlane, LabError, Server
from .objects import report_node
from .traffic import Client, client

TESTS = Path(__file__).resolve().parents[1]
ROLL_SERVER = TESTS / "lab" / "tasks" / "roll_server.yml"
ROLL_NODE = ROLL_SERVER.with_name("roll_node.yml")


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

    usage = _Usage(plane)

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            try:
                answer = _fulfil(plane, name, usage, json.loads(self.rfile.readline()))
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
            usage.end()
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


class _Usage:
    """A client that uses the control plane between two wishes."""

    def __init__(self, plane: ControlPlane) -> None:
        self._plane, self._stack = plane, ExitStack()
        self._client: Client | None = None

    def begin(self) -> dict[str, Any]:
        self._client = self._stack.enter_context(client(self._plane))
        return {}

    def end(self) -> dict[str, Any]:
        self._stack.close()
        return self._client.tell() if self._client else {}


def inventory(plane: ControlPlane, name: str) -> dict[str, Any]:
    """An inventory whose hosts are the servers, for playbooks that roll them."""
    hosts = {
        server.name: {
            "lockstep_server": server.url,
            # All of them run on one machine: the address tells whose process it is.
            "plan_process_pattern": re.escape(
                f"--bind-address={server.address} --secure-port={server.port} "
            ),
        }
        for server in plane.servers.values()
    }
    etcd = plane.etcd
    variables = {
        "ansible_connection": "local",
        "ansible_python_interpreter": sys.executable,
        # Playbooks may run elsewhere than where the tests were started.
        "lab_command": shlex.join(["env", f"PYTHONPATH={TESTS}", sys.executable, "-m", "lab"]),
        "lab_name": name,
        "upgrade_driver": "tasks",
        "upgrade_control_plane_tasks": str(ROLL_SERVER),
        "upgrade_node_tasks": str(ROLL_NODE),
        "upgrade_etcd_endpoints": [etcd.url],
        "upgrade_etcd_ca_cert": str(etcd.ca),
        "upgrade_etcd_client_cert": str(etcd.certificate),
        "upgrade_etcd_client_key": str(etcd.key),
        "snapshot_path": str(plane.directory / "etcd.db"),
        "snapshot_etcd": str(binaries.find(binaries.etcd())),
        "snapshot_etcdutl": str(binaries.find(binaries.etcd("etcdutl"))),
    }
    return {"kube_control_plane": {"hosts": hosts}, "all": {"vars": variables}}


def _server(plane: ControlPlane, wish: dict[str, Any]) -> Server:
    server = plane.servers.get(wish["server"])
    if not server:
        raise LabError(f"no server {wish['server']}: there are {', '.join(plane.servers)}")
    return server


def _fulfil(plane: ControlPlane, name: str, usage: _Usage, wish: dict[str, Any]) -> dict[str, Any]:
    if wish["do"] == "client":
        return usage.begin() if wish["what"] == "begin" else usage.end()
    if wish["do"] == "kubeconfig":
        return {"path": str(plane.kubeconfig())}
    if wish["do"] == "stored":
        versions = plane.etcd.stored_versions(f"/registry/{wish['directory']}/").values()
        return dict(Counter(versions))
    if wish["do"] == "inventory":
        return inventory(plane, name)
    if wish["do"] == "down":
        # After the answer, so that whoever asked gets one.
        threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGTERM)).start()
        return {}
    if wish["do"] == "node":
        report_node(plane.api, wish["node"], wish["release"])
    if wish["do"] == "stop":
        _server(plane, wish).stop()
    if wish["do"] == "restart":
        server = _server(plane, wish)
        spec = server.spec
        if wish["release"]:
            spec = replace(spec, release=wish["release"])
        if wish["emulated_version"]:
            emulated = "" if wish["emulated_version"] == "none" else wish["emulated_version"]
            spec = replace(spec, emulated_version=emulated)
        server.restart(spec)
    return {"text": describe(plane)}
