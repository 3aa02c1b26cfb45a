# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""Keys in etcd: which resource each belongs to, and where a resource's keys are.

A built-in resource has a directory of its own below the prefix, named as its plural but for some
of the oldest. A custom resource has one below its group; so have definitions and API services.
What fits neither is never guessed at.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from . import names
from .errors import LockstepError

DEFAULT_PREFIX = "/registry"
RESOURCE, INTERNAL, UNMAPPED = "resource", "internal", "unmapped"

_LABEL = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?")
_GROUP = re.compile(r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)+")

# Every resource that a release from 1.16 to 1.37 stored in a directory without a group, by group.
# tests/integration/test_storage_audit.py holds it against servers with every API turned on.
_BUILT_IN = {
    "": "configmaps endpoints events limitranges namespaces nodes persistentvolumeclaims"
    " persistentvolumes pods podtemplates replicationcontrollers resourcequotas secrets"
    " serviceaccounts services",
    "admissionregistration.k8s.io": "mutatingadmissionpolicies mutatingadmissionpolicybindings"
    " mutatingwebhookconfigurations validatingadmissionpolicies validatingadmissionpolicybindings"
    " validatingwebhookconfigurations",
    "apps": "controllerrevisions daemonsets deployments replicasets statefulsets",
    "auditregistration.k8s.io": "auditsinks",
    "autoscaling": "horizontalpodautoscalers",
    "batch": "cronjobs jobs",
    "certificates.k8s.io": "certificatesigningrequests clustertrustbundles podcertificaterequests",
    "coordination.k8s.io": "leasecandidates leases",
    "discovery.k8s.io": "endpointslices",
    "flowcontrol.apiserver.k8s.io": "flowschemas prioritylevelconfigurations",
    "internal.apiserver.k8s.io": "storageversions",
    "lifecycle.k8s.io": "evictionrequests evictions",
    "networking.k8s.io": "clustercidrs ingressclasses ingresses ipaddresses networkpolicies"
    " servicecidrs",
    "node.k8s.io": "runtimeclasses",
    "policy": "poddisruptionbudgets podsecuritypolicies",
    "rbac.authorization.k8s.io": "clusterrolebindings clusterroles rolebindings roles",
    "resource.k8s.io": "deviceclasses devicetaintrules podschedulingcontexts"
    " resourceclaimparameters resourceclaims resourceclaimtemplates resourceclasses"
    " resourceclassparameters resourcepoolstatusrequests resourceslices",
    "scheduling.k8s.io": "compositepodgroups podgroups priorityclasses workloads",
    "settings.k8s.io": "podpresets",
    "storage.k8s.io": "csidrivers csinodes csistoragecapacities storageclasses volumeattachments"
    " volumeattributesclasses",
    "storagemigration.k8s.io": "storageversionmigrations",
}
_ODD_DIRECTORIES = {
    "endpoints": "services/endpoints",
    "ingresses.networking.k8s.io": "ingress",
    "nodes": "minions",
    "podsecuritypolicies.policy": "podsecuritypolicy",
    "replicationcontrollers": "controllers",
    "services": "services/specs",
}
# Built in as well, but kept below their group, as custom resources are.
GROUPED = ("apiservices.apiregistration.k8s.io", "customresourcedefinitions.apiextensions.k8s.io")
# The same keys, served as a resource of another group too.
_SHARED = {"events": ("events.events.k8s.io",)}
# What API servers keep for themselves: address and port allocations, and who is alive.
_INTERNAL = ("masterleases", "peerserverleases", "ranges")

DIRECTORIES = {
    name: _ODD_DIRECTORIES.get(name, plural)
    for group, plurals in _BUILT_IN.items()
    for plural in plurals.split()
    for name in [names.resource_name(group=group, plural=plural)]
}
_RESOURCES = {directory: name for name, directory in DIRECTORIES.items()}


@dataclass(frozen=True)
class Place:
    """Where a key belongs. All keys that begin with `directory` belong there as well."""

    kind: str
    # The resource; or the directory, where it belongs to none.
    name: str
    directory: bytes


@dataclass(frozen=True)
class KeyRange:
    """All keys from one up to, and without, another."""

    start: bytes
    end: bytes


class KeySpace:
    """The keys below one prefix (`--etcd-prefix` of the API servers)."""

    def __init__(self, prefix: str) -> None:
        self.prefix = normalise_prefix(prefix)
        self._root = f"{self.prefix}/".encode()

    @property
    def whole(self) -> KeyRange:
        return below(self._root)

    def place(self, key: bytes) -> Place:
        """Which resource a key belongs to, if any."""
        if not key.startswith(self._root):
            return Place(UNMAPPED, show_key(key), key)
        parts = key[len(self._root) :].split(b"/", 2)
        try:
            steps = [part.decode("ascii") for part in parts[:2]]
        except UnicodeDecodeError:
            return self._unmapped(parts[:1], len(parts) > 1)
        if len(parts) > 1 and steps[0] in _INTERNAL:
            return Place(INTERNAL, steps[0], self._directory(parts[:1]))
        if len(parts) > 1 and steps[0] in _RESOURCES:
            return Place(RESOURCE, _RESOURCES[steps[0]], self._directory(parts[:1]))
        if len(parts) > 2 and "/".join(steps) in _RESOURCES:
            return Place(RESOURCE, _RESOURCES["/".join(steps)], self._directory(parts[:2]))
        # A group with a dot is a custom resource's. Built-in groups are no directories.
        if len(parts) > 2 and _GROUP.fullmatch(steps[0]) and _LABEL.fullmatch(steps[1]):
            name = names.resource_name(group=steps[0], plural=steps[1])
            return Place(RESOURCE, name, self._directory(parts[:2]))
        depth = (
            2 if len(parts) > 2 and (_GROUP.fullmatch(steps[0]) or steps[0] == "services") else 1
        )
        return self._unmapped(parts[:depth], len(parts) > depth)

    def ranges(self, patterns: Iterable[str]) -> tuple[KeyRange, ...]:
        """The least that has to be read to see every key of the resources that patterns choose."""
        found: set[KeyRange] = set()
        for pattern in patterns:
            built_in = [name for name in DIRECTORIES if chosen(name, [pattern])]
            found |= {self._below(DIRECTORIES[name]) for name in built_in}
            plural, dot, group = pattern.partition(".")
            if pattern == "*" or "*" in group:
                return (self.whole,)
            if dot and "*" in plural:
                found.add(self._below(group))
            elif dot and not built_in:
                found.add(self._below(f"{group}/{plural}"))
        return _merged(found)

    def _below(self, directory: str) -> KeyRange:
        return below(self._root + f"{directory}/".encode())

    def _directory(self, parts: list[bytes]) -> bytes:
        return self._root + b"/".join(parts) + b"/"

    def _unmapped(self, parts: list[bytes], deeper: bool) -> Place:
        directory = self._root + b"/".join(parts)
        return Place(UNMAPPED, show_key(directory), directory + b"/" if deeper else directory)


def shared_with(resource: str) -> tuple[str, ...]:
    """Resources of other groups that are the same keys."""
    return _SHARED.get(resource, ())


def same_objects(resource: str) -> tuple[str, ...]:
    """Every name that a resource's keys are served under, its own among them."""
    for name, others in _SHARED.items():
        if resource in (name, *others):
            return (name, *others)
    return (resource,)


def directory_of(resource: str) -> str:
    """Below which directory of the prefix a resource is kept, under any of its names."""
    for name in same_objects(resource):
        if name in DIRECTORIES:
            return DIRECTORIES[name]
    plural, group = names.split_resource(resource)
    return f"{group}/{plural}" if group else plural


def place_known(resource: str) -> bool:
    """Whether it is known where a built-in resource is kept, so that none there means none."""
    if resource in GROUPED:
        return True
    return any(resource in (name, *shared_with(name)) for name in DIRECTORIES)


def chosen(resource: str, patterns: Iterable[str]) -> bool:
    """Whether patterns choose a resource, by any of the names that its keys are served under."""
    known = (resource, *shared_with(resource))
    return bool(names.select_resources(resources=known, patterns=patterns))


def normalise_prefix(prefix: str) -> str:
    """A prefix as API servers take it: one slash before each part, and none at the end."""
    parts = [part for part in prefix.split("/") if part]
    if not parts or any(part in (".", "..") for part in parts):
        raise LockstepError(
            f"The option etcd_prefix is {prefix!r}",
            "That is no prefix that an API server keeps its keys under",
            "Give the API servers' --etcd-prefix, which is /registry unless it was set",
        )
    return "/" + "/".join(parts)


def below(prefix: bytes) -> KeyRange:
    """All keys that begin with a prefix."""
    return KeyRange(prefix, after(prefix))


def after(prefix: bytes) -> bytes:
    """The first key behind all that begin with a prefix; nothing, if there is none."""
    cut = prefix.rstrip(b"\xff")
    return cut[:-1] + bytes([cut[-1] + 1]) if cut else b""


def show_key(key: bytes) -> str:
    """A key as text, whatever its bytes are."""
    return key.decode("utf-8", "backslashreplace")


def object_name(key: bytes, directory: bytes) -> str:
    """What a key below its resource's directory calls the object: `name`, or `namespace/name`.

    Empty where no API server would have written such a key.
    """
    try:
        name = key[len(directory) :].decode()
    except UnicodeDecodeError:
        return ""
    parts = name.split("/")
    return name if len(parts) <= 2 and all(parts) else ""


def _merged(ranges: Iterable[KeyRange]) -> tuple[KeyRange, ...]:
    merged: list[KeyRange] = []
    for one in sorted(ranges, key=lambda each: (each.start, each.end)):
        if merged and one.start <= merged[-1].end:
            last = merged.pop()
            one = KeyRange(last.start, max(last.end, one.end))
        merged.append(one)
    return tuple(merged)
