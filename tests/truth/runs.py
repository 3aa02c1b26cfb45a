"""One store from its seed to the judgement: what the gate said of it, and what is true."""

from __future__ import annotations

import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.hashes import hash_of
from lab import gate
from lab.api import ApiError
from lab.catalogue import everything, read_discovery
from lab.control_plane import ControlPlane, PrivateNetwork, ServerSpec, control_plane
from lab.objects import CRDS, crd
from lab.recorder import Recorder, call_module
from lab.waiting import eventually

from .stores import GROUP, UNSERVED, Custom, Store, served_versions, unwritable
from .target import NOT_SERVED, Reading, read_copy, resource_of

NO_VERDICT = "no verdict"
# Checks of what the target reads; that of the way back may be right whatever it reads.
_OF_TARGET, _OF_WAY_BACK = ("stored-undecodable", "stored-unknown"), "stored-undecodable-rollback"
# Where no server serves a kind, nobody can have tried to read it all.
_OF_UNSERVED = "stored-unserved"
_OF_SERVING = "target-unserved"
_OF_READING = (
    *_OF_TARGET,
    _OF_UNSERVED,
    _OF_SERVING,
    "list-unreadable",
    "objects-hidden",
    "keys-unseen",
)
# How many resources are migrated where that is what is known.
_MIGRATED = 4


@dataclass(frozen=True)
class Outcome:
    """What the gate said of a store, and what the target could really read."""

    store: Store
    # true, false or unknown as the gate returned it; or that it returned none.
    safe: str
    # What stops the step: the check, and the resource if it is about one.
    stops: tuple[tuple[str, str], ...]
    message: str
    reading: Reading
    seconds: float

    @property
    def alarms(self) -> tuple[tuple[str, str], ...]:
        """What says that the target does not read, or serve, all that is stored.

        Without the flags of its servers nobody can know what they serve.
        """
        serving = (_OF_SERVING,) if self.store.flags_given else ()
        return self._stops_of(*_OF_TARGET, *serving)

    @property
    def readable(self) -> bool:
        return not self.reading.unreadable

    @property
    def false_safe(self) -> bool:
        """Whether it was called safe although something can't be read."""
        return self.safe == "true" and not self.readable

    @property
    def overlooked(self) -> tuple[str, ...]:
        """Keys that can't be read while nothing that was found is about their resource.

        A step that something else stops is not safe; once that is cured it would be called so.
        """
        named = {about for _check, about in self._stops_of(*_OF_READING)}
        if self.safe == NO_VERDICT or "" in named:
            return ()
        unreadable = self.reading.unreadable
        # A server that is held up by one key may not read any other.
        unread = (
            one.key
            for one in self.store.objects
            if one.key in unreadable and (one.odd or unreadable[one.key] == NOT_SERVED)
        )
        return tuple(key for key in unread if resource_of(key) not in named)

    @property
    def false_alarm(self) -> bool:
        """Whether what is stored was held against a step although all of it can be read."""
        return self.store.audited and self.readable and bool(self.alarms)

    @property
    def unserved_alarm(self) -> bool:
        """The same, where it was said only that nobody serves something."""
        unserved = bool(self._stops_of(_OF_UNSERVED))
        return self.store.audited and self.readable and unserved and not self.alarms

    def _stops_of(self, *checks: str) -> tuple[tuple[str, str], ...]:
        found = (one for one in self.stops if not one[0].startswith(_OF_WAY_BACK))
        return tuple(one for one in found if one[0].startswith(checks))


def run_store(store: Store, *, network: PrivateNetwork) -> Outcome:
    """Make a store, ask the gate, and let the target's server judge."""
    started = time.monotonic()
    with control_plane(server_before(store), network=network) as plane:
        recorder = Recorder(plane)
        recorder.install()
        store = fill(plane, store)
        known = gather(recorder, store)
        with ThreadPoolExecutor(1) as pool:
            # The gate writes nothing, so the copy may be taken while it looks.
            after = server_after(store)
            judging = pool.submit(read_copy, plane.etcd, after, network=network)
            told = flags_of(after) if store.flags_given else {}
            verdict = ask(recorder, store.to_release, **told, **known)
            reading = judging.result()
    return judge(store, verdict, reading, seconds=time.monotonic() - started)


def judge(
    store: Store, verdict: Mapping[str, Any], reading: Reading, *, seconds: float = 0
) -> Outcome:
    """Hold a verdict against the truth."""
    stops = gate.stopped_by(verdict) if "findings" in verdict else set()
    return Outcome(
        store=store,
        safe=verdict.get("safe", NO_VERDICT),
        stops=tuple(sorted(stops)),
        message=verdict.get("msg", ""),
        reading=reading,
        seconds=seconds,
    )


def ask(recorder: Recorder, to_release: str, **known: Any) -> Any:
    """What the gate says of what can be read."""
    # Most made-up objects lack what a write has to have, so none of them is tried to be rewritten.
    return gate.judge(recorder, to_release, samples=0, **known)


def server_before(store: Store) -> ServerSpec:
    """How the server runs before the step."""
    if store.apis == "default":
        return ServerSpec(release=store.from_release)
    if store.apis == "all":
        return everything(store.from_release)
    off = dict.fromkeys(sorted(unwritable(store.from_release, store.to_release)), False)
    # With alpha features on a server never gets ready while their APIs are off.
    return ServerSpec(release=store.from_release, runtime_config={"api/all": True, **off})


def server_after(store: Store) -> ServerSpec:
    """How the server runs after the step."""
    if store.flags == "none":
        return ServerSpec(release=store.to_release)
    before = server_before(store)
    if store.apis == "all":
        return everything(store.to_release)
    # A server refuses a version that it has never heard of.
    known = {"api/all", *served_versions(store.to_release)}
    kept = {name: on for name, on in before.runtime_config.items() if name in known}
    return replace(before, release=store.to_release, runtime_config=kept)


def flags_of(spec: ServerSpec) -> dict[str, Any]:
    """The flags of a server as options of the gate."""
    return {
        "runtime_config": dict(spec.runtime_config),
        "feature_gates": dict(spec.feature_gates),
    }


# --- what is stored ---


def fill(plane: ControlPlane, store: Store) -> Store:
    """Put a store's objects in etcd, past the API server, which only gets its definitions.

    What is not odd is left out where the server does not serve its kind, for that would be odd.
    """
    served = dict(read_discovery(plane.api))
    if UNSERVED not in store.odd:
        sound = (one for one in store.keys if one.odd or resource_of(one.key) in served)
        store = replace(store, keys=tuple(sound))
    for custom in store.customs:
        _define(plane, custom)
    if store.at_once:
        # Of it servers' caches keep what they can read, and pass that for all that there is.
        plane.etcd.put_all({one.key: one.value for one in store.objects})
    else:
        for one in store.objects:
            plane.etcd.put(one.key, one.value)
    for custom in store.customs:
        _follow_fate(plane, custom)
    return store


def _define(plane: ControlPlane, custom: Custom) -> None:
    """Define a custom resource that was stored as v1 once, and is as v2 now."""
    plane.create_crds(crd(custom.plural, GROUP, storage="v1"))
    path = f"{CRDS}/{custom.resource}"
    plane.api.patch(path, {"spec": {"versions": _versions(custom)}})
    if custom.fate in ("trimmed", "dropped"):
        plane.api.patch(f"{path}/status", {"status": {"storedVersions": ["v2"]}})


def _follow_fate(plane: ControlPlane, custom: Custom) -> None:
    """Let happen to a definition what is to happen, and wait until the server knows."""
    path = f"{CRDS}/{custom.resource}"
    if custom.fate == "dropped":
        newer = [one for one in _versions(custom) if one["name"] == "v2"]
        plane.api.patch(path, {"spec": {"versions": newer}})
    elif custom.fate == "unserved":
        unserved = crd(custom.plural, GROUP, storage="v2", served=())
        plane.api.patch(path, {"spec": {"versions": unserved["spec"]["versions"]}})
    elif custom.fate == "orphaned":
        plane.etcd.delete(
            f"/registry/apiextensions.k8s.io/customresourcedefinitions/{custom.resource}"
        )
    eventually(lambda: _known(plane, custom), within=30)


def _known(plane: ControlPlane, custom: Custom) -> bool:
    """Whether the server shows a definition as it is by now."""
    written = hash_of(group_version=f"{GROUP}/v2", kind=custom.kind)
    served = {"unserved": (), "orphaned": (), "dropped": ("v2",)}.get(custom.fate, ("v1", "v2"))
    return _shown(plane, custom) == dict.fromkeys(served, written)


def _shown(plane: ControlPlane, custom: Custom) -> dict[str, str]:
    """The versions that the server serves of a custom resource, each with the hash it shows."""
    shown = {}
    for version in ("v1", "v2"):
        with suppress(ApiError):
            for one in plane.api.get(f"/apis/{GROUP}/{version}")["resources"]:
                if one["name"] == custom.plural:
                    shown[version] = one["storageVersionHash"]
    return shown


def _versions(custom: Custom) -> Any:
    return crd(custom.plural, GROUP, storage="v2")["spec"]["versions"]


# --- what is known of it ---


def gather(recorder: Recorder, store: Store) -> dict[str, Any]:
    """Record what is to be known of a store; the options that give the gate an audit."""
    if "observed" in store.evidence or store.evidence == "migrated":
        # On a broken store it may fail: then nothing is recorded.
        recorder.call("storage_state", resources=["*"])
    if store.evidence == "migrated":
        # Not all: each takes seconds.
        some = dict.fromkeys(resource_of(one.key) for one in reversed(store.objects))
        recorder.try_to_migrate(*list(some)[:_MIGRATED], backend="direct")
    return audit(recorder) if store.audited else {}


def audit(recorder: Recorder) -> dict[str, Any]:
    """An audit of what is stored, as options for the gate."""
    seen = recorder.call("discovery_hash")
    found = call_module("storage_audit", **gate.etcd_options(recorder))
    return {"audit": found, "audited_after": seen}
