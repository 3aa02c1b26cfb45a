"""Somebody who uses a cluster while something else goes on."""

from __future__ import annotations

import itertools
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import urllib3

from .api import Api, ApiError
from .control_plane import ControlPlane, Server
from .processes import Process

_SECONDS = 0.2


@contextmanager
def traffic(api: Api, *paths: str) -> Iterator[None]:
    """Objects that are written all the time.

    On a quiet cluster the in-tree controller begins only after a minute or so: it waits until the
    garbage collector has seen something of the resource that is newer than the migration.
    """
    ended = threading.Event()

    def write() -> None:
        number = 0
        while not ended.wait(_SECONDS):
            number += 1
            for path in paths:
                api.patch(path, {"metadata": {"annotations": {"number": str(number)}}})

    with ThreadPoolExecutor(1) as pool:
        writing = pool.submit(write)
        try:
            yield
        finally:
            ended.set()
        writing.result()


@dataclass
class Client:
    """Somebody who writes and reads all the time, and tries another server if one is away."""

    plane: ControlPlane
    path: str
    # What was written and confirmed: the name of each object and its last number.
    written: dict[str, int] = field(default_factory=dict)
    requests: int = 0
    # Requests that no server took.
    failed: list[str] = field(default_factory=list)
    # Requests that one server did not take: its process, if that had answered before.
    refused: list[Process | None] = field(default_factory=list)
    answered: set[Process | None] = field(default_factory=set)

    def work(self, ended: threading.Event) -> None:
        for number in itertools.count():
            if ended.wait(0.02):
                return
            name = f"client-{number % 50}"
            if name in self.written:
                self._ask(number, "PATCH", name, {"data": {"number": str(number)}})
            else:
                body = {"metadata": {"name": name}, "data": {"number": str(number)}}
                self._ask(number, "POST", name, body)

    def _ask(self, number: int, method: str, name: str, body: Any) -> None:
        self.requests += 1
        said = ""
        servers = list(self.plane.servers.values())
        for server in (servers[(number + shift) % len(servers)] for shift in range(len(servers))):
            process = server.process
            try:
                self._send(server, method, name, body)
            except (ApiError, urllib3.exceptions.HTTPError) as error:
                said = f"{method} {name} at {server.name}: {error}"
                # It was created, and the answer got lost.
                if isinstance(error, ApiError) and error.status == 409:
                    break
                if process in self.answered:
                    self.refused.append(process)
                continue
            self.answered.add(process)
            break
        else:
            self.failed.append(said)
            return
        self.written[name] = number

    def _send(self, server: Server, method: str, name: str, body: Any) -> None:
        if method == "POST":
            server.api.request("POST", self.path, body, timeout=5)
        else:
            headers = {"Content-Type": "application/merge-patch+json"}
            server.api.request("PATCH", f"{self.path}/{name}", body, headers=headers, timeout=5)

    def tell(self) -> dict[str, Any]:
        """How it went, as plain data."""
        return {
            "requests": self.requests,
            "failed": self.failed,
            "refused": self.refused_by_survivors(),
            "lost": self.lost(),
        }

    def lost(self) -> list[str]:
        """Objects that do not hold what was last written to them."""
        items = self.plane.api.get(self.path)["items"]
        stored = {
            one["metadata"]["name"]: int(one["data"]["number"])
            for one in items
            if one["metadata"]["name"].startswith("client-")
        }
        return [name for name, number in self.written.items() if stored.get(name) != number]

    def refused_by_survivors(self) -> list[str]:
        """Servers that refused a request although nobody was restarting them."""
        return [
            server.name for server in self.plane.servers.values() if server.process in self.refused
        ]


@contextmanager
def client(plane: ControlPlane) -> Iterator[Client]:
    """Such a client while something else goes on."""
    someone = Client(plane, "/api/v1/namespaces/default/configmaps")
    ended = threading.Event()
    thread = threading.Thread(target=someone.work, args=(ended,))
    thread.start()
    try:
        yield someone
    finally:
        # What was begun is finished.
        time.sleep(0.2)
        ended.set()
        thread.join()
