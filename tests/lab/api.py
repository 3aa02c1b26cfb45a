"""A small verified client for tests: one user, one server (or the load balancer)."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import urllib3


class ApiError(Exception):
    """An answer other than success."""

    def __init__(self, status: int, body: str) -> None:
        super().__init__(f"{status}: {body[:500]}")
        self.status = status


@dataclass(frozen=True)
class User:
    """Who asks: a client certificate, or a token."""

    name: str
    ca: Path
    certificate: Path | None = None
    key: Path | None = None
    token: str = ""


class Api:
    """JSON in, JSON out."""

    def __init__(self, url: str, user: User, *, connections: int = 8) -> None:
        self.url, self.user = url, user
        self._headers = {"Authorization": f"Bearer {user.token}"} if user.token else {}
        self._pool = urllib3.PoolManager(
            ca_certs=str(user.ca),
            cert_file=str(user.certificate) if user.certificate else None,
            key_file=str(user.key) if user.key else None,
            retries=False,
            maxsize=connections,
        )

    def request(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        headers: Mapping[str, str] | None = None,
        timeout: float = 30,
    ) -> bytes:
        """One request; anything but success raises ApiError."""
        answer = self._pool.request(
            method,
            self.url + path,
            body=None if body is None else json.dumps(body),
            headers={"Content-Type": "application/json", **self._headers, **(headers or {})},
            timeout=timeout,
        )
        if answer.status >= 300:
            raise ApiError(answer.status, answer.data.decode(errors="replace"))
        return answer.data

    def get(self, path: str, **options: Any) -> Any:
        """Read one document; a server that only fills a cache is asked again."""
        deadline = time.monotonic() + 10
        while True:
            try:
                return json.loads(self.request("GET", path, **options))
            except ApiError as error:
                filling = error.status == 429 and "storage is (re)initializing" in str(error)
                if not filling or time.monotonic() > deadline:
                    raise
            time.sleep(0.05)

    def create(self, path: str, body: object) -> Any:
        return json.loads(self.request("POST", path, body))

    def replace(self, path: str, body: object) -> Any:
        return json.loads(self.request("PUT", path, body))

    def patch(self, path: str, body: object) -> Any:
        """A merge patch."""
        headers = {"Content-Type": "application/merge-patch+json"}
        return json.loads(self.request("PATCH", path, body, headers=headers))

    def delete(self, path: str) -> None:
        self.request("DELETE", path)

    def populate(self, path: str, make: Callable[[int], object], count: int) -> None:
        """Create `count` objects as fast as the server takes them."""
        with ThreadPoolExecutor(8) as pool:
            for _answer in pool.map(lambda n: self.request("POST", path, make(n)), range(count)):
                pass

    def answers(self, path: str) -> bool:
        """Whether a path can be read."""
        try:
            self.request("GET", path, timeout=5)
        except (ApiError, urllib3.exceptions.HTTPError):
            return False
        return True

    def ready(self) -> bool:
        """Whether /readyz answers ok."""
        try:
            return self.request("GET", "/readyz", timeout=2) == b"ok"
        except (ApiError, urllib3.exceptions.HTTPError):
            return False
