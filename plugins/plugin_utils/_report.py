# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This plugin_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""Verdicts and a migration as one HTML page that needs nothing but itself."""

from __future__ import annotations

import base64
import functools
import hashlib
import re
from pathlib import Path

from jinja2 import Environment, StrictUndefined, Template
from markupsafe import Markup

from ansible_collections.lockstep.kubernetes.plugins.plugin_utils._report_migration import (
    read_migration,
)
from ansible_collections.lockstep.kubernetes.plugins.plugin_utils._report_outcome import (
    read_outcome,
)
from ansible_collections.lockstep.kubernetes.plugins.plugin_utils._report_values import noun
from ansible_collections.lockstep.kubernetes.plugins.plugin_utils._report_verdicts import (
    read_verdicts,
    tally,
)


def render_report(verdicts: object, migration: object = None, outcome: object = None) -> str:
    """The whole page. Raises LockstepError for what can't be reported."""
    ended = read_outcome(outcome)
    clusters = read_verdicts(verdicts, needed=ended is None)
    style, script = _part("css"), _part("js")
    page = _template().render(
        clusters=clusters,
        tally=tally(clusters),
        migration=read_migration(migration),
        outcome=ended,
        # Ours, and not data; the page's policy lets only these very texts be used.
        style=Markup(style),
        script=Markup(script),
        style_hash=_hash(style),
        script_hash=_hash(script),
    )
    return page.lstrip()


@functools.cache
def _template() -> Template:
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters.update(
        count=lambda number: f"{number:,}", noun=noun, breakable=_breakable, encoding=_encoding
    )
    return environment.from_string(_part("html.j2"))


def _breakable(name: str) -> Markup:
    """A long name that may be broken where a person would do it; join escapes its parts."""
    return Markup("<wbr>").join(re.split(r"(?<=[./])", name))


def _encoding(version: str, resource: str) -> Markup:
    """A group and version; the resource's own group is read out, but needs no room."""
    group, slash, rest = version.rpartition("/")
    if slash and group == resource.partition(".")[2]:
        return Markup('<span class="sr">{}/</span>{}').format(group, rest)
    return _breakable(version)


def _part(ending: str) -> str:
    return (Path(__file__).parent / f"_report.{ending}").read_text("utf-8")


def _hash(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
