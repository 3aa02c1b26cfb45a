# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""Looks at the servers every few seconds while something else goes on (R6)."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.errors import (
    LockstepError,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.reasons import Reason
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.settling import Look
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.watching import (
    LONGEST_GAP,
    Watch,
)

# After a look that told nothing the next one comes sooner.
_DOUBT_SECONDS = 1.0


class Watcher:
    """Keeps a watch in a thread of its own.

    Who asks it goes by the clock, and not by what that thread has noted: it may hang, or be dead.
    """

    def __init__(self, watch: Watch, look: Callable[[], Look], *, every: float) -> None:
        self.watch = watch
        self._look, self._every = look, every
        self._one_at_a_time = threading.Lock()
        self._ended = threading.Event()
        self._doubted_since = 0.0
        # When the last look has ended that told anything.
        self._looked_at = time.monotonic()
        self._thread = threading.Thread(target=self._follow, daemon=True)

    def __enter__(self) -> Watcher:
        self._thread.start()
        return self

    def __exit__(self, *_exception: object) -> None:
        self._ended.set()
        # One that hangs is left behind: it only reads.
        self._thread.join(LONGEST_GAP)

    def look_now(self) -> None:
        """Look once, between the regular looks."""
        if self.watch.empty:
            return
        if not self._one_at_a_time.acquire(timeout=LONGEST_GAP):
            return
        try:
            begun = time.monotonic()
            try:
                self.watch.take(self._look(), at=begun)
            except LockstepError as error:
                self.watch.miss(str(error))
            except (Exception, SystemExit) as error:
                # Whatever it is: a thread that dies of it would look like one that sees no change.
                self.watch.miss(f"an observation failed: {type(error).__name__}: {error}")
            else:
                self._looked_at = time.monotonic()
            if self.watch.doubt is None:
                self._doubted_since = 0.0
            elif not self._doubted_since:
                self._doubted_since = begun
        finally:
            self._one_at_a_time.release()

    def broken(self, resource: str) -> Reason | None:
        """Why what is written of a resource proves nothing any more."""
        self.watch.lapse(time.monotonic() - self._looked_at)
        return self.watch.broken.get(resource)

    @property
    def doubt(self) -> Reason | None:
        """What the last look could not tell."""
        return self.watch.doubt

    @property
    def doubted_for(self) -> float:
        """For how many seconds nobody could see all servers."""
        since = self._doubted_since
        return time.monotonic() - since if since else 0.0

    def _follow(self) -> None:
        while not self._ended.wait(_DOUBT_SECONDS if self.watch.doubt else self._every):
            self.look_now()
