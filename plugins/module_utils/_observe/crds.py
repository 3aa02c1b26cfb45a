# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""Custom resource definitions, as far as storage is concerned."""

from __future__ import annotations

import base64
import ssl
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime, timezone
from typing import Any

from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.checks.facts import (
    CrdFacts,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.observations import (
    CrdSight,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.times import parse_time
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.servers import ApiServer

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
# Schemas make definitions large; who changed what and when is all that is needed of most.
_METADATA_ONLY = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"


def observe_crds(entry: ApiServer) -> dict[str, CrdSight]:
    """All definitions, by the resource that they define."""
    items = entry.get(CRDS, accept=_METADATA_ONLY).json().get("items") or []
    return {item["metadata"]["name"]: _sight(item["metadata"]) for item in items}


def observe_storage_of(
    entry: ApiServer, crds: Mapping[str, CrdSight], resources: Iterable[str]
) -> dict[str, CrdSight]:
    """The same definitions, with the storage version of some of them read in full."""
    known = dict(crds)
    for resource in resources:
        if resource not in known:
            continue
        spec = entry.get(f"{CRDS}/{resource}").json()["spec"]
        storage = next(version for version in spec["versions"] if version["storage"])
        known[resource] = replace(
            known[resource],
            storage_version=f"{spec['group']}/{storage['name']}",
            storage_version_served=bool(storage["served"]),
        )
    return known


def observe_definitions(entry: ApiServer) -> dict[str, CrdFacts]:
    """All definitions in full, as far as an upgrade is concerned, page by page."""
    found: dict[str, CrdFacts] = {}
    query = {"limit": "50"}
    while True:
        entry.deadline = entry.deadline.anew()
        document = entry.get(CRDS, **query).json()
        for item in document.get("items") or []:
            definition = read_definition(item)
            found[definition.resource] = definition
        token = (document.get("metadata") or {}).get("continue")
        if not token:
            return found
        query["continue"] = token


def read_definition(document: Mapping[str, Any]) -> CrdFacts:
    """One definition, from a server or from a manifest."""
    spec = document["spec"]
    group = spec["group"]
    versions = spec["versions"]
    storage = next((one["name"] for one in versions if one.get("storage")), "")
    stored = (document.get("status") or {}).get("storedVersions") or []
    return CrdFacts(
        resource=f"{spec['names']['plural']}.{group}",
        kind=spec["names"]["kind"],
        versions=tuple(f"{group}/{one['name']}" for one in versions),
        storage=f"{group}/{storage}",
        stored=tuple(f"{group}/{one}" for one in stored),
        namespaced=spec.get("scope") == "Namespaced",
        served=tuple(f"{group}/{one['name']}" for one in versions if one.get("served")),
        webhook=(spec.get("conversion") or {}).get("strategy") == "Webhook",
        **_read_ca(spec.get("conversion") or {}),
    )


def _read_ca(conversion: Mapping[str, Any]) -> dict[str, Any]:
    """Until when the CA holds that servers trust a conversion webhook by."""
    client = (conversion.get("webhook") or {}).get("clientConfig") or {}
    bundle = client.get("caBundle")
    if not bundle:
        return {}
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    try:
        context.load_verify_locations(cadata=base64.b64decode(bundle).decode("ascii"))
    except (ssl.SSLError, ValueError) as error:
        return {"ca_fault": str(error)}
    ends = [
        datetime.fromtimestamp(ssl.cert_time_to_seconds(str(one["notAfter"])), timezone.utc)
        for one in context.get_ca_certs()
    ]
    # Any one of them does: servers take the one that fits.
    return {"ca_expires": max(ends)} if ends else {}


def observe_stored_versions(entry: ApiServer, resource: str) -> tuple[str, ...]:
    """What a definition itself says to be stored, as group/versions."""
    document = entry.get(f"{CRDS}/{resource}").json()
    group = document["spec"]["group"]
    stored = (document.get("status") or {}).get("storedVersions") or []
    return tuple(f"{group}/{version}" for version in stored)


def _sight(metadata: Mapping[str, Any]) -> CrdSight:
    return CrdSight(
        resource=metadata["name"],
        uid=metadata["uid"],
        generation=int(metadata["generation"]),
        changed=_last_change(metadata),
    )


def _last_change(metadata: Mapping[str, Any]) -> datetime | None:
    """When somebody last wrote the specification, as far as its field managers tell."""
    times = [
        parse_time(entry.get("time"))
        for entry in metadata.get("managedFields") or []
        if not entry.get("subresource")
    ]
    return max((time for time in times if time), default=None)
