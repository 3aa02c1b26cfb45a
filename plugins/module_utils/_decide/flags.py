# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""The flags of kube-apiserver that turn APIs on and off: --runtime-config and --feature-gates."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from .errors import LockstepError

# As kube-apiserver reads them; a key without a value is on.
_ON, _OFF = ("", "1", "t", "true"), ("0", "f", "false")
_ALL = "api/all"
_STAGE = re.compile(r"v\d+(alpha|beta)?")
_STAGES = {"": "api/ga", "alpha": "api/alpha", "beta": "api/beta"}


@dataclass(frozen=True)
class ApiFlags:
    """What a server is started with, as far as APIs go."""

    runtime_config: Mapping[str, bool] = field(default_factory=dict)
    feature_gates: Mapping[str, bool] = field(default_factory=dict)

    def wants(self, group_version: str, plural: str) -> bool | None:
        """Whether an API is turned on or off; None where that is left to the release.

        The most special setting wins: a resource, its version, its stage, all.
        """
        version = group_version.rpartition("/")[2]
        stage = _STAGE.match(version)
        keys = (
            f"{group_version}/{plural}",
            group_version,
            # How the core group was called once.
            f"api/{group_version}",
            _STAGES[stage[1] or ""] if stage else "",
            _ALL,
        )
        return next((self.runtime_config[key] for key in keys if key in self.runtime_config), None)

    @property
    def everything(self) -> bool:
        """Whether every API is on, and every feature: so the catalogue was read."""
        gates = self.feature_gates
        return (
            self.runtime_config.get(_ALL) is True
            and all(self.runtime_config.values())
            and gates.get("AllAlpha") is True
            and gates.get("AllBeta") is True
            and all(gates.values())
        )

    @property
    def features_on(self) -> bool:
        """Whether any feature is turned on."""
        return any(self.feature_gates.values())


def read_switches(option: str, given: Mapping[str, object]) -> dict[str, bool]:
    """Read a mapping of names to true or false, as an option or a flag gives it."""
    found = {}
    for name, value in given.items():
        word = str("" if value is None else value).strip().lower()
        if word not in (*_ON, *_OFF):
            raise LockstepError(
                f"{option} has {name}={value}",
                "That is neither true nor false",
                "Write it as kube-apiserver takes it, such as storage.k8s.io/v1beta1=true",
            )
        found[str(name).strip()] = word in _ON
    return found


def read_arguments(arguments: Iterable[str]) -> ApiFlags:
    """The flags in the arguments of a server's command, however they are written there."""
    found: dict[str, dict[str, bool]] = {"runtime-config": {}, "feature-gates": {}}
    words = _words(arguments)
    for word in words:
        name, equals, value = word.lstrip("-").partition("=")
        if not word.startswith("-") or name not in found:
            continue
        text = value if equals else next(words, "")
        pairs = (one.partition("=") for one in text.split(",") if one.strip())
        found[name].update(read_switches(f"--{name}", {key: given for key, _is, given in pairs}))
    return ApiFlags(found["runtime-config"], found["feature-gates"])


def read_manifest(document: object) -> ApiFlags:
    """The flags in a kube-apiserver's static pod manifest."""
    spec = document.get("spec") if isinstance(document, Mapping) else None
    containers = spec.get("containers") if isinstance(spec, Mapping) else None
    for one in containers if isinstance(containers, list) else ():
        parts = [one.get("command"), one.get("args")] if isinstance(one, Mapping) else []
        words = [str(word) for part in parts if isinstance(part, list) for word in part]
        if any("kube-apiserver" in word for word in words):
            return read_arguments(words)
    raise LockstepError(
        "This is no manifest of a kube-apiserver",
        "It has no container whose command is kube-apiserver",
        "Give the static pod manifest of a control-plane host",
    )


def _words(arguments: Iterable[str]) -> Iterator[str]:
    """One argument may be a line for a shell, with many of them."""
    for argument in arguments:
        try:
            yield from shlex.split(argument)
        except ValueError:
            yield argument


def shows_feature(metrics: str, feature: str) -> bool:
    """Whether a server's metrics say that a feature gate is on."""
    told = re.compile(
        rf'^kubernetes_feature_enabled\{{[^}}]*name="{re.escape(feature)}"[^}}]*\}} 1$',
        re.MULTILINE,
    )
    return bool(told.search(metrics))
