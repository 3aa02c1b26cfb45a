# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Remedies as commands: a shell takes every name as it stands."""

from __future__ import annotations

import shlex
import subprocess

import pytest

from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.commands import (
    EtcdLogin,
    Start,
    Terms,
    kubectl_for,
    read_etcd_login,
    read_start,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.errors import (
    LockstepError,
)

NASTY = 'it\'s $(touch owned); `id` "x" \\ & > y\nz'
PLAIN = Terms()
LOGIN = Terms(
    kubectl=kubectl_for(NASTY, NASTY), etcd=EtcdLogin((NASTY,), NASTY, NASTY, NASTY, NASTY)
)


@pytest.mark.parametrize("terms", [PLAIN, LOGIN], ids=["plain", "nasty paths"])
@pytest.mark.parametrize(
    "command",
    [
        lambda terms: terms.migrate([NASTY]),
        lambda terms: terms.save_and_delete(NASTY),
        lambda terms: terms.delete_objects(NASTY),
        lambda terms: terms.delete_keys(f"/registry/{NASTY}/", NASTY),
        lambda terms: terms.save_key(NASTY),
        lambda terms: terms.delete_key(NASTY),
        lambda terms: terms.delete_unreadable(f"/api/v1/{NASTY}"),
    ],
    ids=["migrate", "save and delete", "delete", "delete keys", "save", "delete key", "unreadable"],
)
def test_a_nasty_name_stays_one_word(terms, command):
    text = command(terms)
    parsed = subprocess.run(["bash", "-n", "-c", text], capture_output=True, check=False)
    words = shlex.split(text)

    assert parsed.returncode == 0, parsed.stderr
    assert not {"owned", "id", "y", "z"} & set(words)


def test_a_plain_name_is_left_as_it_is():
    assert PLAIN.migrate(["pods"]) == (
        'ansible-playbook lockstep.kubernetes.migrate -e \'{"migrate_resources": ["pods"]}\''
    )
    assert PLAIN.delete_objects("deployments.apps") == "kubectl delete deployments.apps --all"


def test_a_playbook_is_started_as_another_one_was():
    start = read_start({"command": "ansible-playbook -i hosts.yml", "note": "# and a password"})
    assert Terms(start=start).migrate([]) == (
        "ansible-playbook -i hosts.yml lockstep.kubernetes.migrate  # and a password"
    )


@pytest.mark.parametrize("given", [None, {}, {"command": None, "note": ""}])
def test_without_more_it_is_ansible_playbook_alone(given):
    assert read_start(given) == Start("ansible-playbook", "")


@pytest.mark.parametrize("given", [{"command": "a\nb"}, {"note": "rm -r /"}])
def test_what_would_run_something_else_is_refused(given):
    with pytest.raises(LockstepError, match="started_with"):
        read_start(given)


@pytest.mark.parametrize("told", [None, "somewhere", {}, {"endpoints": "x", "ca_cert": None}])
def test_an_audit_that_does_not_say_how_it_reached_etcd_leaves_it_open(told):
    assert read_etcd_login(told).etcdctl == "etcdctl"
