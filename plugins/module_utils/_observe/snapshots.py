# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""What a snapshot is made of: a member's bytes, how many keys there are, and the room on disks."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.errors import (
    LockstepError,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.keys import KeyRange
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.snapshots import (
    DIGEST_BYTES,
    Disk,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.etcd import (
    EtcdAccess,
    Gateway,
    explain,
    probe,
    unreachable,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.etcd_answers import (
    STATUS,
    UNAVAILABLE,
    UNIMPLEMENTED,
    EtcdFault,
    RangeRequest,
    snapshot_piece,
)

_SNAPSHOT = "/v3/maintenance/snapshot"
# To etcd these two bytes mean from the first key to the last.
_EVERY_KEY = KeyRange(b"\x00", b"\x00")
_GATEWAY_ONLY = (
    "A snapshot comes through etcd's JSON gateway: name an address that has it (etcd without"
    " --enable-grpc-gateway=false and without users of its own; where it splits its ports, one of"
    " --listen-client-http-urls), or save etcd with etcdctl snapshot save"
)


@dataclass(frozen=True)
class Member:
    """A member that answers: a revision that it has for sure, and how large its database is."""

    access: EtcdAccess
    endpoint: str
    revision: int
    size: int


@dataclass(frozen=True)
class KeyCount:
    """How many keys there are at a revision."""

    revision: int
    keys: int


def find_member(access: EtcdAccess) -> Member:
    """The first member that answers, and has caught up with the others."""
    faults: dict[str, EtcdFault] = {}
    for endpoint in access.endpoints:
        gateway = Gateway(access, endpoint)
        try:
            if probe(access, endpoint) is None:
                raise EtcdFault(UNIMPLEMENTED, "it speaks gRPC only at this address", _GATEWAY_ONLY)
            # Linearizable, so a member that is cut off from the others does not answer it.
            now = gateway.range(RangeRequest(_EVERY_KEY, count_only=True)).source
            return Member(access, endpoint, now.revision, gateway.ask(STATUS).size)
        except EtcdFault as fault:
            faults[endpoint] = fault
        finally:
            gateway.close()
    raise unreadable(faults)


def read_snapshot(member: Member) -> Iterator[bytes]:
    """The member's database piece by piece, with the digest that etcd appends to it."""
    arrived, expected = 0, -1
    try:
        for part in Gateway(member.access, member.endpoint).stream(_SNAPSHOT):
            piece, left = snapshot_piece(part)
            if expected < 0:
                expected = len(piece) + left + DIGEST_BYTES
            arrived += len(piece)
            yield piece
        if arrived != expected:
            raise EtcdFault(
                UNAVAILABLE,
                f"the connection broke after {arrived} of {max(expected, 0)} bytes",
                "Run the task again once etcd and the way to it are well",
            )
    except EtcdFault as fault:
        raise unreadable({member.endpoint: fault}) from None


def count_keys(access: EtcdAccess, endpoint: str, *, revision: int = 0) -> KeyCount:
    """Count all keys, now or at a revision; raises the fault itself."""
    gateway = Gateway(access, endpoint)
    try:
        page = gateway.range(RangeRequest(_EVERY_KEY, revision=revision, count_only=True))
    finally:
        gateway.close()
    return KeyCount(revision or page.source.revision, page.count)


def unreadable(faults: Mapping[str, EtcdFault]) -> LockstepError:
    """Why there is no snapshot, member by member."""
    explained = {}
    for endpoint, fault in faults.items():
        told = explain(fault)
        # Elsewhere that package is a way past the gateway.
        remedy = _GATEWAY_ONLY if "grpcio" in told.remedy else told.remedy
        explained[endpoint] = EtcdFault(told.code, told.why, remedy)
    return unreachable(explained)


def observe_disk(directory: Path) -> Disk:
    """The disk that a directory is on; of one that is not there yet, its parent's."""
    while not directory.exists() and directory != directory.parent:
        directory = directory.parent
    room = os.statvfs(directory)
    return Disk(str(directory), directory.stat().st_dev, room.f_bavail * room.f_frsize)
