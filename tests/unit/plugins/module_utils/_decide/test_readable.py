# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a server that was upgraded really writes, held against what the others read (R10)."""

from __future__ import annotations

from typing import Any

from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.agreement import (
    decide_agreement,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.catalogue import (
    Catalogue,
    parse_catalogues,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.membership import (
    decide_membership,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.readable import (
    judge_writes,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.settling import Look
from ansible_collections.lockstep.kubernetes.tests.unit.sights import (
    cluster,
    lease,
    reported,
    served,
    server,
)

OLD, NEW = "v1.36.3", "v1.37.0"
THING = "deployments.apps"
KNOWN = parse_catalogues(
    f"release {OLD}\nemulated\nhow by hand\nwhen now\n"
    f"{THING}|Deployment|namespaced|AAAAAAAAAAA=|v1beta1|v1beta1|v1beta1 v1beta2\n"
)


def judge(
    written: str, *, known: Catalogue = KNOWN, release: str = OLD, **more: Any
) -> tuple[int, int]:
    """How many can't be read, and of how many nobody knows."""
    servers = [
        server("https://cp-1", served(THING, written), release=NEW, emulated="1.37"),
        server(
            "https://cp-2",
            served(THING, "apps/v1beta1"),
            release=release,
            emulated="1.36",
        ),
    ]
    sight = cluster(servers, [lease("cp-1"), lease("cp-2")], **more)
    membership = decide_membership(sight)
    look = Look(sight, membership, decide_agreement(sight=sight, membership=membership))
    unreadable, unproven = judge_writes(look, "https://cp-1", known, formula_holds=True)
    return len(unreadable), len(unproven)


def test_what_both_write_alike_is_read() -> None:
    assert judge("apps/v1beta1") == (0, 0)


def test_a_version_that_the_other_release_reads_is_fine() -> None:
    assert judge("apps/v1beta2") == (0, 0)


def test_one_that_it_does_not_read_is_named() -> None:
    assert judge("apps/v1") == (1, 0)


def test_of_a_release_that_is_not_in_the_catalogue_nobody_knows() -> None:
    assert judge("apps/v1", release="v1.36.3+vendor.1") == (0, 1)


def test_what_the_other_server_reports_to_read_is_enough() -> None:
    reads = dict.fromkeys(("cp-1", "cp-2"), ("apps/v1", "apps/v1beta1"))
    told = dict.fromkeys(reads, "apps/v1")
    versions = {THING: reported(THING, told, decodable=reads)}
    found = judge("apps/v1", release="v1.36.3+vendor.1", storage_versions=versions)
    assert found == (0, 0)


def test_a_hash_that_stands_for_nothing_known_is_not_proved() -> None:
    assert judge("apps/v9", known=Catalogue(())) == (0, 1)
