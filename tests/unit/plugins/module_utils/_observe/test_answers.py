# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whatever a server answers: it is read as what it is, or it is a fault. Nothing else comes out.

The answers in `recorded` are those of a real API server, v1.36.3; hypothesis breaks them.
"""

from __future__ import annotations

import copy
import dataclasses
import json
import os
import types
import typing
from collections.abc import Mapping
from datetime import datetime
from functools import cache, partial
from pathlib import Path
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe import (
    crds,
    discovery,
    documents,
    locks,
    nodes,
    servers,
    states,
    storage_versions,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.servers import (
    Answer,
    ServerFault,
)

RECORDED = Path(__file__).parent / "recorded"
EXAMPLES = 10_000 if os.environ.get("LOCKSTEP_LONG") == "1" else 500
STATES_CRD = "storagestates.migration.k8s.io"

# Every parser, with the recorded answer that it is for.
PARSERS = {
    "published": (servers.parse_published, "endpointslices"),
    "release": (discovery.parse_release, "version"),
    "core versions": (discovery.parse_core_versions, "api"),
    "groups": (discovery.parse_groups, "apis"),
    "paths": (discovery.parse_paths, "paths"),
    "resources": (partial(discovery.parse_resources, group_version="apps/v1"), "resources"),
    "leases": (storage_versions.parse_leases, "leases"),
    "storage versions": (storage_versions.parse_storage_versions, "storageversions"),
    "CRDs": (crds.parse_crds, "crd_metadata"),
    "definition": (partial(crds.parse_definition, resource=STATES_CRD), "crd"),
    "definitions": (crds.parse_definitions, "crds"),
    "room for evidence": (states.parse_room_for_evidence, "crd"),
    "states": (states.parse_states, "states"),
    "migrations": (states.parse_migrations, "migrations"),
    "kubelets": (nodes.parse_kubelets, "nodes"),
    "lock": (partial(locks.parse_lock, lock="upgrade"), "locks"),
}
JUNK = (
    *(None, True, False, 0, -1, 7, 10**400, 0.5, float("inf"), float("nan")),
    *("", " ", "x", "a/b/c", "\ud800", "2026-13-45T99:00:00Z", "https://x y", "\r\n"),
    *([], [None], [["a", "b"]], ["v1", 1], {}, {"a": {"b": []}}),
)


@cache
def recorded(name):
    return json.loads((RECORDED / f"{name}.json").read_text(encoding="utf-8"))


def places(part, path=()):
    """The path of every part of a document, the document itself first."""
    yield path
    inner = part.items() if isinstance(part, dict) else enumerate(part)
    for key, value in inner:
        if isinstance(value, (dict, list)):
            yield from places(value, (*path, key))
        else:
            yield (*path, key)


def break_up(document, random):
    """The document with up to three parts missing, doubled, or of another kind."""
    document = copy.deepcopy(document)
    for _number in range(random.randint(1, 3)):
        if not isinstance(document, (dict, list)):
            break
        path = random.choice(list(places(document)))
        if not path:
            document = copy.deepcopy(random.choice(JUNK))
            continue
        holder = document
        for key in path[:-1]:
            holder = holder[key]
        deed = random.choice(["replace", "replace", "delete", "double"])
        if deed == "delete":
            del holder[path[-1]]
        elif deed == "double" and isinstance(holder, list):
            holder.append(copy.deepcopy(holder[path[-1]]))
        else:
            holder[path[-1]] = copy.deepcopy(random.choice(JUNK))
    return document


def parts_of(seen):
    """Whatever was read, piece by piece."""
    if isinstance(seen, (dict, list, tuple)):
        for one in seen.values() if isinstance(seen, dict) else seen:
            yield from parts_of(one)
    else:
        yield seen


def fits(value, hint):
    """Whether a value is of the type that it is declared to be."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return any(fits(value, one) for one in arguments)
    if dataclasses.is_dataclass(value):
        hints = typing.get_type_hints(type(value))
        fields = dataclasses.fields(value)
        return all(fits(getattr(value, one.name), hints[one.name]) for one in fields)
    if origin in (tuple, frozenset):
        return isinstance(value, origin) and all(fits(one, arguments[0]) for one in value)
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return isinstance(value, Mapping)
    if hint in (str, int, bool, datetime, type(None)):
        # A bool is an int as well, and must not pass for one.
        return isinstance(value, hint) and isinstance(value, bool) == (hint is bool)
    return True


@pytest.mark.parametrize("name", PARSERS)
def test_a_real_answer_is_read(name):
    parse, document = PARSERS[name]
    assert Answer(json.dumps(recorded(document)).encode(), None).read(parse) is not None


@pytest.mark.parametrize("name", PARSERS)
@settings(max_examples=EXAMPLES)
@given(seed=st.integers(0, 2**32))
def test_a_broken_answer_is_read_as_what_it_is_or_is_a_fault(name, seed):
    parse, document = PARSERS[name]
    body = json.dumps(break_up(recorded(document), Random(seed))).encode()
    said = "GET /asked"
    seen = None
    try:
        seen = Answer(body, None, said).read(parse)
    except ServerFault as fault:
        said = fault.fault
    assert said.startswith("GET /asked")
    assert "\n" not in said
    assert all(fits(part, None) for part in parts_of(seen) if dataclasses.is_dataclass(part))


def test_what_a_fault_quotes_of_an_answer_stays_in_one_line():
    parse, document = PARSERS["leases"]
    found = copy.deepcopy(recorded(document))
    found["items"][0]["metadata"]["name"] = "apiserver\nof mine"
    del found["items"][0]["spec"]["renewTime"]
    with pytest.raises(ServerFault) as raised:
        Answer(json.dumps(found).encode(), None).read(parse)
    assert "the lease apiserver of mine has no renewTime" in raised.value.fault


@pytest.mark.parametrize("name", PARSERS)
@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"null",
        b"[]",
        b'"ok"',
        b"5",
        b"{}",
        b"<html><body>502 Bad Gateway</body></html>",
        b'{"code":200,"message":"maintenance"}',
        b'{"kind":"Status","status":"Success"}',
        b"\xff\xfe{",
        b'{"items":' + b"[" * 100_000,
    ],
    ids=lambda body: body[:12],
)
def test_what_is_no_answer_at_all_is_a_fault(name, body):
    with pytest.raises(ServerFault, match="something else than what was asked for"):
        Answer(body, None).read(PARSERS[name][0])


@pytest.mark.parametrize("name", PARSERS)
@given(st.floats(0, 1, exclude_max=True))
def test_an_answer_that_was_cut_off_is_a_fault(name, share):
    parse, document = PARSERS[name]
    body = json.dumps(recorded(document)).encode()
    with pytest.raises(ServerFault):
        Answer(body[: int(share * len(body))], None).read(parse)


def test_a_list_without_a_resource_version_proves_nothing():
    empty = {"kind": "LeaseList", "metadata": {}, "items": []}
    with pytest.raises(ServerFault, match="resourceVersion"):
        Answer(json.dumps(empty).encode(), None).read(storage_versions.parse_leases)


def test_the_document_of_another_group_is_not_taken_for_the_one_asked_for():
    body = json.dumps(recorded("resources")).encode()
    with pytest.raises(ServerFault, match="not about batch/v1"):
        Answer(body, None).read(partial(discovery.parse_resources, group_version="batch/v1"))


def test_metrics_that_are_served_under_names_of_their_own_are_no_fault():
    document = {
        "kind": "APIResourceList",
        "groupVersion": "external.metrics.k8s.io/v1beta1",
        "resources": [{"name": "Kafka_lag:sum", "kind": "", "verbs": ["get"]}],
    }
    group_version = document["groupVersion"]
    (shown,) = discovery.parse_resources(document, group_version=group_version)
    assert not shown.persisted


def test_a_lease_that_does_not_tell_when_it_was_renewed_is_named():
    document = copy.deepcopy(recorded("leases"))
    name = document["items"][0]["metadata"]["name"]
    del document["items"][0]["spec"]["renewTime"]
    with pytest.raises(documents.MalformedError, match=name):
        storage_versions.parse_leases(document)


@pytest.mark.parametrize("date", [None, "", "yesterday", "Mon, 99 Foo 2026 00:00:00 GMT", "0"])
def test_a_server_without_a_clock_is_a_fault(date):
    with pytest.raises(ServerFault, match="no Date header"):
        Answer(b"{}", date).clock()


@pytest.mark.parametrize("told", [b"NaN", b"inf", b"soon", b"\xff", b""])
def test_a_start_that_is_no_moment_tells_nothing_apart(told):
    metrics = b"# HELP x\nprocess_start_time_seconds " + told + b"\n"
    assert discovery.parse_start_time(metrics) == ""


def test_the_start_of_a_server_is_read_as_it_stands():
    metrics = b"a 1\nprocess_start_time_seconds 1.79494145342e+09\n"
    assert discovery.parse_start_time(metrics) == "1.79494145342e+09"
