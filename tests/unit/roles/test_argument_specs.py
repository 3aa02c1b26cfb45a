"""What can be set of a role is documented, and checked when the role begins."""

from __future__ import annotations

import re
from collections import ChainMap
from pathlib import Path
from typing import Any

import pytest
import yaml

ROLES = sorted((Path(__file__).parents[3] / "roles").iterdir())


def read(path: Path) -> Any:
    return yaml.safe_load(path.read_text())


def reached_from_main(role: Path) -> set[str]:
    """The task files that the main entry point runs."""
    found, left = set(), {"main"}
    while left:
        name = left.pop()
        found.add(name)
        text = (role / "tasks" / f"{name}.yml").read_text()
        left |= set(re.findall(r"(?:include|import)_tasks: (\w+)\.yml", text)) - found
    return found


@pytest.mark.parametrize("role", ROLES, ids=[role.name for role in ROLES])
def test_every_default_is_an_option_of_the_entry_point_that_reads_it(role: Path) -> None:
    defaults = read(role / "defaults" / "main.yml")
    entries = read(role / "meta" / "argument_specs.yml")["argument_specs"]
    others = entries.keys() - reached_from_main(role)
    # What the main entry point runs is checked by its own options alone.
    apart = [entries[name].get("options") or {} for name in others]
    options = dict(ChainMap(entries["main"]["options"], *apart))

    assert set(defaults) - set(options) == set()
    assert {
        name: (value, options[name]["default"])
        for name, value in defaults.items()
        if "default" in options[name] and options[name]["default"] != value
    } == {}


@pytest.mark.parametrize("role", ROLES, ids=[role.name for role in ROLES])
def test_an_option_of_another_entry_point_is_the_same_there(role: Path) -> None:
    entries = read(role / "meta" / "argument_specs.yml")["argument_specs"]
    main = entries.pop("main")["options"]

    for entry in entries.values():
        for name, option in (entry.get("options") or {}).items():
            if name in main:
                assert option["type"] == main[name]["type"]
