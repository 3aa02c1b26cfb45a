# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""Writes a snapshot's file: it has its name once it is whole, and only its owner can read it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.errors import (
    LockstepError,
)


class IncomingFile:
    """A file that is being written, under another name; it goes away unless it is kept.

    Use it as a context manager.
    """

    def __init__(self, target: Path) -> None:
        self._target = target
        with self._told():
            # It makes files that only their owner can read.
            number, name = tempfile.mkstemp(
                prefix=f".{target.name}.", suffix=".part", dir=str(target.parent)
            )
        self.path = Path(name)
        self._file = os.fdopen(number, "wb")

    def __enter__(self) -> IncomingFile:
        return self

    def __exit__(self, *_exception: object) -> None:
        # What could not be written can't be flushed either.
        with suppress(OSError):
            self._file.close()
        with suppress(FileNotFoundError):
            self.path.unlink()

    def write(self, piece: bytes) -> None:
        with self._told():
            self._file.write(piece)

    def finish(self) -> None:
        """All of it is written: see to it that it is on the disk."""
        with self._told():
            self._file.flush()
            os.fsync(self._file.fileno())
            self._file.close()

    def keep(self, target: Path) -> None:
        """Give it its name, in one step."""
        with self._told():
            self.path.replace(target)
            # Without this the name may be lost if power is.
            directory = os.open(str(target.parent), os.O_RDONLY)
            try:
                os.fsync(directory)
            finally:
                os.close(directory)

    @contextmanager
    def _told(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise LockstepError(
                f"The snapshot can't be written to {self._target.parent}",
                error.strerror or str(error),
                "Make room there, let the task's user write there (become), or name another file"
                " in path",
            ) from error
