# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""Counts of migrations for those who scrape: a text file, as the node exporter reads them."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.errors import (
    LockstepError,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.outcomes import Outcome

try:
    from prometheus_client import (
        CollectorRegistry,
        Gauge,
        disable_created_metrics,
        write_to_textfile,
    )
    from prometheus_client import Counter as CounterMetric
    from prometheus_client.parser import text_string_to_metric_families

    HAS_PROMETHEUS = True
except ImportError:
    HAS_PROMETHEUS = False

_OBJECTS = "lockstep_migrated_objects"
_MIGRATIONS = "lockstep_migrations"
_REMAINING = "lockstep_remaining_objects"
_STATES = ("pending", "running", "succeeded", "failed")


def write_metrics(path: Path, outcomes: Mapping[str, Outcome]) -> None:
    """Add what a run did to the counters in a file, which is replaced in one go."""
    objects, migrations = _read(path)
    remaining: dict[str, int] = {}
    open_: Counter[str] = Counter()
    for name, one in outcomes.items():
        if one.counts:
            # What an earlier run had done is counted already.
            done = one.counts.rewritten + one.counts.current - one.resumed
            objects[(name, one.backend)] += max(done, 0)
            remaining[name] = max(one.counts.listed - one.counts.done, 0)
        if one.status in ("succeeded", "failed", "superseded"):
            migrations[(name, one.status)] += 1
        elif one.status == "unfinished":
            open_["running"] += 1
    # When a file was first written tells nobody anything.
    disable_created_metrics()  # type: ignore[no-untyped-call]
    registry = CollectorRegistry()
    counted: Counter[str] = Counter(one.status for one in outcomes.values())
    for kind, name, text, labels, values in (
        (
            CounterMetric,
            _OBJECTS,
            "Objects that are stored in their current version since a migration visited them.",
            ["resource", "backend"],
            objects,
        ),
        (
            CounterMetric,
            _MIGRATIONS,
            "Migrations that have ended, by how they did.",
            ["resource", "status"],
            migrations,
        ),
        (
            Gauge,
            _REMAINING,
            "Objects that the last migration of a resource has not visited.",
            ["resource"],
            {(resource,): number for resource, number in remaining.items()},
        ),
        (
            Gauge,
            "lockstep_last_run_migrations",
            "Migrations of the last run, by how far they are.",
            ["status"],
            {(state,): open_[state] + counted[state] for state in _STATES},
        ),
    ):
        metric = kind(name, text, labels, registry=registry)
        for labelled, value in values.items():
            metric.labels(*labelled).inc(value)
    try:
        write_to_textfile(str(path), registry)
    except OSError as error:
        raise LockstepError(
            f"The option metrics_file names {path}",
            f"It can't be written: {error.strerror or error}",
            "Name a file in a directory that exists and may be written",
        ) from error


def check_metrics(path: Path) -> None:
    """Refuse before anything is done if the file could not be written later."""
    if not HAS_PROMETHEUS:
        raise LockstepError(
            "The option metrics_file is given",
            "The Python package prometheus_client is not installed on this host",
            "Install it (pip install prometheus_client), or leave the option out",
        )
    if not os.access(path.parent, os.W_OK):
        raise LockstepError(
            f"The option metrics_file names {path}",
            f"Nothing can be written in {path.parent}",
            "Name a file in a directory that exists and may be written",
        )
    _read(path)


def _read(path: Path) -> tuple[Counter[tuple[str, str]], Counter[tuple[str, str]]]:
    """The counters of earlier runs; a file that is none of ours is not overwritten."""
    objects: Counter[tuple[str, str]] = Counter()
    migrations: Counter[tuple[str, str]] = Counter()
    if not path.exists():
        return objects, migrations
    try:
        families = list(text_string_to_metric_families(path.read_text(encoding="utf-8")))
    except (ValueError, OSError) as error:
        raise LockstepError(
            f"The option metrics_file names {path}",
            f"It can't be read: {error}",
            "Name another file, or remove this one",
        ) from error
    for family in families:
        for sample in family.samples:
            if sample.name == f"{_OBJECTS}_total":
                labels = sample.labels
                objects[(labels["resource"], labels["backend"])] += int(sample.value)
            elif sample.name == f"{_MIGRATIONS}_total":
                labels = sample.labels
                migrations[(labels["resource"], labels["status"])] += int(sample.value)
    return objects, migrations
