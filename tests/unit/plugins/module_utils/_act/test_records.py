# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Where a migration was left, read back from its status, whoever has written there."""

from __future__ import annotations

import os

from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.lockstep.kubernetes.plugins.module_utils._act.migrations.direct import (
    Position,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._act.migrations.records import (
    _resume,
    read_position,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.migrations import (
    OUT_OF_TREE,
    MigrationSight,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.rewrites import (
    Counts,
    Failure,
    ObjectName,
)

EXAMPLES = 10_000 if os.environ.get("LOCKSTEP_LONG") == "1" else 500
LEFT = Position(
    namespace="default",
    token="eyJ2Ijoi",
    counts=Counts(listed=5, rewritten=3, failed=1, failures=(Failure("a", "denied"),)),
    by_namespace=True,
    encryption="6c1f",
    samples=(ObjectName("a", "default", "7"), ObjectName("b", version="8")),
)
FIELDS = ("namespace", "continueToken", "byNamespace", "encryption", "samples", "counts")
_ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=4,
)


def left_at(resume: object) -> Position:
    progress = {"resume": resume}
    sight = MigrationSight("m", OUT_OF_TREE, "widgets.example.com", progress=progress)
    return read_position(sight)


def test_a_position_comes_back_as_it_was_saved():
    assert left_at(_resume(LEFT)) == LEFT


def test_nothing_saved_is_the_start():
    assert left_at(None) == left_at("x") == left_at({}) == Position()


@settings(max_examples=EXAMPLES)
@given(st.sampled_from(FIELDS), _ANYTHING)
def test_anything_in_its_place_is_read_as_well(field, value):
    found = left_at({**_resume(LEFT), field: value})
    assert isinstance(found.token, str)
    assert found.counts.done >= 0
    assert all(isinstance(one, ObjectName) for one in found.samples)
