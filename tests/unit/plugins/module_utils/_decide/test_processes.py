# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whether an API server has ended, from the processes of its host."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.processes import (
    HostSight,
    ProcessSight,
    decide_ended,
    is_server,
)

INIT = ProcessSight(1, "systemd", "S", ("/sbin/init",), "/usr/lib/systemd/systemd")
SERVER = ProcessSight(7, "kube-apiserver", "S", ("kube-apiserver", "--bind-address=192.0.2.1"))
HOST = HostSight(processes=(INIT,), root=True, saw_other=True, hiding=False)


@pytest.mark.parametrize(
    "process",
    [
        SERVER,
        replace(SERVER, state="T"),
        ProcessSight(7, "kube-apiserver", "S"),
        ProcessSight(7, "exe", "S", ("/usr/local/bin/kube-apiserver", "--v=2")),
        ProcessSight(7, "ld.so", "S", ("title",), "/usr/local/bin/kube-apiserver"),
        ProcessSight(7, "hyperkube", "S", ("/hyperkube", "kube-apiserver", "--v=2")),
        ProcessSight(7, "k3s-server", "S", ("/usr/local/bin/k3s", "server")),
        ProcessSight(7, "k3s", "S", ("/usr/local/bin/k3s", "server", "--cluster-init")),
        ProcessSight(7, "kubelite", "S", ("/snap/microk8s/1/kubelite", "--kubelet-args-file=x")),
    ],
)
def test_an_api_server_is_known_by_its_process(process: ProcessSight) -> None:
    assert is_server(process)
    assert not decide_ended(replace(HOST, processes=(INIT, process))).ended


@pytest.mark.parametrize(
    "process",
    [
        replace(SERVER, state="Z"),
        ProcessSight(7, "k3s-agent", "S", ("/usr/local/bin/k3s", "agent")),
        ProcessSight(7, "hyperkube", "S", ("/hyperkube", "kubelet")),
        ProcessSight(7, "vim", "S", ("vim", "kube-apiserver")),
        ProcessSight(7, "rke2", "S", ("/usr/local/bin/rke2", "server")),
        ProcessSight(7, "kube-scheduler", "S", ("kube-scheduler",)),
    ],
)
def test_other_processes_are_not_taken_for_one(process: ProcessSight) -> None:
    assert decide_ended(replace(HOST, processes=(INIT, process))).ended


@pytest.mark.parametrize(
    ("sight", "words"),
    [
        (replace(HOST, root=False), "not looked for as root"),
        (replace(HOST, processes=(ProcessSight(9, "python3"),)), "process 1"),
        (replace(HOST, processes=(ProcessSight(1),)), "process 1"),
        (replace(HOST, saw_other=False), "another user"),
        (replace(HOST, saw_other=None, hiding=True), "hidepid"),
        (replace(HOST, processes=(INIT, ProcessSight(9))), "1 of 2 processes"),
    ],
)
def test_that_none_is_seen_proves_nothing_where_not_all_can_be_seen(
    sight: HostSight, words: str
) -> None:
    verdict = decide_ended(sight)
    assert not verdict.ended
    assert words in " ".join(verdict.blind)


def test_a_server_of_another_cluster_on_the_same_host_is_told_apart() -> None:
    host = replace(HOST, processes=(INIT, SERVER))
    assert not decide_ended(host, pattern=r"192\.0\.2\.1").ended
    assert decide_ended(host, pattern=r"192\.0\.2\.2").ended
