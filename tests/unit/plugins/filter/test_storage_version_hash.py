# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The two filters, and that their documentation belongs to them."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from ansible.errors import AnsibleFilterError

from ansible_collections.lockstep.kubernetes.plugins.filter import storage_version_hash

FILTERS = storage_version_hash.FilterModule().filters()
to_hash = FILTERS["storage_version_hash"]
from_hash = FILTERS["storage_version_from_hash"]


@pytest.mark.parametrize(
    ("value", "storage_hash"),
    [
        ("apps/v1/Deployment", "8aSe+NMegvE="),
        ("/v1/Pod", "xPOwRZ+Yhw8="),
        ("v1/Pod", "xPOwRZ+Yhw8="),
    ],
)
def test_a_name_becomes_its_hash(value, storage_hash):
    assert to_hash(value) == storage_hash


@pytest.mark.parametrize("value", ["Pod", "", None, 3, ["v1/Pod"]])
def test_a_value_that_names_nothing_is_in_the_error(value):
    with pytest.raises(AnsibleFilterError) as caught:
        to_hash(value)
    assert repr(value) in str(caught.value)


def test_a_hash_becomes_the_candidate_that_has_it():
    assert from_hash("8aSe+NMegvE=", ["v1/Pod", "apps/v1/Deployment"]) == "apps/v1/Deployment"


@pytest.mark.parametrize("candidates", [[], ["v1/Pod"]])
def test_a_hash_of_no_candidate_is_unknown(candidates):
    assert from_hash("8aSe+NMegvE=", candidates=candidates) == "Unknown"


@pytest.mark.parametrize("value", ["", "apps/v1", None, "AAAA"])
def test_what_is_no_hash_is_in_the_error(value):
    with pytest.raises(AnsibleFilterError) as caught:
        from_hash(value, ["v1/Pod"])
    assert repr(value) in str(caught.value)


@pytest.mark.parametrize("candidates", ["v1/Pod", None, ["Pod"]])
def test_bad_candidates_are_in_the_error(candidates):
    with pytest.raises(AnsibleFilterError, match=r"Pod|None"):
        from_hash("8aSe+NMegvE=", candidates)


@pytest.mark.parametrize("name", sorted(FILTERS))
def test_every_filter_is_documented_under_its_own_name(name):
    page = Path(storage_version_hash.__file__).with_name(f"{name}.yml")
    documented = yaml.safe_load(page.read_text(encoding="utf-8"))
    assert documented["DOCUMENTATION"]["name"] == name
    assert {"EXAMPLES", "RETURN"} <= documented.keys()
