# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""Remedies as commands for a shell, whatever the names in them are, and in the words of whoever
asked for the verdict.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from shlex import join, quote
from typing import Any, Literal

from .errors import LockstepError

__all__ = [
    "EtcdLogin",
    "Start",
    "Terms",
    "kubectl_for",
    "quote",
    "read_etcd_login",
    "read_start",
]

AskedBy = Literal["module", "preflight", "upgrade"]

# Options of the gate that an upgrade has variables of its own for.
_OF_UPGRADE = (
    "etcd_host",
    "etcd_endpoints",
    "etcd_servers_overrides",
    "gone_servers",
    "left_out",
    "tls_server_name",
)
# Options that reasons name which know of no gate, and modules that they send somebody to.
_OPTIONS = re.compile(r"\b(gone_servers|server_count|tls_server_name)\b")
_READING = re.compile(r"storage_audit|discovery_hash")


@dataclass(frozen=True)
class Start:
    """How a playbook is started the way that somebody has started one."""

    # Up to the name of the playbook.
    command: str = "ansible-playbook"
    # What has to be given besides, and must not be printed, as a shell's comment.
    note: str = ""

    def run(self, playbook: str, variables: Mapping[str, Any]) -> str:
        """Start a playbook of this collection."""
        given = f" -e {quote(json.dumps(variables))}" if variables else ""
        note = f"  {self.note}" if self.note else ""
        return f"{self.command} lockstep.kubernetes.{playbook}{given}{note}"


def read_start(given: Mapping[str, Any] | None) -> Start:
    """Read the option; what would run something else than a playbook is refused."""
    start = Start(**{key: str(value) for key, value in (given or {}).items() if value})
    if "\n" in f"{start.command}{start.note}" or not f"{start.note}#".startswith("#"):
        raise LockstepError(
            f"The option started_with is {dict(given or {})!r}",
            "A command must be one line, and its note a comment that begins with #",
            "Give what the lookup lockstep.kubernetes.started_with returns",
        )
    return start


@dataclass(frozen=True)
class EtcdLogin:
    """Where etcd was read, and by which files."""

    endpoints: tuple[str, ...] = ()
    ca_cert: str = ""
    client_cert: str = ""
    client_key: str = ""
    # The host that has these files.
    host: str = ""

    @property
    def one(self) -> EtcdLogin:
        """The same by one member, for what only one can be asked for."""
        return replace(self, endpoints=self.endpoints[:1])

    @property
    def etcdctl(self) -> str:
        """The beginning of every command for it."""
        flags = {
            "endpoints": ",".join(self.endpoints),
            "cacert": self.ca_cert,
            "cert": self.client_cert,
            "key": self.client_key,
        }
        return join(["etcdctl", *(f"--{flag}={value}" for flag, value in flags.items() if value)])


def read_etcd_login(told: object) -> EtcdLogin:
    """How an audit says that it reached etcd; empty where it does not say so."""
    if not isinstance(told, Mapping):
        return EtcdLogin()
    endpoints = told.get("endpoints")
    return EtcdLogin(
        endpoints=tuple(map(str, endpoints)) if isinstance(endpoints, (list, tuple)) else (),
        **{
            key: str(told.get(key) or "")
            for key in ("ca_cert", "client_cert", "client_key", "host")
        },
    )


def kubectl_for(kubeconfig: str, context: str) -> str:
    """How kubectl finds the cluster of a task."""
    flags = {"kubeconfig": kubeconfig, "context": context}
    return join(["kubectl", *(f"--{flag}={value}" for flag, value in flags.items() if value)])


@dataclass(frozen=True)
class Terms:
    """What somebody calls things who asked for a verdict, and how their commands begin."""

    asked_by: AskedBy = "module"
    start: Start = field(default_factory=Start)
    # With what kubectl finds the cluster that was looked at.
    kubectl: str = "kubectl"
    etcd: EtcdLogin = field(default_factory=EtcdLogin)

    def option(self, name: str) -> str:
        """What an option of the gate is called where it was asked."""
        if self.asked_by == "module":
            return f"the option {name}"
        own = self.asked_by == "upgrade" and name in _OF_UPGRADE
        return f"{'upgrade' if own else 'preflight'}_{name}"

    @property
    def read_etcd(self) -> str:
        """How to have etcd read."""
        if self.asked_by == "module":
            return (
                "Read etcd with lockstep.kubernetes.storage_audit after a"
                " lockstep.kubernetes.discovery_hash, and give their results as audit and"
                " audited_after"
            )
        switch = "upgrade_etcd=true" if self.asked_by == "upgrade" else "preflight_audit=true"
        return (
            f"Have etcd read: run it again with -e {self.option('etcd_host')}=HOST, a host of your"
            " inventory that has etcd's certificates, such as one of the control plane; or with"
            f" {self.option('etcd_endpoints')} and the certificates (and {switch}, if you turned"
            " it off)"
        )

    @property
    def read_etcd_again(self) -> str:
        """How to have it read at a moment that is not over yet."""
        if self.asked_by == "module":
            return "Bring the audit up to date (storage_audit with since), and run this right after"
        return "Run it again, which reads etcd once more"

    def translate(self, text: str) -> str:
        """What a reason says, which names options and modules, in the words of who asked."""
        if self.asked_by == "module":
            return text
        if _READING.search(text):
            return self.read_etcd_again
        own = "preflight_servers"
        if self.asked_by == "upgrade":
            own = "lockstep_server of its host"
        named = re.sub(r"\bin servers\b", f"in {own}", text)
        return _OPTIONS.sub(lambda found: self.option(found[0]), named)

    def migrate(self, resources: Iterable[str], **variables: Any) -> str:
        """Have resources migrated; all of them if none is named."""
        chosen = list(resources)
        return self.start.run(
            "migrate", {**({"migrate_resources": chosen} if chosen else {}), **variables}
        )

    def save_and_delete(self, resource: str) -> str:
        """Keep all objects of a resource in a file, and delete them."""
        saved = quote(f"{resource}.yaml")
        return (
            f"{self.kubectl} get {quote(resource)} --all-namespaces -o yaml > {saved} &&"
            f" {self.delete_objects(resource)} --all-namespaces"
        )

    def delete_objects(self, resource: str) -> str:
        """Delete all objects of a resource."""
        return f"{self.kubectl} delete {quote(resource)} --all"

    def delete_keys(self, directory: str, resource: str) -> str:
        """Keep all keys below a directory of etcd in a file, and delete them."""
        saved = quote(f"{resource}.json")
        return (
            f"{self.etcd.etcdctl} get --prefix --write-out=json {quote(directory)} > {saved} &&"
            f" {self.etcd.etcdctl} del --prefix {quote(directory)}"
        )

    def save_key(self, key: str) -> str:
        """Keep the value of one key in a file."""
        saved = quote(key.strip("/").replace("/", "_"))
        return f"{self.etcd.etcdctl} get --print-value-only {quote(key)} > {saved}"

    def delete_key(self, key: str) -> str:
        """Take one key out of etcd, behind the back of the API servers."""
        return f"{self.etcd.etcdctl} del {quote(key)}"

    def delete_unreadable(self, path: str) -> str:
        """Have an API server delete an object that it can't read."""
        option = "ignoreStoreReadErrorWithClusterBreakingPotential=true"
        return f"{self.kubectl} delete --raw {quote(f'{path}?{option}')}"
