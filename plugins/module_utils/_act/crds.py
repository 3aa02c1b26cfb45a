# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""Takes versions out of a definition's status.storedVersions, once nothing is stored in them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe import documents
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.crds import (
    CRDS,
    parse_definition,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.documents import Document
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


@dataclass(frozen=True)
class _Definition:
    """A definition, as far as pruning it is concerned; versions without their group."""

    uid: str
    generation: int
    resource_version: str
    before: tuple[str, ...]
    storage: str


def _parse(document: Document, *, resource: str) -> _Definition:
    definition = parse_definition(document, resource=resource)
    metadata = documents.section(document, "metadata")
    return _Definition(
        uid=documents.text(metadata, "uid"),
        generation=documents.number(metadata, "generation"),
        resource_version=documents.text(metadata, "resourceVersion"),
        before=tuple(one.rpartition("/")[2] for one in definition.stored),
        storage=definition.storage.rpartition("/")[2],
    )


def prune_stored_versions(
    server: ApiServer, resource: str, *, uid: str, generation: int
) -> Pruning:
    """Leave only the storage version, if the definition is the one that was migrated under."""
    for attempt in range(1, _ATTEMPTS + 1):
        server.deadline = server.deadline.anew()
        found = server.get(f"{CRDS}/{resource}").read(partial(_parse, resource=resource))
        before, storage = found.before, found.storage
        if (found.uid, found.generation) != (uid, generation):
            return Pruning(before, before, "the definition was changed meanwhile")
        if before == (storage,):
            return Pruning(before, before)
        status = {
            "metadata": {"uid": uid, "resourceVersion": found.resource_version},
            "status": {"storedVersions": [storage]},
        }
        try:
            server.patch(f"{CRDS}/{resource}/status", status)
        except ServerFault as fault:
            if fault.status != 409 and not (fault.broken and attempt < _ATTEMPTS):
                raise
        else:
            return Pruning(before, (storage,))
    return Pruning(before, before, f"others wrote it during each of {_ATTEMPTS} attempts")
