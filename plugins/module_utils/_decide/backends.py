# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""Which of the three ways of migrating a resource is taken, and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from .agreement import Origin
from .errors import LockstepError
from .migrations import NEVER_MIGRATED
from .observations import ServedResource

Backend = Literal["in_tree", "migrator", "direct"]
Asked = Literal["auto", "in_tree", "migrator", "direct"]


@dataclass(frozen=True)
class Surroundings:
    """Who could run migrations here."""

    in_tree: bool
    # Whether the out-of-tree migrator lives; None if nobody has tried.
    migrator: bool | None
    # Options that only our own migrator can follow, by name.
    wishes: tuple[str, ...] = ()


def choose_backend(
    *,
    asked: Asked,
    resource: str,
    origin: Origin,
    served: ServedResource,
    surroundings: Surroundings,
) -> tuple[Backend, str]:
    """Choose, with the reason; what was asked for and can't be had is an error."""
    if asked != "auto":
        _require(asked, resource, origin, surroundings)
        return asked, f"backend is {asked}"
    if surroundings.wishes:
        return "direct", f"{', '.join(surroundings.wishes)} can be had from direct only"
    if surroundings.in_tree:
        hindrance = _against_in_tree(origin, served)
        if hindrance:
            return "direct", hindrance
        return "in_tree", "storagemigration.k8s.io is served"
    if surroundings.migrator:
        return "migrator", "storagemigration.k8s.io is not served, and the migrator is alive"
    if surroundings.migrator is None:
        return "direct", "storagemigration.k8s.io is not served; a migrator was not looked for"
    return "direct", "no controller that runs migrations was found"


def _against_in_tree(origin: Origin, served: ServedResource) -> str:
    if origin == "aggregated":
        return "the in-tree controller can't migrate aggregated APIs"
    lacking = sorted({"list", "watch", "patch", "update", "delete"} - served.verbs)
    if lacking:
        return f"the in-tree controller needs the verb {', '.join(lacking)}"
    return ""


def _require(asked: Asked, resource: str, origin: Origin, surroundings: Surroundings) -> None:
    if asked == "in_tree":
        require_in_tree(surroundings.in_tree)
    if asked == "in_tree" and origin == "aggregated":
        raise LockstepError(
            f"{resource} can't be migrated by the in-tree controller",
            "It belongs to an aggregated API",
            "Set backend to direct",
        )
    if asked == "migrator" and surroundings.migrator is False:
        raise LockstepError(
            "The option backend is migrator",
            "No out-of-tree migrator answers in this cluster",
            "Start it (role lockstep.kubernetes.migrator), or set backend to direct",
        )
    if asked in ("in_tree", "migrator") and surroundings.wishes:
        raise LockstepError(
            f"The option backend is {asked}",
            f"It has a rate of its own and can't follow {', '.join(surroundings.wishes)}",
            "Set backend to direct, or leave these options out",
        )


def require_in_tree(served: bool) -> None:
    """Refuse the in-tree controller where its API is off."""
    if not served:
        raise LockstepError(
            "The option backend is in_tree",
            "No server serves storagemigration.k8s.io",
            "Turn it on (--runtime-config=storagemigration.k8s.io/v1beta1=true and the feature"
            " gate StorageVersionMigrator), or set backend to direct",
        )


def against_migrating(resource: str, served: ServedResource | None) -> str:
    """Why a resource is never migrated; empty if it can be."""
    if resource in NEVER_MIGRATED:
        return "events expire by themselves"
    if served is None:
        return "no server serves it"
    if "list" not in served.verbs or "patch" not in served.verbs:
        lacking = " and ".join(sorted({"list", "patch"} - served.verbs))
        return f"it has no verb {lacking}, so its objects can't be rewritten"
    return ""
