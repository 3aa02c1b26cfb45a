# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""Can every other server read what an upgraded one really writes? (R10)"""

from __future__ import annotations

from collections.abc import Iterable

from .catalogue import Catalogue, ReleaseResource
from .hashes import hash_of
from .observations import ServedResource, ServerSight
from .plans import own_emulation
from .reasons import Reason
from .settling import Look


def judge_writes(
    look: Look,
    address: str,
    catalogue: Catalogue,
    *,
    formula_holds: bool,
) -> tuple[tuple[Reason, ...], tuple[Reason, ...]]:
    """Hold what a server really writes against what each other one can read.

    The first are those that can't be read, the second those of which nobody can prove that they
    can. What both write alike, each of them reads.
    """
    unreadable: list[Reason] = []
    unproven: list[Reason] = []
    for writer, reader in _pairs(look, address):
        for name, written in sorted(writer.resources.items()):
            shown = reader.resources.get(name)
            if not shown or not written.storage_hash or shown.storage_hash == written.storage_hash:
                continue
            version = _version_of(written, shown, catalogue, formula_holds=formula_holds)
            reads = _reads(look, reader, shown, version, catalogue) if version else None
            if reads is False:
                unreadable.append(_reason(address, reader, name, version, reads=False))
            elif reads is None:
                unproven.append(_reason(address, reader, name, version, reads=None))
    return tuple(unreadable), tuple(unproven)


def _pairs(look: Look, address: str) -> Iterable[tuple[ServerSight, ServerSight]]:
    """The server that writes, with each other one that reads."""
    servers = [one for one in look.sight.servers if not one.fault]
    for writer in servers:
        if writer.address == address:
            yield from ((writer, one) for one in servers if one.address != address)


def _reason(
    address: str, reader: ServerSight, name: str, version: str, *, reads: bool | None
) -> Reason:
    written = f"as {version}" if version else "in a version of its own"
    return Reason(
        f"server {address} writes {name} {written}, and {reader.address} ({reader.release})"
        + (" can't read that" if reads is False else " is not known to read that"),
        "Restart it with --emulated-version of the old release, or stop it"
        if reads is False
        else "Do not leave the servers like this for long: upgrade the others, or go back",
        resource=name,
        server=address,
    )


def _version_of(
    written: ServedResource, shown: ServedResource, catalogue: Catalogue, *, formula_holds: bool
) -> str:
    """The version that a hash stands for; empty if nobody knows (R9)."""
    name = written.resource
    measured = catalogue.version_of(name, written.storage_hash)
    if measured or not formula_holds:
        return measured or ""
    every = (*written.served_versions, *shown.served_versions, *catalogue.versions_of(name))
    return next(
        (
            version
            for version in every
            if hash_of(group_version=version, kind=written.kind) == written.storage_hash
        ),
        "",
    )


def _reads(
    look: Look, reader: ServerSight, shown: ServedResource, version: str, catalogue: Catalogue
) -> bool | None:
    """Whether a server can read a version; None where nothing proves it either way."""
    if version in shown.served_versions:
        return True
    known = _entry(reader, shown.resource, catalogue)
    if known:
        return version in known.decodable
    # Which entry is of which address nobody tells; the writer itself reads what it writes.
    reported = (look.sight.storage_versions or {}).get(shown.resource)
    live = {lease.name for lease in look.membership.live}
    entries = [one for one in reported.entries if one.server_id in live] if reported else []
    if not entries or not look.sight.all_report:
        return None
    return all(version in one.decodable for one in entries)


def _entry(reader: ServerSight, name: str, catalogue: Catalogue) -> ReleaseResource | None:
    """What the catalogue tells of a resource in the release that a server runs."""
    release = reader.release
    if release is None:
        return None
    entry = catalogue.find(release.git_version, emulated=own_emulation(release))
    return entry.resources.get(name) if entry else None
