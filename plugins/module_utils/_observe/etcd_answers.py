# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""What etcd is asked and what it answers, as bytes: protobuf, or the JSON of its gateway.

Pure. Whatever the bytes are, what comes out is an answer that fits the question, or an EtcdFault:
an answer that is believed without a look may be that of something that only poses as etcd.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Callable, Generic, TypeVar

from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.increments import (
    Item,
    Source,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.keys import KeyRange

# gRPC's codes, which the gateway gives too.
CANCELLED, DEADLINE, DENIED, EXHAUSTED = 1, 4, 7, 8
OUT_OF_RANGE, UNIMPLEMENTED, UNAVAILABLE, UNAUTHENTICATED = 11, 12, 14, 16
UNREACHABLE = (DEADLINE, UNAVAILABLE)

# All that reading bytes of any kind can come to.
_NOT_UNDERSTOOD = (
    ValueError,
    KeyError,
    TypeError,
    AttributeError,
    IndexError,
    OverflowError,
    RecursionError,
)
_ALARMS = {0: "NONE", 1: "NOSPACE", 2: "CORRUPT"}

Answer = TypeVar("Answer")


class EtcdFault(Exception):
    """etcd refused or could not be reached; gRPC's code, why, and what to do about it."""

    def __init__(self, code: int, why: str, remedy: str = "") -> None:
        super().__init__(why)
        self.code, self.why, self.remedy = code, why, remedy

    @property
    def compacted(self) -> bool:
        return self.code == OUT_OF_RANGE and "compacted" in self.why

    @property
    def ahead(self) -> bool:
        """The member has not got that revision yet."""
        return self.code == OUT_OF_RANGE and "future" in self.why

    @property
    def too_large(self) -> bool:
        return self.code == EXHAUSTED and "larger than max" in self.why


def foreign(why: str = "its answer is not etcd's") -> EtcdFault:
    """What answers there is no etcd, or something on the way changes what it says."""
    return EtcdFault(
        UNIMPLEMENTED,
        why,
        "Give the client address of an etcd, with nothing between that changes its answers",
    )


def understand(parse: Callable[..., Answer], *answer: Any) -> Answer:
    """The one place where an answer that can't be read becomes a fault."""
    try:
        return parse(*answer)
    except _NOT_UNDERSTOOD:
        pass
    # Raised out here, so that what could not be read, which may hold values, does not go along.
    raise foreign()


# --- reading keys -----------------------------------------------------------------------------


@dataclass(frozen=True)
class RangeRequest:
    """One read. With a revision, or asked for what it has itself, any member answers alone."""

    keys: KeyRange
    limit: int = 0
    revision: int = 0
    keys_only: bool = False
    count_only: bool = False
    local: bool = False


@dataclass(frozen=True)
class Page:
    """An answer: who gave it, what was counted, and items to be looked at once."""

    source: Source
    count: int
    more: bool
    keys: int
    size: int
    first: bytes
    last: bytes
    items: Iterable[Item]


def encode_request(request: RangeRequest) -> bytes:
    """A RangeRequest as protobuf."""
    parts = [
        b"\x0a" + _encode_varint(len(request.keys.start)) + request.keys.start,
        b"\x12" + _encode_varint(len(request.keys.end)) + request.keys.end,
    ]
    for tag, number in (
        (b"\x18", request.limit),
        (b"\x20", request.revision),
        (b"\x38", int(bool(request.revision) or request.local)),
        (b"\x40", int(request.keys_only)),
        (b"\x48", int(request.count_only)),
    ):
        if number:
            parts.append(tag + _encode_varint(number))
    return b"".join(parts)


def request_document(request: RangeRequest) -> dict[str, Any]:
    """The same for the gateway."""
    return {
        "key": base64.b64encode(request.keys.start).decode("ascii"),
        "range_end": base64.b64encode(request.keys.end).decode("ascii"),
        "limit": str(request.limit),
        "revision": str(request.revision),
        "serializable": bool(request.revision) or request.local,
        "keys_only": request.keys_only,
        "count_only": request.count_only,
    }


def protobuf_page(request: RangeRequest, message: bytes) -> Page:
    """A RangeResponse; keys and values stay where they are until they are looked at."""
    return _checked(request, understand(_decode_page, message))


def gateway_page(request: RangeRequest, body: bytes) -> Page:
    """The same from the gateway."""
    return _checked(request, understand(_parse_page, body))


def _checked(request: RangeRequest, page: Page) -> Page:
    """A page that fits what was asked for; what contradicts itself is no etcd's."""
    counted = page.keys == 0 if request.count_only else page.more == (page.count > page.keys)
    fits = (
        page.source.revision >= max(request.revision, 1)
        and page.source.cluster_id != "0"
        and counted
        and page.keys <= page.count
        and page.keys <= (request.limit or page.keys)
        # Else nobody would know where to go on.
        and (page.keys > 0 or page.count == 0 or request.count_only)
    )
    if not fits:
        raise foreign("its answer contradicts itself or what was asked")
    return Page(
        page.source,
        page.count,
        page.more,
        page.keys,
        page.size,
        page.first,
        page.last,
        _in_order(request.keys, page.items),
    )


def _in_order(keys: KeyRange, items: Iterable[Item]) -> Iterator[Item]:
    """The items as they come, as long as they are what was asked for, each after the last."""
    last = b""
    try:
        for item in items:
            key = item[0]
            if not last < key or not keys.start <= key < keys.end:
                raise ValueError
            last = key
            yield item
        return
    except _NOT_UNDERSTOOD:
        pass
    raise foreign("its answer holds keys out of order, or others than were asked for")


def _decode_page(message: bytes) -> Page:
    frames: list[tuple[int, int]] = []
    header: dict[int, int] = {}
    more, count, at, end = 0, 0, 0, len(message)
    while at < end:
        tag = message[at]
        if tag == 0x12:
            # Of most keys without a value one byte says how long they are.
            size = message[at + 1]
            at += 2
            if size > 127:
                size, at = _decode_varint(message, at - 1)
            frames.append((at, at + size))
            at += size
        elif tag == 0x0A:
            size, at = _decode_varint(message, at + 1)
            header = _numbers(_decode_fields(message[at : at + size]))
            at += size
        elif tag & 7 == 0:
            number, at = _decode_varint(message, at + 1)
            more, count = (number, count) if tag == 0x18 else (more, number)
        else:
            raise ValueError
    if at != end:
        raise ValueError
    return Page(
        source=Source(f"{header[1]:x}", header[3], header.get(4, 0)),
        count=count,
        more=bool(more),
        keys=len(frames),
        size=end,
        first=_decode_item(message, *frames[0])[0] if frames else b"",
        last=_decode_item(message, *frames[-1])[0] if frames else b"",
        items=(_decode_item(message, start, stop) for start, stop in frames),
    )


def _decode_item(message: bytes, at: int, end: int) -> Item:
    """Key, revision and value of a KeyValue, whose numbers come between: 2 to 4, of which 3."""
    size = message[at + 1]
    if message[at] != 0x0A or size > 127:
        return _decode_any_item(message[at:end])
    at += 2 + size
    key = message[at - size : at]
    if message[at] != 0x10:
        raise ValueError
    while message[at + 1] > 127:
        at += 1
    if message[at + 2] != 0x18:
        raise ValueError
    at += 3
    byte = message[at]
    revision, shift = byte & 0x7F, 7
    while byte > 127 and shift < 64:
        at += 1
        byte = message[at]
        revision |= (byte & 0x7F) << shift
        shift += 7
    # Its version, mostly of one byte, and the value; a lease may follow.
    value = b""
    at += 1
    while at < end:
        tag = message[at]
        at += 1
        if tag == 0x2A:
            size = message[at]
            at += 1
            if size > 127:
                size, at = _decode_varint(message, at - 1)
            value = message[at : at + size]
            at += size
        elif tag & 7 == 0:
            while message[at] > 127:
                at += 1
            at += 1
        else:
            raise ValueError
    if at != end or not key or not revision:
        raise ValueError
    return key, revision, value


def _decode_any_item(message: bytes) -> Item:
    """The same for a key that is longer than most."""
    fields = _decode_fields(message)
    (key,) = _messages(fields, 1)
    value = b"".join(_messages(fields, 5))
    return key, _numbers(fields)[3], value


def _parse_page(body: bytes) -> Page:
    document = _document(json.loads(body))
    header, pairs = _document(document["header"]), _list(document.get("kvs", []))
    return Page(
        source=Source(
            f"{_number(header['cluster_id']):x}",
            _number(header["revision"]),
            _number(header.get("raft_term", 0)),
        ),
        count=_number(document.get("count", 0)),
        more=_truth(document.get("more", False)),
        keys=len(pairs),
        # In base64 it is a third larger.
        size=len(body) * 3 // 4,
        first=_bytes(pairs[0]["key"]) if pairs else b"",
        last=_bytes(pairs[-1]["key"]) if pairs else b"",
        items=(
            (_bytes(pair["key"]), _number(pair["mod_revision"]), _bytes(pair.get("value", "")))
            for pair in pairs
        ),
    )


# --- asking a member how it is ----------------------------------------------------------------


@dataclass(frozen=True)
class Member:
    """One member, as another one tells of it."""

    id: int
    name: str
    urls: tuple[str, ...]
    learner: bool


@dataclass(frozen=True)
class MemberStatus:
    """What a member tells of itself."""

    version: str
    size: int
    used: int
    # 0: not told, as by releases before 3.6.
    quota: int
    # 0: it knows none.
    leader: int
    errors: tuple[str, ...]


@dataclass(frozen=True)
class Alarm:
    """An alarm that a member has raised."""

    member: int
    kind: str


@dataclass(frozen=True)
class Question(Generic[Answer]):
    """A question without parameters, and how its answer is read on either way."""

    path: str
    method: str
    parse: Callable[[Mapping[str, Any]], Answer]
    decode: Callable[[bytes], Answer]

    def read_json(self, body: bytes) -> Answer:
        return understand(lambda: self.parse(_document(json.loads(body))))

    def read_protobuf(self, message: bytes) -> Answer:
        return understand(self.decode, message)


def _parse_members(document: Mapping[str, Any]) -> tuple[Member, ...]:
    return tuple(
        Member(
            id=_number(member["ID"]),
            name=_text(member.get("name", "")),
            urls=tuple(map(_text, _list(member.get("clientURLs", [])))),
            learner=_truth(member.get("isLearner", False)),
        )
        for member in _some(_list(document["members"]))
    )


def _decode_members(message: bytes) -> tuple[Member, ...]:
    found = []
    for field in _some(_messages(_decode_fields(message), 2)):
        fields = _decode_fields(field)
        numbers = _numbers(fields)
        found.append(
            Member(
                id=numbers[1],
                name=b"".join(_messages(fields, 2)).decode(),
                urls=tuple(url.decode() for url in _messages(fields, 4)),
                learner=bool(numbers.get(5)),
            )
        )
    return tuple(found)


def _parse_status(document: Mapping[str, Any]) -> MemberStatus:
    size = _number(document["dbSize"])
    return MemberStatus(
        version=_text(document.get("version", "")),
        size=size,
        used=_number(document.get("dbSizeInUse", 0)) or size,
        quota=_number(document.get("dbSizeQuota", 0)),
        leader=_number(document.get("leader", 0)),
        errors=tuple(map(_text, _list(document.get("errors", [])))),
    )


def _decode_status(message: bytes) -> MemberStatus:
    fields = _decode_fields(message)
    numbers = _numbers(fields)
    return MemberStatus(
        version=b"".join(_messages(fields, 2)).decode(),
        size=numbers[3],
        used=numbers.get(9) or numbers[3],
        quota=numbers.get(12, 0),
        leader=numbers.get(4, 0),
        errors=tuple(error.decode() for error in _messages(fields, 8)),
    )


def _parse_alarms(document: Mapping[str, Any]) -> tuple[Alarm, ...]:
    _document(document["header"])
    return tuple(
        Alarm(_number(alarm["memberID"]), _text(alarm.get("alarm", "NONE")))
        for alarm in _list(document.get("alarms", []))
    )


def _decode_alarms(message: bytes) -> tuple[Alarm, ...]:
    fields = _decode_fields(message)
    (_header,) = _messages(fields, 1)
    every = [_numbers(_decode_fields(field)) for field in _messages(fields, 2)]
    return tuple(Alarm(one[1], _ALARMS[one.get(2, 0)]) for one in every)


MEMBERS = Question(
    "/v3/cluster/member/list", "/etcdserverpb.Cluster/MemberList", _parse_members, _decode_members
)
STATUS = Question(
    "/v3/maintenance/status", "/etcdserverpb.Maintenance/Status", _parse_status, _decode_status
)
ALARMS = Question(
    "/v3/maintenance/alarm", "/etcdserverpb.Maintenance/Alarm", _parse_alarms, _decode_alarms
)


# --- the rest of what the gateway says --------------------------------------------------------


def gateway_part(line: bytes) -> dict[str, Any]:
    """One part of a streamed answer; a fault may come after any of them."""
    part = understand(_parse_part, line)
    if isinstance(part, EtcdFault):
        raise part
    return part


def _parse_part(line: bytes) -> dict[str, Any] | EtcdFault:
    document = _document(json.loads(line))
    if document.get("error") is None:
        return _document(document["result"])
    error = _document(document["error"])
    code = error.get("grpc_code") or error.get("code") or UNAVAILABLE
    return EtcdFault(_number(code), _text(error["message"]))


def snapshot_piece(part: Mapping[str, Any]) -> tuple[bytes, int]:
    """The bytes in one part of a snapshot, and how many come after it, the digest not counted."""
    return understand(
        lambda: (_bytes(part.get("blob", "")), _number(part.get("remaining_bytes", 0)))
    )


def gateway_fault(status: int, body: bytes) -> EtcdFault:
    """What an answer other than 200 means."""
    try:
        document = _document(json.loads(body))
        return EtcdFault(_number(document["code"]), _text(document["message"]))
    except _NOT_UNDERSTOOD:
        pass
    if status == 404:
        return EtcdFault(
            UNIMPLEMENTED,
            "it has no JSON gateway",
            "Install the Python package grpcio on this host, or start etcd without"
            " --enable-grpc-gateway=false",
        )
    if b"CommonName" in body:
        return EtcdFault(UNAUTHENTICATED, "it does not take the certificate's name for a user")
    return EtcdFault(UNAVAILABLE, f"it answered with HTTP status {status}")


def read_version(body: bytes) -> str:
    """The version in the answer to `/version`."""
    version = understand(lambda: _text(_document(json.loads(body))["etcdserver"]))
    if not version:
        raise foreign()
    return version


# --- words of JSON ----------------------------------------------------------------------------


def _document(value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise TypeError
    return value


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise TypeError
    return value


def _some(values: list[Any]) -> list[Any]:
    if not values:
        raise ValueError
    return values


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError
    return value


def _truth(value: Any) -> bool:
    if not isinstance(value, bool):
        raise TypeError
    return value


def _number(value: Any) -> int:
    """The gateway writes numbers of 64 bits as texts."""
    if isinstance(value, str) and value.isascii() and value.isdigit():
        return int(value)
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise TypeError
    return value


def _bytes(value: Any) -> bytes:
    return base64.b64decode(_text(value), validate=True)


# --- words of protobuf ------------------------------------------------------------------------


def _decode_fields(message: bytes) -> list[tuple[int, int | bytes]]:
    """All fields of a message, up to its very end."""
    fields: list[tuple[int, int | bytes]] = []
    at, end = 0, len(message)
    while at < end:
        tag, at = _decode_varint(message, at)
        if tag & 7 == 0:
            number, at = _decode_varint(message, at)
            fields.append((tag >> 3, number))
        elif tag & 7 == 2:
            size, at = _decode_varint(message, at)
            fields.append((tag >> 3, message[at : at + size]))
            at += size
        else:
            raise ValueError
    if at != end:
        raise ValueError
    return fields


def _numbers(fields: Iterable[tuple[int, int | bytes]]) -> dict[int, int]:
    return {number: value for number, value in fields if isinstance(value, int)}


def _messages(fields: Iterable[tuple[int, int | bytes]], wanted: int) -> list[bytes]:
    return [value for number, value in fields if number == wanted and isinstance(value, bytes)]


def _decode_varint(message: bytes, at: int) -> tuple[int, int]:
    number, shift = 0, 0
    while True:
        byte = message[at]
        at += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number, at
        shift += 7
        if shift > 63:
            raise ValueError


def _encode_varint(number: int) -> bytes:
    encoded = bytearray()
    while number > 127:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)
