# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""The watch over servers while stored objects are rewritten (R6).

A look every few seconds; one server seen with another version, even once, voids the migration. A
restart to the same version between two looks does not. Looks that are too far apart count as
unbroken only if the very same processes stood before and after; if none ends at all for that long,
nobody watches any more, and that voids it too.
"""

from __future__ import annotations

from collections.abc import Iterable

from .epoch import Epoch, compare_epochs, decide_epoch
from .names import split_group_version, split_resource
from .reasons import Reason, enumerate_names
from .settling import Look

# At least so often somebody must have looked.
LONGEST_GAP = 30.0
# So long may be waited between two looks: each takes time of its own.
LONGEST_WAIT = 20.0


class Watch:
    """Follows looks, and says of each resource whether what the servers write has stood still."""

    def __init__(
        self, first: Look, resources: Iterable[str], *, at: float, encryption: str = ""
    ) -> None:
        self._encryption = encryption
        self._hashes = {name: first.agreements[name].storage_hash for name in resources}
        self._epochs = {name: self._epoch(first, name) for name in self._hashes}
        self._first = dict(self._epochs)
        self._transitions = {name: _transition(first, name) for name in self._hashes}
        self._backends = {name: _backends(first, name) for name in self._hashes}
        self.last = first
        # When the last look that saw all servers began.
        self.seen_at = at
        # What the last look could not tell; empty after one that could.
        self.doubt: Reason | None = None
        self.broken: dict[str, Reason] = {}
        # The last look that broke it: what was seen then must not be forgotten.
        self.breaking: Look | None = None
        # Where something else was written between two looks, and nobody saw what.
        self.unseen: set[str] = set()

    @property
    def empty(self) -> bool:
        """Whether there is nothing to watch over."""
        return not self._hashes

    def take(self, look: Look, *, at: float) -> None:
        """Judge one more look, which began at this moment of a monotonic clock."""
        doubts = []
        for name in self._hashes:
            if name in self.broken:
                continue
            change = self._change(look, name, at)
            if change:
                self.breaking = look
                self.broken[name] = Reason(
                    f"{name}: while it was migrated {change}",
                    "Run the task again once all servers agree",
                    resource=name,
                )
                continue
            agreement = look.agreements.get(name)
            if agreement is None or not agreement.agreed:
                doubts.append(_doubt(look, name))
        self.doubt = doubts[0] if doubts else None
        if not doubts:
            self.last, self.seen_at = look, at
            self._epochs = {
                name: self._epoch(look, name) for name in self._hashes if name not in self.broken
            }
            self._transitions = {name: _transition(look, name) for name in self._epochs}

    def miss(self, why: str) -> None:
        """Take note that a look failed."""
        self.doubt = Reason(why, "See whether the servers are restarting")

    def lapse(self, seconds: float) -> None:
        """Take note that for so long no look has ended: too long, and nothing is proved."""
        if seconds <= LONGEST_GAP:
            return
        for name in self._hashes:
            reason = Reason(
                f"{name}: while it was migrated the servers were not observed for {seconds:.0f} s"
                + (f": {self.doubt}" if self.doubt else ""),
                "See whether the servers answer, and run the task again",
                resource=name,
            )
            self.broken.setdefault(name, reason)

    def _change(self, look: Look, name: str, at: float) -> str:
        agreement = look.agreements.get(name)
        if agreement is None:
            # A server that can't be read shows nothing; a definition that is gone is a change.
            return "its definition was deleted" if self._definition_gone(look, name) else ""
        shown = {one.storage_hash for one in agreement.servers if one.storage_hash}
        others = shown - {self._hashes[name]}
        if others:
            return (
                f"a server was seen that writes {enumerate_names(sorted(others))} and not"
                f" {self._hashes[name]}"
            )
        if agreement.status == "disagreeing":
            return "the servers came to disagree"
        if not agreement.agreed:
            return ""
        if _backends(look, name) != self._backends[name]:
            return "another endpoint came to serve it"
        epoch = self._epoch(look, name)
        harmful = [
            str(one)
            for one in compare_epochs(before=self._first[name], after=epoch)
            if not one.harmless_to_versions
        ]
        if harmful:
            return enumerate_names(harmful)
        before, after = self._transitions[name], _transition(look, name)
        if before and after and before != after:
            self.unseen.add(name)
            return "the servers disagreed and came to agree again"
        if at - self.seen_at > LONGEST_GAP and epoch != self._epochs[name]:
            self.unseen.add(name)
            return f"nobody could look for {at - self.seen_at:.0f} s, and a server was restarted"
        return ""

    def _definition_gone(self, look: Look, name: str) -> bool:
        return bool(self._first[name].crd_uid) and name not in look.sight.crds

    def _epoch(self, look: Look, name: str) -> Epoch:
        return decide_epoch(
            sight=look.sight,
            membership=look.membership,
            resource=name,
            encryption=self._encryption,
        )


def _backends(look: Look, name: str) -> set[tuple[str, tuple[str, ...]]]:
    """What serves an aggregated resource: Services, each with its endpoints (R7)."""
    _plural, group = split_resource(name)
    proxied = look.sight.aggregated.values()
    return {
        (one.service, one.endpoints_after)
        for one in proxied
        if split_group_version(one.group_version)[0] == group
    }


def _transition(look: Look, name: str) -> str:
    """When what all servers write last changed, where the StorageVersion API tells it."""
    reported = (look.sight.storage_versions or {}).get(name)
    return reported.last_transition if reported and look.sight.all_report else ""


def _doubt(look: Look, name: str) -> Reason:
    agreement = look.agreements.get(name)
    if agreement and agreement.reasons:
        return agreement.reasons[0]
    return Reason(f"nothing could be seen of {name}", "See whether the servers are restarting")
