# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""How etcd itself is: its members, its alarms, and the room that is left in it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.observations import (
    EtcdSight,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.etcd import (
    EtcdAccess,
    EtcdFault,
    Gateway,
)

_STATUS, _ALARMS = "/v3/maintenance/status", "/v3/maintenance/alarm"
_MEMBERS = "/v3/cluster/member/list"


def observe_health(access: EtcdAccess, endpoint: str) -> EtcdSight | None:
    """Ask one member for all, and each of all for itself; None where etcd's gateway is off."""
    try:
        members = _ask(access, endpoint, _MEMBERS)["members"]
        alarms = _ask(access, endpoint, _ALARMS).get("alarms") or []
    except (EtcdFault, KeyError):
        return None
    names = {one.get("ID"): one.get("name") or one.get("ID") for one in members}
    faults = [
        f"etcd's member {names.get(one.get('memberID'), one.get('memberID'))} has raised the alarm"
        f" {one.get('alarm')}"
        for one in alarms
    ]
    used, quota, leader = 0, 0, ""
    for member in members:
        status = _status(access, member, endpoint)
        if isinstance(status, str):
            faults.append(f"etcd's member {member.get('name') or member.get('ID')}: {status}")
            continue
        faults += [f"etcd's member {member.get('name')}: {one}" for one in status.get("errors", [])]
        used = max(used, int(status.get("dbSizeInUse") or status.get("dbSize") or 0))
        if status["leader"] == member.get("ID"):
            leader = urlsplit(member["clientURLs"][0]).hostname or ""
        told = int(status.get("dbSizeQuota") or 0)
        quota = min(quota, told) if quota and told else quota or told
    return EtcdSight(tuple(faults), used_bytes=used, quota_bytes=quota, leader=leader)


def _status(access: EtcdAccess, member: Mapping[str, Any], endpoint: str) -> dict[str, Any] | str:
    """What a member says of itself, or why it says nothing."""
    urls = member.get("clientURLs") or []
    if not urls:
        return "it has not started yet"
    # Where it was reached already its certificate is known to hold for that address.
    url = endpoint if endpoint in urls else urls[0]
    try:
        status = _ask(access, url, _STATUS)
    except EtcdFault as fault:
        return f"it does not answer at {url}: {fault}"
    if not int(status.get("leader") or 0):
        return "it knows no leader"
    return status


def _ask(access: EtcdAccess, endpoint: str, path: str) -> dict[str, Any]:
    gateway = Gateway(access, endpoint)
    try:
        return gateway.ask(path)
    finally:
        gateway.close()
