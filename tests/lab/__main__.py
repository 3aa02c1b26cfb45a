"""The lab's command line: start control planes, ask and change them, build what they need."""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NoReturn

from . import binaries, control, namespaces
from .control_plane import (
    ControlPlane,
    LabError,
    LoopbackNetwork,
    Network,
    PrivateNetwork,
    ServerSpec,
)


def main() -> int:
    """Parse the command line and do what it says; errors are one line, not a traceback."""
    arguments = _parser().parse_args()
    try:
        return int(arguments.do(arguments) or 0)
    except (
        LabError,
        binaries.BinaryError,
        namespaces.NamespaceError,
        control.ControlError,
    ) as error:
        print(f"lab: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("lab: going down", file=sys.stderr)
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m lab", description=__doc__)
    verbs = parser.add_subparsers(required=True, metavar="VERB")

    up = verbs.add_parser(
        "up", help="start a control plane; Ctrl-C, or the end of COMMAND, ends it"
    )
    up.add_argument(
        "--server",
        action="append",
        metavar="RELEASE[:EMULATED]",
        help="one API server; repeat it (default: three of 1.36.3, the third emulating 1.34)",
    )
    up.add_argument(
        "--storage-version-api", action="store_true", help="turn the StorageVersion API on"
    )
    up.add_argument(
        "--port", type=int, default=16443, help="the first port on 127.0.0.1 (%(default)s)"
    )
    up.add_argument("--name", default="lab", help="what other verbs call it by (%(default)s)")
    up.add_argument("command", nargs="*", metavar="COMMAND", help="run this with KUBECONFIG set")
    up.set_defaults(do=_up)

    for verb, do, text in (
        ("status", _status, "what runs"),
        ("kubeconfig", _kubeconfig, "print the administrator's kubeconfig"),
        ("inventory", _inventory, "print an inventory whose hosts are the servers"),
        ("down", _down, "end a lab that runs in the background"),
    ):
        asking = verbs.add_parser(verb, help=text)
        asking.add_argument("--name", default="lab")
        asking.set_defaults(do=do)

    client = verbs.add_parser("client", help="use a lab all the time, and tell how that went")
    client.add_argument("what", choices=["begin", "end"])
    client.add_argument("--name", default="lab")
    client.set_defaults(do=_client)

    stored = verbs.add_parser("stored", help="count the versions in etcd of what is stored there")
    stored.add_argument("directory", help="below /registry, such as configmaps")
    stored.add_argument("--name", default="lab")
    stored.set_defaults(do=_stored)

    node = verbs.add_parser("node", help="report a node as its kubelet does")
    node.add_argument("node")
    node.add_argument("--release", required=True, help="what the kubelet runs, such as v1.37.0")
    node.add_argument("--name", default="lab")
    node.set_defaults(do=_node)

    stop = verbs.add_parser("stop", help="stop a server in an orderly way; restart brings it back")
    stop.add_argument("server", help="cp-1, cp-2, ...")
    stop.add_argument("--name", default="lab")
    stop.set_defaults(do=_stop)

    restart = verbs.add_parser(
        "restart", help="restart a server in place, perhaps as another release"
    )
    restart.add_argument("server", help="cp-1, cp-2, ...")
    restart.add_argument("--release")
    restart.add_argument(
        "--emulated-version", metavar="MINOR", help="such as 1.36; none turns it off"
    )
    restart.add_argument("--name", default="lab")
    restart.set_defaults(do=_restart)

    build = verbs.add_parser("build", help="have every program ready; say which, and where from")
    build.add_argument("releases", nargs="*", default=list(binaries.RELEASES), metavar="RELEASE")
    build.add_argument("--only", action="append", metavar="PROGRAM", help="such as kube-apiserver")
    build.set_defaults(do=_build)

    catalogue = verbs.add_parser(
        "catalogue", help="read off real servers what releases encode and decode"
    )
    catalogue.add_argument("releases", nargs="*", metavar="RELEASE[:EMULATED]")
    catalogue.add_argument("--program", metavar="FILE", help="read this kube-apiserver instead")
    catalogue.add_argument("--to", metavar="FILE", help="write a file, not the collection's data")
    catalogue.set_defaults(do=_catalogue)

    inside = verbs.add_parser("inside", help="run COMMAND in namespaces of its own")
    inside.add_argument("command", nargs="+", metavar="COMMAND")
    inside.set_defaults(do=_inside)
    return parser


def _up(arguments: argparse.Namespace) -> int:
    control.require_unused(arguments.name)
    if not namespaces.inside():
        namespaces.enter([sys.executable, "-m", "lab", *sys.argv[1:]], private_network=False)
    private = namespaces.network() == namespaces.PRIVATE_NETWORK
    network: Network = PrivateNetwork() if private else LoopbackNetwork(arguments.port)
    specs = [_spec(text) for text in arguments.server or ["1.36.3", "1.36.3", "1.36.3:1.34"]]
    if arguments.storage_version_api:
        specs = [spec.with_storage_version_api() for spec in specs]
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda signum, _frame: sys.exit(128 + signum))
    with (
        tempfile.TemporaryDirectory(prefix="lockstep-lab-") as directory,
        ControlPlane(Path(directory), network) as plane,
    ):
        plane.add_servers(*specs)
        with control.listening(plane, arguments.name):
            return _serve(plane, arguments)


def _serve(plane: ControlPlane, arguments: argparse.Namespace) -> int:
    kubeconfig = plane.kubeconfig()
    print(control.describe(plane))
    print(f"\nexport KUBECONFIG={kubeconfig}")
    urls = ",".join(server.url for server in plane.servers.values())
    print(f"servers: {urls}", flush=True)
    if arguments.command:
        environment = dict(
            os.environ, KUBECONFIG=str(kubeconfig), K8S_AUTH_KUBECONFIG=str(kubeconfig)
        )
        return subprocess.run(arguments.command, env=environment, check=False).returncode
    print("\nCtrl-C ends all.", flush=True)
    while True:
        # Not signal.pause(): a signal that comes right before it would be waited for in vain.
        time.sleep(1)


def _spec(text: str) -> ServerSpec:
    release, _colon, emulated = text.partition(":")
    return ServerSpec(release=release, emulated_version=emulated)


def _status(arguments: argparse.Namespace) -> None:
    print(control.ask(arguments.name, {"do": "status"})["text"])


def _kubeconfig(arguments: argparse.Namespace) -> None:
    print(Path(control.ask(arguments.name, {"do": "kubeconfig"})["path"]).read_text())


def _inventory(arguments: argparse.Namespace) -> None:
    print(json.dumps(control.ask(arguments.name, {"do": "inventory"}), indent=1))


def _client(arguments: argparse.Namespace) -> None:
    wish = {"do": "client", "what": arguments.what}
    print(json.dumps(control.ask(arguments.name, wish), indent=1))


def _stored(arguments: argparse.Namespace) -> None:
    wish = {"do": "stored", "directory": arguments.directory}
    print(json.dumps(control.ask(arguments.name, wish), indent=1))


def _node(arguments: argparse.Namespace) -> None:
    wish = {"do": "node", "node": arguments.node, "release": arguments.release}
    control.ask(arguments.name, wish)


def _down(arguments: argparse.Namespace) -> None:
    control.ask(arguments.name, {"do": "down"})


def _stop(arguments: argparse.Namespace) -> None:
    print(control.ask(arguments.name, {"do": "stop", "server": arguments.server})["text"])


def _restart(arguments: argparse.Namespace) -> None:
    wish = {"do": "restart", "server": arguments.server, "release": arguments.release}
    wish["emulated_version"] = arguments.emulated_version
    print(control.ask(arguments.name, wish)["text"])


def _build(arguments: argparse.Namespace) -> None:
    programs = binaries.needed(tuple(arguments.releases))
    if arguments.only:
        unknown = set(arguments.only) - {program.name for program in programs}
        if unknown:
            raise LabError(f"the lab has no program {', '.join(sorted(unknown))}")
        programs = [program for program in programs if program.name in arguments.only]
    binaries.find_all(programs, say=True)


def _catalogue(arguments: argparse.Namespace) -> None:
    if not namespaces.inside():
        namespaces.enter([sys.executable, "-m", "lab", *sys.argv[1:]], private_network=True)
    from . import catalogue

    if bool(arguments.program) == bool(arguments.releases):
        raise LabError("name releases, or one kube-apiserver with --program")
    if arguments.program and not arguments.to:
        raise LabError("say with --to where to write the catalogue of your kube-apiserver")
    for text in arguments.releases or [binaries.DEFAULT_RELEASE]:
        spec = _spec(text)
        read = catalogue.read_release(
            spec.release, emulated=spec.emulated_version, program=arguments.program or ""
        )
        print(f"{read}: {len(read.resources)} resources")
        if arguments.to:
            Path(arguments.to).write_text(catalogue.format_catalogue(read))
        else:
            catalogue.write_data([read])


def _inside(arguments: argparse.Namespace) -> NoReturn:
    namespaces.enter(arguments.command, private_network=True)


if __name__ == "__main__":
    sys.exit(main())
