"""Waiting for agreement on custom resources, whose storage version can move at any time."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from lab.ansible import look
from lab.api import ApiError
from lab.control_plane import ControlPlane
from lab.load_balancer import LoadBalancer
from lab.objects import CRDS, crd
from lab.waiting import eventually

SETTLE = 4


@pytest.fixture
def define(two_servers: ControlPlane) -> Iterator[Callable[..., str]]:
    """Define custom resources, which go away with the test."""
    defined = []

    def create(plural: str, **versions: Any) -> str:
        definition = crd(plural, "waiting.example.com", **versions)
        two_servers.api.create(CRDS, definition)
        defined.append(definition["metadata"]["name"])
        return defined[-1]

    yield create
    for name in defined:
        two_servers.api.delete(f"{CRDS}/{name}")


@pytest.fixture
def progress(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file that a module reports its progress to."""
    path = tmp_path / "progress"
    path.touch()
    monkeypatch.setenv("LOCKSTEP_PROGRESS_FILE", str(path))
    return path


class TestCustomResources:
    def test_a_custom_resource_is_agreed_on_and_explained(
        self, two_servers: ControlPlane, define: Callable[..., str]
    ) -> None:
        name = define("gadgets", storage="v2")

        seen = look(two_servers, resources=[name], wait=True, settle=0)

        said = seen["resources"][name]
        definition = two_servers.api.get(f"{CRDS}/{name}")["metadata"]
        assert seen["agreed"]
        assert said["status"] == "agreed"
        assert said["origin"] == "custom"
        assert said["encoding_version"] == "waiting.example.com/v2"
        assert said["crd"] == {"uid": definition["uid"], "generation": definition["generation"]}
        assert len(said["servers"]) == 2

    def test_a_storage_version_that_is_not_served_is_unknown(
        self, two_servers: ControlPlane, define: Callable[..., str]
    ) -> None:
        name = define("hidden", storage="v2", served=("v1",))
        eventually(lambda: served_everywhere(two_servers, "hidden"), within=30)

        seen = look(two_servers, resources=[name])

        assert not seen["agreed"]
        assert seen["resources"][name]["status"] == "unknown"
        (reason,) = seen["resources"][name]["reasons"]
        assert f"the CustomResourceDefinition of {name} stores waiting.example.com/v2" in reason
        assert "which is not served" in reason

    def test_what_is_unknown_is_waited_for_unless_it_is_to_be_left_out(
        self, two_servers: ControlPlane, define: Callable[..., str]
    ) -> None:
        name = define("veiled", storage="v2", served=("v1",))
        eventually(lambda: served_everywhere(two_servers, "veiled"), within=30)
        options = {"resources": [name, "pods"], "wait": True, "settle": 0, "wait_timeout": 1}

        waited_for = look(two_servers, **options)
        left_out = look(two_servers, leave_out_unknown=True, **options)

        assert waited_for["failed"]
        assert "which is not served" in waited_for["msg"]
        assert not left_out.get("failed"), left_out
        assert left_out["verdict"] == "unknown"
        assert left_out["encodings"] == {"pods": "v1", name: ""}


class TestSettling:
    def test_a_storage_version_that_moves_during_the_wait_starts_it_anew(
        self, two_servers: ControlPlane, define: Callable[..., str], progress: Path
    ) -> None:
        name = define("movers", storage="v1")
        options = {"wait": True, "settle": SETTLE, "wait_sleep": 0.5, "wait_timeout": 60}
        with ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(look, two_servers, resources=[name], **options)
            eventually(lambda: seconds_held(progress) >= 2, within=30)
            moved = crd("movers", "waiting.example.com", storage="v2")["spec"]
            two_servers.api.patch(f"{CRDS}/{name}", {"spec": {"versions": moved["versions"]}})
            moved_at = time.monotonic()
            seen = waiting.result()
            held = time.monotonic() - moved_at

        assert seen["agreed"]
        assert seen["resources"][name]["encoding_version"] == "waiting.example.com/v2"
        assert held >= SETTLE
        assert seen["waited"] >= 2 + SETTLE

    def test_a_definition_changed_just_now_takes_a_minute_to_settle(
        self, two_servers: ControlPlane, define: Callable[..., str], progress: Path
    ) -> None:
        name = define("fresh", storage="v1")
        eventually(lambda: served_everywhere(two_servers, "fresh"), within=30)

        answer = look(two_servers, resources=[name], wait=True, wait_timeout=3, wait_sleep=0.5)

        assert answer["failed"]
        assert answer["agreed"]
        assert "No settled agreement after" in answer["msg"]
        assert "The servers agree, but not for as long as settle asks" in answer["msg"]
        assert "Raise wait_timeout, or lower settle" in answer["remedy"]
        assert progress.read_text().splitlines()[-1].endswith("of 60 s")

    def test_built_in_resources_settle_in_ten_seconds(
        self, three_servers: ControlPlane, progress: Path
    ) -> None:
        answer = look(three_servers, resources=["pods"], wait=True, wait_timeout=1, wait_sleep=0.5)

        assert answer["failed"]
        assert progress.read_text().splitlines()[-1].endswith("of 10 s")

    def test_waiting_for_servers_that_differ_fails_with_what_differs(
        self, disagreement: ControlPlane, progress: Path
    ) -> None:
        name = "resourceclaims.resource.k8s.io"

        answer = look(disagreement, resources=[name], wait=True, wait_timeout=1, wait_sleep=0.5)

        assert answer["failed"]
        assert not answer["agreed"]
        assert f"the servers encode {name} differently" in answer["msg"]
        assert "waiting for agreement on 1 of 1 resources" in progress.read_text()

    def test_an_agreement_seen_before_the_way_to_the_servers_broke_counts_for_nothing(
        self, three_servers: ControlPlane, progress: Path
    ) -> None:
        backends = [(one.address, one.port) for one in three_servers.servers.values()]
        way = LoadBalancer(three_servers.balancer.address, 7444, lambda: backends)
        kubeconfig = three_servers.kubeconfig(server=way.url)
        options = {"wait": True, "settle": 30, "wait_sleep": 0.5, "wait_timeout": 4}
        with ThreadPoolExecutor(1) as pool:
            waiting = pool.submit(look, three_servers, kubeconfig=kubeconfig, **options)
            eventually(lambda: "agreed" in progress.read_text(), within=30)
            way.close()
            answer = waiting.result()

        assert answer["failed"]
        assert f"The cluster can't be read through {way.url}" in answer["msg"]
        assert "agreed" not in answer

    def test_a_malformed_pattern_is_refused_without_waiting(
        self, three_servers: ControlPlane, progress: Path
    ) -> None:
        answer = look(three_servers, resources=["Pods"], wait=True, wait_timeout=600)

        assert "The option resources holds 'Pods'" in answer["msg"]
        assert progress.read_text() == ""


def served_everywhere(plane: ControlPlane, plural: str) -> bool:
    """Whether every server lists the resource under v1."""
    try:
        documents = [
            server.api.get("/apis/waiting.example.com/v1") for server in plane.servers.values()
        ]
    except ApiError:
        return False
    return all(plural in [item["name"] for item in one["resources"]] for one in documents)


def seconds_held(progress: Path) -> int:
    """For how long agreement has held, by the last line of progress."""
    found = re.findall(r"held for (\d+) of", progress.read_text())
    return int(found[-1]) if found else 0
