# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""Whether what a run re-encrypts was written by one configuration, from its start to its end."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, ExitStack
from dataclasses import replace
from functools import cached_property

from ansible_collections.lockstep.kubernetes.plugins.module_utils._act.migrations.direct import (
    Position,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._act.migrations.probes import (
    Prober,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.encryption import (
    EncryptionConfig,
    Round,
    against_one_configuration,
    against_reencryption,
    fingerprint,
    judge_first_round,
    judge_last_round,
    may_resume,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.epoch import (
    Epoch,
    compare_epochs,
    decide_epoch,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.settling import Look
from ansible_collections.lockstep.kubernetes.plugins.module_utils._migration_plans import Job, Plan
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.servers import Access

_PASSED_ON = "it belongs to an aggregated API, whose own server encrypts it"


class Reencryption(AbstractContextManager["Reencryption"]):
    """What is known of the keys of one plan's jobs; of those that ask for no keys, nothing."""

    def __init__(self, access: Access, plan: Plan, *, timeout: float) -> None:
        self._access, self._plan, self._timeout = access, plan, timeout
        self._first: dict[str, Round] = {}
        self._opened = ExitStack()

    def __exit__(self, *_exception: object) -> None:
        self._opened.close()

    @cached_property
    def _prober(self) -> Prober:
        addresses = [one.address for one in self._plan.seen.sight.servers]
        return self._opened.enter_context(Prober(self._access, addresses, timeout=self._timeout))

    def begin(self, job: Job) -> str:
        """Try samples before the first write; why another run would be in vain, if it would."""
        if not _asks_for_keys(job):
            return ""
        tried = self._prober.try_some(job.listing)
        first = self._first[job.resource] = judge_first_round(tried, self._prober.addresses)
        silent = against_one_configuration(self._plan.encryption)
        against = first.against or (silent if not first.held else "")
        if not job.done_before or not against:
            return ""
        # To write all once more would prove as little.
        return f"it was rewritten before, and its keys can't be verified: {against}"

    def counts(self, job: Job, begun: Position) -> bool:
        """Whether what an earlier run has written was written as the servers write now."""
        again = Round()
        if begun.samples and _asks_for_keys(job):
            again = judge_last_round(self._prober.try_again(job.listing, begun.samples))
        counts = may_resume(
            then=begun.encryption,
            now=self._fingerprint(job),
            saved=begun.samples,
            again=again,
            first=self._first.get(job.resource, Round()),
        )
        if counts and again.held:
            # They go back to the first write of all.
            self._first[job.resource] = again
        return counts

    def mark(self, job: Job, position: Position) -> Position:
        """Let a position carry what proves that it counts, for whoever takes it up again."""
        samples = self._first.get(job.resource, Round()).held
        return replace(position, encryption=self._fingerprint(job), samples=samples)

    def against(self, job: Job, seen: Look, after: Mapping[str, EncryptionConfig]) -> str:
        """Why it is not known that all of a resource was written by one configuration."""
        if job.agreement.origin == "aggregated":
            return _PASSED_ON
        first = self._first.get(job.resource, Round())
        begun, now = (_epoch(look, job.resource) for look in (self._plan.seen, seen))
        changes = [str(one) for one in compare_epochs(before=begun, after=now)]
        # A server that is not there any more would only be waited for.
        tried = () if changes else self._prober.try_again(job.listing, first.held)
        return against_reencryption(
            before=self._plan.encryption,
            after=after,
            first=first,
            last=judge_last_round(tried),
            changes=changes,
        )

    def _fingerprint(self, job: Job) -> str:
        return fingerprint(self._plan.encryption) if job.reencrypts else ""


def _asks_for_keys(job: Job) -> bool:
    # What is forced proves nothing, and aggregated APIs are only passed on (R7).
    return job.reencrypts and not job.forced and job.agreement.origin != "aggregated"


def _epoch(look: Look, resource: str) -> Epoch:
    return decide_epoch(sight=look.sight, membership=look.membership, resource=resource)
