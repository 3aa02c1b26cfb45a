"""What a release roll costs: only what really changes its encoding may be written anew."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

from lab import binaries
from lab.api import Api
from lab.control_plane import ServerSpec
from lab.etcd import stored_version
from lab.objects import crd
from lab.recorder import Recorder
from lab.waiting import eventually

from .figures import Figure, measures
from .stored import GROUP, copy_object, near_plane, read_items

OBJECTS = int(os.environ.get("LOCKSTEP_BENCH_ROLL_OBJECTS", "20000"))
# Of each resource that changes: in a cluster they are few.
CHANGING_OBJECTS = 100
OLD, NEW = binaries.RELEASES
# What may be written beside the objects that have to be: records, the lock, leases of servers.
ALLOWANCE = 0.01

_LABELS = {"app": "a"}
_CONTAINERS = {"containers": [{"name": "a", "image": "a"}], "restartPolicy": "Always"}
_TEMPLATE = {"metadata": {"labels": _LABELS}, "spec": _CONTAINERS}
_SELECTED = {"selector": {"matchLabels": _LABELS}, "template": _TEMPLATE}
_JOB = {"template": {"spec": {**_CONTAINERS, "restartPolicy": "Never"}}}
_ROLE = {"apiGroup": "rbac.authorization.k8s.io", "name": "nobody"}
_RULES = {"rules": [{"apiGroups": ["none"], "resources": ["none"], "verbs": ["get"]}]}
_MATCHES_NONE = {
    "resourceRules": [
        {
            "apiGroups": ["none.example.com"],
            "apiVersions": ["v1"],
            "operations": ["CREATE"],
            "resources": ["none"],
        }
    ]
}
_EXPRESSION = "Object{}"
_SCALED = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "a"}
# By path: the kind, and what an object of it holds at least.
Contents = Mapping[str, Any]
NAMESPACED: Mapping[str, tuple[str, str, Contents]] = {
    "configmaps": ("v1", "ConfigMap", {"data": {"a": "b"}}),
    "secrets": ("v1", "Secret", {"stringData": {"a": "b"}}),
    "serviceaccounts": ("v1", "ServiceAccount", {}),
    "podtemplates": ("v1", "PodTemplate", {"template": _TEMPLATE}),
    "replicationcontrollers": (
        "v1",
        "ReplicationController",
        {"spec": {"selector": _LABELS, "template": _TEMPLATE}},
    ),
    "persistentvolumeclaims": (
        "v1",
        "PersistentVolumeClaim",
        {
            "spec": {
                "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": "1Gi"}},
            }
        },
    ),
    "limitranges": ("v1", "LimitRange", {"spec": {"limits": []}}),
    "deployments": ("apps/v1", "Deployment", {"spec": _SELECTED}),
    "statefulsets": ("apps/v1", "StatefulSet", {"spec": {**_SELECTED, "serviceName": "a"}}),
    "daemonsets": ("apps/v1", "DaemonSet", {"spec": _SELECTED}),
    "replicasets": ("apps/v1", "ReplicaSet", {"spec": _SELECTED}),
    "controllerrevisions": ("apps/v1", "ControllerRevision", {"revision": 1, "data": {}}),
    "jobs": ("batch/v1", "Job", {"spec": _JOB}),
    "cronjobs": (
        "batch/v1",
        "CronJob",
        {"spec": {"schedule": "0 0 1 1 *", "jobTemplate": {"spec": _JOB}}},
    ),
    "horizontalpodautoscalers": (
        "autoscaling/v2",
        "HorizontalPodAutoscaler",
        {"spec": {"maxReplicas": 2, "scaleTargetRef": _SCALED}},
    ),
    "networkpolicies": ("networking.k8s.io/v1", "NetworkPolicy", {"spec": {"podSelector": {}}}),
    "ingresses": (
        "networking.k8s.io/v1",
        "Ingress",
        {"spec": {"defaultBackend": {"service": {"name": "a", "port": {"number": 1}}}}},
    ),
    "poddisruptionbudgets": (
        "policy/v1",
        "PodDisruptionBudget",
        {"spec": {"minAvailable": 1, "selector": {"matchLabels": _LABELS}}},
    ),
    "roles": ("rbac.authorization.k8s.io/v1", "Role", _RULES),
    "rolebindings": (
        "rbac.authorization.k8s.io/v1",
        "RoleBinding",
        {"roleRef": {**_ROLE, "kind": "Role"}},
    ),
    "endpointslices": (
        "discovery.k8s.io/v1",
        "EndpointSlice",
        {"addressType": "IPv4", "endpoints": []},
    ),
    "leases": ("coordination.k8s.io/v1", "Lease", {}),
}
CLUSTER_WIDE: Mapping[str, tuple[str, str, Contents]] = {
    "clusterroles": ("rbac.authorization.k8s.io/v1", "ClusterRole", _RULES),
    "priorityclasses": ("scheduling.k8s.io/v1", "PriorityClass", {"value": 1}),
    "runtimeclasses": ("node.k8s.io/v1", "RuntimeClass", {"handler": "a"}),
    "storageclasses": ("storage.k8s.io/v1", "StorageClass", {"provisioner": "a"}),
    "ingressclasses": ("networking.k8s.io/v1", "IngressClass", {"spec": {"controller": "a/a"}}),
}
# 1.36 stores these as v1beta1, 1.37 as v1.
CHANGING: Mapping[str, tuple[str, str, Contents]] = {
    "mutatingadmissionpolicies": (
        "admissionregistration.k8s.io/v1",
        "MutatingAdmissionPolicy",
        {
            "spec": {
                "matchConstraints": _MATCHES_NONE,
                "reinvocationPolicy": "Never",
                "mutations": [
                    {
                        "patchType": "ApplyConfiguration",
                        "applyConfiguration": {"expression": _EXPRESSION},
                    }
                ],
            }
        },
    ),
    "mutatingadmissionpolicybindings": (
        "admissionregistration.k8s.io/v1",
        "MutatingAdmissionPolicyBinding",
        {"spec": {"policyName": "none"}},
    ),
}
CUSTOM = 40 - len(NAMESPACED) - len(CLUSTER_WIDE) - len(CHANGING)


@measures("writes_per_object_after_roll")
def writes_per_object_after_roll() -> Iterable[Figure]:
    """Two servers, rolled from one release to the next, with everything recorded before."""
    with near_plane(ServerSpec(release=OLD), ServerSpec(release=OLD)) as recorder:
        _populate(recorder)
        recorder.migrate(backend="direct")
        for server in recorder.plane.servers.values():
            server.restart(ServerSpec(release=NEW))
        _wait_settled(recorder)
        etcd = recorder.plane.etcd
        stored, revision = _stored(recorder), etcd.revision()
        result = recorder.migrate(backend="direct")
        writes = etcd.revision() - revision
        after = _stored(recorder)
    objects = len(stored)
    changed = sum(after.get(key, version) != version for key, version in stored.items())
    rewritten = result["totals"]["rewritten"]
    visited = ", ".join(result["resources"])
    yield Figure(
        "writes_per_object_after_roll",
        writes / objects,
        "writes an object",
        changed / objects + ALLOWANCE,
        "lower",
        f"two servers rolled from {OLD} to {NEW} over {objects} objects of 40 populated resources:"
        f" {changed} changed their encoding, {rewritten} were rewritten ({visited}), and with the"
        f" records and the servers' own leases etcd saw {writes} writes. The aim is the share that"
        f" changed, and {ALLOWANCE:.0%}",
    )


def _populate(recorder: Recorder) -> None:
    """One object of each resource by its server, and all others as copies of it."""
    kinds = [f"custom{number:02}s" for number in range(CUSTOM)]
    recorder.plane.create_crds(*(crd(plural, GROUP, storage="v1") for plural in kinds))
    custom = {
        plural: (f"{GROUP}/v1", plural.removesuffix("s").capitalize(), {"spec": {"a": "b"}})
        for plural in kinds
    }
    api = recorder.api
    for plural, (version, kind, contents) in NAMESPACED.items():
        _create(api, version, f"namespaces/default/{plural}", kind, plural, contents)
    for plural, (version, kind, contents) in {**CLUSTER_WIDE, **CHANGING, **custom}.items():
        _create(api, version, plural, kind, plural, contents)
    etcd = recorder.plane.etcd
    keys = {key.rsplit("/", 1)[1]: key for key in etcd.keys("/registry/")}
    others = {**NAMESPACED, **CLUSTER_WIDE, **custom}
    rest = (OBJECTS - len(CHANGING) * CHANGING_OBJECTS) // len(others)
    for plurals, count in ((CHANGING, CHANGING_OBJECTS), (others, rest)):
        for plural in plurals:
            names = [_name(plural, number) for number in range(count)]
            copy_object(etcd, keys[names[0]], names[1:])


def _create(api: Api, version: str, path: str, kind: str, plural: str, contents: Contents) -> None:
    root = "/api/v1" if version == "v1" else f"/apis/{version}"
    head = {"apiVersion": version, "kind": kind, "metadata": {"name": _name(plural, 0)}}
    api.create(f"{root}/{path}", {**head, **contents})


def _name(plural: str, number: int) -> str:
    return f"{plural}-{number:06}"


def _stored(recorder: Recorder) -> dict[bytes, str]:
    """Every stored object and its version, without what is no object of the API."""
    internal = (b"/registry/ranges/", b"/registry/masterleases/", b"/registry/peerserverleases/")
    return {
        key: stored_version(value)
        for key, value in read_items(recorder.plane.etcd, "/registry/")
        if not key.startswith(internal)
    }


def _wait_settled(recorder: Recorder) -> None:
    """Definitions are served a little after the rest."""
    path = f"/apis/{GROUP}/v1/custom{CUSTOM - 1:02}s"
    for server in recorder.plane.servers.values():
        eventually(lambda server=server: server.api.answers(path), within=60)
