# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Names of resources in each API, and patterns."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide import names
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.errors import (
    InvalidNameError,
    LockstepError,
)

LABELS = st.from_regex(r"[a-z]([a-z0-9-]{0,8}[a-z0-9])?", fullmatch=True)
GROUPS = st.lists(LABELS, max_size=4).map(".".join).filter(lambda group: group != "core")


@pytest.mark.parametrize(
    ("resource", "storage_version"),
    [
        ("pods", "core.pods"),
        ("deployments.apps", "apps.deployments"),
        ("ingresses.networking.k8s.io", "networking.k8s.io.ingresses"),
    ],
)
def test_a_storage_version_is_named_group_first(resource, storage_version):
    assert names.storage_version_name(resource) == storage_version
    assert names.resource_of_storage_version(storage_version) == resource


@pytest.mark.parametrize("resource", ["pods", "deployments.apps", "ingresses.networking.k8s.io"])
def test_a_storage_state_is_named_as_the_resource(resource):
    assert names.storage_state_name(resource) == resource
    assert names.resource_of_storage_state(resource) == resource


@given(plural=LABELS, group=GROUPS)
def test_names_round_trip_through_every_api(plural, group):
    resource = names.resource_name(group=group, plural=plural)
    assert names.split_resource(resource) == (plural, group)
    assert names.resource_of_storage_version(names.storage_version_name(resource)) == resource
    assert names.resource_of_storage_state(names.storage_state_name(resource)) == resource
    assert names.matches(resource=resource, pattern=resource)


@given(group=GROUPS, version=LABELS)
def test_a_group_version_round_trips(group, version):
    written = names.join_group_version(group=group, version=version)
    assert names.split_group_version(written) == (group, version)


@pytest.mark.parametrize("name", ["", "Pods", "pods.", ".apps", "apps/deployments", "pods/status"])
def test_what_is_no_resource_is_named_in_the_error(name):
    with pytest.raises(InvalidNameError) as caught:
        names.split_resource(name)
    assert repr(name) in str(caught.value)


@pytest.mark.parametrize("name", ["pods", "", "apps.", "Apps.deployments"])
def test_what_is_no_storage_version_is_named_in_the_error(name):
    with pytest.raises(InvalidNameError) as caught:
        names.resource_of_storage_version(name)
    assert repr(name) in str(caught.value)


@pytest.mark.parametrize(
    ("group_version", "path"), [("v1", "/api/v1"), ("/v1", "/api/v1"), ("apps/v1", "/apis/apps/v1")]
)
def test_the_path_of_a_group_version(group_version, path):
    assert names.api_path(group_version) == path


def test_the_path_of_a_resource_in_a_namespace():
    path = names.resource_path(group_version="apps/v1", plural="deployments", namespace="shop")
    assert path == "/apis/apps/v1/namespaces/shop/deployments"


@pytest.mark.parametrize("group_version", ["", "apps/", "a/b/c"])
def test_what_is_no_group_version_is_refused(group_version):
    with pytest.raises(InvalidNameError):
        names.split_group_version(group_version)


@pytest.mark.parametrize(
    ("version", "group_version"),
    [("v1", "apps/v1"), ("apps/v1", "apps/v1"), ("extensions/v1beta1", "extensions/v1beta1")],
)
def test_a_version_gets_its_group_where_it_has_none(version, group_version):
    assert names.group_version_of(resource="deployments.apps", version=version) == group_version


KNOWN = (
    "pods",
    "podtemplates",
    "deployments.apps",
    "statefulsets.apps",
    "pods.metrics.k8s.io",
    "widgets.example.com",
    "widgets.sub.example.com",
)


@pytest.mark.parametrize(
    ("pattern", "chosen"),
    [
        ("deployments.apps", {"deployments.apps"}),
        ("pods", {"pods"}),
        ("pod*", {"pods", "podtemplates"}),
        ("*.apps", {"deployments.apps", "statefulsets.apps"}),
        ("*.example.com", {"widgets.example.com"}),
        ("*.*.example.com", {"widgets.sub.example.com"}),
        ("*", set(KNOWN)),
        ("nosuch", set()),
    ],
)
def test_a_pattern_chooses(pattern, chosen):
    assert set(names.select_resources(resources=KNOWN, patterns=[pattern])) == chosen


@pytest.mark.parametrize(
    "pattern", ["", "Deployments.apps", "apps/deployments", "a b", "pods.", "[a]"]
)
def test_a_bad_pattern_is_a_domain_error_that_names_it(pattern):
    with pytest.raises(LockstepError) as caught:
        names.select_resources(resources=KNOWN, patterns=["pods", pattern])
    assert isinstance(caught.value, ValueError)
    assert repr(pattern) in str(caught.value)
    assert "deployments.apps" in caught.value.remedy


def test_patterns_that_chose_nothing_are_told_in_the_order_given():
    patterns = ["zebras", "pods", "*.apps", "deployment.apps"]
    assert names.unmatched_patterns(resources=KNOWN, patterns=patterns) == (
        "zebras",
        "deployment.apps",
    )


@pytest.mark.parametrize(
    ("group", "pattern", "expected"),
    [
        ("apps", "deployments.apps", True),
        ("batch", "deployments.apps", False),
        ("", "pods", True),
        ("apps", "pods", False),
        ("", "deployments.apps", False),
        ("example.com", "*.example.com", True),
        ("batch", "*", True),
        ("", "*", True),
    ],
)
def test_a_group_is_read_only_if_a_pattern_could_choose_in_it(group, pattern, expected):
    assert names.may_match(group=group, patterns=[pattern]) is expected
