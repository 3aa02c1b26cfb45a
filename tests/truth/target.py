"""What a release really reads of a store: its API server is started on a copy, and asked for all.

A key counts as read once the server has answered with its object, from a list or by itself.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import urllib3

from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.keys import (
    DEFAULT_PREFIX,
    INTERNAL,
    RESOURCE,
    KeySpace,
    object_name,
)
from lab.api import Api, ApiError
from lab.catalogue import Entry, path_of, read_discovery
from lab.control_plane import ControlPlane, PrivateNetwork, Server, ServerSpec
from lab.etcd import EtcdStore

COMES_UP_WITHIN = 60.0
# A server serves definitions a little after it says that it is ready.
_SETTLES_WITHIN = 2.0
# One that is held up by what it can't read never gets ready, and serves the rest.
_GETS_NO_FURTHER_AFTER = 10.0
_SPACE = KeySpace(DEFAULT_PREFIX)
NOT_SERVED = "the server has no such resource"
# Each server writes its own anew when it starts, so that nothing is lost where none does.
_WRITTEN_ANEW = "storageversions.internal.apiserver.k8s.io"


@dataclass(frozen=True)
class Reading:
    """How many keys there are, and those that can't be read, each with the reason."""

    keys: int
    unreadable: Mapping[str, str]


def read_copy(source: EtcdStore, spec: ServerSpec, *, network: PrivateNetwork) -> Reading:
    """What a server reads of a copy of an etcd; what it does not serve it does not read."""
    with (
        tempfile.TemporaryDirectory(prefix="lockstep-truth-") as directory,
        ControlPlane(Path(directory), network) as plane,
    ):
        plane.etcd.put_all(dict(source.items(f"{DEFAULT_PREFIX}/")))
        # Without its cache every answer comes from etcd.
        uncached = replace(spec, arguments=("--watch-cache=false",))
        return read_store(plane.etcd, plane.start_server(uncached))


def read_store(etcd: EtcdStore, server: Server) -> Reading:
    """What a server that may still be starting reads of its etcd; once it is up, as far as that."""
    keys, api = _object_keys(etcd), server.api
    unread = dict.fromkeys(keys, "the server does not come up")
    started = changed = time.monotonic()
    ready_since = None
    while unread:
        if ready_since is None and api.ready():
            ready_since = time.monotonic()
        still = _read(etcd, api, unread)
        now = time.monotonic()
        if still.keys() != unread.keys():
            changed = now
        unread = still
        up = len(unread) < len(keys)
        if (
            not server.running
            or (ready_since and now - ready_since > _SETTLES_WITHIN)
            or (up and now - changed > _GETS_NO_FURTHER_AFTER)
            or now - started > COMES_UP_WITHIN
        ):
            break
        time.sleep(0.2)
    if not server.running:
        unread = dict.fromkeys(keys, "the server ended")
    return Reading(len(keys), unread)


def resource_of(key: str) -> str:
    """The resource that a key belongs to; its directory, where it belongs to none."""
    return _SPACE.place(key.encode()).name


def _object_keys(etcd: EtcdStore) -> list[str]:
    """Every key that is an object's, or that might be one's.

    Allocations of addresses and ports, and the servers' own marks of life, are no API's objects:
    nothing could ever list them, and each server writes them anew.
    """
    found = etcd.keys(f"{DEFAULT_PREFIX}/")
    return [key for key in found if _SPACE.place(key.encode()).kind != INTERNAL]


def _read(etcd: EtcdStore, api: Api, keys: Mapping[str, str]) -> dict[str, str]:
    """Those of the keys that the server can't read now, with the reasons."""
    try:
        served = dict(read_discovery(api))
    except (ApiError, urllib3.exceptions.HTTPError):
        return dict(keys)
    unread: dict[str, str] = {}
    by_resource: dict[str, dict[str, str]] = {}
    for key in keys:
        place = _SPACE.place(key.encode())
        name = object_name(key.encode(), place.directory)
        if place.name == _WRITTEN_ANEW and place.name not in served:
            continue
        if place.kind != RESOURCE or place.name not in served or not name:
            unread[key] = NOT_SERVED
        else:
            by_resource.setdefault(place.name, {})[name] = key
    for resource, found in by_resource.items():
        entry = served[resource]
        listed = _list(api, resource, entry)
        for name in found.keys() - listed:
            why = _get(api, resource, entry, name)
            # A server that deletes a key has read it before.
            if why and etcd.get(found[name]) is not None:
                unread[found[name]] = why
    return unread


def _list(api: Api, resource: str, entry: Entry) -> set[str]:
    """All objects of a resource, as their keys name them; none if the list fails."""
    try:
        items = api.get(path_of(resource, served=entry["served"][0]))["items"]
    except (ApiError, urllib3.exceptions.HTTPError):
        return set()
    return {_named(item["metadata"]) for item in items}


def _named(metadata: Mapping[str, str]) -> str:
    """What a key calls an object; nothing for one that an empty value was read as."""
    return "/".join(filter(None, (metadata.get("namespace"), metadata.get("name"))))


def _get(api: Api, resource: str, entry: Entry, name: str) -> str:
    """Why one object can't be read; empty if it can."""
    namespace, _slash, last = name.rpartition("/")
    path = path_of(resource, served=entry["served"][0], namespace=namespace)
    try:
        found = api.get(f"{path}/{last}")
    except (ApiError, urllib3.exceptions.HTTPError) as error:
        return str(error)
    return "" if _named(found["metadata"]) == name else "it is read as another object"


def named_keys(reading: Reading, at_most: int = 10) -> Iterable[str]:
    """The unreadable keys for people, a line each."""
    for key, why in sorted(reading.unreadable.items())[:at_most]:
        yield f"{key}: {why[:160]}"
    if len(reading.unreadable) > at_most:
        yield f"and {len(reading.unreadable) - at_most} more"
