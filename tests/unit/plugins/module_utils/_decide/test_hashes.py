# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Hashes: made, explained, and held against live ones."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide import hashes
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.errors import (
    InvalidNameError,
)

POD, DEPLOYMENT = "xPOwRZ+Yhw8=", "8aSe+NMegvE="


def test_the_hash_of_known_kinds():
    assert hashes.storage_version_hash("", "v1", "Pod") == POD
    assert hashes.storage_version_hash("apps", "v1", "Deployment") == DEPLOYMENT
    assert hashes.hash_of(group_version="v1", kind="Pod") == POD
    assert hashes.hash_of(group_version="apps/v1", kind="Deployment") == DEPLOYMENT


def test_a_hash_is_explained_by_the_candidate_that_has_it():
    candidates = ["apps/v1beta1", "apps/v1", "v1"]
    assert hashes.explain(DEPLOYMENT, "Deployment", candidates) == "apps/v1"


def test_a_core_hash_is_explained_without_a_slash():
    assert hashes.explain(POD, "Pod", ["/v1"]) == "v1"


@pytest.mark.parametrize("storage_hash", ["", "AAAAAAAAAAA=", POD])
def test_a_hash_of_no_candidate_is_not_explained(storage_hash):
    assert hashes.explain(storage_hash, "Deployment", ["apps/v1", "apps/v1beta1"]) == ""


def test_a_version_that_is_no_longer_served_is_still_explained():
    storage_hash = hashes.hash_of(group_version="apps/v1beta2", kind="Deployment")
    explained = hashes.explain_for(
        resource="deployments.apps", kind="Deployment", storage_hash=storage_hash, known=["apps/v1"]
    )
    assert explained == "apps/v1beta2"


def test_a_resource_stored_in_a_foreign_group_is_explained_by_what_is_known():
    explained = hashes.explain_for(
        resource="events.events.k8s.io",
        kind="Event",
        storage_hash=hashes.hash_of(group_version="v1", kind="Event"),
        known=["events.k8s.io/v1", "v1"],
    )
    assert explained == "v1"


def test_candidates_start_with_what_is_known_of_the_own_group_and_repeat_nothing():
    found = list(
        hashes.candidate_versions("deployments.apps", ["v1", "apps/v1", "apps/v9", "apps/v1"])
    )
    assert found[:2] == ["apps/v1", "apps/v9"]
    assert found[-1] == "v1"
    assert len(found) == len(set(found))
    assert {"apps/v1beta2", "apps/v2alpha5", "apps/v3"} <= set(found)


@given(
    version=st.sampled_from(hashes.PLAUSIBLE_VERSIONS), group=st.sampled_from(["", "apps", "a.b.c"])
)
def test_every_plausible_version_is_explained(version, group):
    storage_hash = hashes.storage_version_hash(group, version, "Thing")
    resource = f"things.{group}".rstrip(".")
    explained = hashes.explain_for(resource=resource, kind="Thing", storage_hash=storage_hash)
    assert explained == (f"{group}/{version}" if group else version)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("apps/v1/Deployment", ("apps", "v1", "Deployment")),
        ("/v1/Pod", ("", "v1", "Pod")),
        ("v1/Pod", ("", "v1", "Pod")),
    ],
)
def test_a_group_version_kind_is_taken_apart(text, parts):
    assert hashes.parse_group_version_kind(text) == parts


@pytest.mark.parametrize("text", ["", "Pod", "/Pod", "v1/", "v1/pod", "a/b/v1/Pod", "v1/Pod "])
def test_what_is_no_group_version_kind_is_named_in_the_error(text):
    with pytest.raises(InvalidNameError) as caught:
        hashes.parse_group_version_kind(text)
    assert repr(text) in str(caught.value)


@pytest.mark.parametrize(
    ("text", "well_formed"),
    [(POD, True), ("", False), ("AAAA", False), ("not base64!", False), ("é", False)],
)
def test_the_form_of_a_hash(text, well_formed):
    assert hashes.is_storage_version_hash(text) is well_formed


def live(encoding: str, storage_hash: str = DEPLOYMENT) -> hashes.LiveHash:
    return hashes.LiveHash("deployments.apps", "Deployment", storage_hash, encoding)


def test_r9_the_formula_holds_once_it_reproduced_every_live_hash():
    pod = hashes.LiveHash("pods", "Pod", POD, "v1")
    verdict = hashes.formula_holds([live("apps/v1"), pod, live("", "")])
    assert verdict == hashes.FormulaVerdict(holds=True, reproduced=2)


def test_r9_one_hash_that_is_not_reproduced_and_the_formula_does_not_hold():
    odd = live("", "AAAAAAAAAAA=")
    verdict = hashes.formula_holds([live("apps/v1"), odd])
    assert not verdict.holds
    assert verdict.unexplained == (odd,)


def test_r9_an_explanation_that_does_not_give_the_hash_is_none():
    assert not hashes.formula_holds([live("apps/v1beta1")]).holds


def test_r9_without_live_hashes_the_formula_proves_nothing():
    assert not hashes.formula_holds([]).holds
