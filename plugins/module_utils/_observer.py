# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""Keeps records fresh and a lock held for as long as another process works (R3)."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta, timezone
from typing import Any

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.lockstep.kubernetes.plugins.module_utils._act.locks import (
    identify_process,
    is_dead,
    renew,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.errors import (
    LockstepError,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.locks import check_lock
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.passes import (
    PassRules,
    recordable,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.reasons import plural
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.times import format_time
from ansible_collections.lockstep.kubernetes.plugins.module_utils._looks import look
from ansible_collections.lockstep.kubernetes.plugins.module_utils._module import entry_server
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.servers import (
    read_access,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.states import (
    observe_states,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._plans import read_target
from ansible_collections.lockstep.kubernetes.plugins.module_utils._run import (
    Result,
    check_positive,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._states import (
    read_rules,
    record_pass,
)

# Within so many seconds it notices that its work is done.
_POLL_SECONDS = 1.0
# The observations that fit into the window after which a record is stale.
_PER_WINDOW = 6
# After one that told nothing the next comes sooner.
_SOONER = 3
_RENEWALS = 6
# How many gaps are told: more of them say nothing new.
_GAPS_KEPT = 50


@dataclass
class Gaps:
    """The spans in which no observation confirmed the records, and why."""

    seen_at: datetime
    count: int = 0
    ended: list[dict[str, str]] = field(default_factory=list)
    why: str = ""

    def close(self, at: datetime) -> None:
        """Note that all was seen at this moment."""
        if self.why:
            self.count += 1
            self.ended.append(
                {"since": format_time(self.seen_at), "until": format_time(at), "why": self.why}
            )
            del self.ended[:-_GAPS_KEPT]
        self.seen_at, self.why = at, ""

    def open(self, why: str) -> None:
        """Note that an observation told nothing; the first reason of a gap is its cause."""
        self.why = self.why or why


def keep_observing(module: AnsibleModule) -> Result:
    """What observer does."""
    observer = Observer(module)
    return observer.result("in check mode it does nothing") if module.check_mode else observer.run()


class Observer:
    """One run beside another process."""

    def __init__(self, module: AnsibleModule) -> None:
        self._module, self._params = module, module.params
        check_positive(self._params, "stale_after", "seconds", "process")
        check_lock(name=self._params["lock"], owner=self._params["owner"])
        self._process = self._params["process"]
        self._owner = f"{self._params['owner']}, {identify_process(self._process)}"
        self._rules: PassRules = replace(
            read_rules(self._params),
            upgrades_to=read_target(self._params) if self._params["release"] else None,
            patient=True,
        )
        self._gaps = Gaps(_now())
        self._observations = 0

    def run(self) -> Result:
        """Observe until the process has ended, or the lock is not its own any more."""
        every = self._params["stale_after"] / _PER_WINDOW
        next_look = time.monotonic() + every
        while not self._process_ended():
            holder = self._renew()
            if holder != self._owner:
                return self.result(f"{holder} has the lock" if holder else "the lock is given back")
            if time.monotonic() >= next_look:
                seen = self._observe()
                next_look = time.monotonic() + (every if seen else every / _SOONER)
            time.sleep(_POLL_SECONDS)
        return self.result("the process has ended")

    def _process_ended(self) -> bool:
        if is_dead(self._owner):
            return True
        try:
            os.kill(self._process, 0)
        except ProcessLookupError:
            return True
        except OSError:
            pass
        return False

    def _renew(self) -> str:
        """Keep the lock from expiring; who holds it, as far as that is known."""
        try:
            with entry_server(self._module, what="The lock can't be renewed") as server:
                return renew(
                    server,
                    lock=self._params["lock"],
                    owner=self._owner,
                    seconds=self._params["seconds"],
                    after=timedelta(seconds=self._params["seconds"] / _RENEWALS),
                )
        except LockstepError:
            # The server that is asked may be the one that is restarted: that passes.
            return self._owner

    def _observe(self) -> bool:
        """Confirm what is recorded; whether all of it could be confirmed."""
        try:
            with entry_server(self._module, what="The StorageStates can't be read") as server:
                known = observe_states(server, needed=False)
            access = read_access(self._module)
            seen = look(self._module, access)
            # What is stale already is not for an observer to begin anew: the run itself does.
            fresh = [
                name
                for name in recordable(seen, self._params["resources"])
                if name in known.states
                and not known.states[name].stale(seen.sight.now, self._rules.window)
            ]
            done = record_pass(self._module, access, seen, known, fresh, self._rules)
        except LockstepError as error:
            self._gaps.open(str(error))
            return False
        kept = done and all(one.transition.kind != "missed" for one in done)
        if not seen.membership.complete and not kept:
            self._gaps.open(str(next(iter(seen.membership.reasons))))
            return False
        self._observations += 1
        self._gaps.close(seen.sight.now)
        return True

    def result(self, ended: str) -> dict[str, Any]:
        """What came of it, and why it has ended."""
        self._gaps.close(_now())
        gaps = self._gaps.ended
        told = "Records were confirmed by every observation"
        if gaps:
            last = gaps[-1]
            told = (
                f"Records were not confirmed in {plural(self._gaps.count, 'span')}, the last from"
                f" {last['since']} to {last['until']}: {last['why']}"
            )
        return {
            "changed": False,
            "summary": [told],
            "observations": self._observations,
            "gaps": gaps,
            "ended": ended,
        }


def _now() -> datetime:
    return datetime.now(timezone.utc)
