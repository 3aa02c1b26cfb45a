# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""Releases as kubelets, images and vendors write them; what can't be read is None, no error."""

from __future__ import annotations

import re

_VERSION = re.compile(r"v?(\d+)\.(\d+)\.(\d+)((?:[-+._].*)?)")
_BEFORE_RELEASE = re.compile(r"-(alpha|beta|rc)\b.*")


def read_numbers(version: str) -> tuple[int, int, int] | None:
    """The three numbers of a version, whatever a vendor appends; None where it has none.

    A build without a release calls itself 0.0.0.
    """
    found = _VERSION.fullmatch(version)
    numbers = (int(found[1]), int(found[2]), int(found[3])) if found else (0, 0, 0)
    return numbers if any(numbers) else None


def of_release(version: str, release: str) -> bool:
    """Whether a program is of a release.

    What a vendor appends counts only where it was asked for. A release candidate is older than
    its release.
    """
    asked, found = _VERSION.fullmatch(release), _VERSION.fullmatch(version)
    if not asked or not found:
        return False
    if asked[4] or _BEFORE_RELEASE.fullmatch(found[4]):
        return found.groups() == asked.groups()
    return found.groups()[:3] == asked.groups()[:3]


def image_tag(image: str) -> str:
    """The tag of an image, without its digest; empty where it has none.

    No tag may hold a plus sign: what a version has one for, is written with an underscore.
    """
    _registry, _slash, name = image.partition("@")[0].rpartition("/")
    return name.partition(":")[2].replace("_", "+")
