# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The page of wrong verdicts names tests that exist."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/explanation/track-record.md"
ROWS = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
VERDICTS = [row for row in ROWS if not row.startswith("| what ")]


def named_tests() -> list[tuple[str, str]]:
    """Each file with what is named in it; a name that begins with :: is in the file before it."""
    found, file = [], ""
    for name in re.findall(r"`((?:test_\w+\.py)?::[\w:]+)`", PAGE.read_text(encoding="utf-8")):
        file = name.split("::")[0] or file
        found.append((file, name.split("::", 1)[1]))
    return found


def names_in(path: Path) -> set[str]:
    """All tests of a file, and its classes, as pytest names them."""
    found = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found.add(node.name)
            inner = node.body if isinstance(node, ast.ClassDef) else []
            found |= {f"{node.name}::{n.name}" for n in inner if isinstance(n, ast.FunctionDef)}
    return found


@pytest.mark.parametrize(("file", "name"), named_tests())
def test_every_test_that_it_names_exists(file: str, name: str) -> None:
    assert any(name in names_in(path) for path in ROOT.glob(f"tests/**/{file}"))


def test_every_verdict_names_its_test() -> None:
    assert len(VERDICTS) > 50
    assert [row for row in VERDICTS if "test_" not in row and "the same |" not in row] == []
