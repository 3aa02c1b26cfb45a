# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How a playbook was started, as others are to be: the same inventory, and no secrets."""

from __future__ import annotations

import shlex

import pytest

from ansible_collections.lockstep.kubernetes.plugins.plugin_utils._started import describe_start


def start(*extra_vars, **arguments):
    return describe_start({"extra_vars": extra_vars, **arguments})


def test_without_a_command_line_it_is_ansible_playbook_alone():
    assert describe_start({}) == {"command": "ansible-playbook", "note": ""}


def test_inventories_and_the_user_are_kept_as_they_were_typed():
    told = start(inventory=("hosts one.yml", "b,"), remote_user="bob", become=True)
    assert shlex.split(told["command"]) == [
        *("ansible-playbook", "-i", "hosts one.yml", "-i", "b,", "-u", "bob", "--become")
    ]


def test_what_is_so_by_default_is_not_repeated():
    usual = {"connection": "ssh", "become": True}
    told = describe_start({"connection": "ssh", "become": True}, by_default=usual)
    assert told["command"] == "ansible-playbook"


def test_files_of_variables_are_kept_by_name_and_ours_by_value():
    told = start("@vars.yml", "upgrade_mode=coordinated migrate_speed=full", '{"plan_hosts": {}}')
    assert shlex.split(told["command"])[1:] == [
        "-e",
        "@vars.yml",
        "-e",
        '{"upgrade_mode": "coordinated", "migrate_speed": "full", "plan_hosts": {}}',
    ]
    assert told["note"] == ""


@pytest.mark.parametrize(
    "given",
    [
        "ansible_become_password=hunter2",
        "site_thing=hunter2",
        "lockstep_api_token=hunter2",
        '{"ansible_ssh_pass": "hunter2"}',
        '{"upgrade_secret": "hunter2"}',
        '{"plan_x": !vault "hunter2"}',
    ],
)
def test_what_may_be_secret_is_named_and_not_printed(given):
    told = start(given)
    assert "hunter2" not in str(told)
    assert told["command"] == "ansible-playbook"
    assert told["note"].startswith("# ")


def test_the_release_is_for_each_command_to_say():
    assert start("kubernetes_version=1.37.0") == {"command": "ansible-playbook", "note": ""}
