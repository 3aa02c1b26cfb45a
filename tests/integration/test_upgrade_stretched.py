"""An upgrade whose servers and nodes take longer than a record stays fresh, as real ones do.

`LOCKSTEP_LONG=1` stretches it further; LOCKSTEP_WINDOW=600 gives it the durations of real clusters.
"""

from __future__ import annotations

import json
import os
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from urllib3.exceptions import HTTPError

from lab.ansible import running_modules
from lab.api import ApiError
from lab.control import ROLL_NODE
from lab.control_plane import PrivateNetwork, ServerSpec, control_plane
from lab.recorder import LEASES, STATES, parse_time
from lab.upgrade import (
    FEW_OBJECTS,
    Cluster,
    contents,
    populate,
    resource_versions,
    rollable,
    said,
    unproved,
)
from lab.waiting import eventually

OLD, NEW = "1.36.3", "1.37.0"
LONG = os.environ.get("LOCKSTEP_LONG") == "1"
# Seconds after which a record is stale.
WINDOW = float(os.environ.get("LOCKSTEP_WINDOW") or (60 if LONG else 30))
SERVERS = 3 if LONG else 2
# Much less than the upgrade takes.
LOCK_SECONDS = 45
LATER = max(300 if LONG else 0, 1.5 * WINDOW)


@dataclass
class Watch:
    """What was seen, every half second, of the records and of the lock while a run worked."""

    looks: int = 0
    stale: set[str] = field(default_factory=set)
    # Who held the lock, in order, and the longest that it was not renewed.
    holders: list[str] = field(default_factory=list)
    oldest_lock: float = 0.0


@dataclass
class Story:
    """A stretched upgrade, what was seen beside it, and a second run some time after it."""

    cluster: Cluster
    objects: dict[str, Any]
    versions: list[dict[str, str]]
    watch: Watch
    done: subprocess.CompletedProcess[str]
    again: subprocess.CompletedProcess[str]
    mark: dict[str, str]


@pytest.fixture(scope="module")
def story(network: PrivateNetwork) -> Iterator[Story]:
    specs = [ServerSpec(release=OLD)] * SERVERS
    with control_plane(*specs, network=network) as plane, rollable(plane) as cluster:
        populate(plane, None, FEW_OBJECTS)
        cluster.add_node("worker-1", f"v{OLD}")
        mark = {"LOCKSTEP_TEST": str(plane.directory)}
        slow = {
            **slowly(plane.directory),
            "lockstep_stale_after": WINDOW,
            "plan_lock_seconds": LOCK_SECONDS,
            "environment": mark,
        }
        objects, versions = contents(plane), [resource_versions(plane)]
        with watching(cluster) as watch:
            done = cluster.upgrade(NEW, **slow)
        versions.append(resource_versions(plane))
        time.sleep(LATER)
        again = cluster.upgrade(NEW, **slow)
        versions.append(resource_versions(plane))
        yield Story(cluster, objects, versions, watch, done, again, mark)


def slowly(directory: Path) -> dict[str, str]:
    """Tasks that stop a server for longer than the window, and take longer still for a node."""
    lab = "{{ lab_command }}"
    stop = f"{lab} stop {{{{ inventory_hostname }}}} --name {{{{ lab_name }}}}"
    server = [
        {"name": "Stop it", "ansible.builtin.command": stop, "changed_when": True},
        _pause(1.2 * WINDOW),
        {"ansible.builtin.include_tasks": str(Cluster.roll_server)},
    ]
    node = [_pause(1.5 * WINDOW), {"ansible.builtin.include_tasks": str(ROLL_NODE)}]
    found = {}
    for option, tasks in (("control_plane", server), ("node", node)):
        path = directory / f"slow_{option}.json"
        path.write_text(json.dumps(tasks))
        found[f"upgrade_{option}_tasks"] = str(path)
    return found


def _pause(seconds: float) -> dict[str, Any]:
    return {
        "name": "Take long",
        "ansible.builtin.command": f"sleep {seconds:g}",
        "changed_when": False,
    }


@contextmanager
def watching(cluster: Cluster) -> Iterator[Watch]:
    """Look at the records and at the lock, all the time."""
    watch, ended = Watch(), threading.Event()

    def follow() -> None:
        while not ended.wait(0.5):
            try:
                states = cluster.plane.api.get(STATES)["items"]
                lock = cluster.plane.api.get(f"{LEASES}/lockstep-upgrade")["spec"]
            except (ApiError, HTTPError, OSError):
                # Its server is being stopped, or nothing is recorded yet.
                continue
            now = datetime.now(UTC)
            watch.looks += 1
            for one in states:
                beaten = (one.get("status") or {}).get("lastHeartbeatTime")
                if beaten and (now - parse_time(beaten)).total_seconds() > WINDOW:
                    watch.stale.add(one["metadata"]["name"])
            holder = lock.get("holderIdentity") or ""
            if not watch.holders or watch.holders[-1] != holder:
                watch.holders.append(holder)
            if holder:
                age = (now - parse_time(lock["renewTime"])).total_seconds()
                watch.oldest_lock = max(watch.oldest_lock, age)

    thread = threading.Thread(target=follow, daemon=True)
    thread.start()
    try:
        yield watch
    finally:
        ended.set()
        thread.join()


def test_it_ends_with_all_on_the_new_release_and_no_object_lost(story: Story) -> None:
    assert story.done.returncode == 0, said(story.done)
    assert set(story.cluster.releases().values()) == {f"v{NEW}"}
    assert contents(story.cluster.plane) == story.objects


def test_no_record_is_ever_stale(story: Story) -> None:
    assert story.watch.looks > WINDOW
    assert story.watch.stale == set(), said(story.done)
    assert unproved(story.cluster.plane) == {}


def test_the_lock_is_held_throughout_by_one_run(story: Story) -> None:
    held = [one for one in story.watch.holders if one]
    assert len(held) == 1
    assert story.watch.holders[:1] == held
    assert story.watch.oldest_lock < LOCK_SECONDS


def test_only_objects_in_another_version_are_rewritten(story: Story) -> None:
    before, after, _later = story.versions
    changed = {name for name in before if before[name] != after[name]}
    policies = {name for name in before if "mutatingadmissionpolic" in name}
    assert changed == policies


def test_a_second_run_when_all_records_are_stale_changes_nothing(story: Story) -> None:
    assert story.again.returncode == 0, said(story.again)
    assert not [
        line
        for line in story.again.stdout.splitlines()
        if "changed=" in line and "changed=0" not in line
    ]
    assert story.versions[2] == story.versions[1]


def test_nothing_is_left_running(story: Story) -> None:
    assert story.done.returncode == 0
    eventually(lambda: running_modules("observer", marked=story.mark) == [], within=30)
