"""Control planes that several tests share, since none of them disturbs it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace

import pytest

from lab.control_plane import ControlPlane, PrivateNetwork, ServerSpec, control_plane
from lab.fixtures import network, pytest_runtest_makereport, start
from lab.processes import Process
from lab.recorder import Recorder
from lab.upgrade import FEW_OBJECTS, Cluster, populate, rollable

__all__ = ["network", "pytest_runtest_makereport", "start"]


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave long tests to the long run, and begin with those that take minutes."""
    if not os.environ.get("LOCKSTEP_LONG"):
        long = [item for item in items if item.get_closest_marker("long")]
        config.hook.pytest_deselected(items=long)
        items[:] = [item for item in items if item not in long]
    items.sort(key=lambda item: not item.path.name.startswith(("test_upgrade", "test_kubeadm")))


@pytest.fixture(scope="session")
def three_servers(network: PrivateNetwork) -> Iterator[ControlPlane]:
    """Three servers of one release that agree. Leave them as they are."""
    spec = ServerSpec().with_storage_version_api()
    with control_plane(spec, spec, spec, network=network) as plane:
        yield plane


@pytest.fixture(scope="session")
def disagreement(network: PrivateNetwork) -> Iterator[ControlPlane]:
    """Three servers, the third of which emulates 1.34. Leave them as they are."""
    spec = ServerSpec().with_storage_version_api()
    with control_plane(
        spec, spec, replace(spec, emulated_version="1.34"), network=network
    ) as plane:
        yield plane


@pytest.fixture(scope="session")
def two_servers(network: PrivateNetwork) -> Iterator[ControlPlane]:
    """Two servers that agree, without the StorageVersion API. Put right what you disturb."""
    with control_plane(ServerSpec(), ServerSpec(), network=network) as plane:
        yield plane


@pytest.fixture(scope="session")
def recorded_server(network: PrivateNetwork) -> Iterator[Recorder]:
    """One server with our definitions. Use `recorder`, which begins with nothing recorded."""
    with control_plane(ServerSpec(), network=network) as plane:
        recorder = Recorder(plane)
        recorder.install()
        yield recorder


@pytest.fixture
def recorder(recorded_server: Recorder) -> Recorder:
    """One server with our definitions, of which nothing is recorded yet."""
    recorded_server.forget()
    return recorded_server


@pytest.fixture(scope="module")
def only_server(network: PrivateNetwork) -> Iterator[Recorder]:
    """One server with our definitions, and nothing that other tests left."""
    with control_plane(ServerSpec(), network=network) as plane:
        recorder = Recorder(plane)
        recorder.install()
        yield recorder


@pytest.fixture
def migrator(recorder: Recorder) -> Iterator[Process]:
    """The real migrator at work on it."""
    process = recorder.plane.start_migrator("--kube-api-qps=200", "--kube-api-burst=500")
    yield process
    process.stop()


@pytest.fixture
def cluster(network: PrivateNetwork) -> Iterator[Cluster]:
    """Two servers of an old release with a few objects, for a test to roll."""
    spec = ServerSpec(release="1.36.3")
    with control_plane(spec, spec, network=network) as plane, rollable(plane) as cluster:
        populate(plane, None, FEW_OBJECTS)
        yield cluster
