"""Aggregated APIs: the servers only proxy them, so that equal hashes prove nothing (R7)."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from lab.ansible import look
from lab.api import ApiError
from lab.control_plane import ControlPlane
from lab.load_balancer import LoadBalancer
from lab.objects import CRDS
from lab.processes import Process
from lab.recorder import STATES, Recorder
from lab.waiting import eventually

GROUP = "wardle.example.com"
FLUNDERS = f"flunders.{GROUP}"
SERVICE = "/api/v1/namespaces/wardle/services"
SLICES = "/apis/discovery.k8s.io/v1/namespaces/wardle/endpointslices"
API_SERVICES = "/apis/apiregistration.k8s.io/v1/apiservices"

Endpoint = tuple[str, int]


class Wardle:
    """The sample API behind a Service, with endpoints that a test chooses."""

    def __init__(self, plane: ControlPlane) -> None:
        self.plane = plane
        process, address, port = plane.start_sample_apiserver()
        self.process: Process = process
        self.endpoint: Endpoint = (address, port)
        self._slices: list[str] = []
        self._define()

    def stand_on(self, *endpoints: Endpoint) -> None:
        """Make these the endpoints of the Service, one EndpointSlice each."""
        for name in self._slices:
            self.plane.api.delete(f"{SLICES}/{name}")
        self._slices = [f"wardle-{number}" for number, _endpoint in enumerate(endpoints)]
        for name, (address, port) in zip(self._slices, endpoints, strict=True):
            self.plane.api.create(
                SLICES,
                {
                    "metadata": {"name": name, "labels": {"kubernetes.io/service-name": "wardle"}},
                    "addressType": "IPv4",
                    "ports": [{"name": "https", "port": port, "protocol": "TCP"}],
                    "endpoints": [{"addresses": [address], "conditions": {"ready": True}}],
                },
            )
        if endpoints:
            eventually(self.served, within=60)

    def remove(self) -> None:
        self.stand_on()
        for version in ("v1alpha1", "v1beta1"):
            self.plane.api.delete(f"{API_SERVICES}/{version}.{GROUP}")
        self.plane.api.delete(f"{SERVICE}/wardle")
        self.process.stop()

    def served(self) -> bool:
        """Whether every server passes requests on."""
        try:
            for server in self.plane.servers.values():
                for version in ("v1alpha1", "v1beta1"):
                    server.api.get(f"/apis/{GROUP}/{version}")
        except ApiError:
            return False
        return True

    def _define(self) -> None:
        api = self.plane.api
        api.create("/api/v1/namespaces", {"metadata": {"name": "wardle"}})
        port = {"name": "https", "port": 443, "protocol": "TCP"}
        api.create(SERVICE, {"metadata": {"name": "wardle"}, "spec": {"ports": [port]}})
        bundle = self.plane.authority.certificate_file.read_bytes()
        for version in ("v1alpha1", "v1beta1"):
            api.create(
                API_SERVICES,
                {
                    "metadata": {"name": f"{version}.{GROUP}"},
                    "spec": {
                        "group": GROUP,
                        "version": version,
                        "groupPriorityMinimum": 1000,
                        "versionPriority": 15,
                        "caBundle": base64.b64encode(bundle).decode(),
                        "service": {"namespace": "wardle", "name": "wardle", "port": 443},
                    },
                },
            )


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

    seen = look(wardle.plane, resources=[f"*.{GROUP}"])

    said = seen["resources"][FLUNDERS]
    assert seen["agreed"], seen["reasons"]
    assert said["status"] == "agreed"
    assert said["origin"] == "aggregated"
    assert said["encoding_version"] == f"{GROUP}/v1alpha1"
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

    seen = look(wardle.plane, resources=[f"*.{GROUP}"])

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
    assert agreed_on(seen, f"*.{GROUP}") == set()
    assert "deployments.apps" in agreed_on(seen, "*")
    assert any(GROUP in reason for reason in seen["reasons"])


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

    chosen = recorder.observe(f"*.{GROUP}", "pods")
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
