# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What an audit and the look before it say of one resource."""

from __future__ import annotations

import pytest

from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.audited import (
    AuditEvidence,
    Shown,
    read_audit,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.errors import (
    LockstepError,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.hashes import hash_of

SEEN = {"status": "agreed", "hash": "x", "kind": "Pod", "origin": "built-in", "source": "discovery"}


UID = "9f0c5f6e-kube-system"
SLICES, LEASES = "endpointslices.discovery.k8s.io", "leases.coordination.k8s.io"


def audit_of(counts, *, audited=("*",), elsewhere=(), **more):
    return {
        "resources": counts,
        "revision": 7,
        "audited": list(audited),
        "elsewhere": list(elsewhere),
        "cluster": {"uid": UID, "key_revision": 4},
        "believable": True,
        **more,
    }


def look_of(seen=None, *, revisions=None, revision="4", uid=UID):
    cluster = {"uid": uid, "kube_system_revision": revision, "revisions": revisions or {SLICES: 7}}
    return {"resources": seen or {"pods": SEEN}, "epoch": {}, "time": "", "cluster": cluster}


def evidence(counts, *, seen=None, look=None, **more):
    return AuditEvidence(audit_of(counts, **more), look or look_of(seen))


def counted(versions, *, undecodable=0, shared=()):
    return {"versions": versions, "undecodable_keys": undecodable, "shared_with": list(shared)}


def test_versions_that_were_found_become_hashes():
    found = evidence({"pods": counted({"v1": 3})}).hashes(resource="pods", kind="Pod")
    assert found == (hash_of(group_version="v1", kind="Pod"),)


def test_no_keys_at_all_are_no_hashes():
    assert evidence({}).hashes(resource="pods", kind="Pod") == ()


def test_r4_what_is_encrypted_is_not_known():
    assert evidence({"pods": counted({"Unknown": 3})}).hashes(resource="pods", kind="Pod") is None


def test_r4_a_key_that_nobody_can_decode_is_unknown():
    found = evidence({"pods": counted({"v1": 3}, undecodable=1)})
    assert "Unknown" in found.hashes(resource="pods", kind="Pod")


def test_a_resource_that_is_the_same_objects_as_another_has_its_counts():
    events = counted({"v1": 2}, shared=["events.events.k8s.io"])
    found = evidence({"events": events}).hashes(resource="events.events.k8s.io", kind="Event")
    assert found == (hash_of(group_version="v1", kind="Event"),)


@pytest.mark.parametrize(
    ("given", "resource"),
    [
        pytest.param({"audited": ["*.example.com"]}, "pods", id="not audited"),
        pytest.param({"elsewhere": ["pods"]}, "pods", id="kept in another etcd"),
        pytest.param(
            {"elsewhere": ["events"], "seen": {"events.events.k8s.io": SEEN}},
            "events.events.k8s.io",
            id="kept in another etcd under its other name",
        ),
        pytest.param({}, "deployments.apps", id="not looked at before"),
        pytest.param(
            {"seen": {"novelties.new.k8s.io": SEEN}}, "novelties.new.k8s.io", id="unknown place"
        ),
    ],
)
def test_r8_an_audit_says_nothing_of_what_it_does_not_cover(given, resource):
    assert not evidence({}, **given).covers(resource)


def test_a_custom_resource_without_keys_is_covered():
    seen = {"widgets.example.com": {**SEEN, "origin": "custom"}}
    assert evidence({}, seen=seen).covers("widgets.example.com")


def outdated(counts, *, resource="pods", written="v1", **given):
    seen = {resource: {**SEEN, "encoding_version": written}}
    return evidence(counts, seen=seen, **given).outdated(resource)


def named(*found, complete=True, version="v1", shared=()):
    return {
        **counted({"v1": 3}, shared=shared),
        "encoding_version": version,
        "outdated": list(found),
        "outdated_keys": len(found),
        "outdated_complete": complete,
    }


def test_what_is_outdated_is_known_by_name():
    assert outdated({"pods": named("default/a", "default/b")}) == ("default/a", "default/b")
    assert outdated({"pods": named()}) == ()


def test_a_resource_without_keys_has_nothing_outdated():
    assert outdated({}) == ()


def test_the_same_objects_are_outdated_under_their_other_name():
    counts = {"events": named("default/a", shared=["events.events.k8s.io"])}
    assert outdated(counts, resource="events.events.k8s.io") == ("default/a",)


@pytest.mark.parametrize(
    ("counts", "given"),
    [
        pytest.param({"pods": named("default/a", complete=False)}, {}, id="not all named"),
        pytest.param({"pods": counted({"v1": 3})}, {}, id="none asked for"),
        pytest.param({"pods": named(version="v2")}, {}, id="held against another version"),
        pytest.param({"pods": named()}, {"written": ""}, id="servers that differ"),
        pytest.param({}, {"audited": ["secrets"]}, id="not audited"),
        pytest.param({}, {"elsewhere": ["pods"]}, id="kept in another etcd"),
    ],
)
def test_r4_what_is_outdated_is_not_known_unless_all_of_it_is(counts, given):
    assert outdated(counts, **given) is None


@pytest.mark.parametrize(("audit", "before"), [({}, {}), ({"resources": {}}, {}), ("text", None)])
def test_anything_but_results_is_refused(audit, before):
    with pytest.raises(LockstepError, match="The option audit"):
        read_audit(audit, before)


def test_without_an_audit_there_is_no_evidence():
    assert read_audit(None, None) is None


class TestIdentity:
    """R12: an audit counts for the cluster that it is of, and for no other."""

    def test_an_audit_of_the_same_cluster_counts(self):
        assert evidence({}).against() == ()

    def test_an_audit_of_another_cluster_is_refused_with_both_uids(self):
        with pytest.raises(LockstepError) as error:
            read_audit(audit_of({}), look_of(uid="another"))
        assert UID in str(error.value)
        assert "another" in str(error.value)

    def test_where_kube_system_is_encrypted_its_revision_tells_the_cluster(self):
        hidden = {"cluster": {"uid": "", "key_revision": 4}}
        assert evidence({}, **hidden).against() == ()
        (reason,) = evidence({}, look=look_of(revision="5"), **hidden).against()
        assert "of another cluster" in reason.text

    def test_r13_an_etcd_without_kube_system_is_not_known_to_be_of_this_cluster(self):
        (reason,) = evidence({}, cluster={"uid": "", "key_revision": 0}).against()
        assert "found no namespace kube-system" in reason.text

    def test_an_etcd_that_can_not_be_believed_proves_nothing(self):
        found = evidence({}, believable=False, reasons=["member b did not answer"]).against()
        assert [one.text for one in found] == ["member b did not answer"]


class TestOrder:
    """R12: an audit counts only for an observation that ended before it."""

    def test_an_audit_at_the_revision_of_the_observation_counts(self):
        assert evidence({}, look=look_of(revisions={SLICES: 7})).against() == ()

    def test_an_audit_from_before_the_observation_does_not(self):
        (reason,) = evidence({}, look=look_of(revisions={SLICES: 8})).against()
        assert "read at revision 7, before the servers were observed (at 8)" in reason.text

    def test_revisions_of_another_etcd_are_not_compared(self):
        look = look_of(revisions={SLICES: 900, LEASES: 7})
        stores = [{}, {"resources": [SLICES]}]
        assert evidence({}, look=look, stores=stores).against() == ()

    def test_a_resource_in_another_etcd_is_held_against_a_revision_of_that_one(self):
        stores, revisions = [{}, {"resources": [LEASES]}], {LEASES: 50}
        found = evidence(
            {LEASES: {**counted({"v1": 1}), "keys": 1}},
            look=look_of(revisions={SLICES: 7, LEASES: 51}),
            stores=stores,
            revisions=revisions,
        )
        (reason,) = found.against_resource(LEASES, Shown(1))
        assert "read at revision 50, before the servers were observed (at 51)" in reason.text

    def test_a_resource_in_an_etcd_that_nobody_took_a_revision_of_is_unknown(self):
        found = evidence({}, stores=[{}, {"resources": ["pods"]}], revisions={"pods": 50})
        (reason,) = found.against_resource("pods", Shown(0))
        assert "tells no revision of the etcd of pods" in reason.text


THREE_PODS = {"pods": {"versions": {"v1": 3}, "keys": 3, "shared_with": []}}


class TestCompleteness:
    """R13: servers and etcd must count the same at one revision, in both directions."""

    def against(self, shown, counts=None, **more):
        counts = THREE_PODS if counts is None else counts
        return [one.text for one in evidence(counts, **more).against_resource("pods", shown)]

    def test_equal_counts_prove_it(self):
        assert self.against(Shown(3)) == []

    def test_no_keys_prove_it_only_if_servers_show_no_objects(self):
        assert self.against(Shown(0), {}) == []
        (reason,) = self.against(Shown(5), {})
        assert "show 5 objects of pods at revision 7, and etcd holds 0 keys" in reason

    def test_fewer_objects_than_keys_prove_nothing(self):
        (reason,) = self.against(Shown(2))
        assert "etcd holds 3 keys of pods at revision 7, and the servers show 2 objects" in reason

    @pytest.mark.parametrize("shown", [None, Shown(None, "410 Gone")])
    def test_objects_that_could_not_be_counted_prove_nothing(self, shown):
        (reason,) = self.against(shown)
        assert "could not be counted" in reason

    def test_keys_that_were_not_counted_at_one_moment_prove_nothing(self):
        (reason,) = self.against(Shown(3), later_revisions=[9])
        assert "not counted at one moment" in reason

    def test_events_expire_between_any_two_counts(self):
        found = evidence({}).against_resource("events", Shown(7))
        assert found == ()
