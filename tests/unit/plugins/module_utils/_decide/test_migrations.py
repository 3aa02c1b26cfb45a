# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""StorageVersionMigration objects of both API groups, read as they lie in the cluster."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.epoch import (
    Epoch,
    EpochIdentity,
    EpochRelease,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.migrations import (
    IN_TREE,
    KEY_ANNOTATION,
    OUT_OF_TREE,
    MigrationCondition,
    MigrationKey,
    MigrationSight,
    failed_lately,
    finished_work,
    read_migration,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.times import (
    format_time,
    parse_time,
)
from ansible_collections.lockstep.kubernetes.tests.unit.sights import NOW

EPOCH = Epoch(
    identities=(EpochIdentity("apiserver-a", "apiserver-a_1"),),
    releases=(EpochRelease("17.5", "v1.36.3"),),
    crd_uid="u",
    crd_generation=2,
    encryption="key-1",
)
KEY = MigrationKey(storage_hash="8aSe+NMegvE=", epoch=EPOCH, since=NOW)


def migration(*conditions, api="migration.k8s.io/v1alpha1", annotations=None, **spec):
    """An object as a cluster holds it; a condition is its type, or type and status."""
    return {
        "apiVersion": api,
        "kind": "StorageVersionMigration",
        "metadata": {
            "name": "deployments.apps-x7k2p",
            "uid": "3f",
            "resourceVersion": "812",
            "creationTimestamp": "2026-11-16T12:00:00Z",
            **({"annotations": annotations} if annotations else {}),
        },
        "spec": {"resource": {"group": "apps", "version": "v1", "resource": "deployments"}, **spec},
        "status": {
            "conditions": [
                {"type": one, "status": status, "reason": "R", "message": f"{one} it is"}
                for one, status in (
                    each if isinstance(each, tuple) else (each, "True") for each in conditions
                )
            ]
        },
    }


def test_a_migration_is_read_with_all_that_it_says():
    read = read_migration(migration("Running", continueToken="go-on"))
    assert (read.name, read.uid, read.resource_version) == ("deployments.apps-x7k2p", "3f", "812")
    assert (read.api, read.resource) == (OUT_OF_TREE, "deployments.apps")
    assert read.created == NOW
    assert read.continue_token == "go-on"
    assert (read.phase, read.message) == ("running", "Running it is")
    assert (read.conditions[0].type, read.conditions[0].reason) == ("Running", "R")
    assert str(read) == "deployments.apps-x7k2p (migration.k8s.io)"


def test_the_in_tree_api_names_no_version_and_core_no_group():
    data = migration(api="storagemigration.k8s.io/v1")
    data["spec"] = {"resource": {"group": "", "resource": "pods"}}
    read = read_migration(data)
    assert (read.api, read.resource) == (IN_TREE, "pods")


@pytest.mark.parametrize(
    ("conditions", "out_of_tree", "in_tree"),
    [
        ([], "pending", "pending"),
        (["Running"], "running", "running"),
        (["Succeeded"], "succeeded", "succeeded"),
        (["Failed"], "failed", "failed"),
        ([("Running", "False"), "Succeeded"], "succeeded", "succeeded"),
        ([("Running", "False"), "Failed"], "failed", "failed"),
        # The in-tree controller still tidies up the CustomResourceDefinition then.
        (["Running", "Succeeded"], "succeeded", "running"),
        (["Running", "Failed"], "failed", "running"),
        (["Failed", "Succeeded"], "failed", "failed"),
        ([("Succeeded", "False")], "pending", "pending"),
        ([("Running", "False")], "pending", "pending"),
        (["Succeeded", "Custom"], "succeeded", "succeeded"),
    ],
)
def test_the_phase_comes_from_the_conditions(conditions, out_of_tree, in_tree):
    for api, phase in ((OUT_OF_TREE, out_of_tree), (IN_TREE, in_tree)):
        read = read_migration(migration(*conditions, api=f"{api}/v1"))
        assert read.phase == phase
        assert read.unfinished == (phase in ("pending", "running"))


def test_the_key_of_a_migration_round_trips_through_its_annotation():
    read = read_migration(migration(annotations={KEY_ANNOTATION: KEY.to_json()}))
    assert read.key == KEY


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "no json",
        "{}",
        KEY.to_json().replace('"hash"', '"other"'),
        KEY.to_json().replace("2026-11", "2026-13"),
        KEY.to_json().replace('"releases"', '"other"'),
        KEY.to_json().replace("8aSe+NMegvE=", ""),
        "[" * 100_000,
        7,
        None,
    ],
)
def test_what_is_no_key_makes_a_foreign_migration(text):
    assert read_migration(migration(annotations={KEY_ANNOTATION: text})).key is None


def test_a_keys_digest_names_the_turn_and_not_who_looked():
    assert replace(KEY, epoch=replace(EPOCH, identities=())).digest == KEY.digest
    assert replace(KEY, since=NOW + timedelta(microseconds=1)).digest != KEY.digest
    assert replace(KEY, storage_hash="xPOwRZ+Yhw8=").digest != KEY.digest
    assert len(KEY.digest) == 10


@pytest.mark.parametrize(
    "data",
    [
        {},
        {"apiVersion": "v1", "metadata": {"name": "x"}},
        {**migration(), "apiVersion": "apps/v1"},
        {**migration(), "metadata": None},
        {**migration(), "spec": {"resource": {"group": "apps"}}},
        {**migration(), "spec": []},
    ],
)
def test_what_is_no_migration_is_left_out(data):
    assert read_migration(data) is None


def test_odd_fields_are_read_as_nothing():
    data = {**migration(), "status": {"conditions": [None, 3, {"type": 7}]}}
    data["metadata"]["creationTimestamp"] = "yesterday"
    data["metadata"]["annotations"] = ["x"]
    read = read_migration(data)
    assert (read.phase, read.created, read.key) == ("pending", None, None)


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("2026-11-16T12:00:00Z", NOW),
        ("2026-11-16T12:00:00.5Z", NOW + timedelta(milliseconds=500)),
        ("2026-11-16T12:00:00.123456789Z", NOW + timedelta(microseconds=123456)),
        ("2026-11-16T14:00:00+02:00", NOW),
        ("2026-11-16 12:00:00", None),
        ("2026-02-30T12:00:00Z", None),
        ("0001-01-01T00:00:00+14:00", None),
        (7, None),
        (None, None),
    ],
)
def test_moments_are_read_as_the_apis_write_them(text, moment):
    assert parse_time(text) == moment


def test_moments_are_written_in_utc_with_fractions_only_where_there_are_any():
    assert format_time(NOW) == "2026-11-16T12:00:00Z"
    assert format_time(NOW + timedelta(microseconds=1)) == "2026-11-16T12:00:00.000001Z"
    assert parse_time(format_time(NOW)) == datetime(2026, 11, 16, 12, tzinfo=UTC)


class TestFinishedWork:
    """Migrations that have done their work go, so that a rollback strands none of ours."""

    OLD = NOW - timedelta(minutes=6)

    def work(self, *migrations, recorded=("pods",)):
        found = finished_work(migrations, recorded=recorded, now=NOW)
        return [one.name for one in found]

    def one(self, name="m", ended=OLD, **more):
        done = MigrationCondition("Succeeded", "True", changed=ended)
        return MigrationSight(
            name,
            OUT_OF_TREE,
            "pods",
            **{
                "phase": "succeeded",
                "created": self.OLD,
                "key": KEY,
                "conditions": (done,),
                **more,
            },
        )

    def test_one_of_ours_goes_once_its_proof_is_recorded(self):
        assert self.work(self.one()) == ["m"]
        assert self.work(self.one(), recorded=()) == []

    def test_one_that_ended_just_now_stays_for_whoever_waits_for_it(self):
        assert self.work(self.one(ended=NOW - timedelta(minutes=4))) == []

    def test_it_goes_at_once_where_a_newer_one_follows(self):
        last = self.one("last", ended=NOW, created=NOW)
        assert self.work(self.one("first", ended=NOW - timedelta(seconds=1)), last) == ["first"]

    @pytest.mark.parametrize(
        "more", [{"key": None}, {"phase": "failed"}, {"phase": "running"}, {"phase": "pending"}]
    )
    def test_what_others_made_and_what_has_not_succeeded_stays(self, more):
        assert self.work(self.one(**more)) == []

    def test_without_a_time_of_its_end_it_counts_from_its_creation(self):
        assert self.work(self.one(ended=None)) == ["m"]
        assert self.work(self.one(ended=None, created=None)) == []

    @pytest.mark.parametrize("field", ["lastUpdateTime", "lastTransitionTime"])
    def test_both_apis_tell_when_it_ended(self, field):
        document = migration("Succeeded")
        document["status"]["conditions"][0][field] = "2026-11-16T12:34:56Z"
        assert read_migration(document).finished == parse_time("2026-11-16T12:34:56Z")


class TestFailedLately:
    PAUSE = 1800.0

    def failed(self, seconds: float, **changes):
        moment = NOW - timedelta(seconds=seconds)
        condition = MigrationCondition("Failed", "True", message="no", changed=moment)
        found = MigrationSight(
            name="m", api=OUT_OF_TREE, resource="pods", phase="failed", key=KEY, message="no"
        )
        return replace(found, conditions=(condition,), **changes)

    def judge(self, *found, key=KEY):
        return failed_lately(found, key=key, now=NOW, pause=self.PAUSE)

    def test_one_of_this_turn_is_left_alone_for_a_while_with_its_reason(self):
        told = self.judge(self.failed(600))
        assert told.endswith(": no. It is tried again in 1200 s")

    def test_after_that_it_is_tried_again(self):
        assert self.judge(self.failed(1800)) == ""

    def test_what_failed_for_another_turn_says_nothing_about_this_one(self):
        other = replace(KEY, since=NOW - timedelta(hours=1))
        assert self.judge(self.failed(1, key=other), self.failed(1, key=None)) == ""
        assert self.judge(self.failed(1), key=None) == ""

    def test_what_runs_has_not_failed(self):
        assert self.judge(self.failed(1, phase="running")) == ""
