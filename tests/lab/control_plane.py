"""One control plane: etcd, API servers of any mix, controllers, a load balancer in front."""

from __future__ import annotations

import base64
import itertools
import json
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import cached_property
from pathlib import Path
from typing import Any

from . import binaries, namespaces
from .api import Api, User
from .etcd import EtcdStore
from .load_balancer import LoadBalancer
from .pki import CertificateAuthority, TokenSigner
from .processes import Process

ISSUER = "https://kubernetes.default.svc"
STORAGE_VERSION_API = "internal.apiserver.k8s.io/v1alpha1"
MIGRATION_API = "storagemigration.k8s.io/v1beta1"
MIGRATION_GATE = {"StorageVersionMigrator": True}
_FIRST_OCTET = 10
_OCTETS = 60


class LabError(Exception):
    """Something of the lab did not come up; the text holds the end of its log."""


@dataclass(frozen=True)
class ServerSpec:
    """How one API server is to run."""

    release: str = binaries.DEFAULT_RELEASE
    emulated_version: str = ""
    feature_gates: Mapping[str, bool] = field(default_factory=dict)
    runtime_config: Mapping[str, bool] = field(default_factory=dict)
    arguments: Sequence[str] = ()
    # A kube-apiserver of one's own in place of the release's.
    program: str = ""
    # good; or one of the ways a certificate goes wrong: foreign, misnamed, expired.
    certificate: str = "good"

    def with_storage_version_api(self) -> ServerSpec:
        """The same, with the StorageVersion API turned on."""
        return replace(
            self,
            feature_gates={**self.feature_gates, "StorageVersionAPI": True},
            runtime_config={**self.runtime_config, STORAGE_VERSION_API: True},
        )

    def with_migration_api(self) -> ServerSpec:
        """The same, with the in-tree API for migrations turned on; 1.37 has it by itself."""
        if self.release != binaries.DEFAULT_RELEASE:
            return self
        return replace(
            self,
            feature_gates={**self.feature_gates, **MIGRATION_GATE},
            runtime_config={**self.runtime_config, MIGRATION_API: True},
        )


class PrivateNetwork:
    """Addresses of the documentation range in the lab's own network: found and reached for real."""

    port = 6443
    services, first_service = "10.0.0.0/24", "10.0.0.1"

    def __init__(self) -> None:
        # Workers of one test run share the network: each takes addresses of its own.
        worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0")[2:])
        first = _FIRST_OCTET + _OCTETS * worker
        self._octets = itertools.cycle(range(first, first + _OCTETS))

    def take(self) -> tuple[str, int]:
        for octet in itertools.islice(self._octets, _OCTETS):
            # Another process in this network may have taken it.
            with suppress(namespaces.AddressError):
                address = self._address(octet)
                namespaces.add_address(address)
                return address, self.port
        raise LabError(f"all {_OCTETS} addresses of the lab's network are taken")

    def _address(self, octet: int) -> str:
        return f"192.0.2.{octet}"

    def give_back(self, address: str) -> None:
        # One that was cut off is away already.
        with suppress(namespaces.AddressError):
            namespaces.remove_address(address)

    def cut(self, address: str) -> None:
        namespaces.remove_address(address)

    def rejoin(self, address: str) -> None:
        namespaces.add_address(address)

    def advertised(self, address: str, port: int) -> str:
        return address


class PrivateNetworkV6(PrivateNetwork):
    """The same with addresses of the documentation range of IPv6."""

    services, first_service = "fd00:10::/112", "fd00:10::1"

    def _address(self, octet: int) -> str:
        return f"2001:db8::{octet}"


class LoopbackNetwork:
    """Ports of 127.0.0.1, for people; servers advertise a made-up address: they refuse loopback."""

    services, first_service = PrivateNetwork.services, PrivateNetwork.first_service

    def __init__(self, first_port: int) -> None:
        self._ports = itertools.count(first_port)
        self._first_port = first_port

    def take(self) -> tuple[str, int]:
        return "127.0.0.1", next(self._ports)

    def give_back(self, address: str) -> None:
        """Ports are not reused."""

    def cut(self, address: str) -> None:
        raise LabError("a server on 127.0.0.1 can't be cut off: use a lab inside namespaces")

    rejoin = cut

    def advertised(self, address: str, port: int) -> str:
        return f"192.0.2.{_FIRST_OCTET + port - self._first_port}"


Network = PrivateNetwork | LoopbackNetwork


class Server:
    """One kube-apiserver."""

    def __init__(self, plane: ControlPlane, name: str, spec: ServerSpec) -> None:
        self._plane = plane
        self.name, self.spec = name, spec
        self.address, self.port = plane.take_address()
        self.process: Process | None = None

    @property
    def url(self) -> str:
        return f"https://{namespaces.join_port(self.address, self.port)}"

    # One for all requests: a new connection costs more than most of them.
    @cached_property
    def api(self) -> Api:
        """The administrator's client to this very server."""
        return Api(self.url, self._plane.admin)

    @property
    def running(self) -> bool:
        return self.process is not None and self.process.running

    def start(self) -> None:
        """Start it, without waiting."""
        log = self._plane.directory / "logs" / f"{self.name}.log"
        self.process = Process(self._command(), log=log, hostname=self.name)

    def wait_ready(self, timeout: float = 90) -> None:
        """Wait until it is ready, and others find it."""
        assert self.process is not None
        process = self.process
        # A wrong certificate is the point of some tests; then the port is all that can be awaited.
        if self.spec.certificate == "good":
            self._plane.wait(self.api.ready, process, timeout)
            # Others find it in the EndpointSlice, which it joins a little later.
            self._plane.wait(lambda: self._plane.published(self, through=self), process, 30)
        else:
            self._plane.wait(lambda: "Serving securely" in process.tail(10_000), process, timeout)

    def restart(self, spec: ServerSpec | None = None) -> None:
        """Stop it and start it in place, perhaps as another release."""
        spec = spec or self.spec
        # First, so that it goes on as it was if there is no such release.
        binaries.find(binaries.kubernetes("kube-apiserver", spec.release))
        self.stop()
        self.spec = spec
        self.start()
        self.wait_ready()

    def stop(self) -> None:
        if self.process:
            self.process.stop()

    def kill(self) -> None:
        assert self.process is not None
        self.process.kill()

    def freeze(self) -> None:
        assert self.process is not None
        self.process.freeze()

    def thaw(self) -> None:
        assert self.process is not None
        self.process.thaw()

    def cut(self) -> None:
        """Make it unreachable for clients while it goes on working."""
        self._plane.network.cut(self.address)

    def rejoin(self) -> None:
        self._plane.network.rejoin(self.address)

    def _certificate(self) -> tuple[Path, Path]:
        plane, kind = self._plane, self.spec.certificate
        authority = plane.authority if kind != "foreign" else plane.foreign_authority
        service = "kubernetes.default.svc"
        return authority.issue(
            f"server-{self.name}",
            common_name="kube-apiserver",
            names=["kubernetes", "kubernetes.default", service, self.name],
            addresses=["192.0.2.254"]
            if kind == "misnamed"
            else [self.address, plane.network.first_service, plane.balancer.address],
            valid_for=timedelta(hours=-1) if kind == "expired" else timedelta(days=1),
        )

    def _command(self) -> list[str]:
        plane, spec = self._plane, self.spec
        certificate, key = self._certificate()
        proxy_certificate, proxy_key = plane.front_proxy
        flags: dict[str, object] = {
            "etcd-servers": plane.etcd.url,
            "etcd-cafile": plane.etcd.ca,
            "etcd-certfile": plane.etcd.certificate,
            "etcd-keyfile": plane.etcd.key,
            "bind-address": self.address,
            "secure-port": self.port,
            "advertise-address": plane.network.advertised(self.address, self.port),
            "tls-cert-file": certificate,
            "tls-private-key-file": key,
            "client-ca-file": plane.authority.certificate_file,
            "authorization-mode": "Node,RBAC",
            "service-cluster-ip-range": plane.network.services,
            "service-account-issuer": ISSUER,
            "service-account-key-file": plane.tokens.public_key_file,
            "service-account-signing-key-file": plane.tokens.private_key_file,
            "proxy-client-cert-file": proxy_certificate,
            "proxy-client-key-file": proxy_key,
            "requestheader-client-ca-file": plane.front_proxy_authority.certificate_file,
            "requestheader-allowed-names": "front-proxy",
            "requestheader-username-headers": "X-Remote-User",
            "requestheader-group-headers": "X-Remote-Group",
            "requestheader-extra-headers-prefix": "X-Remote-Extra-",
            # No kube-proxy runs here, so aggregated APIs are reached at their endpoints.
            "enable-aggregator-routing": "true",
            "profiling": "false",
        }
        if spec.emulated_version:
            flags["emulated-version"] = spec.emulated_version
        for flag, switches in (
            ("feature-gates", spec.feature_gates),
            ("runtime-config", spec.runtime_config),
        ):
            if switches:
                flags[flag] = ",".join(f"{k}={str(v).lower()}" for k, v in switches.items())
        program = spec.program or binaries.find(binaries.kubernetes("kube-apiserver", spec.release))
        return [str(program), *(f"--{k}={v}" for k, v in flags.items()), *spec.arguments]


class ControlPlane:
    """A whole lab. Use it as a context manager: leaving it ends every process."""

    def __init__(
        self, directory: Path, network: Network, authority: CertificateAuthority | None = None
    ) -> None:
        self.directory = directory
        self.network = network
        self._addresses: list[str] = []
        for part in ("logs", "pki", "kubeconfigs"):
            (directory / part).mkdir(parents=True, exist_ok=True)
        pki = directory / "pki"
        self.authority = (
            authority.at(pki / "cluster")
            if authority
            else CertificateAuthority(pki / "cluster", "lockstep-lab")
        )
        self.foreign_authority = CertificateAuthority(pki / "foreign", "someone-else")
        self.front_proxy_authority = CertificateAuthority(pki / "front-proxy", "front-proxy-ca")
        self.front_proxy = self.front_proxy_authority.issue("client", common_name="front-proxy")
        self.tokens = TokenSigner(pki)
        self.admin = self.user("admin", groups=["system:masters"])
        self.servers: dict[str, Server] = {}
        self._processes: list[Process] = []
        try:
            self.etcd = self._start_etcd()
            self.balancer = LoadBalancer(*self.take_address(), backends=self._backends)
        except BaseException:
            self._end_processes()
            raise

    def __enter__(self) -> ControlPlane:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    def close(self) -> None:
        """End everything; the order spares servers from waiting for an etcd that is gone."""
        try:
            self.balancer.close()
        finally:
            self._end_processes()

    def _end_processes(self) -> None:
        servers = [server.process for server in self.servers.values() if server.process]
        for process in (*servers, *reversed(self._processes)):
            process.kill()
        for address in self._addresses:
            self.network.give_back(address)

    def take_address(self) -> tuple[str, int]:
        """An address and a port of its own for one more process; it goes back at the end."""
        address, port = self.network.take()
        self._addresses.append(address)
        return address, port

    # --- servers ---

    def add_servers(self, *specs: ServerSpec) -> list[Server]:
        """Start servers side by side (cp-1, cp-2, ...) and wait until all are ready."""
        added = []
        for spec in specs:
            added.append(self.start_server(spec))
            # Servers are told apart by when they started, which they tell to 10 ms.
            time.sleep(0.05)
        for server in added:
            server.wait_ready()
        return added

    def start_server(self, spec: ServerSpec) -> Server:
        """Start one more server, without waiting."""
        name = f"cp-{len(self.servers) + 1}"
        server = self.servers[name] = Server(self, name, spec)
        server.start()
        return server

    def published(self, server: Server, *, through: Server) -> bool:
        """Whether the EndpointSlice of the servers names one, as another one shows it."""
        address = self.network.advertised(server.address, server.port)
        path = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"
        slices = through.api.get(path)["items"]
        endpoints = [e for one in slices for e in one.get("endpoints") or []]
        return any(address in endpoint["addresses"] for endpoint in endpoints)

    @cached_property
    def api(self) -> Api:
        """The administrator's client, through the load balancer."""
        return Api(self.balancer.url, self.admin)

    def create_crds(self, *definitions: Mapping[str, Any]) -> None:
        """Create definitions and wait until every running server serves them."""
        for definition in definitions:
            self.api.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition)
        for server in self.servers.values():
            for definition in definitions:
                self._wait_served(server, definition["spec"])

    def _wait_served(self, server: Server, spec: Mapping[str, Any]) -> None:
        version = next(v["name"] for v in spec["versions"] if v["served"])
        path = f"/apis/{spec['group']}/{version}/{spec['names']['plural']}"
        if server.running and server.process:
            self.wait(lambda: server.api.answers(path), server.process, 30)

    def _backends(self) -> list[tuple[str, int]]:
        return [(s.address, s.port) for s in self.servers.values() if s.running]

    # --- people and tokens ---

    def user(self, name: str, *, groups: Sequence[str] = ()) -> User:
        """A user with a client certificate."""
        certificate, key = self.authority.issue(f"user-{name}", common_name=name, groups=groups)
        return User(name, self.authority.certificate_file, certificate, key)

    def token_user(self, name: str, token: str) -> User:
        """A user with a bearer token."""
        return User(name, self.authority.certificate_file, token=token)

    def kubeconfig(self, user: User | None = None, server: str = "") -> Path:
        """A kubeconfig file of a user, for the load balancer unless a server's URL is given."""
        user = user or self.admin
        url = server or self.balancer.url
        credentials: dict[str, str] = {"token": user.token}
        if user.certificate and user.key:
            credentials = {
                "client-certificate-data": _base64_file(user.certificate),
                "client-key-data": _base64_file(user.key),
            }
        cluster = {"server": url, "certificate-authority-data": _base64_file(user.ca)}
        document = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "lab",
            "clusters": [{"name": "lab", "cluster": cluster}],
            "users": [{"name": user.name, "user": credentials}],
            "contexts": [{"name": "lab", "context": {"cluster": "lab", "user": user.name}}],
        }
        host = url.split("://")[-1].replace(":", "-")
        path = self.directory / "kubeconfigs" / f"{user.name}-{host}.yaml"
        path.touch(mode=0o600)
        path.write_text(json.dumps(document, indent=1))
        return path

    # --- the rest of a control plane ---

    def start_controller_manager(
        self,
        *,
        release: str = binaries.DEFAULT_RELEASE,
        controllers: Sequence[str] = ("*",),
        feature_gates: Mapping[str, bool] | None = None,
    ) -> Process:
        """A real kube-controller-manager that runs the named controllers."""
        user = self.user("system:kube-controller-manager")
        program = binaries.find(binaries.kubernetes("kube-controller-manager", release))
        gates = ",".join(f"{k}={str(v).lower()}" for k, v in (feature_gates or {}).items())
        address, port = self.take_address()
        command: list[str | Path] = [
            program,
            f"--kubeconfig={self.kubeconfig(user)}",
            f"--controllers={','.join(controllers)}",
            "--use-service-account-credentials=true",
            f"--service-account-private-key-file={self.tokens.private_key_file}",
            f"--root-ca-file={self.authority.certificate_file}",
            "--leader-elect=false",
            f"--bind-address={address}",
            f"--secure-port={port}",
        ]
        if gates:
            command.append(f"--feature-gates={gates}")
        return self._start("kube-controller-manager", command)

    def start_in_tree_migrator(self, *, release: str = binaries.DEFAULT_RELEASE) -> Process:
        """A kube-controller-manager that runs migrations; it sees only what is defined by now.

        The migrations rely on what the garbage collector knows of the objects, and that looks
        for new resources every half minute.
        """
        return self.start_controller_manager(
            release=release,
            controllers=["storage-version-migrator-controller", "garbage-collector-controller"],
            feature_gates=MIGRATION_GATE,
        )

    def start_migrator(self, *arguments: str, user: User | None = None) -> Process:
        """The real out-of-tree migrator; without a user it runs as its own manifests let it."""
        return self._start_out_of_tree("migrator", *arguments, user=user)

    def start_trigger(self) -> Process:
        """The real out-of-tree trigger."""
        return self._start_out_of_tree("trigger")

    def start_sample_apiserver(self, name: str = "sample") -> tuple[Process, str, int]:
        """An aggregated API server, and the address to name in an EndpointSlice."""
        address, port = self.take_address()
        certificate, key = self.authority.issue(
            f"aggregated-{name}",
            common_name=name,
            names=["wardle.wardle.svc"],
            addresses=[address],
        )
        kubeconfig = self.kubeconfig()
        process = self._start(
            f"sample-apiserver-{name}",
            [
                binaries.find(binaries.sample_apiserver()),
                f"--etcd-servers={self.etcd.url}",
                f"--etcd-cafile={self.etcd.ca}",
                f"--etcd-certfile={self.etcd.certificate}",
                f"--etcd-keyfile={self.etcd.key}",
                f"--bind-address={address}",
                f"--secure-port={port}",
                f"--tls-cert-file={certificate}",
                f"--tls-private-key-file={key}",
                f"--kubeconfig={kubeconfig}",
                f"--authentication-kubeconfig={kubeconfig}",
                f"--authorization-kubeconfig={kubeconfig}",
                "--enable-priority-and-fairness=false",
            ],
        )
        self.wait(Api(f"https://{address}:{port}", self.admin).ready, process, 60)
        return process, address, port

    def _start_out_of_tree(self, name: str, *arguments: str, user: User | None = None) -> Process:
        program = binaries.find(binaries.migrator(name))
        return self._start(name, [program, f"--kubeconfig={self.kubeconfig(user)}", *arguments])

    def _start(self, name: str, command: Sequence[str | Path]) -> Process:
        process = Process(command, log=self.directory / "logs" / f"{name}.log")
        self._processes.append(process)
        return process

    def _start_etcd(self) -> EtcdStore:
        address, port = self.take_address()
        _peer_address, peer_port = (
            (address, 2380) if port == PrivateNetwork.port else self.take_address()
        )
        authority = CertificateAuthority(self.directory / "pki" / "etcd", "lockstep-lab-etcd")
        certificate, key = authority.issue("server", common_name="etcd", addresses=[address])
        client_certificate, client_key = authority.issue("client", common_name="kube-apiserver")
        url = f"https://{namespaces.join_port(address, port)}"
        peer_url = f"http://{namespaces.join_port(address, peer_port)}"
        process = self._start(
            "etcd",
            [
                binaries.find(binaries.etcd()),
                f"--data-dir={self.directory / 'etcd'}",
                f"--listen-client-urls={url}",
                f"--advertise-client-urls={url}",
                f"--listen-peer-urls={peer_url}",
                f"--initial-advertise-peer-urls={peer_url}",
                f"--initial-cluster=default={peer_url}",
                f"--cert-file={certificate}",
                f"--key-file={key}",
                f"--trusted-ca-file={authority.certificate_file}",
                "--client-cert-auth",
                "--unsafe-no-fsync",
                "--log-level=warn",
            ],
        )
        self.etcd_process = process
        ca = authority.certificate_file
        store = EtcdStore(url, ca=ca, certificate=client_certificate, key=client_key)
        self.wait(lambda: _answers(store), process, 30)
        return store

    def wait(self, condition: Callable[[], bool], process: Process, timeout: float) -> None:
        """Wait for a condition as long as the process it depends on lives."""
        deadline = time.monotonic() + timeout
        while not condition():
            if not process.running:
                raise LabError(f"{process.log.stem} ended:\n{process.tail()}")
            if time.monotonic() > deadline:
                raise LabError(
                    f"{process.log.stem} is not ready after {timeout} s:\n{process.tail()}"
                )
            time.sleep(0.1)


@contextmanager
def control_plane(
    *specs: ServerSpec,
    network: Network | None = None,
    authority: CertificateAuthority | None = None,
) -> Iterator[ControlPlane]:
    """A control plane with these servers, in a directory that goes away with it.

    With the authority of another one, as a company's own CA has it, each trusts the other's users.
    """
    with (
        tempfile.TemporaryDirectory(prefix="lockstep-lab-") as directory,
        ControlPlane(Path(directory), network or PrivateNetwork(), authority) as plane,
    ):
        plane.add_servers(*specs)
        yield plane


def _answers(store: EtcdStore) -> bool:
    try:
        return store.revision() > 0
    except Exception:
        return False


def _base64_file(path: Path) -> str:
    return base64.b64encode(path.read_bytes()).decode()
