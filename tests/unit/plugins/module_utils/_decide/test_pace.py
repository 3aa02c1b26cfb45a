# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How fast objects may be rewritten."""

from __future__ import annotations

import pytest

from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.pace import Limits, Pace


def made(pace: Pace, seconds: float, *, latency: float = 0.01, size: int = 0) -> int:
    """How many requests begin within that time, one after the other."""
    now, count = 0.0, 0
    while True:
        now += max(pace.wait(now), 0.0)
        if now >= seconds:
            return count
        pace.begin(now)
        now += latency
        pace.end(now, seconds=latency, size=size)
        count += 1


def test_no_more_requests_are_made_than_allowed():
    assert made(Pace(Limits(qps=10, megabits=0)), 10) in (100, 101)


def test_no_more_bytes_are_taken_than_allowed():
    pace = Pace(Limits(qps=0, megabits=1))
    assert made(pace, 10, size=12_500) in range(85, 103)


def test_without_limits_only_the_answers_are_waited_for():
    assert made(Pace(Limits(qps=0, megabits=0)), 10) in (999, 1000, 1001)


def test_a_server_that_asks_to_wait_is_left_alone_for_that_long():
    pace = Pace(Limits(qps=0, megabits=0))
    pace.suffer(100.0, retry_after=7)
    assert pace.wait(100.0) == pytest.approx(7)
    assert pace.wait(107.0) <= 0


def test_trouble_halves_the_speed_once_for_all_that_was_under_way():
    pace = Pace(Limits(qps=100, megabits=0, connections=16))
    for moment in (100.0, 100.1, 100.2):
        pace.suffer(moment)
    assert pace.factor == 0.5
    assert pace.connections == 8


def test_trouble_that_lasts_never_stops_it_altogether():
    pace = Pace(Limits(qps=100, megabits=0, connections=16))
    for moment in range(100):
        pace.suffer(float(moment))
    assert pace.factor > 0
    assert pace.connections == 1


def test_it_recovers_when_the_trouble_has_passed():
    pace = Pace(Limits(qps=100, megabits=0, connections=16))
    pace.suffer(100.0)
    for moment in range(101, 120):
        pace.end(float(moment), seconds=0.01, size=0)
    assert pace.factor == 1


def test_slower_answers_slow_it_down():
    pace = Pace(Limits(qps=100, megabits=0))
    for number in range(200):
        pace.end(number / 100, seconds=0.01, size=0)
    for number in range(200, 300):
        pace.end(number / 100, seconds=0.2, size=0)
    assert pace.factor < 1


def test_at_full_speed_slow_answers_are_expected():
    pace = Pace(Limits(qps=0, megabits=0, heed_latency=False))
    for number in range(300):
        pace.end(number / 100, seconds=0.01 if number < 200 else 0.5, size=0)
    assert pace.factor == 1
