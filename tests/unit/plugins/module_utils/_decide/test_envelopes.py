# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Envelopes: version and kind, or the key of encryption, from the first bytes of a value."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide import envelopes
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.envelopes import (
    Envelope,
    read_envelope,
    read_uid,
)

LABELS = st.from_regex(r"[a-z]([a-z0-9-]{0,8}[a-z0-9])?", fullmatch=True)
VERSIONS = st.from_regex(r"v[1-9]((alpha|beta)[1-9])?", fullmatch=True)
GROUP_VERSIONS = st.one_of(
    VERSIONS, st.builds("{}/{}".format, st.lists(LABELS, min_size=1).map(".".join), VERSIONS)
)
KINDS = st.from_regex(r"[A-Z][A-Za-z]{0,30}", fullmatch=True)
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def length_delimited(number: int, content: bytes) -> bytes:
    size, encoded = len(content), bytearray([number << 3 | 2])
    while size > 127:
        encoded.append(size & 127 | 128)
        size >>= 7
    encoded.append(size)
    return bytes(encoded) + content


def protobuf(version: str, kind: str, raw: bytes = b"object") -> bytes:
    type_meta = length_delimited(1, version.encode()) + length_delimited(2, kind.encode())
    rest = length_delimited(2, raw) + length_delimited(3, b"") + length_delimited(4, b"")
    return b"k8s\0" + length_delimited(1, type_meta) + rest


def cbor(value: object) -> bytes:
    """As API servers write it: names and texts as byte strings."""
    if isinstance(value, dict):
        items = b"".join(cbor(name) + cbor(one) for name, one in value.items())
        return cbor_head(5, len(value)) + items
    if isinstance(value, list):
        return cbor_head(4, len(value)) + b"".join(map(cbor, value))
    if isinstance(value, bool) or value is None:
        return {False: b"\xf4", True: b"\xf5", None: b"\xf6"}[value]
    if isinstance(value, int):
        value %= 2**32
        return cbor_head(0, value)
    encoded = str(value).encode("utf-8", "replace")
    return cbor_head(2, len(encoded)) + encoded


def cbor_head(major: int, argument: int) -> bytes:
    if argument < 24:
        return bytes([major << 5 | argument])
    return bytes([major << 5 | 26]) + argument.to_bytes(4, "big")


def kms_v2(plugin: str, key_id: bytes, data: bytes = b"ciphertext") -> bytes:
    fields = length_delimited(1, data) + length_delimited(2, key_id) + length_delimited(3, b"dek")
    return f"k8s:enc:kms:v2:{plugin}:".encode() + fields


@given(version=GROUP_VERSIONS, kind=KINDS, raw=st.binary(max_size=300))
def test_protobuf_names_version_and_kind(version, kind, raw):
    assert read_envelope(protobuf(version, kind, raw)) == Envelope(version, kind)


@given(version=GROUP_VERSIONS, kind=KINDS, more=st.dictionaries(st.text(), JSON_VALUES))
def test_json_names_version_and_kind_wherever_they_stand(version, kind, more):
    names = {"apiVersion": version, "kind": kind}
    fields = {name: value for name, value in more.items() if name not in names}
    for document in ({**names, **fields}, {**fields, **names}, dict(reversed(names.items()))):
        for indent in (None, 1):
            value = json.dumps(document, indent=indent).encode() + b"\n"
            assert read_envelope(value) == Envelope(version, kind)


@given(version=GROUP_VERSIONS, kind=KINDS, more=st.dictionaries(st.text(), JSON_VALUES))
def test_cbor_names_version_and_kind_wherever_they_stand(version, kind, more):
    names = {"apiVersion": version, "kind": kind}
    fields = {name: value for name, value in more.items() if name not in names}
    for document in ({**names, **fields}, {**fields, **names}):
        assert read_envelope(b"\xd9\xd9\xf7" + cbor(document)) == Envelope(version, kind)


@pytest.mark.parametrize(
    ("value", "encryption"),
    [
        (b"k8s:enc:aescbc:v1:key1:\x01\x02", "aescbc:v1:key1"),
        (b"k8s:enc:secretbox:v1:2026-10:xyz", "secretbox:v1:2026-10"),
        (b"k8s:enc:aesgcm:v1:a:b:c", "aesgcm:v1:a"),
        (b"k8s:enc:kms:v1:vault:\x00\x10xx", "kms:v1:vault"),
        (kms_v2("vault", b"key-7"), "kms:v2:vault:key-7"),
        (kms_v2("vault", b"arn:aws:kms:x/7", b"c" * 5000), "kms:v2:vault:arn:aws:kms:x/7"),
    ],
)
def test_an_encrypted_value_tells_its_key_and_hides_its_version(value, encryption):
    assert read_envelope(value) == Envelope(encryption=encryption)


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (b"", envelopes.EMPTY),
        (b"garbage", envelopes.NO_ENVELOPE),
        (b"k8s", envelopes.NO_ENVELOPE),
        (b"apiVersion: v1\nkind: Pod\n", envelopes.NO_ENVELOPE),
        (b"k8s\0", envelopes.TRUNCATED),
        (protobuf("v1", "Pod")[:-9], envelopes.TRUNCATED),
        (protobuf("v1", "Pod")[:9], envelopes.TRUNCATED),
        (protobuf("", ""), envelopes.NO_VERSION),
        (b"k8s\0" + length_delimited(2, b"object"), envelopes.NO_VERSION),
        (protobuf("my password", "Pod"), envelopes.NO_VERSION),
        (b'{"apiVersion":"v1","kind":"Pod","spec":{', envelopes.NOT_PARSED),
        (b'{"kind":"Pod"}', envelopes.NO_VERSION),
        (b'{"apiVersion":1,"kind":"Pod"}', envelopes.NO_VERSION),
        (b'{"apiVersion":"the secret","kind":"Pod"}', envelopes.NO_VERSION),
        (b"{" * 100_000, envelopes.NOT_PARSED),
        (b'{"a":' * 100_000, envelopes.NOT_PARSED),
        (b"\xd9\xd9\xf7", envelopes.TRUNCATED),
        (b"\xd9\xd9\xf7\xa2\x4aapiVersion\x42v1", envelopes.TRUNCATED),
        (b"\xd9\xd9\xf7\x80", envelopes.DAMAGED),
        (b"\xd9\xd9\xf7\xbf\xff", envelopes.DAMAGED),
        (b"\xd9\xd9\xf7\xa1\x41a" + b"\x81" * 100_000, envelopes.DAMAGED),
        (b"k8s:enc:aescbc:v1:key1:", envelopes.TRUNCATED),
        (b"k8s:enc:aescbc", envelopes.DAMAGED),
        (b"k8s:enc:kms:v2:vault:garbage", envelopes.DAMAGED),
        (kms_v2("vault", b"key-7")[:-2], envelopes.TRUNCATED),
        (kms_v2("vault", b""), envelopes.DAMAGED),
    ],
)
def test_what_nobody_can_decode_has_a_reason(value, why):
    assert read_envelope(value) == Envelope(fault=why)


STARTS = st.sampled_from(
    [b"", b"k8s\0", b"k8s\0\n", b"{", b"\xd9\xd9\xf7\xa2", b"k8s:enc:", b"k8s:enc:kms:v2:x:"]
)


@given(start=STARTS, rest=st.binary(max_size=200))
def test_no_bytes_raise_and_each_has_exactly_one_story(start, rest):
    envelope = read_envelope(start + rest)
    stories = (envelope.version and envelope.kind, envelope.encryption, envelope.fault)
    assert sum(map(bool, stories)) == 1


@given(st.data())
def test_a_protobuf_value_cut_anywhere_is_told_from_a_whole_one(data):
    value = protobuf("apps/v1", "Deployment", data.draw(st.binary(min_size=1, max_size=300)))
    # Without its two empty strings at the end it is still whole.
    cut = data.draw(st.integers(min_value=4, max_value=len(value) - 5))
    assert read_envelope(value[:cut]).fault in (envelopes.TRUNCATED, envelopes.NO_VERSION)


UID = "0b1c2d3e-4f50-6172-8394-a5b6c7d8e9f0"


def namespace(uid, *, name=b"kube-system", filling=b""):
    """A Namespace as API servers store it: metadata first, its uid among other fields."""
    metadata = (
        length_delimited(1, name)
        + length_delimited(2, b"")
        + length_delimited(5, uid.encode())
        + length_delimited(6, b"")
        + b"\x38\x00"
        + length_delimited(11, filling)
    )
    raw = (
        length_delimited(1, metadata) + length_delimited(2, b"") + length_delimited(3, b"\x0a\x00")
    )
    return protobuf("v1", "Namespace", raw)


@pytest.mark.parametrize(
    "value",
    [
        namespace(UID),
        namespace(UID, filling=b"x" * 10_000),
        json.dumps({"apiVersion": "v1", "kind": "Namespace", "metadata": {"uid": UID}}).encode(),
    ],
    ids=["protobuf", "large", "JSON"],
)
def test_the_uid_of_an_object_is_in_its_metadata(value):
    assert read_uid(value) == UID


@pytest.mark.parametrize(
    "value",
    [
        b"",
        b"garbage",
        b"k8s:enc:aescbc:v1:key1:xx",
        namespace(UID)[:60],
        namespace("a secret text\n"),
        b'{"metadata": {}}',
        b'{"metadata": 7}',
        b"{" * 5000,
    ],
)
def test_what_hides_its_uid_gives_none(value):
    assert read_uid(value) == ""


@given(st.binary(max_size=60))
def test_no_value_raises_when_its_uid_is_asked_for(value):
    assert len(read_uid(value)) <= 64
    assert len(read_uid(b"k8s\0" + value)) <= 64
