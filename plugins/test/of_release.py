# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whether a program is of a release, for playbooks."""

from __future__ import annotations

from collections.abc import Callable

from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide import releases


def of_release(version: object, release: object) -> bool:
    """Tell whether `v1.36.3-eks-4a0d` is of 1.36.3."""
    return releases.of_release(str(version), str(release))


class TestModule:
    """The test of this file."""

    # It is no test of pytest.
    __test__ = False

    def tests(self) -> dict[str, Callable[..., bool]]:
        """Name it."""
        return {"of_release": of_release}
