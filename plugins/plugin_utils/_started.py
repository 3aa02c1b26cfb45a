# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This plugin_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""How to start another playbook in the way that somebody has started one, without telling secrets.

Only what is known to be no secret is repeated: our own variables, which hold none, and a few of
Ansible's. Of the others the names are told.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from shlex import join
from typing import Any

import yaml
from ansible.parsing.splitter import parse_kv

# Which release to go to is for each command to say.
_STEP = ("kubernetes_version", "kube_version")
_OURS = re.compile(
    r"(lockstep|upgrade|preflight|plan|snapshot|control_plane|nodes|converge|migrate|migrator"
    r"|verify|report|trigger|reset)_\w+"
)
_ANSIBLE = (
    "ansible_become",
    "ansible_become_method",
    "ansible_become_user",
    "ansible_connection",
    "ansible_port",
    "ansible_python_interpreter",
    "ansible_ssh_private_key_file",
    "ansible_user",
)
_SECRET = re.compile(r"pass(word|wd|phrase)?|token|secret|credential", re.IGNORECASE)

# Switches, and options with a value or several, by what Ansible calls them once they are read.
_SWITCHES = {
    "become": "--become",
    "become_ask_pass": "--ask-become-pass",
    "ask_pass": "--ask-pass",
    "ask_vault_pass": "--ask-vault-pass",
}
_VALUES = {
    "inventory": "-i",
    "remote_user": "-u",
    "connection": "-c",
    "private_key_file": "--private-key",
    "become_password_file": "--become-password-file",
    "connection_password_file": "--connection-password-file",
    "vault_ids": "--vault-id",
    "vault_password_files": "--vault-password-file",
}


def describe_start(
    arguments: Mapping[str, Any], *, by_default: Mapping[str, Any] | None = None
) -> dict[str, str]:
    """The command up to the name of a playbook, and a note on what is left out of it.

    `arguments` are those of the command line, as Ansible has read them; what is as it is
    `by_default` needs no word.
    """
    usual = by_default or {}
    words = ["ansible-playbook"]
    for name, flag in _VALUES.items():
        given = arguments.get(name)
        if given and given != usual.get(name):
            words += [word for one in _several(given) for word in (flag, one)]
    words += [
        flag
        for name, flag in _SWITCHES.items()
        if arguments.get(name) and not usual.get(name, False)
    ]
    files, variables = _read_variables(_several(arguments.get("extra_vars") or ()))
    kept = {name: value for name, value in variables.items() if _may_be_told(name)}
    words += [word for file in files for word in ("-e", file)]
    if kept:
        words += ["-e", json.dumps(kept)]
    hidden = sorted(set(variables) - set(kept) - set(_STEP))
    note = f"# give these again, which are not printed: -e {', '.join(hidden)}" if hidden else ""
    return {"command": join(words), "note": note}


def _several(given: object) -> list[str]:
    if isinstance(given, (list, tuple)):
        return [str(one) for one in given if one]
    return [str(given)] if given else []


def _read_variables(given: Iterable[str]) -> tuple[list[str], dict[str, Any]]:
    """Files of variables, and variables, as Ansible tells them apart."""
    files, variables = [], {}
    for text in given:
        if text.startswith("@"):
            files.append(text)
        elif text[:1] in "[{":
            variables.update(_load(text))
        else:
            variables.update(parse_kv(text))
    return files, variables


def _load(text: str) -> Mapping[str, Any]:
    try:
        loaded = yaml.safe_load(text)
    except yaml.YAMLError:
        # With a tag of Ansible's, such as that of a vault: nothing of it is told.
        return {"what is encrypted": ""}
    return loaded if isinstance(loaded, Mapping) else {}


def _may_be_told(name: str) -> bool:
    if name in _STEP or _SECRET.search(name):
        return False
    return name in _ANSIBLE or bool(_OURS.fullmatch(name))
