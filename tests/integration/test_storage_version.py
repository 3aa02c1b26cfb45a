"""`storage_version`: what a server that is gone reported is removed, and nothing else."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import kubernetes
import pytest
import yaml

from ansible_collections.lockstep.kubernetes.plugins.module_utils import _looks
from ansible_collections.lockstep.kubernetes.plugins.module_utils._act.storage_versions import (
    Pruning,
    prune_stale_entries,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.settling import Look
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.servers import Access
from ansible_collections.lockstep.kubernetes.plugins.module_utils._present import present_pruning
from lab.ansible import run_module, run_playbook, tasks
from lab.api import Api, ApiError
from lab.control_plane import ControlPlane, PrivateNetwork, ServerSpec, control_plane

LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
STORAGE_VERSIONS = "/apis/internal.apiserver.k8s.io/v1alpha1/storageversions"
# The gone server wrote another version of the first, the same of the second, and was the only one
# to have the third.
DISPUTED = "resourceclaims.resource.k8s.io"
COMMON = "pods"
ORPHANED = "leasecandidates.coordination.k8s.io"

Objects = dict[str, dict[str, Any]]


@dataclass
class Aftermath:
    """Two servers, and what a third that was killed left behind."""

    plane: ControlPlane
    gone: str
    live: dict[str, str]
    # The objects as the two wrote them, and as the third left them.
    without: Objects
    left_behind: Objects

    @property
    def api(self) -> Api:
        return self.plane.servers["cp-1"].api

    def prune(self, **options: Any) -> Any:
        return run_module("storage_version", **{"kubeconfig": self.plane.kubeconfig(), **options})

    def objects(self) -> Objects:
        return storage_versions(self.api)

    def reported(self) -> dict[str, set[str]]:
        """Who has an entry, by the name of the object."""
        return {
            name: {entry["apiServerID"] for entry in one["status"].get("storageVersions") or []}
            for name, one in self.objects().items()
        }

    def restore(self) -> None:
        """Let everything be as the third server left it, but for its lease, which is gone."""
        self.set_lease(None)
        now = self.objects()
        for name, then in self.left_behind.items():
            if name not in now:
                now[name] = self.api.create(STORAGE_VERSIONS, {"metadata": {"name": name}})
            if now[name].get("status") != then["status"]:
                document = {**now[name], "status": then["status"]}
                self.api.replace(f"{STORAGE_VERSIONS}/{name}/status", document)

    def set_lease(self, age: timedelta | None) -> None:
        """Let the third server have renewed its lease so long ago; None: it has no lease."""
        with suppress(ApiError):
            self.api.delete(f"{LEASES}/{self.gone}")
        if age is None:
            return
        renewed = (datetime.now(UTC) - age).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        labels = {
            "apiserver.kubernetes.io/identity": "kube-apiserver",
            "kubernetes.io/hostname": "cp-3",
        }
        spec = {
            "holderIdentity": f"{self.gone}_left-behind",
            "leaseDurationSeconds": 3600,
            "renewTime": renewed,
        }
        metadata = {"name": self.gone, "labels": labels}
        self.api.create(LEASES, {"metadata": metadata, "spec": spec})


def storage_versions(api: Api) -> Objects:
    return {item["metadata"]["name"]: item for item in api.get(STORAGE_VERSIONS)["items"]}


def server_ids(api: Api) -> dict[str, str]:
    """The identities of all servers by hostname."""
    items = api.get(f"{LEASES}?labelSelector=apiserver.kubernetes.io/identity")["items"]
    return {i["metadata"]["labels"]["kubernetes.io/hostname"]: i["metadata"]["name"] for i in items}


@pytest.fixture(scope="module")
def aftermath(network: PrivateNetwork) -> Iterator[Aftermath]:
    """Two servers of 1.36; a third that emulated 1.34 and had an API of its own was killed."""
    spec = ServerSpec().with_storage_version_api()
    with control_plane(spec, spec, network=network) as plane:
        api = plane.servers["cp-1"].api
        live, without = server_ids(api), storage_versions(api)
        third = replace(
            spec,
            emulated_version="1.34",
            runtime_config={**spec.runtime_config, "api/all": True},
        )
        (server,) = plane.add_servers(third)
        gone = server_ids(api)["cp-3"]
        server.kill()
        yield Aftermath(plane, gone, live, without, storage_versions(api))


@pytest.fixture
def dead_server(aftermath: Aftermath) -> Aftermath:
    """The third server's entries are all there; its lease has been deleted."""
    aftermath.restore()
    return aftermath


class TestPruned:
    def test_check_mode_tells_and_changes_nothing(self, dead_server: Aftermath) -> None:
        before = dead_server.objects()

        told = dead_server.prune(check=True)

        assert told["changed"]
        assert set(told["pruned"]) == {resource_of(name) for name in dead_server.left_behind}
        assert told["pruned"][DISPUTED] == {
            "removed": [dead_server.gone],
            "common_encoding_version": "resource.k8s.io/v1",
            "deleted": False,
        }
        assert dead_server.objects() == before

    def test_every_entry_of_a_gone_server_goes(self, dead_server: Aftermath) -> None:
        told = dead_server.prune(check=True)

        done = dead_server.prune()

        assert done["changed"]
        assert done["pruned"] == told["pruned"]
        everyone = set(dead_server.live.values())
        assert dead_server.reported() == dict.fromkeys(dead_server.without, everyone)

    def test_the_diff_shows_who_reported_what(self, dead_server: Aftermath) -> None:
        living = dict.fromkeys(dead_server.live.values(), "resource.k8s.io/v1")

        diff = dead_server.prune(diff=True, resources=[DISPUTED])["diff"]

        assert diff["before"] == {DISPUTED: {**living, dead_server.gone: "resource.k8s.io/v1beta2"}}
        assert diff["after"] == {DISPUTED: living}

    def test_a_second_run_changes_nothing(self, dead_server: Aftermath) -> None:
        dead_server.prune(resources=[DISPUTED, COMMON])
        before = dead_server.objects()

        for check in (True, False):
            again = dead_server.prune(check=check, resources=[DISPUTED, COMMON])

            assert (again["changed"], again["pruned"]) == (False, {})
        assert dead_server.objects() == before

    def test_only_chosen_resources_are_touched(self, dead_server: Aftermath) -> None:
        done = dead_server.prune(resources=["*.resource.k8s.io"])

        assert DISPUTED in done["pruned"]
        left = {name for name, ids in dead_server.reported().items() if dead_server.gone in ids}
        untouched = {n for n in dead_server.left_behind if not n.startswith("resource.k8s.io.")}
        assert left == untouched

    def test_an_object_that_only_a_gone_server_had_is_deleted(self, dead_server: Aftermath) -> None:
        assert dead_server.reported()[object_of(ORPHANED)] == {dead_server.gone}

        done = dead_server.prune(resources=[ORPHANED])

        assert done["pruned"][ORPHANED]["deleted"]
        assert object_of(ORPHANED) not in dead_server.objects()


class TestRecomputed:
    def test_the_rest_is_as_the_servers_themselves_had_written_it(
        self, dead_server: Aftermath
    ) -> None:
        def timeless(objects: Objects) -> Objects:
            return {
                name: {
                    **one["status"],
                    "conditions": [
                        {**condition, "lastTransitionTime": ""}
                        for condition in one["status"]["conditions"]
                    ],
                }
                for name, one in objects.items()
            }

        dead_server.prune()

        assert timeless(dead_server.objects()) == timeless(dead_server.without)

    def test_the_condition_of_a_settled_dispute_has_a_new_transition(
        self, dead_server: Aftermath
    ) -> None:
        before = condition(dead_server.objects()[object_of(DISPUTED)])
        assert before["status"] == "False"

        dead_server.prune(resources=[DISPUTED])

        after = condition(dead_server.objects()[object_of(DISPUTED)])
        assert (after["status"], after["reason"]) == ("True", "CommonEncodingVersionSet")
        assert after["lastTransitionTime"] > before["lastTransitionTime"]

    def test_a_condition_that_did_not_change_keeps_its_transition(
        self, dead_server: Aftermath
    ) -> None:
        before = condition(dead_server.objects()[object_of(COMMON)])

        dead_server.prune(resources=[COMMON])

        assert condition(dead_server.objects()[object_of(COMMON)]) == before

    def test_a_dispute_among_living_servers_stays_one(self, dead_server: Aftermath) -> None:
        document = dead_server.objects()[object_of(DISPUTED)]
        second = dead_server.live["cp-2"]
        for entry in document["status"]["storageVersions"]:
            if entry["apiServerID"] == second:
                entry["encodingVersion"] = "resource.k8s.io/v1beta1"
        path = f"{STORAGE_VERSIONS}/{object_of(DISPUTED)}"
        dead_server.api.replace(f"{path}/status", document)

        done = dead_server.prune(resources=[DISPUTED])

        assert done["pruned"][DISPUTED]["common_encoding_version"] == ""
        status = dead_server.api.get(path)["status"]
        assert "commonEncodingVersion" not in status
        assert status["conditions"][0]["reason"] == "CommonEncodingVersionUnset"


class TestLeases:
    def test_the_entry_of_an_expired_lease_goes(self, dead_server: Aftermath) -> None:
        dead_server.set_lease(timedelta(hours=2))

        done = dead_server.prune(resources=[COMMON])

        assert done["pruned"][COMMON]["removed"] == [dead_server.gone]

    def test_the_entry_of_a_silent_lease_stays(self, dead_server: Aftermath) -> None:
        dead_server.set_lease(timedelta(minutes=2))

        done = dead_server.prune(resources=[DISPUTED, COMMON])

        assert not done["changed"]
        (kept,) = done["kept"]
        assert f"cp-3 ({dead_server.gone})" in kept
        assert "may be frozen" in kept
        assert dead_server.gone in dead_server.reported()[object_of(COMMON)]

    @pytest.mark.parametrize("by", ["hostname", "id"])
    def test_the_entry_of_a_silent_lease_goes_if_its_server_is_vouched_to_be_gone(
        self, dead_server: Aftermath, by: str
    ) -> None:
        dead_server.set_lease(timedelta(minutes=2))
        name = "cp-3" if by == "hostname" else dead_server.gone

        done = dead_server.prune(resources=[COMMON], gone_servers=[name])

        assert done["pruned"][COMMON]["removed"] == [dead_server.gone]
        assert done["kept"] == []

    def test_the_entry_of_a_living_lease_stays_whatever_is_vouched(
        self, dead_server: Aftermath
    ) -> None:
        done = dead_server.prune(
            gone_servers=["cp-2", dead_server.live["cp-1"]], resources=[COMMON]
        )

        assert done["pruned"][COMMON]["removed"] == [dead_server.gone]
        assert len(done["kept"]) == 2
        assert all("it is not gone" in one for one in done["kept"])
        assert dead_server.reported()[object_of(COMMON)] == set(dead_server.live.values())


class TestConcurrency:
    def test_two_runs_at_once_both_end_well(self, dead_server: Aftermath) -> None:
        with ThreadPoolExecutor(2) as pool:
            runs = list(pool.map(lambda _run: dead_server.prune(), range(2)))

        assert [run.get("msg") for run in runs] == [None, None]
        pruned = {resource for run in runs for resource in run["pruned"]}
        assert pruned == {resource_of(name) for name in dead_server.left_behind}
        everyone = set(dead_server.live.values())
        assert dead_server.reported() == dict.fromkeys(dead_server.without, everyone)

    def test_a_change_between_look_and_write_is_kept(self, dead_server: Aftermath) -> None:
        path = f"{STORAGE_VERSIONS}/{object_of(COMMON)}"
        label = {"lockstep.test/run": str(time.monotonic_ns())}

        def change() -> None:
            dead_server.api.patch(path, {"metadata": {"labels": label}})

        pruning = prune_while(dead_server, change, resources=[COMMON])

        assert pruning.pruned[COMMON].removed == (dead_server.gone,)
        assert dead_server.api.get(path)["metadata"]["labels"] == label
        assert dead_server.gone not in dead_server.reported()[object_of(COMMON)]

    def test_a_deletion_between_look_and_write_is_no_failure(self, dead_server: Aftermath) -> None:
        path = f"{STORAGE_VERSIONS}/{object_of(ORPHANED)}"

        pruning = prune_while(
            dead_server, lambda: dead_server.api.delete(path), resources=[ORPHANED]
        )

        assert pruning.pruned == {}

    def test_a_server_that_comes_back_between_look_and_write_keeps_its_entry(
        self, dead_server: Aftermath
    ) -> None:
        pruning = prune_while(
            dead_server,
            lambda: dead_server.set_lease(timedelta(seconds=1)),
            resources=[COMMON, DISPUTED],
        )

        assert pruning.pruned == {}
        assert dead_server.gone in dead_server.reported()[object_of(COMMON)]

    def test_what_was_done_before_a_conflict_is_reported(self, dead_server: Aftermath) -> None:
        path = f"{STORAGE_VERSIONS}/{object_of(DISPUTED)}"
        label = {"lockstep.test/run": str(time.monotonic_ns())}

        # Resources are taken in the order of their names: the orphaned one is deleted first.
        pruning = prune_while(
            dead_server,
            lambda: dead_server.api.patch(path, {"metadata": {"labels": label}}),
            resources=[ORPHANED, DISPUTED],
        )

        assert set(pruning.pruned) == {ORPHANED, DISPUTED}
        reported = present_pruning(pruning)
        assert reported["diff"]["before"][ORPHANED] == {
            dead_server.gone: dead_server.left_behind[object_of(ORPHANED)]["status"][
                "storageVersions"
            ][0]["encodingVersion"]
        }


def test_where_the_api_is_off_nothing_is_done_and_the_remedy_told(
    two_servers: ControlPlane,
) -> None:
    done = run_module("storage_version", kubeconfig=two_servers.kubeconfig())

    assert (done["changed"], done["pruned"], done["api"]) == (False, {}, "off")
    assert "--feature-gates=StorageVersionAPI=true" in done["api_remedy"]


def test_a_user_who_may_not_write_is_told_what_to_grant(dead_server: Aftermath) -> None:
    plane = dead_server.plane
    reader = plane.user("reader", groups=["readers"])
    grant_documented(dead_server.api, "lockstep-observer", group="readers")

    done = dead_server.prune(kubeconfig=plane.kubeconfig(reader), resources=[COMMON])

    assert done["failed"]
    assert "403 Forbidden" in done["msg"]
    assert "ClusterRole" in done["remedy"]
    assert dead_server.gone in dead_server.reported()[object_of(COMMON)]


def test_the_documented_rights_are_enough(dead_server: Aftermath) -> None:
    plane = dead_server.plane
    pruner = plane.user("pruner", groups=["pruners"])
    grant_documented(dead_server.api, "lockstep-observer", "lockstep-pruner", group="pruners")

    done = dead_server.prune(kubeconfig=plane.kubeconfig(pruner), resources=[COMMON, ORPHANED])

    assert set(done["pruned"]) == {COMMON, ORPHANED}, done


def test_a_playbook_tells_checks_and_changes_as_any_task_does(dead_server: Aftermath) -> None:
    options = {"kubeconfig": str(dead_server.plane.kubeconfig()), "resources": [DISPUTED]}
    task = {"lockstep.kubernetes.storage_version": options}

    run = run_playbook(
        tasks(
            {"name": "See what would be pruned", "check_mode": True, **task},
            {"name": "Prune", **task},
            {"name": "Prune again", **task},
        ),
        "--diff",
    )

    assert re.search(r"ok=3 +changed=2 .*failed=0", run.stdout), run.stdout
    assert re.search(rf"^-.*{dead_server.gone}.*v1beta2", run.stdout, re.MULTILINE)


def prune_while(
    aftermath: Aftermath, happens: Callable[[], object], *, resources: list[str]
) -> Pruning:
    """Prune as the module does, while something happens between its first look and its write."""
    configuration = kubernetes.client.Configuration()
    kubernetes.config.load_kube_config(
        str(aftermath.plane.kubeconfig()), client_configuration=configuration
    )
    access = Access(configuration)
    options = {"servers": [], "gone_servers": [], "server_count": None, "timeout": 10.0}
    module = SimpleNamespace(params={**options, "resources": resources})
    pending = [happens]

    def look_then_let_it_happen() -> Look:
        seen = _looks.look(module, access)
        while pending:
            pending.pop()()
        return seen

    return prune_stale_entries(access, look=look_then_let_it_happen, timeout=10, dry_run=False)


def grant_documented(api: Api, *roles: str, group: str) -> None:
    """Give a group the ClusterRoles that the documentation names."""
    rbac = "/apis/rbac.authorization.k8s.io/v1"
    text = (Path(__file__).parents[2] / "docs/reference/rbac.md").read_text()
    documents = [yaml.safe_load(one) for one in re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)]
    documented = {one["metadata"]["name"]: one for one in documents}
    authorization = "rbac.authorization.k8s.io"
    for role in roles:
        name = f"{role}-{group}"
        api.create(f"{rbac}/clusterroles", {**documented[role], "metadata": {"name": name}})
        api.create(
            f"{rbac}/clusterrolebindings",
            {
                "metadata": {"name": name},
                "roleRef": {"apiGroup": authorization, "kind": "ClusterRole", "name": name},
                "subjects": [{"apiGroup": authorization, "kind": "Group", "name": group}],
            },
        )


def object_of(resource: str) -> str:
    """The name of a resource's StorageVersion object."""
    plural, _dot, group = resource.partition(".")
    return f"{group or 'core'}.{plural}"


def resource_of(name: str) -> str:
    group, _dot, plural = name.rpartition(".")
    return plural if group == "core" else f"{plural}.{group}"


def condition(storage_version: dict[str, Any]) -> dict[str, Any]:
    (only,) = storage_version["status"]["conditions"]
    return dict(only)
