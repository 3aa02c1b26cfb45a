"""The rolling upgrade of real servers, by the playbook, while somebody uses them."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from lab.control_plane import ControlPlane, PrivateNetwork, ServerSpec, control_plane
from lab.traffic import Client, client
from lab.upgrade import GROUP, Cluster, contents, outdated, populate, rollable, said, unproved
from lab.webhooks import Webhooks

OLD, NEW = "1.36.3", "1.37.0"
OBJECTS = 5000
POLICIES = "mutatingadmissionpolicies.admissionregistration.k8s.io"
BINDINGS = "mutatingadmissionpolicybindings.admissionregistration.k8s.io"


PHASES = ["preflight", "pre_migrate", "snapshot", "control_plane", "nodes", "converge"]
PHASES += ["post_migrate", "verify"]


def hooks(directory: Path) -> dict[str, str]:
    """A file of tasks for every hook, which notes that it was called, and where."""
    found = {}
    for what in [*PHASES, "server", "node"]:
        for name in (f"before_{what}", f"after_{what}"):
            note = f"echo {name} $0 >> {directory / 'hooks'}"
            task = {
                "ansible.builtin.command": {"argv": ["sh", "-c", note, "{{ inventory_hostname }}"]}
            }
            path = directory / f"{name}.json"
            path.write_text(json.dumps([task]))
            found[f"lockstep_hooks_{name}"] = str(path)
    return found


@dataclass
class Story:
    """An upgrade, and what was before it."""

    cluster: Cluster
    before: dict[str, Any]
    done: subprocess.CompletedProcess[str]
    client: Client
    hooks: list[str]

    @property
    def plane(self) -> ControlPlane:
        return self.cluster.plane


@pytest.fixture(scope="module")
def story(network: PrivateNetwork) -> Iterator[Story]:
    """Three servers with 5000 objects, upgraded while somebody writes all the time."""
    spec = ServerSpec(release=OLD)
    with (
        control_plane(spec, spec, spec, network=network) as plane,
        Webhooks(plane) as webhooks,
        rollable(plane) as cluster,
    ):
        populate(plane, webhooks, OBJECTS)
        cluster.add_node("worker-1", f"v{OLD}")
        before = contents(plane)
        assert len(before) == OBJECTS
        with client(plane) as someone:
            done = cluster.upgrade(NEW, **hooks(plane.directory))
        called = (plane.directory / "hooks").read_text().splitlines()
        yield Story(cluster, before, done, someone, called)


def test_the_upgrade_ends_with_all_servers_on_the_new_release(story: Story) -> None:
    assert story.done.returncode == 0, said(story.done)
    assert set(story.cluster.releases().values()) == {f"v{NEW}"}


def test_no_object_is_lost_or_changed(story: Story) -> None:
    assert contents(story.plane) == story.before


def test_no_request_of_a_client_fails_beyond_the_server_that_is_restarted(story: Story) -> None:
    assert story.client.requests > 100
    assert story.client.failed == []
    assert story.client.refused_by_survivors() == []
    assert story.client.lost() == []


def test_all_bytes_are_in_the_versions_of_the_new_release(story: Story) -> None:
    assert outdated(story.plane) == {}
    assert set(story.plane.etcd.stored_versions(f"/registry/{GROUP}/plains").values()) == {
        f"{GROUP}/v1"
    }


def test_every_record_says_that_only_the_current_version_is_stored(story: Story) -> None:
    assert unproved(story.plane) == {}


def test_each_server_was_gated_and_the_differences_told(story: Story) -> None:
    assert story.done.stdout.count("is ready, and tells what it stores") == 3
    [told, *_later] = [line for line in story.done.stdout.splitlines() if "differently" in line]
    assert POLICIES in told
    assert BINDINGS in told


def test_the_snapshot_was_verified(story: Story) -> None:
    assert "restored into an etcd of its own" in story.done.stdout


def test_the_node_follows_and_is_schedulable_again(story: Story) -> None:
    node = story.plane.api.get("/api/v1/nodes/worker-1")
    assert node["status"]["nodeInfo"]["kubeletVersion"] == f"v{NEW}"
    assert not node["spec"].get("unschedulable")


def test_your_own_tasks_run_before_and_after_every_phase_server_and_node(story: Story) -> None:
    expected = []
    for phase in PHASES:
        expected.append(f"before_{phase} localhost")
        if phase == "control_plane":
            for host in ("cp-1", "cp-2", "cp-3"):
                expected += [f"before_server {host}", f"after_server {host}"]
        if phase == "nodes":
            expected += ["before_node worker-1", "after_node worker-1"]
        expected.append(f"after_{phase} localhost")
    assert story.hooks == expected


def test_a_second_run_changes_nothing(story: Story) -> None:
    again = story.cluster.upgrade(NEW)
    assert again.returncode == 0, said(again)
    assert "changed=0" in again.stdout
    assert not any(
        "changed=" in line and "changed=0" not in line for line in again.stdout.splitlines()
    ), again.stdout
