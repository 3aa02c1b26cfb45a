#!/usr/bin/python
# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

DOCUMENTATION = r"""
module: storage_migration
short_description: Have stored objects written anew, in the version that all servers write
version_added: 0.1.0
author:
  - The Lockstep authors (@lockstep)
description:
  - Rewrites the objects of each chosen resource that may be stored in other than its current
    version, waits until that is done, and records the proof in its StorageState.
  - Nothing is migrated while the API servers do not agree, nor while nobody knows whether they do.
    While it runs they are looked at every few seconds; if one of them comes to write another
    version, even for a moment, the migration is stopped and does not count.
  - Only names are read of the objects, never what is in them.
  - A run that was killed or stopped goes on where it was when the task is run again.
options:
  state:
    description:
      - With V(succeeded), every chosen resource is migrated, and the task waits for it.
      - With V(present), there is a migration of every chosen resource that is due for one; who
        runs it, and when, is left open.
      - With V(advanced), it does what V(present) does, and where no controller would run them, it
        runs what is pending itself, one resource after the other, those first that were begun
        before. It ends after O(stop_after) seconds, and fails only if objects could not be written;
        what is left is for the next run. A run that finds another one at work leaves it to that.
      - With V(absent), there is no migration of any chosen resource, whoever made it. One that
        O(backend=direct) runs stops within seconds; the in-tree controller does not notice, and
        finishes what it has begun.
    type: str
    choices: [succeeded, present, advanced, absent]
    default: succeeded
  retry_failed_after:
    description:
      - Seconds after which O(state=advanced) tries a migration again that has failed. What can't be
        written now can't be written a few minutes later, and to try it all the time is load.
    type: float
    default: 1800.0
  scope:
    description:
      - With V(due), what the StorageStates do not prove to be stored in its current version only.
      - With V(all), also what they prove, if that was under another O(encryption_generation). Use
        it after a change of encryption keys, which hashes do not show. It is verified only if all
        servers are known to write by one key from beginning to end. Up to three objects are
        patched at each server for that, without changing them, and metrics are read where they
        may be.
    type: str
    choices: [due, all]
    default: due
  backend:
    description:
      - Who rewrites the objects.
      - V(in_tree) is the controller of kube-controller-manager, by C(storagemigration.k8s.io).
      - V(migrator) is the out-of-tree migrator, by C(migration.k8s.io).
      - V(direct) is this task itself. It keeps its progress in a migration of C(migration.k8s.io),
        and runs those that others made of the same resources too. It refuses to run beside the
        out-of-tree migrator.
      - V(auto) takes the first of them that is there. It takes V(direct) where O(max_qps),
        O(max_bandwidth) or O(connections) is given, for aggregated APIs, and where O(audit) names
        the objects.
    type: str
    choices: [auto, in_tree, migrator, direct]
    default: auto
  force:
    description:
      - Migrate resources that the servers do not agree on. Each must be named in O(resources).
      - Other servers may go on writing another version, or be unable to read what this task
        writes. Nothing is recorded as proved by it.
    type: bool
    default: false
  retries:
    description:
      - How often a migration is made anew in this task after servers changed while it ran, or
        after a controller failed it.
    type: int
    default: 2
  speed:
    description:
      - How much load V(direct) puts on the API servers. V(gentle) makes at most 10 requests and
        takes at most 10 megabits in a second, and less when answers get slower. V(full) is for
        maintenance windows, and only gives way to errors.
    type: str
    choices: [gentle, full]
    default: gentle
  max_qps:
    description:
      - Requests a second that V(direct) makes at most, in place of what O(speed) says.
    type: float
  max_bandwidth:
    description:
      - Megabits a second that the requests of V(direct) and their answers take at most, in place
        of what O(speed) says.
    type: float
  connections:
    description:
      - Requests that V(direct) has under way at once. The default is 2, or 16 at O(speed=full).
    type: int
  watch_every:
    description:
      - Seconds between two observations of the servers while objects are rewritten. At most 20. If
        none could be made for 30 seconds, the migration does not count.
    type: float
    default: 10.0
  stuck_after:
    description:
      - Seconds without progress after which a migration is given up, and who should have made it
        is named.
    type: float
    default: 300.0
  stop_after:
    description:
      - Seconds after which V(direct) stops where it is, and the task fails with RV(unfinished). Run
        it again to go on.
      - With O(state=advanced) the default is 120, half of the time between two runs of the
        playbook C(lockstep.kubernetes.trigger), and it does not fail.
      - Where the task runs on another host than the control node, progress is shown each time
        it stops; there the default is 60, and it goes on by itself.
    type: float
  owner:
    description:
      - The name of a ClusterRole that the migrations made by this task belong to. When it is
        deleted, the garbage collector deletes them as well.
    type: str
    default: ""
  progress:
    description:
      - Whether to show every few seconds how far it is.
    type: bool
    default: true
  metrics_file:
    description:
      - A file to add counts of objects and migrations to, in the text format of Prometheus. Name
        one in the directory of the node exporter's textfile collector.
      - It needs the Python package C(prometheus_client).
    type: path
extends_documentation_fragment:
  - lockstep.kubernetes._observing
  - lockstep.kubernetes._observing.resources
  - lockstep.kubernetes._observing.passes
  - lockstep.kubernetes._observing.attributes
  - kubernetes.core.k8s_auth_options
attributes:
  diff_mode:
    support: full
notes:
  - Events are never migrated, since they expire. Resources of aggregated APIs are only migrated
    where O(resources) names them.
  - In check mode it tells how many objects would be visited. How many of them would be rewritten
    is not known without O(audit), since a dry run can't tell.
seealso:
  - module: lockstep.kubernetes.storage_state
  - module: lockstep.kubernetes.storage_audit
"""

EXAMPLES = r"""
- name: Migrate all that may be stored in an old version
  lockstep.kubernetes.storage_migration:

- name: The same in a maintenance window, as fast as the servers allow
  lockstep.kubernetes.storage_migration:
    backend: direct
    speed: full

- name: Encrypt everything with the new key
  lockstep.kubernetes.storage_migration:
    resources: [secrets, configmaps]
    scope: all
    encryption_generation: key2

- name: See what every server writes
  lockstep.kubernetes.discovery_hash:
  register: look

- name: Read what is stored
  lockstep.kubernetes.storage_audit:
    manifest: /etc/kubernetes/manifests/kube-apiserver.yaml
    encodings: "{{ look.encodings }}"
  delegate_to: "{{ groups['etcd'][0] }}"
  become: true
  register: audit

- name: Rewrite only the objects that are stored in another version
  lockstep.kubernetes.storage_migration:
    audit: "{{ audit }}"
    audited_after: "{{ look }}"

- name: Ask for what is due, and leave it to the controller
  lockstep.kubernetes.storage_migration:
    state: present

- name: The same, and run for half a minute what no controller would run
  lockstep.kubernetes.storage_migration:
    state: advanced
    stop_after: 30

- name: Stop all migrations
  lockstep.kubernetes.storage_migration:
    state: absent
"""

RETURN = r"""
cluster_uid:
  description: The cluster, by the UID of its namespace kube-system.
  returned: when O(state=succeeded) or O(state=advanced)
  type: str
  sample: 5e6a2a55-4b5c-4d0f-9a8e-6f0f3c0f4f9b
summary:
  description: The verdict for people, with a line for each resource that needs attention.
  returned: when O(state=succeeded) or O(state=advanced)
  type: list
  elements: str
  sample:
    - "migrated: 1 resource migrated and 60 current already. 300 objects visited, 300 rewritten, 0
      current already, 0 gone, 0 failed. It is verified except events."
totals:
  description: All counts added up. In check mode C(would_visit) and C(would_rewrite).
  returned: when O(state=succeeded) or O(state=advanced)
  type: dict
  sample:
    resources: 61
    migrated: 1
    listed: 300
    rewritten: 300
    already_current: 0
    gone: 0
    failed: 0
    seconds: 30.2
progress_samples:
  description: How many objects V(direct) had visited after how many seconds, for a plot.
  returned: when O(state=succeeded) or O(state=advanced), but not in check mode
  type: list
  elements: list
  sample: [[0.5, 120], [1.5, 300]]
resources:
  description: What came of each resource that was not current already.
  returned: when O(state=succeeded) or O(state=advanced)
  type: dict
  contains:
    status:
      description:
        - V(succeeded); V(asked), it waits for a controller or a later run; V(failed), some objects
          are stored as they were; V(superseded), servers changed while it ran; V(unfinished),
          it goes on when the task is run again; V(planned), in check mode.
      type: str
    reason:
      description: Why it did not succeed.
      type: str
    backend:
      description: Who rewrote the objects.
      type: str
    backend_reason:
      description: Why that one was chosen.
      type: str
    migration:
      description: The name of its StorageVersionMigration.
      type: str
    listed:
      description: How many objects were visited; V(null) where a controller does not tell, and so
        for the other counts.
      type: int
    rewritten:
      description: How many were written anew.
      type: int
    already_current:
      description: How many were stored in the current version already.
      type: int
    gone:
      description: How many had been deleted meanwhile, as a GET of each name confirmed.
      type: int
    failed:
      description: How many could not be written, and are stored as they were.
      type: int
    failures:
      description: The first 100 of these by name, each with the reason.
      type: list
      elements: dict
    seconds:
      description: How long it took.
      type: float
    rate:
      description: Objects a second.
      type: float
    attempts:
      description: How often it was begun.
      type: int
    verified:
      description: Whether nothing changed from before the first write until after the last one,
        and the StorageState says so. After a change of encryption keys also whether all servers
        are known to have encrypted by one configuration.
      type: bool
    stored_versions:
      description: What C(status.storedVersions) of its definition holds now.
      type: list
      elements: str
    notes:
      description: What is worth knowing about it.
      type: list
      elements: str
  sample:
    widgets.example.com:
      status: succeeded
      reason: ""
      backend: direct
      backend_reason: no controller that runs migrations was found
      migration: widgets.example.com-1c9f03b2aa
      listed: 300
      rewritten: 300
      already_current: 0
      gone: 0
      failed: 0
      failures: []
      seconds: 30.2
      rate: 9.9
      attempts: 1
      verified: true
      stored_versions: [v2]
      notes: []
migrations:
  description: The migrations that were made or deleted, or would be in check mode, by resource.
  returned: always
  type: dict
  sample:
    deployments.apps: [deployments.apps-1c9f03b2aa]
collected:
  description: Resources that are neither served nor, by O(audit), stored any more, so that their
    records were deleted, or would be in check mode.
  returned: when O(state=succeeded) or O(state=advanced)
  type: list
  elements: str
  sample: []
left_out:
  description: Chosen resources of which no migration was made, with the reason.
  returned: always
  type: dict
  sample:
    pods: all that is stored of it is in its current version
verified_except:
  description: Chosen resources of which nothing proves that all is stored as the servers write it,
    with the reason.
  returned: when O(state=succeeded) or O(state=advanced), but not in check mode
  type: dict
  sample:
    events: events expire by themselves
recorded:
  description: What is recorded of all chosen resources in the end, in a line.
  returned: when O(state=succeeded) or O(state=advanced), but not in check mode
  type: str
  sample: "63 resources: 60 current, 0 mixed, 3 Unknown."
not_current:
  description: Chosen resources that are not known to be stored in their current version only.
  returned: when O(state=succeeded) or O(state=advanced), but not in check mode
  type: list
  elements: str
  sample: []
unfinished:
  description: Whether a next run of the same task goes on where this one stopped.
  returned: when O(state=succeeded) or O(state=advanced)
  type: bool
  sample: false
"""

from ansible_collections.lockstep.kubernetes.plugins.module_utils._migrations import (
    change_migrations,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._module import (
    OBSERVING_ARG_SPEC,
    PASS_ARG_SPEC,
    run_module,
)


def main():
    run_module(
        change_migrations,
        arguments={
            **OBSERVING_ARG_SPEC,
            **PASS_ARG_SPEC,
            "state": {
                "type": "str",
                "choices": ["succeeded", "present", "advanced", "absent"],
                "default": "succeeded",
            },
            "retry_failed_after": {"type": "float", "default": 1800.0},
            "scope": {"type": "str", "choices": ["due", "all"], "default": "due"},
            "backend": {
                "type": "str",
                "choices": ["auto", "in_tree", "migrator", "direct"],
                "default": "auto",
            },
            "force": {"type": "bool", "default": False},
            "retries": {"type": "int", "default": 2},
            "speed": {"type": "str", "choices": ["gentle", "full"], "default": "gentle"},
            "max_qps": {"type": "float"},
            "max_bandwidth": {"type": "float"},
            "connections": {"type": "int"},
            "watch_every": {"type": "float", "default": 10.0},
            "stuck_after": {"type": "float", "default": 300.0},
            "stop_after": {"type": "float"},
            "progress": {"type": "bool", "default": True},
            "metrics_file": {"type": "path"},
            "owner": {"type": "str", "default": ""},
        },
    )


if __name__ == "__main__":
    main()
