# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""Which Deployment runs another trigger."""

from __future__ import annotations

from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.triggers import (
    DeploymentSight,
    ForeignTrigger,
    find_trigger,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe import documents
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.documents import Document
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.servers import (
    ApiServer,
    ServerFault,
)

_DEPLOYMENTS = "/apis/apps/v1/deployments"


def observe_trigger(server: ApiServer, writer: str) -> ForeignTrigger | None:
    """The trigger that writes as `writer`, with what runs it, as far as that may be read."""
    if not writer:
        return None
    try:
        deployments = server.get(_DEPLOYMENTS).read(parse_deployments)
    except ServerFault as fault:
        if fault.status != 403:
            raise
        deployments = []
    return find_trigger(writer, deployments)


def parse_deployments(document: Document) -> list[DeploymentSight]:
    """All Deployments of a list, and what each runs."""
    return [_read(item) for item in documents.list_items(document, "DeploymentList")]


def _read(item: Document) -> DeploymentSight:
    metadata, spec = documents.section(item, "metadata"), documents.section(item, "spec")
    template = documents.section(documents.section(spec, "template"), "spec")
    containers = documents.sections(template, "containers")
    commands = [one.get("command") for one in containers]
    replicas = spec.get("replicas", 1)
    return DeploymentSight(
        namespace=documents.text(metadata, "namespace"),
        name=documents.text(metadata, "name"),
        images=tuple(documents.optional_text(one, "image") for one in containers),
        programs=tuple(str(one[0]) for one in commands if isinstance(one, list) and one),
        replicas=replicas if isinstance(replicas, int) else 1,
    )
