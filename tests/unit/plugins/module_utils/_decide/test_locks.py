# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Who holds a lock: a process, told apart from all others."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.locks import (
    ProcessIdentity,
)

OURS = ProcessIdentity(
    host="control-1",
    number=4711,
    namespace="4026531836",
    boot="6d1c2f0e-0000-4000-8000-000000000001",
    started="123456",
)


@pytest.mark.parametrize("before", ["", "alice, ", "alice from control-1, "])
def test_an_owner_is_read_back_as_the_process_that_it_names(before):
    assert ProcessIdentity.parse(f"{before}{OURS}") == OURS


@given(st.text(max_size=40))
def test_any_name_in_front_changes_nothing(name):
    assert ProcessIdentity.parse(f"{name} {OURS}") == OURS


@pytest.mark.parametrize(
    "owner",
    [
        "",
        "alice",
        "control-1 process 4711 in 4026531836",
        str(replace(OURS, boot="")),
        str(replace(OURS, namespace="")),
        str(replace(OURS, started="")),
        f"{OURS}, and more",
    ],
)
def test_an_owner_that_is_not_a_process_for_sure_is_none(owner):
    assert ProcessIdentity.parse(owner) is None


def test_a_number_means_the_same_on_the_same_boot_in_the_same_namespace():
    assert OURS.within(replace(OURS, number=1, started="9"))


@pytest.mark.parametrize("change", [{"boot": "f" * 36}, {"namespace": "4026532000"}])
def test_the_same_number_on_a_machine_of_the_same_name_is_another_process(change):
    assert not OURS.within(replace(OURS, **change))


def test_where_nothing_tells_the_boot_no_number_means_anything():
    unknown = replace(OURS, boot="", namespace="")
    assert not unknown.within(unknown)
