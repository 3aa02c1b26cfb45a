"""`make demo`: a disagreement between real API servers, and the way back to agreement."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from dataclasses import replace

from rich.console import Console

from lab.control_plane import ControlPlane, ServerSpec, control_plane

CONSOLE = Console(highlight=False, soft_wrap=True)
EMULATED = "1.34"


def main() -> int:
    """Tell the story; any step that does not show what it promises ends it."""
    say("Three real API servers on one etcd; the third still writes what 1.34 could read.")
    old = ServerSpec(emulated_version=EMULATED)
    with control_plane(ServerSpec(), ServerSpec(), old) as plane:
        for server in plane.servers.values():
            emulating = (
                f" emulating {server.spec.emulated_version}" if server.spec.emulated_version else ""
            )
            CONSOLE.print(f"  {server.name}  {server.url}  {server.spec.release}{emulating}")
        show_the_bytes(plane, "cp-1")
        show_the_bytes(plane, "cp-3")

        say("Do they agree? Through the load balancer nobody could tell; Lockstep asks each one.")
        converge(plane, "-e", "converge_wait=false")

        say("The third server is rolled while Lockstep waits for agreement.")
        roll = threading.Thread(target=roll_third_server, args=(plane,))
        roll.start()
        code = converge(plane, "-e", "converge_server_count=3", "-e", "converge_wait_timeout=120")
        roll.join()
        if code:
            return code

        say("The proof is in etcd: what the third server writes now.")
        show_the_bytes(plane, "cp-3")
    say("The lab is gone, and nothing of it is left running.")
    return 0


def say(line: str) -> None:
    """Announce a step."""
    CONSOLE.print(f"\n[bold]== {line}[/bold]")


def converge(plane: ControlPlane, *options: str) -> int:
    """Run the playbook that a user would run."""
    command = ["ansible-playbook", "lockstep.kubernetes.converge", *options]
    CONSOLE.print(f"$ {' '.join(command)}")
    environment = dict(
        os.environ,
        K8S_AUTH_KUBECONFIG=str(plane.kubeconfig()),
        ANSIBLE_LOCALHOST_WARNING="0",
        ANSIBLE_INVENTORY_UNPARSED_WARNING="0",
        ANSIBLE_DISPLAY_OK_HOSTS="1",
    )
    return subprocess.run(command, env=environment, check=False).returncode


def roll_third_server(plane: ControlPlane) -> None:
    """Restart it without the emulation, a little after the wait has begun."""
    time.sleep(10)
    server = plane.servers["cp-3"]
    server.restart(replace(server.spec, emulated_version=""))


def show_the_bytes(plane: ControlPlane, name: str) -> None:
    """Create an object through one server, and read from etcd how it was stored."""
    class_name = f"written-by-{name}-{time.monotonic_ns()}"
    plane.servers[name].api.create(
        "/apis/resource.k8s.io/v1/deviceclasses",
        {
            "apiVersion": "resource.k8s.io/v1",
            "kind": "DeviceClass",
            "metadata": {"name": class_name},
            "spec": {},
        },
    )
    prefix = f"/registry/deviceclasses/{class_name}"
    [(_key, version)] = plane.etcd.stored_versions(prefix).items()
    CONSOLE.print(f"  {name} stores deviceclasses.resource.k8s.io as {version}")


if __name__ == "__main__":
    sys.exit(main())
