# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""A few objects, tried: would they be written again, and are they read in every version?

Nothing is changed. A rewrite is asked for as a dry run; a read shows whether webhooks convert.
"""

from __future__ import annotations

from collections.abc import Sequence

from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.answers import (
    explain_refused,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.checks.facts import (
    SampleFacts,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.rewrites import (
    ObjectName,
    judge_fault,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.objects import ObjectList
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.servers import (
    ApiServer,
    ServerFault,
)


def try_samples(
    server: ApiServer, listing: ObjectList, samples: Sequence[ObjectName]
) -> SampleFacts:
    """Ask for a rewrite of each without effect."""
    refused: list[tuple[str, str]] = []
    for name in samples:
        server.deadline = server.deadline.anew()
        try:
            listing.try_rewrite(server, name)
        except ServerFault as fault:
            fate = judge_fault(status=fault.status, document=fault.document)
            said = str(fault.document.get("message") or fault.fault)
            if fate in ("missing", "orphan"):
                # Deleted meanwhile, or refused in these words: only a GET can tell.
                try:
                    there = listing.is_there(server, name)
                except ServerFault as unread:
                    return SampleFacts(refused=tuple(refused), untried=unread.fault)
                if there:
                    told = explain_refused(fault.document, resource=listing.resource, name=name)
                    refused.append((str(name), told or said))
                continue
            # A webhook with side effects can't be asked without effect.
            if fate != "denied" or "dry run" in said:
                return SampleFacts(refused=tuple(refused), untried=said)
            refused.append((str(name), said))
    return SampleFacts(refused=tuple(refused))


def try_versions(
    server: ApiServer, listings: Sequence[ObjectList], sample: ObjectName
) -> tuple[tuple[str, str], ...]:
    """Read one object in every version that is served; the versions in which it can't be."""
    failed = []
    for listing in listings:
        server.deadline = server.deadline.anew()
        try:
            listing.read_one(server, sample)
        except ServerFault as fault:
            if not listing.calls_missing(fault, sample):
                said = str(fault.document.get("message") or fault.fault)
                failed.append((listing.group_version, said))
    return tuple(failed)
