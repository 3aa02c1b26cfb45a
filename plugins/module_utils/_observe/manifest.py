# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""An API server's static pod manifest: what its flags say of etcd.

Read without a YAML library, which hosts may lack.
"""

from __future__ import annotations

import re
from pathlib import Path

from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.errors import (
    LockstepError,
)

_COMMENT = re.compile(r"(?m)(?:^|(?<=\s))#.*$")
# A value in quotes, or all up to a space, a quote, or the next flag of a list without spaces.
_VALUE = r"""(?:"[^"]*"|'[^']*'|(?:(?!,--)[^\s"'])*)"""
_FLAG = re.compile(
    r"""(?:^|(?<=[\s"'\[,]))--(etcd[-_][a-z_-]+)"""
    # Behind an equals sign; or the next argument: of a shell, of a list, or of a list in JSON.
    rf"""(?:=({_VALUE})|["']?[\s,\\]+(?:-\s+)?(?!["']?-)({_VALUE}))"""
)
# Given more than once, the values of these are added up; of others the last one counts.
_LISTS = ("servers", "servers-overrides")


def read_manifest(path: str) -> dict[str, str]:
    """The flags about etcd in a static pod's manifest, each by its name without `etcd-`."""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", "") or "it is no text"
        raise LockstepError(
            f"The option manifest names {path!r}, which can't be read",
            why,
            "Name the API server's static pod manifest on the host that the task runs on, or give"
            " endpoints and certificates instead",
        ) from error
    flags = parse_manifest(text)
    if "servers" not in flags:
        raise LockstepError(
            f"The manifest {path} names no etcd",
            "It holds no flag --etcd-servers",
            "Name the manifest of a kube-apiserver, or give endpoints and certificates instead",
        )
    return flags


def parse_manifest(text: str) -> dict[str, str]:
    """Find the flags, whatever way they are written in: lists, JSON, or a line for a shell."""
    flags: dict[str, str] = {}
    # Quotes within a quoted text come with a backslash.
    plain = _COMMENT.sub("", text.replace('\\"', '"').replace("\\/", "/"))
    for found in _FLAG.finditer(plain):
        # API servers take underscores for dashes.
        name = found[1].replace("_", "-")[len("etcd-") :]
        value = _unwrap(found[2] if found[2] is not None else found[3])
        if name in _LISTS and flags.get(name):
            value = f"{flags[name]},{value}"
        flags[name] = value
    return flags


def _unwrap(value: str) -> str:
    """A value without its quotes, and without the end of the list that it is the last of."""
    if value[:1] in ('"', "'"):
        return value[1:-1]
    value = value.rstrip(",")
    # The brackets of an IPv6 address are its own.
    while value.endswith("]") and value.count("]") > value.count("["):
        value = value[:-1].rstrip(",")
    return value
