# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Where the rewriting of a page is taken up again."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.lockstep.kubernetes.plugins.module_utils._act.migrations.direct import (
    _left_of,
    _Place,
    _Visit,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.rewrites import (
    Counts,
    ObjectName,
)

NAMES = tuple(ObjectName(f"n{number}", "space") for number in range(6))


@given(order=st.permutations(NAMES), stop=st.integers(0, len(NAMES)))
def test_what_is_left_holds_all_that_was_not_done(order, stop):
    place = _Place(NAMES, Counts())
    for name in order[:stop]:
        place.take(_Visit(name, "rewritten", None))

    left = _left_of(NAMES, place.after)

    assert set(order[stop:]) <= set(left)
    assert place.counts.done == place.counts.listed == len(NAMES) - len(left)


def test_a_page_that_lost_that_name_is_begun_anew():
    assert _left_of(NAMES, "space/deleted") == NAMES
