#!/usr/bin/python
# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: etcd_snapshot
short_description: Save etcd to a file, and prove that the file can be restored
version_added: 0.1.0
author:
  - The Lockstep authors (@lockstep)
description:
  - Saves etcd to a file, as C(etcdctl snapshot save) does. Then it restores the file into an etcd
    of its own, and compares the number of keys with what etcd had at the same revision.
  - The file has its name only once all of that went well, and only its owner can read it. It holds
    every Secret of the cluster.
  - The etcd that it is restored into listens on no port and can be reached by no other user. It is
    always ended and removed, whatever happens.
  - Nothing is written to the cluster. Keys and values never reach the output or a log, and memory
    stays the same however large etcd is.
options:
  path:
    description:
      - The file to write, on the host that runs the task. Its directory must exist; one that is
        there already is replaced.
      - What arrived whole but could not be verified is kept as O(path) with C(.unverified) behind
        it.
    type: path
    required: true
  verify:
    description:
      - V(restore) restores the file and counts its keys.
      - V(digest) only checks the SHA-256 digest that etcd appends to a snapshot.
      - V(none) promises nothing. The digest is checked even then, since that costs nothing.
      - What was done is said in RV(verified) and in RV(summary).
    type: str
    choices: [restore, digest, none]
    default: restore
  etcd:
    description:
      - The program etcd, for V(restore). It should have the version that the cluster runs.
    type: str
    default: etcd
  etcdutl:
    description:
      - The program etcdutl, for V(restore). Up to etcd 3.5 etcdctl can be named as well.
    type: str
    default: etcdutl
  scratch:
    description:
      - The directory to restore in. What is made in it is always removed.
      - The default is the directory of O(path). Name one on another disk where that has no room for
        three times the size of etcd's database and 140 MB.
    type: path
  allow_partial:
    description:
      - Save etcd even if the API servers keep some resources in another one, which is named in
        RV(not_held). Save that one by a task of its own.
      - Which they are is taken from O(manifest) or O(etcd_servers_overrides).
    type: bool
    default: false
extends_documentation_fragment:
  - lockstep.kubernetes._etcd
attributes:
  check_mode:
    description: Can run in check mode and tell what it would do, without doing it.
    support: full
  diff_mode:
    description: Shows what would be or was changed.
    support: none
requirements:
  - etcd and etcdutl, unless O(verify) is another than V(restore)
notes:
  - Run it where etcd's certificates are, most often on a control-plane host, as a user who may read
    them.
  - The snapshot comes through etcd's JSON gateway, which is on unless somebody has turned it off.
  - What the API servers keep in another etcd, as events may be, is not in it. Unless
    O(allow_partial) is set the task then fails before it writes anything.
seealso:
  - module: lockstep.kubernetes.storage_audit
  - module: lockstep.kubernetes.upgrade_gate
"""

EXAMPLES = r"""
- name: Save etcd before an upgrade, on a host that kubeadm has set up
  lockstep.kubernetes.etcd_snapshot:
    manifest: /etc/kubernetes/manifests/kube-apiserver.yaml
    path: /var/backups/lockstep/etcd.db
  become: true
  register: saved

- name: Say what is known of the file
  ansible.builtin.debug:
    msg: "{{ saved.summary }}"

- name: Save etcd where its programs are not at hand
  lockstep.kubernetes.etcd_snapshot:
    endpoints:
      - https://10.0.0.11:2379
      - https://10.0.0.12:2379
    ca_cert: /etc/etcd/pki/ca.crt
    client_cert: /etc/etcd/pki/client.crt
    client_key: /etc/etcd/pki/client.key
    path: /var/backups/lockstep/etcd.db
    verify: digest
"""

RETURN = r"""
summary:
  description: What is known of the file, for people; the verdict comes first.
  returned: success
  type: list
  elements: str
  sample:
    - "verified: restored into an etcd of its own, it has 5210 keys at revision 48211, as many as
      etcd had then."
    - "  /var/backups/lockstep/etcd.db: 9.1 MB of https://10.0.0.11:2379, in 2.4 s, SHA-256
      9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08."
verified:
  description: How the file was verified. V(none) in check mode.
  returned: success
  type: str
  sample: restore
path:
  description: The file.
  returned: success
  type: str
  sample: /var/backups/lockstep/etcd.db
bytes:
  description: Its size. In check mode, that of etcd's database.
  returned: success
  type: int
  sample: 9134112
digest:
  description: The SHA-256 digest of the file, as C(sha256sum) tells it.
  returned: success, not in check mode
  type: str
  sample: 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
revision:
  description: The revision of etcd that is in the file. Where it was not restored, one that is in
    it at least.
  returned: success
  type: int
  sample: 48211
keys:
  description: How many keys are in it.
  returned: when RV(verified=restore)
  type: int
  sample: 5210
endpoint:
  description: The member that was saved.
  returned: success
  type: str
  sample: https://10.0.0.11:2379
not_held:
  description: Resources that the API servers keep in another etcd, which is not saved.
  returned: success
  type: list
  elements: str
  sample: []
seconds:
  description: How long it took, all in all.
  returned: success, not in check mode
  type: float
  sample: 2.4
"""

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.store import (
    ETCD_ARGUMENTS,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._run import (
    check_positive,
    end_module,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._snapshots import save_etcd


def save(module):
    check_positive(module.params, "timeout")
    return {"changed": True, **save_etcd(module.params, check_mode=module.check_mode)}


def main():
    module = AnsibleModule(
        argument_spec={
            **ETCD_ARGUMENTS,
            "path": {"type": "path", "required": True},
            "verify": {
                "type": "str",
                "choices": ["restore", "digest", "none"],
                "default": "restore",
            },
            "etcd": {"type": "str", "default": "etcd"},
            "etcdutl": {"type": "str", "default": "etcdutl"},
            "scratch": {"type": "path"},
            "allow_partial": {"type": "bool", "default": False},
        },
        supports_check_mode=True,
    )
    end_module(module, save)


if __name__ == "__main__":
    main()
