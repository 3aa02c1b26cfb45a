# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What an audit and the look before it say of one resource."""

from __future__ import annotations

import pytest

from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.audited import (
    AuditEvidence,
    read_audit,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.errors import (
    LockstepError,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.hashes import hash_of

SEEN = {"status": "agreed", "hash": "x", "kind": "Pod", "origin": "built-in", "source": "discovery"}


def evidence(counts, *, audited=("*",), elsewhere=(), seen=None):
    audit = {
        "resources": counts,
        "revision": 7,
        "audited": list(audited),
        "elsewhere": list(elsewhere),
    }
    return AuditEvidence(audit, {"resources": seen or {"pods": SEEN}, "epoch": {}})


def counted(versions, *, undecodable=0, shared=()):
    return {"versions": versions, "undecodable_keys": undecodable, "shared_with": list(shared)}


def test_versions_that_were_found_become_hashes():
    found = evidence({"pods": counted({"v1": 3})}).hashes(resource="pods", kind="Pod")
    assert found == (hash_of(group_version="v1", kind="Pod"),)


def test_no_keys_at_all_are_no_hashes():
    assert evidence({}).hashes(resource="pods", kind="Pod") == ()


def test_r4_what_is_encrypted_is_not_known():
    assert evidence({"pods": counted({"Unknown": 3})}).hashes(resource="pods", kind="Pod") is None


def test_r4_a_key_that_nobody_can_decode_is_unknown():
    found = evidence({"pods": counted({"v1": 3}, undecodable=1)})
    assert "Unknown" in found.hashes(resource="pods", kind="Pod")


def test_a_resource_that_is_the_same_objects_as_another_has_its_counts():
    events = counted({"v1": 2}, shared=["events.events.k8s.io"])
    found = evidence({"events": events}).hashes(resource="events.events.k8s.io", kind="Event")
    assert found == (hash_of(group_version="v1", kind="Event"),)


@pytest.mark.parametrize(
    ("given", "resource"),
    [
        pytest.param({"audited": ["*.example.com"]}, "pods", id="not audited"),
        pytest.param({"elsewhere": ["pods"]}, "pods", id="kept in another etcd"),
        pytest.param(
            {"elsewhere": ["events"], "seen": {"events.events.k8s.io": SEEN}},
            "events.events.k8s.io",
            id="kept in another etcd under its other name",
        ),
        pytest.param({}, "deployments.apps", id="not looked at before"),
        pytest.param(
            {"seen": {"novelties.new.k8s.io": SEEN}}, "novelties.new.k8s.io", id="unknown place"
        ),
    ],
)
def test_r8_an_audit_says_nothing_of_what_it_does_not_cover(given, resource):
    assert not evidence({}, **given).covers(resource)


def test_a_custom_resource_without_keys_is_covered():
    seen = {"widgets.example.com": {**SEEN, "origin": "custom"}}
    assert evidence({}, seen=seen).covers("widgets.example.com")


def outdated(counts, *, resource="pods", written="v1", **given):
    seen = {resource: {**SEEN, "encoding_version": written}}
    return evidence(counts, seen=seen, **given).outdated(resource)


def named(*found, complete=True, version="v1", shared=()):
    return {
        **counted({"v1": 3}, shared=shared),
        "encoding_version": version,
        "outdated": list(found),
        "outdated_keys": len(found),
        "outdated_complete": complete,
    }


def test_what_is_outdated_is_known_by_name():
    assert outdated({"pods": named("default/a", "default/b")}) == ("default/a", "default/b")
    assert outdated({"pods": named()}) == ()


def test_a_resource_without_keys_has_nothing_outdated():
    assert outdated({}) == ()


def test_the_same_objects_are_outdated_under_their_other_name():
    counts = {"events": named("default/a", shared=["events.events.k8s.io"])}
    assert outdated(counts, resource="events.events.k8s.io") == ("default/a",)


@pytest.mark.parametrize(
    ("counts", "given"),
    [
        pytest.param({"pods": named("default/a", complete=False)}, {}, id="not all named"),
        pytest.param({"pods": counted({"v1": 3})}, {}, id="none asked for"),
        pytest.param({"pods": named(version="v2")}, {}, id="held against another version"),
        pytest.param({"pods": named()}, {"written": ""}, id="servers that differ"),
        pytest.param({}, {"audited": ["secrets"]}, id="not audited"),
        pytest.param({}, {"elsewhere": ["pods"]}, id="kept in another etcd"),
    ],
)
def test_r4_what_is_outdated_is_not_known_unless_all_of_it_is(counts, given):
    assert outdated(counts, **given) is None


@pytest.mark.parametrize(("audit", "before"), [({}, {}), ({"resources": {}}, {}), ("text", None)])
def test_anything_but_results_is_refused(audit, before):
    with pytest.raises(LockstepError, match="The option audit"):
        read_audit(audit, before)


def test_without_an_audit_there_is_no_evidence():
    assert read_audit(None, None) is None
