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
    """Where a key belongs."""

    kind: str
    # The resource; or the directory, where it belongs to none.
    name: str
    # All keys that begin with it belong there as well; empty where only this very key does, since
    # others that begin alike may be a resource's.
    directory: bytes = b""

    def holds(self, key: bytes) -> bool:
        """Whether another key belongs here for sure."""
        return bool(self.directory) and key.startswith(self.directory)


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

    def key(self, path: str) -> bytes:
        """The key of an object, by its path below the prefix."""
        return self._root + path.encode()

    def place(self, key: bytes) -> Place:
        """Which resource a key belongs to, if any."""
        if not key.startswith(self._root):
            return Place(UNMAPPED, show_key(key))
        parts = key[len(self._root) :].split(b"/", 2)
        # Each part by itself: what comes further down never decides about what is above it.
        first, second = ([_word(part) for part in parts[:2]] + [""])[:2]
        if len(parts) > 1 and first in _INTERNAL:
            return Place(INTERNAL, first, self._directory(parts[:1]))
        if len(parts) > 1 and first in _RESOURCES:
            return Place(RESOURCE, _RESOURCES[first], self._directory(parts[:1]))
        if not self._has_directories(first):
            return self._unmapped(parts[:1], deeper=len(parts) > 1)
        if len(parts) < 3:
            # Beside those directories, and in none of them.
            return self._unmapped(parts[:1], deeper=False)
        if f"{first}/{second}" in _RESOURCES:
            return Place(RESOURCE, _RESOURCES[f"{first}/{second}"], self._directory(parts[:2]))
        # A group with a dot is a custom resource's. Built-in groups are no directories.
        if _GROUP.fullmatch(first) and _LABEL.fullmatch(second):
            name = names.resource_name(group=first, plural=second)
            return Place(RESOURCE, name, self._directory(parts[:2]))
        return self._unmapped(parts[:2], deeper=True)

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

    @staticmethod
    def _has_directories(step: str) -> bool:
        """Whether directories of several resources may lie in this one."""
        return step == "services" or bool(_GROUP.fullmatch(step))

    def _unmapped(self, parts: list[bytes], *, deeper: bool) -> Place:
        name = show_key(self._root + b"/".join(parts))
        return Place(UNMAPPED, name, self._directory(parts) if deeper else b"")


def _word(part: bytes) -> str:
    """A part of a key as text; empty where it is in no name of Kubernetes'."""
    try:
        return part.decode("ascii")
    except UnicodeDecodeError:
        return ""


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
