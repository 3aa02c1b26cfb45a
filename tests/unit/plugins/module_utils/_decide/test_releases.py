# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Releases as vendors write them, and tags of images."""

from __future__ import annotations

import pytest

from ansible_collections.lockstep.kubernetes.plugins.filter.image_tag import FilterModule
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.releases import (
    image_tag,
    of_release,
    read_numbers,
)
from ansible_collections.lockstep.kubernetes.plugins.test.of_release import TestModule as Tests


@pytest.mark.parametrize(
    ("version", "release"),
    [
        ("v1.36.3", "1.36.3"),
        ("v1.36.3-eks-4a0d11f", "v1.36.3"),
        ("v1.36.3-gke.100", "v1.36.3"),
        ("v1.36.3+k3s1", "v1.36.3"),
        ("v1.36.3+k3s1", "1.36.3+k3s1"),
        ("v1.37.0-rc.1", "v1.37.0-rc.1"),
    ],
)
def test_a_vendors_version_is_of_its_release(version: str, release: str) -> None:
    assert of_release(version, release)
    assert Tests().tests()["of_release"](version, release)


@pytest.mark.parametrize(
    ("version", "release"),
    [
        ("v1.36.30", "v1.36.3"),
        ("v1.36.4-eks-4a0d11f", "v1.36.3"),
        ("v1.37.0-rc.1", "v1.37.0"),
        ("v1.37.0-alpha.0.42+4a0d11f", "v1.37.0"),
        ("v1.36.3+k3s1", "v1.36.3+k3s2"),
        ("v1.36.3", "v1.36.3+k3s1"),
        ("", "v1.36.3"),
        ("dev", "v1.36.3"),
    ],
)
def test_another_version_is_not(version: str, release: str) -> None:
    assert not of_release(version, release)


@pytest.mark.parametrize(
    ("version", "numbers"),
    [
        ("v1.36.3-eks-4a0d11f", (1, 36, 3)),
        ("v1.36.3+k3s1", (1, 36, 3)),
        ("1.36.3", (1, 36, 3)),
        ("v1.36", None),
        ("v0.0.0-master+$Format:%H$", None),
        ("N/A", None),
        ("", None),
    ],
)
def test_the_numbers_of_a_version_are_read_or_not_known(
    version: str, numbers: tuple[int, int, int] | None
) -> None:
    assert read_numbers(version) == numbers


@pytest.mark.parametrize(
    ("image", "tag"),
    [
        ("registry.k8s.io/kube-apiserver:v1.36.3", "v1.36.3"),
        ("registry.k8s.io/kube-apiserver:v1.36.3@sha256:4a0d11f", "v1.36.3"),
        ("registry.example.com:5000/kube-apiserver:v1.36.3@sha256:4a0d11f", "v1.36.3"),
        ("registry.example.com:5000/kube-apiserver:v1.36.3", "v1.36.3"),
        ("registry.example.com:5000/kube-apiserver@sha256:4a0d11f", ""),
        ("registry.example.com:5000/kube-apiserver", ""),
        ("kube-apiserver:v1.36.3_vendor.1", "v1.36.3+vendor.1"),
    ],
)
def test_the_tag_of_an_image_is_found_beside_a_port_and_a_digest(image: str, tag: str) -> None:
    assert image_tag(image) == tag
    assert FilterModule().filters()["image_tag"](image) == tag
