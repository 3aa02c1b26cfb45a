# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This plugin_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""What came of a run, as a page shows it: how it ended, and what is true now."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ansible_collections.lockstep.kubernetes.plugins.plugin_utils._report_values import (
    answer,
    kind,
    mapping,
    mapping_of_mappings,
    text,
    texts,
    wrong,
)

_TONES = {"done": "ok", "stopped": "stop", "checked": "unknown", "unproved": "unknown"}


@dataclass(frozen=True)
class Host:
    """One host of the control plane, with what its server runs now."""

    name: str
    address: str
    release: str
    emulated: str
    # Why it is not known what it runs, or what is wrong with it.
    fault: str


@dataclass(frozen=True)
class Outcome:
    """How a run ended."""

    headline: str
    reason: str
    # The colour and the symbol, which only repeat the words.
    tone: str
    at: str
    step: str
    cluster: str
    snapshot: str
    hosts: tuple[Host, ...]
    now: tuple[str, ...]
    # What to do next, as commands.
    commands: tuple[tuple[str, str], ...]

    def name_of(self, address: str) -> str:
        """What the inventory calls the host of a server."""
        return next((one.name for one in self.hosts if one.address == address), "")


def read_outcome(outcome: object) -> Outcome | None:
    """What whoever ran it told of its end; None where nothing was run."""
    if outcome is None or outcome == {}:
        return None
    where = "report_outcome"
    if not isinstance(outcome, Mapping):
        raise wrong(where, f"it is {kind(outcome)}, not a dictionary")
    state = text(outcome.get("state"))
    if state not in _TONES:
        raise wrong(f"{where}.state", f"it is {state!r}, and not one of {', '.join(_TONES)}")
    headline = text(outcome.get("headline"))
    if not headline:
        raise wrong(f"{where}.headline", "it is empty")
    return Outcome(
        headline=headline,
        reason=text(outcome.get("reason")).strip(),
        tone=_TONES[state],
        at=text(outcome.get("at")),
        step=text(outcome.get("step")),
        cluster=text(outcome.get("cluster")),
        snapshot=text(outcome.get("snapshot")),
        hosts=tuple(
            Host(
                name=name,
                address=text(one.get("address")),
                release=text(one.get("release")),
                emulated=text(one.get("emulated_version")),
                fault=text(one.get("fault"))
                or ("it is not ready" if answer(one.get("ready")) == "no" else ""),
            )
            for name, one in mapping_of_mappings(outcome, "servers", where).items()
        ),
        now=texts(outcome.get("now")),
        commands=tuple(
            (name, text(one)) for name, one in mapping(outcome, "commands", where).items() if one
        ),
    )
