"""Every server that may write is seen, or the view is incomplete and says who is missing."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import pytest

from lab.ansible import look
from lab.api import ApiError
from lab.control_plane import ControlPlane, PrivateNetwork, Server, ServerSpec, control_plane
from lab.load_balancer import LoadBalancer
from lab.waiting import eventually

LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
# After this long without renewal a lease is silent; the collection says 30 s.
SILENT = 32
# A module takes some seconds to start on a busy machine.
MODULE = 15


@dataclass
class Lost:
    """A control plane that lost one of its servers, and what was seen right after."""

    plane: ControlPlane
    server: Server
    at_once: Any
    took: float

    @property
    def witness(self) -> Server:
        """A server that lives: requests through the load balancer may end at the lost one."""
        return self.plane.servers["cp-1"]

    def look(self, **options: Any) -> Any:
        kubeconfig = self.plane.kubeconfig(server=self.witness.url)
        return look(self.plane, kubeconfig=kubeconfig, timeout=3, **options)

    def wait_until_left(self) -> None:
        """Until the EndpointSlice no longer names it."""
        eventually(lambda: not self._published(), within=60)

    def wait_until_silent(self) -> None:
        """Until its lease has not been renewed for a while."""
        eventually(lambda: self._lease_age() > SILENT, within=60)

    def _published(self) -> bool:
        return self.plane.published(self.server, through=self.witness)

    def _lease_age(self) -> float:
        (renewed,) = (
            lease["spec"]["renewTime"]
            for lease in self.witness.api.get(LEASES)["items"]
            if lease["metadata"]["labels"].get("kubernetes.io/hostname") == self.server.name
        )
        return (datetime.now(UTC) - datetime.fromisoformat(renewed)).total_seconds()


@contextmanager
def lose(network: PrivateNetwork, *specs: ServerSpec, how: str) -> Iterator[Lost]:
    with control_plane(*specs, network=network) as plane:
        lost = Lost(plane, plane.servers["cp-2"], None, 0)
        getattr(lost.server, how)()
        begun = time.monotonic()
        lost.at_once = lost.look()
        lost.took = time.monotonic() - begun
        yield lost


@pytest.fixture(scope="module")
def killed(network: PrivateNetwork) -> Iterator[Lost]:
    """One of two servers was ended by force."""
    spec = ServerSpec().with_storage_version_api()
    with lose(network, spec, spec, how="kill") as lost:
        yield lost


@pytest.fixture(scope="module")
def frozen(network: PrivateNetwork) -> Iterator[Lost]:
    """One of two servers stands still; it writes older versions than the other."""
    with lose(network, ServerSpec(), ServerSpec(emulated_version="1.34"), how="freeze") as lost:
        yield lost


class TestLostServers:
    @pytest.mark.parametrize(
        ("how", "fault"), [("killed", "connection refused"), ("frozen", "no answer within 3 s")]
    )
    def test_a_lost_server_is_named_with_its_fault_within_the_timeout(
        self, request: pytest.FixtureRequest, how: str, fault: str
    ) -> None:
        lost: Lost = request.getfixturevalue(how)

        assert lost.at_once["verdict"] == "incomplete"
        assert not lost.at_once["agreed"]
        faults = {one["address"]: one["fault"] for one in lost.at_once["servers"]}
        assert faults[lost.witness.url] == ""
        assert fault in faults[lost.server.url]
        assert f"server {lost.server.url} could not be read" in lost.at_once["reasons"][0]
        assert lost.took < 3 + MODULE

    def test_a_server_that_lives_can_not_be_vouched_to_be_gone(
        self, three_servers: ControlPlane
    ) -> None:
        seen = look(three_servers, gone_servers=["cp-2"])

        assert not seen["agreed"]
        assert seen["verdict"] == "incomplete"
        assert "server cp-2 (apiserver-" in seen["reasons"][0]
        assert "is named in gone_servers, but it renewed its lease" in seen["reasons"][0]

    def test_a_killed_server_leaves_the_view_incomplete(self, killed: Lost) -> None:
        killed.wait_until_left()
        killed.wait_until_silent()

        seen = killed.look()

        assert not seen["agreed"]
        assert seen["verdict"] == "incomplete"
        assert seen["leases"]["silent"] == ["cp-2"]
        assert "server cp-2 (apiserver-" in seen["reasons"][0]
        assert "may be frozen, not dead" in seen["reasons"][0]
        assert {one["status"] for one in seen["resources"].values()} == {"incomplete"}

    @pytest.mark.parametrize("by", ["hostname", "lease"])
    def test_vouching_for_a_killed_server_brings_agreement_back(
        self, killed: Lost, by: str
    ) -> None:
        killed.wait_until_left()
        killed.wait_until_silent()
        leases = killed.witness.api.get(LEASES)["items"]
        names = {
            lease["metadata"]["labels"]["kubernetes.io/hostname"]: lease["metadata"]["name"]
            for lease in leases
        }

        seen = killed.look(gone_servers=["cp-2" if by == "hostname" else names["cp-2"]])

        assert seen["agreed"], seen["reasons"]
        assert seen["leases"] == {"live": ["cp-1"], "silent": [], "expired": [], "gone": ["cp-2"]}

    def test_the_stale_entry_of_a_vouched_server_is_noted_and_left_out(self, killed: Lost) -> None:
        killed.wait_until_left()
        killed.wait_until_silent()

        seen = killed.look(gone_servers=["cp-2"], resources=["deployments.apps"])

        (note,) = seen["resources"]["deployments.apps"]["notes"]
        assert "the entry of " in note
        assert "is stale and was left out" in note
        assert seen["resources"]["deployments.apps"]["status"] == "agreed"

    def test_a_frozen_server_is_waited_for_since_it_writes_its_old_version_after_all(
        self, frozen: Lost
    ) -> None:
        frozen.wait_until_left()
        out_of_sight = frozen.look()
        frozen.wait_until_silent()
        silent = frozen.look()
        frozen.server.thaw()
        stored = stored_version_of_an_object_written_by(frozen.server, frozen.plane)

        assert stored == "resource.k8s.io/v1beta2"
        for seen in (frozen.at_once, out_of_sight, silent):
            assert not seen["agreed"]
            assert seen["resources"]["deviceclasses.resource.k8s.io"]["status"] == "incomplete"
        assert [one["address"] for one in silent["servers"]] == [frozen.witness.url]
        assert silent["leases"]["silent"] == ["cp-2"]
        assert "server cp-2 (apiserver-" in silent["reasons"][0]
        assert "may be frozen, not dead: it could still write" in silent["reasons"][0]


class TestCutOffServers:
    def test_a_server_that_is_cut_off_is_named_until_it_is_back(
        self, two_servers: ControlPlane
    ) -> None:
        witness, server = two_servers.servers.values()
        kubeconfig = two_servers.kubeconfig(server=witness.url)
        server.cut()
        try:
            begun = time.monotonic()
            away = look(two_servers, kubeconfig=kubeconfig, timeout=2)
            took = time.monotonic() - begun
        finally:
            server.rejoin()
        back = look(two_servers, kubeconfig=kubeconfig, wait=True, settle=0, wait_timeout=30)

        assert not away["agreed"]
        assert away["verdict"] == "incomplete"
        faults = {one["address"]: one["fault"] for one in away["servers"]}
        assert faults[witness.url] == ""
        assert faults[server.url] != ""
        assert f"server {server.url} could not be read" in away["reasons"][0]
        assert took < 2 + MODULE
        assert back["agreed"]

    def test_a_restarted_server_is_another_epoch_with_the_same_hashes(
        self, two_servers: ControlPlane
    ) -> None:
        before = look(two_servers, wait=True, settle=0)
        two_servers.servers["cp-2"].restart()
        after = look(two_servers, wait=True, settle=0)

        assert hashes(before) == hashes(after)
        assert leases(before) == leases(after)
        assert len(holders(before) - holders(after)) == 1
        assert len(start_times(before) - start_times(after)) == 1


class TestAddresses:
    def test_two_addresses_of_one_server_do_not_make_up_for_an_unseen_one(
        self, three_servers: ControlPlane
    ) -> None:
        first, second, _unseen = three_servers.servers.values()
        # The servers' certificates hold the load balancer's address, whatever the port.
        alias = LoadBalancer(
            three_servers.balancer.address, 7443, lambda: [(first.address, first.port)]
        )
        try:
            seen = look(three_servers, servers=[first.url, second.url, alias.url])
        finally:
            alias.close()

        assert [one["fault"] for one in seen["servers"]] == ["", "", ""]
        assert not seen["agreed"]
        assert seen["verdict"] == "incomplete"
        assert f"{alias.url} = {first.url}, one server" in seen["reasons"][0]
        assert "1 server was not seen" in seen["reasons"][0]

    def test_the_load_balancer_alone_gives_an_incomplete_view(
        self, three_servers: ControlPlane
    ) -> None:
        seen = look(three_servers, servers=[three_servers.balancer.url])

        assert not seen["agreed"]
        assert seen["verdict"] == "incomplete"
        assert "2 servers were not seen" in seen["reasons"][0]
        assert "never a load balancer's" in seen["reasons"][0]

    def test_servers_can_be_named_without_a_scheme(self, three_servers: ControlPlane) -> None:
        addresses = [f"{one.address}:{one.port}" for one in three_servers.servers.values()]

        assert look(three_servers, servers=addresses)["agreed"]

    def test_a_server_left_out_of_the_list_is_noticed(self, three_servers: ControlPlane) -> None:
        urls = [one.url for one in three_servers.servers.values()]

        seen = look(three_servers, servers=urls[:2])

        assert seen["verdict"] == "incomplete"
        assert "1 server was not seen" in seen["reasons"][0]


@pytest.fixture(scope="module")
def wrong_certificates(network: PrivateNetwork) -> Iterator[ControlPlane]:
    """Four servers: one with a good certificate, three each with another fault in theirs."""
    kinds = ("good", "foreign", "misnamed", "expired")
    specs = [ServerSpec(certificate=kind) for kind in kinds]
    with control_plane(*specs, network=network) as plane:
        good = plane.servers["cp-1"]
        for server in plane.servers.values():
            eventually(lambda one=server: plane.published(one, through=good), within=60)
        yield plane


class TestCertificates:
    @pytest.mark.parametrize(
        ("kind", "fault", "remedy"),
        [
            ("foreign", "unable to get local issuer certificate", "ca_cert"),
            ("misnamed", "IP address mismatch", "tls_server_name"),
            ("expired", "certificate has expired", "Renew"),
        ],
    )
    def test_a_server_with_a_wrong_certificate_is_named_with_the_reason(
        self, wrong_certificates: ControlPlane, kind: str, fault: str, remedy: str
    ) -> None:
        good = wrong_certificates.servers["cp-1"]
        kubeconfig = wrong_certificates.kubeconfig(server=good.url)

        seen = look(wrong_certificates, kubeconfig=kubeconfig)

        (server,) = (
            one for one in wrong_certificates.servers.values() if one.spec.certificate == kind
        )
        (said,) = (one for one in seen["servers"] if one["address"] == server.url)
        assert not seen["agreed"]
        assert seen["verdict"] == "incomplete"
        assert "its certificate is not trusted" in said["fault"]
        assert fault in said["fault"]
        assert remedy in said["remedy"]
        assert any(f"server {server.url} could not be read" in one for one in seen["reasons"])

    def test_tls_server_name_cures_a_certificate_without_the_address(
        self, wrong_certificates: ControlPlane
    ) -> None:
        good, _foreign, misnamed, _expired = wrong_certificates.servers.values()

        seen = look(
            wrong_certificates,
            kubeconfig=wrong_certificates.kubeconfig(server=good.url),
            servers=[good.url, misnamed.url],
            tls_server_name="kubernetes.default.svc",
        )

        assert [one["fault"] for one in seen["servers"]] == ["", ""]
        assert [one["release"] for one in seen["servers"]] == ["v1.36.3", "v1.36.3"]


def stored_version_of_an_object_written_by(server: Server, plane: ControlPlane) -> str:
    """Write through this very server, and read the bytes that reached etcd."""
    device_class = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": "late.example.com"},
        "spec": {},
    }

    def written() -> bool:
        try:
            server.api.create("/apis/resource.k8s.io/v1/deviceclasses", device_class)
        except ApiError:
            return False
        return True

    eventually(written, within=30)
    (stored,) = plane.etcd.stored_versions("/registry/deviceclasses/").values()
    return stored


def hashes(seen: Any) -> dict[str, str]:
    return {name: one["hash"] for name, one in seen["resources"].items()}


def leases(seen: Any) -> list[str]:
    return [one["lease"] for one in seen["epoch"]["servers"]]


def holders(seen: Any) -> set[str]:
    return {one["holder"] for one in seen["epoch"]["servers"]}


def start_times(seen: Any) -> set[str]:
    return {one["start_time"] for one in seen["epoch"]["releases"]}
