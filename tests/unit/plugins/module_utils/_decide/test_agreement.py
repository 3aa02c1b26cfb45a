# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The verdict on one resource, rule by rule."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.agreement import (
    check_formula,
    decide_agreement,
    not_persisted,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.observations import (
    AggregatedSight,
    CrdSight,
)
from ansible_collections.lockstep.kubernetes.tests.unit.sights import (
    cluster,
    lease,
    reported,
    served,
    server,
    three_servers,
)

DEPLOYMENTS, WIDGETS, PODS = "deployments.apps", "widgets.example.com", "pods"


def verdict(sight, resource=DEPLOYMENTS):
    return decide_agreement(sight=sight)[resource]


def said(agreement):
    return " ".join(map(str, agreement.reasons))


# Discovery


def test_servers_that_all_show_one_hash_agree():
    agreement = verdict(three_servers(DEPLOYMENTS, "apps/v1", "apps/v1", "apps/v1"))
    assert agreement.agreed
    assert agreement.storage_hash == "8aSe+NMegvE="
    assert agreement.encoding_version == "apps/v1"
    assert (agreement.source, agreement.origin) == ("discovery", "built-in")
    assert agreement.reasons == ()
    assert str(agreement) == "deployments.apps: agreed on apps/v1."


def test_servers_with_different_hashes_disagree_and_are_named_with_what_they_write():
    agreement = verdict(three_servers(DEPLOYMENTS, "apps/v1", "apps/v1beta2", "apps/v1"))
    assert agreement.status == "disagreeing"
    assert (agreement.storage_hash, agreement.encoding_version) == ("", "")
    (reason,) = agreement.reasons
    assert reason.resource == DEPLOYMENTS
    assert reason.server == "address-b"
    assert "address-b (v1.36.3) writes apps/v1beta2" in reason.text
    assert "address-a (v1.36.3) and address-c (v1.36.3) write apps/v1" in reason.text
    assert {one.server: one.encoding_version for one in agreement.servers} == {
        "address-a": "apps/v1",
        "address-b": "apps/v1beta2",
        "address-c": "apps/v1",
    }
    assert str(agreement).startswith("deployments.apps: disagreeing: ")


def test_a_disagreement_in_an_incomplete_view_says_both():
    leases = [lease(host) for host in "abc"]
    agreement = verdict(three_servers(DEPLOYMENTS, "apps/v1", "apps/v1beta2", leases=leases))
    assert agreement.status == "disagreeing"
    assert "encode deployments.apps differently" in said(agreement)
    assert "1 server was not seen" in said(agreement)


def test_r1_equal_hashes_in_an_incomplete_view_are_incomplete():
    leases = [lease(host) for host in "abc"]
    agreement = verdict(three_servers(DEPLOYMENTS, "apps/v1", "apps/v1", leases=leases))
    assert agreement.status == "incomplete"
    assert "1 server was not seen" in said(agreement)


def test_r1_a_hash_seen_through_a_load_balancer_only_is_incomplete():
    one = [server(f"balancer-{n}", served(DEPLOYMENTS, "apps/v1"), start_time="7") for n in (1, 2)]
    agreement = verdict(cluster(one, [lease("a"), lease("b")]))
    assert agreement.status == "incomplete"


def test_r2_a_frozen_server_leaves_every_resource_incomplete():
    leases = [lease("a"), lease("b"), lease("c", age=600)]
    agreement = verdict(three_servers(DEPLOYMENTS, "apps/v1", "apps/v1", leases=leases))
    assert agreement.status == "incomplete"
    assert agreement.reasons[0].lease == "apiserver-c"


def test_a_resource_that_one_server_does_not_serve_is_disagreeing():
    servers = [server("a1", served(DEPLOYMENTS, "apps/v1")), server("b1", served(PODS, "v1"))]
    agreement = verdict(cluster(servers, [lease("a"), lease("b")]))
    assert agreement.status == "disagreeing"
    assert agreement.reasons[0].server == "b1"
    assert "does not serve deployments.apps" in said(agreement)


def test_a_resource_whose_group_one_server_could_not_serve_is_incomplete():
    servers = [
        server("a1", served(DEPLOYMENTS, "apps/v1")),
        server("b1", unreadable={"apps/v1": "the service is unavailable"}),
    ]
    agreement = verdict(cluster(servers, [lease("a"), lease("b")]))
    assert agreement.status == "incomplete"
    assert agreement.reasons[0].server == "b1"
    assert "the service is unavailable" in said(agreement)


def test_another_group_that_could_not_be_served_excuses_nothing():
    servers = [
        server("a1", served(DEPLOYMENTS, "apps/v1")),
        server("b1", unreadable={"batch/v1": "the service is unavailable"}),
    ]
    assert verdict(cluster(servers, [lease("a"), lease("b")])).status == "disagreeing"


def test_a_server_that_is_still_starting_is_incomplete_not_disagreeing():
    servers = [server("a1", served(DEPLOYMENTS, "apps/v1")), server("b1", ready=False)]
    assert verdict(cluster(servers, [lease("a"), lease("b")])).status == "incomplete"


def test_a_server_with_a_fault_is_incomplete_and_named():
    servers = [server("a1", served(DEPLOYMENTS, "apps/v1")), server("b1", fault="timed out")]
    agreement = verdict(cluster(servers, [lease("a"), lease("b")]))
    assert agreement.status == "incomplete"
    assert agreement.reasons[0].server == "b1"
    assert "timed out" in said(agreement)


def test_a_persisted_resource_without_a_hash_is_unknown():
    servers = [server("a1", served(DEPLOYMENTS, versions=["apps/v1"]), served(PODS, "v1"))]
    agreement = verdict(cluster(servers, [lease("a")]))
    assert agreement.status == "unknown"
    assert "shows no hash of it" in said(agreement)


def test_a_server_without_any_hash_has_the_gate_off():
    servers = [server("a1", served(DEPLOYMENTS, versions=["apps/v1"]))]
    agreement = verdict(cluster(servers, [lease("a")]))
    assert agreement.status == "unknown"
    assert "StorageVersionHash is off" in said(agreement)


def test_a_server_that_contradicts_itself_is_unknown():
    servers = [server("a1", served(DEPLOYMENTS, "apps/v1", contradictory=True))]
    agreement = verdict(cluster(servers, [lease("a")]))
    assert agreement.status == "unknown"
    assert "different hashes" in said(agreement)


def test_resources_that_nobody_stores_are_listed_apart():
    review = served("tokenreviews.authentication.k8s.io", verbs=frozenset({"create"}))
    sight = cluster([server("a1", review, served(PODS, "v1"))], [lease("a")])
    assert list(decide_agreement(sight=sight)) == [PODS]
    assert not_persisted(sight) == ("tokenreviews.authentication.k8s.io",)


def test_a_hash_that_can_not_be_explained_can_still_be_agreed_on():
    odd = served(DEPLOYMENTS, storage_hash="AAAAAAAAAAA=", versions=["apps/v1"])
    sight = cluster([server("a1", odd), server("b1", odd)], [lease("a"), lease("b")])
    agreement = verdict(sight)
    assert agreement.agreed
    assert (agreement.storage_hash, agreement.encoding_version) == ("AAAAAAAAAAA=", "")
    assert str(agreement) == "deployments.apps: agreed on the hash AAAAAAAAAAA=."


def test_versions_may_be_written_without_their_group():
    one = served(DEPLOYMENTS, "apps/v1", versions=["v1"])
    assert verdict(cluster([server("a1", one)], [lease("a")])).encoding_version == "apps/v1"


# Custom resources


def crd(**more):
    return {WIDGETS: CrdSight(resource=WIDGETS, uid="u", generation=1, **more)}


def test_a_custom_resource_is_agreed_on_by_discovery_alone():
    sight = three_servers(
        WIDGETS,
        *["example.com/v1"] * 3,
        crds=crd(storage_version="v1"),
        storage_versions={PODS: reported(PODS, dict.fromkeys("abc", "v1"))},
    )
    agreement = verdict(sight, WIDGETS)
    assert agreement.agreed
    assert (agreement.origin, agreement.source) == ("custom", "discovery")


def test_a_custom_resource_whose_storage_version_is_not_served_is_unknown():
    servers = [server("a1", served(WIDGETS, versions=["example.com/v1"]), served(PODS, "v1"))]
    sight = cluster(
        servers, [lease("a")], crds=crd(storage_version="v2", storage_version_served=False)
    )
    agreement = verdict(sight, WIDGETS)
    assert agreement.status == "unknown"
    assert "stores v2, which is not served" in said(agreement)


def test_a_custom_resource_that_no_server_serves_is_unknown():
    sight = cluster(
        [server("a1", served(PODS, "v1"))], [lease("a")], crds=crd(storage_version="v1")
    )
    agreement = verdict(sight, WIDGETS)
    assert agreement.status == "unknown"
    assert agreement.servers == ()


def test_servers_that_have_not_followed_the_definition_yet_do_not_agree():
    sight = three_servers(WIDGETS, *["example.com/v1"] * 3, crds=crd(storage_version="v2"))
    agreement = verdict(sight, WIDGETS)
    assert agreement.status == "disagreeing"
    assert "stores example.com/v2, but server address-a still shows example.com/v1" in said(
        agreement
    )


# Aggregated APIs


def aggregated(before, after, hashes=("example.com/v1", "example.com/v1")):
    proxied = AggregatedSight("example.com/v1", "ns/api", tuple(before), tuple(after))
    return three_servers(WIDGETS, *hashes, aggregated={"example.com/v1": proxied})


@pytest.mark.parametrize(
    ("before", "after"),
    [("xy", "xy"), ("x", "xy"), ("xy", "x"), ("x", "y"), ("", ""), ("x", "")],
)
def test_r7_equal_hashes_of_an_aggregated_api_prove_nothing(before, after):
    agreement = verdict(aggregated(before, after), WIDGETS)
    assert (agreement.status, agreement.origin) == ("unknown", "aggregated")
    assert "ns/api" in said(agreement)


def test_r7_one_ready_endpoint_the_same_before_and_after_is_enough():
    agreement = verdict(aggregated("x", "x"), WIDGETS)
    assert agreement.agreed
    assert agreement.encoding_version == "example.com/v1"
    assert "aggregated" in str(agreement.notes[0])


def test_r7_different_hashes_of_an_aggregated_api_are_a_disagreement():
    sight = aggregated("xy", "xy", hashes=("example.com/v1", "example.com/v2"))
    assert verdict(sight, WIDGETS).status == "disagreeing"


def test_r7_a_resource_served_from_two_places_is_unknown():
    proxied = AggregatedSight("example.com/v1", "ns/api", ("x",), ("x",))
    both = served(WIDGETS, "example.com/v1", versions=["example.com/v1", "example.com/v2"])
    sight = cluster([server("a1", both)], [lease("a")], aggregated={"example.com/v1": proxied})
    assert verdict(sight, WIDGETS).status == "unknown"


def test_r7_versions_with_different_backends_are_unknown():
    proxied = {
        f"example.com/v{n}": AggregatedSight(f"example.com/v{n}", f"ns/api{n}", ("x",), ("x",))
        for n in (1, 2)
    }
    both = served(WIDGETS, "example.com/v1", versions=proxied)
    sight = cluster([server("a1", both)], [lease("a")], aggregated=proxied)
    assert verdict(sight, WIDGETS).status == "unknown"


# The StorageVersion API


def with_reports(encodings, *, shown=("apps/v1",) * 3, leases=None):
    return three_servers(
        DEPLOYMENTS,
        *shown,
        leases=leases,
        storage_versions={DEPLOYMENTS: reported(DEPLOYMENTS, encodings)},
    )


def test_both_sources_that_say_the_same_agree():
    agreement = verdict(with_reports(dict.fromkeys("abc", "apps/v1")))
    assert agreement.agreed
    assert agreement.source == "both"
    assert [one.standing for one in agreement.reported] == ["live"] * 3


def test_a_live_server_that_has_not_reported_is_incomplete():
    agreement = verdict(with_reports(dict.fromkeys("ab", "apps/v1")))
    assert agreement.status == "incomplete"
    assert "c (apiserver-c) has not reported deployments.apps" in said(agreement)


def test_reports_that_differ_are_a_disagreement_even_if_the_hashes_are_equal():
    agreement = verdict(with_reports({"a": "apps/v1", "b": "apps/v1", "c": "apps/v1beta2"}))
    assert agreement.status == "disagreeing"
    assert "c (apiserver-c) encoding apps/v1beta2" in said(agreement)


def test_a_dead_servers_entry_is_stale_and_left_out_with_a_note():
    agreement = verdict(with_reports({**dict.fromkeys("abc", "apps/v1"), "z": "apps/v1beta2"}))
    assert agreement.agreed
    assert "apiserver-z" in str(agreement.notes[0])


def test_r2_a_frozen_servers_entry_that_differs_is_a_disagreement():
    leases = [lease("a"), lease("b"), lease("c", age=600)]
    sight = with_reports(
        {"a": "apps/v1", "b": "apps/v1", "c": "apps/v1beta2"},
        shown=("apps/v1",) * 2,
        leases=leases,
    )
    agreement = verdict(sight)
    assert agreement.status == "disagreeing"
    assert "may be frozen" in said(agreement)


def test_two_sources_that_contradict_each_other_are_both_shown():
    agreement = verdict(with_reports(dict.fromkeys("abc", "apps/v1beta2")))
    assert agreement.status == "disagreeing"
    assert "shows apps/v1, the StorageVersion API reports apps/v1beta2" in said(agreement)
    assert {one.encoding_version for one in agreement.reported} == {"apps/v1beta2"}
    assert {one.encoding_version for one in agreement.servers} == {"apps/v1"}


def test_r9_a_hash_the_formula_can_not_give_is_not_compared_with_the_other_source():
    odd = served(DEPLOYMENTS, storage_hash="AAAAAAAAAAA=", versions=["apps/v1"])
    sight = cluster(
        [server("a1", odd)],
        [lease("a")],
        storage_versions={DEPLOYMENTS: reported(DEPLOYMENTS, {"a": "apps/v1"})},
    )
    agreement = verdict(sight)
    assert agreement.agreed
    assert "could not be explained" in str(agreement.notes[0])
    assert not check_formula(sight).holds


def test_r9_the_formula_is_held_against_every_live_hash_but_aggregated_ones():
    odd = served(WIDGETS, storage_hash="AAAAAAAAAAA=", versions=["example.com/v1"])
    servers = [server("a1", odd, served(DEPLOYMENTS, "apps/v1"), served(PODS, "v1"))]
    proxied = {"example.com/v1": AggregatedSight("example.com/v1", "ns/api")}
    assert check_formula(cluster(servers, [lease("a")], aggregated=proxied)).holds
    assert not check_formula(cluster(servers, [lease("a")])).holds


def test_a_built_in_resource_without_an_object_is_judged_by_discovery():
    events = served("events.events.k8s.io", "v1", versions=["events.k8s.io/v1"])
    sight = cluster(
        [server("a1", events, served(PODS, "v1"))],
        [lease("a")],
        storage_versions={PODS: reported(PODS, {"a": "v1"})},
    )
    agreement = verdict(sight, "events.events.k8s.io")
    assert agreement.agreed
    assert (agreement.source, agreement.encoding_version) == ("discovery", "v1")


def test_a_resource_that_is_reported_but_listed_nowhere_is_unknown():
    sight = cluster(
        [server("a1", served(PODS, "v1"))],
        [lease("a")],
        storage_versions={DEPLOYMENTS: reported(DEPLOYMENTS, {"a": "apps/v1"})},
    )
    agreement = verdict(sight)
    assert (agreement.status, agreement.source) == ("unknown", "storage_version")


def test_a_resource_with_stale_entries_only_that_is_listed_nowhere_is_left_out():
    sight = cluster(
        [server("a1", served(PODS, "v1"))],
        [lease("a")],
        storage_versions={DEPLOYMENTS: reported(DEPLOYMENTS, {"z": "apps/v1"})},
    )
    assert list(decide_agreement(sight=sight)) == [PODS]


def test_with_the_api_on_in_some_servers_only_the_hashes_alone_decide():
    sight = cluster(
        [server("a1", served(PODS, "v1")), server("b1", served(PODS, "v1"))],
        [lease("a"), lease("b")],
        storage_versions={PODS: reported(PODS, {"a": "v1"})},
    )
    on, off = sight.servers
    sight = replace(sight, servers=(on, replace(off, storage_version_api=False)))
    agreement = verdict(sight, PODS)
    assert (agreement.status, agreement.source) == ("agreed", "discovery")


def test_r8_a_group_that_no_server_could_read_is_not_agreed_on():
    down = {"wardle.example.com/v1alpha1": "503: the server is down"}
    servers = [server(address, served(PODS, "v1"), unreadable=down) for address in ("a1", "b1")]
    agreements = decide_agreement(sight=cluster(servers, [lease("a"), lease("b")]))
    assert agreements[PODS].agreed
    assert agreements["*.wardle.example.com"].status == "incomplete"
    assert "wardle.example.com/v1alpha1" in said(agreements["*.wardle.example.com"])
