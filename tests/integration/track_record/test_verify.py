"""Verification, and the course of an upgrade: verdicts that were given and were not true."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lab import gate
from lab.ansible import MODULES, run_playbook, tasks
from lab.control_plane import PrivateNetwork, PrivateNetworkV6, ServerSpec, control_plane
from lab.objects import CRDS, crd
from lab.recorder import Recorder
from lab.upgrade import PLAYBOOKS, rollable, said
from lab.waiting import eventually

EVENTS = "verified except events and events.events.k8s.io"


@pytest.fixture
def recorder(only_server: Recorder) -> Recorder:
    """The same, of which nothing is recorded yet."""
    only_server.forget()
    return only_server


def verify(recorder: Recorder, **arguments: Any) -> Any:
    """The verdict on everything."""
    return recorder.tell(verify=True, **arguments)["verification"]


# --- what is verified ---


def test_servers_that_show_no_hashes_leave_nothing_verified(network: PrivateNetwork) -> None:
    # given servers of which nobody can know what they write
    blind = ServerSpec(feature_gates={"StorageVersionHash": False})
    with control_plane(blind, network=network) as plane:
        environment = {"K8S_AUTH_KUBECONFIG": str(plane.kubeconfig())}

        # when some of it is to be migrated
        done = run_playbook(
            PLAYBOOKS / "migrate.yml",
            variables={"migrate_settle": 0, "migrate_resources": ["*.apps"]},
            environment=environment,
        )

        # then it is said that nothing was, and nothing is verified either
        assert done.returncode != 0, said(done)
        assert "not verified: 5 of 5 resources" in " ".join(said(done).split())
        found = verify(Recorder(plane))
        assert not found["verified"]
        assert {"pods", "secrets", "deployments.apps"} <= set(found["unproved"])


def test_without_a_record_only_an_audit_of_the_same_run_verifies(recorder: Recorder) -> None:
    assert not verify(recorder)["verified"]

    found = verify(recorder, **gate.audited(recorder))

    assert (found["verified"], found["words"]) == (True, EVENTS), found["reasons"]
    assert set(found["proved_by"]) == {"etcd"}


def test_a_stale_record_and_a_definition_that_lists_old_versions_are_not_verified(
    recorder: Recorder,
) -> None:
    # given a custom resource whose version was changed, and that is migrated
    name = "gauges.verify.example.com"
    recorder.plane.create_crds(crd("gauges", "verify.example.com", storage="v1"))
    versions = crd("gauges", "verify.example.com", storage="v2")["spec"]["versions"]
    old = recorder.shown_hash(name)
    recorder.api.patch(f"{CRDS}/{name}", {"spec": {"versions": versions}})
    eventually(lambda: recorder.shown_hash(name) != old, within=30)
    recorder.observe()
    recorder.vouch_for_all()

    # then what the definition says besides is a reason
    found = verify(recorder)
    assert found["unpruned"] == {name: ["verify.example.com/v1"]}
    assert not found["verified"]

    # and so is a record that nobody has confirmed, once the definition is pruned
    recorder.api.patch(f"{CRDS}/{name}/status", {"status": {"storedVersions": ["v2"]}})
    assert verify(recorder)["words"] == EVENTS
    recorder.age(name, seconds=3600)
    assert f"the record of {name} is stale" in str(verify(recorder)["unproved"][name]).lower()
    named = verify(recorder, left_out=["gauges.*"])
    assert named["words"] == f"verified except events, events.events.k8s.io and {name}"


# --- the proof that a silent server has ended ---

# As a user whom the kernel shows nobody else's processes. Here everybody is root, so it is the
# capabilities that are taken away; and only hidepid=4 makes no exception for root's group.
BLIND = (
    "mount -t proc -o hidepid=4 proc /proc &&"
    " exec setpriv --bounding-set=-all --inh-caps=-all --no-new-privs"
)


@pytest.fixture
def kube_apiserver(tmp_path: Path) -> Path:
    """A program of that name, which stays until it is ended."""
    program = tmp_path / "kube-apiserver"
    shutil.copy(shutil.which("sleep") or "", program)
    return program


@pytest.fixture
def silent_server(kube_apiserver: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A process of an API server that answers nobody."""
    with subprocess.Popen([kube_apiserver, "600"]) as process:
        yield process
        process.kill()


def look_for_servers(directory: Path, *within: str) -> Any:
    """What the module says, run by a command of one's own."""
    arguments = directory / "arguments.json"
    arguments.write_text(json.dumps({"ANSIBLE_MODULE_ARGS": {"pattern": "kube-apiserver 600$"}}))
    module = [sys.executable, "-m", f"{MODULES}.server_process_info", str(arguments)]
    done = subprocess.run([*within, *module], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)


def test_a_server_that_the_kernel_hides_is_not_proved_to_have_ended(
    silent_server: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    # given somebody who can't see the processes of others, and so no server either
    blind = ["unshare", "--mount", "sh", "-c", f'{BLIND} "$@"', "sh"]
    unseen = subprocess.run([*blind, "pgrep", "-x", "kube-apiserver"], check=False)
    assert unseen.returncode == 1

    # when
    seen = look_for_servers(tmp_path, *blind)

    # then
    assert not seen["ended"]
    assert "process 1, which is always there, can't be seen" in seen["blind"]


def test_a_server_in_a_container_is_found_and_its_end_is_proved(
    kube_apiserver: Path, tmp_path: Path
) -> None:
    container = ["unshare", "--pid", "--mount-proc", "--fork", "--kill-child"]
    with subprocess.Popen([*container, kube_apiserver, "600"]) as process:
        while not (seen := look_for_servers(tmp_path))["processes"]:
            assert process.poll() is None
        assert not seen["ended"]
        process.kill()

    assert look_for_servers(tmp_path)["ended"]


# --- what an earlier run has left ---


def test_a_note_that_a_step_was_judged_dies_when_all_servers_are_back_on_the_old_release(
    recorder: Recorder,
) -> None:
    # given the note of a run that was stopped, and no server that it had upgraded
    by = {"name": "upgrade", "owner": "a run that was stopped"}
    recorder.call("lock", **by, note="v1.36.3 and v1.37.0")
    recorder.call("lock", **by, state="released")
    server = recorder.plane.servers["cp-1"]

    # when
    values = {"plan_release": "1.37.0", "plan_hosts": {"cp-1": server.url}}
    role = {"name": "lockstep.kubernetes.plan"}
    done = run_playbook(
        tasks({"ansible.builtin.include_role": role, "vars": values}),
        environment={"K8S_AUTH_KUBECONFIG": str(recorder.kubeconfig())},
    )

    # then nobody takes one that is begun otherwise for it
    assert done.returncode == 0, said(done)
    assert recorder.call("lock", **by, if_held="tell")["note"] == ""


# --- servers on IPv6 ---


def test_servers_and_etcd_on_ipv6_addresses_are_found_read_and_planned(
    network: PrivateNetwork,
) -> None:
    with (
        control_plane(ServerSpec(), network=PrivateNetworkV6()) as plane,
        rollable(plane) as cluster,
    ):
        recorder = Recorder(plane)
        recorder.install()
        # given an inventory that has only the address of the host
        inventory = json.loads(cluster.inventory.read_text())
        hosts = inventory["kube_control_plane"]["hosts"]
        hosts["cp-1"] = {"ansible_host": plane.servers["cp-1"].address}
        cluster.inventory.write_text(json.dumps(inventory))

        # when
        found = verify(recorder, **gate.audited(recorder))
        begun = cluster.upgrade("1.37.0", playbook="phases/begin")

        # then
        assert (found["verified"], found["words"]) == (True, EVENTS), found["reasons"]
        assert begun.returncode == 0, said(begun)
        assert "upgrade to v1.37.0: 0 of 1 server done; next cp-1." in begun.stdout


# --- where tasks run ---

# In place of ssh: enters a host that lacks all that the control node's Python has.
ENTER_HOST = f"""#!/bin/sh
for asked; do :; done
echo "$asked" >> $(dirname "$0")/asked
exec unshare --mount sh -c 'mount -t tmpfs none {sys.prefix} && exec sh -c "$0"' "$asked"
"""


def test_a_host_that_is_delegated_to_is_reached_and_keeps_its_own_interpreter(
    recorder: Recorder, tmp_path: Path
) -> None:
    # given a host that is reached as Ansible does by default, and a localhost in the inventory
    ssh = tmp_path / "ssh"
    ssh.write_text(ENTER_HOST)
    ssh.chmod(0o755)
    host = {
        "ansible_ssh_executable": str(ssh),
        "ansible_pipelining": True,
        "ansible_user": "root",
        "ansible_python_interpreter": f"{sys.base_prefix}/bin/python3",
    }
    inventory = tmp_path / "inventory.json"
    inventory.write_text(json.dumps({"all": {"hosts": {"cp-1": host, "localhost": {}}}}))
    etcd = recorder.plane.etcd

    # when etcd is read from there
    done = run_playbook(
        PLAYBOOKS / "preflight.yml",
        inventory=inventory,
        variables={
            "kubernetes_version": "1.36.3",
            "preflight_fail": False,
            "preflight_etcd_host": "cp-1",
            "preflight_etcd_endpoints": [etcd.url],
            "preflight_etcd_ca_cert": str(etcd.ca),
            "preflight_etcd_client_cert": str(etcd.certificate),
            "preflight_etcd_client_key": str(etcd.key),
        },
        environment={"K8S_AUTH_KUBECONFIG": str(recorder.kubeconfig())},
    )

    # then it is that host that reads it
    assert done.returncode == 0, said(done)
    assert f"{sys.base_prefix}/bin/python3" in (tmp_path / "asked").read_text()
