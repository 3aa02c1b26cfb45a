# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Keys in etcd: which resource each belongs to, and where a resource's keys are."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide import keys, names
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.errors import (
    LockstepError,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.keys import (
    INTERNAL,
    RESOURCE,
    UNMAPPED,
    KeyRange,
    KeySpace,
)

SPACE = KeySpace("/registry")


@pytest.mark.parametrize(
    ("key", "resource"),
    [
        ("/registry/pods/default/web-0", "pods"),
        ("/registry/minions/node-1", "nodes"),
        ("/registry/services/specs/default/kubernetes", "services"),
        ("/registry/services/endpoints/default/kubernetes", "endpoints"),
        ("/registry/controllers/default/old", "replicationcontrollers"),
        ("/registry/ingress/default/web", "ingresses.networking.k8s.io"),
        ("/registry/podsecuritypolicy/restricted", "podsecuritypolicies.policy"),
        ("/registry/deployments/default/web", "deployments.apps"),
        ("/registry/leases/kube-system/apiserver-x", "leases.coordination.k8s.io"),
        ("/registry/events/default/web.17", "events"),
        (
            "/registry/apiextensions.k8s.io/customresourcedefinitions/widgets.example.com",
            "customresourcedefinitions.apiextensions.k8s.io",
        ),
        (
            "/registry/apiregistration.k8s.io/apiservices/v1.apps",
            "apiservices.apiregistration.k8s.io",
        ),
        ("/registry/example.com/widgets/default/one", "widgets.example.com"),
        ("/registry/example.com/widgets/cluster-wide", "widgets.example.com"),
    ],
)
def test_a_key_belongs_to_a_resource(key, resource):
    place = SPACE.place(key.encode())
    assert (place.kind, place.name) == (RESOURCE, resource)
    assert key.encode().startswith(place.directory)


@pytest.mark.parametrize(
    ("key", "kind", "name"),
    [
        ("/registry/ranges/serviceips", INTERNAL, "ranges"),
        ("/registry/masterleases/192.0.2.10", INTERNAL, "masterleases"),
        ("/registry/peerserverleases/abc", INTERNAL, "peerserverleases"),
        ("/registry/sprockets/default/one", UNMAPPED, "/registry/sprockets"),
        ("/registry/pods", UNMAPPED, "/registry/pods"),
        ("/registry/services/other/one", UNMAPPED, "/registry/services/other"),
        ("/registry/example.com/widgets", UNMAPPED, "/registry/example.com"),
        (
            "/registry/wardle.example.com/wardle.example.com/flunders/default/a",
            UNMAPPED,
            "/registry/wardle.example.com/wardle.example.com",
        ),
        ("/registry//pods/x", UNMAPPED, "/registry/"),
        ("/elsewhere/pods/default/web", UNMAPPED, "/elsewhere/pods/default/web"),
    ],
)
def test_what_is_no_resources_is_never_guessed_at(key, kind, name):
    place = SPACE.place(key.encode())
    assert (place.kind, place.name) == (kind, name)


@given(st.binary(max_size=60))
def test_every_key_has_a_place_that_it_begins_with(rest):
    key = b"/registry/" + rest
    place = SPACE.place(key)
    assert key.startswith(place.directory)
    assert place.name


STEPS = st.sampled_from(
    [b"pod", b"pods", b"services", b"specs", b"example.com", b"widgets", b"ranges", b"", b"\xff"]
)
KEYS = st.lists(STEPS, min_size=1, max_size=5).map(lambda steps: b"/registry/" + b"/".join(steps))


@given(KEYS, st.binary(max_size=30))
def test_whatever_begins_with_the_directory_of_a_place_belongs_there(key, rest):
    place = SPACE.place(key)
    assert place.holds(key) or not place.directory
    if place.directory:
        assert SPACE.place(place.directory + rest) == place


@pytest.mark.parametrize("resource", sorted(keys.DIRECTORIES))
def test_every_built_in_resource_is_found_where_it_is_read(resource):
    (chosen,) = SPACE.ranges([resource])
    key = chosen.start + b"default/one"
    assert chosen.start <= key < chosen.end
    assert SPACE.place(key).name == resource


LABELS = st.from_regex(r"[a-z]([a-z0-9-]{0,8}[a-z0-9])?", fullmatch=True)


@given(plural=LABELS, group=st.lists(LABELS, min_size=2, max_size=4).map(".".join), name=LABELS)
def test_custom_resources_round_trip(plural, group, name):
    resource = names.resource_name(group=group, plural=plural)
    if resource not in keys.DIRECTORIES:
        (chosen,) = SPACE.ranges([resource])
        assert SPACE.place(chosen.start + name.encode()).name == resource


@pytest.mark.parametrize(
    ("patterns", "starts"),
    [
        (["*"], ["/registry/"]),
        (["pods"], ["/registry/pods/"]),
        (["pods", "pods"], ["/registry/pods/"]),
        (["services", "nodes"], ["/registry/minions/", "/registry/services/specs/"]),
        (["pod*"], ["/registry/pods/", "/registry/podtemplates/"]),
        (["widgets.example.com"], ["/registry/example.com/widgets/"]),
        (["*.example.com"], ["/registry/example.com/"]),
        (["*.example.com", "widgets.example.com"], ["/registry/example.com/"]),
        (["events.events.k8s.io"], ["/registry/events/"]),
        (["*.batch"], ["/registry/batch/", "/registry/cronjobs/", "/registry/jobs/"]),
        (["*.*.com"], ["/registry/"]),
        (["nothing"], []),
    ],
)
def test_only_what_is_chosen_is_read(patterns, starts):
    assert [one.start.decode() for one in SPACE.ranges(patterns)] == starts


@pytest.mark.parametrize(
    ("key", "name"),
    [
        ("/registry/pods/default/web-0", "default/web-0"),
        ("/registry/minions/node-1", "node-1"),
        ("/registry/services/specs/default/kubernetes", "default/kubernetes"),
        ("/registry/clusterroles/system:node", "system:node"),
        ("/registry/example.com/widgets/default/one", "default/one"),
        ("/registry/example.com/widgets/cluster-wide", "cluster-wide"),
        ("/registry/pods/default/web/deeper", ""),
        ("/registry/pods/default/", ""),
        ("/registry/pods//web", ""),
        ("/registry/pods/", ""),
        (b"/registry/pods/default/\xff", ""),
    ],
)
def test_a_key_names_an_object_and_its_namespace(key, name):
    key = key if isinstance(key, bytes) else key.encode()
    assert keys.object_name(key, SPACE.place(key).directory) == name


@pytest.mark.parametrize("resource", ["events", "events.events.k8s.io"])
def test_the_same_objects_are_known_by_either_name(resource):
    assert keys.same_objects(resource) == ("events", "events.events.k8s.io")
    assert keys.same_objects("pods") == ("pods",)


def test_events_are_chosen_by_either_group():
    assert keys.chosen("events", ["events.events.k8s.io"])
    assert keys.chosen("events", ["events"])
    assert not keys.chosen("events", ["pods"])


@pytest.mark.parametrize("given_", ["/registry", "registry", "/registry/", "//registry//"])
def test_a_prefix_is_taken_as_api_servers_take_it(given_):
    assert keys.normalise_prefix(given_) == "/registry"


@pytest.mark.parametrize("wrong", ["", "/", "/..", "a/./b"])
def test_a_prefix_that_is_none_is_refused(wrong):
    with pytest.raises(LockstepError, match="etcd_prefix"):
        keys.normalise_prefix(wrong)


def test_a_prefix_of_several_parts_is_kept_apart_from_its_neighbours():
    space = KeySpace("/a/b")
    assert space.whole == KeyRange(b"/a/b/", b"/a/b0")
    assert space.place(b"/a/b/pods/default/x").name == "pods"


@given(st.binary(min_size=1, max_size=5), st.binary(max_size=5))
def test_a_range_holds_exactly_what_begins_with_its_prefix(prefix, rest):
    found = keys.below(prefix)
    assert found.start <= prefix + rest
    assert not found.end or prefix + rest < found.end
    if found.end:
        assert not found.end.startswith(prefix)
