"""`upgrade_gate` against the truth: what the target's real API server reads of the same store.

`make truth` does the same with many stores.
"""

from __future__ import annotations

import json
import os
from dataclasses import replace
from typing import Any

import pytest
from truth.runs import (
    Outcome,
    ask,
    audit,
    fill,
    flags_of,
    judge,
    run_store,
    server_before,
)
from truth.stores import Store, StoredKey, plan_store
from truth.target import Reading, read_store

from lab.catalogue import everything, raw_object
from lab.control_plane import ControlPlane, PrivateNetwork, ServerSpec
from lab.fixtures import Planes
from lab.recorder import Recorder

GIVEN: Any = {"flags": "same", "flags_given": True}
UP, DOWN = ("1.36.3", "1.37.0"), ("1.37.0", "1.36.3")
# `make truth` has the API servers of older releases built; the other tests do without.
LONG = os.environ.get("LOCKSTEP_LONG") == "1"
WITH_ALPHA = [UP, ("1.35.4", "1.36.3")] if LONG else [UP]


def odd_keys(store: Store) -> set[str]:
    return {one.key for one in store.objects if one.odd}


def resources_named(outcome: Outcome) -> set[str]:
    return {resource for _check, resource in outcome.alarms}


def become(plane: ControlPlane, spec: ServerSpec) -> Reading:
    """Let the server be of another release in place; what that one reads."""
    server = plane.servers["cp-1"]
    server.stop()
    server.spec = spec
    # One that can't read something may never get ready.
    server.start()
    return read_store(plane.etcd, server)


class TestStores:
    def test_one_that_the_target_reads_is_called_safe(self, network: PrivateNetwork) -> None:
        store = plan_store(1, step=UP, apis="calm", evidence="audited", odd=(), **GIVEN)

        outcome = run_store(store, network=network)

        assert outcome.reading.unreadable == {}
        assert outcome.safe == "true", outcome.stops

    def test_versions_that_the_target_lost_are_seen(self, network: PrivateNetwork) -> None:
        store = plan_store(
            2, step=UP, apis="all", evidence="audited", odd=("lost version",), **GIVEN
        )

        outcome = run_store(store, network=network)

        assert outcome.reading.unreadable.keys() == odd_keys(store)
        assert (outcome.safe, outcome.overlooked) == ("false", ())

    def test_one_garbage_key_is_seen_among_sound_ones(self, network: PrivateNetwork) -> None:
        calm = plan_store(3, step=UP, apis="default", evidence="audited", odd=(), **GIVEN)
        made = raw_object("ConfigMap", "v1", name="sound", namespace="default")
        sound = json.dumps(made).encode()
        garbage = StoredKey("/registry/configmaps/default/garbage", b"\x00garbage", "garbage")
        beside = StoredKey("/registry/configmaps/default/sound", sound)
        store = replace(calm, keys=(*calm.keys, garbage, beside))

        outcome = run_store(store, network=network)

        assert outcome.reading.unreadable.keys() == {garbage.key}
        assert outcome.safe != "true"
        assert resources_named(outcome) == {"configmaps"}

    def test_custom_resources_in_a_version_that_was_dropped_are_seen(
        self, network: PrivateNetwork
    ) -> None:
        store = plan_store(
            4, step=UP, apis="default", evidence="audited", odd=("custom dropped",), **GIVEN
        )
        dropped = next(one for one in store.customs if one.fate == "dropped")
        older = {one.key for one in dropped.objects if b"/v1" in one.value}

        outcome = run_store(store, network=network)

        assert outcome.reading.unreadable.keys() == older
        assert outcome.safe != "true"
        assert resources_named(outcome) == {dropped.resource}

    def test_going_back_is_judged_by_what_the_older_release_reads(
        self, network: PrivateNetwork
    ) -> None:
        store = plan_store(
            5, step=DOWN, apis="all", evidence="audited", odd=("lost version",), **GIVEN
        )

        outcome = run_store(store, network=network)

        assert outcome.reading.unreadable.keys() == odd_keys(store)
        assert (outcome.safe, outcome.overlooked) == ("false", ())

    def test_what_the_target_has_off_by_default_is_seen(self, network: PrivateNetwork) -> None:
        calm = plan_store(8, step=DOWN, apis="all", evidence="audited", odd=(), flags="none")
        made = raw_object(
            "LeaseCandidate", "coordination.k8s.io/v1beta1", name="off", namespace="default"
        )
        key = StoredKey("/registry/leasecandidates/default/off", json.dumps(made).encode())
        store = replace(calm, keys=(*calm.keys, key), flags_given=True)

        outcome = run_store(store, network=network)

        assert key.key in outcome.reading.unreadable
        assert (outcome.safe, outcome.overlooked) == ("false", ())


class TestWayThereAndBack:
    def test_verdicts_agree_with_what_each_server_then_reads(self, start: Planes) -> None:
        store = plan_store(6, step=UP, apis="calm", odd=(), **GIVEN)
        later = plan_store(6, step=DOWN, apis="calm", odd=("lost version",), **GIVEN)
        newer = {one.key: one.value for one in later.keys if one.odd}
        plane = start(server_before(store))
        recorder = Recorder(plane)
        recorder.install()
        fill(plane, store)

        there = ask(recorder, "1.37.0", **flags_of(server_before(later)), **audit(recorder))
        read_there = become(plane, server_before(later))
        plane.servers["cp-1"].wait_ready()
        flags = flags_of(server_before(store))
        back = ask(recorder, "1.36.3", **flags, **audit(recorder))
        plane.etcd.put_all(newer)
        too_late = ask(recorder, "1.36.3", **flags, **audit(recorder))
        read_back = become(plane, server_before(store))

        assert (there["safe"], read_there.unreadable) == ("true", {})
        # What 1.37 does not serve any more nobody can vouch for.
        assert back["safe"] != "false"
        assert too_late["safe"] != "true"
        assert read_back.unreadable.keys() == newer.keys()

    @pytest.mark.parametrize("step", WITH_ALPHA, ids=" -> ".join)
    def test_with_alpha_apis_on_it_names_all_that_the_target_cant_read(
        self, start: Planes, step: tuple[str, str]
    ) -> None:
        before, after = step
        store = plan_store(
            7, step=step, apis="all", evidence="audited", odd=("lost version",), **GIVEN
        )
        plane = start(everything(before))
        recorder = Recorder(plane)
        recorder.install()
        fill(plane, store)

        verdict = ask(recorder, after, **flags_of(everything(after)), **audit(recorder))
        outcome = judge(store, verdict, become(plane, everything(after)))

        assert outcome.reading.unreadable.keys() == odd_keys(store)
        assert (outcome.safe, outcome.overlooked) == ("false", ())
