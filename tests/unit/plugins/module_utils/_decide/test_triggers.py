# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Another trigger: what runs it, and where it does harm."""

from __future__ import annotations

import pytest

from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.membership import (
    decide_membership,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.triggers import (
    DeploymentSight,
    beside_several,
    find_trigger,
)
from ansible_collections.lockstep.kubernetes.tests.unit.sights import lease, three_servers

WRITER = "storage-version-migration-trigger"
SHIPPED = DeploymentSight(
    "kube-system", "trigger", images=("eu.gcr.io/x/storage-version-migration-trigger:v0.0.5",)
)
REBUILT = DeploymentSight("tools", "svm", images=("our/svm:1",), programs=(f"/bin/{WRITER}",))
OTHER = DeploymentSight("default", "trigger", images=("ci/trigger",), programs=("/bin/trigger",))


def test_nobody_else_is_nobody():
    assert find_trigger("", [SHIPPED]) is None


@pytest.mark.parametrize("runs", [SHIPPED, REBUILT])
def test_the_deployment_that_was_really_found_is_named(runs):
    trigger = find_trigger(WRITER, [OTHER, runs])
    assert f"the Deployment {runs}" in trigger.text
    assert f"--namespace {runs.namespace} delete deployment {runs.name}" in str(trigger.as_error())


def test_one_that_is_scaled_down_runs_nothing():
    idle = DeploymentSight("tools", "svm", programs=(WRITER,), replicas=0)
    assert find_trigger(WRITER, [idle]).deployments == ()


def test_where_none_was_found_the_writer_is_named_and_no_command():
    trigger = find_trigger(WRITER, [OTHER])
    assert f"({WRITER})" in trigger.text
    assert trigger.command == ""
    assert "No Deployment that runs it was found" in str(trigger.as_error())


def test_beside_one_server_it_does_no_harm():
    trigger = find_trigger(WRITER, [SHIPPED])
    one, two = (decide_membership(three_servers("pods", *["v1"] * number)) for number in (1, 2))
    assert beside_several(trigger, one) is None
    assert beside_several(trigger, two) is trigger


def test_a_server_that_only_its_lease_tells_of_counts():
    hidden = decide_membership(three_servers("pods", "v1", leases=[lease("a"), lease("b")]))
    assert beside_several(find_trigger(WRITER, []), hidden) is not None
