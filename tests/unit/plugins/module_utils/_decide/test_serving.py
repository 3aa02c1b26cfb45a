# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which resources a release serves, under known flags and under those that discovery shows."""

from __future__ import annotations

import pytest

from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.catalogue import (
    ReleaseCatalogue,
    ReleaseResource,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.flags import ApiFlags
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.serving import (
    ShownFlags,
    read_shown,
    served_as_shown,
    served_under,
)
from ansible_collections.lockstep.kubernetes.tests.unit.sights import served, server

NAME, OLD, NEW = "things.example.k8s.io", "example.k8s.io/v1beta1", "example.k8s.io/v1"
ALL = ApiFlags({"api/all": True}, {"AllAlpha": True, "AllBeta": True})


def thing(by_default=(), by_runtime_config=(), versions=(OLD,)):
    return ReleaseResource(
        NAME, "Thing", False, "", OLD, versions, versions, by_default, by_runtime_config
    )


OFF = thing(by_runtime_config=(OLD,))
GATED = thing()
ON = thing(by_default=(OLD,), by_runtime_config=(OLD,))
UNTOLD = thing(by_default=None)


@pytest.mark.parametrize(
    ("one", "flags", "answer"),
    [
        (ON, ApiFlags(), True),
        (ON, ApiFlags({OLD: False}), False),
        (OFF, ApiFlags(), False),
        (OFF, ApiFlags({OLD: True}), True),
        (OFF, ApiFlags({"api/beta": True}), True),
        (OFF, ApiFlags({NEW: True}, {"Thing": True}), False),
        (GATED, ApiFlags({OLD: True}), False),
        # Which gate it takes is not in the catalogue.
        (GATED, ApiFlags({OLD: True}, {"Thing": True}), None),
        (GATED, ALL, True),
        (UNTOLD, ApiFlags({OLD: True}), None),
        (UNTOLD, ALL, True),
    ],
)
def test_under_known_flags(one, flags, answer):
    assert served_under(one, flags) is answer


@pytest.mark.parametrize(
    ("one", "shown", "answer"),
    [
        (ON, ShownFlags(), True),
        (ON, ShownFlags(turned_off=frozenset({(NAME, OLD)})), None),
        (OFF, ShownFlags(), None),
        (OFF, ShownFlags(plain=True), False),
        (OFF, ShownFlags(not_turned_on=frozenset({(NAME, OLD)})), False),
        # That it is on now does not say that the target gets the flag.
        (OFF, ShownFlags(turned_on=frozenset({(NAME, OLD)})), None),
        (UNTOLD, ShownFlags(plain=True), None),
    ],
)
def test_under_flags_that_only_discovery_tells_of(one, shown, answer):
    assert served_as_shown(one, shown) is answer


def shown(*versions, one):
    release = ReleaseCatalogue("v1.36.3", "", "", "", {NAME: one})
    things = [served(NAME, OLD, versions=versions)] if versions else []
    return read_shown([server("a", *things)], release)


def test_what_a_server_serves_beyond_its_defaults_was_turned_on():
    assert shown(OLD, one=OFF).turned_on == {(NAME, OLD)}
    assert not shown(OLD, one=OFF).plain


def test_what_it_lacks_of_them_was_turned_off():
    found = shown(one=ON)
    assert found.turned_off == {(NAME, OLD)}
    assert found.plain


def test_what_a_flag_alone_would_turn_on_and_is_off_was_not_turned_on():
    assert shown(one=OFF).not_turned_on == {(NAME, OLD)}
    assert shown(one=GATED).not_turned_on == set()


def test_nothing_is_told_where_the_defaults_are_not_known():
    assert shown(OLD, one=UNTOLD) == ShownFlags()
    assert read_shown([], None) == ShownFlags()
