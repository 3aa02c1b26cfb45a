"""The lab's peers of an API server: the webhooks it calls, and the proxy before it."""

from __future__ import annotations

import base64
import json
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest
import urllib3

from lab import binaries
from lab.api import Api, ApiError, User
from lab.control_plane import ControlPlane, PrivateNetwork, ServerSpec, control_plane
from lab.objects import CRDS
from lab.proxy import Proxy, cluster_admin
from lab.waiting import eventually
from lab.webhooks import VALIDATING_WEBHOOKS, Webhooks, converted_crd, denying_configuration

GROUP = "peers.example.com"
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
SECRETS = "/api/v1/namespaces/default/secrets"
CANARY = b"canary-7f3a9e51"


@pytest.fixture(scope="module")
def plane(network: PrivateNetwork) -> Iterator[ControlPlane]:
    """One server; every test has objects of its own on it."""
    with control_plane(ServerSpec(), network=network) as plane:
        yield plane


@pytest.fixture(scope="module")
def called(plane: ControlPlane) -> Iterator[Webhooks]:
    """Webhooks that convert crates, trunks, lids and movers. Use `webhooks`."""
    with Webhooks(plane) as webhooks:
        # All at once: a server takes two seconds to serve a definition, or four.
        plane.create_crds(
            converted_crd("crates", GROUP, webhooks),
            converted_crd("trunks", GROUP, webhooks, storage="v2"),
            converted_crd("lids", GROUP, webhooks, namespaced=True),
            converted_crd("movers", GROUP, webhooks),
        )
        yield webhooks


@pytest.fixture
def webhooks(plane: ControlPlane, called: Webhooks) -> Iterator[Webhooks]:
    """Webhooks to put faults in: they work as before afterwards, and are asked for nothing."""
    yield called
    called.conversion_fault = ""
    called.denied.clear()
    plane.api.delete(VALIDATING_WEBHOOKS)


@pytest.fixture(scope="module")
def admin(plane: ControlPlane) -> User:
    """Somebody with a token who may do everything."""
    return cluster_admin(plane)


@pytest.fixture
def proxy(plane: ControlPlane) -> Iterator[Proxy]:
    """A proxy before the server that has seen nothing yet."""
    with Proxy(plane, plane.servers["cp-1"].url) as proxy:
        yield proxy


def path_of(plural: str, version: str) -> str:
    return f"/apis/{GROUP}/{version}/{plural}"


def sized(plural: str, name: str, size: int, **metadata: Any) -> dict[str, Any]:
    """An object in the version v1."""
    return {
        "apiVersion": f"{GROUP}/v1",
        "kind": plural.removesuffix("s").capitalize(),
        "metadata": {"name": name, **metadata},
        "spec": {"size": size},
    }


def stored(plane: ControlPlane, plural: str, name: str) -> Any:
    value = plane.etcd.get(f"/registry/{GROUP}/{plural}/{name}")
    assert value is not None
    return json.loads(value)


def ask(proxy: Proxy, user: User, method: str, path: str) -> urllib3.BaseHTTPResponse:
    """One request with all of its answer."""
    pool = urllib3.PoolManager(ca_certs=str(user.ca), retries=False)
    headers = {"Authorization": f"Bearer {user.token}"}
    if method == "PATCH":
        headers["Content-Type"] = "application/merge-patch+json"
    body = "{}" if method == "PATCH" else None
    return pool.request(method, proxy.url + path, body=body, headers=headers)


@contextmanager
def watch(proxy: Proxy, user: User, path: str) -> Iterator[urllib3.BaseHTTPResponse]:
    """An open watch, to read its events from."""
    pool = urllib3.PoolManager(ca_certs=str(user.ca), retries=False)
    headers = {"Authorization": f"Bearer {user.token}"}
    answer = pool.request("GET", proxy.url + path, headers=headers, preload_content=False)
    yield answer
    answer.close()


class TestConversion:
    def test_a_field_moves_between_the_versions(
        self, plane: ControlPlane, webhooks: Webhooks
    ) -> None:
        plane.api.create(path_of("crates", "v1"), sized("crates", "moving", 3))
        before = webhooks.conversions

        read = plane.api.get(f"{path_of('crates', 'v2')}/moving")

        assert read["spec"] == {"dimensions": {"size": 3}}
        assert stored(plane, "crates", "moving")["spec"] == {"size": 3}
        assert webhooks.conversions > before

    @pytest.mark.usefixtures("webhooks")
    def test_a_field_moves_back(self, plane: ControlPlane) -> None:
        plane.api.create(path_of("trunks", "v1"), sized("trunks", "back", 4))

        read = plane.api.get(f"{path_of('trunks', 'v1')}/back")

        assert read["spec"] == {"size": 4}
        assert stored(plane, "trunks", "back")["spec"] == {"dimensions": {"size": 4}}

    def test_a_write_after_the_flip_stores_the_new_version(
        self, plane: ControlPlane, webhooks: Webhooks
    ) -> None:
        # Given an object that is stored in the old version.
        plane.api.create(path_of("movers", "v1"), sized("movers", "flipped", 5))

        # When the definition stores the other version.
        versions = converted_crd("movers", GROUP, webhooks, storage="v2")["spec"]["versions"]
        plane.api.patch(f"{CRDS}/movers.{GROUP}", {"spec": {"versions": versions}})

        # Then it stays as it is and is read converted, until somebody writes it.
        assert stored(plane, "movers", "flipped")["apiVersion"] == f"{GROUP}/v1"
        read = plane.api.get(f"{path_of('movers', 'v2')}/flipped")
        assert read["spec"] == {"dimensions": {"size": 5}}
        eventually(lambda: rewritten(plane, "movers", "flipped") == f"{GROUP}/v2", within=10)
        assert stored(plane, "movers", "flipped")["spec"] == {"dimensions": {"size": 5}}

    @pytest.mark.usefixtures("webhooks")
    def test_metadata_is_left_alone(self, plane: ControlPlane) -> None:
        metadata = {"labels": {"a": "b"}, "annotations": {"c": "d"}, "finalizers": ["e.f/g"]}
        document = sized("crates", "marked", 6, **metadata)
        created = plane.api.create(path_of("crates", "v1"), document)

        read = plane.api.get(f"{path_of('crates', 'v2')}/marked")

        assert read["metadata"] == created["metadata"]

    @pytest.mark.usefixtures("webhooks")
    def test_a_namespaced_resource_is_converted_too(self, plane: ControlPlane) -> None:
        base = f"/apis/{GROUP}/{{}}/namespaces/default/lids"
        plane.api.create(base.format("v1"), sized("lids", "inside", 7))

        (read,) = plane.api.get(base.format("v2"))["items"]

        assert read["spec"] == {"dimensions": {"size": 7}}

    def test_a_fault_is_told_to_the_reader(self, plane: ControlPlane, webhooks: Webhooks) -> None:
        plane.api.create(path_of("crates", "v1"), sized("crates", "stuck", 8))

        webhooks.conversion_fault = "the lab is out of cardboard"

        with pytest.raises(ApiError, match="the lab is out of cardboard") as failed:
            plane.api.get(f"{path_of('crates', 'v2')}/stuck")
        assert failed.value.status == 500


class TestAdmission:
    def test_a_denied_update_is_forbidden(self, plane: ControlPlane, webhooks: Webhooks) -> None:
        # Given two objects, one of which nobody may write.
        for name in ("guarded", "free"):
            plane.api.create(CONFIG_MAPS, {"metadata": {"name": name}})
        webhooks.denied.add("guarded")

        # When updates are asked for.
        plane.api.create(
            VALIDATING_WEBHOOKS, denying_configuration("guard", webhooks, "", "configmaps")
        )
        eventually(lambda: asked_for(plane, webhooks, "free"), within=10)

        # Then that one alone cannot be written, in the webhook's own words, until it may be.
        says = "guard.lab.example.com.* denied .*lockstep lab: guarded may not be written"
        with pytest.raises(ApiError, match=says) as denied:
            plane.api.patch(f"{CONFIG_MAPS}/guarded", {"data": {"a": "b"}})
        assert denied.value.status == 403
        webhooks.denied.clear()
        plane.api.patch(f"{CONFIG_MAPS}/guarded", {"data": {"a": "b"}})


class TestPassage:
    def test_requests_and_answers_pass(
        self, plane: ControlPlane, proxy: Proxy, admin: User
    ) -> None:
        made = proxy.api(admin).create(CONFIG_MAPS, {"metadata": {"name": "passed"}})

        assert plane.api.get(f"{CONFIG_MAPS}/passed") == made
        assert proxy.requests == [("POST", CONFIG_MAPS, 201)]

    def test_one_connection_serves_many_requests(self, proxy: Proxy, admin: User) -> None:
        before = set(threading.enumerate())
        api = Api(proxy.url, admin, connections=1)

        for number in range(20):
            api.get(f"{CONFIG_MAPS}?limit={number}")

        assert len(set(threading.enumerate()) - before) == 1
        assert proxy.count("GET", "limit=1", status=200) == 11
        assert proxy.count("GET") == 20

    def test_the_server_judges_the_token(self, plane: ControlPlane, proxy: Proxy) -> None:
        stranger = plane.token_user("stranger", "no.such.token")

        with pytest.raises(ApiError) as refused:
            proxy.api(stranger).get(CONFIG_MAPS)

        assert refused.value.status == 401
        assert proxy.count("GET", status=401) == 1

    def test_a_client_certificate_gets_no_kubeconfig(
        self, plane: ControlPlane, proxy: Proxy
    ) -> None:
        with pytest.raises(AssertionError, match="does not pass through"):
            proxy.kubeconfig(plane.admin)

    def test_clients_in_go_pass(self, proxy: Proxy, admin: User) -> None:
        kubectl = binaries.find(binaries.kubernetes("kubectl", binaries.DEFAULT_RELEASE))
        question = ["get", "namespace", "default", "-o", "name"]

        answer = subprocess.run(
            [kubectl, "--kubeconfig", proxy.kubeconfig(admin), *question],
            capture_output=True,
            text=True,
            check=False,
        )

        assert answer.stdout == "namespace/default\n", answer.stderr
        assert proxy.count("GET", "/api/v1/namespaces/default", status=200) == 1

    def test_a_watch_passes_events_when_they_come(self, proxy: Proxy, admin: User) -> None:
        selector = "watch=true&fieldSelector=metadata.name%3Dwatched"
        with watch(proxy, admin, f"{CONFIG_MAPS}?{selector}") as stream:
            proxy.api(admin).create(CONFIG_MAPS, {"metadata": {"name": "watched"}})

            event = json.loads(next(stream.stream()))

        assert event["type"] == "ADDED"
        assert event["object"]["metadata"]["name"] == "watched"

    def test_a_client_with_another_ca_is_not_served(
        self, plane: ControlPlane, proxy: Proxy, admin: User
    ) -> None:
        stranger = replace(admin, ca=plane.foreign_authority.certificate_file)

        with pytest.raises(urllib3.exceptions.SSLError, match="CERTIFICATE_VERIFY_FAILED"):
            proxy.api(stranger).get("/version")

    def test_a_backend_of_another_authority_is_not_trusted(
        self, plane: ControlPlane, admin: User
    ) -> None:
        with (
            Proxy(plane, plane.etcd.url) as proxy,
            pytest.raises(ApiError, match="CERTIFICATE_VERIFY_FAILED") as failed,
        ):
            proxy.api(admin).get("/version")

        assert failed.value.status == 502

    def test_nothing_is_left_of_a_closed_one(self, plane: ControlPlane, admin: User) -> None:
        # Given a proxy with an idle connection and an open watch.
        before = set(threading.enumerate())
        proxy = Proxy(plane, plane.servers["cp-1"].url)
        api = proxy.api(admin)
        api.get(CONFIG_MAPS)
        with watch(proxy, admin, f"{CONFIG_MAPS}?watch=true"):
            # When it closes.
            begun = time.monotonic()
            proxy.close()

        # Then at once, with all its threads, and nobody answers any more.
        assert time.monotonic() - begun < 2
        assert set(threading.enumerate()) <= before
        with pytest.raises(urllib3.exceptions.HTTPError):
            api.get(CONFIG_MAPS)


class TestCanaries:
    @pytest.mark.parametrize("before", ["", "x", "xx"])
    @pytest.mark.parametrize("behind", ["", "x", "xx"])
    def test_one_in_a_secret_is_seen_wherever_it_stands(
        self, plane: ControlPlane, proxy: Proxy, admin: User, before: str, behind: str
    ) -> None:
        name = f"canary-{len(before)}-{len(behind)}"
        value = before.encode() + CANARY + behind.encode()
        data = {"key": base64.b64encode(value).decode()}
        plane.api.create(SECRETS, {"metadata": {"name": name}, "data": data})
        proxy.watch_for(CANARY)

        proxy.api(admin).get(f"{SECRETS}/{name}")
        proxy.api(admin).get(CONFIG_MAPS)

        assert proxy.seen(CANARY) == [f"GET {SECRETS}/{name}"]

    def test_one_deep_in_a_long_answer_is_seen(
        self, plane: ControlPlane, proxy: Proxy, admin: User
    ) -> None:
        canary = b"canary-in-the-deep"
        # Long enough to be compressed for a client that likes it so, and to come in pieces.
        data = {"filler": "z" * 400_000, "text": canary.decode()}
        plane.api.create(CONFIG_MAPS, {"metadata": {"name": "long"}, "data": data})
        proxy.watch_for(canary)
        headers = {"Accept-Encoding": "gzip"}

        read = proxy.api(admin).get(f"{CONFIG_MAPS}/long", headers=headers)

        assert read["data"] == data
        assert proxy.seen(canary) == [f"GET {CONFIG_MAPS}/long"]

    def test_several_are_told_apart(self, plane: ControlPlane, proxy: Proxy, admin: User) -> None:
        for name in ("first-canary", "second-canary"):
            plane.api.create(CONFIG_MAPS, {"metadata": {"name": name}})
        proxy.watch_for(b"first-canary", b"second-canary", b"no-such-canary")

        proxy.api(admin).get(f"{CONFIG_MAPS}/second-canary")

        assert proxy.seen(b"first-canary") == []
        assert proxy.seen(b"second-canary") == [f"GET {CONFIG_MAPS}/second-canary"]

    def test_one_in_a_request_only_is_not_seen(self, proxy: Proxy, admin: User) -> None:
        proxy.watch_for(CANARY)

        proxy.api(admin).get(f"{CONFIG_MAPS}?limit=1", headers={"X-Note": CANARY.decode()})

        assert proxy.seen(CANARY) == []


class TestTrouble:
    def test_a_storm_refuses_patches_until_it_is_over(
        self, plane: ControlPlane, proxy: Proxy, admin: User
    ) -> None:
        path = f"{CONFIG_MAPS}/stormy"
        plane.api.create(CONFIG_MAPS, {"metadata": {"name": "stormy"}})

        proxy.storm(1, retry_after=3)
        during = ask(proxy, admin, "PATCH", path)
        reading = ask(proxy, admin, "GET", path)

        assert (during.status, during.headers["Retry-After"]) == (429, "3")
        assert during.json()["reason"] == "TooManyRequests"
        assert during.json()["details"] == {"retryAfterSeconds": 3}
        assert reading.status == 200
        eventually(lambda: ask(proxy, admin, "PATCH", path).status == 200, within=5)

    @pytest.mark.parametrize(
        ("path", "status"),
        [
            (CONFIG_MAPS, 429),
            ("/api/v1/namespaces?limit=5", 429),
            ("/apis/apps/v1/deployments", 429),
            ("/api/v1/namespaces/default", 200),
            ("/apis/apps/v1", 200),
            ("/readyz", 200),
        ],
    )
    def test_a_storm_can_strike_lists(
        self, proxy: Proxy, admin: User, path: str, status: int
    ) -> None:
        proxy.storm(60, verbs=("LIST",))

        assert ask(proxy, admin, "GET", path).status == status

    def test_an_outage_refuses_everything_until_calm(self, proxy: Proxy, admin: User) -> None:
        proxy.unavailable(60)
        during = ask(proxy, admin, "GET", CONFIG_MAPS)
        proxy.calm()
        after = ask(proxy, admin, "GET", CONFIG_MAPS)

        assert (during.status, during.json()["reason"]) == (503, "ServiceUnavailable")
        assert after.status == 200

    def test_resets_come_in_turn_after_and_before_the_server_has_heard(
        self, plane: ControlPlane, proxy: Proxy, admin: User
    ) -> None:
        api, dropped = proxy.api(admin), []
        proxy.reset_every = 2

        for number in range(1, 6):
            try:
                api.create(CONFIG_MAPS, {"metadata": {"name": f"reset-{number}"}})
            except urllib3.exceptions.ProtocolError:
                dropped.append(number)

        made = [n for n in range(1, 6) if plane.api.answers(f"{CONFIG_MAPS}/reset-{n}")]
        assert dropped == [2, 4]
        assert made == [1, 2, 3, 5]
        assert [one.status for one in proxy.requests] == [201, 0, 201, 0, 201]

    def test_a_delay_is_added_to_each_request(self, proxy: Proxy, admin: User) -> None:
        proxy.delay = 0.3
        begun = time.monotonic()

        ask(proxy, admin, "GET", "/readyz")

        assert 0.3 <= time.monotonic() - begun < 5


def rewritten(plane: ControlPlane, plural: str, name: str) -> str:
    """The version that one is stored in after a write that changes nothing."""
    plane.api.patch(f"{path_of(plural, 'v1')}/{name}", {})
    return str(stored(plane, plural, name)["apiVersion"])


def asked_for(plane: ControlPlane, webhooks: Webhooks, name: str) -> bool:
    """Whether an update of one is asked for: servers learn of a configuration a little later."""
    plane.api.patch(f"{CONFIG_MAPS}/{name}", {"data": {"at": str(time.monotonic())}})
    return webhooks.admissions > 0
