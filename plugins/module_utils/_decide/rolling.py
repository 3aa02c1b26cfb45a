# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""In the middle of an upgrade: which resources do servers write differently because of it?

What is not known of just those can wait until all servers are upgraded. Whatever else is not
known would not be known then either.
"""

from __future__ import annotations

from .agreement import Agreement
from .catalogue import ReleaseCatalogue
from .checks.facts import Facts


def differing_by_upgrade(facts: Facts) -> frozenset[str]:
    """The resources that every server of one release writes alike, and of the other otherwise."""
    step, look = facts.step, facts.look
    running = {one.address: one.release for one in look.sight.servers}
    releases = {
        address: str(release)
        for address, release in running.items()
        if release and release.git_version in (step.from_release, step.to_release)
    }
    if not step.rolling or not look.membership.complete or len(releases) != len(running):
        return frozenset()
    return frozenset(
        name
        for name, agreement in look.agreements.items()
        if not agreement.agreed
        # What custom resources are written as does not depend on the release.
        and agreement.origin == "built-in"
        and _differs(agreement, releases, alike=_written_alike(name, step.current, step.target))
    )


def _differs(agreement: Agreement, releases: dict[str, str], *, alike: bool) -> bool:
    """Whether it is the release of a server that tells what it shows."""
    shown = {one.server: one.storage_hash for one in agreement.servers}
    by_release: dict[str, set[str | None]] = {}
    for address, release in releases.items():
        by_release.setdefault(release, set()).add(shown.get(address))
    every = {next(iter(found)) for found in by_release.values() if len(found) == 1}
    if "" in every or any(len(found) > 1 for found in by_release.values()):
        return False
    # One of them may still not serve it by itself, which is a difference as well.
    return len(every) > 1 and (None in every or not alike)


def _written_alike(name: str, old: ReleaseCatalogue | None, new: ReleaseCatalogue | None) -> bool:
    """Whether both releases are known to write it in the same version."""
    # Where only the emulation is taken off, it may be told of one release twice.
    if old is None or new is None or str(old) == str(new):
        return False
    before, after = old.resources.get(name), new.resources.get(name)
    return before is not None and after is not None and before.encoding == after.encoding
