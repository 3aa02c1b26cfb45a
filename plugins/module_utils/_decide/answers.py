# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""Answers about objects, read only if they are what was asked for (R13).

Status 200 proves nothing: a proxy in maintenance sends it too, and without items that would look
like an empty list. So every answer must be of its kind, carry a resourceVersion and, where it is
about one object, name that object.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .commands import quote
from .names import split_resource
from .rewrites import ObjectName

_LIST = "PartialObjectMetadataList"
_OBJECT = "PartialObjectMetadata"
_TABLE = "Table"
# With them goes all that is in them.
_NOT_TO_DELETE = ("namespaces", "customresourcedefinitions.apiextensions.k8s.io")


class WrongAnswer(Exception):
    """An answer that is not what was asked for; the text says what it lacks."""


@dataclass(frozen=True)
class NamesList:
    """One page of a list."""

    names: tuple[ObjectName, ...]
    # Where the next page begins; empty after the last one.
    token: str
    # How many more there are, as far as the server tells.
    remaining: int
    # The resourceVersion of the list.
    version: str


def read_list(document: object, *, table: bool, namespace: str = "") -> NamesList:
    """Read one page of a list; a Table tells names without the namespace that was asked for."""
    answer = _kind(document, _TABLE if table else _LIST)
    metadata = _mapping(answer, "metadata")
    remaining = metadata.get("remainingItemCount")
    if remaining is None:
        remaining = 0
    if not isinstance(remaining, int) or isinstance(remaining, bool) or remaining < 0:
        raise WrongAnswer("its remainingItemCount is no number of objects")
    if table:
        found = tuple(ObjectName(one, namespace) for one in _rows(answer))
    else:
        found = tuple(_object_name(one) for one in _items(answer, "items"))
    return NamesList(
        names=found,
        token=_text(metadata, "continue"),
        remaining=remaining,
        version=_version(metadata),
    )


def read_object(document: object, *, table: bool, name: ObjectName) -> Mapping[str, Any]:
    """Read the metadata in an answer about one object; a Table's is little more than a version."""
    answer = _kind(document, _TABLE if table else _OBJECT)
    metadata = _mapping(answer, "metadata")
    _version(metadata)
    if table:
        rows = _rows(answer)
        if rows != [name.name]:
            raise WrongAnswer(f"it has {len(rows)} rows, and not the one of {name}")
    elif metadata.get("name") != name.name or (metadata.get("namespace") or "") != name.namespace:
        raise WrongAnswer(f"it is about another object than {name}")
    return metadata


def names_missing(document: Mapping[str, Any], *, resource: str, name: ObjectName) -> bool:
    """Whether a 404 says that this very object is missing, and not a namespace or an API."""
    details = document.get("details")
    if not isinstance(details, Mapping):
        return False
    plural, group = split_resource(resource)
    said = (details.get("name"), details.get("kind"), details.get("group") or "")
    return said == (name.name, plural, group)


def explain_refused(document: Mapping[str, Any], *, resource: str, name: ObjectName) -> str:
    """Say why a server won't patch an object that a GET has shown, and what helps.

    It answers 404 of its own accord where an object has no UID. Empty for any other answer.
    """
    said = str(document.get("message") or "")
    # A webhook can name the object too, but not hide that it speaks.
    missing = names_missing(document, resource=resource, name=name)
    if not missing or said.startswith("admission webhook"):
        return ""
    where = f"{quote(resource)} {quote(name.name)}"
    where += f" -n {quote(name.namespace)}" if name.namespace else ""
    get, file = f"kubectl get {where} -o json", quote(f"{name.name}.json")
    remedy = (
        "Only an object that is created anew gets one. If it may be deleted for a moment, run:"
        f" {get} > {file} && kubectl replace --force -f {file}"
    )
    if resource in _NOT_TO_DELETE:
        remedy = (
            "Do not delete it, since all that belongs to it would go with it. To have it stored in"
            f" its current version, run: {get} | kubectl replace -f -"
        )
    return (
        f"the server refuses to patch it ({said}), although a GET shows it: most likely it has no"
        f" metadata.uid, as what was written into etcd past the API servers. {remedy}"
    )


def next_token(document: Mapping[str, Any]) -> str:
    """Read the token that a server offers in place of one that has expired; empty if none."""
    metadata = document.get("metadata")
    token = metadata.get("continue") if isinstance(metadata, Mapping) else None
    return token if isinstance(token, str) else ""


def _kind(document: object, kind: str) -> Mapping[str, Any]:
    # Dicts, as JSON has nothing else: of many answers, each takes its microseconds.
    if not isinstance(document, dict):
        raise WrongAnswer(f"it is no {kind}")
    if document.get("kind") != kind:
        said = document.get("kind") or "without a kind"
        raise WrongAnswer(f"it is {str(said)[:50]}, and no {kind}")
    return document


def _version(metadata: Mapping[str, Any]) -> str:
    version = _text(metadata, "resourceVersion")
    if not version:
        raise WrongAnswer("it has no resourceVersion")
    return version


def _object_name(item: object) -> ObjectName:
    metadata = _mapping(item if isinstance(item, dict) else {}, "metadata")
    return ObjectName(
        # One that was broken in etcd may have none.
        name=_text(metadata, "name"),
        namespace=_text(metadata, "namespace"),
        version=_text(metadata, "resourceVersion"),
    )


def _rows(table: Mapping[str, Any]) -> list[str]:
    """The names in a Table: its columns tell where they stand, most often first."""
    column = 0
    for number, one in enumerate(_items(table, "columnDefinitions")):
        if isinstance(one, dict) and one.get("format") == "name":
            column = number
            break
    found = []
    for row in _items(table, "rows"):
        cells = row.get("cells") if isinstance(row, dict) else None
        name = cells[column] if isinstance(cells, list) and len(cells) > column else None
        if not isinstance(name, str):
            raise WrongAnswer("one of its rows has no name")
        found.append(name)
    return found


def _items(document: Mapping[str, Any], key: str) -> list[Any]:
    if key not in document:
        raise WrongAnswer(f"it has no {key}")
    items = document[key]
    if items is None:
        # So servers write none.
        return []
    if not isinstance(items, list):
        raise WrongAnswer(f"its {key} are no list")
    return items


def _mapping(document: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = document.get(key)
    if not isinstance(value, dict):
        raise WrongAnswer(f"it has no {key}")
    return value


def _text(document: Mapping[str, Any], key: str) -> str:
    value = document.get(key)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise WrongAnswer(f"its {key} is no text")
    return value
