# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""Fields of documents that others wrote: each has its type, or the document is malformed.

Whatever answers at an address may answer anything. What is read with these functions is what it
is taken for; `Answer.read` turns everything else into a fault of the server.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.errors import (
    LockstepError,
)

Document = Mapping[str, Any]


class MalformedError(LockstepError, ValueError):
    """A document that is not what it should be."""

    def __init__(self, why: str) -> None:
        super().__init__("A document is malformed", why, "Correct it")


def parse_object(body: bytes | str) -> dict[str, Any]:
    """A JSON object, and nothing else."""
    try:
        found = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise MalformedError("it is no JSON") from error
    if not isinstance(found, dict):
        shown = "null" if found is None else _name_type(found)
        raise MalformedError(f"it is {shown}, not a JSON object")
    return found


def require_kind(document: Document, kind: str, *, name: str = "") -> Document:
    """The document, which must be of this kind, and be the object of this name."""
    shown = document.get("kind")
    if shown != kind:
        raise MalformedError(f"its kind is {_quote(shown)}, not {kind}")
    if name and text(section(document, "metadata"), "name") != name:
        raise MalformedError(f"it is not {name}")
    return document


def list_items(document: Document, kind: str) -> list[Document]:
    """The items of a list of this kind. A list without a resourceVersion is none (R13)."""
    text(section(require_kind(document, kind), "metadata"), "resourceVersion")
    if "items" not in document:
        raise MalformedError("it has no items")
    return sections(document, "items")


def continue_token(document: Document) -> str:
    """Where the next page of a list begins; empty after the last one."""
    return optional_text(section(document, "metadata"), "continue")


def section(document: Document, key: str) -> Document:
    """A part that is an object; one that is left out is empty."""
    found = document.get(key)
    return {} if found is None else _object(found, key)


def required_section(document: Document, key: str) -> Document:
    """A part that is an object and must be there."""
    return _object(document.get(key), key)


def sections(document: Document, key: str) -> list[Document]:
    """A list of objects; one that is left out is empty."""
    return [_object(one, key) for one in _list(document, key)]


def text(document: Document, key: str) -> str:
    """A text that must be there."""
    found = _text(document.get(key), key)
    if not found:
        raise MalformedError(f"its {key} is empty")
    return found


def optional_text(document: Document, key: str) -> str:
    """A text; one that is left out is empty."""
    found = document.get(key)
    return "" if found is None else _text(found, key)


def texts(document: Document, key: str) -> tuple[str, ...]:
    """A list of texts; one that is left out is empty."""
    return tuple(_text(one, key) for one in _list(document, key))


def number(document: Document, key: str) -> int:
    """A whole number that must be there."""
    found = document.get(key)
    if isinstance(found, bool) or not isinstance(found, int):
        raise MalformedError(f"its {key} is {_name_type(found)}, not a number")
    return found


def optional_number(document: Document, key: str) -> int:
    """A whole number; one that is left out is 0."""
    return 0 if document.get(key) is None else number(document, key)


def flag(document: Document, key: str) -> bool:
    """Yes or no; one that is left out is no."""
    found = document.get(key)
    if found is not None and not isinstance(found, bool):
        raise MalformedError(f"its {key} is {_name_type(found)}, not true or false")
    return bool(found)


def _list(document: Document, key: str) -> Iterable[Any]:
    found = document.get(key)
    if found is not None and not isinstance(found, list):
        raise MalformedError(f"its {key} is {_name_type(found)}, not a list")
    return found or []


def _object(found: Any, key: str) -> Document:
    if not isinstance(found, Mapping):
        raise MalformedError(f"its {key} is {_name_type(found)}, not an object")
    return found


def _text(found: Any, key: str) -> str:
    if not isinstance(found, str):
        raise MalformedError(f"its {key} is {_name_type(found)}, not a text")
    try:
        found.encode()
    except UnicodeEncodeError as error:
        raise MalformedError(f"its {key} is no valid text") from error
    return found


def _quote(found: Any) -> str:
    return repr(found[:80]) if isinstance(found, str) else _name_type(found)


def _name_type(found: Any) -> str:
    if found is None:
        return "missing"
    if isinstance(found, bool):
        return "true or false"
    if isinstance(found, Mapping):
        return "an object"
    if isinstance(found, list):
        return "a list"
    return "a text" if isinstance(found, str) else "a number"
