"""Migrations that were called done, verified or gone, and were not: each once, on real servers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.lockstep.kubernetes.plugins.module_utils._act import locks
from ansible_collections.lockstep.kubernetes.plugins.module_utils._act.migrations import (
    controllers,
    direct,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.errors import (
    LockstepError,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._migrating import MigrationTask
from lab.aggregated import FLUNDERS, WARDLE, Wardle
from lab.api import ApiError, User
from lab.control_plane import ControlPlane, PrivateNetwork, ServerSpec, control_plane
from lab.direct import count_versions, migrate, running
from lab.gate import found, judge
from lab.kms import KmsPlugin
from lab.objects import CRDS, crd
from lab.proxy import Proxy, cluster_admin
from lab.recorder import Recorder, call_module, conditions
from lab.vault import SECRETS, Vault, write_configuration, write_provider
from lab.waiting import eventually
from lab.webhooks import VALIDATING_WEBHOOKS, Webhooks, denying_configuration

GROUP = "track.example.com"
MAPS = "configmaps"
COUNT = 5


@pytest.fixture(scope="module", autouse=True)
def _hurry() -> Iterator[None]:
    """No out-of-tree migrator runs here, and what is refused stays so."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(controllers, "_PROBE_SECONDS", 0.2)
        patch.setattr(direct, "_PATIENCE", (0.05, 0.05, 0.05))
        yield


@pytest.fixture(scope="module")
def admin(only_server: Recorder) -> User:
    return cluster_admin(only_server.plane)


class Things:
    """Custom resources, stored as v1 and to be stored as v2."""

    def __init__(self, recorder: Recorder, plural: str) -> None:
        self.recorder, self.plural = recorder, plural
        self.resource = f"{plural}.{GROUP}"
        self.path = f"/apis/{GROUP}/v1/{plural}"
        recorder.plane.create_crds(crd(plural, GROUP, storage="v1"))
        for number in range(COUNT):
            self._create(f"thing-{number}")

    def _create(self, name: str) -> None:
        kind = self.plural.removesuffix("s").capitalize()
        document = {"apiVersion": f"{GROUP}/v1", "kind": kind, "metadata": {"name": name}}
        self.recorder.api.create(self.path, document)

    def store_as_v2(self) -> None:
        api = self.recorder.api
        versions = crd(self.plural, GROUP, storage="v2")["spec"]["versions"]
        api.patch(f"{CRDS}/{self.resource}", {"spec": {"versions": versions}})

        def follows() -> bool:
            self._create("probe")
            stored = self.recorder.plane.etcd.stored_versions(f"{self.prefix}probe")
            api.delete(f"{self.path}/probe")
            return list(stored.values()) == [f"{GROUP}/v2"]

        eventually(follows, within=30)

    @property
    def prefix(self) -> str:
        return f"/registry/{GROUP}/{self.plural}/"

    def stored(self) -> Counter[str]:
        return count_versions(self.recorder.plane, self.prefix)

    def stored_versions(self) -> list[str]:
        return list(self.recorder.api.get(f"{CRDS}/{self.resource}")["status"]["storedVersions"])


def denies(things: Things, recorder: Recorder, name: str) -> bool:
    try:
        recorder.api.patch(f"{things.path}/{name}", {"metadata": {"labels": {"try": "it"}}})
    except ApiError:
        return True
    return False


def audited(recorder: Recorder, resource: str) -> dict[str, Any]:
    """A look and an audit after it, as options of storage_migration."""
    seen = recorder.call("discovery_hash", resources=[resource])
    etcd = recorder.plane.etcd
    read = call_module(
        "storage_audit",
        endpoints=[etcd.url],
        ca_cert=etcd.ca,
        client_cert=etcd.certificate,
        client_key=etcd.key,
        resources=[resource],
        encodings=seen["resources"],
    )
    assert not read.get("failed"), read
    return {"audit": read, "audited_after": seen}


@pytest.mark.parametrize(
    ("plural", "denial"),
    [
        ("unfounds", {"code": 404, "reason": "NotFound"}),
        (
            "forgeds",
            {"code": 404, "details": {"name": "thing-2", "kind": "forgeds", "group": GROUP}},
        ),
        ("goners", {"code": 410, "reason": "Gone"}),
    ],
    ids=["404", "404 that names it", "410"],
)
def test_what_a_webhook_calls_missing_is_not_gone(
    only_server: Recorder, plural: str, denial: dict[str, Any]
) -> None:
    # Given an object that a webhook denies to update, in the words for one that is not there.
    things = Things(only_server, plural)
    things.store_as_v2()
    with Webhooks(only_server.plane) as webhooks:
        webhooks.denied, webhooks.denial = {"thing-2"}, denial
        only_server.api.create(
            VALIDATING_WEBHOOKS, denying_configuration(plural, webhooks, GROUP, plural)
        )
        eventually(lambda: denies(things, only_server, "thing-2"), within=30)

        # When all are migrated, and the gate tries a few.
        result = migrate(only_server, things.resource)
        verdict = judge(only_server, "1.36.3", lists=True)
        only_server.api.delete(f"{VALIDATING_WEBHOOKS}/{plural}")

    # Then it has failed, by name, and nothing says that v1 is not stored any more.
    said = result["resources"][things.resource]
    assert [one["name"] for one in said["failures"]] == ["thing-2"]
    assert (said["gone"], said["rewritten"], said["verified"]) == (0, COUNT - 1, False)
    assert things.stored() == {"v1": 1, "v2": COUNT - 1}
    assert things.stored_versions() == ["v1", "v2"]
    assert "thing-2" in found(verdict, "write-refused")[things.resource]["seen"]


@pytest.mark.parametrize("verb", ["PATCH", "LIST"])
def test_the_answer_of_a_proxy_in_maintenance_is_none(
    only_server: Recorder, admin: User, verb: str
) -> None:
    # Given a proxy that answers in the server's place, with 200.
    things = Things(only_server, f"{verb.lower()}eds")
    things.store_as_v2()
    with Proxy(only_server.plane, only_server.plane.servers["cp-1"].url) as proxy:
        proxy.pretend({"message": "maintenance"}, f"/{things.plural}", verbs=[verb])

        result = migrate(
            only_server,
            things.resource,
            kubeconfig=proxy.kubeconfig(admin),
            stuck_after=1,
            retries=0,
        )

    # Then nothing counts as rewritten, and who answered is named.
    assert result["failed"]
    assert f"{proxy.url} did not answer with" in result["msg"]
    assert things.stored() == {"v1": COUNT}
    assert things.stored_versions() == ["v1", "v2"]


def test_a_list_of_stale_names_does_not_serve_what_somebody_else_asked_for(
    only_server: Recorder,
) -> None:
    # Given objects that an audit shows to be current, and a migration that somebody made by hand.
    things = Things(only_server, "ordereds")
    only_server.observe(things.resource)
    only_server.migrate_by_hand(things.resource, name="by-hand")

    # When the audit's list of names, which is empty, is migrated.
    result = migrate(only_server, things.resource, **audited(only_server, things.resource))

    # Then that migration is done whole, as who made it may want more than another version.
    assert conditions(only_server.migrations(things.resource)["by-hand"]) == {"Succeeded"}
    assert result["resources"][things.resource]["listed"] == COUNT


def test_what_somebody_else_asked_for_is_not_deleted_for_want_of_a_record(
    only_server: Recorder,
) -> None:
    # Given a migration that somebody made by hand, of what nothing is recorded about.
    things = Things(only_server, "unrecordeds")
    only_server.migrate_by_hand(things.resource, name="asked-for")

    result = migrate(only_server, things.resource)

    assert not result.get("failed"), result
    assert conditions(only_server.migrations(things.resource)["asked-for"]) == {"Succeeded"}


def test_a_run_whose_lock_may_be_anothers_writes_no_more(
    only_server: Recorder, admin: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Given a slow run under a lock that holds for a few seconds only.
    things = Things(only_server, "lockeds")
    things.store_as_v2()
    for name, value in (("", 3), ("_MARGIN", 1), ("_RENEW", 0.3), ("_POLL", 0.1)):
        monkeypatch.setattr(locks.ProcessLock, f"{name}_SECONDS", value)
    with Proxy(only_server.plane, only_server.plane.servers["cp-1"].url) as proxy:
        options = {"kubeconfig": proxy.kubeconfig(admin), "max_qps": 0.5, "retries": 0}
        with running(only_server, things.resource, **options) as run:
            eventually(lambda: proxy.count("PATCH", f"/{things.plural}/") > 0, within=30)

            # When it can't be renewed any more, though all else can be written.
            verbs = ("GET", "LIST", "PUT")
            proxy.pretend({"message": "maintenance"}, "lockstep-migrate", verbs=verbs)
            result = run.result()

    # Then it stops, to be taken up again, before another run could begin with the same objects.
    assert result["failed"]
    assert "The lock migrate is lost" in result["resources"][things.resource]["reason"]
    assert things.stored()["v1"] > 0
    assert not migrate(only_server, things.resource).get("failed")


@contextmanager
def killed_before_its_record() -> Iterator[None]:
    """Let runs end when all is written, and before any of it is verified or recorded."""

    def end(*_arguments: object) -> None:
        raise LockstepError("It was killed", "", "")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(MigrationTask, "_verify", end)
        yield


@pytest.fixture(scope="module")
def vault(network: PrivateNetwork, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Vault]:
    """Two servers, the first of which writes by key2 and the other one by key1."""
    directory = tmp_path_factory.mktemp("vault")
    plane: ControlPlane
    with control_plane(network=network) as plane:
        vault = Vault(Recorder(plane), directory)
        plane.add_servers(vault.spec("key2", "key1"), vault.spec("key1", "key2"))
        vault.recorder.install()
        vault.fill(20, through="cp-2")
        yield vault


@pytest.fixture
def plain(network: PrivateNetwork) -> Iterator[Things]:
    """Objects in plain text, two of which are stale."""
    with control_plane(ServerSpec(), network=network) as plane:
        recorder = Recorder(plane)
        recorder.install()
        things = Things(recorder, "plains")
        things.store_as_v2()
        for number in range(COUNT - 2):
            label = {"metadata": {"labels": {"stored": "as-v2"}}}
            recorder.api.patch(f"{things.path}/thing-{number}", label)
        recorder.observe(things.resource)
        yield things


@pytest.fixture
def with_key1(plain: Things, tmp_path: Path) -> ServerSpec:
    """A server that encrypts them."""
    file = write_configuration(tmp_path / "key1.json", "key1", resource=plain.resource)
    return ServerSpec(arguments=[f"--encryption-provider-config={file}"])


def unencrypted(things: Things) -> list[str]:
    """The keys of those that lie in plain text."""
    stored = things.recorder.plane.etcd.stored_versions(things.prefix)
    return [key for key, value in stored.items() if not value.startswith("k8s:enc:")]


class TestReencryption:
    def test_a_run_that_was_killed_proves_no_keys_to_one_with_an_audit(
        self, plain: Things, with_key1: ServerSpec
    ) -> None:
        recorder = plain.recorder
        recorder.plane.servers["cp-1"].restart(with_key1)
        assert plain.stored() == {"v1": 2, "v2": COUNT - 2}

        # Given a run for a new key that has an audit and is ended before it has written anything.
        options = {"encryption_generation": "key1", **audited(recorder, plain.resource)}
        ended = migrate(recorder, plain.resource, stop_after=0.001, retries=0, **options)
        assert ended["failed"]

        # When it is run again, with an audit that names the stale ones.
        options = {"encryption_generation": "key1", **audited(recorder, plain.resource)}
        result = migrate(recorder, plain.resource, **options)

        # Then all are encrypted, and not those alone.
        assert unencrypted(plain) == []
        assert result["resources"][plain.resource]["verified"], result

    def test_an_audit_that_names_a_new_key_does_not_prove_it(
        self, plain: Things, with_key1: ServerSpec
    ) -> None:
        # Given all in one version, a server with a new key, and a record of an audit that names it.
        recorder = plain.recorder
        recorder.migrate(plain.resource, backend="direct")
        recorder.plane.servers["cp-1"].restart(with_key1)
        recorder.observe(
            plain.resource, encryption_generation="key1", **audited(recorder, plain.resource)
        )

        # When all is to be encrypted by it.
        result = migrate(recorder, plain.resource, scope="all", encryption_generation="key1")

        # Then it is, and not only said to be.
        assert unencrypted(plain) == []
        assert result["resources"][plain.resource]["verified"], result

    def test_a_run_that_was_killed_before_its_record_proves_no_keys(self, vault: Vault) -> None:
        # Given a run that wrote all, through servers that encrypt differently, and was killed then.
        with killed_before_its_record():
            ended = migrate(
                vault.recorder, SECRETS, scope="all", encryption_generation="key0", retries=0
            )
        assert "It was killed" in ended["msg"]

        # When it is run again, and finds a migration that has succeeded.
        result = vault.reencrypt("key0")

        # Then that does not count as a proof.
        assert SECRETS in result["verified_except"]
        assert "nothing proves" in str(vault.recorder.status(SECRETS)["evidence"]["unseen"])

    def test_servers_that_encrypt_differently_verify_nothing(self, vault: Vault) -> None:
        first = vault.reencrypt("key2")
        again = vault.reencrypt("key2")

        assert not first["resources"][SECRETS]["verified"]
        assert first["summary"][0].startswith("migrated, not verified: ")
        assert "configuration files that differ" in first["verified_except"][SECRETS]
        assert "nothing proves" in str(vault.recorder.status(SECRETS)["evidence"]["unseen"])
        assert SECRETS in again["verified_except"]

    def test_they_are_told_apart_by_what_they_store_where_metrics_are_silent(
        self, vault: Vault
    ) -> None:
        result = vault.reencrypt("key2-silent", kubeconfig=vault.without_metrics)

        assert not result["resources"][SECRETS]["verified"]
        urls = sorted(one.url for one in vault.recorder.plane.servers.values())
        assert f"is stored differently by {', and by '.join(urls)}" in str(result["summary"])
        assert vault.keys() == {"key1", "key2"}

    def test_servers_that_encrypt_alike_verify_it_where_metrics_are_silent(
        self, vault: Vault
    ) -> None:
        vault.recorder.plane.servers["cp-2"].restart(vault.spec("key2", "key1"))

        result = vault.reencrypt("key2-alike", kubeconfig=vault.without_metrics)

        assert result["resources"][SECRETS]["verified"], result["resources"]
        assert vault.keys() == {"key2"}
        assert not vault.recorder.status(SECRETS)["evidence"]["unseen"]

    def test_servers_that_encrypt_alike_verify_it(self, vault: Vault) -> None:
        result = vault.reencrypt("key2")

        assert result["resources"][SECRETS]["verified"], result["resources"]
        assert "nothing had to be rewritten" in str(result["resources"][SECRETS]["notes"])
        assert vault.keys() == {"key2"}
        assert not vault.reencrypt("key2")["changed"]

    def test_what_an_aggregated_api_stores_is_not_told_by_other_servers(self, vault: Vault) -> None:
        # Given servers with one configuration, and an API whose own server encrypts nothing.
        plane = vault.recorder.plane
        wardle = Wardle(plane)
        wardle.stand_on(wardle.endpoint)
        path = f"/apis/{WARDLE}/v1alpha1/namespaces/default/flunders"
        plane.api.create(path, {"metadata": {"name": "plain"}})

        result = migrate(vault.recorder, FLUNDERS, scope="all", encryption_generation="key2")
        wardle.remove()

        said = result["resources"][FLUNDERS]
        assert (said["status"], said["verified"]) == ("succeeded", False)
        assert "whose own server encrypts it" in result["verified_except"][FLUNDERS]

    def test_an_audit_of_versions_does_not_stand_for_new_keys(self, vault: Vault) -> None:
        # Given ConfigMaps that no server encrypts, all in their current version.
        recorder = vault.recorder
        recorder.migrate(MAPS, backend="direct")

        # When they are to be encrypted by a new key, and an audit says that all is current.
        result = migrate(
            recorder,
            MAPS,
            scope="all",
            encryption_generation="key3",
            **audited(recorder, MAPS),
        )

        # Then they are rewritten all the same: versions say nothing of keys.
        assert result["resources"][MAPS]["listed"] > 0


def test_servers_with_one_file_and_other_keys_of_kms_verify_nothing(
    network: PrivateNetwork, tmp_path: Path
) -> None:
    # Given servers with the very same file, one of which has not heard of a new key yet.
    plane: ControlPlane
    with (
        control_plane(network=network) as plane,
        KmsPlugin(tmp_path / "kms-1", "kms-key-1") as old,
        KmsPlugin(tmp_path / "kms-2", "kms-key-2") as new,
    ):
        file = write_provider(tmp_path / "kms.json", KmsPlugin.provider())
        spec = ServerSpec(arguments=[f"--encryption-provider-config={file}"])
        plane.add_servers(*(replace(spec, program=one.program()) for one in (old, new)))
        vault = Vault(Recorder(plane), tmp_path)
        vault.recorder.install()
        vault.fill(20)

        result = vault.reencrypt("kms-key-2")

        # Then some lie under the old key, and nothing says that they don't.
        stored = [value for _key, value in plane.etcd.items("/registry/secrets/")]
        assert {b"kms-key-1" in value for value in stored} == {True, False}
        assert "is stored differently by" in result["verified_except"][SECRETS]
