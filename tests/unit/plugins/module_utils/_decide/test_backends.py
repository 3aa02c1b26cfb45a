# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which of the three ways of migrating is taken."""

from __future__ import annotations

import pytest

from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.backends import (
    Surroundings,
    against_migrating,
    choose_backend,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.errors import (
    LockstepError,
)
from ansible_collections.lockstep.kubernetes.tests.unit.sights import ALL_VERBS, served

WIDGETS = "widgets.example.com"


def choose(asked="auto", *, origin="custom", verbs=ALL_VERBS, **surroundings):
    around = {"in_tree": False, "migrator": False, **surroundings}
    return choose_backend(
        asked=asked,
        resource=WIDGETS,
        origin=origin,
        served=served(WIDGETS, "example.com/v1", verbs=verbs),
        surroundings=Surroundings(**around),
    )


@pytest.mark.parametrize(
    ("surroundings", "backend", "reason"),
    [
        ({"in_tree": True, "migrator": True}, "in_tree", "is served"),
        ({"migrator": True}, "migrator", "the migrator is alive"),
        ({}, "direct", "no controller"),
        ({"in_tree": True, "wishes": ("max_qps",)}, "direct", "max_qps"),
    ],
)
def test_the_first_that_is_there_is_taken(surroundings, backend, reason):
    chosen, why = choose(**surroundings)
    assert chosen == backend
    assert reason in why


def test_an_aggregated_api_is_migrated_directly():
    chosen, why = choose(origin="aggregated", in_tree=True)
    assert chosen == "direct"
    assert "aggregated" in why


def test_what_the_in_tree_controller_cant_patch_is_migrated_directly():
    chosen, why = choose(verbs=ALL_VERBS - {"update"}, in_tree=True)
    assert chosen == "direct"
    assert "update" in why


@pytest.mark.parametrize(
    ("asked", "options", "text"),
    [
        ("in_tree", {}, "No server serves storagemigration.k8s.io"),
        ("in_tree", {"in_tree": True, "origin": "aggregated"}, "aggregated API"),
        ("in_tree", {"in_tree": True, "wishes": ("max_qps",)}, "can't follow max_qps"),
        ("migrator", {}, "No out-of-tree migrator answers"),
    ],
)
def test_what_was_asked_for_and_cant_be_had_is_an_error(asked, options, text):
    with pytest.raises(LockstepError, match=text):
        choose(asked, **options)


@pytest.mark.parametrize("events", ["events", "events.events.k8s.io"])
def test_events_are_never_migrated(events):
    assert "expire" in against_migrating(events, served(events, "v1"))


def test_what_cant_be_patched_is_never_migrated():
    without = served(WIDGETS, "example.com/v1", verbs=frozenset({"list", "delete"}))
    assert "no verb patch" in against_migrating(WIDGETS, without)


def test_what_nobody_serves_is_never_migrated():
    assert against_migrating(WIDGETS, None) == "no server serves it"


def test_all_else_can_be_migrated():
    assert against_migrating(WIDGETS, served(WIDGETS, "example.com/v1")) == ""
