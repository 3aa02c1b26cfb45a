# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a manifest tells of etcd, in every form that a kubelet would start the same server by."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.manifest import (
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


FLAGS = {"prefix": "/other", "servers": "https://a:1,https://[::1]:2", "cafile": "/pki/ca.crt"}
JOINED = [f"--etcd-{name}={value}" for name, value in FLAGS.items()]
PAIRS = [part for name, value in FLAGS.items() for part in (f"--etcd-{name}", value)]
LINE = " ".join(["exec kube-apiserver --v=2", *JOINED, "--profiling=false"])
PAIRED_LINE = " ".join(["exec kube-apiserver --v=2", *PAIRS, "--profiling=false"])


def block(words, mark="{}"):
    return "command:\n" + "".join(f"    - {mark.format(word)}\n" for word in words)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(block(["kube-apiserver", *JOINED, "--v=2"]), id="block list"),
        pytest.param(block(["kube-apiserver", *JOINED], '"{}"'), id="block list in quotes"),
        pytest.param(block(["kube-apiserver", *JOINED], "'{}'"), id="in single quotes"),
        pytest.param(block(["kube-apiserver", *PAIRS, "--v=2"]), id="two arguments"),
        pytest.param(block([*PAIRS, "--v=2"], '"{}"'), id="two arguments in quotes"),
        pytest.param(block(["sh", "-c", LINE]), id="line for a shell"),
        pytest.param(block(["sh", "-c", PAIRED_LINE]), id="line of two arguments"),
        pytest.param(block(["sh", "-c", f'"{LINE}"']), id="line in quotes"),
        pytest.param(block(["sh", "-c", "|\n" + LINE.replace(" ", " \\\n      ")]), id="lines"),
        pytest.param(block(["|\n" + PAIRED_LINE.replace(" ", " \\\n   ")]), id="lines of pairs"),
        pytest.param(f"command: [{', '.join(JOINED)}]", id="flow list"),
        pytest.param(f"command: [kube-apiserver, {', '.join(PAIRS)}]", id="flow list of pairs"),
        pytest.param(json.dumps({"command": ["kube-apiserver", *JOINED]}), id="JSON"),
        pytest.param(json.dumps({"command": PAIRS}, separators=(",", ":")), id="JSON of pairs"),
        pytest.param(json.dumps({"command": ["sh", "-c", LINE]}, indent=1), id="line in JSON"),
        pytest.param(
            json.dumps({"command": ["sh", "-c", LINE.replace("/other", '"/other"')]}),
            id="quotes in a line in JSON",
        ),
        pytest.param(LINE.replace("etcd-", "etcd_"), id="underscores"),
    ],
)
def test_a_flag_is_found_in_every_form(text):
    assert parse_manifest(text) == FLAGS


@pytest.mark.parametrize(
    "text",
    [
        "- --etcd-prefix=/first\n- --etcd-prefix=/other\n",
        "- --v=2  # not --etcd-prefix=/old\n- --etcd-prefix=/other # --etcd-prefix=/old",
        "note: it's --not-a-quote\n- --etcd-prefix=/other\nmore: isn't",
    ],
    ids=["the last one counts", "comments don't", "apostrophes"],
)
def test_what_is_beside_a_flag_does_not_matter(text):
    assert parse_manifest(text) == {"prefix": "/other"}


def test_servers_that_are_given_twice_are_added_up():
    text = "- --etcd-servers=https://a:1\n- --etcd-servers=https://b:1"
    assert parse_manifest(text) == {"servers": "https://a:1,https://b:1"}


@pytest.mark.parametrize("text", ["- --etcd-cafile=\n- --v=2", '- --etcd-cafile=""\n- --v=2'])
def test_an_empty_value_takes_nothing_of_the_next_line(text):
    assert parse_manifest(text) == {"cafile": ""}


def test_a_flag_without_a_value_takes_no_other_flag_for_one():
    assert parse_manifest("- --etcd-prefix\n- --etcd-cafile=/ca") == {"cafile": "/ca"}
