# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""Empty patches of a few objects, sent to every server in turn and never to a load balancer.

A server that would store an object otherwise than it is stored writes it; any other one does not.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from contextlib import AbstractContextManager

from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.encryption import (
    Probe,
    Tried,
    moved,
    settled_version,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.rewrites import (
    ObjectName,
    judge_fault,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.objects import ObjectList
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.servers import (
    Access,
    ApiServer,
    Deadline,
    ServerFault,
)

# How many objects serve as samples, and how many may turn out to be of no use.
_SAMPLES = 3
_SPARE = 3
MOST_TRIED = _SAMPLES + _SPARE
# How often all servers are gone through for one object: somebody else may write it meanwhile.
_PASSES = 3
# A server that has too much to do, or has dropped the connection, is asked again after each.
_PATIENCE = (0.2, 1.0)
# What another object may get past.
_OF_THE_OBJECT = ("denied", "missing", "orphan")


class Prober(AbstractContextManager["Prober"]):
    """Tries objects at servers, over one connection to each."""

    def __init__(self, access: Access, addresses: Iterable[str], *, timeout: float) -> None:
        self.addresses = tuple(addresses)
        self._servers = {
            address: ApiServer(access, address, Deadline(timeout)) for address in self.addresses
        }

    def __exit__(self, *_exception: object) -> None:
        for server in self._servers.values():
            server.close()

    def try_some(self, listing: ObjectList) -> tuple[Tried, ...]:
        """Try a few objects until every server has left each of them as another one stored it."""
        first = self._servers[self.addresses[0]]
        try:
            names = listing.read_some(first, MOST_TRIED)
        except ServerFault as fault:
            said = f"{first.address} did not name any object to try it with: {fault.fault}"
            return (Tried(ObjectName(""), fault=said),)
        tried: list[Tried] = []
        for name in names:
            probes: list[Probe] = []
            try:
                self._settle(listing, name, probes)
                tried.append(Tried(name, tuple(probes)))
            except _Refused as refused:
                tried.append(Tried(name, tuple(probes), fault=str(refused)))
                if refused.final:
                    break
            if sum(not one.fault for one in tried) == _SAMPLES:
                break
        return tuple(tried)

    def try_again(self, listing: ObjectList, samples: Iterable[ObjectName]) -> tuple[Tried, ...]:
        """Try the objects of an earlier round once more: where each stands, and who moves it."""
        tried: list[Tried] = []
        for name in samples:
            probes: list[Probe] = []
            found = ""
            try:
                found = self._find(listing, name)
                for address in self.addresses if found else ():
                    probes.append(self._probe(listing, name, address))
                    if probes[-1].version != found:
                        break
                tried.append(Tried(name, tuple(probes), found=found))
            except _Refused as refused:
                tried.append(Tried(name, tuple(probes), fault=str(refused), found=found))
                if refused.final:
                    break
        return tuple(tried)

    def _settle(self, listing: ObjectList, name: ObjectName, probes: list[Probe]) -> None:
        for _number in range(_PASSES):
            for address in self.addresses:
                probes.append(self._probe(listing, name, address))
                if moved(probes):
                    # One that does not stand still for who wrote it shows nothing of others.
                    probes.append(self._probe(listing, name, address))
                if settled_version(probes, self.addresses):
                    return

    def _find(self, listing: ObjectList, name: ObjectName) -> str:
        server = self._servers[self.addresses[0]]
        server.deadline = server.deadline.anew()
        try:
            return listing.read_version(server, name)
        except ServerFault as fault:
            raise _Refused(server, name, fault) from fault

    def _probe(self, listing: ObjectList, name: ObjectName, address: str) -> Probe:
        server, pauses = self._servers[address], iter(_PATIENCE)
        while True:
            server.deadline = server.deadline.anew()
            try:
                metadata, _size = listing.rewrite(server, name)
                return Probe(address, str(metadata["resourceVersion"]))
            except ServerFault as fault:
                pause = next(pauses, None)
                if pause is None or not (fault.passing or fault.broken):
                    raise _Refused(server, name, fault) from fault
            time.sleep(pause)


class _Refused(Exception):
    """A server did not do what it was asked for."""

    def __init__(self, server: ApiServer, name: ObjectName, fault: ServerFault) -> None:
        super().__init__(f"{server.address} could not be tried with {name}: {fault.fault}")
        # Whether no other object is worth a try.
        fate = judge_fault(status=fault.status, document=fault.document)
        self.final = fate not in _OF_THE_OBJECT
