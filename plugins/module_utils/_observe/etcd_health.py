# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""How etcd itself is: its members, how far each has come, its alarms, and the room left in it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import urlsplit

from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.observations import (
    EtcdMember,
    EtcdSight,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.etcd import (
    EtcdAccess,
    Transport,
    probe,
    transports,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.etcd_answers import (
    ALARMS,
    DENIED,
    MEMBERS,
    STATUS,
    UNAUTHENTICATED,
    UNAVAILABLE,
    UNIMPLEMENTED,
    EtcdFault,
    Member,
    MemberStatus,
    Page,
    RangeRequest,
)

# One that is well answers at once; a frozen one must not hold up the audit.
_SECONDS = 5.0


@dataclass(frozen=True)
class Connected:
    """A member that answers, and how it is spoken to."""

    endpoint: str
    version: str
    transport: Any
    page: Page


def connect(access: EtcdAccess, endpoint: str, request: RangeRequest) -> Connected:
    """Reach one member on the first way that works, and have it answer one request."""
    version = probe(access, endpoint)
    kinds = transports(access, speaks_http=version is not None)
    for kind in kinds[:-1]:
        try:
            return _try(kind, access, endpoint, version, request)
        except EtcdFault as fault:
            if fault.code not in (UNAVAILABLE, UNIMPLEMENTED):
                raise
    return _try(kinds[-1], access, endpoint, version, request)


def _try(
    kind: Transport, access: EtcdAccess, endpoint: str, version: str | None, request: RangeRequest
) -> Connected:
    transport = kind(access, endpoint)
    try:
        return Connected(endpoint, version or "", transport, transport.range(request))
    except EtcdFault:
        transport.close()
        raise


def observe_health(
    access: EtcdAccess, reached: Connected, request: RangeRequest
) -> EtcdSight | None:
    """Ask one member for all, and each for itself; None where etcd does not tell its members.

    `request` is one that anybody who reads here may make.
    """
    try:
        members = reached.transport.ask(MEMBERS)
    except EtcdFault:
        return None
    asked = _Asking(replace(access, timeout=min(access.timeout, _SECONDS)), reached, request)
    with ThreadPoolExecutor(max(len(members), 1)) as pool:
        seen = list(pool.map(asked.ask, members))
    faults, leader = _alarms(reached, members), ""
    for answer in seen:
        faults += answer.faults
        leads = any(one.status and one.status.leader == answer.member.id for one in seen)
        if leads and answer.sight.endpoint:
            leader = urlsplit(answer.sight.endpoint).hostname or ""
    told = [answer.status for answer in seen if answer.status]
    return EtcdSight(
        faults=tuple(faults),
        used_bytes=max((status.used for status in told), default=0),
        quota_bytes=min((status.quota for status in told if status.quota), default=0),
        leader=leader,
        members=tuple(answer.sight for answer in seen),
    )


def _alarms(reached: Connected, members: tuple[Member, ...]) -> list[str]:
    names = {member.id: _name(member) for member in members}
    try:
        alarms = reached.transport.ask(ALARMS)
    except EtcdFault as fault:
        # Who may only read keys is not told of them.
        denied = fault.code in (DENIED, UNAUTHENTICATED)
        return [] if denied else [f"etcd does not tell its alarms: {fault.why}"]
    return [
        f"etcd's member {names.get(alarm.member, f'{alarm.member:x}')} has raised the alarm"
        f" {alarm.kind}"
        for alarm in alarms
    ]


def _name(member: Member) -> str:
    return member.name or f"{member.id:x}"


@dataclass(frozen=True)
class _Answer:
    member: Member
    sight: EtcdMember
    status: MemberStatus | None = None

    @property
    def faults(self) -> list[str]:
        """What is wrong with it, in words."""
        told = [self.sight.fault] if self.sight.fault else []
        if self.status:
            told += self.status.errors
            told += [] if self.status.leader else ["it knows no leader"]
        return [f"etcd's member {self.sight.name}: {fault}" for fault in told]


@dataclass(frozen=True)
class _Asking:
    """Asks members, each at its own address, for what they have and how they are."""

    access: EtcdAccess
    reached: Connected
    request: RangeRequest

    def ask(self, member: Member) -> _Answer:
        sight = EtcdMember(_name(member), next(iter(member.urls), ""), voter=not member.learner)
        if not member.urls:
            return _Answer(member, replace(sight, fault="it has not started yet"))
        if self.reached.endpoint in member.urls:
            # Its certificate is known to hold for that address.
            sight = replace(sight, endpoint=self.reached.endpoint)
            return self._answer(member, sight, self.reached)
        faults = []
        for url in member.urls:
            try:
                there = connect(self.access, url, replace(self.request, local=True))
            except EtcdFault as fault:
                faults.append(f"it does not answer at {url}: {fault.why}")
                continue
            try:
                return self._answer(member, replace(sight, endpoint=url), there)
            finally:
                there.transport.close()
        return _Answer(member, replace(sight, fault="; ".join(faults)))

    def _answer(self, member: Member, sight: EtcdMember, there: Connected) -> _Answer:
        revision = there.page.source.revision
        sight = replace(sight, version=there.version, revision=revision)
        try:
            status = there.transport.ask(STATUS)
        except EtcdFault as fault:
            # Who may only read keys is not told.
            denied = fault.code in (DENIED, UNAUTHENTICATED)
            why = "" if denied else f"it does not tell how it is: {fault.why}"
            return _Answer(member, replace(sight, fault=why))
        return _Answer(member, replace(sight, version=there.version or status.version), status)
