# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How this playbook was started, for the commands that it prints."""

from __future__ import annotations

DOCUMENTATION = r"""
name: started_with
author:
  - The Lockstep authors (@lockstep)
version_added: 0.1.0
short_description: Tells how this playbook was started, for the commands that it prints
description:
  - Gives the beginning of a command that starts another playbook on the same inventory, as the same
    user and with the same variables.
  - Nothing that may be secret is in it. Of variables that were given by C(-e), only those of this
    collection and a few of Ansible's own are repeated, and files of variables by their name. The
    names of the others are in a comment.
options:
  _terms:
    description: None.
"""

EXAMPLES = r"""
- name: Say how to go back
  ansible.builtin.debug:
    msg: >-
      {{ start.command }} lockstep.kubernetes.rollback -e kubernetes_version=1.36.3 {{ start.note }}
  vars:
    start: "{{ lookup('lockstep.kubernetes.started_with') }}"
"""

RETURN = r"""
_list:
  description: One dictionary. C(command) is the command up to the name of the playbook, C(note) a
    comment on what has to be given besides, or nothing.
  type: list
  elements: dict
  sample:
    - command: ansible-playbook -i hosts.yml
      note: ""
"""

from ansible import constants, context
from ansible.plugins.lookup import LookupBase

from ansible_collections.lockstep.kubernetes.plugins.plugin_utils._started import describe_start


class LookupModule(LookupBase):
    """The lookup."""

    def run(self, terms, variables=None, **kwargs):
        """Tell it."""
        usual = {
            "remote_user": constants.DEFAULT_REMOTE_USER,
            "connection": constants.DEFAULT_TRANSPORT,
            "private_key_file": constants.DEFAULT_PRIVATE_KEY_FILE,
            "become": constants.DEFAULT_BECOME,
            "become_ask_pass": constants.DEFAULT_BECOME_ASK_PASS,
            "ask_pass": constants.DEFAULT_ASK_PASS,
            "ask_vault_pass": constants.DEFAULT_ASK_VAULT_PASS,
            "become_password_file": constants.BECOME_PASSWORD_FILE,
            "connection_password_file": constants.CONNECTION_PASSWORD_FILE,
        }
        return [describe_start(dict(context.CLIARGS), by_default=usual)]
