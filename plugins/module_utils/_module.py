# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""What all modules that speak to API servers share: their options, and how they begin."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ansible.module_utils.basic import AnsibleModule, missing_required_lib
from ansible_collections.kubernetes.core.plugins.module_utils.args_common import AUTH_ARG_SPEC

from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.servers import (
    ApiServer,
    Deadline,
    ServerFault,
    normalise_addresses,
    read_access,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._run import (
    Result,
    check_patterns,
    check_positive,
    end_module,
)

KUBERNETES_IMPORT_ERROR: str | None = None
try:
    from kubernetes.client import Configuration  # noqa: F401  # pylint: disable=unused-import
except ImportError:
    KUBERNETES_IMPORT_ERROR = traceback.format_exc()

CONNECTION_ARG_SPEC: dict[str, dict[str, Any]] = {
    "tls_server_name": {"type": "str"},
    "timeout": {"type": "float", "default": 10.0},
}
OBSERVING_ARG_SPEC: dict[str, dict[str, Any]] = {
    "servers": {"type": "list", "elements": "str", "default": []},
    "gone_servers": {"type": "list", "elements": "str", "default": []},
    "server_count": {"type": "int"},
    "resources": {"type": "list", "elements": "str", "default": ["*"]},
}
WAIT_ARG_SPEC: dict[str, dict[str, Any]] = {
    "wait": {"type": "bool", "default": False},
    "wait_timeout": {"type": "float", "default": 300.0},
    "wait_sleep": {"type": "float", "default": 2.0},
    "leave_out_unknown": {"type": "bool", "default": False},
    "left_out": {"type": "list", "elements": "str", "default": []},
    "settle": {"type": "float"},
}

# How a pass over the StorageStates judges.
PASS_ARG_SPEC: dict[str, dict[str, Any]] = {
    "stale_after": {"type": "float", "default": 600.0},
    "on_unseen_change": {"type": "str", "choices": ["keep", "unknown"], "default": "keep"},
    "encryption_generation": {"type": "str", "default": "", "no_log": False},
    "audit": {"type": "dict"},
    "audited_after": {"type": "dict"},
    "settle": {"type": "float", "default": 60.0},
}


def run_module(work: Callable[[AnsibleModule], Result], *, arguments: Mapping[str, Any]) -> None:
    """Build a module that speaks to API servers, with the options of all such, and run it."""
    module = AnsibleModule(
        argument_spec={**AUTH_ARG_SPEC, **CONNECTION_ARG_SPEC, **arguments},
        supports_check_mode=True,
    )
    if KUBERNETES_IMPORT_ERROR:
        module.fail_json(msg=missing_required_lib("kubernetes"), exception=KUBERNETES_IMPORT_ERROR)

    _unmask_names(module)

    def checked(module: AnsibleModule) -> Result:
        _check_options(module.params)
        return work(module)

    end_module(module, checked)


@contextmanager
def entry_server(module: AnsibleModule, *, what: str) -> Iterator[ApiServer]:
    """The server that the connection names, for what any server can do; `what` is what may fail."""
    access = read_access(module)
    server = ApiServer(access, access.host, Deadline(module.params["timeout"]))
    try:
        yield server
    except ServerFault as fault:
        raise fault.as_error(f"{what} through {access.host}") from fault
    finally:
        server.close()


def _unmask_names(module: AnsibleModule) -> None:
    """Keep only the secrets of a kubeconfig given as data out of the output.

    The whole of it counts as secret, so that its `apiVersion: v1` would hide every v1 in a result.
    Passwords in the URLs of servers and proxies stay hidden with those of all other options.
    """
    kubeconfig = module.params.get("kubeconfig")
    if isinstance(kubeconfig, str) and Path(kubeconfig).expanduser().is_file():
        # A file's name, which is part of the commands that remedies print.
        module.no_log_values.discard(kubeconfig)
    if isinstance(kubeconfig, Mapping):
        users = [one.get("user") for one in kubeconfig.get("users") or []]
        # What an exec plugin is called and speaks is no secret either.
        secrets = set(_strings(users, without=("apiVersion", "command", "interactiveMode")))
        module.no_log_values -= set(_strings(kubeconfig)) - secrets


def _strings(data: Any, *, without: tuple[str, ...] = ()) -> Iterator[str]:
    """Every text in a document, but for those under some keys."""
    if isinstance(data, str):
        yield data
    elif isinstance(data, Mapping):
        for key, value in data.items():
            if key not in without:
                yield from _strings(value, without=without)
    elif isinstance(data, (list, tuple)):
        for value in data:
            yield from _strings(value, without=without)


def _check_options(params: Mapping[str, Any]) -> None:
    """Refuse what can never work, before anything is read or waited for."""
    normalise_addresses(params.get("servers") or [])
    check_patterns(params.get("resources") or [])
    check_positive(params, "timeout", "wait_timeout", "wait_sleep", "server_count", "seconds")
    # No time to settle is one that may be asked for.
    check_positive({"settle": params.get("settle") or None}, "settle")
