# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""The catalogue of a release, from what its running servers report of themselves."""

from __future__ import annotations

from ..errors import LockstepError
from ..observations import ServedResource
from ..settling import Look
from . import ReleaseCatalogue, ReleaseResource

HOW = (
    "read off running kube-apiservers: StorageVersion and discovery; what they do not report counts"
    " as unreadable"
)


_OWN_API = "storageversions.internal.apiserver.k8s.io"


def read_reported(look: Look, *, default_apis: bool = False) -> ReleaseCatalogue:
    """What the servers write and read, of the APIs that are on; they must all be of one release.

    `default_apis`: no flag has turned any on but the one that they report with.
    """
    sight = look.sight
    releases = {one.release for one in sight.servers if one.release}
    if not look.membership.complete or len(releases) != 1:
        names = ", ".join(sorted(map(str, releases))) or "none"
        raise LockstepError(
            "The catalogue is of one release",
            f"Not all servers were seen, or they run several: {names}",
            "Ask a cluster all of whose servers run the target",
        )
    if sight.storage_versions is None:
        raise LockstepError(
            "The servers do not report what they read",
            "The StorageVersion API is off",
            "Turn it on (--feature-gates=StorageVersionAPI=true and"
            " --runtime-config=internal.apiserver.k8s.io/v1alpha1=true), or read the kube-apiserver"
            " itself with make catalogue",
        )
    resources = {}
    for name, agreement in look.agreements.items():
        reported = sight.storage_versions.get(name)
        served = next((one.resources[name] for one in sight.servers if name in one.resources), None)
        if agreement.origin != "built-in" or not reported or not reported.entries or not served:
            continue
        # Only what every server reads is sure to be read.
        decodable = set.intersection(*(set(one.decodable) for one in reported.entries))
        resources[name] = ReleaseResource(
            resource=name,
            kind=agreement.kind,
            namespaced=served.namespaced,
            storage_hash=agreement.storage_hash,
            encoding=agreement.encoding_version if agreement.agreed else "",
            served=served.served_versions,
            decodable=tuple(sorted(decodable)),
            by_default=_by_default(served) if default_apis else None,
            by_runtime_config=served.served_versions if default_apis else (),
        )
    release = next(iter(releases))
    emulating = release.emulated and not release.git_version.startswith(f"v{release.emulated}.")
    return ReleaseCatalogue(
        release=release.git_version,
        emulated=release.emulated if emulating else "",
        how=HOW,
        when=sight.now.date().isoformat(),
        resources=resources,
    )


def _by_default(served: ServedResource) -> tuple[str, ...]:
    return () if served.resource == _OWN_API else served.served_versions
