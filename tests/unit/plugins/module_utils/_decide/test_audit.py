# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The audit: counting, going on from an earlier one, and what it says to people."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.audit import (
    Audit,
    StoredIdentity,
    StoreSight,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.errors import (
    LockstepError,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.increments import Source
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.keys import (
    INTERNAL,
    KeySpace,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.tally import (
    Encodings,
    Ledger,
    read_encodings,
)

SOURCE = Source(cluster_id="abc", revision=100, raft_term=3)
CANARY = "canary-7f3a"


def object_of(version, kind="Widget"):
    return json.dumps({"apiVersion": version, "kind": kind, "data": CANARY}).encode()


def ledger_of(stored, patterns=("*",), encodings=None, moved=()):
    """The ledger, and what it has counted."""
    ledger = Ledger(KeySpace("/registry"), patterns, encodings, moved=moved)
    for key, value in sorted((key.encode(), value) for key, value in stored.items()):
        ledger.add(key, value)
    return ledger, ledger.cut()


def tallies_of(stored, **more):
    return ledger_of(stored, **more)[1]


STORE = StoreSight(SOURCE, "https://192.0.2.1:2379", "3.6.16", "grpc")


def audit_of(stored, patterns=("*",), *, moved=(), **more):
    ledger, tallies = ledger_of(stored, patterns, more.get("encodings"), moved)
    facts = {
        "stores": (STORE,),
        "tallies": tallies,
        "patterns": tuple(patterns),
        "prefix": "/registry",
        "since": "packed",
        "incremental": False,
        "stored_keys": len(stored),
        "read_keys": len(stored),
        "seconds": 0.1,
        "outdated": ledger.outdated,
    }
    return Audit(**{**facts, **more})


EVENTS = StoreSight(
    Source("def", 77, 2), "https://192.0.2.2:2379", "3.6.16", "grpc", resources=("events",)
)
MIXED = {
    "/registry/example.com/widgets/a": object_of("example.com/v1"),
    "/registry/example.com/widgets/b": object_of("example.com/v2"),
    "/registry/example.com/widgets/c": object_of("example.com/v2"),
    "/registry/pods/default/web": object_of("v1", "Pod"),
    "/registry/ranges/serviceips": object_of("v1", "RangeAllocation"),
}


def test_keys_are_counted_by_resource_version_and_kind():
    result = audit_of(MIXED).to_dict()
    widgets = result["resources"]["widgets.example.com"]
    assert widgets["keys"] == 3
    assert widgets["versions"] == {"example.com/v1": 1, "example.com/v2": 2}
    assert widgets["kinds"] == ["Widget"]
    assert widgets["encryption"] == {"identity": 3}
    assert widgets["bytes"] == 3 * len(object_of("example.com/v1"))
    assert set(result["resources"]) == {"pods", "widgets.example.com"}
    assert result["internal"]["ranges"]["keys"] == 1
    assert result["totals"]["keys"] == 5


def test_the_verdict_comes_first_and_ends_in_what_to_do():
    assert audit_of(MIXED).to_dict()["summary"] == [
        "mixed: 2 resources, 5 keys, 0.0 MB at revision 100.",
        "  widgets.example.com: 1 in example.com/v1, 2 in example.com/v2.",
        "To do: migrate what is stored in several versions once all servers agree.",
    ]


@pytest.mark.parametrize(
    ("key", "value", "verdict"),
    [
        ("/registry/pods/default/web", object_of("v1", "Pod"), "uniform"),
        ("/registry/secrets/default/s", b"k8s:enc:aescbc:v1:key1:xx", "unknown"),
        ("/registry/sprockets/one", object_of("v1"), "unknown"),
        ("/registry/pods/default/bad", b"garbage", "undecodable"),
        ("/registry/ranges/serviceips", b"garbage", "undecodable"),
    ],
)
def test_unknown_is_never_a_pass(key, value, verdict):
    found = audit_of({key: value})
    assert found.verdict == verdict
    assert found.to_dict()["summary"][0].startswith(f"{verdict}: ")


def test_encrypted_values_are_counted_by_key_and_their_version_is_unknown():
    result = audit_of(
        {
            "/registry/secrets/a/1": b"k8s:enc:aescbc:v1:key1:xx",
            "/registry/secrets/a/2": b"k8s:enc:aescbc:v1:key2:xx",
            "/registry/secrets/a/3": object_of("v1", "Secret"),
        }
    ).to_dict()
    secrets = result["resources"]["secrets"]
    assert secrets["versions"] == {"Unknown": 2, "v1": 1}
    assert secrets["encryption"] == {"aescbc:v1:key1": 1, "aescbc:v1:key2": 1, "identity": 1}
    assert result["totals"]["encrypted_keys"] == 2


def test_undecodable_keys_are_named_up_to_a_bound_and_all_counted():
    stored = {f"/registry/pods/default/bad-{number:03}": b"garbage" for number in range(50)}
    result = audit_of(stored).to_dict()
    pods = result["resources"]["pods"]
    assert pods["undecodable_keys"] == 50
    assert len(pods["undecodable"]) == 20
    assert pods["undecodable"][0]["key"] == "/registry/pods/default/bad-000"
    assert "and 30 more keys beside it" in " ".join(result["summary"])


def test_directories_of_no_resource_are_named_up_to_a_bound():
    stored = {f"/registry/heap-{number:03}/x": b"{}" for number in range(200)}
    result = audit_of(stored).to_dict()
    assert len(result["unmapped"]) == 51
    assert result["unmapped"]["others"]["keys"] == 150
    assert result["totals"]["unmapped_keys"] == 200


@pytest.mark.parametrize(
    ("stray", "beside", "resource"),
    [
        ("/registry/pod", "/registry/pods/default/web", "pods"),
        ("/registry/services/a", "/registry/services/specs/default/web", "services"),
        ("/registry/example.com/a", "/registry/example.com/widgets/a", "widgets.example.com"),
        ("/registry/example.com", "/registry/example.com/widgets/a", "widgets.example.com"),
    ],
)
def test_a_stray_key_takes_no_other_key_with_it(stray, beside, resource):
    stored = {stray: b"{}", beside: object_of("v1beta1")}
    assert audit_of(stored).to_dict()["resources"][resource]["versions"] == {"v1beta1": 1}


STEPS = st.sampled_from(
    [
        "pod",
        "pods",
        "podtemplates",
        "services",
        "specs",
        "endpoints",
        "other",
        "example.com",
        "example.community",
        "widgets",
        "widget",
        "ranges",
        "default",
        "\xe9",
        "",
    ]
)
KEYS = st.lists(STEPS, min_size=1, max_size=4).map(lambda steps: "/registry/" + "/".join(steps))


@given(st.sets(KEYS, max_size=30))
def test_where_a_key_is_counted_does_not_depend_on_the_others(stored):
    counted = {
        place: tally.keys for place, tally in tallies_of(dict.fromkeys(stored, b"?")).items()
    }
    places = [KeySpace("/registry").place(key.encode()) for key in stored]
    assert counted == Counter((place.kind, place.name) for place in places)


def test_only_chosen_resources_are_counted():
    result = audit_of(MIXED, ["*.example.com", "nothing"]).to_dict()
    assert set(result["resources"]) == {"widgets.example.com"}
    assert not result["internal"]
    assert result["unmatched"] == ["nothing"]


def test_no_value_is_in_the_result():
    stored = {**MIXED, "/registry/pods/default/bad": CANARY.encode()}
    found = audit_of(stored)
    assert CANARY not in json.dumps(found.to_dict())


VALUES = st.sampled_from(
    [object_of("example.com/v1"), object_of("example.com/v2"), b"k8s:enc:aescbc:v1:k:x", b"?"]
)
STORES = st.dictionaries(st.integers(0, 30).map("/registry/example.com/widgets/{}".format), VALUES)


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (
            {"stores": (replace(STORE, later_revisions=(150,)),)},
            "the rest was read at revision 150",
        ),
        ({"stores": (STORE, EVENTS)}, "keep events in another etcd"),
        ({"notes": ("The connection broke.",)}, "The connection broke."),
    ],
)
def test_notes_say_what_the_counts_mean(more, says):
    assert any(says in note for note in audit_of(MIXED, **more).to_dict()["notes"])


def test_of_what_another_etcd_holds_its_own_revision_is_told():
    result = audit_of(MIXED, stores=(STORE, EVENTS)).to_dict()
    assert result["revision"] == 100
    assert result["revisions"] == {"events": 77, "events.events.k8s.io": 77}
    assert [store["resources"] for store in result["stores"]] == [[], ["events"]]
    overtaken = audit_of(MIXED, stores=(STORE, replace(EVENTS, later_revisions=(80,)))).to_dict()
    assert overtaken["revisions"]["events"] == 0


def test_what_is_left_behind_of_a_resource_that_moved_is_nobodys():
    stored = {**MIXED, "/registry/events/default/a": object_of("v1", "Event")}
    result = audit_of(stored, moved=["events"]).to_dict()
    assert "events" not in result["resources"]
    assert result["unmapped"]["/registry/events"]["keys"] == 1
    assert result["verdict"] == "unknown"


def test_an_etcd_that_may_have_shown_less_makes_it_unknown_and_says_why():
    stored = {"/registry/pods/default/web": object_of("v1", "Pod")}
    doubtful = replace(STORE, not_believed="member b did not answer")
    result = audit_of(stored, stores=(doubtful,)).to_dict()
    assert (result["verdict"], result["believable"]) == ("unknown", False)
    assert result["reasons"] == ["member b did not answer"]
    assert "  member b did not answer." in result["summary"]
    sound = audit_of(stored).to_dict()
    assert (sound["verdict"], sound["believable"], sound["reasons"]) == ("uniform", True, [])


def test_the_cluster_is_told_by_its_bytes():
    assert audit_of(MIXED).to_dict()["cluster"] == {"uid": "", "key_revision": 0}
    known = audit_of(MIXED, cluster=StoredIdentity("abc-1", 5)).to_dict()
    assert known["cluster"] == {"uid": "abc-1", "key_revision": 5}


def test_internal_keys_have_versions_too():
    tally = tallies_of(MIXED)[INTERNAL, "ranges"]
    assert tally.versions == {"v1": 1}


WIDGETS = "widgets.example.com"
V2 = Encodings({WIDGETS: "example.com/v2", "pods": "v1"}, limit=10)


def outdated_of(stored, encodings=V2, **more):
    """What the result says of each resource's outdated objects: names, count, whether it is all."""
    resources = audit_of(stored, encodings=encodings, **more).to_dict()["resources"]
    return {
        name: (one["outdated"], one["outdated_keys"], one["outdated_complete"])
        for name, one in resources.items()
        if "outdated" in one
    }


def test_objects_in_another_version_than_the_servers_write_are_named():
    stored = {
        **MIXED,
        "/registry/example.com/widgets/team/d": object_of("example.com/v1"),
        "/registry/pods/default/old": object_of("v0", "Pod"),
        "/registry/secrets/default/unasked": object_of("v0", "Secret"),
    }
    assert outdated_of(stored) == {
        WIDGETS: (["a", "team/d"], 2, True),
        "pods": (["default/old"], 1, True),
    }


def test_the_version_that_was_asked_for_is_told_and_nothing_without():
    result = audit_of(MIXED, encodings=V2).to_dict()["resources"]
    assert result[WIDGETS]["encoding_version"] == "example.com/v2"
    plain = audit_of(MIXED).to_dict()["resources"]
    assert not [name for one in plain.values() for name in one if "outdated" in name]


@pytest.mark.parametrize(
    ("limit", "names", "complete"), [(0, 0, False), (3, 3, False), (7, 7, True), (8, 7, True)]
)
def test_names_are_kept_up_to_the_limit_and_all_are_counted(limit, names, complete):
    stored = {f"/registry/example.com/widgets/{n}": object_of("example.com/v1") for n in range(7)}
    encodings = Encodings({WIDGETS: "example.com/v2"}, limit=limit)
    first = [str(n) for n in range(names)]
    assert outdated_of(stored, encodings) == {WIDGETS: (first, 7, complete)}


def test_with_nothing_outdated_no_limit_cuts():
    stored = {"/registry/pods/default/web": object_of("v1", "Pod")}
    assert outdated_of(stored, Encodings({"pods": "v1"}, limit=0)) == {"pods": ([], 0, True)}


@pytest.mark.parametrize(
    "value", [b"k8s:enc:aescbc:v1:key1:xx", b"garbage"], ids=["encrypted", "undecodable"]
)
def test_r4_what_can_not_be_seen_is_not_outdated_and_names_are_not_all(value):
    stored = {**MIXED, "/registry/example.com/widgets/z": value}
    assert outdated_of(stored)[WIDGETS] == (["a"], 1, False)


def test_r4_an_increment_that_has_counted_all_can_name_all():
    assert outdated_of(MIXED, incremental=True)[WIDGETS] == (["a"], 1, True)


def test_a_key_that_no_object_has_is_counted_and_not_named():
    stored = {"/registry/example.com/widgets/a/b/c": object_of("example.com/v1")}
    assert outdated_of(stored) == {WIDGETS: ([], 1, False)}


@pytest.mark.parametrize(
    ("encodings", "found"),
    [
        ({"events": "v1"}, (["default/a"], 1, True)),
        ({"events.events.k8s.io": "v1"}, (["default/a"], 1, True)),
        ({"events.events.k8s.io": "v1", "events": ""}, (["default/a"], 1, True)),
        ({"events.events.k8s.io": "v1", "events": "v1"}, (["default/a"], 1, True)),
        ({"events.events.k8s.io": "v2", "events": "v1"}, None),
    ],
)
def test_the_same_objects_are_held_against_either_name(encodings, found):
    stored = {"/registry/events/default/a": object_of("events.k8s.io/v1beta1", "Event")}
    assert outdated_of(stored, Encodings(encodings, limit=10)).get("events") == found


def test_what_is_outdated_is_in_the_summary_even_where_all_of_it_is():
    stored = {"/registry/example.com/widgets/a": object_of("example.com/v1")}
    assert audit_of(stored, encodings=V2).to_dict()["summary"][1:] == [
        "  widgets.example.com: 1 not in example.com/v2, which the servers write.",
        "To do: migrate what is stored in another version than the servers write.",
    ]


@given(STORES, st.integers(0, 12))
def test_names_are_all_that_differ_or_are_said_not_to_be(stored, limit):
    encodings = Encodings({WIDGETS: "example.com/v2"}, limit=limit)
    old = [key for key, value in sorted(stored.items()) if value == object_of("example.com/v1")]
    names = [key.rpartition("/")[2] for key in old]
    hidden = any(value[:1] != b"{" for value in stored.values())
    found = outdated_of(stored, encodings).get(WIDGETS)
    complete = not hidden and len(names) <= limit
    assert found == ((names[:limit], len(names), complete) if stored else None)


@pytest.mark.parametrize(
    ("given_", "version"),
    [
        ("apps/v1", "apps/v1"),
        ("v1", "v1"),
        ("/v1", "v1"),
        ("", ""),
        ({"encoding_version": "apps/v1", "status": "agreed"}, "apps/v1"),
        ({"encoding_version": "", "status": "disagreeing"}, ""),
    ],
)
def test_encodings_are_taken_as_they_come(given_, version):
    assert read_encodings({"deployments.apps": given_}, limit=5).of("deployments.apps") == version


def test_without_encodings_nothing_is_outdated():
    assert read_encodings(None, limit=5) == Encodings({}, limit=5)


@pytest.mark.parametrize(
    ("encodings", "says"),
    [
        ({"pods": 1}, "encodings holds 1 for 'pods'"),
        ({"pods": None}, "encodings holds None for 'pods'"),
        ({"pods": ["v1"]}, r"encodings holds \['v1'\] for 'pods'"),
        ({"pods": {"hash": "x"}}, "encodings holds {'hash': 'x'} for 'pods'"),
        ({"pods": {"encoding_version": 1}}, "for 'pods'"),
        ({"pods": "Unknown"}, "encodings holds 'Unknown' for 'pods'"),
        ({"pods": "a/b/v1"}, "encodings holds 'a/b/v1' for 'pods'"),
        ({"pods": "apps/"}, "for 'pods'"),
        ({"Pods": "v1"}, "encodings holds 'v1' for 'Pods'"),
        ({"*": "v1"}, "encodings holds 'v1' for '[*]'"),
        ({"agreed": True, "resources": {}}, "encodings holds True for 'agreed'"),
        ({"pods": {"x": "y" * 5000}}, r"\.\.\. for 'pods'"),
    ],
)
def test_encodings_that_are_none_are_refused(encodings, says):
    with pytest.raises(LockstepError, match=says) as refusal:
        read_encodings(encodings, limit=5)
    assert "resources that discovery_hash returned" in refusal.value.remedy
    assert len(refusal.value.what) < 200


def test_a_limit_below_zero_is_refused():
    with pytest.raises(LockstepError, match="outdated_limit is -1"):
        read_encodings(None, limit=-1)
