# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""Which resources a release serves, under the flags that its servers get.

Where the flags are not known, what the servers of today show against the defaults of their own
release tells of them, as far as it goes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from .catalogue import ReleaseCatalogue, ReleaseResource
from .flags import ApiFlags
from .names import split_resource
from .observations import ServerSight

# A resource in one of its versions.
ServedVersion = tuple[str, str]


@dataclass(frozen=True)
class ShownFlags:
    """What discovery tells of the flags of the servers that run."""

    # Served although the release has it off by default, and the other way round.
    turned_on: frozenset[ServedVersion] = frozenset()
    turned_off: frozenset[ServedVersion] = frozenset()
    # Not served, although --runtime-config alone would have turned it on.
    not_turned_on: frozenset[ServedVersion] = frozenset()
    # Whether the release's defaults are known, and nothing at all is turned on.
    plain: bool = False


def served_under(one: ReleaseResource, flags: ApiFlags) -> bool | None:
    """Whether a release serves a resource under known flags; None: not known."""
    if one.by_default is None:
        return bool(one.served) if flags.everything else None
    return _any(_version_under(one, version, flags) for version in one.served)


def _version_under(one: ReleaseResource, version: str, flags: ApiFlags) -> bool | None:
    wanted = flags.wants(version, split_resource(one.resource)[0])
    if wanted is False:
        return False
    if version in (one.by_default or ()) or (wanted and version in one.by_runtime_config):
        return True
    if version in one.by_runtime_config:
        return False
    # It takes feature gates, and which ones the catalogue does not tell.
    if flags.everything:
        return True
    return None if flags.features_on else False


def served_as_shown(one: ReleaseResource, shown: ShownFlags) -> bool | None:
    """The same where the flags are not known: what is on by a flag may not be on in the target."""
    if one.by_default is None:
        return None
    return _any(_version_as_shown(one, version, shown) for version in one.served)


def _version_as_shown(one: ReleaseResource, version: str, shown: ShownFlags) -> bool | None:
    named = (one.resource, version)
    if version in (one.by_default or ()):
        return None if named in shown.turned_off else True
    return False if shown.plain or named in shown.not_turned_on else None


def read_shown(servers: Iterable[ServerSight], release: ReleaseCatalogue | None) -> ShownFlags:
    """Hold what servers of one release serve against what it serves by default."""
    every = [one for one in servers if not one.fault]
    known = list(release.resources.values()) if release else []
    if not every or not known or any(one.by_default is None for one in known):
        return ShownFlags()
    on, off, unused = set(), set(), set()
    for one in known:
        shown = [
            server.resources[one.resource].served_versions
            for server in every
            if one.resource in server.resources
        ]
        for version in one.served:
            by_default = version in (one.by_default or ())
            serving = sum(1 for versions in shown if version in versions)
            if serving and not by_default:
                on.add((one.resource, version))
            elif serving < len(every) and by_default:
                off.add((one.resource, version))
            elif not serving and version in one.by_runtime_config:
                unused.add((one.resource, version))
    return ShownFlags(frozenset(on), frozenset(off), frozenset(unused), plain=not on)


def _any(answers: Iterable[bool | None]) -> bool | None:
    found = set(answers)
    if True in found:
        return True
    return None if None in found else False
