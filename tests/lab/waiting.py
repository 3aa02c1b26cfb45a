"""Waiting in tests: for what must become true, never for a number of seconds."""

from __future__ import annotations

import time
from collections.abc import Callable


def eventually(condition: Callable[[], bool], *, within: float) -> None:
    """Wait until a condition holds."""
    deadline = time.monotonic() + within
    while not condition():
        assert time.monotonic() < deadline, f"not so within {within:g} s"
        time.sleep(0.1)
