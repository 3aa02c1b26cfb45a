# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The thread that watches the servers: it can't stop unnoticed."""

from __future__ import annotations

import threading
import time

import pytest

from ansible_collections.lockstep.kubernetes.plugins.module_utils import _watcher
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide import watching
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.agreement import (
    decide_agreement,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.errors import (
    LockstepError,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.membership import (
    decide_membership,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.settling import Look
from ansible_collections.lockstep.kubernetes.plugins.module_utils._watcher import Watcher
from ansible_collections.lockstep.kubernetes.tests.unit.sights import (
    cluster,
    lease,
    served,
    server,
)

PODS = "pods"
GAP = 0.3


@pytest.fixture(autouse=True)
def _short_gap(monkeypatch):
    """30 s, in a test's time."""
    for module in (watching, _watcher):
        monkeypatch.setattr(module, "LONGEST_GAP", GAP)
    monkeypatch.setattr(_watcher, "_DOUBT_SECONDS", 0.01)


def seen() -> Look:
    sight = cluster([server("a", served(PODS, "v1"))], [lease("a")])
    membership = decide_membership(sight)
    return Look(sight, membership, decide_agreement(sight=sight, membership=membership))


def watcher(look) -> Watcher:
    watch = watching.Watch(seen(), [PODS], at=time.monotonic())
    return Watcher(watch, look, every=0.01)


def void_within(kept: Watcher, seconds: float) -> str:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if kept.broken(PODS):
            return str(kept.broken(PODS))
        time.sleep(0.01)
    return ""


def test_what_is_observed_all_the_time_is_not_void():
    with watcher(seen) as kept:
        assert void_within(kept, 3 * GAP) == ""


@pytest.mark.parametrize(
    "error", [LockstepError("a", "b", "c"), KeyError("items"), RecursionError(), SystemExit(1)]
)
def test_any_failure_of_an_observation_is_a_miss_and_too_many_are_void(error):
    def fail() -> Look:
        raise error

    with watcher(fail) as kept:
        why = void_within(kept, 20 * GAP)
        assert kept.doubt is not None
    assert "were not observed for" in why


def test_a_thread_that_survives_a_failure_goes_on():
    failures = iter([ValueError("no JSON")])

    def fail_once() -> Look:
        for error in failures:
            raise error
        return seen()

    with watcher(fail_once) as kept:
        assert void_within(kept, 3 * GAP) == ""
        assert kept.doubt is None


def test_an_observation_that_never_ends_is_void_too():
    ended = threading.Event()

    def hang() -> Look:
        ended.wait(30)
        return seen()

    with watcher(hang) as kept:
        assert "were not observed for" in void_within(kept, 20 * GAP)
        # Nor does it hold up who looks once more.
        begun = time.monotonic()
        kept.look_now()
        assert time.monotonic() - begun < 10 * GAP
        ended.set()
