# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""Whether a snapshot of etcd is whole, whether there is room for it, and what it proved."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from .errors import LockstepError
from .reasons import enumerate_names

RESTORE, DIGEST, NONE = "restore", "digest", "none"
DIGEST_BYTES = 32

# Restoring copies the database once, and etcd may grow it; its log comes in files of 64 MiB, of
# which it allocates the next one in advance.
_COPIES = 2
_LOG_BYTES = 2 * 64 * 1024 * 1024
_SHOWN = 300


class CompactedError(LockstepError):
    """etcd has forgotten the revision that keys were to be counted at."""


class Digest:
    """Checks etcd's own digest while the bytes pass; it is the last 32 of them."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()
        self._tail = b""
        self.size = 0

    def add(self, piece: bytes) -> None:
        self.size += len(piece)
        known = self._tail + piece
        self._hash.update(known[:-DIGEST_BYTES])
        self._tail = known[-DIGEST_BYTES:]

    @property
    def sound(self) -> bool:
        """Whether all bytes that came before it have that digest."""
        return self._hash.digest() == self._tail

    @property
    def of_file(self) -> str:
        """The digest of all bytes with etcd's own, as sha256sum tells it of the file."""
        whole = self._hash.copy()
        whole.update(self._tail)
        return whole.hexdigest()


@dataclass(frozen=True)
class Disk:
    """A directory, the disk that it is on, and how much may still be written there."""

    directory: str
    device: int
    free: int


def require_room(size: int, *, file: Disk, scratch: Disk | None) -> None:
    """Refuse to begin what would fill a disk, which could stop an etcd that shares it."""
    wanted = [(file, size + DIGEST_BYTES)]
    if scratch:
        restored = _COPIES * size + _LOG_BYTES
        if scratch.device == file.device:
            wanted = [(file, size + DIGEST_BYTES + restored)]
        else:
            wanted.append((scratch, restored))
    for disk, needed in wanted:
        if disk.free < needed:
            remedy = "Make room there, or name a file on another disk in path"
            if scratch:
                remedy += (
                    "; the restore can go to another disk (scratch), or be left out"
                    " (verify=digest), which then is said in the result"
                )
            raise LockstepError(
                f"There is no room for the snapshot in {disk.directory}",
                f"etcd's database has {megabytes(size)}, for which"
                f" {megabytes(needed)} are needed there, and {megabytes(disk.free)} are free",
                remedy,
            )


def require_whole(not_held: Sequence[str], *, allow_partial: bool) -> None:
    """Refuse a snapshot that would not hold all, unless somebody knows and wants it so."""
    if not_held and not allow_partial:
        raise LockstepError(
            "The snapshot would not hold all that the API servers store",
            f"They keep {enumerate_names(not_held)} in another etcd (--etcd-servers-overrides)",
            "Save that etcd as well, by its own endpoints, and then set allow_partial",
        )


def _left_out(not_held: Sequence[str]) -> list[str]:
    kept = f"{enumerate_names(not_held)}, which the API servers keep in another etcd"
    return [f"  It does NOT hold {kept}: save that one too."] if not_held else []


def compare_counts(*, restored: int, live: int, revision: int) -> None:
    """Refuse a snapshot that has not the keys that etcd had at its revision."""
    if restored != live:
        raise LockstepError(
            "The snapshot is not what etcd holds",
            f"Restored, it has {restored} keys at revision {revision}, and etcd had {live} then",
            "See etcd's log, and whether its members hold the same (etcdctl endpoint hashkv"
            " --cluster); name a healthy one in endpoints and run the task again",
        )


def last_words(log: str) -> str:
    """What a program said last, or the error that it named."""
    lines = [line.strip() for line in log.splitlines() if line.strip()]
    errors = [line for line in lines if line.startswith("Error:")]
    said = (errors or lines or ["nothing"])[-1]
    try:
        document = json.loads(said)
        words = [str(document[name]) for name in ("msg", "error") if document.get(name)]
        said = ": ".join(words) or said
    except (ValueError, TypeError, AttributeError):
        pass
    return said if len(said) <= _SHOWN else f"{said[:_SHOWN]}..."


@dataclass(frozen=True)
class Snapshot:
    """A file that was written, and what is known of it."""

    path: str
    size: int
    # Of one that was not restored, a revision that it has at least.
    revision: int
    keys: int | None
    verified: str
    digest: str
    endpoint: str
    seconds: float
    # Resources that are kept in another etcd.
    not_held: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        counted = {} if self.keys is None else {"keys": self.keys}
        return {
            "path": self.path,
            "bytes": self.size,
            "revision": self.revision,
            **counted,
            "verified": self.verified,
            "digest": self.digest,
            "endpoint": self.endpoint,
            "seconds": round(self.seconds, 2),
            "not_held": list(self.not_held),
            "summary": self._summary(),
        }

    def _summary(self) -> list[str]:
        file = (
            f"  {self.path}: {megabytes(self.size)} of {self.endpoint}, in {self.seconds:.1f} s,"
            f" SHA-256 {self.digest}."
        )
        if self.verified == RESTORE:
            proof = (
                f"verified: restored into an etcd of its own, it has {self.keys} keys at revision"
                f" {self.revision}, as many as etcd had then."
            )
            return [proof, file, *_left_out(self.not_held)]
        by = {
            DIGEST: "digest only: it has the digest that etcd gave it, and was not restored.",
            NONE: "not verified: it arrived as etcd sent it, and that is all that is known.",
        }
        to_do = "To do: restore it once before you rely on it, or set verify to restore."
        return [by[self.verified], file, *_left_out(self.not_held), to_do]


def foretell(
    *,
    path: str,
    directory_exists: bool,
    size: int,
    endpoint: str,
    verify: str,
    not_held: Sequence[str] = (),
) -> list[str]:
    """What would be done, for check mode."""
    then = {
        RESTORE: "restored into an etcd of its own to count its keys",
        DIGEST: "checked by its digest, and not restored",
        NONE: "left unverified",
    }
    lines = [
        f"would be taken: {megabytes(size)} of {endpoint}.",
        f"  It would be written to {path}, and {then[verify]}.",
        *_left_out(not_held),
    ]
    if not directory_exists:
        lines.append("To do: create the directory of that file, which is not there yet.")
    return lines


def megabytes(size: float) -> str:
    return f"{size / 1e6:.1f} MB"
