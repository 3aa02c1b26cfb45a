# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""Do custom resource definitions hold what is stored of them?"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta

from ..gate import Finding
from ..reasons import enumerate_names
from ..times import format_time
from .facts import Facts

# An upgrade and the migration after it must be over before a CA is.
_CA_MARGIN = timedelta(days=7)


def check_definitions(facts: Facts) -> Iterable[Finding]:
    """Whether definitions list versions as stored that they will not have."""
    for name, crd in sorted(facts.crds.items()):
        old = [one for one in crd.stored if one != crd.storage]
        if old:
            yield Finding(
                "crd-stored-versions",
                "warn" if name not in facts.incoming else "acknowledgeable",
                f"{name} may be stored as {enumerate_names(old)} besides {crd.storage}",
                "Migrate it",
                "migration",
                resource=name,
                command=facts.terms.migrate([name]),
            )
        incoming = facts.incoming.get(name)
        if incoming is None:
            continue
        dropped = [one for one in crd.stored if one not in incoming.versions]
        if dropped:
            cured = crd.storage in incoming.versions
            yield Finding(
                "crd-manifest-drops-version",
                "block",
                f"the manifest of {name} drops {enumerate_names(dropped)}, in which objects may be"
                " stored",
                "Migrate it"
                if cured
                else f"Install first a definition that stores {incoming.storage} and still has"
                f" {crd.storage}, and migrate it then",
                "migration" if cured else "operator",
                resource=name,
                command=facts.terms.migrate([name]) if cured else "",
            )


def check_conversions(facts: Facts) -> Iterable[Finding]:
    """Whether the webhooks that convert between versions of custom resources do their work."""
    now = facts.look.sight.now
    for name, crd in sorted(facts.crds.items()):
        if not crd.webhook:
            continue
        failing = facts.samples[name].unconverted if name in facts.samples else ()
        for version, why in failing:
            yield Finding(
                "conversion-webhook",
                "block",
                f"{name} can't be read as {version}: {why}",
                "Mend the webhook that its definition names under spec.conversion, or its CA",
                "operator",
                resource=name,
            )
        if crd.ca_fault:
            yield Finding(
                "conversion-webhook-ca",
                "acknowledgeable",
                f"the CA for the conversion webhook of {name} can't be read: {crd.ca_fault}",
                "Put the right CA in spec.conversion.webhook.clientConfig.caBundle",
                "operator",
                resource=name,
            )
        elif crd.ca_expires and crd.ca_expires < now + _CA_MARGIN:
            over = crd.ca_expires <= now
            yield Finding(
                "conversion-webhook-ca",
                "block" if over else "warn",
                f"the CA for the conversion webhook of {name} {'expired' if over else 'expires'}"
                f" at {format_time(crd.ca_expires)}",
                "Renew it, and the certificate of the webhook",
                "operator",
                resource=name,
            )
