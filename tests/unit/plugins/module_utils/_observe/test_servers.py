# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which refusals pass by themselves, and how soon."""

from __future__ import annotations

import json

import pytest

from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.servers import (
    _answer_fault,
)


def refused(status, message):
    body = json.dumps({"kind": "Status", "message": message}).encode()
    return _answer_fault(status, body, "GET /apis")


def test_a_cache_that_is_being_filled_is_waited_for_in_short_steps():
    fault = refused(429, "storage is (re)initializing")
    assert (fault.passing, fault.filling) == (True, True)


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (429, "too many requests, please try again later"),
        (503, "wait for storage version registration to complete"),
    ],
)
def test_a_server_that_has_too_much_to_do_is_not_asked_again_at_once(status, message):
    fault = refused(status, message)
    assert (fault.passing, fault.filling) == (True, False)


def test_what_a_server_can_not_decode_does_not_pass():
    fault = refused(500, "storage is (re)initializing")
    assert (fault.passing, fault.filling) == (False, False)
