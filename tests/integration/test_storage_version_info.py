"""`storage_version_info`: who reported what, who has not, and what the voting rule makes of it."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import kubernetes
import pytest

from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.servers import (
    Access,
    ApiServer,
    Deadline,
    ServerFault,
)
from lab.ansible import run_module
from lab.api import Api
from lab.control_plane import ControlPlane, PrivateNetwork, Server, ServerSpec, control_plane

LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
STORAGE_VERSIONS = "/apis/internal.apiserver.k8s.io/v1alpha1/storageversions"
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
# What 1.36 encodes otherwise if it emulates 1.34.
DISPUTED = {
    "deviceclasses.resource.k8s.io",
    "resourceclaims.resource.k8s.io",
    "resourceclaimtemplates.resource.k8s.io",
    "resourceslices.resource.k8s.io",
    "volumeattributesclasses.storage.k8s.io",
}
CLAIMS = "resourceclaims.resource.k8s.io"
OLD, NEW = "resource.k8s.io/v1beta2", "resource.k8s.io/v1"


def info(plane: ControlPlane, **options: Any) -> Any:
    """What storage_version_info returns to the administrator of a control plane."""
    return run_module("storage_version_info", **{"kubeconfig": plane.kubeconfig(), **options})


def raw(api: Api) -> dict[str, dict[str, Any]]:
    """The StorageVersion objects by resource, read past the collection."""
    found = {}
    for item in api.get(STORAGE_VERSIONS)["items"]:
        group, _dot, plural = item["metadata"]["name"].rpartition(".")
        found[plural if group == "core" else f"{plural}.{group}"] = item
    return found


def server_ids(api: Api) -> dict[str, str]:
    """The identities of all servers by hostname."""
    items = api.get(f"{LEASES}?labelSelector=apiserver.kubernetes.io/identity")["items"]
    return {i["metadata"]["labels"]["kubernetes.io/hostname"]: i["metadata"]["name"] for i in items}


@pytest.fixture(scope="module")
def agreeing(three_servers: ControlPlane) -> Any:
    """What is returned for three servers that agree."""
    return info(three_servers)


@pytest.fixture(scope="module")
def disputed(disagreement: ControlPlane) -> Any:
    """What is returned for three servers, one of which emulates 1.34."""
    return info(disagreement)


@pytest.fixture(scope="module")
def pair(network: PrivateNetwork) -> Iterator[ControlPlane]:
    """Two servers with the API, the second emulating 1.34; tests put right what they disturb."""
    spec = ServerSpec().with_storage_version_api()
    with control_plane(spec, replace(spec, emulated_version="1.34"), network=network) as plane:
        yield plane


@pytest.fixture
def second(pair: ControlPlane) -> Iterator[Server]:
    """The second server, to disturb at will: it emulates 1.34 again afterwards."""
    server = pair.servers["cp-2"]
    spec, process = server.spec, server.process
    yield server
    if server.process is not process or not server.running:
        server.restart(spec)


@pytest.fixture(scope="module")
def partly(network: PrivateNetwork) -> Iterator[ControlPlane]:
    """Two servers, the second of which has the API and has never had a report of the first."""
    with control_plane(
        ServerSpec(), ServerSpec().with_storage_version_api(), network=network
    ) as plane:
        yield plane


class TestAgreement:
    def test_every_entry_is_told_with_its_server(
        self, three_servers: ControlPlane, agreeing: Any
    ) -> None:
        ids = server_ids(three_servers.api)

        for name, one in agreeing["resources"].items():
            told = {e["server_id"]: (e["hostname"], e["standing"]) for e in one["entries"]}
            assert told == {ids[host]: (host, "live") for host in ids}, name
            assert (one["stale"], one["missing"]) == ([], []), name

    def test_every_object_is_told(self, three_servers: ControlPlane, agreeing: Any) -> None:
        objects = raw(three_servers.api)

        assert set(agreeing["resources"]) == set(objects)
        assert len(objects) > 50

    def test_what_the_objects_say_of_themselves_is_passed_on(
        self, three_servers: ControlPlane, agreeing: Any
    ) -> None:
        for name, item in raw(three_servers.api).items():
            one, (condition,) = agreeing["resources"][name], item["status"]["conditions"]
            assert one["common_encoding_version"] == item["status"]["commonEncodingVersion"]
            assert one["resource_version"] == item["metadata"]["resourceVersion"]
            assert one["condition"] == {
                "status": "True",
                "reason": "CommonEncodingVersionSet",
                "last_transition_time": condition["lastTransitionTime"],
            }

    def test_all_is_agreed_and_every_common_version_selected(self, agreeing: Any) -> None:
        assert agreeing["agreed"], agreeing["summary"]
        assert {one["status"] for one in agreeing["resources"].values()} == {"agreed"}
        assert agreeing["selected"] == {
            name: one["common_encoding_version"] for name, one in agreeing["resources"].items()
        }
        assert (agreeing["api"], agreeing["api_remedy"], agreeing["changed"]) == ("on", "", False)

    def test_only_chosen_resources_are_told(self, three_servers: ControlPlane) -> None:
        told = info(three_servers, resources=["pods", "*.apps", "nothings.example.com"])

        assert set(told["resources"]) == {
            "pods",
            "controllerrevisions.apps",
            "daemonsets.apps",
            "deployments.apps",
            "replicasets.apps",
            "statefulsets.apps",
        }
        assert told["unmatched"] == ["nothings.example.com"]


class TestDisagreement:
    def test_exactly_what_differs_is_told(self, disputed: Any) -> None:
        differing = {n for n, one in disputed["resources"].items() if one["status"] != "agreed"}

        assert differing >= DISPUTED
        told = {n: one["condition"]["status"] for n, one in disputed["resources"].items()}
        assert {name for name, status in told.items() if status == "False"} == DISPUTED

    def test_what_all_can_decode_is_what_each_can(
        self, disagreement: ControlPlane, disputed: Any
    ) -> None:
        for name, item in raw(disagreement.api).items():
            entries = item["status"]["storageVersions"]
            if len(entries) == 3:
                common = set.intersection(*(set(e["decodableVersions"]) for e in entries))
                assert set(disputed["resources"][name]["decodable_by_all"]) == common, name

    def test_while_candidates_differ_what_is_selected_is_unknown(
        self, disagreement: ControlPlane, disputed: Any
    ) -> None:
        ids = server_ids(disagreement.api)

        vote = disputed["resources"][CLAIMS]["vote"]

        assert vote["candidates"] == {ids["cp-1"]: NEW, ids["cp-2"]: NEW, ids["cp-3"]: OLD}
        assert vote["selected"] == "Unknown"
        assert vote["pending"] == [NEW, OLD]
        assert f"cp-3 ({ids['cp-3']}) for {OLD}" in vote["why"]

    def test_while_candidates_differ_the_last_agreed_version_stays_selected(
        self, disagreement: ControlPlane
    ) -> None:
        told = info(disagreement, resources=[CLAIMS], last_agreed={CLAIMS: OLD})

        vote = told["resources"][CLAIMS]["vote"]
        assert (vote["selected"], vote["pending"]) == (OLD, [NEW])
        assert told["selected"] == {CLAIMS: OLD}
        assert "the last agreed version" in vote["why"]
        assert not told["agreed"]


class TestChange:
    def test_waiting_ends_when_the_last_server_votes_for_the_new_version(
        self, pair: ControlPlane, second: Server
    ) -> None:
        options = {"resources": [CLAIMS], "last_agreed": {CLAIMS: OLD}, "settle": 2}
        assert info(pair, **options)["selected"] == {CLAIMS: OLD}
        told: dict[str, Any] = {}

        def wait() -> None:
            told.update(info(pair, wait=True, wait_timeout=90, wait_sleep=0.5, **options))

        waiting = threading.Thread(target=wait)
        waiting.start()
        time.sleep(2)
        assert not told
        second.restart(replace(second.spec, emulated_version=""))
        waiting.join()

        assert told["agreed"], told
        assert told["waited"] >= 2
        vote = told["resources"][CLAIMS]["vote"]
        assert (vote["selected"], vote["pending"]) == (NEW, [])

    def test_waiting_in_vain_fails_with_the_reasons_and_what_was_seen(
        self, pair: ControlPlane, second: Server
    ) -> None:
        told = info(pair, resources=[CLAIMS], wait=True, wait_timeout=2, wait_sleep=0.5)

        assert told["failed"]
        assert "No settled agreement after" in told["msg"]
        assert OLD in told["msg"]
        assert told["resources"][CLAIMS]["vote"]["selected"] == "Unknown"

    def test_the_entry_of_a_server_without_a_lease_is_stale(
        self, pair: ControlPlane, second: Server
    ) -> None:
        api = pair.servers["cp-1"].api
        gone = server_ids(api)["cp-2"]
        second.kill()
        api.delete(f"{LEASES}/{gone}")

        told = info(pair, resources=[CLAIMS])

        one = told["resources"][CLAIMS]
        standings = {entry["server_id"]: entry["standing"] for entry in one["entries"]}
        assert standings == {server_ids(api)["cp-1"]: "live", gone: "stale"}
        assert one["stale"] == [gone]
        # The object itself still says that servers differ; the vote counts the living only.
        assert one["condition"]["status"] == "False"
        assert one["vote"]["selected"] == NEW
        assert "resource.k8s.io/v1beta1" in one["decodable_by_all"]

    def test_the_entry_of_a_server_that_may_be_frozen_counts(
        self, pair: ControlPlane, second: Server
    ) -> None:
        api = pair.servers["cp-1"].api
        silent = server_ids(api)["cp-2"]
        second.kill()
        two_minutes_ago = datetime.now(UTC) - timedelta(minutes=2)
        renewed = two_minutes_ago.strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        api.patch(f"{LEASES}/{silent}", {"spec": {"renewTime": renewed}})

        told = info(pair, resources=[CLAIMS])

        one = told["resources"][CLAIMS]
        standings = {entry["hostname"]: entry["standing"] for entry in one["entries"]}
        assert standings == {"cp-1": "live", "cp-2": "silent"}
        assert one["vote"]["candidates"][silent] == OLD
        assert told["leases"]["silent"] == ["cp-2"]
        assert not told["agreed"]
        vouched = info(pair, resources=[CLAIMS], gone_servers=["cp-2"])
        assert vouched["resources"][CLAIMS]["vote"]["selected"] == NEW
        assert vouched["leases"]["gone"] == ["cp-2"]

    def test_what_a_server_reported_before_the_api_was_turned_off_does_not_hide_what_it_writes(
        self, pair: ControlPlane, second: Server
    ) -> None:
        second.restart(replace(second.spec, emulated_version=""))
        second.restart(replace(ServerSpec(), emulated_version="1.34"))

        told = info(pair, resources=[CLAIMS])

        assert told["api"] == "partly"
        assert second.url in told["api_remedy"]
        # The object still says that all servers write the new version.
        assert told["resources"][CLAIMS]["common_encoding_version"] == NEW
        assert told["resources"][CLAIMS]["status"] == "disagreeing"
        assert not told["agreed"]

    def test_the_503_of_a_server_that_registers_is_explained_and_outlasted(
        self, pair: ControlPlane, second: Server
    ) -> None:
        api = pair.servers["cp-1"].api
        config_map = api.create(CONFIG_MAPS, {"metadata": {"name": "written-early"}})
        path = f"{CONFIG_MAPS}/written-early"
        configuration = kubernetes.client.Configuration()
        kubernetes.config.load_kube_config(
            str(pair.kubeconfig()), client_configuration=configuration
        )
        patient = ApiServer(Access(configuration), second.url, Deadline(60))
        second.stop()

        second.start()
        fault = ServerFault("", "")
        while fault.status != 503:
            assert not patient.deadline.passed, fault
            # Too little time to ask a second time.
            hasty = ApiServer(Access(configuration), second.url, Deadline(0.4))
            try:
                hasty.put(path, config_map)
                pytest.fail("the server took a write before it refused one")
            except ServerFault as error:
                fault = error

        assert "still registers its storage versions" in fault.fault
        assert "/readyz" in fault.remedy
        assert patient.put(path, config_map).json()
        second.wait_ready()


class TestWithoutTheApi:
    def test_that_it_is_off_is_told_with_the_remedy(self, two_servers: ControlPlane) -> None:
        told = info(two_servers)

        assert (told["api"], told["resources"], told["selected"]) == ("off", {}, {})
        assert "failed" not in told
        assert "every server" in told["api_remedy"]
        assert "--feature-gates=StorageVersionAPI=true" in told["api_remedy"]
        assert "--runtime-config=internal.apiserver.k8s.io/v1alpha1=true" in told["api_remedy"]

    def test_where_it_is_off_agreement_comes_from_discovery(
        self, two_servers: ControlPlane
    ) -> None:
        told = info(two_servers, resources=["*.apps"])

        assert told["agreed"], told["summary"]

    def test_which_servers_lack_it_is_told(self, partly: ControlPlane) -> None:
        told = info(partly, resources=["deployments.apps"])

        assert told["api"] == "partly"
        assert partly.servers["cp-1"].url in told["api_remedy"]
        assert partly.servers["cp-2"].url not in told["api_remedy"]

    def test_a_server_that_never_reported_is_missing(self, partly: ControlPlane) -> None:
        told = info(partly, resources=["deployments.apps"])

        one = told["resources"]["deployments.apps"]
        (missing,) = one["missing"]
        assert missing.startswith("cp-1 (")
        assert one["decodable_by_all"] == []
        assert one["vote"]["selected"] == "Unknown"
        assert "has not voted yet" in one["vote"]["why"]

    def test_where_some_lack_it_agreement_comes_from_discovery(self, partly: ControlPlane) -> None:
        told = info(partly, resources=["deployments.apps"])

        assert told["agreed"], told["summary"]
