# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""The module release_catalogue, put together: look, and keep what the servers report."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.catalogue import (
    format_catalogue,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.catalogue.told import (
    read_reported,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.errors import (
    LockstepError,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._looks import look
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.servers import (
    read_access,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._run import Result


def keep_catalogue(module: AnsibleModule) -> Result:
    """What release_catalogue does."""
    dest = Path(module.params["dest"])
    if not dest.parent.is_dir():
        raise LockstepError(
            f"The option dest is {dest}",
            "There is no such directory",
            "Give a path in a directory that is there",
        )
    if dest.exists() and not dest.is_file():
        raise LockstepError(
            f"The option dest is {dest}",
            "That is no file",
            "Give the path of a file, which is written anew",
        )
    seen = look(module, read_access(module), ["*"])
    read = read_reported(seen, default_apis=module.params["default_apis"])
    text = format_catalogue(read)
    changed = not dest.exists() or dest.read_bytes() != text.encode()
    if changed and not module.check_mode:
        handle, fresh = tempfile.mkstemp(dir=module.tmpdir)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        module.atomic_move(fresh, str(dest))
    return {
        "changed": changed,
        "dest": str(dest),
        "release": read.release,
        "emulated": read.emulated,
        "resources": sorted(read.resources),
    }
