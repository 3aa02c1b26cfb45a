"""An etcd of one's own, of one member or more, without API servers: to be frozen, cut, restored."""

from __future__ import annotations

import subprocess
import time
from functools import cached_property
from pathlib import Path
from typing import Any

from . import binaries
from .control_plane import LabError, PrivateNetwork
from .etcd import EtcdStore
from .pki import CertificateAuthority
from .processes import Process

_TOKEN = "lockstep-lab"


class Member:
    """One member; its address serves clients and the other members."""

    def __init__(self, cluster: EtcdCluster, name: str) -> None:
        self._cluster, self.name = cluster, name
        self.address, port = cluster.network.take()
        self.url, self.peer = f"https://{self.address}:{port}", f"http://{self.address}:2380"
        self.data = cluster.directory / name
        self.process: Process | None = None
        self._cut = False
        self.store = EtcdStore(
            self.url,
            ca=cluster.authority.certificate_file,
            certificate=cluster.client[0],
            key=cluster.client[1],
        )

    def start(self) -> None:
        certificate, key = self._cluster.authority.issue(
            f"server-{self.address}", common_name="etcd", addresses=[self.address]
        )
        command: list[str | Path] = [
            binaries.find(binaries.etcd()),
            f"--name={self.name}",
            f"--data-dir={self.data}",
            f"--listen-client-urls={self.url}",
            f"--advertise-client-urls={self.url}",
            f"--listen-peer-urls={self.peer}",
            *self._cluster.peer_flags(self),
            f"--cert-file={certificate}",
            f"--key-file={key}",
            f"--trusted-ca-file={self._cluster.authority.certificate_file}",
            "--client-cert-auth",
            # Elections within tests, not beside them.
            "--heartbeat-interval=50",
            "--election-timeout=500",
            "--unsafe-no-fsync",
            "--log-level=warn",
        ]
        self.process = Process(command, log=self._cluster.directory / f"{self.name}.log")

    def freeze(self) -> None:
        assert self.process is not None
        self.process.freeze()

    def cut(self) -> None:
        """Let nobody reach it, neither clients nor the other members."""
        self._cluster.network.cut(self.address)
        self._cut = True

    def heal(self) -> None:
        """Undo whatever was done to it."""
        assert self.process is not None
        self.process.thaw()
        if self._cut:
            self._cluster.network.rejoin(self.address)
            self._cut = False

    @cached_property
    def id(self) -> str:
        return str(self._status()["header"]["member_id"])

    @property
    def leader(self) -> str:
        """The id of the leader that it knows; 0 if it knows none."""
        return str(self._status().get("leader", "0"))

    def _status(self) -> dict[str, Any]:
        return self.store.call("maintenance/status", {})

    def end(self) -> None:
        if self.process:
            self.process.kill()
        self._cluster.network.give_back(self.address)


class EtcdCluster:
    """Use it as a context manager: leaving it ends every member."""

    def __init__(
        self,
        network: PrivateNetwork,
        directory: Path,
        *,
        size: int = 1,
        beside: EtcdCluster | None = None,
    ) -> None:
        """With another one beside it, both take the same certificates, as an API server's do."""
        self.network, self.directory = network, directory
        directory.mkdir(parents=True, exist_ok=True)
        if beside:
            self.authority, self.client = beside.authority, beside.client
        else:
            self.authority = CertificateAuthority(directory / "pki", "own-etcd")
            self.client = self.authority.issue("client", common_name="kube-apiserver")
        self.members = [Member(self, f"m{number}") for number in range(1, size + 1)]

    def __enter__(self) -> EtcdCluster:
        try:
            for member in self.members:
                member.start()
            self.wait_ready()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_exception: object) -> None:
        for member in self.members:
            member.end()

    @property
    def store(self) -> EtcdStore:
        return self.members[0].store

    @property
    def urls(self) -> list[str]:
        return [member.url for member in self.members]

    def peer_flags(self, member: Member) -> list[str]:
        """What makes it a member of this cluster, and of the same one when it is restored."""
        peers = ",".join(f"{each.name}={each.peer}" for each in self.members)
        return [
            f"--initial-cluster={peers}",
            f"--initial-cluster-token={_TOKEN}",
            f"--initial-advertise-peer-urls={member.peer}",
        ]

    def wait_ready(self, within: float = 30) -> None:
        """Wait until every member answers for all, and has come as far as the others."""
        deadline = time.monotonic() + within
        while not self._agreed():
            if time.monotonic() > deadline:
                tails = [each.process.tail() for each in self.members if each.process]
                raise LabError("etcd is not ready:\n" + "\n".join(tails))
            time.sleep(0.05)

    def _agreed(self) -> bool:
        try:
            return len({member.store.revision() for member in self.members}) == 1
        except Exception:
            return False

    def save(self, path: Path) -> None:
        """A snapshot, as etcdctl takes it."""
        subprocess.run(
            [
                binaries.find(binaries.etcd("etcdctl")),
                f"--endpoints={self.members[0].url}",
                f"--cacert={self.authority.certificate_file}",
                f"--cert={self.client[0]}",
                f"--key={self.client[1]}",
                "snapshot",
                "save",
                path,
            ],
            check=True,
            capture_output=True,
        )

    def restore(self, path: Path, *, bump_revision: int) -> None:
        """Put back what a snapshot holds, under revisions that nobody has seen yet."""
        for member in self.members:
            assert member.process is not None
            member.process.kill()
            member.data = member.data.with_name(f"{member.data.name}-restored")
            subprocess.run(
                [
                    binaries.find(binaries.etcd("etcdutl")),
                    "snapshot",
                    "restore",
                    path,
                    f"--name={member.name}",
                    f"--data-dir={member.data}",
                    f"--bump-revision={bump_revision}",
                    "--mark-compacted",
                    *self.peer_flags(member),
                ],
                check=True,
                capture_output=True,
            )
            member.start()
        self.wait_ready()
