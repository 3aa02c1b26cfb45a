# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""Another trigger beside ours: it asks one server and takes it for all."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from .errors import LockstepError
from .membership import Membership
from .reasons import enumerate_names

# What its image is called, wherever it comes from.
_IMAGE = "storage-version-migration-trigger"


@dataclass(frozen=True)
class DeploymentSight:
    """One Deployment, as far as it tells what it runs."""

    namespace: str
    name: str
    # The images of its containers, and the programs that these are told to start.
    images: tuple[str, ...] = ()
    programs: tuple[str, ...] = ()
    replicas: int = 1

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}"


@dataclass(frozen=True)
class ForeignTrigger:
    """Who else keeps the StorageStates, and the Deployments that run it, if any were found."""

    writer: str
    deployments: tuple[DeploymentSight, ...] = ()

    @property
    def text(self) -> str:
        """What is wrong with it."""
        named = enumerate_names(f"the Deployment {one}" for one in self.deployments)
        return (
            f"another trigger keeps the StorageStates ({named or self.writer}): it asks one server"
            " for all, and migrates while the others differ"
        )

    @property
    def remedy(self) -> str:
        """What to do about it."""
        if self.deployments:
            return "Stop it for good, and use lockstep.kubernetes.trigger"
        return (
            f"No Deployment that runs it was found: see where {self.writer} runs, stop it for good,"
            " and use lockstep.kubernetes.trigger; if it is stopped already, wait ten minutes"
        )

    @property
    def command(self) -> str:
        """The same for a shell; empty if nobody knows what to stop."""
        return " && ".join(
            f"kubectl --namespace {one.namespace} delete deployment {one.name}"
            for one in self.deployments
        )

    def as_error(self) -> LockstepError:
        """Refuse to work beside it."""
        does = f"{self.remedy}: {self.command}" if self.command else self.remedy
        return LockstepError("Nothing may be migrated here", self.text, does)


def find_trigger(writer: str, deployments: Iterable[DeploymentSight]) -> ForeignTrigger | None:
    """Who runs the trigger that writes as `writer`; None if nobody does."""
    if not writer:
        return None
    found = [one for one in deployments if one.replicas and _runs(one, writer)]
    return ForeignTrigger(writer, tuple(found))


def beside_several(trigger: ForeignTrigger | None, membership: Membership) -> ForeignTrigger | None:
    """The trigger, where there is more than the one server that it asks."""
    several: Collection[object] = max(membership.distinct, membership.live, key=len)
    return trigger if len(several) > 1 else None


def _runs(deployment: DeploymentSight, writer: str) -> bool:
    # No other sign is enough: what is named here is what somebody will delete.
    named = any(_IMAGE in one for one in deployment.images)
    return named or any(one.rpartition("/")[2] == writer for one in deployment.programs)
