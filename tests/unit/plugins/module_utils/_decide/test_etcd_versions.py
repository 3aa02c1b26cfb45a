# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Versions of etcd that are known to be bad, and when a read of one is believed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.etcd_versions import (
    KNOWN_BUGS,
    MEMBERSHIP,
    STALE_READS,
    parse_version,
    why_not_believed,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.observations import (
    EtcdMember,
    EtcdSight,
)


@pytest.mark.parametrize(
    ("version", "fixed"),
    [
        ("3.4.19", ""),
        ("3.4.20", "3.4.42"),
        ("3.4.41", "3.4.42"),
        ("3.4.42", ""),
        ("3.5.0", "3.5.28"),
        ("3.5.27", "3.5.28"),
        ("v3.5.27-k3s1", "3.5.28"),
        ("3.5.28", ""),
        ("3.6.0", "3.6.9"),
        ("3.6.8", "3.6.9"),
        ("3.6.9", ""),
        ("3.6.16", ""),
        ("3.7.0", ""),
        ("", ""),
        ("newest", ""),
    ],
)
def test_stale_reads_are_of_these_versions(version, fixed):
    assert STALE_READS.fixed_in(version) == fixed


@pytest.mark.parametrize(
    ("version", "fixed"),
    [("3.4.30", ""), ("3.5.0", "3.5.26"), ("3.5.25", "3.5.26"), ("3.5.26", ""), ("3.6.0", "")],
)
def test_membership_is_at_risk_in_these_versions(version, fixed):
    assert MEMBERSHIP.fixed_in(version) == fixed


def test_every_bug_has_a_source():
    assert all(url.startswith("https://") for bug in KNOWN_BUGS for url in bug.sources)
    assert all(first < fixed for bug in KNOWN_BUGS for first, fixed in bug.versions)


@given(st.text(max_size=20))
def test_no_text_raises(text):
    parse_version(text)


def member(name, version="3.6.16", **more):
    return EtcdMember(name, f"https://{name}:2379", **{"voter": True, "version": version, **more})


def silent(name, **more):
    return member(name, version="", fault="it does not answer", **more)


OLD = "3.5.21"


@pytest.mark.parametrize(
    ("members", "version"),
    [
        pytest.param([member("a", OLD)], OLD, id="one voter"),
        pytest.param([member("a", OLD), silent("b", voter=False)], OLD, id="the other can't vote"),
        pytest.param([member("a", OLD), member("b", OLD)], OLD, id="all voters answered"),
        pytest.param([member("a"), silent("b"), member("c")], "3.6.16", id="a sound version"),
        pytest.param(None, "3.6.16", id="a sound version that does not tell its members"),
    ],
)
def test_a_read_is_believed(members, version):
    assert why_not_believed(members, version) == ""


@pytest.mark.parametrize(
    ("members", "version", "says"),
    [
        pytest.param([member("a", OLD), silent("b")], OLD, "voting member b (it", id="old"),
        pytest.param(
            [member("a"), member("c", OLD), silent("b")], "3.6.16", OLD, id="one of them is old"
        ),
        pytest.param([member("a", ""), silent("b")], "", "of an unknown version", id="not told"),
        pytest.param(None, OLD, "does not tell its members", id="old, and members not told"),
        pytest.param(None, "", "of an unknown version does not tell", id="nothing is told"),
    ],
)
def test_a_read_that_may_be_stale_is_not_believed(members, version, says):
    told = why_not_believed(members, version)
    assert says in told
    assert "etcd/issues/20418" in told


def test_what_was_seen_of_etcd_can_be_read_back():
    sight = EtcdSight(("no leader",), 5, 10, "10.0.0.1", (member("a"), silent("b")))
    assert EtcdSight.from_dict(sight.to_dict()) == sight
    # As an earlier release told it.
    older = {"faults": [], "used_bytes": 5, "quota_bytes": 10}
    assert EtcdSight.from_dict(older).members == ()
