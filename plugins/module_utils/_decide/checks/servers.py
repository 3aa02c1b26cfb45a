# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""Are the servers in a state to be changed, and is the step one they are made for?"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from ..catalogue import parse_release
from ..gate import Finding
from ..reasons import enumerate_names, plural
from .facts import NAMED, Facts

ROLL_ON = "Roll the servers that are left"


def check_releases(facts: Facts) -> Iterable[Finding]:
    """Whether it is known what the target, and the way back, can read."""
    step = facts.step
    for release, found, what in (
        (step.to_release, step.target, "the target"),
        (step.rollback_release, step.rollback, "the release to go back to"),
    ):
        if found is None:
            yield Finding(
                "release-unknown",
                "acknowledgeable",
                f"What {what}, {release}, can read is not in the catalogue",
                f"Read it off its kube-apiserver (make catalogue RELEASES={release.lstrip('v')}),"
                f" and give the file as {facts.terms.option('target_catalogue')}",
                "operator",
                unknown=True,
            )


def check_agreement(facts: Facts) -> Iterable[Finding]:
    """Whether all servers write alike before anything is changed."""
    for reason in facts.look.membership.reasons:
        yield Finding(
            "agreement",
            "acknowledgeable",
            facts.terms.translate(reason.text),
            facts.terms.translate(reason.remedy),
            "operator",
            unknown=True,
        )
    for name, agreement in facts.judged:
        if agreement.agreed or _storage_unserved(facts, name):
            continue
        first = next(iter(agreement.reasons), None)
        differ = agreement.status == "disagreeing"
        if differ and _between(facts):
            yield Finding(
                "agreement",
                "warn",
                first.text if first else f"the servers differ on {name}",
                ROLL_ON,
                "operator",
                resource=name,
            )
            continue
        yield Finding(
            "agreement",
            "block" if differ else "acknowledgeable",
            first.text if first else f"the servers are not known to agree on {name}",
            facts.terms.translate(first.remedy if first else "")
            or "Wait until every server agrees",
            "operator",
            resource=name,
            unknown=not differ,
        )


def check_aggregated(facts: Facts) -> Iterable[Finding]:
    """Whether it is known what aggregated APIs write, which kube-apiservers only proxy (R7)."""
    for name, agreement in facts.look.agreements.items():
        if agreement.origin == "aggregated" and not agreement.agreed:
            yield _unknowable("aggregated-unknown", name, facts)


def check_crds_served(facts: Facts) -> Iterable[Finding]:
    """Whether CRDs serve the version that they store, which is the one that shows a hash."""
    for name, _agreement in facts.judged:
        if _storage_unserved(facts, name):
            yield _unknowable("crd-storage-unserved", name, facts)


def _storage_unserved(facts: Facts, name: str) -> bool:
    crd = facts.look.sight.crds.get(name)
    unserved = crd is not None and not crd.storage_version_served
    return unserved and facts.look.agreements[name].unknowable


def _unknowable(check: str, name: str, facts: Facts) -> Finding:
    first = next(iter(facts.look.agreements[name].reasons), None)
    remedy = facts.terms.translate(first.remedy if first else "") or "Bring it to one endpoint"
    return Finding(
        check,
        "acknowledgeable",
        first.text if first else f"what is written of {name} is not known",
        f"{remedy}; or name it in {facts.terms.option('left_out')} to go on without it",
        "operator",
        resource=name,
        unknown=True,
    )


def _between(facts: Facts) -> bool:
    """Whether the servers are on their way between the two releases, and run nothing else."""
    ends = {facts.step.from_release, facts.step.to_release}
    running = {one.release.git_version for one in facts.look.sight.servers if one.release}
    return facts.step.rolling and running <= ends


def check_skew(facts: Facts) -> Iterable[Finding]:
    """Whether the step is one that servers and their data are made for."""
    step = facts.step
    releases = sorted({str(one.release) for one in facts.look.sight.servers if one.release})
    if len(releases) > 1:
        between = _between(facts)
        yield Finding(
            "skew",
            "warn" if between else "block",
            f"the servers run {enumerate_names(releases)}",
            ROLL_ON if between else "Bring all servers to one release first",
            "operator",
        )
    old, new = parse_release(step.from_release), parse_release(step.to_release)
    if abs(new[1] - old[1]) > 1 or new[0] != old[0]:
        way = "back" if step.down else "up"
        yield Finding(
            "skew",
            "block",
            f"from {step.from_release} to {step.to_release} is more than one minor release {way}",
            "Go one minor release at a time, with a migration after each",
            "operator",
        )


def check_unseen(facts: Facts) -> Iterable[Finding]:
    """Whether servers were changed while nobody looked."""
    for name, _agreement in facts.judged:
        state = facts.states.get(name)
        if state is not None and state.evidence.doubts:
            yield Finding(
                "unseen-change",
                "warn",
                f"since {name} was recorded {enumerate_names(state.evidence.doubts[:NAMED])}",
                facts.terms.read_etcd,
                "audit",
                resource=name,
                cause=enumerate_names(state.evidence.doubts[:NAMED]),
            )


def join_unseen(_facts: Facts, found: Sequence[Finding]) -> Finding:
    """What was changed unseen, once for all resources."""
    names = [one.resource for one in found]
    causes = list(dict.fromkeys(one.cause for one in found))
    return replace(
        found[0],
        seen=f"since {plural(len(names), 'resource')} were recorded"
        f" {enumerate_names(causes, at_most=NAMED)}: {enumerate_names(names, at_most=NAMED)}",
        resource="",
        resources=tuple(names),
    )


def check_foreign_trigger(facts: Facts) -> Iterable[Finding]:
    """Whether a trigger is at work that goes by what one server says."""
    trigger = facts.foreign_trigger
    if trigger:
        yield Finding(
            "foreign-trigger",
            "block",
            trigger.text,
            trigger.remedy,
            "operator",
            command=trigger.command,
        )


def check_encryption_configs(facts: Facts) -> Iterable[Finding]:
    """Whether all servers encrypt by the same configuration, as far as they tell."""
    configs = facts.encryption_configs or {}
    silent = sorted(address for address, config in configs.items() if not config)
    if len({config for config in configs.values() if config}) > 1:
        yield Finding(
            "encryption-config",
            "block",
            f"{enumerate_names(sorted(configs))} encrypt by different configurations",
            "Give all servers the same configuration, and wait until each has read it",
            "operator",
        )
    if silent and len(configs) > 1:
        yield Finding(
            "encryption-config",
            "warn",
            f"{enumerate_names(silent)} does not tell by which configuration it encrypts",
            "Compare the files that --encryption-provider-config names on every server",
            "operator",
            unknown=True,
        )
