# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The one error family."""

from __future__ import annotations

from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.errors import (
    LockstepError,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.reasons import (
    Reason,
    enumerate_names,
)


def test_an_error_says_what_why_and_remedy_in_that_order():
    error = LockstepError("it failed", "because of that.", "do this")
    assert str(error) == "it failed. because of that. do this."
    assert (error.what, error.why, error.remedy) == ("it failed", "because of that.", "do this")


def test_an_error_without_a_remedy_has_no_empty_sentence():
    assert str(LockstepError("it failed", "no idea", "")) == "it failed. no idea."


def test_a_reason_reads_as_text_and_remedy():
    assert str(Reason("server a is frozen", "Thaw it")) == "server a is frozen. Thaw it."


def test_names_are_listed_as_a_person_would():
    assert [enumerate_names("abc"[:count]) for count in range(4)] == [
        "",
        "a",
        "a and b",
        "a, b and c",
    ]


def test_a_long_list_of_names_ends_in_how_many_more_there_are():
    assert enumerate_names("abcde", at_most=2) == "a, b and 3 more"
    assert enumerate_names("abc", at_most=2) == "a, b and c"
