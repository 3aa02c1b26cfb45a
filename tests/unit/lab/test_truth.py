"""The truth harness: what follows from a seed, and how a verdict is held against the truth."""

from __future__ import annotations

from typing import Any

import pytest
from truth.runs import Outcome, judge
from truth.stores import CATALOGUE, ODDITIES, STEPS, Store, plan_store
from truth.target import Reading, resource_of

from lab.etcd import stored_version

LOST = "/registry/workloads/default/lost"


def verdict(safe: str, *findings: tuple[str, str], severity: str = "block") -> dict[str, Any]:
    found = [
        {"check": check, "resources": [resource] if resource else [], "severity": severity}
        for check, resource in findings
    ]
    return {"safe": safe, "findings": found}


def outcome(said: dict[str, Any], *unreadable: str, store: Store | None = None) -> Outcome:
    reading = Reading(10, dict.fromkeys(unreadable, "500"))
    return judge(store or plan_store(1, evidence="audited", odd=()), said, reading)


class TestStores:
    def test_the_same_seed_gives_the_same_store(self) -> None:
        assert plan_store(17) == plan_store(17)
        assert plan_store(17) != plan_store(18)

    @pytest.mark.parametrize("step", STEPS, ids=" -> ".join)
    def test_both_releases_read_what_is_not_odd(self, step: tuple[str, str]) -> None:
        for seed in range(30):
            for one in plan_store(seed, step=step, odd=()).keys:
                for release in step:
                    known = CATALOGUE.find(f"v{release}")
                    assert known is not None
                    decodable = known.resources[resource_of(one.key)].decodable
                    assert stored_version(one.value) in decodable

    @pytest.mark.parametrize("odd", sorted(ODDITIES))
    def test_what_is_odd_is_added_to_what_is_not(self, odd: str) -> None:
        store = plan_store(3, step=STEPS[0], odd=(odd,))
        calm = plan_store(3, step=STEPS[0], odd=())

        added = store.objects[len(calm.keys) :]

        assert store.keys[: len(calm.keys)] == calm.keys
        assert added

    def test_every_key_is_there_once(self) -> None:
        keys = [one.key for one in plan_store(5, odd=tuple(ODDITIES)).objects]

        assert len(set(keys)) == len(keys)


class TestJudgement:
    def test_safe_with_a_key_that_cant_be_read_is_a_false_safe(self) -> None:
        assert outcome(verdict("true"), LOST).false_safe
        assert not outcome(verdict("true")).false_safe
        assert not outcome(verdict("unknown"), LOST).false_safe

    @pytest.mark.parametrize(
        ("check", "false_alarm"),
        [
            ("stored-unknown", True),
            ("stored-undecodable", True),
            ("stored-undecodable-removed", True),
            ("stored-undecodable-rollback", False),
            ("target-writes", False),
        ],
    )
    def test_only_what_is_said_of_the_targets_reading_can_be_a_false_alarm(
        self, check: str, false_alarm: bool
    ) -> None:
        said = verdict("false", (check, "pods"))

        assert outcome(said).false_alarm is false_alarm
        assert not outcome(said, LOST).false_alarm

    def test_a_warning_is_no_alarm_and_without_an_audit_there_is_no_false_one(self) -> None:
        warned = verdict("true", ("stored-undecodable", "pods"), severity="warn")
        unaudited = plan_store(1, evidence="observed", odd=())
        unknown = verdict("unknown", ("stored-unknown", "pods"))

        assert not outcome(warned).false_alarm
        assert not outcome(unknown, store=unaudited).false_alarm

    def test_an_odd_key_must_be_named_by_something_that_is_about_it(self) -> None:
        store = plan_store(2, step=STEPS[0], evidence="audited", odd=("no resource",))
        odd = next(one.key for one in store.objects if one.odd)
        else_ = verdict("false", ("target-writes", resource_of(odd)))
        named = verdict("false", ("stored-undecodable", resource_of(odd)))

        assert outcome(else_, odd, store=store).overlooked == (odd,)
        assert outcome(named, odd, store=store).overlooked == ()
