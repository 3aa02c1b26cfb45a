"""Aggregated APIs: the servers only proxy them, so that equal hashes prove nothing (R7)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from lab.aggregated import FLUNDERS, WARDLE, Endpoint, Wardle
from lab.ansible import look
from lab.control_plane import ControlPlane
from lab.load_balancer import LoadBalancer
from lab.objects import CRDS
from lab.recorder import STATES, Recorder
from lab.waiting import eventually


@pytest.fixture(scope="module")
def wardle(two_servers: ControlPlane) -> Iterator[Wardle]:
    """An aggregated API that both servers proxy."""
    wardle = Wardle(two_servers)
    yield wardle
    wardle.remove()


@pytest.fixture
def copies(wardle: Wardle) -> Iterator[Callable[..., Endpoint]]:
    """More ways to the same API: each at an address, or at a port, of its own."""
    opened: list[LoadBalancer] = []

    def copy(*, at: Endpoint) -> Endpoint:
        opened.append(LoadBalancer(*at, backends=lambda: [wardle.endpoint]))
        return at

    yield copy
    for balancer in opened:
        balancer.close()


def test_one_ready_endpoint_is_agreed_with_a_note(wardle: Wardle) -> None:
    wardle.stand_on(wardle.endpoint)

    seen = look(wardle.plane, resources=[f"*.{WARDLE}"])

    said = seen["resources"][FLUNDERS]
    assert seen["agreed"], seen["reasons"]
    assert said["status"] == "agreed"
    assert said["origin"] == "aggregated"
    assert said["encoding_version"] == f"{WARDLE}/v1alpha1"
    (note,) = said["notes"]
    address, port = wardle.endpoint
    assert f"one endpoint {address}:{port} of the Service wardle/wardle only" in note


@pytest.mark.parametrize("apart", ["by address", "by port"])
def test_two_ready_endpoints_are_unknown(
    wardle: Wardle, copies: Callable[..., Endpoint], apart: str
) -> None:
    address, port = wardle.endpoint
    other = wardle.plane.take_address()[0] if apart == "by address" else address
    wardle.stand_on(wardle.endpoint, copies(at=(other, port + 1)))

    seen = look(wardle.plane, resources=[f"*.{WARDLE}"])

    said = seen["resources"][FLUNDERS]
    assert not seen["agreed"]
    assert said["status"] == "unknown"
    assert "by the Service wardle/wardle, and that has 2 ready endpoints" in said["reasons"][0]
    assert "equal hashes prove nothing" in said["reasons"][0]


def test_an_aggregated_api_that_is_down_leaves_the_others_alone(wardle: Wardle) -> None:
    wardle.stand_on(wardle.endpoint)
    wardle.stand_on()
    eventually(lambda: not wardle.served(), within=30)

    seen = look(wardle.plane)

    assert not seen["agreed"]
    assert agreed_on(seen, f"*.{WARDLE}") == set()
    assert "deployments.apps" in agreed_on(seen, "*")
    assert any(WARDLE in reason for reason in seen["reasons"])


def test_an_aggregated_api_that_is_down_is_not_agreed_on_by_itself(wardle: Wardle) -> None:
    wardle.stand_on()
    eventually(lambda: not wardle.served(), within=30)

    seen = look(wardle.plane, resources=[FLUNDERS])

    assert not seen["agreed"]


@pytest.fixture
def recorder(two_servers: ControlPlane) -> Iterator[Recorder]:
    """The same servers with our definitions, which go away with the test."""
    recorder = Recorder(two_servers)
    recorder.install()
    yield recorder
    for plural in ("storagestates", "storageversionmigrations"):
        recorder.api.delete(f"{CRDS}/{plural}.migration.k8s.io")
    for server in two_servers.servers.values():
        eventually(lambda api=server.api: not api.answers(STATES), within=30)


def test_what_is_stored_of_it_is_recorded_only_if_it_is_named(
    wardle: Wardle, recorder: Recorder
) -> None:
    wardle.stand_on(wardle.endpoint)

    chosen = recorder.observe(f"*.{WARDLE}", "pods")
    named = recorder.observe(FLUNDERS)

    assert list(chosen["states"]) == ["pods"]
    assert list(named["states"]) == named["due"] == [FLUNDERS]


def agreed_on(seen: Any, pattern: str) -> set[str]:
    group = pattern.lstrip("*")
    return {
        name
        for name, one in seen["resources"].items()
        if name.endswith(group) and one["status"] == "agreed"
    }
