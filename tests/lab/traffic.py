"""Somebody who uses a cluster while something else goes on."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

from .api import Api

_SECONDS = 0.2


@contextmanager
def traffic(api: Api, *paths: str) -> Iterator[None]:
    """Objects that are written all the time.

    On a quiet cluster the in-tree controller begins only after a minute or so: it waits until the
    garbage collector has seen something of the resource that is newer than the migration.
    """
    ended = threading.Event()

    def write() -> None:
        number = 0
        while not ended.wait(_SECONDS):
            number += 1
            for path in paths:
                api.patch(path, {"metadata": {"annotations": {"number": str(number)}}})

    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit(write)
        try:
            yield
        finally:
            ended.set()
        writing.result()
