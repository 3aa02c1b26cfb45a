"""`make demo`: a rolling upgrade of three real API servers, and what is stored before and after."""

from __future__ import annotations

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

from rich.console import Console

from lab.control_plane import ControlPlane, ServerSpec, control_plane
from lab.upgrade import rollable

CONSOLE = Console(highlight=False, soft_wrap=True)
BINDINGS = "mutatingadmissionpolicybindings"
API = "/apis/admissionregistration.k8s.io"
OBJECTS = 400
REPORT = Path("build/demo-report.html")


def main() -> int:
    """Tell the story; any step that does not show what it promises ends it."""
    old, release = chosen(os.environ.get("RELEASES", ""))
    emulating = f", emulating {old.emulated_version}" if old.emulated_version else ""
    say(f"Three real API servers of {old.release}{emulating} on one etcd.")
    with control_plane(old, old, old) as plane, rollable(plane) as cluster:
        for server in plane.servers.values():
            CONSOLE.print(f"  {server.name}  {server.url}")
        plane.api.populate(f"{API}/v1/{BINDINGS}", binding, OBJECTS)
        show_the_bytes(plane)

        say(
            f"The upgrade to {release}, as an operator runs it: the verdict first, then a verified"
            " snapshot, then one server after the other. While they differ nothing is migrated."
        )
        command = ["ansible-playbook", "-i", str(cluster.inventory)]
        command += ["lockstep.kubernetes.upgrade_cluster", "-e", f"kubernetes_version={release}"]
        # No kube-controller-manager runs here, which 1.37 would leave migrations to.
        command += ["-e", "migrate_backend=direct", "-e", "migrate_speed=full"]
        REPORT.parent.mkdir(exist_ok=True)
        code = run(plane, [*command, "-e", f"upgrade_report_path={REPORT}"])
        if code:
            return code

        say("The proof is in etcd.")
        if show_the_bytes(plane) != {"admissionregistration.k8s.io/v1": OBJECTS}:
            return 1
    say(f"The lab is gone, and nothing of it is left running. The report: {REPORT.resolve()}")
    return 0


def chosen(releases: str) -> tuple[ServerSpec, str]:
    """What runs before, and the release to go to: one build is enough, as it can emulate."""
    if not releases:
        return ServerSpec(release="1.37.0", emulated_version="1.36"), "1.37.0"
    old, _comma, new = releases.partition(",")
    if not new:
        sys.exit(f"RELEASES is {releases!r}: name two of them, such as RELEASES=1.36.3,1.37.0")
    return ServerSpec(release=old), new


def say(line: str) -> None:
    """Announce a step."""
    CONSOLE.print(f"\n[bold]== {line}[/bold]")


def run(plane: ControlPlane, command: list[str]) -> int:
    """Run what a user would run, and show it live."""
    CONSOLE.print(f"$ {' '.join(command)}")
    environment = dict(
        os.environ,
        K8S_AUTH_KUBECONFIG=str(plane.kubeconfig()),
        ANSIBLE_LOCALHOST_WARNING="0",
        ANSIBLE_DISPLAY_SKIPPED_HOSTS="0",
    )
    return subprocess.run(command, env=environment, check=False).returncode


def binding(number: int) -> dict[str, object]:
    """A small object of a kind that the new release stores in another version."""
    return {"metadata": {"name": f"binding-{number}"}, "spec": {"policyName": "none"}}


def show_the_bytes(plane: ControlPlane) -> dict[str, int]:
    """Read from etcd how they are stored."""
    versions = Counter(plane.etcd.stored_versions(f"/registry/{BINDINGS}/").values())
    for version, count in versions.items():
        CONSOLE.print(f"  etcd holds {count} {BINDINGS} as {version}")
    return dict(versions)


if __name__ == "__main__":
    sys.exit(main())
