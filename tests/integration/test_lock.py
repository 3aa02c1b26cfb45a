"""`lock`: a Lease that all runs respect, with an owner and an expiry."""

from __future__ import annotations

import os
import subprocess
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from lab.ansible import run_module, run_playbook, tasks
from lab.recorder import LEASES, Recorder, parse_time
from lab.waiting import eventually

ALICE, BOB = "alice from control-1", "bob from control-2"


def lock(recorder: Recorder, owner: str = ALICE, **options: Any) -> Any:
    return recorder.call("lock", **{"name": "upgrade", "owner": owner, **options})


def lease(recorder: Recorder) -> Any:
    """The Lease behind the lock; None if there is none."""
    found = {one["metadata"]["name"]: one for one in recorder.api.get(LEASES)["items"]}
    return found.get("lockstep-upgrade")


class TestNote:
    def test_it_stays_for_whoever_takes_the_lock_next(self, recorder: Recorder) -> None:
        lock(recorder, BOB, note="v1.36.3 and v1.37.0")
        lock(recorder, BOB, state="released")

        taken = lock(recorder)

        assert taken["note"] == "v1.36.3 and v1.37.0"
        assert lock(recorder)["changed"] is False

    def test_it_is_removed_by_an_empty_one(self, recorder: Recorder) -> None:
        lock(recorder, note="v1.36.3 and v1.37.0")

        released = lock(recorder, state="released", note="")

        assert released["note"] == ""
        assert lock(recorder)["note"] == ""
        assert "annotations" not in lease(recorder)["metadata"]

    def test_another_owner_can_not_change_it(self, recorder: Recorder) -> None:
        lock(recorder, BOB, note="his")

        released = lock(recorder, state="released", note="mine")

        assert released["note"] == "his"
        assert lease(recorder)["metadata"]["annotations"] == {"lockstep.kubernetes/note": "his"}


class TestHeld:
    def test_a_free_lock_is_taken(self, recorder: Recorder) -> None:
        result = lock(recorder, seconds=3600)

        spec = lease(recorder)["spec"]
        assert result["changed"]
        assert result["held"]
        assert result["owner"] == ALICE
        assert result["diff"] == {"before": {"owner": ""}, "after": {"owner": ALICE}}
        assert (spec["holderIdentity"], spec["leaseDurationSeconds"]) == (ALICE, 3600)

    def test_a_lock_of_somebody_else_is_refused_and_the_owner_named(
        self, recorder: Recorder
    ) -> None:
        lock(recorder, BOB)
        before = lease(recorder)

        result = lock(recorder)

        assert result["failed"]
        assert f"The lock upgrade is held by {BOB}" in result["msg"]
        assert "holds for 900 s" in result["msg"]
        assert "take_over" in result["remedy"]
        assert lease(recorder) == before

    def test_a_lock_is_free_once_the_process_that_worked_under_it_is_gone(
        self, recorder: Recorder
    ) -> None:
        with subprocess.Popen(["sleep", "60"]) as process:
            lock(recorder, BOB, process=process.pid)
            while_it_lives = lock(recorder, process=os.getpid())
            process.kill()

        afterwards = lock(recorder, process=os.getpid())

        assert f"process {process.pid} in" in while_it_lives["msg"]
        assert afterwards["held"]
        assert afterwards["owner"].startswith(f"{ALICE}, ")

    def test_two_runs_of_one_operator_keep_each_other_out(self, recorder: Recorder) -> None:
        with subprocess.Popen(["sleep", "60"]) as process:
            lock(recorder, process=process.pid)

            result = lock(recorder, process=os.getpid())

            process.kill()
        assert result["failed"]

    def test_a_lock_of_somebody_else_can_just_be_told(self, recorder: Recorder) -> None:
        lock(recorder, BOB)

        result = lock(recorder, if_held="tell")

        assert not result["changed"]
        assert not result["held"]
        assert result["owner"] == BOB

    def test_a_lock_of_ones_own_is_renewed_without_a_change(self, recorder: Recorder) -> None:
        lock(recorder, seconds=60)
        document = lease(recorder)
        document["spec"]["renewTime"] = "2020-01-01T00:00:00.000000Z"
        document["spec"]["leaseDurationSeconds"] = 2_000_000_000
        recorder.api.replace(f"{LEASES}/lockstep-upgrade", document)

        result = lock(recorder, seconds=60)

        assert not result["changed"]
        assert result["held"]
        assert parse_time(lease(recorder)["spec"]["renewTime"]).year > 2020

    def test_an_expired_lock_is_anybodys(self, recorder: Recorder) -> None:
        lock(recorder, BOB, seconds=1)

        eventually(lambda: bool(lock(recorder, if_held="tell")["held"]), within=10)

        assert lease(recorder)["spec"]["holderIdentity"] == ALICE

    def test_a_lock_is_taken_over_on_purpose(self, recorder: Recorder) -> None:
        lock(recorder, BOB)

        result = lock(recorder, take_over=True)

        assert result["changed"]
        assert result["diff"] == {"before": {"owner": BOB}, "after": {"owner": ALICE}}
        assert f"held by {ALICE}" in lock(recorder, BOB)["msg"]

    def test_check_mode_takes_nothing(self, recorder: Recorder) -> None:
        result = lock(recorder, check=True)

        assert result["changed"]
        assert lease(recorder) is None

    def test_check_mode_refuses_what_would_be_refused(self, recorder: Recorder) -> None:
        lock(recorder, BOB)

        assert f"held by {BOB}" in lock(recorder, check=True)["msg"]

    def test_one_of_three_at_once_gets_it(self, recorder: Recorder) -> None:
        kubeconfig = recorder.kubeconfig()
        with ThreadPoolExecutor(3) as pool:
            runs = [
                pool.submit(run_module, "lock", name="upgrade", owner=owner, kubeconfig=kubeconfig)
                for owner in ("a", "b", "c")
            ]
            results = [run.result() for run in runs]

        (winner,) = [result["owner"] for result in results if not result.get("failed")]
        assert lease(recorder)["spec"]["holderIdentity"] == winner
        refusals = [result["msg"] for result in results if result.get("failed")]
        assert all(f"held by {winner}" in refusal for refusal in refusals)

    def test_two_locks_do_not_stand_in_each_others_way(self, recorder: Recorder) -> None:
        lock(recorder, BOB, name="trigger")

        assert lock(recorder)["held"]

    @pytest.mark.parametrize("seconds", [0, -5])
    def test_a_lock_for_no_time_is_refused(self, recorder: Recorder, seconds: int) -> None:
        assert "The option seconds is" in lock(recorder, seconds=seconds)["msg"]


class TestRenewed:
    """The lock of an upgrade, which each server renews."""

    def renew_after(self, recorder: Recorder, *between: dict[str, Any]) -> str:
        """What a run says that takes the lock by force, and renews it after that."""

        def role(tasks_from: str) -> dict[str, Any]:
            role = {"name": "lockstep.kubernetes.plan", "tasks_from": tasks_from}
            return {"ansible.builtin.include_role": role}

        asked = {"kubeconfig": str(recorder.kubeconfig()), "name": "upgrade", "owner": BOB}
        others = [{"lockstep.kubernetes.lock": {**asked, **one}} for one in between]
        lock(recorder, BOB)
        done = run_playbook(
            tasks(role("hold"), *others, role("renew")),
            variables={"plan_lock_take_over": True, "plan_release": "1.37.0"},
            environment={"K8S_AUTH_KUBECONFIG": str(recorder.kubeconfig())},
        )
        return " ".join(done.stdout.split())

    def test_it_is_renewed_by_the_run_that_holds_it(self, recorder: Recorder) -> None:
        assert "failed=0" in self.renew_after(recorder)

    def test_it_is_not_taken_back_from_who_has_it_now(self, recorder: Recorder) -> None:
        said = self.renew_after(recorder, {"take_over": True})

        assert f"The lock upgrade is held by {BOB}" in said
        assert lease(recorder)["spec"]["holderIdentity"] == BOB

    def test_it_is_not_renewed_after_another_run_has_had_it(self, recorder: Recorder) -> None:
        said = self.renew_after(recorder, {"take_over": True}, {"state": "released"})

        assert "another run has had it meanwhile" in said


class TestReleased:
    def test_the_owner_gives_it_back(self, recorder: Recorder) -> None:
        lock(recorder)

        result = lock(recorder, state="released")

        assert result["changed"]
        assert not result["held"]
        assert result["owner"] == ""
        assert lock(recorder, BOB)["held"]

    def test_a_lock_of_somebody_else_is_left_alone(self, recorder: Recorder) -> None:
        lock(recorder, BOB)
        before = lease(recorder)

        result = lock(recorder, state="released")

        assert not result["changed"]
        assert result["owner"] == BOB
        assert lease(recorder) == before

    @pytest.mark.parametrize("was_held", [False, True], ids=["never held", "released before"])
    def test_what_is_free_stays_free(self, recorder: Recorder, was_held: bool) -> None:
        if was_held:
            lock(recorder)
            lock(recorder, state="released")

        result = lock(recorder, state="released")

        assert not result["changed"]
        assert result["owner"] == ""

    def test_check_mode_gives_nothing_back(self, recorder: Recorder) -> None:
        lock(recorder)
        before = lease(recorder)

        result = lock(recorder, state="released", check=True)

        assert result["changed"]
        assert lease(recorder) == before
