# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A site's own rules over the verdict document."""

from __future__ import annotations

import pytest

from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.custom_checks import (
    read_custom_checks,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.errors import (
    LockstepError,
)

DOCUMENT = {"safe": "true", "findings": [{"severity": "warn"}], "servers": []}


def rule(expression, **more):
    return {
        "id": "ours",
        "expression": expression,
        "severity": "block",
        "remedy": "Ask us",
        **more,
    }


def find(expression):
    (check,) = read_custom_checks([rule(expression)])
    return list(check.find(DOCUMENT))


@pytest.mark.parametrize("expression", ["safe == 'true'", "length(findings)", "`0`"])
def test_what_holds_raises_nothing(expression):
    assert find(expression) == []


@pytest.mark.parametrize(
    "expression", ["safe == 'false'", "nowhere", "servers", "findings[?severity=='block']"]
)
def test_what_is_false_empty_or_missing_is_a_finding_with_the_sites_remedy(expression):
    (one,) = find(expression)
    assert (one.check, one.severity, one.remedy) == ("site:ours", "block", "Ask us")
    assert expression in one.seen
    assert not one.unknown


def test_what_cant_be_evaluated_is_unknown():
    (one,) = find("length(safe, safe)")
    assert one.unknown


def test_a_bad_expression_is_named():
    with pytest.raises(
        LockstepError, match=r"custom_checks holds 'ours'.*'findings\[' is no JMESPath"
    ):
        read_custom_checks([rule("findings[")])


def test_an_id_that_stands_twice_is_named():
    with pytest.raises(LockstepError, match="'site:ours' twice"):
        read_custom_checks([rule("safe"), rule("safe")])
