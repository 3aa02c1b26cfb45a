"""What a release encodes and decodes, read off its real API server with every API turned on.

StorageVersion objects and discovery tell most of it. The rest is found by trying: a raw object of
each version that could exist is put in etcd, and what the server makes of it is the answer. What
is served by default shows the same server without any flag, and with every API but no feature on.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import product
from pathlib import Path
from typing import Any

from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.catalogue import (
    ReleaseCatalogue,
    ReleaseResource,
    format_catalogue,
    parse_catalogues,
    parse_release,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.hashes import hash_of
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.keys import (
    directory_of,
    same_objects,
)

from .api import Api, ApiError
from .control_plane import ControlPlane, LabError, PrivateNetwork, ServerSpec, control_plane
from .waiting import eventually

HOW = (
    "read off a running kube-apiserver with all APIs on: StorageVersion, discovery, raw objects;"
    " without flags, and with all APIs and no features on: discovery"
)
_VERSIONS = (
    *(f"v{major}" for major in (1, 2)),
    *(f"v{major}{stage}{n}" for major, stage, n in product((1, 2), ("alpha", "beta"), (1, 2, 3))),
)
# Groups that stored the resources of others once; nothing announces them any more.
_FORMER_GROUPS = ("extensions/v1beta1",)
_EVERYTHING = {"AllAlpha": True, "AllBeta": True, "StorageVersionAPI": True}
_STORAGE_VERSIONS = "/apis/internal.apiserver.k8s.io/v1alpha1/storageversions"

_MARK = 'RELEASES = r"""\n'
DATA = Path(__file__).parents[2] / "plugins/module_utils/_decide/catalogue/data.py"

Entry = dict[str, Any]


def everything(release: str, *, emulated: str = "") -> ServerSpec:
    """A server with every API of its release turned on."""
    return ServerSpec(
        release=release,
        emulated_version=emulated,
        # A server that emulates never comes up with all features on.
        feature_gates={} if emulated else _EVERYTHING,
        runtime_config={"api/all": True},
    )


def read_release(
    release: str,
    *,
    emulated: str = "",
    program: str = "",
    network: PrivateNetwork | None = None,
) -> ReleaseCatalogue:
    """The catalogue of one release, of one that emulates another, or of a kube-apiserver."""
    spec = replace(everything(release, emulated=emulated), program=program)
    with control_plane(spec, network=network) as plane:
        read = read_server(plane, emulated=emulated)
    defaults = replace(spec, feature_gates={}, runtime_config={})
    by_default = _read_served(defaults, network, like=read)
    enabled = replace(defaults, runtime_config=spec.runtime_config)
    by_runtime_config = _read_served(enabled, network, like=read)
    resources = {
        name: replace(
            one,
            by_default=by_default.get(name, ()),
            by_runtime_config=by_runtime_config.get(name, ()),
        )
        for name, one in read.resources.items()
    }
    return replace(read, resources=resources)


def _read_served(
    spec: ServerSpec, network: PrivateNetwork | None, *, like: ReleaseCatalogue
) -> dict[str, tuple[str, ...]]:
    """What a server with fewer APIs serves; of that it must write what it writes with all of them.

    Where they differ, one line can't tell what the release writes.
    """
    with control_plane(spec, network=network) as plane:
        shown = dict(read_discovery(plane.servers["cp-1"].api))
    for name, entry in shown.items():
        if name not in like.resources or entry["hash"] != like.resources[name].storage_hash:
            raise LabError(f"{name}: {spec} shows another hash than with every API on")
    return {name: tuple(entry["served"]) for name, entry in shown.items()}


def read_server(plane: ControlPlane, *, emulated: str = "") -> ReleaseCatalogue:
    """The catalogue of the release that a lab's server runs; it reports unless it emulates."""
    api = plane.servers["cp-1"].api
    version = api.get("/version")
    if not emulated:
        eventually(lambda: "pods" in _reported(api), within=60)
    reported = _reported(api)
    resources = {}
    for name, entry in read_discovery(api):
        known = reported.get(name, {})
        decodable = [
            one for one in _candidates(name, known, entry) if _decodes(plane, name, entry, one)
        ]
        encoding = _encoding(name, entry, known, decodable)
        resources[name] = ReleaseResource(
            resource=name,
            kind=entry["kind"],
            namespaced=entry["namespaced"],
            storage_hash=entry["hash"],
            encoding=encoding,
            served=tuple(entry["served"]),
            decodable=tuple(decodable),
        )
    return ReleaseCatalogue(
        release=version["gitVersion"],
        # Not from /version: 1.32 does not tell it there.
        emulated=emulated,
        how=HOW,
        when=datetime.now(UTC).date().isoformat(),
        resources=resources,
    )


def write_data(catalogues: Iterable[ReleaseCatalogue]) -> None:
    """Put catalogues in place of those of the same releases in the collection."""
    before = DATA.read_text()
    head, _mark, rest = before.partition(_MARK)
    known = parse_catalogues(rest.removesuffix('"""\n'))
    for one in catalogues:
        known = known.with_release(one)
    ordered = sorted(
        known.releases, key=lambda one: (parse_release(one.release), bool(one.emulated))
    )
    text = "\n".join(format_catalogue(one) for one in ordered)
    DATA.write_text(f'{head}{_MARK}{text}"""\n')


def read_discovery(api: Api) -> Iterator[tuple[str, Entry]]:
    """Every resource that a server stores: its kind, scope, hash and served versions."""
    found: dict[str, Entry] = {}
    versions = ["v1"]
    for group in api.get("/apis")["groups"]:
        versions += [one["groupVersion"] for one in group["versions"]]
    for version in versions:
        document = api.get(f"/apis/{version}" if "/" in version else f"/api/{version}")
        for item in document["resources"]:
            if "/" in item["name"] or not item.get("storageVersionHash"):
                continue
            group = version.rpartition("/")[0]
            name = f"{item['name']}.{group}" if group else item["name"]
            entry = found.setdefault(
                name,
                {
                    "kind": item["kind"],
                    "namespaced": item["namespaced"],
                    "hash": item["storageVersionHash"],
                    "served": [],
                },
            )
            entry["served"].append(version)
    yield from sorted(found.items())


def _encoding(name: str, entry: Entry, known: Mapping[str, Any], decodable: Sequence[str]) -> str:
    """What the server writes: the version whose hash it shows, and that it reports if it does."""
    shown = [
        one for one in decodable if hash_of(group_version=one, kind=entry["kind"]) == entry["hash"]
    ]
    told = known.get("encodingVersion")
    if not shown or (told and told != shown[0]):
        raise LabError(f"{name}: it reports {told}, and shows the hash of {shown}: wrong key?")
    return str(shown[0])


def _reported(api: Api) -> dict[str, Any]:
    """What the one server says of each resource in its StorageVersion."""
    found: dict[str, Any] = {}
    for one in api.get(_STORAGE_VERSIONS)["items"]:
        group, _dot, plural = one["metadata"]["name"].rpartition(".")
        entries = one.get("status", {}).get("storageVersions") or []
        if entries:
            found[plural if group == "core" else f"{plural}.{group}"] = entries[0]
    return found


def _candidates(name: str, known: Mapping[str, Any], entry: Entry) -> list[str]:
    group = name.partition(".")[2]
    groups = [group, *(one.partition(".")[2] for one in same_objects(name))]
    own = [f"{one}/{version}" if one else version for one, version in product(groups, _VERSIONS)]
    announced = [*known.get("decodableVersions", []), *entry["served"]]
    return sorted({*own, *_FORMER_GROUPS, *announced})


def _decodes(plane: ControlPlane, name: str, entry: Entry, version: str) -> bool:
    """Whether the server can read an object that is stored in a version."""
    object_name = _object_name(name)
    namespace = "default" if entry["namespaced"] else ""
    document = raw_object(entry["kind"], version, name=object_name, namespace=namespace)
    key = key_of(name, object_name, namespace=namespace)
    plane.etcd.put(key, json.dumps(document).encode())
    try:
        path = path_of(name, served=entry["served"][0], namespace=namespace)
        plane.servers["cp-1"].api.get(f"{path}/{object_name}")
    except ApiError as error:
        if error.status != 500:
            raise LabError(f"{name} in {version}: {error}") from error
        return False
    finally:
        plane.etcd.delete(key)
    return True


def raw_object(kind: str, version: str, *, name: str, namespace: str = "") -> dict[str, Any]:
    """The least that an object of any version is made of."""
    metadata = {"name": name, "uid": "00000000-0000-0000-0000-000000000001"}
    if namespace:
        metadata["namespace"] = namespace
    return {"apiVersion": version, "kind": kind, "metadata": metadata}


def key_of(resource: str, name: str, *, namespace: str = "") -> str:
    """The key in etcd of an object of a built-in resource."""
    places = ("/registry", directory_of(resource), namespace, name)
    return "/".join(part for part in places if part)


def path_of(resource: str, *, served: str, namespace: str = "") -> str:
    """The path of a resource in one of the versions that a server serves."""
    plural = resource.partition(".")[0]
    base = f"/apis/{served}" if "/" in served else f"/api/{served}"
    return f"{base}/namespaces/{namespace}/{plural}" if namespace else f"{base}/{plural}"


def _object_name(name: str) -> str:
    if name.startswith("customresourcedefinitions."):
        return "probes.lockstep.invalid"
    return "v1.lockstep.invalid" if name.startswith("apiservices.") else "lockstep-probe"
