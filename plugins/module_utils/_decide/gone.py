# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""Records of resources that no server serves any more: a CRD was deleted, a release dropped a kind.

Only an audit tells that nothing is left of one; then its record has done its work (R13).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from . import names
from .agreement import not_persisted
from .checks.facts import AuditFacts
from .keys import directory_of, place_known, same_objects
from .reasons import Reason, plural
from .settling import Look
from .states import StorageState


def decide_gone(
    states: Mapping[str, StorageState],
    *,
    look: Look,
    audit: AuditFacts | None,
    patterns: Iterable[str],
) -> tuple[str, ...]:
    """The resources whose records may be deleted, since nothing is served or stored of them."""
    if not look.membership.complete:
        return ()
    chosen = names.select_resources(resources=states, patterns=patterns)
    unserved = [name for name in chosen if not _may_be_served(name, look)]
    return tuple(name for name in unserved if judge_gone(name, states[name], audit) is None)


def judge_gone(name: str, state: StorageState, audit: AuditFacts | None) -> Reason | None:
    """Why something may be left of a resource that no server serves; None if nothing is."""
    unserved = f"no server serves {name}"
    if audit is None or not audit.complete:
        read = "etcd was not read" if audit is None else "not all of etcd was read"
        return Reason(
            f"{unserved}, and {read}, so objects of it may still be stored",
            "Let etcd be read: its record is deleted once no key of it is left. Or turn its API on"
            " again; or, if you know that nothing of it is stored, delete its record with"
            f" storage_state, state=absent and resources={name}",
            resource=name,
        )
    if audit.against:
        return audit.against[0]
    epoch = state.evidence.epoch
    if not place_known(name) and not (epoch and epoch.crd_uid):
        return Reason(
            f"{unserved}, and where its keys lie in etcd is not known",
            f"If nothing of it is stored, delete its record with storage_state, state=absent and"
            f" resources={name}",
            resource=name,
        )
    stored = [one for one in same_objects(name) if one in audit.versions]
    if stored:
        count = (audit.keys or {}).get(stored[0])
        left = plural(count, "key") if count else "objects"
        place = f"{audit.prefix}/{directory_of(name)}/"
        return Reason(
            f"{unserved}, and {left} of it below {place} can't be read",
            "Turn its API on again (for a custom resource, install its definition), and migrate or"
            " delete the objects; only if that can't be done, delete the keys from etcd",
            resource=name,
        )
    return None


def _may_be_served(name: str, look: Look) -> bool:
    _plural, group = names.split_resource(name)
    # A group that nobody could list may have it.
    unlisted = f"*.{group}" if group else "*"
    return (
        name in look.agreements or unlisted in look.agreements or name in not_persisted(look.sight)
    )
