"""What verifies a re-encryption where metrics tell nothing: objects tried at every server."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future
from typing import Any

import pytest

from ansible_collections.lockstep.kubernetes.plugins.module_utils._act.migrations import (
    controllers,
    direct,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.encryption import (
    read_encryption,
)
from lab.control_plane import ControlPlane, PrivateNetwork, Server, control_plane
from lab.direct import migrate, running
from lab.proxy import Proxy
from lab.recorder import Recorder
from lab.vault import SECRETS, Vault
from lab.waiting import eventually

# A run that is stopped has done the first namespace, and is taken up in the second one.
COUNTS = {"default": 6, "other": 20}
ALL = sum(COUNTS.values())
KEYS = ("key2", "key1", "key3")
# Servers look at their files once a minute.
RELOADED = 90


@pytest.fixture(scope="module", autouse=True)
def _hurry() -> Iterator[None]:
    """No out-of-tree migrator runs here, and progress is saved every moment."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(controllers, "_PROBE_SECONDS", 0.2)
        patch.setattr(direct, "_SAVE_SECONDS", 0.2)
        yield


@pytest.fixture(scope="module")
def vault(network: PrivateNetwork, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Vault]:
    """Secrets under key1, of two servers that write by key2, from files that look different."""
    plane: ControlPlane
    with control_plane(network=network) as plane:
        vault = Vault(Recorder(plane), tmp_path_factory.mktemp("vault"))
        plane.add_servers(vault.spec("key1"))
        plane.api.create("/api/v1/namespaces", {"metadata": {"name": "other"}})
        for namespace, count in COUNTS.items():
            vault.fill(count, namespace=namespace)
        plane.servers["cp-1"].restart(vault.spec(*KEYS, name="cp-1"))
        plane.add_servers(vault.spec(*KEYS, name="cp-2", indent=2))
        vault.recorder.install()
        yield vault


@pytest.fixture
def proxy(vault: Vault) -> Iterator[Proxy]:
    """A way to the second server that all writes take; samples are tried past it."""
    with Proxy(vault.recorder.plane, vault.recorder.plane.servers["cp-2"].url) as proxy:
        yield proxy


def asked(vault: Vault, generation: str, proxy: Proxy | None = None, **options: Any) -> Any:
    """Options of a run of some seconds, by somebody who may not read metrics."""
    kubeconfig = proxy.kubeconfig(vault.stranger) if proxy else vault.without_metrics
    return {
        "scope": "all",
        "encryption_generation": generation,
        "kubeconfig": kubeconfig,
        "max_qps": 4,
        "connections": 1,
        **options,
    }


def left_at(vault: Vault) -> Any:
    """Where the migration that is not finished would be taken up."""
    for one in vault.recorder.migrations(SECRETS).values():
        status = one.get("status", {})
        ended = [c for c in status.get("conditions", ()) if c["type"] in ("Succeeded", "Failed")]
        if not ended and "progress" in status:
            return status["progress"]["resume"]
    return {}


def change_samples(vault: Vault, count: int) -> None:
    """Let somebody change so many of the samples of the migration that is not finished."""
    for one in left_at(vault)["samples"][:count]:
        path = f"/api/v1/namespaces/{one['namespace']}/{SECRETS}/{one['name']}"
        vault.recorder.api.patch(path, {"metadata": {"labels": {"since": one["resourceVersion"]}}})


def await_begun(vault: Vault, run: Future[Any]) -> None:
    eventually(lambda: run.done() or bool(left_at(vault)), within=30)
    assert not run.done(), run.result()


def hash_of(server: Server) -> str:
    """The hash of its file that a server's metrics show."""
    return read_encryption(server.api.request("GET", "/metrics").decode()).hash


def test_files_that_differ_in_formatting_only_are_verified(vault: Vault) -> None:
    result = vault.reencrypt("key2")

    assert result["resources"][SECRETS]["verified"], result["resources"]
    assert vault.keys() == {"key2"}
    hashes = {hash_of(one) for one in vault.recorder.plane.servers.values()}
    assert len(hashes - {""}) == 2


@pytest.mark.parametrize(("changed", "verified"), [(2, True), (3, False)], ids=["two", "all"])
def test_one_sample_that_nobody_has_changed_is_enough(
    vault: Vault, changed: int, verified: bool
) -> None:
    with running(vault.recorder, SECRETS, **asked(vault, f"{changed}-changed")) as run:
        await_begun(vault, run)
        change_samples(vault, changed)

    result = run.result()["resources"][SECRETS]
    assert result["status"] == "succeeded"
    assert result["verified"] == verified, result
    said = "served as samples, and somebody else has changed or deleted them meanwhile"
    assert (said in str(result["notes"])) != verified


@pytest.mark.parametrize(("changed", "goes_on"), [(2, True), (3, False)], ids=["two", "all"])
def test_a_stopped_run_goes_on_only_if_a_sample_holds(
    vault: Vault, proxy: Proxy, changed: int, goes_on: bool
) -> None:
    # Given a run that was stopped in the second namespace, and samples that somebody has changed.
    options = asked(vault, f"stopped-{changed}", proxy)
    stopped = migrate(vault.recorder, SECRETS, **options, stop_after=5)
    assert stopped["unfinished"], stopped
    assert left_at(vault)["namespace"] == "other"
    done = left_at(vault)["counts"]["listed"]
    change_samples(vault, changed)

    # When it is taken up again.
    before = proxy.count("PATCH", f"/{SECRETS}/secret-")
    result = migrate(vault.recorder, SECRETS, **{**options, "max_qps": 100})

    # Then only what a sample ties to the first write counts as written.
    visited = proxy.count("PATCH", f"/{SECRETS}/secret-") - before
    assert visited == (ALL - done if goes_on else ALL)
    assert done >= ALL - COUNTS["other"]
    assert result["resources"][SECRETS]["listed"] == ALL
    assert result["resources"][SECRETS]["verified"], result["resources"]


def test_a_server_that_can_t_be_tried_is_named_and_nothing_else_fails(
    vault: Vault, proxy: Proxy
) -> None:
    # Given a proxy that answers in the place of one server, but not of the entry.
    servers = [vault.recorder.plane.servers["cp-1"].url, proxy.url]
    proxy.pretend({"message": "maintenance"}, f"/{SECRETS}/", verbs=["PATCH"])

    options = asked(vault, "untried", servers=servers, max_qps=100)
    result = migrate(vault.recorder, SECRETS, **options)["resources"][SECRETS]

    assert (result["status"], result["verified"]) == ("succeeded", False)
    assert f"{proxy.url} could not be tried with default/secret-0" in str(result["notes"])


def test_a_configuration_that_is_loaded_meanwhile_verifies_nothing(
    vault: Vault, proxy: Proxy
) -> None:
    with running(vault.recorder, SECRETS, **asked(vault, "reloaded", proxy)) as run:
        # Given a run that has written the first namespace, and waits for its server.
        eventually(lambda: run.done() or left_at(vault).get("namespace") == "other", within=30)
        proxy.storm(RELOADED)

        # When the server loads another configuration, and the run goes on.
        vault.write("cp-2", "key3", "key2", "key1")
        server = vault.recorder.plane.servers["cp-2"]
        loaded = hash_of(server)
        eventually(lambda: hash_of(server) != loaded, within=RELOADED)
        proxy.calm()

    # Then the rest lies under another key, and that server is named.
    result = run.result()["resources"][SECRETS]
    assert (result["status"], result["verified"]) == ("succeeded", False)
    assert vault.keys() == {"key2", "key3"}
    assert f"after the last write {server.url} stored default/secret-" in str(result["notes"])
    server.restart(vault.spec(*KEYS, name="cp-2", indent=2))


@pytest.mark.long
def test_what_a_stopped_run_wrote_does_not_count_under_other_keys(vault: Vault) -> None:
    # Given a run that was stopped in the second namespace, and servers that load another key then.
    options = asked(vault, "stopped")
    stopped = migrate(vault.recorder, SECRETS, **options, stop_after=5)
    assert stopped["unfinished"], stopped
    assert left_at(vault)["namespace"] == "other"
    servers = vault.recorder.plane.servers
    loaded = {name: hash_of(one) for name, one in servers.items()}
    for name in servers:
        vault.write(name, "key3", "key2", "key1")
    eventually(
        lambda: all(hash_of(one) != loaded[name] for name, one in servers.items()), within=RELOADED
    )

    # When it is taken up again.
    result = migrate(vault.recorder, SECRETS, **{**options, "max_qps": 100})

    # Then it begins at the start, and nothing is left under the old key.
    assert result["resources"][SECRETS]["verified"], result["resources"]
    assert vault.keys() == {"key3"}
