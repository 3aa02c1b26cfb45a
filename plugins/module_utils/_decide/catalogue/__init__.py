# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""What each release encodes, decodes and serves, as its real API server showed it.

A catalogue is text, one resource a line, so that two of them can be compared by eye. The versions
of a resource's own group are written without the group. A line without the last two columns says
nothing of what is served by default.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ..errors import LockstepError
from ..names import split_resource

_RELEASE = re.compile(r"v?(\d+)\.(\d+)\.(\d+)(.*)")
_FIELDS = ("release", "emulated", "how", "when")
_SCOPES = ("namespaced", "cluster")
_COLUMNS = 7
_COLUMNS_WITH_DEFAULTS = 9
# How long a line may be that others than people read.
_LONGEST = 150


@dataclass(frozen=True)
class ReleaseResource:
    """One resource, as one release has it."""

    resource: str
    kind: str
    namespaced: bool
    # Of the encoding version; measured, not computed.
    storage_hash: str
    # Empty: it is the same objects as another resource, which tells.
    encoding: str
    # With every API and every feature gate on.
    served: tuple[str, ...]
    decodable: tuple[str, ...]
    # Without any flag. None: nobody has tried it.
    by_default: tuple[str, ...] | None = None
    # Once --runtime-config turns them on; others take feature gates as well.
    by_runtime_config: tuple[str, ...] = ()


@dataclass(frozen=True)
class ReleaseCatalogue:
    """All that one release stores, perhaps while it emulates another."""

    release: str
    emulated: str
    how: str
    when: str
    resources: Mapping[str, ReleaseResource]

    def __str__(self) -> str:
        return f"{self.release} emulating {self.emulated}" if self.emulated else self.release

    @property
    def minor(self) -> tuple[int, int]:
        """The minor release, such as (1, 36)."""
        return parse_release(self.release)[:2]


@dataclass(frozen=True)
class Catalogue:
    """The releases that are known."""

    releases: tuple[ReleaseCatalogue, ...]

    def find(self, release: str, *, emulated: str = "") -> ReleaseCatalogue | None:
        """The catalogue of a release: of this very one, or of another patch of the same minor.

        Patch releases do not change what is stored. Builds of vendors may: they have to be read.
        """
        wanted = parse_release(release)
        alike = [
            one
            for one in self.releases
            if one.emulated == emulated and parse_release(one.release)[:2] == wanted[:2]
        ]
        exact = [one for one in alike if parse_release(one.release) == wanted]
        if exact or wanted[3]:
            return exact[0] if exact else None
        plain = [one for one in alike if not parse_release(one.release)[3]]
        return max(plain, key=lambda one: parse_release(one.release), default=None)

    def version_of(self, resource: str, storage_hash: str) -> str | None:
        """Which version a hash stands for, as measured on a release that encodes it (R9)."""
        for release in self.releases:
            found = release.resources.get(resource)
            if found and found.storage_hash == storage_hash and found.encoding:
                return found.encoding
        return None

    def versions_of(self, resource: str) -> tuple[str, ...]:
        """All versions of a resource that any release can read."""
        found = (one.resources[resource] for one in self.releases if resource in one.resources)
        return tuple(dict.fromkeys(version for one in found for version in one.decodable))

    def last_with(self, resource: str) -> str | None:
        """The last release that has a resource."""
        having = [one for one in self.releases if not one.emulated and resource in one.resources]
        last = max(having, key=lambda one: parse_release(one.release), default=None)
        return last.release if last else None

    def with_release(self, release: ReleaseCatalogue) -> Catalogue:
        """The same, with one that a user has read off a server; it takes the place of another."""
        others = (
            one
            for one in self.releases
            if (one.release, one.emulated) != (release.release, release.emulated)
        )
        return Catalogue((release, *others))


def parse_release(text: str) -> tuple[int, int, int, str]:
    """Take a release apart: `v1.36.3` is (1, 36, 3, ""); what follows is a vendor's."""
    found = _RELEASE.fullmatch(text)
    if not found:
        raise LockstepError(
            f"{text!r} is no release",
            "A release has three numbers",
            "Write it as 1.37.0",
        )
    major, minor, patch, rest = found.groups()
    return int(major), int(minor), int(patch), rest


def parse_catalogues(text: str) -> Catalogue:
    """Read several catalogues, with an empty line between them."""
    parts = [part for part in text.strip().split("\n\n") if part.strip()]
    return Catalogue(tuple(parse_catalogue(part) for part in parts))


def parse_catalogue(text: str) -> ReleaseCatalogue:
    """Read one catalogue; what is wrong in it is named with its line."""
    head = dict.fromkeys(_FIELDS, "")
    resources: dict[str, ReleaseResource] = {}
    for number, line in enumerate(_unwrap(text).strip().splitlines(), start=1):
        word, _space, rest = line.partition(" ")
        if "|" in line:
            one = _parse_resource(line, number)
            resources[one.resource] = one
        elif word in _FIELDS:
            head[word] = rest
        else:
            raise _wrong(number, line)
    parse_release(head["release"])
    if not resources:
        raise LockstepError(
            f"The catalogue of {head['release']} is empty",
            "It names no resource",
            "Read it off a server again, with make catalogue",
        )
    return ReleaseCatalogue(resources=resources, **head)


def _parse_resource(line: str, number: int) -> ReleaseResource:
    columns = line.split("|")
    if len(columns) not in (_COLUMNS, _COLUMNS_WITH_DEFAULTS) or columns[2] not in _SCOPES:
        raise _wrong(number, line)
    resource, kind, scope, storage_hash, encoding, served, decodable = columns[:_COLUMNS]
    defaults = columns[_COLUMNS:]
    _plural, group = split_resource(resource)

    def whole(versions: str) -> tuple[str, ...]:
        return tuple(_whole(one, group) for one in versions.split())

    return ReleaseResource(
        resource=resource,
        kind=kind,
        namespaced=scope == "namespaced",
        storage_hash=storage_hash,
        encoding=_whole(encoding, group) if encoding else "",
        served=whole(served),
        decodable=whole(decodable),
        by_default=whole(defaults[0]) if defaults else None,
        by_runtime_config=whole(defaults[1]) if defaults else (),
    )


def _whole(version: str, group: str) -> str:
    if version.startswith("/"):
        return version[1:]
    return f"{group}/{version}" if group and "/" not in version else version


def _short(version: str, group: str) -> str:
    own, _slash, name = version.rpartition("/")
    if own == group:
        return name
    # One of the core group, in another group's resource.
    return version if own else f"/{version}"


def format_catalogue(catalogue: ReleaseCatalogue) -> str:
    """Write one catalogue, the same for the same release."""
    lines = [f"{field} {getattr(catalogue, field)}".rstrip() for field in _FIELDS]
    for name, one in sorted(catalogue.resources.items()):
        _plural, group = split_resource(name)

        def short(versions: Iterable[str], group: str = group) -> str:
            return " ".join(_short(version, group) for version in versions)

        columns = [
            name,
            one.kind,
            "namespaced" if one.namespaced else "cluster",
            one.storage_hash,
            short([one.encoding]) if one.encoding else "",
            short(one.served),
            short(one.decodable),
        ]
        if one.by_default is not None:
            columns += [short(one.by_default), short(one.by_runtime_config)]
        lines.append(_wrap("|".join(columns)))
    return "\n".join(lines) + "\n"


def _wrap(line: str) -> str:
    """A long line as two, the second of which begins with the mark between columns."""
    cut = line.rfind("|", 0, _LONGEST) if len(line) > _LONGEST else 0
    return f"{line[:cut]}\n{line[cut:]}" if cut else line


def _unwrap(text: str) -> str:
    return text.replace("\n|", "|")


def _wrong(number: int, line: str) -> LockstepError:
    return LockstepError(
        f"Line {number} of the catalogue can't be read",
        f"It is {line[:80]!r}",
        "Read the catalogue off a server again, with make catalogue",
    )
