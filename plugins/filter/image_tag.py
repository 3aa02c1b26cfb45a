# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The tag of an image, for playbooks."""

from __future__ import annotations

from collections.abc import Callable

from ansible.errors import AnsibleFilterError

from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide import releases


def image_tag(value: object) -> str:
    """Give the tag of `registry.example.com:5000/name:v1.36.3@sha256:...`."""
    if not isinstance(value, str):
        raise AnsibleFilterError(f"image_tag: {value!r} is not the name of an image.")
    return releases.image_tag(value)


class FilterModule:
    """The filter of this file."""

    def filters(self) -> dict[str, Callable[..., str]]:
        """Name it."""
        return {"image_tag": image_tag}
