# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations


class ModuleDocFragment:
    # Where etcd is and how to be let in; module_utils/_observe/store.py has them as ETCD_ARGUMENTS.
    DOCUMENTATION = r"""
options:
  endpoints:
    description:
      - The client addresses of etcd's members, each as V(https://HOST:2379).
      - The first that answers is read, and the others only if it does not answer. Name members of
        one cluster only.
      - Needed unless O(manifest) is given.
    type: list
    elements: str
    default: []
  ca_cert:
    description:
      - The file with the CA of etcd's certificates, which is not the cluster's.
      - Certificates are always verified; without this, against what the host trusts.
    type: path
  client_cert:
    description:
      - The file with a client certificate that etcd accepts.
    type: path
  client_key:
    description:
      - The file with the key of O(client_cert), without a password.
    type: path
  tls_server_name:
    description:
      - The name to verify in etcd's certificate, where it does not hold the address that etcd is
        reached at.
    type: str
  manifest:
    description:
      - The static pod manifest of an API server, such as
        V(/etc/kubernetes/manifests/kube-apiserver.yaml) where kubeadm was used.
      - Addresses, certificates and whatever else it says of etcd are taken from its flags, unless
        the options are given.
    type: path
  etcd_servers_overrides:
    description:
      - Resources that the API servers keep in another etcd, and where that is, as in their flag
        C(--etcd-servers-overrides), such as V(/events#https://HOST:2379). The same certificates
        are used for it.
      - The default is what O(manifest) says. Without a manifest, give it where the API servers
        have that flag.
    type: str
  timeout:
    description:
      - Seconds in which etcd must have answered each request as a whole.
    type: float
    default: 30.0
"""
