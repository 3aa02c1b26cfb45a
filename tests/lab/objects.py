"""Objects that tests create, as the API takes them."""

from __future__ import annotations

from typing import Any

from .api import Api, ApiError

CRDS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def crd(
    plural: str,
    group: str,
    *,
    storage: str,
    served: tuple[str, ...] = ("v1", "v2"),
    namespaced: bool = False,
) -> dict[str, Any]:
    """A definition with the versions v1 and v2, one of which is stored, and any of which served."""
    kind = plural.removesuffix("s").capitalize()
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced" if namespaced else "Cluster",
            "names": {"plural": plural, "singular": kind.lower(), "kind": kind},
            "versions": [
                {
                    "name": version,
                    "served": version in served,
                    "storage": version == storage,
                    "schema": {"openAPIV3Schema": schema},
                }
                for version in ("v1", "v2")
            ],
        },
    }


def seed_definition(plural: str, kind: str, schema: dict[str, Any] | None = None) -> dict[str, Any]:
    """What the seeds define in migration.k8s.io, and no more: a schema, or any fields at all."""
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    approval = {"api-approved.kubernetes.io": "https://github.com/kubernetes/community"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        # Groups below k8s.io are refused without a link to their approval.
        "metadata": {"name": f"{plural}.migration.k8s.io", "annotations": approval},
        "spec": {
            "group": "migration.k8s.io",
            "scope": "Cluster",
            "names": {"plural": plural, "singular": kind.lower(), "kind": kind},
            "versions": [
                {
                    "name": "v1alpha1",
                    "served": True,
                    "storage": True,
                    "subresources": {"status": {}},
                    "schema": {"openAPIV3Schema": schema or anything},
                }
            ],
        },
    }


def report_node(api: Api, name: str, release: str) -> None:
    """What a kubelet does: have a Node that is ready and tells what it runs."""
    try:
        api.create("/api/v1/nodes", {"metadata": {"name": name}})
    except ApiError as error:
        if error.status != 409:
            raise
    ready = {"type": "Ready", "status": "True", "reason": "Lab", "message": ""}
    status = {"nodeInfo": {"kubeletVersion": release}, "conditions": [ready]}
    api.patch(f"/api/v1/nodes/{name}/status", {"status": status})
