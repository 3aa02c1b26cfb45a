"""The bytes themselves: raw reads and writes of the lab's etcd, the oracle of every test."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path

import urllib3

# etcd takes no more in one transaction.
_AT_ONCE = 128


class EtcdStore:
    """Speaks to etcd through its JSON gateway."""

    def __init__(self, url: str, *, ca: Path, certificate: Path, key: Path) -> None:
        self.url, self.ca, self.certificate, self.key = url, ca, certificate, key
        self._pool = urllib3.PoolManager(
            ca_certs=str(ca),
            cert_file=str(certificate),
            key_file=str(key),
            retries=False,
            maxsize=4,
        )

    def call(self, path: str, body: dict[str, object]) -> dict[str, object]:
        """One request to the gateway."""
        answer = self._pool.request(
            "POST", f"{self.url}/v3/{path}", body=json.dumps(body), timeout=30
        )
        if answer.status != 200:
            raise RuntimeError(f"etcd answered {answer.status}: {answer.data.decode()}")
        return dict(json.loads(answer.data))

    def get(self, key: str) -> bytes | None:
        """The raw value under one key."""
        for _key, value in self._range({"key": _encode(key)}):
            return value
        return None

    def put(self, key: str, value: bytes) -> None:
        """Write raw bytes past every API server."""
        encoded = base64.b64encode(value).decode()
        self.call("kv/put", {"key": _encode(key), "value": encoded})

    def put_all(self, values: Mapping[str, bytes]) -> None:
        """The same for many keys, with few requests."""
        puts = [
            {"request_put": {"key": _encode(key), "value": base64.b64encode(value).decode()}}
            for key, value in values.items()
        ]
        for at in range(0, len(puts), _AT_ONCE):
            self.call("kv/txn", {"success": puts[at : at + _AT_ONCE]})

    def delete(self, key: str) -> None:
        self.call("kv/deleterange", {"key": _encode(key)})

    def items(self, prefix: str) -> Iterator[tuple[str, bytes]]:
        """Every key and value below a prefix."""
        return self._range({"key": _encode(prefix), "range_end": _encode(_after(prefix))})

    def keys(self, prefix: str) -> list[str]:
        body = {"key": _encode(prefix), "range_end": _encode(_after(prefix)), "keys_only": True}
        return [key for key, _value in self._range(body)]

    def writes(self, prefix: str) -> dict[str, int]:
        """How often each key below a prefix has been written since it was created."""
        body = {"key": _encode(prefix), "range_end": _encode(_after(prefix)), "keys_only": True}
        pairs = self.call("kv/range", body).get("kvs", [])
        assert isinstance(pairs, list)
        return {base64.b64decode(one["key"]).decode(): int(one["version"]) for one in pairs}

    def revision(self) -> int:
        """How many writes have reached etcd: the difference of two counts those between."""
        header = self.call("kv/range", {"key": _encode("/none")})["header"]
        assert isinstance(header, dict)
        return int(header["revision"])

    def compact(self, revision: int) -> None:
        self.call("kv/compaction", {"revision": str(revision), "physical": True})

    def stored_versions(self, prefix: str) -> dict[str, str]:
        """The group/version that each object below a prefix is encoded in."""
        return {key: stored_version(value) for key, value in self.items(prefix)}

    def _range(self, body: dict[str, object]) -> Iterator[tuple[str, bytes]]:
        pairs = self.call("kv/range", body).get("kvs", [])
        assert isinstance(pairs, list)
        for pair in pairs:
            key = base64.b64decode(pair["key"]).decode()
            yield key, base64.b64decode(pair.get("value", ""))


def stored_version(value: bytes) -> str:
    """Independent of the collection's own reader on purpose: tests compare the two."""
    if value.startswith(b"k8s\x00"):
        # runtime.Unknown{typeMeta{apiVersion, kind}, ...}: field 1 of field 1.
        length = value[7]
        return value[8 : 8 + length].decode()
    if value.startswith(b"{"):
        return str(json.loads(value)["apiVersion"])
    encrypted = re.match(rb"k8s:enc:[a-z]+:v\d+:[^:]+:", value)
    return encrypted.group().decode() if encrypted else "undecodable"


def _encode(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def _after(prefix: str) -> str:
    return prefix[:-1] + chr(ord(prefix[-1]) + 1)
