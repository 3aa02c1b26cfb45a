"""The lab's oracle: the version that bytes in etcd are encoded in."""

from __future__ import annotations

import pytest

from lab.etcd import stored_version

PROTOBUF = b"k8s\x00\x0a\x15\x0a\x07apps/v1\x12\x0aDeployment\x12\x00"


@pytest.mark.parametrize(
    ("value", "version"),
    [
        (PROTOBUF, "apps/v1"),
        (b'{"kind":"Widget","apiVersion":"example.com/v2"}', "example.com/v2"),
        (b"k8s:enc:aescbc:v1:key-2:\x00\x01", "k8s:enc:aescbc:v1:key-2:"),
        (b"\x00garbage", "undecodable"),
        (b"", "undecodable"),
    ],
    ids=["protobuf", "json", "encrypted", "garbage", "nothing"],
)
def test_the_stored_version_is_read_from_the_first_bytes(value: bytes, version: str) -> None:
    assert stored_version(value) == version
