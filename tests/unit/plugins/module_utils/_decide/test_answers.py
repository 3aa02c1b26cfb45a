# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Answers about objects: what a real server sent, and anything that could come in its place."""

from __future__ import annotations

import copy
import os

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.answers import (
    WrongAnswer,
    explain_refused,
    names_missing,
    next_token,
    read_list,
    read_object,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.rewrites import (
    Counts,
    ObjectName,
    judge_answer,
    judge_fault,
)

META = {"apiVersion": "meta.k8s.io/v1"}
TOKEN = "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MjE1LCJzdGFydCI6Ii9iXHUwMDAwIn0"
# Recorded of kube-apiserver 1.36.3; of columns only the descriptions are left out.
COLUMNS = [
    {"name": "Name", "type": "string", "format": "name", "priority": 0},
    {"name": "Type", "type": "string", "format": "", "priority": 0},
    {"name": "Data", "type": "string", "format": "", "priority": 0},
    {"name": "Age", "type": "string", "format": "", "priority": 0},
]
EVENT_COLUMNS = [
    {"name": "Last Seen", "type": "string", "format": "", "priority": 0},
    {"name": "Name", "type": "string", "format": "name", "priority": 1},
]
OBJECT = {
    "kind": "PartialObjectMetadata",
    **META,
    "metadata": {
        "name": "a",
        "uid": "a644c04f-ff94-46fd-9c9e-7cb2a8519795",
        "resourceVersion": "210",
        "generation": 1,
        "creationTimestamp": "2026-11-17T19:03:39Z",
    },
}
LIST = {
    "kind": "PartialObjectMetadataList",
    **META,
    "metadata": {"resourceVersion": "215", "continue": TOKEN, "remainingItemCount": 1},
    "items": [OBJECT],
}
TABLE = {
    "kind": "Table",
    **META,
    "metadata": {"resourceVersion": "215", "continue": TOKEN, "remainingItemCount": 1},
    "columnDefinitions": COLUMNS,
    "rows": [
        {"cells": ["a", "Opaque", 0, "0s"], "object": None},
        {"cells": ["b", "Opaque", 0, "0s"], "object": None},
    ],
}
ROW = {
    "kind": "Table",
    **META,
    "metadata": {"resourceVersion": "211"},
    "columnDefinitions": COLUMNS,
    "rows": [{"cells": ["a", "Opaque", 0, "0s"], "object": None}],
}
MISSING = {
    "kind": "Status",
    "apiVersion": "v1",
    "metadata": {},
    "status": "Failure",
    "message": 'widgets.example.com "a" not found',
    "reason": "NotFound",
    "details": {"name": "a", "group": "example.com", "kind": "widgets"},
    "code": 404,
}
EXPIRED = {**MISSING, "code": 410, "reason": "Expired", "metadata": {"continue": TOKEN}}
PROGRESS = Counts(listed=3, rewritten=1).to_dict()
MAINTENANCE = {"code": 200, "message": "maintenance"}

WIDGETS = "widgets.example.com"
A = ObjectName("a")

EXAMPLES = 10_000 if os.environ.get("LOCKSTEP_LONG") == "1" else 500

_ANYTHING = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5) | st.floats(),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=5,
)


def places(document, path=()):
    """Every place in a document."""
    yield path
    if isinstance(document, dict):
        for key in document:
            yield from places(document[key], (*path, key))
    elif isinstance(document, list):
        for number, one in enumerate(document):
            yield from places(one, (*path, number))


@st.composite
def mutated(draw, document):
    """A recorded answer in which something is missing, or is something else."""
    changed = copy.deepcopy(document)
    for _number in range(draw(st.integers(1, 3))):
        place = draw(st.sampled_from(list(places(changed))))
        if not place:
            return draw(_ANYTHING)
        parent = changed
        for step in place[:-1]:
            parent = parent[step]
        if draw(st.booleans()):
            parent[place[-1]] = draw(_ANYTHING)
        else:
            del parent[place[-1]]
    return changed


class TestLists:
    def test_a_list_gives_its_names_with_their_versions(self):
        page = read_list(LIST, table=False)
        assert page.names == (ObjectName("a", "", "210"),)
        assert (page.token, page.remaining, page.version) == (TOKEN, 1, "215")

    def test_a_table_gives_its_names_in_the_namespace_that_was_asked_for(self):
        page = read_list(TABLE, table=True, namespace="default")
        assert page.names == (ObjectName("a", "default"), ObjectName("b", "default"))

    def test_names_stand_where_the_columns_say(self):
        rows = [{"cells": ["5s", "happening"], "object": None}]
        table = {**TABLE, "columnDefinitions": EVENT_COLUMNS, "rows": rows}
        assert read_list(table, table=True).names == (ObjectName("happening"),)

    @pytest.mark.parametrize("table", [True, False])
    def test_none_is_none(self, table):
        empty = {**TABLE, "rows": []} if table else {**LIST, "items": None}
        assert read_list(empty, table=table).names == ()

    @pytest.mark.parametrize("table", [True, False])
    @pytest.mark.parametrize(
        "answer",
        [
            MAINTENANCE,
            None,
            [],
            {},
            {"kind": "Status", "code": 200},
            {"kind": "PartialObjectMetadataList", "items": []},
            {"kind": "PartialObjectMetadataList", "metadata": {"resourceVersion": "1"}},
            {"kind": "PartialObjectMetadataList", "metadata": {}, "items": []},
            {"kind": "Table", "metadata": {"resourceVersion": "1"}, "columnDefinitions": []},
            {"kind": "Table", "metadata": {"resourceVersion": ""}, "rows": []},
            {"kind": "SecretList", "metadata": {"resourceVersion": "1"}, "items": []},
        ],
    )
    def test_what_was_not_asked_for_is_no_empty_list(self, answer, table):
        with pytest.raises(WrongAnswer):
            read_list(answer, table=table)


class TestObjects:
    def test_the_metadata_of_the_object_that_was_patched(self):
        assert read_object(OBJECT, table=False, name=A)["resourceVersion"] == "210"

    def test_the_one_row_that_names_it(self):
        assert read_object(ROW, table=True, name=ObjectName("a", "default"))

    @pytest.mark.parametrize(
        "answer",
        [
            MAINTENANCE,
            LIST,
            {**OBJECT, "metadata": {"name": "a"}},
            {**OBJECT, "metadata": {**OBJECT["metadata"], "name": "b"}},
            {**OBJECT, "metadata": {**OBJECT["metadata"], "namespace": "other"}},
        ],
    )
    def test_what_is_not_about_it_does_not_count(self, answer):
        with pytest.raises(WrongAnswer):
            read_object(answer, table=False, name=A)

    @pytest.mark.parametrize("rows", [[], TABLE["rows"], TABLE["rows"][1:], [{"cells": []}]])
    def test_a_table_of_other_rows_does_not_count(self, rows):
        with pytest.raises(WrongAnswer):
            read_object({**ROW, "rows": rows}, table=True, name=A)


class TestMissing:
    def test_only_the_very_object_is_called_missing(self):
        assert names_missing(MISSING, resource=WIDGETS, name=A)

    @pytest.mark.parametrize(
        "details",
        [
            {"name": "b", "group": "example.com", "kind": "widgets"},
            {"name": "a", "kind": "widgets"},
            {"name": "a", "kind": "namespaces"},
            {},
            None,
            "a",
        ],
    )
    def test_anything_else_does_not_say_so(self, details):
        assert not names_missing({**MISSING, "details": details}, resource=WIDGETS, name=A)

    def test_an_expired_token_is_replaced(self):
        assert next_token(EXPIRED) == TOKEN
        assert next_token(MISSING) == next_token({"metadata": None}) == ""


class TestAnythingElse:
    """Nothing that comes in an answer's place is an error of another kind."""

    @settings(max_examples=EXAMPLES)
    @given(mutated(LIST) | mutated(TABLE), st.booleans())
    @example(MAINTENANCE, True)
    def test_lists(self, answer, table):
        try:
            page = read_list(answer, table=table)
        except WrongAnswer:
            return
        assert page.version
        assert all(isinstance(one.name, str) for one in page.names)

    @settings(max_examples=EXAMPLES)
    @given(mutated(OBJECT) | mutated(ROW), st.booleans())
    def test_patches(self, answer, table):
        try:
            metadata = read_object(answer, table=table, name=A)
        except WrongAnswer:
            return
        assert judge_answer(name=A, metadata=metadata, listed_at="209") in (
            "rewritten",
            "current",
            "missing",
        )

    @settings(max_examples=EXAMPLES)
    @given(mutated(MISSING) | mutated(EXPIRED), st.sampled_from([0, 403, 404, 410, 500, 503]))
    def test_refusals(self, answer, status):
        document = answer if isinstance(answer, dict) else {}
        assert judge_fault(status=status, document=document) not in ("gone", "rewritten", "current")
        assert isinstance(next_token(document), str)
        if names_missing(document, resource=WIDGETS, name=A):
            assert document["details"]["name"] == "a"

    @settings(max_examples=EXAMPLES)
    @given(mutated(PROGRESS))
    def test_what_a_migration_keeps(self, kept):
        counts = Counts.from_dict(kept if isinstance(kept, dict) else {})
        assert counts.done >= 0


class TestRefused:
    """A PATCH that calls an object missing which a GET has shown."""

    NOT_FOUND = {  # noqa: RUF012
        "message": 'widgets.example.com "a b" not found',
        "details": {"name": "a b", "group": "example.com", "kind": "widgets"},
    }

    def explain(self, document, *, resource="widgets.example.com", name="a b", namespace="it's"):
        return explain_refused(document, resource=resource, name=ObjectName(name, namespace))

    def test_the_remedy_quotes_names_for_the_shell(self):
        told = self.explain(self.NOT_FOUND)
        assert "most likely it has no metadata.uid" in told
        assert told.endswith(
            "run: kubectl get widgets.example.com 'a b' -n 'it'\"'\"'s' -o json > 'a b.json'"
            " && kubectl replace --force -f 'a b.json'"
        )

    @pytest.mark.parametrize(
        "resource", ["namespaces", "customresourcedefinitions.apiextensions.k8s.io"]
    )
    def test_what_holds_others_is_not_to_be_deleted(self, resource):
        plural, _dot, group = resource.partition(".")
        details = {"name": "a", "group": group, "kind": plural}
        told = self.explain({"details": details}, resource=resource, name="a", namespace="")
        assert "--force" not in told
        assert told.endswith(f"run: kubectl get {resource} a -o json | kubectl replace -f -")

    @pytest.mark.parametrize(
        "document",
        [
            {},
            {"details": None},
            {**NOT_FOUND, "details": {"name": "other", "kind": "widgets"}},
            {**NOT_FOUND, "message": 'admission webhook "x" denied the request: not found'},
        ],
        ids=["nothing", "no details", "another object", "a webhook"],
    )
    def test_any_other_answer_is_not_explained(self, document):
        assert self.explain(document) == ""
