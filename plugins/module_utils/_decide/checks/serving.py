# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""Do the target, and the release to go back to, serve what is stored, under these flags?"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta

from ..catalogue import ReleaseCatalogue, ReleaseResource, parse_release
from ..gate import Finding
from ..migrations import IN_TREE, NEVER_MIGRATED, finished_work
from ..observations import Release, ServerSight
from ..plans import own_emulation
from ..reasons import enumerate_names, plural
from ..serving import read_shown, served_as_shown, served_under
from .facts import NAMED, Facts

_MIGRATIONS = f"storageversionmigrations.{IN_TREE}"
# Each server writes its own anew when it starts.
_WRITTEN_ANEW = ("storageversions.internal.apiserver.k8s.io",)


def check_target_serves(facts: Facts) -> Iterable[Finding]:
    """Whether the target will serve every resource of which objects are stored."""
    step = facts.step
    if step.target:
        yield from _unserved(facts, step.target, step.to_release, "target-unserved")


def check_rollback_serves(facts: Facts) -> Iterable[Finding]:
    """Whether the release to roll back to would, of what is stored now and of what comes."""
    step = facts.step
    if step.rollback is None:
        return
    yield from _unserved(facts, step.rollback, step.rollback_release, "rollback-unserved")
    if step.target is None or step.down:
        return
    for name, new in sorted(step.target.resources.items()):
        old = step.rollback.resources.get(name)
        if name in facts.look.agreements or old is None or name in _WRITTEN_ANEW:
            continue
        if (
            new.by_default
            and serves(facts, old, step.rollback, step.rollback_release) is False
            and serves(facts, new, step.target, step.to_release)
        ):
            yield Finding(
                "rollback-unserved",
                "warn",
                f"{step.target} serves {name}, which {step.rollback} does not: objects that are"
                " made of it after the step are not served after a rollback",
                f"Before a rollback, save and delete them; or turn it on there with {_flags(old)}",
                "operator",
                resource=name,
            )


def serves(
    facts: Facts, one: ReleaseResource, release: ReleaseCatalogue, version: str
) -> bool | None:
    """Whether servers of a release will serve a resource; None where that can't be proved."""
    running = [
        server
        for server in facts.look.sight.servers
        if not server.fault and _runs(server.release, version, release.emulated)
    ]
    if running:
        return all(one.resource in server.resources for server in running)
    if facts.flags is not None:
        return served_under(one, facts.flags)
    return served_as_shown(one, read_shown(_current(facts), facts.step.current))


def _current(facts: Facts) -> list[ServerSight]:
    """The servers that run the release that is left."""
    current = facts.step.current
    return [
        server
        for server in facts.look.sight.servers
        if current
        and server.release
        and parse_release(server.release.git_version)[:2] == current.minor
        and own_emulation(server.release) == current.emulated
    ]


def _runs(release: Release | None, version: str, emulated: str) -> bool:
    return release is not None and (release.git_version, own_emulation(release)) == (
        version,
        emulated,
    )


def _unserved(
    facts: Facts, release: ReleaseCatalogue, version: str, check: str
) -> Iterable[Finding]:
    untold = []
    for name, agreement in facts.judged:
        known = release.resources.get(name)
        count = _count(facts, name)
        # One that the release does not have at all is another check's.
        if agreement.origin == "custom" or known is None or name in NEVER_MIGRATED or count == 0:
            continue
        answer = serves(facts, known, release, version)
        if answer:
            continue
        if answer is None and known.by_default is None:
            untold.append(name)
        else:
            yield _stranded(facts, known, release, check, count, known_unserved=answer is False)
    if untold:
        yield Finding(
            check,
            "acknowledgeable",
            f"which APIs {release} serves by default is not in the catalogue: of"
            f" {plural(len(untold), 'resource')} with objects, such as"
            f" {enumerate_names(untold, at_most=NAMED)}, it may serve none",
            f"Read it off its kube-apiserver (make catalogue RELEASES={version.lstrip('v')}), and"
            f" give the file as {facts.terms.option('target_catalogue')}",
            "operator",
            unknown=True,
        )


def _stranded(
    facts: Facts,
    one: ReleaseResource,
    release: ReleaseCatalogue,
    check: str,
    count: int | None,
    *,
    known_unserved: bool,
) -> Finding:
    name = one.resource
    left = (
        "objects of it may be stored"
        if count is None
        else f"{plural(count, 'object')} {'is' if count == 1 else 'are'} stored"
    )
    own = name == _MIGRATIONS and count == len(_own_finished(facts))
    if own:
        left += ", all of them migrations of Lockstep's that have done their work"
    if known_unserved:
        seen = f"{release} does not serve {name} with these flags, and {left}"
        remedy = f"Turn it on there with {_flags(one)}; or save the objects, and delete them"
    else:
        seen = f"{release} serves {name} only with {_flags(one)}, and {left}"
        remedy = (
            "Give the flags that its servers will have as"
            f" {facts.terms.option('runtime_config')} and {facts.terms.option('feature_gates')}; or"
            " save the objects, and delete them"
        )
    if own:
        remedy = "Record what is stored, which deletes them once they are five minutes old"
    # Once servers are upgraded, those that are left add nothing to what a rollback strands.
    late = check == "rollback-unserved" and facts.step.rolling
    return Finding(
        check,
        "warn" if late or name in _WRITTEN_ANEW else "acknowledgeable",
        seen,
        remedy,
        "migration" if own else "operator",
        resource=name,
        destructive_command="" if own else facts.terms.save_and_delete(name),
        unknown=not known_unserved or count is None,
    )


def _own_finished(facts: Facts) -> list[str]:
    found = finished_work(
        facts.migrations,
        recorded={name for name, state in facts.states.items() if state.migrated},
        now=facts.look.sight.now,
        kept=timedelta(0),
    )
    return [one.name for one in found if one.api == IN_TREE]


def _flags(one: ReleaseResource) -> str:
    """What turns an API on."""
    ready = [version for version in one.served if version in one.by_runtime_config]
    version = (ready or [*one.served, "VERSION"])[0]
    return f"--runtime-config={version}=true" + ("" if ready else " and its feature gate")


def _count(facts: Facts, name: str) -> int | None:
    """How many objects are stored, by whoever counted most; None where nobody did."""
    audited = facts.audit.keys.get(name) if facts.audit and facts.audit.keys else None
    counts = [one for one in (facts.objects(name), audited) if one is not None]
    return max(counts, default=None)
