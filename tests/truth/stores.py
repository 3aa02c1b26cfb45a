"""What is stored in one made-up etcd, and what is known of it: all of it follows from a seed.

Most objects are such that both releases of a step read them. What is odd about a store is put in
on purpose, so that it can be named; a store with nothing odd must come out as safe.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import count
from typing import Any

from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.catalogue import (
    ReleaseCatalogue,
    parse_catalogues,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.catalogue.data import (
    RELEASES,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.keys import (
    GROUPED,
    same_objects,
)
from lab.catalogue import key_of, raw_object

CATALOGUE = parse_catalogues(RELEASES)
GROUP = "truth.example.com"
UNSERVED = "unserved kind"

# From where to where; all four API servers are in `make truth`.
STEPS = (
    ("1.36.3", "1.37.0"),
    ("1.37.0", "1.36.3"),
    ("1.35.4", "1.36.3"),
    ("1.34.4", "1.35.4"),
)
# The APIs that the servers have on before the step: all; all but those of which the target writes
# what they can't read, which alone would block the step; those that are on by default.
APIS = {"all": 1, "calm": 2, "default": 1}
# With which flags the target's servers run: those of the servers before, or none.
FLAGS = {"same": 3, "none": 1}
# How often these flags are given to the gate; else it has to go by discovery.
_FLAGS_GIVEN = 0.7
# What is known of the store, and how often of ten times.
EVIDENCE = {"nothing": 1, "observed": 1, "audited": 5, "observed and audited": 2, "migrated": 1}
# How many things are odd about a store.
_ODD_COUNTS = (0, 0, 1, 1, 2)
_OBJECTS = (5, 40)
_AT_ONCE = 0.2
# What may become of a custom resource without any harm to its objects.
_HARMLESS = ("mixed", "trimmed")
_STORAGE_VERSIONS = "storageversions.internal.apiserver.k8s.io"
_NAMESPACES = ("default", "kube-system")


@dataclass(frozen=True)
class Kind:
    """A resource, and all versions in which any release can read it."""

    resource: str
    name: str
    namespaced: bool
    versions: tuple[str, ...]


# Kinds that older releases than those of the catalogue had.
_FORMER = (
    Kind("podsecuritypolicies.policy", "PodSecurityPolicy", False, ("policy/v1beta1",)),
    Kind("clustercidrs.networking.k8s.io", "ClusterCIDR", False, ("networking.k8s.io/v1alpha1",)),
)


# An API server that reads one without a spec ends at once: it decodes, and is used unchecked.
_BODIES: Mapping[str, Mapping[str, Any]] = {
    "PriorityLevelConfiguration": {
        "spec": {"type": "Limited", "limited": {"limitResponse": {"type": "Reject"}}}
    }
}


@dataclass(frozen=True)
class StoredKey:
    """One key of etcd, and what is odd about it; nothing, if both releases can read it."""

    key: str
    value: bytes
    odd: str = ""


@dataclass(frozen=True)
class Custom:
    """A custom resource that is stored in both of its versions, and what became of it.

    mixed: nothing; trimmed: the definition does not tell of the older version any more; dropped:
    it does not have it any more; unserved: it serves none; orphaned: there is no definition.
    """

    plural: str
    fate: str
    objects: tuple[StoredKey, ...] = ()

    @property
    def resource(self) -> str:
        return f"{self.plural}.{GROUP}"

    @property
    def kind(self) -> str:
        return self.plural.removesuffix("s").capitalize()


@dataclass(frozen=True)
class Store:
    """A store, and the step that is asked about."""

    seed: int
    from_release: str
    to_release: str
    apis: str
    evidence: str
    odd: tuple[str, ...]
    keys: tuple[StoredKey, ...]
    customs: tuple[Custom, ...]
    # Whether all of it is written in one transaction, as a restore might and no API server does.
    at_once: bool = False
    # The flags of the target's servers, and whether the gate is told of them.
    flags: str = "same"
    flags_given: bool = True

    @property
    def objects(self) -> tuple[StoredKey, ...]:
        """All that is put in etcd, custom resources among them."""
        return (*self.keys, *(one for custom in self.customs for one in custom.objects))

    @property
    def audited(self) -> bool:
        return "audited" in self.evidence

    def __str__(self) -> str:
        odd = ", ".join(self.odd) or "nothing odd"
        odd += ", written at once" if self.at_once else ""
        step = f"{self.from_release} -> {self.to_release}"
        flags = f"{self.flags} flags{'' if self.flags_given else ' that nobody gives'}"
        return f"seed {self.seed}: {step}, {self.apis} APIs, {flags}, {self.evidence}; {odd}"


def plan_store(
    seed: int,
    *,
    step: tuple[str, str] | None = None,
    apis: str = "",
    evidence: str = "",
    odd: tuple[str, ...] | None = None,
    flags: str = "",
    flags_given: bool | None = None,
) -> Store:
    """The store of a seed; what is given here is not left to chance."""
    chance = random.Random(seed)
    drawn_step = chance.choice(STEPS)
    drawn_apis = _draw(chance, APIS)
    drawn_evidence = _draw(chance, EVIDENCE)
    drawn_odd = tuple(chance.sample(sorted(ODDITIES), chance.choice(_ODD_COUNTS)))
    step = step or drawn_step
    odd = drawn_odd if odd is None else odd
    maker = _Maker(chance, *map(_release, step))
    keys = [maker.ordinary() for _one in range(chance.randint(*_OBJECTS))]
    customs = [maker.custom(f"{fate}s", fate) for fate in _HARMLESS if chance.random() < 0.3]
    for one in odd:
        made = ODDITIES[one](maker)
        if isinstance(made, Custom):
            customs.append(made)
        else:
            keys += made
    at_once = chance.random() < _AT_ONCE
    drawn_flags = _draw(chance, FLAGS)
    drawn_given = chance.random() < _FLAGS_GIVEN
    return Store(
        seed=seed,
        from_release=step[0],
        to_release=step[1],
        apis=apis or drawn_apis,
        evidence=evidence or drawn_evidence,
        odd=odd,
        keys=tuple(keys),
        customs=tuple(customs),
        at_once=at_once,
        flags=flags or drawn_flags,
        flags_given=drawn_given if flags_given is None else flags_given,
    )


def unwritable(from_release: str, to_release: str) -> set[str]:
    """The versions served before a step of what the target writes unreadably for those servers."""
    before, after = _release(from_release), _release(to_release)
    found = set()
    for name, one in before.resources.items():
        new = after.resources.get(name)
        if new is not None and new.encoding not in one.decodable:
            found.update(one.served)
    return found


def served_versions(release: str) -> set[str]:
    """The versions that a release knows."""
    return {version for one in _release(release).resources.values() for version in one.served}


def _draw(chance: random.Random, weights: Mapping[str, int]) -> str:
    return chance.choices(list(weights), list(weights.values()))[0]


def _release(name: str) -> ReleaseCatalogue:
    found = CATALOGUE.find(f"v{name}")
    assert found is not None, f"{name} is not in the catalogue"
    return found


def _kinds() -> tuple[Kind, ...]:
    """Every resource that a release of the catalogue knows, once for the same objects."""
    found: dict[str, Kind] = {}
    for release in CATALOGUE.releases:
        for name, one in release.resources.items():
            # A made-up definition or API service changes what the server serves, and so the test.
            if name in GROUPED or name != same_objects(name)[0]:
                continue
            known = found.get(name)
            versions = {*(known.versions if known else ()), *one.decodable}
            found[name] = Kind(name, one.kind, one.namespaced, tuple(sorted(versions)))
    return tuple(found[name] for name in sorted(found))


class _Maker:
    """Makes up keys for a step, each with a name of its own."""

    def __init__(
        self, chance: random.Random, before: ReleaseCatalogue, after: ReleaseCatalogue
    ) -> None:
        self._chance, self._before, self._after = chance, before, after
        self._kinds = _kinds()
        self._numbers = count(1)

    # --- what both releases read ---

    def ordinary(self) -> StoredKey:
        """An object that both releases read."""
        kind, version = self._chance.choice(list(self._pairs(before=True, after=True)))
        return self._object(kind, version)

    def custom(self, plural: str, fate: str) -> Custom:
        """A custom resource with a few objects in each version."""
        custom = Custom(plural, fate)
        objects = []
        for version in ("v1", "v2"):
            for _one in range(self._chance.randint(1, 4)):
                name = self._name()
                document = raw_object(custom.kind, f"{GROUP}/{version}", name=name)
                odd = "" if fate in _HARMLESS else f"custom {fate}"
                key = f"/registry/{GROUP}/{plural}/{name}"
                objects.append(StoredKey(key, _json(document), odd))
        return replace(custom, objects=tuple(objects))

    # --- what is odd ---

    def missing_namespace(self) -> list[StoredKey]:
        """Objects in a namespace that is not there; both releases read them."""
        pairs = [pair for pair in self._pairs(before=True, after=True) if pair[0].namespaced]
        kind, version = self._chance.choice(pairs)
        return [self._object(kind, version, namespace="nowhere")]

    def lost_version(self) -> list[StoredKey]:
        """Objects that the target can't read any more."""
        return self._some("lost version", self._pairs(before=True, after=False))

    def foreign_version(self) -> list[StoredKey]:
        """Objects that the servers can't read before the step; the target might."""
        return self._some("foreign version", self._pairs(before=False))

    def unserved_kind(self) -> list[StoredKey]:
        """Objects of a kind that the servers do not have before the step; the target might."""
        kinds = [one for one in self._kinds if one.resource not in self._before.resources]
        pairs = [(one, version) for one in (*kinds, *_FORMER) for version in one.versions]
        return self._some(UNSERVED, pairs)

    def no_resource(self) -> list[StoredKey]:
        """Keys where no release keeps anything."""
        kind = self._chance.choice(self._kinds)
        made = self._object(kind, kind.versions[0])
        key = f"/registry/nothings/{made.key.rpartition('/')[2]}"
        return [StoredKey(key, made.value, "no resource")]

    def garbage(self) -> list[StoredKey]:
        """Bytes that are no object."""
        made = self.ordinary()
        values = (
            b"",
            b"{",
            b"k8s\x00",
            made.value[: len(made.value) // 2],
            self._chance.randbytes(40),
            b"k8s:enc:aescbc:v1:lost:" + self._chance.randbytes(48),
        )
        return [StoredKey(made.key, self._chance.choice(values), "garbage")]

    def broken_object(self) -> list[StoredKey]:
        """An object whose envelope is sound, and that nobody can read all the same."""
        kind, version = self._chance.choice(list(self._pairs(before=True, after=True)))
        key, document = self._document(kind, version)
        metadata = document["metadata"]
        values = (
            _json({**document, "kind": "Other"}),
            _json({**document, "metadata": {**metadata, "labels": "none"}}),
            _json(document).replace(b'"uid":"', b'"uid":'),
            _envelope(document, b"\x0a\x7f" + metadata["name"].encode()),
        )
        return [StoredKey(key, self._chance.choice(values), "broken object")]

    # --- how ---

    def _pairs(self, *, before: bool, after: bool | None = None) -> Iterable[tuple[Kind, str]]:
        """Kinds with versions, by whether the releases can read them; None: they may or not."""
        for kind in self._kinds:
            if kind.resource not in self._before.resources:
                continue
            for version in kind.versions:
                readable = [_reads(one, kind, version) for one in (self._before, self._after)]
                if readable[0] == before and after in (None, readable[1]):
                    yield kind, version

    def _some(self, odd: str, pairs: Iterable[tuple[Kind, str]]) -> list[StoredKey]:
        choices = list(pairs)
        if not choices:
            return []
        chosen = [self._chance.choice(choices) for _one in range(self._chance.randint(1, 3))]
        return [self._object(kind, version, odd) for kind, version in chosen]

    def _object(self, kind: Kind, version: str, odd: str = "", *, namespace: str = "") -> StoredKey:
        key, document = self._document(kind, version, namespace=namespace)
        written = _json if kind.name in _BODIES or self._chance.random() < 0.5 else _protobuf
        return StoredKey(key, written(document), odd)

    def _document(
        self, kind: Kind, version: str, *, namespace: str = ""
    ) -> tuple[str, dict[str, Any]]:
        name = self._name()
        if kind.resource == _STORAGE_VERSIONS:
            # Servers take no other names, and nobody else writes such objects.
            name = f"{GROUP}.{name}"
        if kind.namespaced and not namespace:
            namespace = self._chance.choice(_NAMESPACES)
        document = raw_object(kind.name, version, name=name, namespace=namespace)
        document.update(_BODIES.get(kind.name, {}))
        return key_of(kind.resource, name, namespace=namespace), document

    def _name(self) -> str:
        return f"lockstep-{next(self._numbers)}"


def _reads(release: ReleaseCatalogue, kind: Kind, version: str) -> bool:
    known = release.resources.get(kind.resource)
    return known is not None and version in known.decodable


ODDITIES: Mapping[str, Callable[[_Maker], list[StoredKey] | Custom]] = {
    "lost version": _Maker.lost_version,
    "foreign version": _Maker.foreign_version,
    UNSERVED: _Maker.unserved_kind,
    "missing namespace": _Maker.missing_namespace,
    "no resource": _Maker.no_resource,
    "garbage": _Maker.garbage,
    "broken object": _Maker.broken_object,
    "custom dropped": lambda maker: maker.custom("droppeds", "dropped"),
    "custom unserved": lambda maker: maker.custom("unserveds", "unserved"),
    "custom orphaned": lambda maker: maker.custom("orphaneds", "orphaned"),
}


# --- the two ways in which API servers write ---


def _json(document: Mapping[str, Any]) -> bytes:
    return json.dumps(document, separators=(",", ":")).encode()


def _protobuf(document: Mapping[str, Any]) -> bytes:
    """As protobuf: the metadata is the first field of every built-in kind."""
    metadata = document["metadata"]
    numbers = {"name": 1, "namespace": 3, "uid": 5}
    parts = [_field(number, metadata.get(name, "")) for name, number in numbers.items()]
    return _envelope(document, _field(1, b"".join(parts)))


def _envelope(document: Mapping[str, Any], raw: bytes) -> bytes:
    """runtime.Unknown{1: typeMeta{1: apiVersion, 2: kind}, 2: raw, 3 and 4: empty}."""
    named = _field(1, document["apiVersion"]) + _field(2, document["kind"])
    return b"k8s\x00" + _field(1, named) + _field(2, raw) + _field(3, "") + _field(4, "")


def _field(number: int, content: str | bytes) -> bytes:
    data = content.encode() if isinstance(content, str) else content
    assert len(data) < 16384
    size = [len(data)] if len(data) < 128 else [len(data) & 0x7F | 0x80, len(data) >> 7]
    return bytes([number << 3 | 2, *size]) + data
