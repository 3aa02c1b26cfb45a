#!/usr/bin/python
# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: storage_audit
short_description: Count in which versions and by which keys objects are stored in etcd
version_added: 0.1.0
author:
  - The Lockstep authors (@lockstep)
description:
  - Reads etcd itself and counts, for each resource, the versions that its objects are stored in
    and the keys that they are encrypted by. No API shows this, since API servers convert what they
    read.
  - Only the envelope around each object is looked at. Values are never returned, logged or kept,
    and memory stays the same however large the store is.
  - Only reads. One linearizable read gives the revision that everything is then read at. Where
    several members vote, each is asked for its own, and the newest is taken.
  - What the API servers keep in another etcd is read there, in the same task.
options:
  etcd_prefix:
    description:
      - What all keys of the API servers begin with, their C(--etcd-prefix). The default is the
        manifest's, else V(/registry).
    type: str
  resources:
    description:
      - Which resources to look at, such as V(deployments.apps), V(pods) or V(*.example.com). Only
        their keys are read.
      - A pattern without a dot means the core group; V(*) means all, with the keys that belong to
        no resource.
    type: list
    elements: str
    default: ["*"]
  since:
    description:
      - The result of an earlier audit, or RV(since) of it. Values are read only where keys, or the
        revisions that they were last written at, differ from what that audit saw. The result is as
        exact as without.
      - Where it can't be used, as when O(resources) differs, everything is read, and RV(notes)
        says why.
    type: raw
  encodings:
    description:
      - What the servers write of each resource now, as
        RV(lockstep.kubernetes.discovery_hash#module:encodings), a dictionary with the group/version
        by resource, such as V(apps/v1) by C(deployments.apps). Also
        RV(lockstep.kubernetes.discovery_hash#module:resources) is taken.
      - What is stored in another version is then named in RV(resources.outdated), so that a
        migration can rewrite that and nothing else.
      - A resource without a version here, as where the servers differ, is counted and not named.
    type: dict
  outdated_limit:
    description:
      - How many names to return of each resource at most, for O(encodings). All are counted.
    type: int
    default: 10000
  transport:
    description:
      - How to speak to etcd. V(grpc) is several times as fast and needs the Python package grpcio;
        V(gateway) is etcd's own JSON gateway and needs nothing. V(auto) takes the first that works.
    type: str
    choices: [auto, grpc, gateway]
    default: auto
  page_size:
    description:
      - How many keys to ask for at once, at most. Pages of large objects are made smaller.
    type: int
    default: 5000
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
  - grpcio, optional, for speed and where etcd has no JSON gateway
notes:
  - Run it where etcd's certificates are, most often on a control-plane host, as a user who may read
    them.
  - What is encrypted hides its version, which is V(Unknown) then. The encryption key that it was
    written with is known.
  - With O(encodings) only versions are compared. What has to be rewritten for another encryption
    key is in RV(resources.encryption).
  - C(ranges), C(masterleases) and C(peerserverleases) are kept by API servers for themselves, and
    are in RV(internal).
seealso:
  - module: lockstep.kubernetes.discovery_hash
  - module: lockstep.kubernetes.storage_version_info
"""

EXAMPLES = r"""
- name: Count what is stored, on a host that kubeadm has set up
  lockstep.kubernetes.storage_audit:
    manifest: /etc/kubernetes/manifests/kube-apiserver.yaml
  become: true
  register: stored

- name: Say what is stored in more than one version
  ansible.builtin.debug:
    msg: "{{ stored.summary }}"

- name: Look again later, where something has changed
  lockstep.kubernetes.storage_audit:
    manifest: /etc/kubernetes/manifests/kube-apiserver.yaml
    since: "{{ stored.since }}"
  become: true

- name: See what the servers write
  lockstep.kubernetes.discovery_hash:
  delegate_to: localhost
  register: look

- name: Name the objects that are stored in another version
  lockstep.kubernetes.storage_audit:
    manifest: /etc/kubernetes/manifests/kube-apiserver.yaml
    encodings: "{{ look.encodings }}"
  become: true
  register: stored

- name: See whether an encryption key is still needed
  lockstep.kubernetes.storage_audit:
    endpoints:
      - https://10.0.0.11:2379
      - https://10.0.0.12:2379
    ca_cert: /etc/etcd/pki/ca.crt
    client_cert: /etc/etcd/pki/client.crt
    client_key: /etc/etcd/pki/client.key
    resources:
      - secrets
  register: stored
  failed_when: "'aescbc:v1:old-key' in keys"
  vars:
    keys: "{{ (stored.resources.secrets | default({})).encryption | default({}) }}"
"""

RETURN = r"""
verdict:
  description:
    - The worst that was found. V(undecodable), keys that nobody can decode; V(unknown), encrypted
      objects, keys of no known resource, or an etcd that may have shown less than it holds, see
      RV(believable); V(mixed), resources stored in more than one version;
      V(uniform), none of these.
  returned: success
  type: str
  sample: mixed
summary:
  description: The verdict for people, a line for each thing that matters, with what to do.
  returned: success
  type: list
  elements: str
  sample:
    - "mixed: 62 resources, 5210 keys, 7.9 MB at revision 48211."
    - "  widgets.example.com: 310 in example.com/v1, 12 in example.com/v2."
    - "To do: migrate what is stored in several versions once all servers agree."
notes:
  description: What is worth knowing about how the counts came about.
  returned: success
  type: list
  elements: str
  sample: []
believable:
  description:
    - Whether etcd has shown at least what it had acknowledged before. It is not V(true) where
      linearizable reads may be stale in etcd's version (etcd#20418), several members vote, and one
      of them did not answer.
  returned: success
  type: bool
  sample: true
reasons:
  description: Why it is not believable, with the members' names and what to do.
  returned: success
  type: list
  elements: str
  sample: []
cluster:
  description: Which cluster the keys are of, by the stored namespace C(kube-system).
  returned: success
  type: dict
  contains:
    uid:
      description: Its UID; empty where it is encrypted, is not there, or may not be read.
      type: str
    key_revision:
      description: The revision that its key was last written at, which is the object's
        resourceVersion; 0 where there is none.
      type: int
  sample:
    uid: 3f1b7c62-8a0e-4f7e-9d55-1b6a5b1f0c11
    key_revision: 12
resources:
  description: What was counted, by resource. A resource without keys is not in it.
  returned: success
  type: dict
  contains:
    keys:
      description: How many objects are stored.
      type: int
    bytes:
      description: How many bytes their values have.
      type: int
    versions:
      description: How many objects are stored in each group/version. V(Unknown) is what is
        encrypted.
      type: dict
    kinds:
      description: The kinds that the objects name.
      type: list
      elements: str
    encryption:
      description: How many objects are encrypted by each key, as V(PROVIDER:VERSION:KEY), with
        KMS v2 followed by the id of the key; V(identity) is what is not encrypted.
      type: dict
    undecodable_keys:
      description: How many keys hold what nobody can decode.
      type: int
    undecodable:
      description: The first 20 of them by name, each with the reason.
      type: list
      elements: dict
    shared_with:
      description: Resources of other groups that are these same objects.
      type: list
      elements: str
    encoding_version:
      description: The version in O(encodings) that they were held against.
      returned: when O(encodings) has a version of the resource
      type: str
    outdated:
      description: The first O(outdated_limit) objects that are stored in another version, each as
        C(NAMESPACE/NAME), or C(NAME) where it is in no namespace, in the order of their keys.
      returned: when O(encodings) has a version of the resource
      type: list
      elements: str
    outdated_keys:
      description: How many there are. What is encrypted or can't be decoded is not among them.
      returned: when O(encodings) has a version of the resource
      type: int
    outdated_complete:
      description: Whether RV(resources.outdated) is all that has to be rewritten. It is not where
        names were left out, or something is encrypted or can't be decoded.
      returned: when O(encodings) has a version of the resource
      type: bool
  sample:
    deployments.apps:
      keys: 42
      bytes: 91830
      versions: {apps/v1: 41, extensions/v1beta1: 1}
      kinds: [Deployment]
      encryption: {identity: 42}
      undecodable_keys: 0
      undecodable: []
      shared_with: []
      encoding_version: apps/v1
      outdated: [team-a/web]
      outdated_keys: 1
      outdated_complete: true
    secrets:
      keys: 31
      bytes: 40022
      versions: {Unknown: 30}
      kinds: []
      encryption: {"aescbc:v1:key1": 28, "aescbc:v1:key2": 2}
      undecodable_keys: 1
      undecodable:
        - {key: /registry/secrets/default/broken, why: it is truncated}
      shared_with: []
internal:
  description: The same for what API servers keep for themselves.
  returned: success
  type: dict
  sample: {}
unmapped:
  description: The same for directories below the prefix that belong to no known resource. An
    aggregated API server may keep its own there; audit it with its own O(etcd_prefix). What is left
    behind of a resource that the API servers keep in another etcd is here too.
  returned: success
  type: dict
  sample: {}
elsewhere:
  description: Resources that are kept in another etcd, which could not be read. RV(notes) says
    why.
  returned: success
  type: list
  elements: str
  sample: [events]
audited:
  description: The patterns of O(resources). Of what they choose, all that is stored was counted.
  returned: success
  type: list
  elements: str
  sample: ["*"]
unmatched:
  description: Patterns in O(resources) that no stored object matched.
  returned: success
  type: list
  elements: str
  sample: []
totals:
  description: All counts added up. C(stored_keys) is the number of keys that etcd counts now,
    C(read_keys) how many were looked at this time.
  returned: success
  type: dict
  sample:
    keys: 5210
    bytes: 7912003
    resources: 62
    encrypted_keys: 0
    undecodable_keys: 0
    internal_keys: 4
    unmapped_keys: 0
    stored_keys: 5210
    read_keys: 5210
revision:
  description: etcd's revision that was read. What was written later may not be counted.
  returned: success
  type: int
  sample: 48211
stores:
  description: Every etcd that was read, first the one that holds all that no other holds.
  returned: success
  type: list
  elements: dict
  contains:
    endpoint:
      description: The member that was read.
      type: str
    etcd_version:
      description: Its version.
      type: str
    transport:
      description: How it was read.
      type: str
    cluster_id:
      description: The id of the etcd cluster, in hexadecimal.
      type: str
    revision:
      description: The revision that was read.
      type: int
    later_revisions:
      description: Revisions that the rest was read at.
      type: list
      elements: int
    resources:
      description: What it holds of the API servers' resources; nothing for the first.
      type: list
      elements: str
  sample:
    - endpoint: https://10.0.0.11:2379
      etcd_version: 3.6.16
      transport: grpc
      cluster_id: 6571fb7574e87dba
      revision: 48211
      later_revisions: []
      resources: []
revisions:
  description: Of each resource that was read in another etcd, the revision there; 0 where it was
    not read at one moment. All others were read at RV(revision).
  returned: success
  type: dict
  sample: {}
later_revisions:
  description: Revisions that the rest was read at, where etcd was compacted while it was read.
  returned: success
  type: list
  elements: int
  sample: []
incremental:
  description: Whether counts of an earlier audit were kept where nothing has changed.
  returned: success
  type: bool
  sample: false
since:
  description: What a later audit needs to know of this one, for O(since).
  returned: success
  type: str
  sample: eNqrVkrOz8lPVrJSMjQyVqoFACfZBGk=
seconds:
  description: How long reading took.
  returned: success
  type: float
  sample: 1.31
prefix:
  description: What all keys that were read begin with.
  returned: success
  type: str
  sample: /registry
etcd:
  description: How etcd itself is, by its members and alarms. Nothing where it does not tell its
    members.
  returned: success
  type: dict
  contains:
    faults:
      description: What is wrong with it, in words.
      type: list
      elements: str
    used_bytes:
      description: How much of its room is used, on the member that uses most.
      type: int
    quota_bytes:
      description: How much it may use; 0 where it does not tell, as before etcd 3.6.
      type: int
    leader:
      description: The host in the address of the member that leads; empty where none tells.
      type: str
    members:
      description: Each member with its C(name), the C(endpoint) that it was asked at, whether it is
        a C(voter), its C(version) and its C(revision), or the C(fault) that kept it from telling.
      type: list
      elements: dict
  sample:
    faults: []
    used_bytes: 9132032
    quota_bytes: 2147483648
    leader: 10.0.0.11
    members:
      - name: cp-1
        endpoint: https://10.0.0.11:2379
        voter: true
        version: 3.6.16
        revision: 48211
        fault: ""
cluster_id:
  description: The id of the etcd cluster, in hexadecimal.
  returned: success
  type: str
  sample: 6571fb7574e87dba
endpoint:
  description: The member that was read.
  returned: success
  type: str
  sample: https://127.0.0.1:2379
etcd_version:
  description: Its version; empty where it does not tell.
  returned: success
  type: str
  sample: 3.6.16
reached:
  description: Where etcd was read and by which files, for the commands that others print. The
    files are on C(host).
  returned: success
  type: dict
  sample:
    host: cp-1
    endpoints: ["https://192.0.2.1:2379"]
    ca_cert: /etc/kubernetes/pki/etcd/ca.crt
    client_cert: /etc/kubernetes/pki/apiserver-etcd-client.crt
    client_key: /etc/kubernetes/pki/apiserver-etcd-client.key
transport:
  description: V(grpc) or V(gateway).
  returned: success
  type: str
  sample: grpc
"""

import platform

from ansible.module_utils.basic import AnsibleModule

from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.increments import (
    earlier_state,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.tally import (
    read_encodings,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.store import (
    ETCD_ARGUMENTS,
    audit_store,
    read_options,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._run import (
    check_patterns,
    check_positive,
    end_module,
    tell,
)


def audit(module):
    params = module.params
    check_patterns(params["resources"])
    check_positive(params, "timeout", "page_size")
    encodings = read_encodings(params["encodings"], limit=params["outdated_limit"])
    options = read_options(params)
    seen = audit_store(
        options,
        patterns=params["resources"],
        page_size=params["page_size"],
        since=earlier_state(params["since"]),
        tell=tell,
        encodings=encodings,
    )
    return {"changed": False, **seen.to_dict(), "reached": _reached(options.access)}


def _reached(access):
    return {
        "host": platform.node(),
        "endpoints": list(access.endpoints),
        "ca_cert": access.ca_cert,
        "client_cert": access.client_cert,
        "client_key": access.client_key,
    }


def main():
    module = AnsibleModule(
        argument_spec={
            **ETCD_ARGUMENTS,
            "etcd_prefix": {"type": "str"},
            "resources": {"type": "list", "elements": "str", "default": ["*"]},
            "since": {"type": "raw"},
            "encodings": {"type": "dict"},
            "outdated_limit": {"type": "int", "default": 10000},
            "transport": {
                "type": "str",
                "choices": ["auto", "grpc", "gateway"],
                "default": "auto",
            },
            "page_size": {"type": "int", "default": 5000},
        },
        supports_check_mode=True,
    )
    end_module(module, audit)


if __name__ == "__main__":
    main()
