# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""By which configuration servers encrypt, and whether it was one while objects were rewritten.

Hashes of storage versions don't show it. There are two proofs. Servers tell the hash of the
configuration file that they have loaded last: of its bytes, so that another formatting of the same
keys is another hash. And a server leaves an object's resourceVersion where it is, when it gets an
empty patch, only if it would store the very bytes that are stored, under the very key. An object
that every server has left where it was, before the first write and after the last one, has been
written by what all of them write by.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from .reasons import enumerate_names
from .rewrites import ObjectName

# How all that a record holds against its encryption generation begins.
_DOUBT = "the encryption generation "
_CONTROLLER = "apiserver_encryption_config_controller"
_HASH = re.compile(rf'^{_CONTROLLER}_last_config_info\{{[^}}]*[{{,]hash="([^"]+)"', re.MULTILINE)
_RELOADS = re.compile(
    rf'^{_CONTROLLER}_automatic_reloads_total\{{[^}}]*status="success"[^}}]*\}} (\S+)', re.MULTILINE
)
# Only a server that has a KMS plugin counts what it asks of it.
_KMS = re.compile(
    r"^apiserver_envelope_encryption_kms_operations_latency_seconds_count\{", re.MULTILINE
)
_STARTED = re.compile(r"^process_start_time_seconds (\S+)", re.MULTILINE)


@dataclass(frozen=True)
class EncryptionConfig:
    """What one server's metrics tell; all empty where they can't be read."""

    # Of the bytes of the file.
    hash: str = ""
    # Since when the process runs, and how often it has loaded another file: there and back shows.
    process: str = ""
    reloads: str = ""
    # Whether it asks KMS for keys, which are not in the file.
    kms: bool = False


def read_encryption(metrics: str) -> EncryptionConfig:
    """Read a server's metrics."""
    hashes = set(_HASH.findall(metrics))
    found = [pattern.search(metrics) for pattern in (_STARTED, _RELOADS)]
    process, reloads = (one[1] if one else "" for one in found)
    # Two of them at once tell nothing.
    name = hashes.pop() if len(hashes) == 1 else ""
    return EncryptionConfig(name, process, reloads, kms=bool(_KMS.search(metrics)))


def fingerprint(configs: Mapping[str, EncryptionConfig]) -> str:
    """Name the one configuration that all servers have loaded; empty if nobody can tell."""
    if against_one_configuration(configs):
        return ""
    told = sorted((one.hash, one.process, one.reloads) for one in configs.values())
    return hashlib.sha256(repr(told).encode()).hexdigest()[:16]


def against_one_configuration(configs: Mapping[str, EncryptionConfig]) -> str:
    """Why metrics don't tell that servers encrypt by one configuration; empty if they do."""
    silent = sorted(address for address, one in configs.items() if not one.hash or not one.process)
    if silent:
        return (
            f"{enumerate_names(silent)} does not tell by which configuration it encrypts"
            f" ({_CONTROLLER}_last_config_info in /metrics)"
        )
    if not configs:
        return "no server could be asked by which configuration it encrypts"
    if any(one.kms for one in configs.values()):
        return "servers encrypt by KMS, whose keys no configuration shows"
    return _against_files(configs)


def _against_files(configs: Mapping[str, EncryptionConfig]) -> str:
    if len({one.hash for one in configs.values() if one.hash}) > 1:
        return f"{enumerate_names(sorted(configs))} encrypt by configuration files that differ"
    return ""


# --- objects that are tried at every server in turn ---


@dataclass(frozen=True)
class Probe:
    """The answer of one server to an empty patch: the resourceVersion that the object has then."""

    server: str
    version: str


@dataclass(frozen=True)
class Tried:
    """One object, and what every server in turn has made of it."""

    name: ObjectName
    probes: tuple[Probe, ...] = ()
    # Why it could not be tried to the end, with the name of the server.
    fault: str = ""
    # Its version just before the first probe, where that was read; empty if it was gone.
    found: str = ""


@dataclass(frozen=True)
class Round:
    """What came of trying a few objects at every server."""

    # Those that every server would store as they are stored, with their versions.
    held: tuple[ObjectName, ...] = ()
    # What shows that not all was stored as the servers store it.
    against: str = ""
    # Why nothing is shown, where it is not.
    unknown: str = ""


def settled_version(probes: Sequence[Probe], servers: Iterable[str]) -> str:
    """The version at which each server has left an object, one after another; empty if none."""
    left = set(servers)
    for one in reversed(probes):
        if one.version != probes[-1].version:
            return ""
        left.discard(one.server)
        if not left:
            return one.version
    return ""


def moved(probes: Sequence[Probe]) -> bool:
    """Whether the last answer shows another version than the one before it."""
    return len(probes) > 1 and probes[-1].version != probes[-2].version


def judge_first_round(tried: Sequence[Tried], servers: Iterable[str]) -> Round:
    """Tell which objects all servers store alike, before the first write.

    One that never settles shows that servers differ, unless a server moves its own writes too:
    then somebody else writes that object all the time, or a webhook changes it.
    """
    settled = [replace(one.name, version=settled_version(one.probes, servers)) for one in tried]
    held = tuple(one for one in settled if one.version)
    if held:
        return Round(held)
    if not tried:
        return Round(unknown="there is no object of it that the servers could be tried with")
    for one in tried:
        apart = () if one.fault or _restless(one.probes) else _tell_apart(one.probes)
        if len(apart) > 1:
            said = ", and by ".join(enumerate_names(group) for group in apart)
            return Round(against=f"{one.name} is stored differently by {said}")
    faults = [one.fault for one in tried if one.fault]
    names = enumerate_names(str(one.name) for one in tried)
    return Round(unknown=faults[0] if faults else f"{names} did not stand still to be tried")


def judge_last_round(tried: Sequence[Tried]) -> Round:
    """Tell which objects of the first round still are as every server stores them.

    One that a server had to store anew was stored by something else meanwhile, and so may others
    have been. One that somebody has changed says nothing, as long as that was stored alike.
    """
    if not tried:
        return Round()
    held = []
    for one in tried:
        for probe in one.probes:
            if probe.version != one.found:
                return Round(
                    against=f"after the last write {probe.server} stored {one.name} anew: it was"
                    " not stored as this server stores it, or was changed at that very moment"
                )
        if not one.fault and one.found == one.name.version:
            held.append(one.name)
    faults = [one.fault for one in tried if one.fault]
    names = enumerate_names(str(one.name) for one in tried)
    changed = f"{names} served as samples, and somebody else has changed or deleted them meanwhile"
    return Round(tuple(held), unknown="" if held else faults[0] if faults else changed)


def _restless(probes: Sequence[Probe]) -> bool:
    """Whether an object moved for a server that had stored it itself just before."""
    return any(a.server == b.server and a.version != b.version for a, b in _pairs(probes))


def _tell_apart(probes: Sequence[Probe]) -> tuple[tuple[str, ...], ...]:
    """Group servers by what they left as another one had stored it."""
    groups = {one.server: frozenset({one.server}) for one in probes}
    for a, b in _pairs(probes):
        if a.version == b.version:
            alike = groups[a.server] | groups[b.server]
            groups.update(dict.fromkeys(alike, alike))
    return tuple(sorted({tuple(sorted(one)) for one in groups.values()}))


def _pairs(probes: Sequence[Probe]) -> Iterable[tuple[Probe, Probe]]:
    return zip(probes, probes[1:])


# --- the verdict ---


def against_reencryption(
    *,
    before: Mapping[str, EncryptionConfig],
    after: Mapping[str, EncryptionConfig],
    first: Round,
    last: Round,
    changes: Iterable[str] = (),
) -> str:
    """Why it is not known that all was written by one configuration; empty if it is.

    `changes` are those of the servers, such as a restart: it may have been to other keys and back.
    Whatever shows a difference outweighs what shows none; of the proofs one is enough.
    """
    seen = enumerate_names(changes)
    if seen:
        return f"meanwhile {seen}, perhaps with another configuration"
    if _changed(before, after):
        return "a server was restarted, or has loaded another configuration, meanwhile"
    differ = first.against or last.against
    if differ:
        return "; ".join(filter(None, (differ, _against_files(after))))
    if set(first.held) & set(last.held):
        return ""
    silent = against_one_configuration(before) or against_one_configuration(after)
    return "; ".join(filter(None, (silent, first.unknown or last.unknown))) if silent else ""


def _changed(before: Mapping[str, EncryptionConfig], after: Mapping[str, EncryptionConfig]) -> bool:
    """Whether metrics show a change; those that can't be read show nothing."""
    if before.keys() != after.keys():
        return True
    pairs = [(one, after[address]) for address, one in before.items()]
    return any(a != b for a, b in pairs if a.process and b.process)


def may_resume(
    *, then: str, now: str, saved: Sequence[ObjectName], again: Round, first: Round
) -> bool:
    """Whether what an earlier run has written counts as written by the servers' configuration.

    `then` and `now` are fingerprints, `saved` the samples that it left, `again` what came of trying
    those now, and `first` what came of trying others. What nothing proved then and nothing would
    prove now goes on too: it will not be called verified.
    """
    if again.against or (then and now and then != now):
        return False
    if again.held or (then and then == now):
        return True
    return not (saved or then or now or first.held)


def encryption_doubts(unseen: Iterable[str]) -> tuple[str, ...]:
    """Choose from what a record holds against itself that which is about encryption keys."""
    return tuple(one for one in unseen if one.startswith(_DOUBT))


def keep_doubt(unseen: Iterable[str], *, generation: str, new: bool) -> tuple[str, ...]:
    """Say what a record must still hold against itself after a re-encryption without proof."""
    fresh = (f"{_DOUBT}is {generation}, and nothing proves that all is encrypted by it",)
    return encryption_doubts(unseen) or (fresh if new else ())
