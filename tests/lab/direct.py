"""Migrations that the module runs itself, and what they make of stored objects."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

from .control_plane import ControlPlane
from .recorder import Recorder


def migrate(recorder: Recorder, *resources: str, **options: Any) -> Any:
    """What storage_migration returns when it does the work itself, failed or not."""
    return recorder.try_to_migrate(*resources, **{"backend": "direct", **options})


@contextmanager
def running(recorder: Recorder, *resources: str, **options: Any) -> Iterator[Future[Any]]:
    """The same in a thread, while something else goes on."""
    with ThreadPoolExecutor(1) as pool:
        yield pool.submit(migrate, recorder, *resources, **options)


def count_versions(plane: ControlPlane, prefix: str) -> Counter[str]:
    """How many objects below a prefix are stored in which version."""
    versions = plane.etcd.stored_versions(prefix).values()
    return Counter(one.rpartition("/")[2] for one in versions)
