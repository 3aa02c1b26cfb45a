# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""Takes versions out of a definition's status.storedVersions, once nothing is stored in them."""

from __future__ import annotations

from dataclasses import dataclass

from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.crds import CRDS
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.servers import (
    ApiServer,
    ServerFault,
)

_ATTEMPTS = 5


@dataclass(frozen=True)
class Pruning:
    """What a definition said to be stored, and what it says now."""

    before: tuple[str, ...]
    after: tuple[str, ...]
    # Why nothing was taken out although there was something to take.
    hindrance: str = ""


def prune_stored_versions(
    server: ApiServer, resource: str, *, uid: str, generation: int
) -> Pruning:
    """Leave only the storage version, if the definition is the one that was migrated under."""
    for _attempt in range(_ATTEMPTS):
        server.deadline = server.deadline.anew()
        document = server.get(f"{CRDS}/{resource}").json()
        metadata, versions = document["metadata"], document["spec"]["versions"]
        before = tuple((document.get("status") or {}).get("storedVersions") or ())
        storage = next(one["name"] for one in versions if one["storage"])
        if (metadata["uid"], int(metadata["generation"])) != (uid, generation):
            return Pruning(before, before, "the definition was changed meanwhile")
        if before == (storage,):
            return Pruning(before, before)
        status = {
            "metadata": {"uid": uid, "resourceVersion": metadata["resourceVersion"]},
            "status": {"storedVersions": [storage]},
        }
        try:
            server.patch(f"{CRDS}/{resource}/status", status)
        except ServerFault as fault:
            if fault.status != 409 and not fault.broken:
                raise
        else:
            return Pruning(before, (storage,))
    return Pruning(before, before, f"others wrote it during each of {_ATTEMPTS} attempts")
