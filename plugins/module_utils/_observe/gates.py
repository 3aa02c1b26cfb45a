# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""Which feature gates are on in every server, as far as their metrics tell."""

from __future__ import annotations

from collections.abc import Iterable

from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.flags import (
    shows_feature,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.servers import (
    Access,
    ApiServer,
    Deadline,
    ServerFault,
)


def observe_feature(
    access: Access, addresses: Iterable[str], *, feature: str, timeout: float
) -> bool:
    """Whether every server says that a feature gate is on; one that does not say so has it off."""
    asked = list(addresses)
    return bool(asked) and all(_shown(access, one, feature, timeout) for one in asked)


def _shown(access: Access, address: str, feature: str, timeout: float) -> bool:
    server = ApiServer(access, address, Deadline(timeout))
    try:
        body = server.get("/metrics", accept="text/plain").body
        return shows_feature(body.decode("utf-8", "replace"), feature)
    except ServerFault:
        return False
    finally:
        server.close()
