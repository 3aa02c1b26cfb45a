# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The catalogue of releases: how it is read, and what it answers."""

from __future__ import annotations

import pytest

from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.catalogue import (
    format_catalogue,
    parse_catalogue,
    parse_catalogues,
    parse_release,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.catalogue.data import (
    RELEASES,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.errors import (
    LockstepError,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.hashes import hash_of

OLD = """\
release v1.36.3
emulated
how by hand
when 2026-11-16
events|Event|namespaced|r2yiGXH7wu8=|v1|v1|events.k8s.io/v1 v1
events.events.k8s.io|Event|namespaced|r2yiGXH7wu8=|/v1|v1|v1 v1beta1 /v1
workloads.scheduling.k8s.io|Workload|namespaced|vSX7gJe5Mx8=|v1alpha2|v1alpha2|v1alpha2
"""
NEW = OLD.replace("v1.36.3", "v1.37.0").replace(
    "vSX7gJe5Mx8=|v1alpha2|v1alpha2|v1alpha2", "AAAAAAAAAAA=|v1beta1|v1beta1|v1beta1"
)
DEFAULTS = OLD.replace("|v1alpha2\n", "|v1alpha2||v1alpha2\n")
EMULATING = NEW.replace("emulated", "emulated 1.36")
WORKLOADS = "workloads.scheduling.k8s.io"


@pytest.fixture
def known():
    return parse_catalogues("\n".join((OLD, NEW, EMULATING)))


def test_versions_are_read_with_their_group():
    events = parse_catalogue(OLD).resources["events.events.k8s.io"]
    assert events.encoding == "v1"
    assert events.served == ("events.k8s.io/v1",)
    assert events.decodable == ("events.k8s.io/v1", "events.k8s.io/v1beta1", "v1")


def test_what_is_written_is_what_was_read():
    assert format_catalogue(parse_catalogue(OLD)) == OLD
    assert format_catalogue(parse_catalogue(DEFAULTS)) == DEFAULTS


def test_a_long_line_is_wrapped_and_read_back():
    versions = " ".join(f"v1beta{number}" for number in range(8))
    long = DEFAULTS.replace("|v1alpha2||v1alpha2\n", f"|{versions}||{versions}\n")
    told = format_catalogue(parse_catalogue(long))
    assert max(map(len, told.splitlines())) <= 150
    assert parse_catalogue(told) == parse_catalogue(long)


def test_what_is_served_by_default_is_not_known_unless_the_line_tells():
    told = parse_catalogue(DEFAULTS).resources[WORKLOADS]
    untold = parse_catalogue(OLD).resources[WORKLOADS]
    assert (told.by_default, told.by_runtime_config) == ((), ("scheduling.k8s.io/v1alpha2",))
    assert untold.by_default is None


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ("v1.36.3", "v1.36.3"),
        ("1.36.3", "v1.36.3"),
        # Patch releases do not change what is stored.
        ("v1.36.9", "v1.36.3"),
        # Builds of vendors may.
        ("v1.36.3+k3s1", None),
        ("v1.35.0", None),
    ],
)
def test_a_release_is_found_by_its_minor_but_a_vendors_only_by_itself(known, wanted, found):
    release = known.find(wanted)
    assert (release.release if release else None) == found


def test_one_that_emulates_is_another_entry(known):
    assert str(known.find("v1.37.0")) == "v1.37.0"
    assert str(known.find("v1.37.0", emulated="1.36")) == "v1.37.0 emulating 1.36"
    assert known.find("v1.37.0", emulated="1.35") is None


def test_a_hash_stands_for_what_a_release_encodes(known):
    assert known.version_of(WORKLOADS, "vSX7gJe5Mx8=") == "scheduling.k8s.io/v1alpha2"
    assert known.version_of(WORKLOADS, "never-seen") is None
    assert known.version_of("pods", "vSX7gJe5Mx8=") is None


def test_the_last_release_with_a_resource_is_told(known):
    without = parse_catalogue("\n".join(NEW.splitlines()[:-1]))
    assert known.with_release(without).last_with(WORKLOADS) == "v1.36.3"
    assert known.last_with("podsecuritypolicies.policy") is None


def test_a_users_own_catalogue_takes_the_place_of_ours(known):
    own = parse_catalogue(OLD.replace("by hand", "by the vendor"))
    assert known.with_release(own).find("v1.36.3").how == "by the vendor"


@pytest.mark.parametrize(
    ("text", "named"),
    [
        (OLD.replace("|v1alpha2|v1alpha2|", "|"), "Line 7"),
        (OLD.replace("|namespaced|r", "|everywhere|r"), "Line 5"),
        (OLD + "what is this", "Line 8"),
        ("release 1.36", "'1.36' is no release"),
        ("release v1.36.3", "is empty"),
    ],
)
def test_what_cant_be_read_is_named(text, named):
    with pytest.raises(LockstepError, match=named):
        parse_catalogue(text)


def test_releases_compare_as_numbers():
    assert parse_release("v1.9.11") < parse_release("v1.10.0")


class TestShipped:
    """What the collection itself brings."""

    def test_every_encoding_is_decodable_and_has_the_hash_that_was_measured(self):
        shipped = parse_catalogues(RELEASES)
        assert shipped.releases
        for release in shipped.releases:
            for one in release.resources.values():
                assert one.encoding in one.decodable, (release, one)
                assert hash_of(group_version=one.encoding, kind=one.kind) == one.storage_hash

    def test_a_version_that_takes_no_flag_takes_no_feature_gate_either(self):
        for release in parse_catalogues(RELEASES).releases:
            for one in release.resources.values():
                assert set(one.by_default or ()) <= set(one.by_runtime_config) <= set(one.served)

    def test_it_is_written_as_the_tool_writes_it(self):
        for release in parse_catalogues(RELEASES).releases:
            assert format_catalogue(release).strip() in RELEASES
