# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""Addresses of hosts, as people, URLs and certificates write them."""

from __future__ import annotations

from ipaddress import IPv6Address, ip_address


def with_brackets(address: str) -> str:
    """An address as it stands in a URL: IPv6 in brackets, anything else as it is."""
    try:
        return f"[{address}]" if isinstance(ip_address(address), IPv6Address) else address
    except ValueError:
        return address


def canonical_host(host: str) -> str:
    """A host in the one form that can be compared: IPv6 addresses can be written in many."""
    bare = host[1:-1] if host.startswith("[") and host.endswith("]") else host
    try:
        return str(ip_address(bare))
    except ValueError:
        return bare.lower()
