# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Storage version hashes for playbooks: from a name to its hash, and back over candidates."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ansible.errors import AnsibleFilterError

from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.errors import (
    LockstepError,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.hashes import (
    is_storage_version_hash,
    parse_group_version_kind,
    storage_version_hash,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.observations import (
    UNKNOWN,
)


def _hash_of(value: object, *, asked_by: str) -> str:
    if not isinstance(value, str):
        raise AnsibleFilterError(
            f"{asked_by}: {value!r} is not a text. Write it as apps/v1/Deployment."
        )
    try:
        return storage_version_hash(*parse_group_version_kind(value))
    except LockstepError as error:
        raise AnsibleFilterError(f"{asked_by}: {error}") from error


def to_hash(value: object) -> str:
    """Compute the hash of `apps/v1/Deployment`."""
    return _hash_of(value, asked_by="storage_version_hash")


def from_hash(value: object, candidates: Iterable[object]) -> str:
    """Find the candidate with this hash; Unknown if none has it."""
    asked_by = "storage_version_from_hash"
    if not isinstance(value, str) or not is_storage_version_hash(value):
        raise AnsibleFilterError(
            f"{asked_by}: {value!r} is not a storage version hash. Such a hash is 8 bytes in "
            "base64, like 8aSe+NMegvE=."
        )
    if isinstance(candidates, (str, bytes)) or not isinstance(candidates, Iterable):
        raise AnsibleFilterError(
            f"{asked_by}: candidates is {candidates!r}, which is not a list. "
            "Write it as ['apps/v1/Deployment', ...]."
        )
    fitting = (one for one in candidates if _hash_of(one, asked_by=asked_by) == value)
    return str(next(fitting, UNKNOWN))


class FilterModule:
    """The filters of this file."""

    def filters(self) -> dict[str, Callable[..., str]]:
        """Name them."""
        return {"storage_version_hash": to_hash, "storage_version_from_hash": from_hash}
