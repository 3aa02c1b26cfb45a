# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Going on from an earlier audit: what is kept is proven, and all counts are exact."""

from __future__ import annotations

import itertools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide import increments
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.errors import (
    LockstepError,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.increments import (
    Mark,
    Source,
    State,
    StoreState,
    Stretch,
    StretchCheck,
    StretchWriter,
    batches,
    bounded,
    earlier_state,
    runs,
    why_not_incremental,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.keys import (
    RESOURCE,
    KeyRange,
    KeySpace,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.tally import (
    Encodings,
    Ledger,
    merge_tallies,
)

SOURCE = Source(cluster_id="abc", revision=100, raft_term=3)
WIDGETS = "widgets.example.com"
WHOLE = KeyRange(b"/registry/", b"/registry0")
CANARY = "canary-51cc"


def object_of(version):
    return json.dumps({"apiVersion": version, "kind": "Widget", "data": CANARY}).encode()


V1, V2 = object_of("example.com/v1"), object_of("example.com/v2")
TO_V2 = Encodings({WIDGETS: "example.com/v2"}, limit=100)


@pytest.fixture(autouse=True)
def _short_stretches(monkeypatch):
    monkeypatch.setattr(increments, "_STRETCH_KEYS", 3)


def items_of(store, within=WHOLE):
    """The keys of a store as etcd gives them: name -> (value, revision)."""
    named = {f"/registry/example.com/widgets/{name}".encode(): kept for name, kept in store.items()}
    return [
        (key, revision, value)
        for key, (value, revision) in sorted(named.items())
        if within.start <= key < within.end
    ]


class Reading:
    """Reads stores as an audit does, from one dictionary in place of etcd."""

    def __init__(self, encodings=None):
        self.ledger = Ledger(KeySpace("/registry"), ["*"], encodings)
        self.read = 0

    def whole(self, store, keys=WHOLE):
        writer = StretchWriter(self.ledger, keys.start)
        items = items_of(store, keys)
        self.read += len(items)
        writer.add(items)
        return writer.result()

    def update(self, store, stretches):
        check = StretchCheck(stretches)
        for keys in batches(WHOLE, stretches, at_most=7):
            check.add(items_of(store, keys))
        found = []
        for run in runs(WHOLE, stretches, check.result(), self.ledger.encodings):
            found += [run.kept] if run.kept else self.whole(store, run.keys)
        return found


def counted(stretches):
    return merge_tallies(stretch.tallies for stretch in stretches)


def state_of(stretches, **more):
    facts = {"prefix": "/registry", "patterns": ("*",)}
    stores = (StoreState(SOURCE, (tuple(stretches),)),)
    return State(**{**facts, "stores": stores, **more})


NAMES = st.integers(0, 30).map("w-{:02}".format)
STORES = st.dictionaries(
    NAMES, st.tuples(st.sampled_from([V1, V2, b"k8s:enc:aescbc:v1:k:x", b"?"]), st.integers(1, 50))
)


@given(before=STORES, changed=STORES, deleted=st.sets(NAMES))
def test_an_increment_counts_exactly_what_is_there(before, changed, deleted):
    later = {name: (value, revision + 50) for name, (value, revision) in changed.items()}
    after = {
        name: kept
        for name, kept in {**before, **later}.items()
        if name not in deleted or name in later
    }
    state = State.unpack(state_of(Reading().whole(before)).pack())

    updated = Reading().update(after, state.stores[0].ranges[0])

    assert counted(updated) == counted(Reading().whole(after))
    # And once more from there.
    again = Reading()
    assert counted(again.update(after, updated)) == counted(updated)
    assert again.read == 0


def test_a_restored_backup_brings_back_what_it_held():
    backup = {f"w-{number}": (V1, 10 + number) for number in range(5)}
    migrated = {name: (V2, revision + 10) for name, (_value, revision) in backup.items()}
    kept = Reading().whole(migrated)

    truth = counted(Reading().update(backup, kept))

    assert truth[RESOURCE, WIDGETS].versions == {"example.com/v1": 5}


def test_keys_that_swapped_their_revisions_are_read_again():
    kept = Reading().whole({"a": (V1, 6), "b": (V2, 7)})

    truth = counted(Reading().update({"a": (V2, 7), "b": (V2, 6)}, kept))

    assert truth[RESOURCE, WIDGETS].versions == {"example.com/v2": 2}


def test_only_stretches_with_a_change_are_read():
    store = {f"w-{number:02}": (V1, number + 1) for number in range(30)}
    kept = Reading().whole(store)
    reading = Reading()

    reading.update({**store, "w-04": (V2, 99)}, kept)

    assert reading.read == 3


def test_all_that_is_outdated_is_named_though_names_are_not_kept():
    store = {f"w-{number:02}": (V2, number + 1) for number in range(30)}
    store["w-07"] = (V1, 8)
    kept = Reading(TO_V2).whole(store)
    assert CANARY not in state_of(kept).pack()
    reading = Reading(TO_V2)

    reading.update({**store, "w-20": (V1, 99)}, kept)

    assert reading.ledger.outdated == {WIDGETS: ["w-07", "w-20"]}
    assert reading.read == 6


@given(STORES)
def test_stretches_cover_a_range_without_gaps(store):
    stretches = Reading().whole(store)
    assert stretches[0].start == WHOLE.start
    assert all(one.start < other.start for one, other in itertools.pairwise(stretches))
    assert sum(stretch.mark.keys for stretch in stretches) == len(store)


def test_their_number_is_bounded_and_nothing_is_lost(monkeypatch):
    monkeypatch.setattr(increments, "_STRETCHES", 10)
    store = {f"w-{number:04}": (V1, number + 1) for number in range(500)}
    whole = Reading().whole(store)
    found = bounded(whole)
    assert len(whole) < 20
    assert len(found) <= 10
    assert counted(found)[RESOURCE, WIDGETS].keys == 500
    # Joined ones are as good as others to go on from.
    reading = Reading()
    assert counted(reading.update(store, found)) == counted(found)
    assert reading.read == 0


def test_names_of_broken_keys_are_kept_up_to_a_bound():
    store = {f"w-{number:04}": (b"?", number + 1) for number in range(900)}
    state = State.unpack(state_of(Reading().whole(store)).pack())
    tallies = [tally for one in state.stores[0].ranges[0] for tally in one.tallies.values()]
    assert sum(tally.undecodable for tally in tallies) == 900
    assert sum(len(tally.named) for tally in tallies) == 200


def test_a_state_round_trips():
    stretches = [
        Stretch(b"/registry/", Mark(3, 60, 1 << 33), counted(Reading().whole({"a": (V1, 1)}))),
        Stretch(b"/registry/\xff\x00", Mark(0, 0, 0), {}),
    ]
    other = StoreState(Source("def", 7, 2), ((),), ("events",))
    stores = (StoreState(SOURCE, (tuple(stretches),)), other)
    state = state_of([], stores=stores, moved=("events",))
    assert State.unpack(state.pack()) == state
    assert earlier_state({"since": state.pack(), "verdict": "mixed"}) == state
    assert earlier_state(state.pack()) == state
    assert earlier_state(None) is None
    assert earlier_state("") is None
    assert state.of(["events"]) == other


@pytest.mark.parametrize("wrong", ["x", "AAAA", "eJyrVkrOz8lPVrJSMjQyVqoFACfZBGk=", {}, 7, ["a"]])
def test_what_is_no_state_is_refused(wrong):
    with pytest.raises(LockstepError, match="since holds no state"):
        earlier_state(wrong)


@given(st.text(max_size=50))
def test_no_text_but_a_state_is_taken_for_one(text):
    if text:
        with pytest.raises(LockstepError):
            State.unpack(text)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({}, ""),
        ({"source": Source("abc", 200, 9)}, ""),
        ({"source": Source("def", 200, 3)}, "another etcd cluster"),
        ({"source": Source("abc", 50, 3)}, "a backup was restored"),
        ({"source": Source("abc", 200, 2)}, "a backup was restored"),
        ({"prefix": "/other"}, "below /registry"),
        ({"patterns": ["pods"]}, "other resources"),
        ({"moved": ["events"]}, "other resources"),
        ({"resources": ["events"]}, "other resources"),
        ({"ranges": [WHOLE, WHOLE]}, "other resources"),
        ({"ranges": [KeyRange(b"/other/", b"/other0")]}, "other resources"),
    ],
)
def test_an_earlier_audit_that_does_not_fit_is_not_built_on(change, why):
    state = state_of([Stretch(WHOLE.start, Mark(), {})])
    facts = {
        "prefix": "/registry",
        "patterns": ["*"],
        "moved": [],
        "resources": [],
        "source": Source("abc", 200, 3),
        "ranges": [WHOLE],
    }
    told = why_not_incremental(state, **{**facts, **change})
    assert (why in told) if why else not told
