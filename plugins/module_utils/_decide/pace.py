# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""How fast objects may be rewritten: under a given rate, and slower while a server suffers."""

from __future__ import annotations

from dataclasses import dataclass

# A 10 GB control plane is to bear less than ten writes a second, says the specification; the
# bandwidth is what its forerunner took.
GENTLE_QPS = 10.0
GENTLE_MEGABITS = 10.0
GENTLE_CONNECTIONS = 2
FULL_CONNECTIONS = 16

_SLOWEST = 1 / 16
# It recovers by so much a second: from the slowest to full speed in half a minute.
_RECOVERY = 1 / 32
# Trouble comes in bursts, of all requests that were under way: it counts once a second.
_TROUBLE_SECONDS = 1.0
# What counts as rising latency: twice the usual, and more than noise.
_LATENCY_FACTOR = 2.0
_LATENCY_NOISE = 0.02
_RECENT_WEIGHT = 0.1
_USUAL_WEIGHT = 0.005


@dataclass(frozen=True)
class Limits:
    """What was asked for. 0 is no limit."""

    qps: float = GENTLE_QPS
    megabits: float = GENTLE_MEGABITS
    connections: int = GENTLE_CONNECTIONS
    # At full speed slow answers are expected.
    heed_latency: bool = True


class Pace:
    """Decides when the next request may begin, from how the last ones fared.

    Times are moments of a monotonic clock. It keeps no clock of its own, and knows no threads.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        # The share of the asked speed that is used now.
        self.factor = 1.0
        self._next = 0.0
        self._not_before = 0.0
        self._trouble_at = float("-inf")
        self._grown_at = 0.0
        self._usual = 0.0
        self._recent = 0.0

    @property
    def connections(self) -> int:
        """How many requests may be under way at once."""
        return max(1, round(self._limits.connections * self.factor))

    def wait(self, now: float) -> float:
        """Seconds until the next request may begin."""
        return max(self._next, self._not_before) - now

    def begin(self, now: float) -> None:
        """Take note that a request begins now."""
        if self._limits.qps:
            self._spend(now, 1 / (self._limits.qps * self.factor))

    def end(self, now: float, *, seconds: float, size: int) -> None:
        """Take note of an answer: how long it took, and the bytes of it and its request."""
        if self._limits.megabits:
            self._spend(now, size * 8 / (self._limits.megabits * 1_000_000))
        self._grow(now)
        if not self._limits.heed_latency:
            return
        if not self._usual:
            self._usual = self._recent = seconds
        self._recent += _RECENT_WEIGHT * (seconds - self._recent)
        self._usual += _USUAL_WEIGHT * (seconds - self._usual)
        # What is faster than usual is how it should be.
        self._usual = min(self._usual, max(self._recent, 0.001))
        if self._recent > self._usual * _LATENCY_FACTOR + _LATENCY_NOISE:
            self._slow_down(now)

    def suffer(self, now: float, *, retry_after: float = 0.0) -> None:
        """Take note that the server refused, failed or did not answer."""
        self._not_before = max(self._not_before, now + retry_after)
        self._slow_down(now)

    def _spend(self, now: float, seconds: float) -> None:
        self._next = max(self._next, now) + seconds

    def _slow_down(self, now: float) -> None:
        if now - self._trouble_at >= _TROUBLE_SECONDS:
            self._trouble_at = self._grown_at = now
            self.factor = max(_SLOWEST, self.factor / 2)

    def _grow(self, now: float) -> None:
        if self.factor < 1:
            grown = (now - self._grown_at) * _RECOVERY
            self.factor = min(1.0, self.factor + max(grown, 0.0))
        self._grown_at = now
