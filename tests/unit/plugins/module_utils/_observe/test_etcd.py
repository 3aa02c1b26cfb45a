# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""etcd's wire format, and what a manifest tells."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.errors import (
    LockstepError,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.keys import KeyRange
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.etcd import (
    EtcdFault,
    RangeRequest,
    decode_page,
    encode_request,
    gateway_part,
    normalise_endpoints,
    unreachable,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.store import (
    kept_elsewhere,
    parse_manifest,
)

KUBEADM = """
apiVersion: v1
kind: Pod
spec:
  containers:
  - command:
    - kube-apiserver
    - --advertise-address=10.0.0.11
    # - --etcd-servers=https://old:2379
    - --etcd-cafile=/etc/kubernetes/pki/etcd/ca.crt
    - --etcd-certfile=/etc/kubernetes/pki/apiserver-etcd-client.crt
    - --etcd-keyfile=/etc/kubernetes/pki/apiserver-etcd-client.key
    - --etcd-servers=https://127.0.0.1:2379,https://10.0.0.12:2379
    - --etcd-servers-overrides=/events#https://127.0.0.1:4002
    - "--etcd-prefix=/other"
    image: registry.k8s.io/kube-apiserver:v1.36.3
"""


def test_the_flags_of_a_manifest_are_found():
    assert parse_manifest(KUBEADM) == {
        "cafile": "/etc/kubernetes/pki/etcd/ca.crt",
        "certfile": "/etc/kubernetes/pki/apiserver-etcd-client.crt",
        "keyfile": "/etc/kubernetes/pki/apiserver-etcd-client.key",
        "servers": "https://127.0.0.1:2379,https://10.0.0.12:2379",
        "servers-overrides": "/events#https://127.0.0.1:4002",
        "prefix": "/other",
    }


@pytest.mark.parametrize(
    "text",
    [
        '{"command": ["kube-apiserver", "--etcd-servers=https://a:1,https://b:2","--v=2"]}',
        "command: [kube-apiserver, --etcd-servers=https://a:1,https://b:2, --v=2]",
        "- '--etcd-servers=https://a:1,https://b:2'",
        '- --etcd-servers="https://a:1,https://b:2"',
    ],
)
def test_other_ways_to_write_a_flag_are_understood(text):
    assert parse_manifest(text) == {"servers": "https://a:1,https://b:2"}


@given(st.text())
def test_no_text_raises(text):
    parse_manifest(text)


def test_overrides_name_the_resources_that_are_elsewhere():
    overrides = "/events#https://a:1;https://b:1,apps/deployments#https://c:1"
    assert kept_elsewhere(overrides) == ("deployments.apps", "events")
    assert kept_elsewhere("") == ()


def test_endpoints_are_taken_as_people_write_them():
    written = ["10.0.0.1", "10.0.0.2:2379", "https://[::1]:2379/", "http://localhost:2379"]
    assert normalise_endpoints(written) == (
        "https://10.0.0.1",
        "https://10.0.0.2:2379",
        "https://[::1]:2379",
        "http://localhost:2379",
    )


@pytest.mark.parametrize(
    "wrong", ["", "https://", "host:port", "ftp://a", "a b", "https://a:99999"]
)
def test_an_endpoint_that_is_none_is_named(wrong):
    with pytest.raises(LockstepError, match="option endpoints"):
        normalise_endpoints([wrong])


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


@given(PAIRS, st.integers(1, 10**6), st.booleans())
def test_an_answer_is_read_as_it_was_written(pairs, count, more):
    page = decode_page(answer(pairs, count=count, more=more))
    assert (page.count, page.more, page.keys) == (count, more, len(pairs))
    assert (page.source.revision, page.source.raft_term) == (4711, 3)
    assert page.source.cluster_id == "8000000000000005"
    assert (page.first, page.last) == ((pairs[0][0], pairs[-1][0]) if pairs else (b"", b""))
    assert list(page.items) == pairs


@given(PAIRS, st.data())
def test_an_answer_that_is_cut_or_foreign_is_refused(pairs, data):
    whole = answer(pairs, count=1, more=False)
    cut = whole[: data.draw(st.integers(0, len(whole) - 3))]
    try:
        page = decode_page(cut)
    except EtcdFault:
        return
    # Cut exactly between two pairs it is whole, but says less than it holds.
    assert page.keys <= len(pairs)


@given(st.binary(max_size=100))
def test_no_answer_raises_anything_else(message):
    with suppress(EtcdFault):
        decode_page(message)


def test_a_request_is_written_as_etcd_reads_it():
    request = RangeRequest(
        KeyRange(b"a", b"b" * 200), limit=5000, revision=300, min_mod_revision=7, count_only=True
    )
    written = field(1, b"a") + field(2, b"b" * 200) + field(3, 5000) + field(4, 300)
    assert encode_request(request) == written + field(7, 1) + field(9, 1) + field(10, 7)
    # Without a revision it is linearizable.
    assert encode_request(RangeRequest(KeyRange(b"a", b"b"))) == field(1, b"a") + field(2, b"b")


@pytest.mark.parametrize(
    ("fault", "remedy"),
    [
        (EtcdFault(7, "etcdserver: permission denied"), "role grant"),
        (EtcdFault(3, "etcdserver: user name is empty"), "install the Python package grpcio"),
        (EtcdFault(11, "etcdserver: mvcc: required revision is a future revision"), "lags behind"),
        (EtcdFault(14, "etcdserver: no leader"), "majority"),
        (EtcdFault(14, "etcdserver: request timed out"), "majority"),
        (EtcdFault(4, "Deadline Exceeded"), "Raise timeout"),
        (EtcdFault(13, "something else"), "See etcd's log"),
    ],
)
def test_what_etcd_refuses_has_a_remedy(fault, remedy):
    error = unreachable({"https://a:2379": fault})
    assert remedy in error.remedy
    assert fault.why in str(error)


def test_every_endpoint_that_failed_is_named():
    error = unreachable(
        {
            "https://a:2379": EtcdFault(14, "refused", "Start it"),
            "https://b:2379": EtcdFault(14, "refused", "Start it"),
        }
    )
    assert "https://a:2379: refused. https://b:2379: refused." in error.why
    assert error.remedy == "Start it."


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
