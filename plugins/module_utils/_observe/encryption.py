# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""By which configuration each server encrypts what it writes, as far as its metrics tell."""

from __future__ import annotations

from collections.abc import Iterable

from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.encryption import (
    EncryptionConfig,
    read_encryption,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.servers import (
    Access,
    ApiServer,
    Deadline,
    ServerFault,
)


def observe_encryption(
    access: Access, addresses: Iterable[str], *, timeout: float
) -> dict[str, str]:
    """The hash of each server's configuration; empty where it does not tell."""
    configs = observe_encryption_configs(access, addresses, timeout=timeout)
    return {address: one.hash for address, one in configs.items()}


def observe_encryption_configs(
    access: Access, addresses: Iterable[str], *, timeout: float
) -> dict[str, EncryptionConfig]:
    """What each server's metrics tell of its configuration."""
    found = {}
    for address in addresses:
        server = ApiServer(access, address, Deadline(timeout))
        try:
            body = server.get("/metrics", accept="text/plain").body
            found[address] = read_encryption(body.decode("utf-8", "replace"))
        except ServerFault:
            found[address] = EncryptionConfig()
        finally:
            server.close()
    return found
