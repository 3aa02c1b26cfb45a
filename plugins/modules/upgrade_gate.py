#!/usr/bin/python
# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: upgrade_gate
short_description: Tell whether a release can read what may be stored, before it is installed
version_added: 0.1.0
author:
  - The Lockstep authors (@lockstep)
description:
  - Holds the versions in which objects may be stored against what a release can read, for an
    upgrade and for a rollback alike. What each release writes and reads is in a catalogue that was
    read off real API servers.
  - All findings come at once, each with what was seen, what to do about it, and whether a
    migration, an audit or the operator cures it.
  - What is not known is never safe. An acknowledgement lets a step go on; it does not make it safe.
  - Nothing is written.
options:
  to_release:
    description:
      - The release to go to, such as V(1.37.0), newer or older than the one that runs.
    type: str
    required: true
  to_emulated:
    description:
      - The minor release that it will emulate, such as V(1.36); none if it will not.
    type: str
  from_release:
    description:
      - The release that is left. The default is the oldest that a server runs.
      - At least one server must run it, or emulate it, by its minor release.
    type: str
  from_recorded:
    description:
      - Whether O(from_release) comes from the record of a run that began this step. It is then
        accepted as well where every server runs O(to_release) by now.
    type: bool
    default: false
  rollback_release:
    description:
      - The release to go back to if the step goes wrong. The default is the one that is left.
    type: str
  rolling:
    description:
      - Whether the roll has begun, so that some servers run O(to_release) already. That they
        differ from the others is then no reason to stop, as going on is what ends it.
    type: bool
    default: false
  target_catalogue:
    description:
      - A file that tells what the target writes and reads, for one that is not in the collection's
        own catalogue, such as a vendor's build.
    type: path
  runtime_config:
    description:
      - What C(--runtime-config) of kube-apiserver will turn on and off after the step, such as
        V(storagemigration.k8s.io/v1beta1=true); an empty dictionary if nothing.
      - A resource that the target has off by default, and that nothing turns on, is not served
        there, so that its objects are out of reach.
      - Without this option, O(feature_gates) and O(apiserver_manifest), what the servers serve now
        is held against the defaults of the release that they run. What they serve only because of
        a flag, and the target has off by default, is V(unknown) then.
    type: dict
  feature_gates:
    description:
      - What C(--feature-gates) of kube-apiserver will turn on and off after the step.
    type: dict
  apiserver_manifest:
    description:
      - The text of the static pod manifest of a kube-apiserver, to take these flags from where
        O(runtime_config) and O(feature_gates) are not given. They must stay as they are.
    type: str
  crd_manifests:
    description:
      - YAML files with CustomResourceDefinitions that are to be installed with the step, as paths
        on the host that runs the task, or as URLs.
    type: list
    elements: str
    default: []
  lists:
    description:
      - Whether to list all objects of every resource, which shows whether each can be read. Only
        names and metadata come; of Secrets and ConfigMaps only names.
      - Without it, that is not known.
    type: bool
    default: true
  samples:
    description:
      - How many objects of each resource that has to be rewritten to try, as a dry run.
    type: int
    default: 3
  snapshot_time:
    description:
      - When etcd was last saved, such as V(2026-12-31T00:00:00Z), or the C(mtime) that
        M(ansible.builtin.stat) tells of the file.
    type: str
  snapshot_max_age:
    description:
      - How many seconds old that may be.
    type: float
    default: 86400.0
  retired_keys:
    description:
      - Encryption keys that are to be taken out of use, by their names, such as V(key1) or
        V(aescbc:v1:key1). The step is stopped while anything is encrypted by one of them.
    type: list
    elements: str
    default: []
  custom_checks:
    description:
      - A site's own rules.
    type: list
    elements: dict
    default: []
    suboptions:
      id:
        description: Its name. Its findings have the id V(site:NAME).
        type: str
        required: true
      expression:
        description: A JMESPath expression over the result of this module, of what must hold.
        type: str
        required: true
      severity:
        description: What follows if it does not.
        type: str
        choices: [block, acknowledgeable, warn]
        default: block
      remedy:
        description: What to do then.
        type: str
  acknowledgements:
    description:
      - Findings that somebody knows of and takes the risk of.
    type: list
    elements: dict
    default: []
    suboptions:
      check:
        description: The id of the check.
        type: str
        required: true
      from:
        description: The release that is left, such as V(1.36.3).
        type: str
        required: true
      to:
        description: The release to go to.
        type: str
        required: true
      resource:
        description: Only findings on this resource.
        type: str
      expires:
        description: Until when it holds, such as V(2026-12-31T00:00:00Z).
        type: str
      reason:
        description: Why the risk is taken.
        type: str
  left_out:
    description:
      - Resources, or patterns of them, to do without where nobody can know what is written of them,
        such as those of an aggregated API with several endpoints, or of one that is not available.
      - Findings on them that are unknown do not stop the step. It is not called safe for that, and
        RV(left_out) names them.
    type: list
    elements: str
    default: []
  fail:
    description:
      - Whether the task fails if the step may not go on.
    type: bool
    default: true
  asked_by:
    description:
      - In whose words remedies say what can be set. V(module) names the options of this module,
        V(preflight) the variables of the role and playbook P(lockstep.kubernetes.preflight#role),
        V(upgrade) those of the playbooks that upgrade.
    type: str
    choices: [module, preflight, upgrade]
    default: module
  started_with:
    description:
      - How the commands in remedies start a playbook. The default is C(ansible-playbook) alone.
      - Give what the lookup P(lockstep.kubernetes.started_with#lookup) returns to keep the
        inventory and the variables that this playbook was started with.
    type: dict
    suboptions:
      command:
        description: What comes before the name of the playbook.
        type: str
      note:
        description: A comment to print behind the command, about what is missing in it.
        type: str
extends_documentation_fragment:
  - lockstep.kubernetes._observing
  - lockstep.kubernetes._observing.passes
  - lockstep.kubernetes._observing.attributes
  - kubernetes.core.k8s_auth_options
requirements:
  - jmespath, for O(custom_checks)
seealso:
  - module: lockstep.kubernetes.storage_state
  - module: lockstep.kubernetes.storage_audit
  - module: lockstep.kubernetes.storage_migration
"""

EXAMPLES = r"""
- name: Stop unless 1.37.0 can read all that is stored, and 1.36.3 what 1.37.0 writes
  lockstep.kubernetes.upgrade_gate:
    to_release: 1.37.0

- name: See what speaks against going back
  lockstep.kubernetes.upgrade_gate:
    to_release: 1.36.3
    fail: false
  register: gate

- name: Go on although nobody knows what is stored of one resource
  lockstep.kubernetes.upgrade_gate:
    to_release: 1.37.0
    acknowledgements:
      - check: stored-unknown
        from: 1.36.3
        to: 1.37.0
        resource: leases.coordination.k8s.io
        expires: "2026-12-31T00:00:00Z"
        reason: they are all written anew within seconds
"""

RETURN = r"""
safe:
  description: V(true), V(false) or V(unknown), as a text.
  returned: always
  type: str
  sample: unknown
passed:
  description: Whether the step may go on.
  returned: always
  type: bool
  sample: false
summary:
  description: The verdict for people, then a line for each check that found something.
  returned: always
  type: list
  elements: str
  sample:
    - "not known to be safe: v1.36.3 to v1.37.0, and back to v1.36.3. 1 finding of 1 stops it."
findings:
  description: All that was found.
  returned: always
  type: list
  elements: dict
  contains:
    check:
      description: The id of the check, which never changes.
      type: str
    severity:
      description: V(block); V(acknowledgeable), it stops unless it is acknowledged; V(warn).
      type: str
    resource:
      description: The resource that it is about; empty if it is about all, or about several.
      type: str
    resources:
      description: Every resource that it is about. What many resources have in common is one
        finding.
      type: list
      elements: str
    seen:
      description: What was seen.
      type: str
    remedy:
      description: What to do.
      type: str
    command:
      description: The remedy as one command, to be run as it stands; empty where it takes more.
      type: str
    destructive_command:
      description: What is left where no remedy helps, as one command. It deletes data, though
        what it deletes is saved to a file first where that can be done.
      type: str
    cured_by:
      description: V(migration), V(audit) or V(operator).
      type: str
    unknown:
      description: Whether it is only not known to be safe.
      type: bool
    acknowledged:
      description: The acknowledgement that covers it.
      type: str
    differs_by_upgrade:
      description: Whether it is about a resource that servers write differently because some of
        them run O(to_release) already (O(rolling)).
      type: bool
    may_wait:
      description: Whether it can't be known before all servers run O(to_release), and will be then.
        It still stops the step unless that was judged before it began.
      type: bool
  sample:
    - check: stored-unknown
      severity: acknowledgeable
      resource: ""
      resources: [configmaps, pods]
      seen: >-
        etcd was not read, and nothing else tells in which versions 2 resources may be stored (2
        not recorded): configmaps and pods
      remedy: >-
        Read etcd with lockstep.kubernetes.storage_audit after a
        lockstep.kubernetes.discovery_hash, and give their results as audit and audited_after; or
        migrate them
      command: >-
        ansible-playbook lockstep.kubernetes.migrate -e '{"migrate_resources": ["configmaps",
        "pods"]}'
      destructive_command: ""
      cured_by: audit
      unknown: true
      acknowledged: ""
cured_by:
  description: The resources that each cure helps, of those that stop the step.
  returned: always
  type: dict
  sample:
    migration: []
    audit: [pods]
    operator: []
resources:
  description: What may be stored of each resource, and what the releases read.
  returned: always
  type: dict
  sample:
    pods:
      origin: built-in
      agreed: true
      encoding_version: v1
      encodings: {"https://192.0.2.1:6443": v1}
      stored: [Unknown]
      evidence: assumed
      objects: 12
      target_encoding: v1
      target_decodes: [v1]
      rollback_decodes: [v1]
      decodable_by_target: unknown
      decodable_by_rollback: unknown
      must_migrate: true
checks:
  description: What came of each check, by its id.
  returned: always
  type: dict
  contains:
    title:
      description: What is checked.
      type: str
    result:
      description: V(passed), V(failed), V(unknown), V(warned), or V(not run) where what it needs
        was not given.
      type: str
    findings:
      description: How many findings it has.
      type: int
  sample:
    agreement: {title: All servers write alike, result: passed, findings: 0}
servers:
  description: The servers that were looked at.
  returned: always
  type: list
  elements: dict
  sample:
    - {address: "https://192.0.2.1:6443", release: v1.36.3, emulated: ""}
markdown:
  description: The verdict as Markdown.
  returned: always
  type: str
  sample: "# Not known to be safe: v1.36.3 to v1.37.0"
judged_at:
  description: When the cluster was observed, by its own clock.
  returned: always
  type: str
  sample: "2026-11-17T22:00:00Z"
cluster_uid:
  description: The cluster that was judged, by the UID of its namespace kube-system.
  returned: always
  type: str
  sample: 5e6a2a55-4b5c-4d0f-9a8e-6f0f3c0f4f9b
revision:
  description: The revision of etcd that the API servers were at when they were observed.
  returned: always
  type: int
  sample: 4711
audit_outdated:
  description: Whether the audit would count for more if it were brought up to date, with
    O(audited_after) and a M(lockstep.kubernetes.storage_audit) of its own that goes on from it.
  returned: always
  type: bool
  sample: false
left_out:
  description: What O(left_out) names and nobody can know.
  returned: always
  type: list
  elements: str
  sample: []
storage_version_api:
  description: Whether the StorageVersion API, which tells a second time what each server writes, is
    V(on), V(partly) on or V(off), on which servers it is on, and how to turn it on.
  returned: always
  type: dict
  sample:
    api: "on"
    api_remedy: ""
    servers: ["https://192.0.2.1:6443"]
flags:
  description: The flags that the servers will have, as far as they turn APIs on and off; empty
    where they were not given.
  returned: always
  type: dict
  sample:
    runtime_config: {storagemigration.k8s.io/v1beta1: true}
    feature_gates: {StorageVersionMigrator: true}
judged_by:
  description: The entries of the catalogue that were used; empty where there is none.
  returned: always
  type: dict
  sample:
    target: v1.37.0
    rollback: v1.36.3
    current: v1.36.3
from_release:
  description: The release that is left.
  returned: always
  type: str
  sample: v1.36.3
to_release:
  description: The release to go to.
  returned: always
  type: str
  sample: v1.37.0
rollback_release:
  description: The release to go back to.
  returned: always
  type: str
  sample: v1.36.3
unused_acknowledgements:
  description: Acknowledgements that no finding needed.
  returned: always
  type: list
  elements: str
  sample: []
expired_acknowledgements:
  description: Acknowledgements whose time is over.
  returned: always
  type: list
  elements: str
  sample: []
"""

from ansible_collections.lockstep.kubernetes.plugins.module_utils._gate import judge_step
from ansible_collections.lockstep.kubernetes.plugins.module_utils._module import (
    OBSERVING_ARG_SPEC,
    PASS_ARG_SPEC,
    run_module,
)


def main():
    observing = {key: spec for key, spec in OBSERVING_ARG_SPEC.items() if key != "resources"}
    run_module(
        judge_step,
        arguments={
            **observing,
            **PASS_ARG_SPEC,
            "to_release": {"type": "str", "required": True},
            "to_emulated": {"type": "str"},
            "from_release": {"type": "str"},
            "from_recorded": {"type": "bool", "default": False},
            "rollback_release": {"type": "str"},
            "rolling": {"type": "bool", "default": False},
            "target_catalogue": {"type": "path"},
            "runtime_config": {"type": "dict"},
            "feature_gates": {"type": "dict"},
            "apiserver_manifest": {"type": "str"},
            "crd_manifests": {"type": "list", "elements": "str", "default": []},
            "lists": {"type": "bool", "default": True},
            "samples": {"type": "int", "default": 3},
            "snapshot_time": {"type": "str"},
            "snapshot_max_age": {"type": "float", "default": 86400.0},
            "retired_keys": {"type": "list", "elements": "str", "default": [], "no_log": False},
            "custom_checks": {
                "type": "list",
                "elements": "dict",
                "default": [],
                "options": {
                    "id": {"type": "str", "required": True},
                    "expression": {"type": "str", "required": True},
                    "severity": {
                        "type": "str",
                        "choices": ["block", "acknowledgeable", "warn"],
                        "default": "block",
                    },
                    "remedy": {"type": "str"},
                },
            },
            "acknowledgements": {
                "type": "list",
                "elements": "dict",
                "default": [],
                "options": {
                    "check": {"type": "str", "required": True},
                    "from": {"type": "str", "required": True},
                    "to": {"type": "str", "required": True},
                    "resource": {"type": "str"},
                    "expires": {"type": "str"},
                    "reason": {"type": "str"},
                },
            },
            "left_out": {"type": "list", "elements": "str", "default": []},
            "fail": {"type": "bool", "default": True},
            "asked_by": {
                "type": "str",
                "choices": ["module", "preflight", "upgrade"],
                "default": "module",
            },
            "started_with": {
                "type": "dict",
                "options": {"command": {"type": "str"}, "note": {"type": "str"}},
            },
        },
    )


if __name__ == "__main__":
    main()
