# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""R12: every server must be of the cluster that the kubeconfig leads to."""

from __future__ import annotations

from dataclasses import replace

from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.identity import (
    judge_identity,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.membership import (
    decide_membership,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.observations import (
    ClusterIdentity,
)
from ansible_collections.lockstep.kubernetes.tests.unit.sights import UID, lease, three_servers


def sight(identity, *, of="address-b"):
    """Three servers, of which one shows another identity."""
    seen = three_servers("pods", "v1", "v1", "v1")
    servers = [
        replace(one, identity=identity) if one.address == of else one for one in seen.servers
    ]
    return replace(seen, servers=tuple(servers))


def leases(**holders):
    return tuple(lease(host, holder=holder) for host, holder in holders.items())


SAME = {host: f"apiserver-{host}_1" for host in "abc"}


def test_servers_of_one_cluster_are_told_apart_by_nothing():
    seen = sight(ClusterIdentity(UID, leases=leases(**SAME)))
    assert not list(judge_identity(seen))
    assert decide_membership(seen).complete


def test_a_server_of_another_cluster_is_named_with_both_uids():
    seen = sight(ClusterIdentity("another", leases=leases(**SAME)))
    (reason,) = judge_identity(seen)
    assert reason.server == "address-b"
    assert UID in reason.text
    assert "another" in reason.text
    assert not decide_membership(seen).complete


def test_a_copy_with_the_same_uid_is_told_by_the_holders_of_its_leases():
    seen = sight(ClusterIdentity(UID, leases=leases(**{**SAME, "a": "apiserver-a_2"})))
    (reason,) = judge_identity(seen)
    assert "of a copy of this cluster" in reason.text
    assert not decide_membership(seen).complete


def test_a_lease_that_has_expired_may_be_collected_meanwhile():
    old = lease("old", age=7200)
    seen = sight(ClusterIdentity(UID, leases=(*leases(**SAME), old)))
    assert not list(judge_identity(seen))


def test_r13_a_server_that_shows_no_identity_is_not_known_to_be_of_this_cluster():
    for nothing in (None, ClusterIdentity("")):
        (reason,) = judge_identity(sight(nothing))
        assert "does not show which cluster it is of" in reason.text


def test_a_server_that_could_not_be_read_has_a_fault_of_its_own():
    seen = sight(None)
    servers = [
        one if one.identity else replace(one, fault="no answer", start_time="")
        for one in seen.servers
    ]
    assert not list(judge_identity(replace(seen, servers=tuple(servers))))
