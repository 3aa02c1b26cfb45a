# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Passwords in URLs are found wherever they stand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.urls import (
    passwords_in,
    without_user,
)


@pytest.mark.parametrize(
    ("url", "passwords"),
    [
        ("https://alice:canary@10.0.0.1:6443/prefix", {"canary"}),
        ("http://alice:c%40nary@[2001:db8::1]:3128", {"c%40nary", "c@nary"}),
        ("https://alice:c@n@host", {"c@n"}),
        ("can't reach https://alice:canary@host:port twice", {"canary"}),
        ("https://alice@host", set()),
        ("https://host/a:b@c", set()),
        ("registry.k8s.io/kube-apiserver:v1.36.3@sha256:abc", set()),
        ("", set()),
    ],
)
def test_a_password_is_found_as_it_stands_and_as_it_is_meant(url, passwords):
    assert set(passwords_in(url)) == passwords


def test_every_part_of_a_document_is_looked_at():
    document = {"clusters": [{"cluster": {"proxy-url": "http://a:canary@proxy"}}], "n": 5}
    assert set(passwords_in(document)) == {"canary"}


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("https://alice:canary@10.0.0.1:6443/x", "https://10.0.0.1:6443/x"),
        ("https://a:c@n@host", "https://host"),
        ("https://host:6443", "https://host:6443"),
        ("https://host/x@y", "https://host/x@y"),
    ],
)
def test_a_url_is_shown_without_its_user(url, shown):
    assert without_user(url) == shown


@given(st.text(st.characters(exclude_characters="/", exclude_categories=["Z", "C"]), min_size=1))
def test_no_password_is_left(password):
    url = f"https://alice:{password}@host.example:6443/prefix"
    assert without_user(url) == "https://host.example:6443/prefix"
    assert password in set(passwords_in(url))
