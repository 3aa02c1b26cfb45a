# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The metrics file: counts accumulate, and the file is always whole."""

from __future__ import annotations

import pytest
from prometheus_client.parser import text_string_to_metric_families

from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.errors import (
    LockstepError,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.outcomes import Outcome
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.rewrites import Counts
from ansible_collections.lockstep.kubernetes.plugins.module_utils._metrics import write_metrics

PODS = Outcome(
    "pods", "succeeded", backend="direct", counts=Counts(listed=5, rewritten=3, current=2)
)


def read(path):
    return {
        (sample.name, *sorted(sample.labels.values())): sample.value
        for family in text_string_to_metric_families(path.read_text())
        for sample in family.samples
    }


def test_counts_of_several_runs_add_up(tmp_path):
    path = tmp_path / "lockstep.prom"
    write_metrics(path, {"pods": PODS})
    write_metrics(path, {"pods": PODS})
    found = read(path)
    assert found[("lockstep_migrated_objects_total", "direct", "pods")] == 10
    assert found[("lockstep_migrations_total", "pods", "succeeded")] == 2


def test_how_the_last_run_stands_is_shown(tmp_path):
    path = tmp_path / "lockstep.prom"
    unfinished = Outcome("secrets", "unfinished", backend="direct", counts=Counts(listed=9))
    write_metrics(path, {"pods": PODS, "secrets": unfinished})
    found = read(path)
    assert found[("lockstep_last_run_migrations", "running")] == 1
    assert found[("lockstep_last_run_migrations", "succeeded")] == 1
    assert found[("lockstep_remaining_objects", "secrets")] == 9


def test_only_the_file_itself_is_left(tmp_path):
    write_metrics(tmp_path / "lockstep.prom", {"pods": PODS})
    assert [one.name for one in tmp_path.iterdir()] == ["lockstep.prom"]


def test_a_file_of_something_else_is_not_overwritten(tmp_path):
    path = tmp_path / "other"
    path.write_text("{not metrics at all")
    with pytest.raises(LockstepError, match="can't be read"):
        write_metrics(path, {"pods": PODS})
    assert path.read_text() == "{not metrics at all"


def test_a_directory_that_is_missing_is_named(tmp_path):
    with pytest.raises(LockstepError, match=r"missing/lockstep\.prom"):
        write_metrics(tmp_path / "missing" / "lockstep.prom", {"pods": PODS})
