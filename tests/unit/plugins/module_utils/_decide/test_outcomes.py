# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is said of migrations: while they run, and afterwards."""

from __future__ import annotations

import pytest

from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.outcomes import (
    Outcome,
    ProgressSamples,
    describe_progress,
    summarise,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.rewrites import Counts

DONE = Outcome(
    "widgets.example.com",
    "succeeded",
    backend="direct",
    migration="m",
    counts=Counts(listed=10, rewritten=8, current=2),
    seconds=2.0,
    verified=True,
)


def said(*outcomes):
    return summarise({one.resource: one for one in outcomes})


def test_the_verdict_and_the_totals_come_first():
    (line,) = said(DONE, Outcome("pods", "ok"))
    assert line == (
        "migrated: 1 resource migrated and 1 current already. 10 objects visited, 8 rewritten,"
        " 2 current already, 0 gone, 0 failed. All of it is verified."
    )


def test_r14_what_was_left_out_is_named_and_not_verified():
    left = Outcome("events", "skipped", reason="events expire by themselves")
    (line,) = said(DONE, Outcome("pods", "ok"), left)
    assert line.endswith(" It is verified except events.")
    assert said(left)[0].endswith(" None of it is verified.")


def test_what_was_migrated_without_proof_is_not_verified():
    unproved = Outcome("secrets", "succeeded", migration="m", notes=("nobody tells its keys",))
    lines = said(DONE, unproved)
    assert lines[0].startswith("migrated, not verified: 2 resources migrated")
    assert lines[0].endswith(" It is verified except secrets.")
    assert lines[1:] == ["  secrets: migrated, not verified: nobody tells its keys"]


def test_what_went_wrong_is_not_called_verified():
    failed = Outcome("pods", "failed", reason="no")
    assert "verified" not in " ".join(said(DONE, failed))
    assert (DONE.unverified, failed.unverified) == ("", "no")


def test_nothing_to_do_is_said_so():
    assert said(Outcome("pods", "ok"))[0].startswith("nothing to do:")


def test_what_waits_for_others_is_counted_apart():
    asked = Outcome("secrets", "asked", migration="m", reason="it is left to the migrator")
    assert said(asked)[0].startswith("asked for: 0 resources migrated, 0 current already and 1")
    assert "1 asked for" in said(DONE, asked)[0]
    assert said(DONE, asked)[0].endswith(" It is verified except secrets.")


def test_each_resource_that_went_wrong_has_a_line_with_its_reason():
    lines = said(DONE, Outcome("pods", "superseded", reason="a server changed"))
    assert lines[0].startswith(
        "superseded: 1 resource migrated, 0 current already and 1 superseded"
    )
    assert lines[1] == "  pods: superseded: a server changed."


def test_the_worst_outcome_is_the_verdict():
    lines = said(Outcome("a", "unfinished"), Outcome("b", "failed"), Outcome("c", "superseded"))
    assert lines[0].startswith("failed:")


def test_what_was_forced_is_not_proved():
    lines = said(Outcome("pods", "succeeded", migration="m"))
    assert "migrated, not verified: it was forced" in lines[1]


@pytest.mark.parametrize(
    ("status", "counts", "again"),
    [
        ("superseded", Counts(), True),
        ("failed", None, True),
        ("failed", Counts(failed=1), False),
        ("succeeded", None, False),
    ],
)
def test_what_may_go_better_is_tried_again(status, counts, again):
    assert Outcome("pods", status, counts=counts).again is again


def test_a_result_gives_rate_and_counts():
    data = DONE.to_dict()
    assert (data["listed"], data["rewritten"], data["rate"]) == (10, 8, 5.0)


def test_what_a_controller_does_not_tell_is_null():
    data = Outcome("pods", "succeeded").to_dict()
    assert data["rewritten"] is None
    assert data["rate"] is None


@pytest.mark.parametrize(
    ("total", "seconds", "text"),
    [
        (1000, 10, "10 % (100 of 1000), 10 objects/s, 90 s left"),
        (100, 10, "100 % (100 of 100), 10 objects/s"),
        (100000, 10, "0 % (100 of 100000), 10 objects/s, 2.8 h left"),
        (0, 0, "100 % (100 of 0), 0 objects/s"),
    ],
)
def test_progress_is_one_line(total, seconds, text):
    said_ = describe_progress(Counts(rewritten=100), total=total, seconds=seconds)
    assert said_.replace("2 min left", "90 s left") == text


def test_a_run_that_was_taken_up_again_counts_its_rate_from_there():
    before = Counts(rewritten=900)
    line = describe_progress(Counts(rewritten=1000), total=2000, seconds=10, before=before)
    assert "10 objects/s" in line


def test_failures_show_while_it_runs():
    assert "3 failed" in describe_progress(Counts(failed=3), total=9, seconds=1)


class TestProgressSamples:
    def test_those_that_come_too_soon_after_another_are_left_out(self):
        samples = ProgressSamples()
        for seconds, done in ((0.0, 0), (0.5, 10), (1.2, 20)):
            samples.take(seconds=seconds, done=done)
        assert samples.kept == [(0.0, 0), (1.2, 20)]

    def test_a_long_run_keeps_no_more_than_a_short_one(self):
        samples = ProgressSamples()
        for second in range(100_000):
            samples.take(seconds=float(second), done=second)
        assert len(samples.kept) <= 101
        assert samples.kept[0] == (0.0, 0)
        assert samples.kept[-1][0] > 95_000
