# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""By which configuration each server encrypts what it writes, as far as its metrics tell."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.servers import (
    Access,
    ApiServer,
    Deadline,
    ServerFault,
)

_HASH = re.compile(
    r'^apiserver_encryption_config_controller_last_config_info\{[^}]*[{,]hash="([^"]+)"',
    re.MULTILINE,
)


def observe_encryption(
    access: Access, addresses: Iterable[str], *, timeout: float
) -> dict[str, str]:
    """The hash of each server's configuration; empty where it does not tell."""
    found = {}
    for address in addresses:
        server = ApiServer(access, address, Deadline(timeout))
        try:
            shown = _HASH.search(server.get("/metrics", accept="text/plain").body.decode())
        except ServerFault:
            shown = None
        finally:
            server.close()
        found[address] = shown[1] if shown else ""
    return found
