# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""When is agreement settled? Seen once is not enough: it must hold still for a while."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from .agreement import Agreement
from .membership import Membership
from .names import select_resources
from .observations import ClusterSight

BUILT_IN_SECONDS = 10.0
# Servers take up a changed CustomResourceDefinition each in its own time, within a minute.
CUSTOM_SECONDS = 60.0


@dataclass(frozen=True)
class Look:
    """One look at the cluster, with the verdicts that it led to."""

    sight: ClusterSight
    membership: Membership
    agreements: Mapping[str, Agreement]
    # Resources asked for by their whole name that no server knows: of them nothing is known.
    unheard_of: tuple[str, ...] = ()

    @property
    def agreed(self) -> bool:
        """Whether the view is complete and every resource in it agreed on."""
        everything = all(one.agreed for one in self.agreements.values())
        return self.membership.complete and everything and not self.unheard_of

    @property
    def without_unknown(self) -> Look:
        """The same without what nobody can know, and so without what never comes to be agreed."""
        kept = {name: one for name, one in self.agreements.items() if one.status != "unknown"}
        return replace(self, agreements=kept, unheard_of=())

    def left_out(self, patterns: Iterable[str]) -> tuple[str, ...]:
        """What is named and can't be known; what servers write differently is never left out."""
        named = select_resources(resources=self.agreements, patterns=patterns)
        return tuple(name for name in named if self.agreements[name].unknowable)

    def without(self, resources: Collection[str]) -> Look:
        """The same without these."""
        kept = {name: one for name, one in self.agreements.items() if name not in resources}
        return replace(self, agreements=kept)

    @property
    def definitions(self) -> dict[str, tuple[str, int]]:
        """Which definition each custom resource has now."""
        return {name: (crd.uid, crd.generation) for name, crd in self.sight.crds.items()}

    def same_as(self, other: Look) -> bool:
        """Whether nothing that encoding hangs on moved between two looks."""
        return self._fingerprint() == other._fingerprint()

    def _fingerprint(self) -> object:
        hashes = {name: one.storage_hash for name, one in self.agreements.items()}
        servers = {(lease.name, lease.holder) for lease in self.membership.live}
        return hashes, servers, self.definitions


@dataclass(frozen=True)
class Settling:
    """How long agreement has held still, and how long it must."""

    begun: Look | None
    held: float
    needed: float

    @property
    def done(self) -> bool:
        return self.begun is not None and self.held >= self.needed


class Settler:
    """Follows looks one after the other, and says when agreement has settled."""

    def __init__(self, *, seconds: float | None) -> None:
        # None: the default, which depends on what moved.
        self._seconds = seconds
        self._begun: Look | None = None
        self._begun_at = 0.0
        self._first_definitions: dict[str, tuple[str, int]] | None = None

    def take(self, look: Look, *, at: float) -> Settling:
        """Take one more look, made at this moment of a monotonic clock."""
        if self._first_definitions is None:
            self._first_definitions = look.definitions
        if not look.agreed:
            self._begun = None
        elif self._begun is None or not look.same_as(self._begun):
            self._begun, self._begun_at = look, at
        held = at - self._begun_at if self._begun else 0.0
        return Settling(begun=self._begun, held=held, needed=self._needed(look))

    def lose(self) -> None:
        """Forget what had settled: a look failed, so anything may have happened."""
        self._begun = None

    def _needed(self, look: Look) -> float:
        if self._seconds is not None:
            return self._seconds
        moved = look.definitions != self._first_definitions
        recent = any(
            crd.changed is not None and _since(crd.changed, look.sight.now) < CUSTOM_SECONDS
            for crd in look.sight.crds.values()
        )
        return CUSTOM_SECONDS if moved or recent else BUILT_IN_SECONDS


def _since(moment: datetime, now: datetime) -> float:
    return (now - moment) / timedelta(seconds=1)
