"""What discovery_hash says of servers that nobody disturbs."""

from __future__ import annotations

import re
from typing import Any

import pytest

from lab.ansible import look
from lab.api import ApiError
from lab.control_plane import STORAGE_VERSION_API, ControlPlane, Server, ServerSpec
from lab.fixtures import Planes

WRITES_DIFFERENTLY = {
    "deviceclasses.resource.k8s.io": ("resource.k8s.io/v1", "resource.k8s.io/v1beta2"),
    "resourceclaims.resource.k8s.io": ("resource.k8s.io/v1", "resource.k8s.io/v1beta2"),
    "resourceclaimtemplates.resource.k8s.io": ("resource.k8s.io/v1", "resource.k8s.io/v1beta2"),
    "resourceslices.resource.k8s.io": ("resource.k8s.io/v1", "resource.k8s.io/v1beta2"),
    "volumeattributesclasses.storage.k8s.io": ("storage.k8s.io/v1", "storage.k8s.io/v1beta1"),
}


class TestAgreement:
    def test_three_equal_servers_agree_on_everything_they_store(
        self, three_servers: ControlPlane
    ) -> None:
        seen = look(three_servers)

        assert seen["agreed"], seen["reasons"]
        assert seen["verdict"] == "agreed"
        assert seen["reasons"] == []
        assert not seen["changed"]
        assert {name: one["hash"] for name, one in seen["resources"].items()} == hashes_shown_by(
            three_servers.servers["cp-1"]
        )

    def test_every_server_is_shown_with_its_release(self, disagreement: ControlPlane) -> None:
        seen = look(disagreement)

        assert {
            one["address"]: (one["release"], one["emulated_version"], one["ready"], one["fault"])
            for one in seen["servers"]
        } == {
            server.url: ("v1.36.3", server.spec.emulated_version or "1.36", True, "")
            for server in disagreement.servers.values()
        }
        assert len({one["start_time"] for one in seen["servers"]}) == 3

    def test_check_mode_gives_the_same_view(self, three_servers: ControlPlane) -> None:
        assert look(three_servers, check=True)["agreed"]

    def test_subresources_are_not_listed(self, three_servers: ControlPlane) -> None:
        seen = look(three_servers)

        assert "deployments.apps" in seen["resources"]
        assert [name for name in [*seen["resources"], *seen["not_persisted"]] if "/" in name] == []

    def test_reviews_are_shown_as_not_persisted(self, three_servers: ControlPlane) -> None:
        seen = look(three_servers)

        reviews = {"tokenreviews.authentication.k8s.io", "bindings"}
        assert reviews <= set(seen["not_persisted"])
        assert not reviews & set(seen["resources"])


class TestDisagreement:
    def test_exactly_the_resources_that_differ_are_named(self, disagreement: ControlPlane) -> None:
        seen = look(disagreement)

        assert not seen["agreed"]
        assert seen["verdict"] == "disagreeing"
        assert not_agreed(seen) == resources_shown_differently(disagreement)
        assert not_agreed(seen) == resources_reported_differently(disagreement)
        assert set(WRITES_DIFFERENTLY) < not_agreed(seen)

    def test_each_difference_is_told_by_server_and_version(
        self, disagreement: ControlPlane
    ) -> None:
        seen = look(disagreement)

        first, second, emulating = disagreement.servers.values()
        for resource, (newer, older) in WRITES_DIFFERENTLY.items():
            said = seen["resources"][resource]
            assert {url: one["encoding_version"] for url, one in said["servers"].items()} == {
                first.url: newer,
                second.url: newer,
                emulating.url: older,
            }
            assert (
                f"the servers encode {resource} differently: {first.url} (v1.36.3) and {second.url}"
                f" (v1.36.3) write {newer}; {emulating.url} (v1.36.3 emulating 1.34) writes {older}"
            ) in said["reasons"][0]

    def test_explained_versions_are_those_of_the_storage_version_api(
        self, disagreement: ControlPlane
    ) -> None:
        seen = look(disagreement)

        reported = encodings_reported(disagreement)
        for resource, said in seen["resources"].items():
            explained = {url: one["encoding_version"] for url, one in said["servers"].items()}
            # Events are stored once and served in two groups; only one of them is reported.
            if resource != "events.events.k8s.io":
                assert reported[resource] == explained, resource

    def test_two_releases_differ_in_what_they_write(self, start: Planes) -> None:
        plane = start(ServerSpec("1.36.3"), ServerSpec("1.37.0"))

        seen = look(plane)

        older, newer = plane.servers.values()
        assert seen["verdict"] == "disagreeing"
        assert not_agreed(seen) == resources_shown_differently(plane)
        assert {seen["resources"][name]["status"] for name in not_agreed(seen)} == {"disagreeing"}
        for plural in ("mutatingadmissionpolicies", "mutatingadmissionpolicybindings"):
            said = seen["resources"][f"{plural}.admissionregistration.k8s.io"]
            assert {url: one["encoding_version"] for url, one in said["servers"].items()} == {
                older.url: "admissionregistration.k8s.io/v1beta1",
                newer.url: "admissionregistration.k8s.io/v1",
            }
        assert {one["address"]: one["release"] for one in seen["servers"]} == {
            older.url: "v1.36.3",
            newer.url: "v1.37.0",
        }


class TestChoosingResources:
    def test_one_resource_can_be_chosen(self, disagreement: ControlPlane) -> None:
        seen = look(disagreement, resources=["deployments.apps"])

        assert list(seen["resources"]) == ["deployments.apps"]
        assert seen["resources"]["deployments.apps"]["encoding_version"] == "apps/v1"
        assert seen["agreed"], seen["reasons"]

    def test_a_whole_group_can_be_chosen(self, disagreement: ControlPlane) -> None:
        seen = look(disagreement, resources=["*.resource.k8s.io", "pods"])

        chosen = {name for name in WRITES_DIFFERENTLY if name.endswith(".resource.k8s.io")}
        assert set(seen["resources"]) == chosen | {"pods"}

    def test_a_pattern_that_chooses_nothing_is_reported(self, three_servers: ControlPlane) -> None:
        seen = look(three_servers, resources=["deployments.apps", "*.example.com"])

        assert seen["unmatched"] == ["*.example.com"]
        assert list(seen["resources"]) == ["deployments.apps"]

    @pytest.mark.parametrize("pattern", ["Deployments.apps", "apps/v1", "pods/status", ""])
    def test_a_malformed_pattern_is_refused_by_option_and_value(
        self, three_servers: ControlPlane, pattern: str
    ) -> None:
        answer = look(three_servers, resources=["pods", pattern])

        assert answer["failed"]
        assert "resources" in answer["msg"]
        assert repr(pattern) in answer["msg"]
        assert answer["remedy"]


# Computed without the collection's own code


def not_agreed(seen: Any) -> set[str]:
    return {name for name, one in seen["resources"].items() if one["status"] != "agreed"}


def hashes_shown_by(server: Server) -> dict[str, str]:
    """The hash of each resource that one server shows one of."""
    groups = server.api.get("/apis")["groups"]
    listed = [f"/apis/{v['groupVersion']}" for g in groups for v in g["versions"]]
    # The last server to start takes off that list what it lacks; each has its own paths as well.
    own = [
        path for path in server.api.get("/")["paths"] if re.fullmatch(r"/apis/[^/]+/[^/]+", path)
    ]
    shown = {}
    for path in dict.fromkeys(["/api/v1", *listed, *own]):
        try:
            document = server.api.get(path)
        except ApiError as error:
            # All servers list what one of them registered, and those without it answer 404.
            if error.status != 404:
                raise
            continue
        group = document["groupVersion"].rpartition("/")[0]
        for item in document["resources"]:
            if item.get("storageVersionHash"):
                name = f"{item['name']}.{group}" if group else item["name"]
                shown[name] = item["storageVersionHash"]
    return shown


def resources_shown_differently(plane: ControlPlane) -> set[str]:
    """Resources of which not all servers show the same hash, or some none at all."""
    shown = [hashes_shown_by(server) for server in plane.servers.values()]
    names = {name for one in shown for name in one}
    return {name for name in names if len({one.get(name) for one in shown}) > 1}


def encodings_reported(plane: ControlPlane) -> dict[str, dict[str, str]]:
    """What each server, by its URL, reported of each resource."""
    leases = plane.api.get("/apis/coordination.k8s.io/v1/namespaces/kube-system/leases")["items"]
    hosts = {
        lease["metadata"]["name"]: lease["metadata"]["labels"]["kubernetes.io/hostname"]
        for lease in leases
    }
    reported = {}
    for item in plane.api.get(f"/apis/{STORAGE_VERSION_API}/storageversions")["items"]:
        group, plural = item["metadata"]["name"].rsplit(".", 1)
        reported[plural if group == "core" else f"{plural}.{group}"] = {
            plane.servers[hosts[entry["apiServerID"]]].url: entry["encodingVersion"]
            for entry in item["status"]["storageVersions"]
        }
    return reported


def resources_reported_differently(plane: ControlPlane) -> set[str]:
    """Resources that not all servers reported, or not all alike."""
    count = len(plane.servers)
    return {
        name
        for name, entries in encodings_reported(plane).items()
        if len(entries) < count or len(set(entries.values())) > 1
    }
