"""What is stored for a measurement: many objects, soon made, whose stored version alternates."""

from __future__ import annotations

import base64
import itertools
import re
import tempfile
import time
import uuid
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from lab.api import User
from lab.control_plane import ControlPlane, PrivateNetwork, ServerSpec
from lab.etcd import EtcdStore, stored_version
from lab.objects import CRDS, crd
from lab.recorder import Recorder
from lab.waiting import eventually

GROUP = "bench.example.com"
NAMESPACE = "default"
# Beside the measured ones, to see what the server writes now.
PROBE_NAMESPACE = "kube-system"
VERSIONS = ("v1", "v2")
# etcd takes no more in one transaction.
_TRANSACTION = 100
_WRITERS = 4
_PAGE = 5000
_UID = re.compile(rb"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


class NearPlane(ControlPlane):
    """A control plane whose clients speak to its first server, not through the load balancer.

    That one is written in Python and would be what is measured.
    """

    def kubeconfig(self, user: User | None = None, server: str = "") -> Path:
        return super().kubeconfig(user, server or self.servers["cp-1"].url)


@contextmanager
def near_plane(*specs: ServerSpec) -> Iterator[Recorder]:
    """Such a control plane, with our definitions."""
    with (
        tempfile.TemporaryDirectory(prefix="lockstep-lab-") as directory,
        NearPlane(Path(directory), PrivateNetwork()) as plane,
    ):
        plane.add_servers(*specs)
        recorder = Recorder(plane, through="cp-1")
        recorder.install()
        yield recorder


class Things:
    """Custom resources of two versions, one of which is stored, in turn."""

    def __init__(self, recorder: Recorder, plural: str, count: int, *, size: int) -> None:
        self.recorder, self.plural, self.count = recorder, plural, count
        self.version = VERSIONS[0]
        self.resource = f"{plural}.{GROUP}"
        self.api = recorder.api
        recorder.plane.create_crds(crd(plural, GROUP, storage=self.version, namespaced=True))
        for namespace, name in ((NAMESPACE, self.names[0]), (PROBE_NAMESPACE, "probe")):
            self._create(namespace, name, size)
        copy_object(recorder.plane.etcd, self._key(NAMESPACE, self.names[0]), self.names[1:])

    @property
    def names(self) -> Sequence[str]:
        return [f"thing-{number:07}" for number in range(self.count)]

    @property
    def paths(self) -> list[str]:
        """The objects' paths in the version that is written now, which needs no conversion."""
        return [f"{self._path(NAMESPACE)}/{name}" for name in self.names]

    @property
    def probe_path(self) -> str:
        return f"{self._path(PROBE_NAMESPACE)}/probe"

    def flip(self) -> None:
        """Have the other version written from now on, so that all objects are in an old one."""
        before, self.version = self._shown(), VERSIONS[self.version == VERSIONS[0]]
        self._settle_etcd()
        path = f"{CRDS}/{self.resource}"
        versions = self.api.get(path)["spec"]["versions"]
        for one in versions:
            one["storage"] = one["name"] == self.version
        self.api.patch(path, {"spec": {"versions": versions}})
        eventually(lambda: self._flipped(before), within=60)

    def check(self) -> None:
        """Prove that every object has been rewritten."""
        wrong = sum(
            stored_version(value) != f"{GROUP}/{self.version}"
            for _key, value in read_items(self.recorder.plane.etcd, self._key(NAMESPACE, ""))
        )
        if wrong:
            raise RuntimeError(f"{wrong} of {self.count} objects were not rewritten")

    def _settle_etcd(self) -> None:
        """What is left of earlier runs must not slow down the next one."""
        etcd = self.recorder.plane.etcd
        etcd.compact(etcd.revision())

    def _flipped(self, before: set[str]) -> bool:
        change = {"metadata": {"annotations": {"at": str(time.monotonic())}}}
        self.api.patch(self.probe_path, change)
        value = self.recorder.plane.etcd.get(self._key(PROBE_NAMESPACE, "probe"))
        written = stored_version(value or b"") == f"{GROUP}/{self.version}"
        return written and len(self._shown()) == 1 and self._shown() != before

    def _shown(self) -> set[str]:
        """The hashes in discovery: each version has a document, and they follow in turn."""
        listed = (self.api.get(f"/apis/{GROUP}/{version}")["resources"] for version in VERSIONS)
        return {
            one["storageVersionHash"]
            for one in itertools.chain.from_iterable(listed)
            if one["name"] == self.plural
        }

    def _create(self, namespace: str, name: str, size: int) -> None:
        document = {
            "apiVersion": f"{GROUP}/{self.version}",
            "kind": self.plural.removesuffix("s").capitalize(),
            "metadata": {"name": name},
            "spec": {"filling": "x" * size},
        }
        self.api.create(self._path(namespace), document)

    def _path(self, namespace: str) -> str:
        return f"/apis/{GROUP}/{self.version}/namespaces/{namespace}/{self.plural}"

    def _key(self, namespace: str, name: str) -> str:
        return f"/registry/{GROUP}/{self.plural}/{namespace}/{name}"


def copy_object(etcd: EtcdStore, key: str, names: Sequence[str]) -> None:
    """Store copies of one object under other names, past the API server, which would take longer.

    Names of the same length fit into any encoding.
    """
    folder, name = key.rsplit("/", 1)
    value = etcd.get(key)
    assert value is not None
    assert all(len(one) == len(name) for one in names)
    found = _UID.search(value)
    assert found is not None

    def copy(name_: str) -> tuple[str, bytes]:
        renamed = value.replace(name.encode(), name_.encode())
        return name_, renamed.replace(found.group(), str(uuid.uuid4()).encode())

    put_objects(etcd, folder, map(copy, names))


def put_objects(etcd: EtcdStore, folder: str, objects: Iterable[tuple[str, bytes]]) -> None:
    """Store objects by their names, past the API server, many at once."""

    def put(batch: Sequence[tuple[str, bytes]]) -> None:
        pairs = (
            {"key": _encode(f"{folder}/{name}".encode()), "value": _encode(value)}
            for name, value in batch
        )
        etcd.call("kv/txn", {"success": [{"requestPut": pair} for pair in pairs]})

    left = iter(objects)
    with ThreadPoolExecutor(_WRITERS) as pool:
        under_way: deque[Future[None]] = deque()
        while batch := list(itertools.islice(left, _TRANSACTION)):
            under_way.append(pool.submit(put, batch))
            # Not all of them at once: a million take much memory.
            if len(under_way) > 2 * _WRITERS:
                under_way.popleft().result()
        for one in under_way:
            one.result()


def read_items(etcd: EtcdStore, prefix: str) -> Iterator[tuple[bytes, bytes]]:
    """Every key and value below a prefix, in pages."""
    start, end = prefix.encode(), prefix[:-1].encode() + bytes([ord(prefix[-1]) + 1])
    while True:
        body = {"key": _encode(start), "range_end": _encode(end), "limit": str(_PAGE)}
        pairs = etcd.call("kv/range", dict(body)).get("kvs", [])
        assert isinstance(pairs, list)
        for pair in pairs:
            start = base64.b64decode(pair["key"]) + b"\0"
            yield start[:-1], base64.b64decode(pair.get("value", ""))
        if len(pairs) < _PAGE:
            return


def _encode(value: bytes) -> str:
    return base64.b64encode(value).decode()
