# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations


class ModuleDocFragment:
    # Which servers are looked at; every module that observes has these options.
    DOCUMENTATION = r"""
options:
  servers:
    description:
      - The address of every API server, each as V(https://HOST:PORT) or V(HOST:PORT).
      - Without it the servers are found in the EndpointSlice of the service C(default/kubernetes).
      - Name each server's own address, never a load balancer's. What was seen is always checked
        against the identity leases in the namespace C(kube-system), so that a server that is
        missing here is noticed.
    type: list
    elements: str
    default: []
  gone_servers:
    description:
      - Servers that you vouch to be gone for good, each by hostname or by the name of its lease.
      - A server that was killed leaves a lease that only expires after an hour. Until then nobody
        can tell from outside whether it is dead or only frozen, and a frozen server may go on
        writing what it wrote before. Name it here only once you know that its process has ended.
    type: list
    elements: str
    default: []
  server_count:
    description:
      - How many API servers there must be. With it a view of more or fewer is incomplete.
      - A server that is stopped in an orderly way takes its lease along, and the others agree
        without it. Set this where a server that is being rolled must be waited for.
    type: int
  tls_server_name:
    description:
      - The name to verify in each server's certificate, where it does not hold the address that
        the server is reached at.
      - Certificates are always verified unless O(validate_certs=false).
    type: str
  timeout:
    description:
      - Seconds in which each server must have answered everything that is read from it.
    type: float
    default: 10.0
requirements:
  - kubernetes >= 24.2.0
  - kubernetes.core >= 5.0.0
"""

    RESOURCES = r"""
options:
  resources:
    description:
      - Which resources to look at, such as V(deployments.apps), V(pods) or V(*.example.com).
      - A pattern without a dot means the core group; V(*) means all.
      - A whole name that no server knows is V(unknown), and so never agreed.
    type: list
    elements: str
    default: ["*"]
"""

    WAIT = r"""
options:
  wait:
    description:
      - Look again until every chosen resource is agreed, or until O(wait_timeout) has passed.
    type: bool
    default: false
  wait_timeout:
    description:
      - Seconds after which waiting fails, with the last view in the result if there was one.
    type: float
    default: 300.0
  wait_sleep:
    description:
      - Seconds between two looks.
    type: float
    default: 2.0
  leave_out_unknown:
    description:
      - Do not wait for resources that are V(unknown), such as those of most aggregated APIs, since
        they never come to be agreed. The result holds them all the same.
    type: bool
    default: false
  left_out:
    description:
      - Resources, or patterns of them, to do without where nobody can know what is written of them,
        such as those of an aggregated API with several endpoints, or of one that is not available.
      - They are named in RV(left_out) and never called agreed. What servers are seen to write
        differently is not left out.
    type: list
    elements: str
    default: []
  settle:
    description:
      - Seconds for which agreement must hold still before waiting ends. Agreement seen once proves
        little, since a server that is about to restart agrees as well.
      - The default is 10; it is 60 where a CustomResourceDefinition was changed during the wait or
        in the minute before, since each server takes that up in its own time.
    type: float
"""

    PASSES = r"""
options:
  stale_after:
    description:
      - Seconds after which a record that nobody has confirmed counts as V(Unknown).
      - Looks must be less than half of it apart.
    type: float
    default: 600.0
  on_unseen_change:
    description:
      - What to make of servers that were changed between two looks, while the hash is the same.
      - V(keep) keeps the record, notes what changed, and leaves it to an audit to find out more.
      - V(unknown) records V(Unknown), so that the resource is migrated again.
    type: str
    choices: [keep, unknown]
    default: keep
  encryption_generation:
    description:
      - A name for the encryption keys in use, such as that of the write key. Hashes do not show
        them; if this value changes, so has what is stored.
    type: str
    default: ""
  audit:
    description:
      - The result of M(lockstep.kubernetes.storage_audit). What it found in etcd replaces what was
        assumed, if nothing changed since O(audited_after).
    type: dict
  audited_after:
    description:
      - The result of M(lockstep.kubernetes.discovery_hash) that was taken before the audit.
    type: dict
  settle:
    description:
      - Seconds that API servers may take to follow a CustomResourceDefinition that was changed.
        Until then no migration of its resource is asked for, and none counts.
    type: float
    default: 60.0
"""

    ATTRIBUTES = r"""
attributes:
  check_mode:
    description: Can run in check mode and tell what it would do, without doing it.
    support: full
  diff_mode:
    description: Shows what would be or was changed.
    support: none
  action_group:
    description: Takes the connection from C(module_defaults) of this group.
    support: full
    membership: [lockstep.kubernetes.k8s]
"""
