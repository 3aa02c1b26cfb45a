"""Upgrades past an aggregated API: it may stay unknown, and never stops what can be known."""

from __future__ import annotations

from collections.abc import Iterator
from subprocess import CompletedProcess

import pytest

from lab.aggregated import FLUNDERS, WARDLE, Wardle
from lab.load_balancer import LoadBalancer
from lab.upgrade import Cluster, outdated, said

OLD, NEW = "1.36.3", "1.37.0"
LEFT_OUT = {"upgrade_left_out": [f"*.{WARDLE}"]}
BOTH = f"fischers.{WARDLE} and {FLUNDERS}"


@pytest.fixture
def wardle(cluster: Cluster) -> Iterator[Wardle]:
    """An aggregated API with two endpoints, of which nobody can know what each writes."""
    wardle = Wardle(cluster.plane)
    address, port = wardle.endpoint
    other = LoadBalancer(address, port + 1, backends=lambda: [wardle.endpoint])
    wardle.stand_on(wardle.endpoint, (address, port + 1))
    yield wardle
    other.close()


def words(done: CompletedProcess[str]) -> str:
    return " ".join(said(done).split())


def test_it_is_named_before_any_server_is_touched_and_can_be_left_out(
    cluster: Cluster, wardle: Wardle
) -> None:
    # When nobody has said what to do about it.
    stopped = cluster.upgrade(NEW)

    # Then the upgrade stops before the first server, and says how to go on.
    assert stopped.returncode != 0
    assert "aggregated-unknown" in stopped.stdout
    assert FLUNDERS in stopped.stdout
    assert "name it in upgrade_left_out" in words(stopped)
    assert set(cluster.releases().values()) == {f"v{OLD}"}

    # When it is left out by name.
    done = cluster.upgrade(NEW, **LEFT_OUT)

    # Then all servers are upgraded, and every result names it.
    assert done.returncode == 0, said(done)
    assert set(cluster.releases().values()) == {f"v{NEW}"}
    assert outdated(cluster.plane) == {}
    told = words(done)
    assert f"Left out: {BOTH}" in told
    assert f"Left out, since it can't be known: {BOTH}" in told
    assert f"agreed except {BOTH}" in told
    assert "verified except" in told

    # When it is not available at all, a later run goes on without it as well.
    wardle.stand_on()
    again = cluster.upgrade(NEW, **LEFT_OUT)
    assert again.returncode == 0, said(again)
    assert f"agreed except *.{WARDLE}" in words(again)

    # When it has one endpoint, nothing has to be left out.
    wardle.stand_on(wardle.endpoint)
    known = cluster.upgrade(NEW)
    assert known.returncode == 0, said(known)
    assert "agreed except" not in words(known)
