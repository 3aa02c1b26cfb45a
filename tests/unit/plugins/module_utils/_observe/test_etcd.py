# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Where etcd is, and what to do where it can't be read."""

from __future__ import annotations

import pytest

from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.errors import (
    LockstepError,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.etcd import (
    EtcdAccess,
    normalise_endpoints,
    unreachable,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.etcd_answers import (
    EtcdFault,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.store import (
    Override,
    StoreOptions,
    parse_overrides,
)


def test_overrides_name_resources_and_where_they_are_kept():
    overrides = "/events#https://a:1;https://b:1,apps/deployments#https://c:1"
    assert parse_overrides(overrides) == (
        Override("deployments.apps", ("https://c:1",)),
        Override("events", ("https://a:1", "https://b:1")),
    )
    assert parse_overrides("events.k8s.io/events#https://a:1") == (
        Override("events", ("https://a:1",)),
    )
    assert parse_overrides("") == ()


@pytest.mark.parametrize("wrong", ["events#https://a:1", "/events", "/#https://a:1", "/events#"])
def test_an_override_that_is_none_is_named(wrong):
    with pytest.raises(LockstepError, match="option etcd_servers_overrides holds"):
        parse_overrides(wrong)


def test_what_another_etcd_holds_is_told_by_its_address():
    overrides = parse_overrides("/events#https://b:1,/pods#https://a:1")
    options = StoreOptions(EtcdAccess(("https://a:1",)), overrides=overrides)
    assert options.not_held == ("events",)


def test_endpoints_are_taken_as_people_write_them():
    written = ["10.0.0.1", "10.0.0.2:2379", "https://[::1]:2379/", "http://localhost:2379"]
    assert normalise_endpoints(written) == (
        "https://10.0.0.1",
        "https://10.0.0.2:2379",
        "https://[::1]:2379",
        "http://localhost:2379",
    )


@pytest.mark.parametrize(
    "wrong", ["", "https://", "host:port", "ftp://a", "a b", "https://a:99999"]
)
def test_an_endpoint_that_is_none_is_named(wrong):
    with pytest.raises(LockstepError, match="option endpoints"):
        normalise_endpoints([wrong])


@pytest.mark.parametrize(
    ("fault", "remedy"),
    [
        (EtcdFault(7, "etcdserver: permission denied"), "role grant"),
        (EtcdFault(3, "etcdserver: user name is empty"), "install the Python package grpcio"),
        (EtcdFault(11, "etcdserver: mvcc: required revision is a future revision"), "lags behind"),
        (EtcdFault(14, "etcdserver: no leader"), "majority"),
        (EtcdFault(14, "etcdserver: request timed out"), "majority"),
        (EtcdFault(4, "Deadline Exceeded"), "Raise timeout"),
        (EtcdFault(13, "something else"), "See etcd's log"),
    ],
)
def test_what_etcd_refuses_has_a_remedy(fault, remedy):
    error = unreachable({"https://a:2379": fault})
    assert remedy in error.remedy
    assert fault.why in str(error)


def test_every_endpoint_that_failed_is_named():
    error = unreachable(
        {
            "https://a:2379": EtcdFault(14, "refused", "Start it"),
            "https://b:2379": EtcdFault(14, "refused", "Start it"),
        }
    )
    assert "https://a:2379: refused. https://b:2379: refused." in error.why
    assert error.remedy == "Start it."
