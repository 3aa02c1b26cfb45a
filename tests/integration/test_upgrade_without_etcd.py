"""An upgrade where etcd can't be read, as with a managed control plane."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from lab.control_plane import PrivateNetwork, ServerSpec, control_plane
from lab.upgrade import FEW_OBJECTS, Cluster, contents, outdated, populate, rollable, said

OLD, NEW = "1.36.3", "1.37.0"
BLIND = {"upgrade_etcd": False}


@pytest.fixture(scope="module")
def blind(network: PrivateNetwork) -> Iterator[Cluster]:
    """One server whose etcd nobody may read."""
    with control_plane(ServerSpec(release=OLD), network=network) as plane, rollable(plane) as one:
        populate(plane, None, FEW_OBJECTS)
        yield one


def test_it_stops_and_says_once_what_is_not_known_and_how_to_have_etcd_read(
    blind: Cluster,
) -> None:
    done = blind.upgrade(NEW, **BLIND)

    words = " ".join(said(done).split())
    assert done.returncode != 0
    assert "nothing was touched" in words
    assert "etcd was not read: keys of kinds that no server serves may be left there" in words
    assert "-e upgrade_etcd_host=HOST" in words
    assert done.stdout.count("  stored-unknown: ") == 2
    assert set(blind.releases().values()) == {f"v{OLD}"}


def test_once_that_is_acknowledged_everything_is_migrated_first_and_it_goes_on(
    blind: Cluster,
) -> None:
    # given somebody who takes the risk of what no server serves and of what expires by itself
    before = contents(blind.plane)
    step = {"from": OLD, "to": NEW, "reason": "etcd is the provider's"}
    known = [
        {"check": "keys-unseen", **step},
        {"check": "stored-unknown", "resource": "events", **step},
        {"check": "stored-unknown", "resource": "events.events.k8s.io", **step},
    ]

    # when
    done = blind.upgrade(NEW, **BLIND, preflight_acknowledgements=known)

    # then what was not known is migrated before the first server is touched
    assert done.returncode == 0, said(done)
    tasks = [line for line in done.stdout.splitlines() if line.startswith("TASK [")]
    migrated = next(i for i, line in enumerate(tasks) if "Rewrite what may be stored" in line)
    rolled = next(i for i, line in enumerate(tasks) if "Control plane | " in line)
    assert migrated < rolled
    assert set(blind.releases().values()) == {f"v{NEW}"}
    assert outdated(blind.plane) == {}
    assert contents(blind.plane) == before
