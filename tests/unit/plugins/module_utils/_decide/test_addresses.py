# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Addresses of hosts, as they are written in URLs and compared."""

from __future__ import annotations

import pytest

from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.addresses import (
    canonical_host,
    with_brackets,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.etcd import (
    normalise_endpoints,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.servers import (
    normalise_addresses,
)


@pytest.mark.parametrize(
    ("address", "in_url"),
    [
        ("2001:db8::1", "[2001:db8::1]"),
        ("::1", "[::1]"),
        ("192.0.2.1", "192.0.2.1"),
        ("192.0.2.1:6443", "192.0.2.1:6443"),
        ("cp-1.example.com", "cp-1.example.com"),
        ("[2001:db8::1]:6443", "[2001:db8::1]:6443"),
    ],
)
def test_an_ipv6_address_stands_in_brackets_in_a_url(address: str, in_url: str) -> None:
    assert with_brackets(address) == in_url
    assert normalise_addresses([address]) == [f"https://{in_url}"]
    assert normalise_endpoints([address]) == (f"https://{in_url}",)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("2001:DB8:0:0::1", "2001:db8::1"),
        ("[::1]", "0:0:0:0:0:0:0:1"),
        ("CP-1.example.com", "cp-1.example.com"),
    ],
)
def test_one_host_has_one_form_to_be_compared_in(one: str, other: str) -> None:
    assert canonical_host(one) == canonical_host(other)
