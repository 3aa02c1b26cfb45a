# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""Are the servers in a state to be changed, and is the step one they are made for?"""

from __future__ import annotations

from collections.abc import Iterable

from ..catalogue import parse_release
from ..gate import Finding
from ..reasons import enumerate_names
from .facts import AUDIT, NAMED, Facts

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
                " and give the file as target_catalogue",
                "operator",
                unknown=True,
            )


def check_agreement(facts: Facts) -> Iterable[Finding]:
    """Whether all servers write alike before anything is changed."""
    for reason in facts.look.membership.reasons:
        yield Finding(
            "agreement", "acknowledgeable", reason.text, reason.remedy, "operator", unknown=True
        )
    for name, agreement in facts.judged:
        if agreement.agreed:
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
            (first.remedy if first else "") or "Wait until every server agrees",
            "operator",
            resource=name,
            unknown=not differ,
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
        if state is not None and state.evidence.unseen:
            yield Finding(
                "unseen-change",
                "warn",
                f"since {name} was recorded {enumerate_names(state.evidence.unseen[:NAMED])}",
                AUDIT,
                "audit",
                resource=name,
            )


def check_foreign_trigger(facts: Facts) -> Iterable[Finding]:
    """Whether a trigger is at work that goes by what one server says."""
    several = len(facts.look.sight.servers) > 1
    if facts.foreign_trigger and several:
        yield Finding(
            "foreign-trigger",
            "block",
            f"another trigger keeps the StorageStates ({facts.foreign_trigger}): it asks one server"
            " for all, and migrates while the others differ",
            "Stop it for good, and use lockstep.kubernetes.trigger",
            "operator",
            command="kubectl --namespace kube-system delete deployment trigger",
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
