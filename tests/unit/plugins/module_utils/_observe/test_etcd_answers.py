# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What etcd answers: read as it was written, and anything else is a fault, never a traceback."""

from __future__ import annotations

import base64
import json
import os
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.keys import KeyRange
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.etcd_answers import (
    ALARMS,
    MEMBERS,
    STATUS,
    Alarm,
    EtcdFault,
    Member,
    MemberStatus,
    RangeRequest,
    encode_request,
    gateway_fault,
    gateway_page,
    gateway_part,
    protobuf_page,
    read_version,
    snapshot_piece,
)

many = settings(max_examples=10_000 if os.environ.get("LOCKSTEP_LONG") == "1" else 500)

PODS = KeyRange(b"/registry/pods/", b"/registry/pods0")
REQUEST = RangeRequest(PODS, limit=2, revision=4)
EVERY_KEY = KeyRange(b"", b"\xff" * 500)

# What etcd 3.6.16 answered to REQUEST, and to questions about itself.
CLUSTER = b"\x08\xcc\xb4\xeb\xa1\x9d\x95\xd3\xfa\x17"
MEMBER = b"\xe2\x87\xf8\xb4\xc2\xc0\xd0\xac."
HEADING = b"\n\x18" + CLUSTER + b"\x10" + MEMBER + b"\x18\x04 \x02"
PAGE = HEADING + (
    b'\x12B\n\x18/registry/pods/default/a\x10\x02\x18\x02 \x01* {"apiVersion":"v1","kind":"Pod"}'
    b"\x129\n\x18/registry/pods/default/b\x10\x03\x18\x03 \x01*\x17k8s\x00\n\t\n\x02v1"
    b'\x12\x03Pod\x12\x02\n\x00\x1a\x00"\x00\x18\x01 \x03'
)
HEADER = (
    b'{"header":{"cluster_id":"1726370324460264012","member_id":"3339773184267125730",'
    b'"revision":"4","raft_term":"2"}'
)
JSON_PAGE = HEADER + (
    b',"kvs":[{"key":"L3JlZ2lzdHJ5L3BvZHMvZGVmYXVsdC9h","create_revision":"2",'
    b'"mod_revision":"2","version":"1","value":"eyJhcGlWZXJzaW9uIjoidjEiLCJraW5kIjoiUG9kIn0="},'
    b'{"key":"L3JlZ2lzdHJ5L3BvZHMvZGVmYXVsdC9i","create_revision":"3","mod_revision":"3",'
    b'"version":"1","value":"azhzAAoJCgJ2MRIDUG9kEgIKABoAIgA="}],"more":true,"count":"3"}'
)
ANSWERS = {
    MEMBERS: (
        HEADING
        + (b"\x12D\x08" + MEMBER + b"\x12\x07default\x1a\x16http://192.0.2.10:2380")
        + b'"\x17https://192.0.2.10:6443',
        HEADER
        + b',"members":[{"ID":"3339773184267125730","name":"default","peerURLs":["http:'
        + b'//192.0.2.10:2380"],"clientURLs":["https://192.0.2.10:6443"]}]}',
    ),
    STATUS: (
        HEADING
        + (b"\x12\x063.6.16\x18\x80\xe0\x01 " + MEMBER + b"(\x070\x028\x07H\x80\xc0\x01")
        + b"Z\x053.6.0`\x80\x80\x80\x80\x08j\x00",
        HEADER
        + b',"version":"3.6.16","dbSize":"28672","leader":"3339773184267125730","raftIndex":'
        + b'"7","raftTerm":"2","raftAppliedIndex":"7","dbSizeInUse":"24576",'
        + b'"storageVersion":"3.6.0","dbSizeQuota":"2147483648","downgradeInfo":{}}',
    ),
    ALARMS: (
        HEADING + b"\x12\x0c\x08" + MEMBER + b"\x10\x01",
        HEADER + b',"alarms":[{"memberID":"3339773184267125730","alarm":"NOSPACE"}]}',
    ),
}
READ = {
    MEMBERS: (Member(3339773184267125730, "default", ("https://192.0.2.10:6443",), False),),
    STATUS: MemberStatus("3.6.16", 28672, 24576, 2147483648, 3339773184267125730, ()),
    ALARMS: (Alarm(3339773184267125730, "NOSPACE"),),
}
ITEMS = [
    (b"/registry/pods/default/a", 2, b'{"apiVersion":"v1","kind":"Pod"}'),
    (
        b"/registry/pods/default/b",
        3,
        b'k8s\x00\n\t\n\x02v1\x12\x03Pod\x12\x02\n\x00\x1a\x00"\x00',
    ),
]
QUESTIONS = pytest.mark.parametrize(
    "question", [MEMBERS, STATUS, ALARMS], ids=["members", "status", "alarms"]
)


@pytest.mark.parametrize(
    ("read", "answer"), [(protobuf_page, PAGE), (gateway_page, JSON_PAGE)], ids=["grpc", "gateway"]
)
def test_a_page_is_read_alike_on_either_way(read, answer):
    page = read(REQUEST, answer)
    assert (page.count, page.more, page.keys) == (3, True, 2)
    assert (page.source.revision, page.source.raft_term) == (4, 2)
    assert page.source.cluster_id == "17f54ca9d43ada4c"
    assert (page.first, page.last) == (ITEMS[0][0], ITEMS[1][0])
    assert list(page.items) == ITEMS


@QUESTIONS
def test_what_a_member_tells_is_read_alike_on_either_way(question):
    protobuf, text = ANSWERS[question]
    assert question.read_protobuf(protobuf) == question.read_json(text) == READ[question]


def whole(page):
    return list(page.items)


# Every parser of an answer, with an answer that it understands.
PARSERS = [
    (lambda answer: whole(protobuf_page(REQUEST, answer)), PAGE),
    (lambda answer: whole(gateway_page(REQUEST, answer)), JSON_PAGE),
    *((question.read_protobuf, ANSWERS[question][0]) for question in ANSWERS),
    *((question.read_json, ANSWERS[question][1]) for question in ANSWERS),
    (
        lambda answer: snapshot_piece(gateway_part(answer)),
        b'{"result":{"header":{},"remaining_bytes":"32","blob":"c2VjcmV0","version":"3.6.16"}}',
    ),
    (gateway_part, b'{"error":{"grpc_code":14,"http_code":503,"message":"no leader"}}'),
    (read_version, b'{"etcdserver":"3.6.16","etcdcluster":"3.6.0","storage":"3.6.0"}'),
    (lambda answer: gateway_fault(500, answer), b'{"code":11,"message":"compacted"}'),
]
OTHERS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=5),
    st.just([]),
    st.just({}),
    st.lists(st.integers(), max_size=2),
)


def places(document, at=()):
    """The path of every value in a document."""
    yield at
    inner = list(enumerate(document)) if isinstance(document, list) else []
    for name, value in document.items() if isinstance(document, dict) else inner:
        yield from places(value, (*at, name))


def changed(document, path, value):
    """The document with another value at a path; `...` takes it away."""
    if not path:
        return value
    copy = document.copy()
    if len(path) == 1 and value is ...:
        del copy[path[0]]
    else:
        copy[path[0]] = changed(document[path[0]], path[1:], value)
    return copy


@st.composite
def mutations(draw, answer):
    """An answer that was cut, damaged, or has something else in one place."""
    kind = draw(st.sampled_from(["cut", "flip", "insert", "delete", "replace", "take away"]))
    at = draw(st.integers(0, len(answer) - 1))
    if kind == "cut":
        return answer[:at]
    if kind == "insert":
        return answer[:at] + draw(st.binary(min_size=1, max_size=12)) + answer[at:]
    if kind == "delete":
        return answer[:at] + answer[at + draw(st.integers(1, 9)) :]
    if kind == "flip" or answer[:1] != b"{":
        return answer[:at] + bytes([answer[at] ^ draw(st.integers(1, 255))]) + answer[at + 1 :]
    document = json.loads(answer)
    path = draw(st.sampled_from(list(places(document))[kind == "take away" :]))
    return json.dumps(
        changed(document, path, ... if kind == "take away" else draw(OTHERS))
    ).encode()


@many
@given(st.sampled_from(PARSERS).flatmap(lambda one: st.tuples(st.just(one[0]), mutations(one[1]))))
def test_a_damaged_answer_is_read_or_is_a_fault_and_nothing_else(damaged):
    parse, answer = damaged
    with suppress(EtcdFault):
        parse(answer)


@pytest.mark.parametrize(("parse", "answer"), PARSERS[:-1])
@pytest.mark.parametrize(
    "other", [b"", b"<html><body>200 OK</body></html>", b"null", b"[]", b"{}", b"7", b"[" * 9999]
)
def test_what_is_no_answer_at_all_is_a_fault(parse, answer, other):
    with pytest.raises(EtcdFault) as fault:
        parse(other)
    # What could not be read may hold values.
    assert fault.value.__context__ is None


def json_page(**fields):
    return json.dumps({**json.loads(JSON_PAGE), **fields}).encode()


def pair(key, revision="2"):
    return {"key": base64.b64encode(key).decode(), "mod_revision": revision}


A, B = ITEMS[0][0], ITEMS[1][0]


@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(json_page(kvs=[]), id="a count without keys"),
        pytest.param(json_page(count="1"), id="more keys than were counted"),
        pytest.param(json_page(more=False), id="nothing more, and not all there"),
        pytest.param(json_page(count="2"), id="more, and all there"),
        pytest.param(json_page(kvs=[pair(A), pair(B), pair(B + b"b")]), id="more than asked for"),
        pytest.param(json_page(kvs=[pair(B), pair(A)]), id="out of order"),
        pytest.param(json_page(kvs=[pair(A), pair(A)]), id="twice the same"),
        pytest.param(json_page(kvs=[pair(A), pair(b"/registry/secrets/a")]), id="another range"),
        pytest.param(json_page(kvs=[pair(A), {"mod_revision": "2"}]), id="no key"),
        pytest.param(json_page(kvs=[pair(A), {"key": pair(B)["key"]}]), id="no revision"),
        pytest.param(json_page(kvs=[pair(A), {**pair(B), "value": "%%%%"}]), id="no base64"),
        pytest.param(json_page(kvs=[pair(A), pair(B, "1e9")]), id="a revision that is none"),
        pytest.param(json_page(header={"cluster_id": "5", "revision": "3"}), id="of the past"),
        pytest.param(json_page(header={"cluster_id": "0", "revision": "4"}), id="of no cluster"),
    ],
)
def test_an_answer_that_contradicts_itself_or_the_question_is_a_fault(answer):
    with pytest.raises(EtcdFault):
        whole(gateway_page(REQUEST, answer))


def varint(number):
    encoded = bytearray()
    while number > 127:
        encoded.append(number & 127 | 128)
        number >>= 7
    return bytes([*encoded, number])


def field(number, content):
    if isinstance(content, int):
        return varint(number << 3) + varint(content)
    return varint(number << 3 | 2) + varint(len(content)) + content


def answer(pairs, *, count, more):
    header = field(1, 2**63 + 5) + field(2, 7) + field(3, 4711) + field(4, 3)
    pairs = b"".join(
        field(2, field(1, key) + field(2, 10) + field(3, 300) + field(4, 2) + field(5, value))
        for key, value in pairs
    )
    return field(1, header) + pairs + (field(3, 1) if more else b"") + field(4, count)


PAIRS = st.lists(st.tuples(st.binary(min_size=1, max_size=200), st.binary(max_size=400)))


@given(PAIRS)
def test_an_answer_is_read_as_it_was_written(pairs):
    pairs = sorted(dict(pairs).items())
    page = protobuf_page(RangeRequest(EVERY_KEY), answer(pairs, count=len(pairs), more=False))
    assert (page.count, page.keys) == (len(pairs), len(pairs))
    assert (page.source.revision, page.source.raft_term) == (4711, 3)
    assert page.source.cluster_id == "8000000000000005"
    assert (page.first, page.last) == ((pairs[0][0], pairs[-1][0]) if pairs else (b"", b""))
    assert list(page.items) == [(key, 300, value) for key, value in pairs]


@given(st.binary(max_size=100))
def test_no_bytes_raise_anything_else(message):
    for parse, _answer in PARSERS:
        with suppress(EtcdFault):
            parse(message)


def test_a_request_is_written_as_etcd_reads_it():
    request = RangeRequest(
        KeyRange(b"a", b"b" * 200), limit=5000, revision=300, keys_only=True, count_only=True
    )
    written = field(1, b"a") + field(2, b"b" * 200) + field(3, 5000) + field(4, 300)
    assert encode_request(request) == written + field(7, 1) + field(8, 1) + field(9, 1)
    # Without a revision it is linearizable, unless what the member itself has is asked for.
    plain = field(1, b"a") + field(2, b"b")
    assert encode_request(RangeRequest(KeyRange(b"a", b"b"))) == plain
    assert encode_request(RangeRequest(KeyRange(b"a", b"b"), local=True)) == plain + field(7, 1)


class TestParts:
    """Streamed answers of the gateway."""

    def test_a_part_is_what_is_in_the_result(self):
        assert gateway_part(b'{"result":{"blob":"eA=="}}\n') == {"blob": "eA=="}

    @pytest.mark.parametrize("code", ["grpc_code", "code"])
    def test_a_fault_may_come_in_place_of_a_part(self, code):
        line = f'{{"error":{{"{code}":14,"message":"etcdserver: no leader"}}}}'.encode()

        with pytest.raises(EtcdFault, match="no leader") as fault:
            gateway_part(line)

        assert fault.value.code == 14

    @pytest.mark.parametrize("line", [b'{"result":{"blob":"c2Vj', b"[]", b"{}", b'{"error":1}'])
    def test_what_is_no_part_is_refused_and_not_shown(self, line):
        with pytest.raises(EtcdFault, match="not etcd's") as fault:
            gateway_part(line)

        assert fault.value.__context__ is None
