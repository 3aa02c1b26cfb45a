# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""Passwords in URLs, which no output may show."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from urllib.parse import unquote

# A user, and most likely a password, in front of the host. A URL may be wrong in all other ways.
_USER = re.compile(r"//([^/\s]*)@")


def without_user(url: str) -> str:
    """A URL without the user and the password in it: API servers take none there."""
    return _USER.sub("//", url, count=1)


def passwords_in(data: object) -> Iterator[str]:
    """The passwords in all URLs of a document, as they stand there and as they are meant."""
    if isinstance(data, str):
        for user in _USER.findall(data):
            password = user.partition(":")[2]
            if password:
                yield from {password, unquote(password)}
    elif isinstance(data, Mapping):
        for value in data.values():
            yield from passwords_in(value)
    elif isinstance(data, (list, tuple)):
        for value in data:
            yield from passwords_in(value)
