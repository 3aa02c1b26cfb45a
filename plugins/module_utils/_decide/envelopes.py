# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""Envelopes: what the bytes around a stored object tell of it, without looking into the object.

API servers write an object as protobuf, JSON or CBOR, each of which names the version and the
kind, or encrypted, which names the key and hides the rest. Nothing else of a value is read, and
what is given back has the form of a name: a value that is no object can't shine through.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from functools import lru_cache

_PROTOBUF = b"k8s\x00"
_ENCRYPTED = b"k8s:enc:"
# Tag 55799, "this is CBOR".
_CBOR = b"\xd9\xd9\xf7"
_JSON_SPACE = b" \t\r\n"

_LABEL = r"[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?"
_GROUP_VERSION = re.compile(rf"(?:{_LABEL}(?:\.{_LABEL})*/)?{_LABEL}")
_KIND = re.compile(r"[A-Za-z][A-Za-z0-9]{0,126}")
_UID = re.compile(r"[-0-9A-Za-z]{1,64}")
_KEY = re.compile(rb"k8s:enc:([a-z0-9]{1,32}):(v[0-9]{1,3}):([!-9;-~]{1,253}):")
_JSON_START = re.compile(
    rb'[ \t\r\n]*\{[ \t\r\n]*"(?:'
    rb'apiVersion"[ \t\r\n]*:[ \t\r\n]*"([^"\\]+)"[ \t\r\n]*,[ \t\r\n]*"kind"'
    rb'[ \t\r\n]*:[ \t\r\n]*"([^"\\]+)"'
    rb'|kind"[ \t\r\n]*:[ \t\r\n]*"([^"\\]+)"[ \t\r\n]*,[ \t\r\n]*"apiVersion"'
    rb'[ \t\r\n]*:[ \t\r\n]*"([^"\\]+)")[ \t\r\n]*[,}]'
)

EMPTY = "it is empty"
NO_ENVELOPE = "it begins with no envelope that Kubernetes writes"
TRUNCATED = "it is truncated"
NO_VERSION = "its envelope names no version and kind"
NOT_PARSED = "it begins like JSON, and is none"
DAMAGED = "its envelope is damaged"

# As many CBOR containers within each other as Kubernetes itself takes.
_CBOR_DEPTH = 64


@dataclass(frozen=True)
class Envelope:
    """What one value's envelope tells: version and kind, or the key it is encrypted by."""

    version: str = ""
    kind: str = ""
    # provider:version:key as the value itself begins; for KMS v2 with the id of the key behind.
    encryption: str = ""
    # Why nobody can decode it; empty where its envelope is sound.
    fault: str = ""


class _Broken(Exception):
    """The envelope can't be read; why."""


def read_envelope(value: bytes) -> Envelope:
    """Read the envelope of one value. Never raises, whatever the bytes are."""
    start = value[:4]
    try:
        if start == _PROTOBUF:
            return _read_protobuf(value)
        if start == b"k8s:" and value.startswith(_ENCRYPTED):
            return _read_encrypted(value)
        if start[:3] == _CBOR:
            return _read_cbor(value)
        if start[:1] == b"{" or value.lstrip(_JSON_SPACE)[:1] == b"{":
            return _read_json(value)
    except _Broken as broken:
        return _fault(str(broken))
    return _fault(NO_ENVELOPE if value else EMPTY)


@lru_cache(maxsize=16)
def _fault(why: str) -> Envelope:
    return Envelope(fault=why)


def _named(version: str, kind: str) -> Envelope:
    if not (_GROUP_VERSION.fullmatch(version) and _KIND.fullmatch(kind) and len(version) < 400):
        raise _Broken(NO_VERSION)
    return Envelope(version=version, kind=kind)


def read_uid(value: bytes) -> str:
    """The UID in the metadata of one object that says whose cluster it is; nothing else of it.

    Empty where it can't be seen, as where the value is encrypted. Never raises.
    """
    uid = b""
    try:
        if value[:4] == _PROTOBUF:
            # runtime.Unknown{2: object{1: metadata{5: uid}}}
            whole = _protobuf_fields(value, len(_PROTOBUF), shown=len(value)).get(2, b"")
            metadata = _protobuf_fields(whole, 0, shown=len(whole)).get(1, b"")
            uid = _protobuf_fields(metadata, 0).get(5, b"")
        elif value.lstrip(_JSON_SPACE)[:1] == b"{":
            uid = str(json.loads(value)["metadata"]["uid"]).encode()
    except (_Broken, ValueError, KeyError, TypeError, RecursionError):
        return ""
    text = uid.decode("ascii", "replace")
    return text if _UID.fullmatch(text) else ""


# --- protobuf: runtime.Unknown{1: typeMeta{1: apiVersion, 2: kind}, 2: raw, 3 and 4: strings} ---


def _read_protobuf(value: bytes) -> Envelope:
    if len(value) < 6:
        raise _Broken(TRUNCATED)
    size = value[5]
    if value[4] != 0x0A or size > 127:
        return _read_any_protobuf(value)
    end = 6 + size
    envelope = _read_type_meta(value[6:end])
    # What API servers write: the object, and two empty strings. All else is taken apart below.
    try:
        if value[end] != 0x12:
            return _read_any_protobuf(value)
        raw, end = _varint(value, end + 1)
    except IndexError:
        raise _Broken(TRUNCATED) from None
    if value[end + raw :] == b"\x1a\x00\x22\x00":
        return envelope
    return _read_any_protobuf(value)


def _read_any_protobuf(value: bytes) -> Envelope:
    fields = _protobuf_fields(value, len(_PROTOBUF))
    if 1 not in fields:
        raise _Broken(NO_VERSION)
    return _read_type_meta(fields[1])


@lru_cache(maxsize=1024)
def _read_type_meta(message: bytes) -> Envelope:
    fields = _protobuf_fields(message, 0)
    try:
        version, kind = fields.get(1, b"").decode(), fields.get(2, b"").decode()
    except UnicodeDecodeError:
        raise _Broken(NO_VERSION) from None
    return _named(version, kind)


def _protobuf_fields(message: bytes, at: int, *, shown: int = 4096) -> dict[int, bytes]:
    """The fields of a message that have a length, up to its very end."""
    fields: dict[int, bytes] = {}
    end = len(message)
    try:
        while at < end:
            tag, at = _varint(message, at)
            wire_type = tag & 7
            if wire_type == 0:
                _number, at = _varint(message, at)
            elif wire_type == 2:
                size, at = _varint(message, at)
                if at + size > end:
                    raise _Broken(TRUNCATED)
                # An object itself may be large, and is of no interest.
                fields[tag >> 3] = message[at : at + min(size, shown)]
                at += size
            elif wire_type in (1, 5):
                at += 8 if wire_type == 1 else 4
            else:
                raise _Broken(DAMAGED)
    except IndexError:
        raise _Broken(TRUNCATED) from None
    if at > end:
        raise _Broken(TRUNCATED)
    return fields


def _varint(message: bytes, at: int) -> tuple[int, int]:
    """A number and where it ends; past the end of the message IndexError is raised."""
    number, shift = 0, 0
    while True:
        byte = message[at]
        at += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number, at
        shift += 7
        if shift > 63:
            raise _Broken(DAMAGED)


# --- encrypted ---


def _read_encrypted(value: bytes) -> Envelope:
    found = _KEY.match(value)
    if not found:
        raise _Broken(DAMAGED)
    if found.end() == len(value):
        raise _Broken(TRUNCATED)
    provider, version, _key = found.groups()
    if provider == b"kms" and version == b"v2":
        return _read_kms_v2(value, found.end())
    return _encrypted(found.group())


@lru_cache(maxsize=1024)
def _encrypted(prefix: bytes) -> Envelope:
    return Envelope(encryption=prefix[len(_ENCRYPTED) : -1].decode("ascii"))


def _read_kms_v2(value: bytes, at: int) -> Envelope:
    """EncryptedObject{1: data, 2: keyID, 3: source of the data key, ...}: the id is no secret."""
    fields = _protobuf_fields(value, at)
    key = fields.get(2, b"").decode("ascii", "replace")
    if not key or not key.isprintable() or 1 not in fields:
        raise _Broken(DAMAGED)
    prefix = value[len(_ENCRYPTED) : at].decode("ascii")
    return Envelope(encryption=prefix + key[:1024])


# --- JSON ---


def _read_json(value: bytes) -> Envelope:
    found = _JSON_START.match(value)
    # An encoder ends with the brace, or with a line break after it.
    if found and value[-2:].rstrip(_JSON_SPACE)[-1:] == b"}":
        version, kind, kind_first, version_last = found.groups()
        return _read_names(version or version_last, kind or kind_first)
    # Other fields come first, or something is amiss.
    try:
        document = json.loads(value)
    except (ValueError, RecursionError):
        raise _Broken(NOT_PARSED) from None
    names = document.get("apiVersion"), document.get("kind")
    if not (isinstance(names[0], str) and isinstance(names[1], str)):
        raise _Broken(NO_VERSION)
    return _named(names[0], names[1])


@lru_cache(maxsize=1024)
def _read_names(version: bytes, kind: bytes) -> Envelope:
    return _named(version.decode("utf-8", "replace"), kind.decode("utf-8", "replace"))


# --- CBOR ---


def _read_cbor(value: bytes) -> Envelope:
    """Walk over the outermost map; API servers write its names as byte strings, sorted."""
    names: dict[bytes, str] = {}
    try:
        major, count, at = _cbor_head(value, len(_CBOR))
        if major != 5 or count is None:
            raise _Broken(DAMAGED)
        for _entry in range(count):
            name, at = _cbor_string(value, at)
            if name in (b"apiVersion", b"kind"):
                text, at = _cbor_string(value, at)
                names[name] = text.decode("utf-8", "replace")
            else:
                at = _skip_cbor(value, at)
    except IndexError:
        raise _Broken(TRUNCATED) from None
    if at > len(value):
        raise _Broken(TRUNCATED)
    if at < len(value):
        raise _Broken(DAMAGED)
    return _named(names.get(b"apiVersion", ""), names.get(b"kind", ""))


def _cbor_head(value: bytes, at: int) -> tuple[int, int | None, int]:
    """The major type of an item, its argument (None: of indefinite length) and where it goes on."""
    byte = value[at]
    major, info = byte >> 5, byte & 31
    at += 1
    if info < 24:
        return major, info, at
    if info < 28:
        size = 1 << (info - 24)
        if at + size > len(value):
            raise IndexError
        return major, int.from_bytes(value[at : at + size], "big"), at + size
    if info == 31:
        return major, None, at
    raise _Broken(DAMAGED)


def _cbor_string(value: bytes, at: int) -> tuple[bytes, int]:
    major, size, at = _cbor_head(value, at)
    if major not in (2, 3) or size is None:
        raise _Broken(DAMAGED)
    if at + size > len(value):
        raise IndexError
    return value[at : at + min(size, 4096)], at + size


def _skip_cbor(value: bytes, at: int) -> int:
    """Where the item that begins here ends."""
    # How many items are still to come in each container that is open.
    open_ = [1]
    while open_:
        if not open_[-1]:
            open_.pop()
            continue
        open_[-1] -= 1
        major, argument, at = _cbor_head(value, at)
        if argument is None:
            raise _Broken(DAMAGED)
        if major in (2, 3):
            at += argument
        elif major in (4, 5):
            open_.append(argument * (major - 3))
        elif major == 6:
            open_.append(1)
        if at > len(value):
            raise IndexError
        if len(open_) > _CBOR_DEPTH:
            raise _Broken(DAMAGED)
    return at
