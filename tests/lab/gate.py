"""What `upgrade_gate` says of a control plane, and its remedies, run as they are printed."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from . import binaries
from .ansible import look
from .recorder import Recorder, call_module


def audited(recorder: Recorder, **options: Any) -> dict[str, Any]:
    """An audit of what is stored, as options for the gate."""
    seen = look(recorder.plane)
    audit = call_module("storage_audit", **etcd_options(recorder), **options)
    assert not audit.get("failed"), audit
    return {"audit": audit, "audited_after": seen}


def etcd_options(recorder: Recorder) -> dict[str, Any]:
    """How to reach the etcd of a control plane."""
    etcd = recorder.plane.etcd
    return {
        "endpoints": [etcd.url],
        "ca_cert": str(etcd.ca),
        "client_cert": str(etcd.certificate),
        "client_key": str(etcd.key),
    }


def judge(recorder: Recorder, to: str = "1.37.0", **options: Any) -> Any:
    """The verdict on a step from where the control plane is."""
    return recorder.call("upgrade_gate", **{"to_release": to, "fail": False, **options})


def found(verdict: Mapping[str, Any], check: str) -> dict[str, Any]:
    """What one check found, by resource; what it found of all of them, under an empty name."""
    return {
        resource: one
        for one in verdict["findings"]
        if one["check"] == check
        for resource in one["resources"] or [""]
    }


def stopped_by(verdict: Mapping[str, Any]) -> set[tuple[str, str]]:
    """The checks that stop a step, each with the resource."""
    return {
        (one["check"], resource)
        for one in verdict["findings"]
        if one["severity"] == "block"
        or (one["severity"] == "acknowledgeable" and not one["acknowledged"])
        for resource in one["resources"] or [""]
    }


def run_remedy(
    recorder: Recorder, finding: Mapping[str, Any], directory: Path, *, how: str = "command"
) -> None:
    """Run the command of a finding as it is printed, in a shell that is set up for the cluster."""
    command = finding[how]
    assert command, finding
    programs = directory / "programs"
    programs.mkdir(exist_ok=True)
    for program in (
        binaries.kubernetes("kubectl", binaries.DEFAULT_RELEASE),
        binaries.etcd("etcdctl"),
    ):
        link = programs / program.name
        if not link.exists():
            link.symlink_to(binaries.find(program))
    inventory = directory / "inventory.yml"
    # Tests change definitions and go on: in the lab servers follow them at once.
    inventory.write_text("all: {hosts: {localhost: {migrate_settle: 0, migrate_speed: full}}}\n")
    environment = {
        **os.environ,
        "PATH": f"{programs}:{Path(sys.executable).parent}:{os.environ['PATH']}",
        "K8S_AUTH_KUBECONFIG": str(recorder.kubeconfig()),
        "ANSIBLE_INVENTORY": str(inventory),
        "ANSIBLE_NOCOLOR": "1",
    }
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", command],
        cwd=directory,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"
