# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The verdict in words, and as Markdown."""

from __future__ import annotations

from ansible_collections.lockstep.kubernetes.plugins.module_utils._present_gate import (
    format_markdown,
)

FINDING = {
    "check": "stored-unknown",
    "severity": "acknowledgeable",
    "resource": "pods",
    "seen": "a | b\nand <c>",
    "remedy": "Migrate it",
    "command": "run me",
    "destructive_command": "",
    "resources": ["pods"],
    "acknowledged": "",
}
DOCUMENT = {
    "safe": "unknown",
    "from_release": "v1.36.3",
    "to_release": "v1.37.0",
    "rollback_release": "v1.36.3",
    "findings": [FINDING, {**FINDING, "check": "orphans", "severity": "warn", "command": ""}],
    "checks": {
        "agreement": {"title": "All servers write alike", "result": "passed", "findings": 0}
    },
}


def test_the_verdict_comes_first():
    assert format_markdown(DOCUMENT).startswith("# Not known to be safe: v1.36.3 to v1.37.0\n")


def test_what_stops_it_stands_apart_from_what_is_only_worth_knowing():
    text = format_markdown(DOCUMENT)
    stops, known = text.index("## What stops it"), text.index("## What to know")
    assert stops < text.index("`stored-unknown`") < known < text.index("`orphans`")


def test_what_would_break_a_table_or_be_markup_is_taken_as_it_stands():
    assert "| a \\| b and &lt;c> | Migrate it: `run me` |" in format_markdown(DOCUMENT)


def test_an_acknowledged_finding_does_not_stop_it():
    known = {**FINDING, "acknowledged": "stored-unknown for v1.36.3 -> v1.37.0"}
    assert "## What stops it" not in format_markdown({**DOCUMENT, "findings": [known]})
