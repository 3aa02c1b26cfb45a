# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""Moments as the Kubernetes APIs write them."""

from __future__ import annotations

import re
from datetime import datetime, timedelta, timezone

_TIME = re.compile(
    r"(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)", re.IGNORECASE
)


def parse_time(text: object) -> datetime | None:
    """Read a moment as the APIs write it, with or without fractions; None if it is none."""
    found = _TIME.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        return None
    seconds, fraction, zone = found.groups()
    try:
        moment = datetime.fromisoformat(seconds.upper() + zone.upper().replace("Z", "+00:00"))
        micros = timedelta(microseconds=int((fraction or "0")[:6].ljust(6, "0")))
        return (moment + micros).astimezone(timezone.utc)
    except (ValueError, OverflowError):
        return None


def format_time(moment: datetime) -> str:
    """Write a moment as the APIs do, with fractions only where there are any."""
    return moment.astimezone(timezone.utc).isoformat().replace("+00:00", "Z")
