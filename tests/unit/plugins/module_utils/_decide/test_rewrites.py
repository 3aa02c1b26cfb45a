# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the answer to a rewrite says about its object."""

from __future__ import annotations

import json

import pytest

from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.rewrites import (
    NAMED_FAILURES,
    Counts,
    Failure,
    ObjectName,
    judge_answer,
    judge_fault,
)


def fate_of(status, message="", **details):
    return judge_fault(status=status, document={"message": message, "details": details})


class TestFaults:
    @pytest.mark.parametrize("status", [404, 410])
    def test_an_object_that_is_said_to_be_gone_is_only_missing(self, status):
        assert fate_of(status, name="a", kind="widgets") == "missing"

    def test_a_missing_namespace_leaves_the_object_as_it_was(self):
        assert fate_of(404, name="away", kind="namespaces") == "orphan"

    def test_a_namespace_lies_in_no_namespace(self):
        document = {"details": {"name": "away", "kind": "namespaces"}}
        assert judge_fault(status=404, document=document, namespaced=False) == "missing"

    def test_a_404_that_names_nothing_proves_nothing_of_the_object(self):
        assert fate_of(404, "the server could not find the requested resource") == "missing"

    def test_a_right_that_is_missing_is_hopeless(self):
        assert fate_of(403, 'User "x" cannot patch resource "widgets"') == "hopeless"

    @pytest.mark.parametrize("status", [401, 405, 406, 415])
    def test_what_no_object_can_pass_is_hopeless(self, status):
        assert fate_of(status) == "hopeless"

    @pytest.mark.parametrize(
        ("status", "message"),
        [
            (403, 'admission webhook "x" denied the request: no'),
            (422, "Widget is invalid"),
            (409, "the object has been modified"),
            (500, 'failed calling webhook "x": context deadline exceeded'),
            (500, "conversion webhook for example.com/v1 failed: connection refused"),
            (500, "unable to decode"),
            (503, 'failed calling webhook "x"'),
        ],
    )
    def test_a_refusal_of_this_object_is_denied(self, status, message):
        assert fate_of(status, message) == "denied"

    @pytest.mark.parametrize(
        ("status", "message"),
        [
            (0, ""),
            (429, "too many requests"),
            (502, ""),
            (503, "apiserver not ready"),
            (504, "timeout"),
            (500, "etcdserver: request timed out"),
            (500, "Internal error: context deadline exceeded"),
        ],
    )
    def test_a_server_in_trouble_says_nothing_about_the_object(self, status, message):
        assert fate_of(status, message) == "unavailable"

    def test_an_answer_without_details_is_judged_as_well(self):
        assert judge_fault(status=404, document={}) == "missing"


class TestAnswers:
    def test_a_version_that_stayed_means_current(self):
        name = ObjectName("a", version="7")
        assert (
            judge_answer(name=name, metadata={"resourceVersion": "7"}, listed_at="9") == "current"
        )

    def test_a_version_that_moved_means_rewritten(self):
        name = ObjectName("a", version="7")
        answer = judge_answer(name=name, metadata={"resourceVersion": "12"}, listed_at="9")
        assert answer == "rewritten"

    @pytest.mark.parametrize(("answered", "fate"), [("9", "current"), ("100", "rewritten")])
    def test_without_its_version_the_lists_is_compared_as_a_number(self, answered, fate):
        metadata = {"resourceVersion": answered}
        assert judge_answer(name=ObjectName("a"), metadata=metadata, listed_at="10") == fate

    def test_a_deletion_that_the_write_may_have_ended_means_missing(self):
        metadata = {"resourceVersion": "12", "deletionTimestamp": "2026-01-01T00:00:00Z"}
        assert judge_answer(name=ObjectName("a"), metadata=metadata, listed_at="10") == "missing"

    def test_a_deletion_that_waits_for_finalizers_is_an_object_like_others(self):
        metadata = {
            "resourceVersion": "12",
            "deletionTimestamp": "2026-01-01T00:00:00Z",
            "finalizers": ["example.com/x"],
        }
        assert judge_answer(name=ObjectName("a"), metadata=metadata, listed_at="10") == "rewritten"


class TestCounts:
    def test_all_that_is_counted_comes_back_from_plain_data(self):
        counts = Counts().list_more(4).add("rewritten").add("current").add("gone")
        counts = counts.add("denied", Failure("a/b", "no"))
        assert Counts.from_dict(json.loads(json.dumps(counts.to_dict()))) == counts
        assert counts.done == counts.listed == 4

    def test_only_the_first_failures_are_named_but_all_are_counted(self):
        counts = Counts()
        for number in range(NAMED_FAILURES + 5):
            counts = counts.add("denied", Failure(str(number), "no"))
        assert counts.failed == NAMED_FAILURES + 5
        assert len(counts.failures) == NAMED_FAILURES
        assert counts.failures[0].name == "0"

    @pytest.mark.parametrize("data", [{}, {"listed": "x", "failures": 3}, {"failed": -1}])
    def test_what_cant_be_read_counts_as_nothing(self, data):
        assert Counts.from_dict(data) == Counts()

    def test_counts_of_several_resources_add_up(self):
        one = Counts(listed=2, rewritten=2)
        other = Counts(listed=1, failed=1, failures=(Failure("a", "no"),))
        assert one + other == Counts(
            listed=3, rewritten=2, failed=1, failures=(Failure("a", "no"),)
        )
