"""The rolling upgrade of real servers, by the playbook, while somebody uses them."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from lab.control_plane import ControlPlane, PrivateNetwork, ServerSpec, control_plane
from lab.recorder import Recorder
from lab.traffic import Client, client
from lab.upgrade import GROUP, Cluster, contents, outdated, populate, rollable, said
from lab.webhooks import Webhooks

OLD, NEW = "1.36.3", "1.37.0"
OBJECTS = 5000
POLICIES = "mutatingadmissionpolicies.admissionregistration.k8s.io"
BINDINGS = "mutatingadmissionpolicybindings.admissionregistration.k8s.io"


@dataclass
class Story:
    """An upgrade, and what was before it."""

    cluster: Cluster
    before: dict[str, Any]
    done: subprocess.CompletedProcess[str]
    client: Client

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
        before = contents(plane)
        assert len(before) == OBJECTS
        with client(plane) as someone:
            done = cluster.upgrade(NEW)
        yield Story(cluster, before, done, someone)


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
    recorder = Recorder(story.plane)
    for name, state in recorder.states().items():
        status = state["status"]
        current = [status["currentStorageVersionHash"]]
        assert status["persistedStorageVersionHashes"] == current, name


def test_each_server_was_gated_and_the_differences_told(story: Story) -> None:
    assert story.done.stdout.count("is ready, and tells what it stores") == 3
    [told, *_later] = [line for line in story.done.stdout.splitlines() if "differently" in line]
    assert POLICIES in told
    assert BINDINGS in told


def test_the_snapshot_was_verified(story: Story) -> None:
    assert "restored into an etcd of its own" in story.done.stdout


def test_a_second_run_changes_nothing(story: Story) -> None:
    again = story.cluster.upgrade(NEW)
    assert again.returncode == 0, said(again)
    assert "changed=0" in again.stdout
    assert not any(
        "changed=" in line and "changed=0" not in line for line in again.stdout.splitlines()
    ), again.stdout
