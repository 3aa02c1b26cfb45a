"""Slices of a long run: when another one follows, how long it is, and what comes of all."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.lockstep.kubernetes.plugins.plugin_utils._slices import (
    PAGE,
    SLICE_SECONDS,
    run_slices,
)

WIDGETS, GADGETS = "widgets.example.com", "gadgets.example.com"


def result(resource: str, status: str, *, listed: int, changed: bool = True) -> dict[str, Any]:
    """What storage_migration returns after one slice, as far as it matters here."""
    one = {
        "status": status,
        "listed": listed,
        "rewritten": listed,
        "already_current": 0,
        "gone": 0,
        "failed": 0,
        "seconds": 50.0,
    }
    return {
        "failed": status != "succeeded",
        "changed": changed,
        "unfinished": status == "unfinished",
        "summary": [f"{status}: {listed} objects visited."],
        "resources": {resource: one},
        "migrations": {resource: [f"{resource}-1"]},
        "left_out": {"pods": "current"},
        "totals": {"resources": 60, "migrated": 0, "listed": listed},
    }


class Runs:
    """A module that gives one result after the other, and takes as long as it may."""

    def __init__(self, *results: dict[str, Any], early: tuple[int, ...] = ()) -> None:
        self._results = list(results)
        self._early = early
        self.now = 0.0
        self.slices: list[float] = []
        self.told: list[str] = []

    def __call__(self, seconds: float) -> dict[str, Any]:
        self.now += seconds / 2 if len(self.slices) in self._early else seconds + 1
        self.slices.append(seconds)
        return self._results.pop(0)

    def run(self) -> dict[str, Any]:
        return run_slices(self, tell=self.told.append, clock=lambda: self.now)


class TestGoingOn:
    @pytest.mark.parametrize("status", ["succeeded", "failed", "superseded"])
    def test_any_result_but_unfinished_is_final(self, status: str) -> None:
        only = result(WIDGETS, status, listed=10)

        assert Runs(only).run() is only

    def test_an_error_without_counts_is_final(self) -> None:
        error = {"failed": True, "msg": "The servers do not agree"}

        assert Runs(error).run() is error

    def test_what_ran_out_of_time_goes_on_and_each_slice_is_told(self) -> None:
        runs = Runs(
            result(WIDGETS, "unfinished", listed=PAGE),
            result(WIDGETS, "unfinished", listed=2 * PAGE),
            result(WIDGETS, "succeeded", listed=3 * PAGE),
        )

        done = runs.run()

        assert not done["failed"]
        assert runs.slices == [SLICE_SECONDS] * 3
        assert runs.told == [
            "unfinished: 500 objects visited.",
            "unfinished: 1000 objects visited.",
        ]

    def test_what_gave_up_before_its_time_was_over_is_final(self) -> None:
        runs = Runs(result(WIDGETS, "unfinished", listed=10), early=(0,))

        assert runs.run()["unfinished"]
        assert len(runs.slices) == 1

    def test_slices_without_progress_get_longer_until_the_module_gives_up(self) -> None:
        # A few more objects are what came to be meanwhile, and no progress.
        stuck = [result(WIDGETS, "unfinished", listed=10 + number) for number in range(4)]
        runs = Runs(*stuck, early=(3,))

        assert runs.run()["unfinished"]
        assert runs.slices == [60, 60, 120, 240]

    def test_another_migration_is_progress(self) -> None:
        runs = Runs(
            result(WIDGETS, "unfinished", listed=100),
            result(GADGETS, "unfinished", listed=50),
            result(GADGETS, "succeeded", listed=60),
        )
        runs.run()

        assert runs.slices == [SLICE_SECONDS] * 3


class TestResult:
    def test_it_holds_what_was_done_in_all_slices(self) -> None:
        first = result(GADGETS, "unfinished", listed=40)
        first["resources"][WIDGETS] = {**first["resources"][GADGETS], "status": "succeeded"}
        first["migrations"][WIDGETS] = ["widgets.example.com-1"]
        last = result(GADGETS, "succeeded", listed=60, changed=False)
        last["left_out"][WIDGETS] = "current"

        done = Runs(first, last).run()

        assert done["changed"]
        assert sorted(done["resources"]) == sorted(done["migrations"]) == [GADGETS, WIDGETS]
        assert done["left_out"] == {"pods": "current"}
        assert done["totals"]["listed"] == 100
        assert done["totals"]["migrated"] == 2
        assert done["totals"]["resources"] == 60
        assert done["summary"][-1].startswith("  This is the last of 2 slices")

    def test_counts_that_a_controller_does_not_tell_count_as_none(self) -> None:
        first = result(GADGETS, "unfinished", listed=40)
        counted = ("listed", "rewritten", "already_current", "gone", "failed")
        untold = dict.fromkeys(counted)
        first["resources"][WIDGETS] = {**first["resources"][GADGETS], **untold}

        done = Runs(first, result(GADGETS, "succeeded", listed=60)).run()

        assert done["totals"]["listed"] == 60

    def test_an_error_at_last_keeps_that_something_was_changed(self) -> None:
        first = result(GADGETS, "unfinished", listed=40)

        done = Runs(first, {"failed": True, "msg": "gone"}).run()

        assert done == {"failed": True, "msg": "gone", "changed": True}
