"""Secrets of servers that encrypt, each by a file of its own."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

from .api import Api, User
from .control_plane import ServerSpec
from .direct import migrate
from .proxy import account
from .recorder import Recorder

SECRETS = "secrets"
_RBAC = "/apis/rbac.authorization.k8s.io/v1"


def write_configuration(
    file: Path, *keys: str, indent: int | None = None, resource: str = SECRETS
) -> Path:
    """An EncryptionConfiguration that writes Secrets, or others, by the first of these keys."""
    named = [
        {"name": key, "secret": base64.b64encode(key.encode().ljust(32, b".")).decode()}
        for key in keys
    ]
    return write_provider(file, {"aescbc": {"keys": named}}, indent=indent, resource=resource)


def write_provider(
    file: Path,
    provider: Mapping[str, object],
    indent: int | None = None,
    resource: str = SECRETS,
) -> Path:
    """One that has a provider write Secrets, or others, and can read them in plain text too."""
    document = {
        "apiVersion": "apiserver.config.k8s.io/v1",
        "kind": "EncryptionConfiguration",
        "resources": [{"resources": [resource], "providers": [provider, {"identity": {}}]}],
    }
    file.write_text(json.dumps(document, indent=indent))
    return file


class Vault:
    """What servers encrypt, and by which keys it lies in etcd."""

    def __init__(self, recorder: Recorder, directory: Path) -> None:
        self.recorder, self._directory = recorder, directory

    def write(self, name: str, *keys: str, indent: int | None = None) -> Path:
        """The file of a server, which follows it."""
        return write_configuration(self._directory / f"{name}.json", *keys, indent=indent)

    def spec(self, *keys: str, name: str = "", indent: int | None = None) -> ServerSpec:
        """A server that writes by the first of these keys."""
        file = self.write(name or "-".join(keys), *keys, indent=indent)
        arguments = [
            f"--encryption-provider-config={file}",
            "--encryption-provider-config-automatic-reload=true",
        ]
        return ServerSpec(arguments=arguments)

    def fill(self, count: int, *, namespace: str = "default", through: str = "cp-1") -> None:
        """Have a server store Secrets."""
        api = self.recorder.plane.servers[through].api
        for number in range(count):
            path = f"/api/v1/namespaces/{namespace}/{SECRETS}"
            api.create(path, {"metadata": {"name": f"secret-{number}"}})

    def keys(self) -> set[str]:
        """The keys that the Secrets lie under."""
        stored = self.recorder.plane.etcd.stored_versions("/registry/secrets/").values()
        return {one.split(":")[4] if one.startswith("k8s:enc:") else "" for one in stored}

    @cached_property
    def stranger(self) -> User:
        """Somebody who may do all but read the metrics of servers."""
        plane, name = self.recorder.plane, "without-metrics"
        rules = [
            {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]},
            {"nonResourceURLs": ["/", "/metrics/slis"], "verbs": ["get"]},
        ]
        plane.api.create(f"{_RBAC}/clusterroles", {"metadata": {"name": name}, "rules": rules})
        user = account(plane, name, role=name)
        for server in plane.servers.values():
            assert not Api(server.url, user).answers("/metrics")
        return user

    @property
    def without_metrics(self) -> Path:
        """The kubeconfig of that one."""
        return self.recorder.plane.kubeconfig(self.stranger)

    def reencrypt(self, generation: str, **options: Any) -> Any:
        """Migrate all Secrets as the documentation of key rotation says."""
        asked = {"scope": "all", "encryption_generation": generation, "connections": 4, **options}
        result = migrate(self.recorder, SECRETS, **asked)
        assert not result.get("failed"), result
        return result
