# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""A resource's name in each API, and the patterns that choose resources."""

from __future__ import annotations

import re
from collections.abc import Iterable

from .errors import InvalidNameError

_CORE = "core"
_LABEL = r"[a-z0-9](?:[-a-z0-9]*[a-z0-9])?"
_RESOURCE = re.compile(rf"{_LABEL}(?:\.{_LABEL})*")
_PATTERN_LABEL = r"[a-z0-9*](?:[-a-z0-9*]*[a-z0-9*])?"
_PATTERN = re.compile(rf"{_PATTERN_LABEL}(?:\.{_PATTERN_LABEL})*")


def resource_name(*, group: str, plural: str) -> str:
    """Name a resource: `deployments.apps`; in the core group just `pods`."""
    return f"{plural}.{group}" if group else plural


def split_resource(resource: str) -> tuple[str, str]:
    """Take a resource's name apart into plural and group (core: an empty string)."""
    if not _RESOURCE.fullmatch(resource):
        raise InvalidNameError(
            f"{resource!r} is not the name of a resource",
            "A resource is its plural and its group, in lower case, with a dot between them",
            "Write it as deployments.apps, or as pods where the group is core",
        )
    plural, _dot, group = resource.partition(".")
    return plural, group


def storage_version_name(resource: str) -> str:
    """Name the StorageVersion object of a resource: `apps.deployments`, `core.pods`."""
    plural, group = split_resource(resource)
    return f"{group or _CORE}.{plural}"


def resource_of_storage_version(name: str) -> str:
    """Name the resource of a StorageVersion object: its last label is the plural."""
    group, dot, plural = name.rpartition(".")
    if not dot or not _RESOURCE.fullmatch(name):
        raise InvalidNameError(
            f"{name!r} is not the name of a StorageVersion object",
            "Such a name is the group, a dot and the plural",
            "Write it as apps.deployments, or as core.pods where the group is core",
        )
    return resource_name(group="" if group == _CORE else group, plural=plural)


def storage_state_name(resource: str) -> str:
    """Name the StorageState object of a resource: it is the resource's own name."""
    plural, group = split_resource(resource)
    return resource_name(group=group, plural=plural)


def resource_of_storage_state(name: str) -> str:
    """Name the resource of a StorageState object."""
    plural, group = split_resource(name)
    return resource_name(group=group, plural=plural)


def join_group_version(*, group: str, version: str) -> str:
    """Write a group/version as the APIs do: `apps/v1`, and `v1` in the core group."""
    return f"{group}/{version}" if group else version


def split_group_version(group_version: str) -> tuple[str, str]:
    """Take `apps/v1` apart; `v1` and `/v1` are the core group's."""
    group, _slash, version = group_version.rpartition("/")
    if not version or "/" in group:
        raise InvalidNameError(
            f"{group_version!r} is not a group/version",
            "It must be a group, a slash and a version",
            "Write it as apps/v1, or as v1 where the group is core",
        )
    return group, version


def check_group_version(text: str) -> str:
    """The same group/version, if its parts are names as servers give them."""
    group, version = split_group_version(text)
    if not _RESOURCE.fullmatch(f"{version}.{group}" if group else version):
        raise InvalidNameError(
            f"{text!r} is not a group/version",
            "Group and version are names in lower case",
            "Write it as apps/v1, or as v1 where the group is core",
        )
    return text


def group_version_of(*, resource: str, version: str) -> str:
    """Give a version of a resource its group, where it is written without."""
    if "/" in version:
        return version.lstrip("/")
    return join_group_version(group=split_resource(resource)[1], version=version)


def api_path(group_version: str) -> str:
    """Where a server serves a group/version: `/apis/apps/v1`, and `/api/v1` for core."""
    group, version = split_group_version(group_version)
    return f"/apis/{group}/{version}" if group else f"/api/{version}"


def resource_path(*, group_version: str, plural: str, namespace: str = "") -> str:
    """Where a server serves the objects of a resource."""
    within = f"/namespaces/{namespace}" if namespace else ""
    return f"{api_path(group_version)}{within}/{plural}"


def _compile(pattern: str) -> re.Pattern[str]:
    if not isinstance(pattern, str) or not _PATTERN.fullmatch(pattern):
        raise InvalidNameError(
            f"{pattern!r} can't choose resources",
            "A pattern is a plural and a group in lower case, with * for any run of characters "
            "in either of them",
            "Write it as deployments.apps, *.example.com, pods (the core group) or * (all)",
        )
    if pattern == "*":
        return re.compile(r".*")
    plural, dot, group = pattern.partition(".")
    in_plural = re.escape(plural).replace(r"\*", r"[^.]*")
    in_group = re.escape(group).replace(r"\*", r".*")
    return re.compile(rf"{in_plural}\.{in_group}" if dot else in_plural)


def matches(*, resource: str, pattern: str) -> bool:
    """Whether a pattern chooses a resource. Without a dot it chooses in the core group only."""
    return _compile(pattern).fullmatch(resource) is not None


def select_resources(*, resources: Iterable[str], patterns: Iterable[str]) -> tuple[str, ...]:
    """Choose the resources that any of the patterns matches, sorted."""
    compiled = [_compile(pattern) for pattern in patterns]
    return tuple(
        sorted({name for name in resources if any(one.fullmatch(name) for one in compiled)})
    )


def unmatched_patterns(*, resources: Iterable[str], patterns: Iterable[str]) -> tuple[str, ...]:
    """Which of the patterns chose nothing, in the order given: most likely a slip of the pen."""
    known = tuple(resources)
    return tuple(
        pattern for pattern in patterns if not any(map(_compile(pattern).fullmatch, known))
    )


def may_match(*, group: str, patterns: Iterable[str]) -> bool:
    """Whether any resource of a group could be chosen by the patterns."""
    anything = f"x.{group}" if group else "x"
    for pattern in patterns:
        _plural, dot, in_group = pattern.partition(".")
        if pattern == "*" or (dot and matches(resource=anything, pattern=f"*.{in_group}")):
            return True
        if not dot and not group:
            return True
    return False
