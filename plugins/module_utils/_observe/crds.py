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
from functools import partial
from typing import Any

from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide import names
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.checks.facts import (
    CrdFacts,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.observations import (
    CrdSight,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.times import parse_time
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe import documents
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.documents import Document
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.servers import ApiServer

_KIND = "CustomResourceDefinition"
CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
# Schemas make definitions large; who changed what and when is all that is needed of most.
_METADATA_ONLY = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"


def observe_crds(entry: ApiServer) -> dict[str, CrdSight]:
    """All definitions, by the resource that they define."""
    return entry.get(CRDS, accept=_METADATA_ONLY).read(parse_crds)


def parse_crds(document: Document) -> dict[str, CrdSight]:
    """A list of definitions that shows their metadata only."""
    items = documents.list_items(document, "PartialObjectMetadataList")
    sights = (_sight(documents.section(item, "metadata")) for item in items)
    return {sight.resource: sight for sight in sights}


def observe_storage_of(
    entry: ApiServer, crds: Mapping[str, CrdSight], resources: Iterable[str]
) -> dict[str, CrdSight]:
    """The same definitions, with the storage version of some of them read in full."""
    known = dict(crds)
    for resource in resources:
        if resource not in known:
            continue
        definition = observe_definition(entry, resource)
        known[resource] = replace(
            known[resource],
            storage_version=definition.storage,
            storage_version_served=definition.storage in definition.served,
        )
    return known


def observe_definition(entry: ApiServer, resource: str) -> CrdFacts:
    """One definition in full, as far as an upgrade is concerned."""
    answer = entry.get(f"{CRDS}/{resource}")
    return answer.read(partial(parse_definition, resource=resource))


def parse_definition(document: Document, *, resource: str) -> CrdFacts:
    """The definition of one resource."""
    return read_definition(documents.require_kind(document, _KIND, name=resource))


def observe_definitions(entry: ApiServer) -> dict[str, CrdFacts]:
    """All definitions in full, as far as an upgrade is concerned, page by page."""
    found: dict[str, CrdFacts] = {}
    query = {"limit": "50"}
    while True:
        entry.deadline = entry.deadline.anew()
        page, token = entry.get(CRDS, **query).read(parse_definitions)
        found |= page
        if not token:
            return found
        query["continue"] = token


def parse_definitions(document: Document) -> tuple[dict[str, CrdFacts], str]:
    """One page of definitions, by resource, and where the next begins."""
    found = map(read_definition, documents.list_items(document, f"{_KIND}List"))
    return {one.resource: one for one in found}, documents.continue_token(document)


def read_definition(document: Document) -> CrdFacts:
    """One definition, from a server or from a manifest."""
    spec = documents.required_section(document, "spec")
    group, called = documents.text(spec, "group"), documents.required_section(spec, "names")
    versions = {
        f"{group}/{documents.text(one, 'name')}": one
        for one in documents.sections(spec, "versions")
    }
    storage = [name for name, one in versions.items() if documents.flag(one, "storage")]
    if len(storage) != 1:
        raise documents.MalformedError(f"{len(storage)} of its versions are the storage version")
    conversion = documents.section(spec, "conversion")
    resource = names.resource_name(group=group, plural=documents.text(called, "plural"))
    names.split_resource(resource)
    return CrdFacts(
        resource=resource,
        kind=documents.text(called, "kind"),
        versions=tuple(versions),
        storage=storage[0],
        stored=tuple(
            f"{group}/{one}"
            for one in documents.texts(documents.section(document, "status"), "storedVersions")
        ),
        namespaced=documents.optional_text(spec, "scope") == "Namespaced",
        served=tuple(name for name, one in versions.items() if documents.flag(one, "served")),
        webhook=documents.optional_text(conversion, "strategy") == "Webhook",
        **_read_ca(conversion),
    )


def _read_ca(conversion: Document) -> dict[str, Any]:
    """Until when the CA holds that servers trust a conversion webhook by."""
    client = documents.section(documents.section(conversion, "webhook"), "clientConfig")
    bundle = documents.optional_text(client, "caBundle")
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
    return observe_definition(entry, resource).stored


def _sight(metadata: Document) -> CrdSight:
    return CrdSight(
        resource=documents.text(metadata, "name"),
        uid=documents.text(metadata, "uid"),
        generation=documents.number(metadata, "generation"),
        changed=_last_change(metadata),
    )


def _last_change(metadata: Document) -> datetime | None:
    """When somebody last wrote the specification, as far as its field managers tell."""
    times = [
        parse_time(entry.get("time"))
        for entry in documents.sections(metadata, "managedFields")
        if not entry.get("subresource")
    ]
    return max((time for time in times if time), default=None)
