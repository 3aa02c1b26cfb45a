"""Lockstep around a playbook of somebody else, which rolls the servers in its own way."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from lab.upgrade import Cluster, contents, outdated, said, unproved

OLD, NEW = "1.36.3", "1.37.0"


def theirs(directory: Path, cluster: Cluster, *, hosts: str) -> dict[str, Any]:
    """A collection whose playbook rolls hosts one by one, with hooks, as kubespray's does."""
    playbooks = directory / "ansible_collections" / "someone" / "distribution" / "playbooks"
    playbooks.mkdir(parents=True)
    play = {
        "hosts": hosts,
        "gather_facts": False,
        "serial": 1,
        "vars": {"lockstep_release": NEW, "lockstep_emulated_version": ""},
        "tasks": [
            {"ansible.builtin.include_tasks": str(cluster.roll_server)},
            {
                "ansible.builtin.include_tasks": "{{ item }}",
                "loop": "{{ post_upgrade_hooks | default([]) }}",
            },
        ],
    }
    (playbooks / "upgrade_cluster.yml").write_text(json.dumps([play]))
    paths = f"{directory}:{os.environ['ANSIBLE_COLLECTIONS_PATH']}"
    return {
        "upgrade_by": "someone.distribution.upgrade_cluster",
        "environment": {"ANSIBLE_COLLECTIONS_PATH": paths},
    }


def test_the_step_is_judged_before_and_all_is_migrated_and_proved_after_their_roll(
    cluster: Cluster, tmp_path: Path
) -> None:
    before = contents(cluster.plane)
    by_them = theirs(tmp_path, cluster, hosts="kube_control_plane")

    done = cluster.upgrade(NEW, playbook="upgrade_around", **by_them)

    assert done.returncode == 0, said(done)
    assert f"v{OLD} to v{NEW}" in done.stdout
    # Once for each server, by the hook.
    assert done.stdout.count("Control plane | Record what every server stores now") == 2
    assert set(cluster.releases().values()) == {f"v{NEW}"}
    assert outdated(cluster.plane) == {}
    assert contents(cluster.plane) == before
    assert unproved(cluster.plane) == {}


def test_nothing_is_migrated_where_they_left_a_server_behind(
    cluster: Cluster, tmp_path: Path
) -> None:
    by_them = theirs(tmp_path, cluster, hosts="cp-1")

    done = cluster.upgrade(NEW, playbook="upgrade_around", **by_them)

    assert done.returncode != 0
    words = " ".join(done.stdout.split())
    left = "someone.distribution.upgrade_cluster has ended, and cp-2 does not run v1.37.0"
    assert left in words
    assert "Nothing was migrated" in words
    assert outdated(cluster.plane) != {}


def test_who_rolls_has_to_be_said(cluster: Cluster) -> None:
    done = cluster.upgrade(NEW, playbook="upgrade_around")

    assert done.returncode != 0
    words = " ".join(done.stdout.split())
    assert "upgrade_by is not given, so nobody rolls the cluster" in words
    assert set(cluster.releases().values()) == {f"v{OLD}"}
