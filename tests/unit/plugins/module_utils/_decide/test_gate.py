# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a verdict is made of: findings, acknowledgements, and what Unknown does to both."""

from __future__ import annotations

from datetime import timedelta

import pytest

from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.errors import (
    LockstepError,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.gate import (
    Finding,
    decide_gate,
    read_acknowledgements,
)
from ansible_collections.lockstep.kubernetes.tests.unit.sights import NOW

CHECKS = ("stored-unknown", "stored-undecodable")


def finding(check="stored-unknown", severity="acknowledgeable", **more):
    return Finding(check, severity, "seen", "remedy", "audit", **more)


UNKNOWN = finding(resource="pods", unknown=True)
BLOCK = finding("stored-undecodable", "block", resource="pods")
WARNING = finding("unseen-change", "warn", resource="pods")


def judge(*findings, acknowledged=(), left_out=()):
    data = [
        {"check": "stored-unknown", "from": "1.36.3", "to": "1.37.0", **one} for one in acknowledged
    ]
    return decide_gate(
        findings,
        acknowledgements=read_acknowledgements(data, checks=CHECKS),
        from_release="v1.36.3",
        to_release="v1.37.0",
        now=NOW,
        left_out=left_out,
    )


def test_nothing_found_is_safe():
    assert (judge().safe, judge().passed) == ("true", True)


def test_a_warning_stops_nothing():
    assert (judge(WARNING).safe, judge(WARNING).passed) == ("true", True)


def test_something_unsafe_is_not_safe_and_stops():
    verdict = judge(BLOCK, UNKNOWN)
    assert (verdict.safe, verdict.passed) == ("false", False)


def test_unknown_is_never_a_pass():
    assert (judge(UNKNOWN).safe, judge(UNKNOWN).passed) == ("unknown", False)


def test_an_acknowledged_unknown_goes_on_and_stays_unknown():
    verdict = judge(UNKNOWN, acknowledged=[{}])
    assert (verdict.safe, verdict.passed) == ("unknown", True)
    assert "stored-unknown for v1.36.3 -> v1.37.0" in verdict.findings[0].acknowledged


def test_what_is_left_out_by_name_goes_on_and_stays_unknown():
    unknown = finding(resource="flunders.wardle.example.com", unknown=True)
    verdict = judge(unknown, left_out=["flunders.wardle.example.com"])
    assert (verdict.passed, verdict.safe) == (True, "unknown")
    assert verdict.findings[0].acknowledged == "it is left out by name"


@pytest.mark.parametrize(
    "other",
    [
        finding(resource="pods", unknown=True),
        finding(resource="flunders.wardle.example.com", unknown=False),
        finding(resource="flunders.wardle.example.com", severity="block", unknown=True),
    ],
    ids=["another resource", "known to be unsafe", "what blocks"],
)
def test_leaving_out_covers_nothing_else(other):
    assert not judge(other, left_out=["flunders.wardle.example.com"]).passed


def test_what_blocks_cant_be_acknowledged():
    data = [{"check": "stored-undecodable"}]
    verdict = judge(BLOCK, acknowledged=data)
    assert not verdict.passed
    assert len(verdict.unused) == 1


@pytest.mark.parametrize("other", [{"to": "1.38.0"}, {"from": "1.35.0"}, {"resource": "secrets"}])
def test_an_acknowledgement_of_something_else_does_not_count_and_is_reported(other):
    verdict = judge(UNKNOWN, acknowledged=[other])
    assert not verdict.passed
    assert len(verdict.unused) == 1


def test_one_that_names_the_resource_counts():
    assert judge(UNKNOWN, acknowledged=[{"resource": "pods"}]).passed


def test_one_that_has_expired_does_not_count_and_is_reported():
    past = (NOW - timedelta(days=1)).isoformat()
    verdict = judge(UNKNOWN, acknowledged=[{"expires": past}])
    assert not verdict.passed
    assert len(verdict.expired) == 1
    assert judge(UNKNOWN, acknowledged=[{"expires": (NOW + timedelta(days=1)).isoformat()}]).passed


def test_what_a_cure_helps_is_told():
    assert judge(UNKNOWN, WARNING).cured_by("audit") == ("pods",)
    assert judge(UNKNOWN).cured_by("migration") == ()


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ("all", "must be a list"),
        (["stored-unknown"], "must have check, from and to"),
        ([{"check": "everything", "from": "1.36.3", "to": "1.37.0"}], "no check 'everything'"),
        ([{"check": "stored-unknown", "to": "1.37.0"}], "from and to"),
        (
            [{"check": "stored-unknown", "from": "1", "to": "2", "until": "x"}],
            "no such field: until",
        ),
        (
            [{"check": "stored-unknown", "from": "1", "to": "2", "expires": "soon"}],
            "expires must be",
        ),
    ],
)
def test_an_acknowledgement_that_can_never_apply_is_an_error(data, text):
    with pytest.raises(LockstepError, match=text):
        read_acknowledgements(data, checks=CHECKS)
