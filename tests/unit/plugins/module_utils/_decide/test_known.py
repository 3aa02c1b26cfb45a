# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a look need not read again, and what it must."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.known import (
    present_known,
    read_known,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.observations import (
    AggregatedSight,
    ClusterSight,
    CrdSight,
    Release,
)
from ansible_collections.lockstep.kubernetes.tests.unit.sights import (
    NOW,
    cluster,
    lease,
    served,
    server,
)

WIDGETS = "widgets.example.com"
CRD = CrdSight(WIDGETS, "uid", 1, changed=NOW - timedelta(hours=1))
RELEASE = Release("v1.36.3")


def seen(**more: Any) -> ClusterSight:
    """Two servers that differ in what they write."""
    servers = [
        server("a", served(WIDGETS, "example.com/v1")),
        server("b", served(WIDGETS, "example.com/v2")),
    ]
    return cluster(servers, [lease("a"), lease("b")], **{"crds": {WIDGETS: CRD}, **more})


def kept(sight: ClusterSight, *patterns: str) -> Any:
    """What is kept of a look, after its way through a playbook."""
    return read_known({"known": json.loads(json.dumps(present_known(sight, patterns or ["*"])))})


def test_what_a_process_showed_is_known_of_that_process() -> None:
    sight = seen()
    for one in sight.servers:
        found = kept(sight).find(
            one.address, start_time=one.start_time, release=RELEASE, crds=sight.crds
        )
        # Which cluster it is of is read anew each time.
        assert found == replace(one, ready=False, identity=None)


@pytest.mark.parametrize(
    "changed",
    [
        {"start_time": "another"},
        {"release": Release("v1.37.0")},
        {"release": Release("v1.36.3", emulated="1.35")},
        {"crds": {WIDGETS: replace(CRD, generation=2)}},
        {"crds": {WIDGETS: replace(CRD, uid="another")}},
        {"crds": {}},
        {"address": "c"},
    ],
)
def test_nothing_is_known_once_anything_that_encodings_hang_on_has_changed(
    changed: dict[str, Any],
) -> None:
    sight = seen()
    asked = {"address": "a", "start_time": "start-of-a", "release": RELEASE, "crds": sight.crds}
    assert kept(sight).find(**asked)
    assert kept(sight).find(**{**asked, **changed}) is None


@pytest.mark.parametrize(
    "more",
    [
        {"crds": {WIDGETS: replace(CRD, changed=NOW - timedelta(seconds=59))}},
        {"aggregated": {"a.example.com/v1": AggregatedSight("a.example.com/v1", "ns/a")}},
    ],
    ids=["a definition that servers may still be taking up", "an aggregated API"],
)
def test_nothing_is_kept_of_what_may_change_by_itself(more: dict[str, Any]) -> None:
    assert present_known(seen(**more), ["*"]) == {}


def test_nothing_is_kept_of_a_look_at_some_resources_only() -> None:
    assert present_known(seen(), ["*.example.com"]) == {}


def test_servers_that_could_not_be_read_whole_are_not_kept() -> None:
    whole = server("a", served("pods", "v1"))
    broken = server("b", fault="connection refused")
    partly = server("c", unreadable={"example.com/v1": "503"})
    known = kept(cluster([whole, broken, partly], [lease("a")]))
    assert list(known.servers) == ["a"]


def test_what_servers_show_alike_is_kept_once() -> None:
    servers = [server(address, served("pods", "v1")) for address in "abc"]
    [group] = present_known(cluster(servers, [lease(one) for one in "abc"]), ["*"])["servers"]
    assert [one["address"] for one in group["shown_by"]] == ["a", "b", "c"]


def test_a_result_without_it_makes_nothing_known() -> None:
    assert read_known(None).servers == {}
    assert read_known({"agreed": True}).servers == {}
