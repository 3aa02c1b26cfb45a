# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Set-up of the unit tests: where the collection is found, and how long hypothesis may search."""

from __future__ import annotations

import importlib
import os
import sys
import types
from pathlib import Path

from hypothesis import settings

CHECKOUT = Path(__file__).resolve().parents[2]


def make_collection_importable() -> None:
    """Give the checkout its full name where no symlink does: a bare ansible-core has none."""
    path = ""
    for part, place in (
        ("ansible_collections", None),
        ("lockstep", None),
        ("kubernetes", CHECKOUT),
    ):
        parent = sys.modules.get(path)
        path = f"{path}.{part}".lstrip(".")
        try:
            importlib.import_module(path)
        except ImportError:
            package = types.ModuleType(path)
            package.__path__ = [str(place)] if place else []
            sys.modules[path] = package
            if parent is not None:
                setattr(parent, part, package)


make_collection_importable()

# The same examples on every run; LOCKSTEP_LONG=1 looks for more, and elsewhere each time.
settings.register_profile("short", derandomize=True, deadline=None, max_examples=150)
settings.register_profile("long", deadline=None, max_examples=2000)
settings.load_profile("long" if os.environ.get("LOCKSTEP_LONG") == "1" else "short")
