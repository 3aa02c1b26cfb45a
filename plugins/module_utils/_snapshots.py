# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""A snapshot of etcd: taken, written, restored, and held against the etcd that it came from."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ansible_collections.lockstep.kubernetes.plugins.module_utils._act.scratch_etcd import (
    Programs,
    ending_in_order,
    find_programs,
    restore_and_count,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._act.snapshots import (
    IncomingFile,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.errors import (
    LockstepError,
    sentence,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.snapshots import (
    NONE,
    RESTORE,
    CompactedError,
    Digest,
    Snapshot,
    compare_counts,
    foretell,
    megabytes,
    require_room,
    require_whole,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.etcd_answers import (
    EtcdFault,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.snapshots import (
    KeyCount,
    Member,
    count_keys,
    find_member,
    observe_disk,
    read_snapshot,
    unreadable,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.store import (
    read_options,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._run import Teller


@dataclass(frozen=True)
class Order:
    """What is asked for; the programs only where the file is to be restored."""

    path: Path
    verify: str
    scratch: Path
    programs: Programs | None
    # Resources that are kept in another etcd than the one that is saved.
    not_held: tuple[str, ...] = ()


def save_etcd(params: Mapping[str, Any], *, check_mode: bool) -> dict[str, Any]:
    """Save etcd to a file and verify it; in check mode, say what would be done."""
    options = read_options(params)
    require_whole(options.not_held, allow_partial=params["allow_partial"])
    order = _read_order(params, check_mode=check_mode, not_held=options.not_held)
    member = find_member(options.access)
    require_room(
        member.size,
        file=observe_disk(order.path.parent),
        scratch=observe_disk(order.scratch) if order.programs else None,
    )
    if check_mode:
        return _foretold(order, member)
    teller = Teller(wanted=True)
    with ending_in_order():
        try:
            saved = _save(order, member, teller, last=False)
        except CompactedError as error:
            teller.now(f"not verified: {sentence(error.why)} It is taken once more")
            saved = _save(order, member, teller, last=True)
    return saved.to_dict()


def _read_order(params: Mapping[str, Any], *, check_mode: bool, not_held: tuple[str, ...]) -> Order:
    """Refuse at once what can't end well."""
    path = Path(params["path"]).absolute()
    verify = params["verify"]
    if path.is_dir():
        raise LockstepError(
            f"The option path names {path}, which is a directory",
            "A snapshot is one file",
            f"Name a file in it, such as {path / 'etcd.db'}",
        )
    # In check mode an earlier task may have left it at saying that it would make it.
    if not path.parent.is_dir() and not check_mode:
        raise LockstepError(
            f"The option path names {path}",
            f"There is no directory {path.parent}",
            "Create it with mode 0700, since a snapshot holds every Secret, or name a file in"
            " another directory in path",
        )
    scratch = Path(params["scratch"]).absolute() if params["scratch"] else path.parent
    if params["scratch"] and not scratch.is_dir():
        raise LockstepError(
            f"The option scratch names {scratch}",
            "That is no directory",
            "Create it, name another one in scratch, or leave it out to restore beside the file",
        )
    programs = None
    if verify == RESTORE:
        programs = find_programs(etcd=params["etcd"], etcdutl=params["etcdutl"])
    return Order(path, verify, scratch, programs, not_held)


def _foretold(order: Order, member: Member) -> dict[str, Any]:
    lines = foretell(
        path=str(order.path),
        directory_exists=order.path.parent.is_dir(),
        size=member.size,
        endpoint=member.endpoint,
        verify=order.verify,
        not_held=order.not_held,
    )
    return {
        "path": str(order.path),
        "bytes": member.size,
        "revision": member.revision,
        "verified": NONE,
        "endpoint": member.endpoint,
        "not_held": list(order.not_held),
        "summary": lines,
    }


def _save(order: Order, member: Member, teller: Teller, *, last: bool) -> Snapshot:
    begun = time.monotonic()
    with IncomingFile(order.path) as file:
        digest = _receive(file, member, teller)
        counted = None
        if order.programs:
            try:
                counted = _verify(order, order.programs, file.path, member, teller)
            except LockstepError as error:
                if isinstance(error, CompactedError) and not last:
                    raise
                raise _kept_aside(file, order.path, error) from error
        file.keep(order.path)
    return Snapshot(
        path=str(order.path),
        size=digest.size,
        revision=counted.revision if counted else member.revision,
        keys=counted.keys if counted else None,
        verified=order.verify,
        digest=digest.of_file,
        endpoint=member.endpoint,
        seconds=time.monotonic() - begun,
        not_held=order.not_held,
    )


def _receive(file: IncomingFile, member: Member, teller: Teller) -> Digest:
    """Write what etcd sends; what it sends at last tells whether the rest is sound."""
    digest = Digest()
    for piece in read_snapshot(member):
        digest.add(piece)
        file.write(piece)
        teller.rarely(lambda: f"received {megabytes(digest.size)} of {megabytes(member.size)}")
    file.finish()
    if not digest.sound:
        raise LockstepError(
            f"What {member.endpoint} sent is damaged",
            "It has not the SHA-256 digest that etcd appended to it. Nothing of it was kept",
            "Run the task again; if it happens again, look for faults of memory and network between"
            " here and there, and name another member in endpoints",
        )
    return digest


def _verify(
    order: Order, programs: Programs, file: Path, member: Member, teller: Teller
) -> KeyCount:
    """Restore the file, and count its keys and those that etcd had at the same revision."""
    teller.now(f"received {megabytes(file.stat().st_size)}; restoring it into an etcd of its own")
    restored = restore_and_count(
        file, programs, beside=order.scratch, name=order.path.name, say=teller.rarely
    )
    try:
        live = count_keys(member.access, member.endpoint, revision=restored.revision)
    except EtcdFault as fault:
        if not fault.compacted:
            raise unreadable({member.endpoint: fault}) from None
        raise CompactedError(
            "The snapshot was restored, but is not verified",
            f"etcd has compacted revision {restored.revision} meanwhile, so its keys can't be"
            " counted any more",
            "Run the task again when etcd is compacted less often than a restore takes (API servers"
            " do so every 5 minutes: --etcd-compaction-interval), or set verify=digest, which then"
            " is said in the result",
        ) from None
    compare_counts(restored=restored.keys, live=live.keys, revision=restored.revision)
    return restored


def _kept_aside(file: IncomingFile, path: Path, error: LockstepError) -> LockstepError:
    """Keep what could not be verified under a name that says so, and say where it is."""
    aside = path.with_name(f"{path.name}.unverified")
    file.keep(aside)
    why = f"{sentence(error.why)} The file is kept as {aside}"
    return LockstepError(error.what, why, error.remedy)
