# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""The Leases behind Lockstep's own locks."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from functools import partial

from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.locks import (
    LABEL,
    NOTE,
    LockSight,
    lease_name,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.times import parse_time
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe import documents
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.documents import Document
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.servers import ApiServer
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.storage_versions import (
    LEASES,
)


@dataclass(frozen=True)
class FoundLock:
    """A lock's Lease, if there is one, and the server's time."""

    sight: LockSight | None
    document: Document | None
    now: datetime
    # Whose Lease has the name of ours and is not; empty if there is none.
    foreign: str = ""


def observe_lock(server: ApiServer, lock: str) -> FoundLock:
    """Read one lock. A list, since its answer tells the server's time even where there is none."""
    answer = server.get(LEASES, fieldSelector=f"metadata.name={lease_name(lock)}")
    now = answer.clock()
    for document in answer.read(partial(parse_lock, lock=lock)):
        metadata = documents.section(document, "metadata")
        sight = _sight(document, lock)
        if documents.section(metadata, "labels").get(LABEL) != lock:
            return FoundLock(None, None, now, foreign=sight.owner or "nobody that it names")
        return FoundLock(sight, document, now)
    return FoundLock(None, None, now)


def parse_lock(document: Document, *, lock: str) -> list[Document]:
    """The Lease of this lock in a list, checked; nothing if there is none."""
    items = documents.list_items(document, "LeaseList")
    for item in items:
        metadata = documents.section(item, "metadata")
        if documents.text(metadata, "name") != lease_name(lock):
            raise documents.MalformedError(f"it holds another Lease than {lease_name(lock)}")
        documents.section(metadata, "labels")
        documents.text(metadata, "resourceVersion")
        _sight(item, lock)
    return items


def _sight(document: Document, lock: str) -> LockSight:
    spec = documents.section(document, "spec")
    annotations = documents.section(documents.section(document, "metadata"), "annotations")
    return LockSight(
        name=lock,
        owner=documents.optional_text(spec, "holderIdentity"),
        renewed=parse_time(spec.get("renewTime")),
        seconds=documents.optional_number(spec, "leaseDurationSeconds"),
        note=documents.optional_text(annotations, NOTE),
    )
