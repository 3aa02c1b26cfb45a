"""What goes wrong before anything was seen: one line each, with what to do, and no secret in it."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from lab.ansible import look, run_module
from lab.control_plane import ISSUER, ControlPlane
from lab.recorder import call_module


def assert_one_line_with_remedy(answer: Any, *, says: str, remedy: str) -> None:
    assert answer["failed"]
    assert "\n" not in answer["msg"]
    assert says in answer["msg"]
    assert remedy in answer["remedy"]
    assert answer["msg"].endswith(answer["remedy"].rstrip(".") + ".")
    assert "exception" not in answer
    assert "Traceback" not in json.dumps(answer)


@pytest.fixture(scope="module")
def expired_token(three_servers: ControlPlane) -> str:
    """A token of a real service account that was good an hour ago."""
    path = "/api/v1/namespaces/default/serviceaccounts"
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "late"}}
    made = three_servers.api.create(path, account)["metadata"]
    now = int(time.time())
    return three_servers.tokens.sign(
        {
            "iss": ISSUER,
            "aud": [ISSUER],
            "sub": "system:serviceaccount:default:late",
            "iat": now - 7200,
            "nbf": now - 7200,
            "exp": now - 3600,
            "kubernetes.io": {
                "namespace": "default",
                "serviceaccount": {"name": "late", "uid": made["uid"]},
            },
        }
    )


class TestConnection:
    @pytest.mark.parametrize(
        ("host", "says", "remedy"),
        [
            ("https://192.0.2.250:6443", "can't be read through https://192.0.2.250:6443", ""),
            ("https://nowhere.invalid:6443", "the name can't be resolved", "Correct the address"),
            ("not a url", "not the URL of an API server", "https://HOST:PORT"),
        ],
    )
    def test_a_wrong_url_is_told(
        self, three_servers: ControlPlane, host: str, says: str, remedy: str
    ) -> None:
        answer = look(three_servers, host=host, timeout=3)

        assert_one_line_with_remedy(answer, says=says, remedy=remedy)

    def test_a_port_that_nothing_listens_on_is_told(self, three_servers: ControlPlane) -> None:
        host = three_servers.balancer.url.replace("6443", "6444")

        answer = look(three_servers, host=host)

        assert_one_line_with_remedy(
            answer, says="connection refused", remedy="Start the server, or correct its address"
        )

    def test_a_wrong_address_among_the_servers_is_refused_by_option_and_value(
        self, three_servers: ControlPlane
    ) -> None:
        answer = look(three_servers, servers=["https://cp-1:port"])

        assert_one_line_with_remedy(
            answer, says="The option servers holds 'https://cp-1:port'", remedy="https://HOST:PORT"
        )

    def test_a_wrong_ca_is_told(self, three_servers: ControlPlane) -> None:
        foreign = three_servers.foreign_authority.certificate_file

        answer = look(three_servers, ca_cert=foreign)

        assert_one_line_with_remedy(
            answer, says="its certificate is not trusted", remedy="Give the cluster's CA in ca_cert"
        )

    def test_a_kubeconfig_that_is_not_there_is_told(self, three_servers: ControlPlane) -> None:
        answer = look(three_servers, kubeconfig="/nowhere/kubeconfig")

        assert_one_line_with_remedy(
            answer, says="The connection to the cluster can't be set up", remedy="kubeconfig"
        )

    def test_a_timeout_that_is_none_is_refused_by_option_and_value(
        self, three_servers: ControlPlane
    ) -> None:
        answer = look(three_servers, timeout=0)

        assert_one_line_with_remedy(
            answer, says="The option timeout is 0", remedy="Correct it, or leave it out"
        )


class TestOptions:
    """Options that no server is asked with: each is named, with its value and what to do."""

    @pytest.mark.parametrize(
        ("module", "options", "says", "remedy"),
        [
            ("discovery_hash", {"timeout": "nan"}, "The option timeout is nan", "Correct it"),
            ("discovery_hash", {"timeout": "inf"}, "The option timeout is inf", "Correct it"),
            ("storage_state", {"settle": 1e300}, "The option settle is 1e+300", "Correct it"),
            ("storage_state_info", {"stale_after": "nan"}, "stale_after is nan", "Correct it"),
            ("discovery_hash", {"proxy": "x:1"}, "The option proxy holds 'x:1'", "http://HOST"),
            ("discovery_hash", {"ca_cert": "/nowhere"}, "ca_cert names /nowhere", "PEM file"),
            ("discovery_hash", {"client_key": "/"}, "client_key names /", "PEM file"),
            ("discovery_hash", {"impersonate_user": "a\nb"}, "Impersonate-User", "the user"),
            ("discovery_hash", {"tls_server_name": "../.."}, "these options", "tls_server_name"),
            ("discovery_hash", {"context": "a\nb"}, "Expected object with name a b", "context"),
            ("lock", {"name": "a,b", "owner": "x"}, "The option name is 'a,b'", "upgrade"),
            ("lock", {"name": "upgrade", "owner": ""}, "The option owner is empty", "whom to ask"),
            (
                "upgrade_plan",
                {"release": "1.36.3", "hosts": {"cp-1": "x y"}},
                "The option hosts holds 'https://x y'",
                "https://HOST:PORT",
            ),
            (
                "upgrade_plan",
                {"release": "1.36.3", "hosts": {"cp-1": "cp-1:1"}, "nodes": {"cp-1": []}},
                "The option nodes names cp-1 ([])",
                "Correct the inventory",
            ),
            ("release_catalogue", {"dest": "/"}, "The option dest is /", "the path of a file"),
        ],
    )
    def test_a_wrong_value_is_refused_by_option_and_value(
        self,
        three_servers: ControlPlane,
        module: str,
        options: dict[str, Any],
        says: str,
        remedy: str,
    ) -> None:
        answer = call_module(module, kubeconfig=three_servers.kubeconfig(), **options)

        assert_one_line_with_remedy(answer, says=says, remedy=remedy)

    def test_a_token_that_can_not_be_sent_is_not_shown(self, three_servers: ControlPlane) -> None:
        token = "canary-of-a\ntoken"

        answer = call_module("discovery_hash", kubeconfig=three_servers.kubeconfig(), api_key=token)

        assert_one_line_with_remedy(
            answer, says="The header authorization can't be sent", remedy="Correct the token"
        )
        assert "canary-of-a" not in json.dumps(answer)

    def test_a_user_is_impersonated_with_all_groups(self, three_servers: ControlPlane) -> None:
        groups = ["system:masters", "others"]

        answer = look(three_servers, impersonate_user="alice", impersonate_groups=groups)

        assert answer["agreed"]


class TestCredentials:
    def test_an_expired_token_is_told_and_not_shown(
        self, three_servers: ControlPlane, expired_token: str
    ) -> None:
        answer = run_module(
            "discovery_hash",
            host=three_servers.balancer.url,
            ca_cert=three_servers.authority.certificate_file,
            api_key=expired_token,
        )

        assert_one_line_with_remedy(
            answer, says="401 Unauthorized", remedy="Renew the token or client certificate"
        )
        assert expired_token not in json.dumps(answer)

    def test_an_expired_token_in_a_kubeconfig_is_not_shown_either(
        self, three_servers: ControlPlane, expired_token: str
    ) -> None:
        user = three_servers.token_user("late", expired_token)

        answer = look(three_servers, kubeconfig=three_servers.kubeconfig(user))

        assert_one_line_with_remedy(answer, says="401 Unauthorized", remedy="Renew the token")
        assert expired_token not in json.dumps(answer)

    def test_a_missing_right_is_told_with_where_to_find_it(
        self, three_servers: ControlPlane
    ) -> None:
        nobody = three_servers.user("nobody")

        answer = look(three_servers, kubeconfig=three_servers.kubeconfig(nobody))

        assert_one_line_with_remedy(answer, says="403 Forbidden", remedy="docs/reference/rbac.md")
        assert 'User "nobody" cannot list resource "endpointslices"' in answer["msg"]


class TestKubeconfigAsData:
    def test_its_secrets_are_kept_out_of_the_output_and_its_words_are_not(
        self, three_servers: ControlPlane
    ) -> None:
        kubeconfig = json.loads(three_servers.kubeconfig().read_text())

        answer = look(three_servers, kubeconfig=kubeconfig)

        assert answer["resources"]["deployments.apps"]["encoding_version"] == "apps/v1"
        secrets = kubeconfig["users"][0]["user"].values()
        assert not any(secret in json.dumps(answer) for secret in secrets)
