# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Flags of kube-apiserver that turn APIs on and off, however they are written."""

from __future__ import annotations

import pytest

from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.errors import (
    LockstepError,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.flags import (
    ApiFlags,
    read_arguments,
    read_manifest,
    read_switches,
)

BUNDLES = "certificates.k8s.io/v1beta1"


@pytest.mark.parametrize(
    "arguments",
    [
        ["kube-apiserver", f"--runtime-config={BUNDLES}=true,api/alpha=false"],
        ["kube-apiserver", "--runtime-config", f"{BUNDLES}=true,api/alpha=false"],
        ["kube-apiserver", f"--runtime-config={BUNDLES}", "--runtime-config=api/alpha=0"],
        ["sh", "-c", f"exec kube-apiserver --v=2 --runtime-config='{BUNDLES}=1,api/alpha=f'"],
    ],
    ids=["one flag", "two words", "twice, without a value", "a line for a shell"],
)
def test_runtime_config_is_read_however_it_is_written(arguments):
    assert read_arguments(arguments).runtime_config == {BUNDLES: True, "api/alpha": False}


def test_feature_gates_are_read_beside_it():
    flags = read_arguments(["--feature-gates=AllAlpha=true,Other=false"])
    assert flags == ApiFlags({}, {"AllAlpha": True, "Other": False})


def test_the_most_special_setting_wins():
    flags = ApiFlags(
        {"api/all": False, "api/beta": True, BUNDLES: False, f"{BUNDLES}/clustertrustbundles": True}
    )
    assert flags.wants(BUNDLES, "clustertrustbundles") is True
    assert flags.wants(BUNDLES, "podcertificaterequests") is False
    assert flags.wants("storage.k8s.io/v1beta1", "things") is True
    assert flags.wants("storage.k8s.io/v1", "things") is False
    assert ApiFlags({"api/ga": False}).wants("storage.k8s.io/v1beta1", "things") is None


def test_a_manifest_tells_the_flags_of_its_api_server():
    command = ["kube-apiserver", "--feature-gates=A=true"]
    document = {
        "spec": {
            "containers": [
                {"command": ["proxy"]},
                {"command": command, "args": ["--runtime-config=a/v1=true"]},
            ]
        }
    }
    assert read_manifest(document) == ApiFlags({"a/v1": True}, {"A": True})


@pytest.mark.parametrize(
    "document", [None, [], {}, {"spec": {"containers": [{"command": ["etcd"]}]}}]
)
def test_what_is_no_manifest_of_it_is_refused(document):
    with pytest.raises(LockstepError, match="no manifest of a kube-apiserver"):
        read_manifest(document)


def test_what_is_neither_true_nor_false_is_named():
    with pytest.raises(LockstepError, match="a/v1=perhaps"):
        read_switches("The option runtime_config", {"a/v1": "perhaps"})
