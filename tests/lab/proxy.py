"""A reverse proxy in front of an API server: sees every answer, and makes trouble on demand."""

from __future__ import annotations

import base64
import os
import socket
import ssl
import struct
import threading
import time
from collections.abc import Callable, Collection
from contextlib import suppress
from functools import partial
from http.client import HTTPException, HTTPResponse, HTTPSConnection
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

from urllib3.util import wait_for_read

from .api import Api, User
from .control_plane import ControlPlane
from .waiting import eventually
from .webhooks import Exchange, HttpsServer

_RBAC = "/apis/rbac.authorization.k8s.io/v1"
_PIECE = 65536
# They are about one connection only. The last one: compressed answers would hide canaries.
_NOT_PASSED_ON = frozenset(
    ("connection", "host", "keep-alive", "te", "transfer-encoding", "upgrade", "accept-encoding")
)
_NO_ANSWER = 0


# From a body to what is sent instead, perhaps with another length than it has.
Change = Callable[[bytes], "bytes | tuple[bytes, int]"]


def cut(body: bytes) -> tuple[bytes, int]:
    """Half of an answer, where the whole was promised."""
    return body[: len(body) // 2], len(body)


class Request(NamedTuple):
    """One request and how it was answered; the status is 0 where the connection was dropped."""

    method: str
    path: str
    status: int


class Proxy:
    """Ends TLS, so callers need a token. Use it as a context manager: leaving it ends it."""

    def __init__(self, plane: ControlPlane, backend_url: str) -> None:
        self.backend_url = backend_url
        self._plane = plane
        self._tls = ssl.create_default_context(cafile=plane.authority.certificate_file)
        self._lock = threading.Lock()
        self._requests: list[Request] = []
        self._forms: dict[bytes, list[bytes]] = {}
        self._sightings: dict[bytes, list[str]] = {}
        self._closing = threading.Event()
        self._backends: set[HTTPSConnection] = set()
        # Seconds that every request waits before it is passed on.
        self.delay = 0.0
        self._reset_every = 0
        self._turns = 0
        self._storm: tuple[float, int, frozenset[str]] = (0.0, 0, frozenset())
        self._unavailable_until = 0.0
        self._pretence: tuple[dict[str, Any], str, frozenset[str]] = ({}, "", frozenset())
        # What to do to the answers at a path; an empty one is every path.
        self._wrong: tuple[str, Change] | None = None
        self._drip: str | None = None
        self._server = HttpsServer(plane, "proxy", partial(_Passage, self))
        self.url = self._server.url

    def __enter__(self) -> Proxy:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Drop every connection, on both sides."""
        self._closing.set()
        # First of all its clients, lest one asks anew.
        self._server.drop_all()
        with self._lock:
            waiting = [one.sock for one in self._backends if one.sock]
        for connection in waiting:
            with suppress(OSError):
                socket.socket.shutdown(connection, socket.SHUT_RDWR)
        self._server.join()

    # --- callers ---

    def api(self, user: User) -> Api:
        return Api(self.url, user)

    def kubeconfig(self, user: User) -> Path:
        """A kubeconfig file that leads through the proxy, for a user with a token."""
        assert user.token, "a client certificate does not pass through a proxy that ends TLS"
        return self._plane.kubeconfig(user, server=self.url)

    # --- what came by ---

    @property
    def requests(self) -> list[Request]:
        """All requests so far, in the order of their answers."""
        with self._lock:
            return list(self._requests)

    def count(self, method: str, contains: str = "", *, status: int | None = None) -> int:
        """How many requests of a method there were, to paths with a text in them."""
        return sum(
            one.method == method and contains in one.path and status in (None, one.status)
            for one in self.requests
        )

    def watch_for(self, *canaries: bytes) -> None:
        """Look for these in every answer from now on, also for their base64."""
        for canary in canaries:
            # A shorter one has no base64 that is its own.
            assert len(canary) >= 8, "a canary needs 8 bytes to be told from others"
            with self._lock:
                self._forms = {**self._forms, canary: _forms(canary)}

    def seen(self, canary: bytes) -> list[str]:
        """The requests (method and path) whose answers had the canary in head or body."""
        assert canary in self._forms, "call watch_for() before the traffic"
        with self._lock:
            return list(self._sightings.get(canary, []))

    # --- trouble ---

    def storm(
        self, seconds: float, retry_after: int = 1, *, verbs: Collection[str] = ("PATCH",)
    ) -> None:
        """Answer 429 for a while to some verbs: methods, LIST or WATCH."""
        self._storm = (time.monotonic() + seconds, retry_after, frozenset(verbs))

    def unavailable(self, seconds: float) -> None:
        """Answer 503 to everything for a while."""
        self._unavailable_until = time.monotonic() + seconds

    def pretend(self, document: dict[str, Any], contains: str, *, verbs: Collection[str]) -> None:
        """Answer 200 in the server's place to some verbs, where paths have a text in them."""
        self._pretence = ({"code": 200, **document}, contains, frozenset(verbs))

    @property
    def reset_every(self) -> int:
        """Each n-th request from now on is dropped: in turn after and before it is passed on."""
        return self._reset_every

    @reset_every.setter
    def reset_every(self, requests: int) -> None:
        with self._lock:
            self._reset_every, self._turns = requests, 0

    def answer_wrong(self, change: Change, *, path: str = "") -> None:
        """Change the bodies of all good answers, or of those at one path.

        A change that gives less than it promises (see `cut`) breaks the connection off after it.
        """
        self._wrong = (path, change)

    def answer_slowly(self, *, path: str = "") -> None:
        """Let all good answers drip, a byte a second, or those at one path."""
        self._drip = path

    def calm(self) -> None:
        """End every trouble."""
        self._wrong = self._drip = None
        self.delay, self.reset_every = 0.0, 0
        self._storm = (0.0, 0, frozenset())
        self._unavailable_until = 0.0
        self._pretence = ({}, "", frozenset())

    # --- for its connections ---

    def connect(self) -> HTTPSConnection:
        """A connection to the backend, which opens with its first request."""
        host = urlsplit(self.backend_url)
        assert host.hostname
        # No timeout: a watch may be silent for long, and callers have a patience of their own.
        connection = HTTPSConnection(host.hostname, host.port, context=self._tls)
        with self._lock:
            self._backends.add(connection)
        return connection

    def disconnect(self, connection: HTTPSConnection) -> None:
        with self._lock:
            self._backends.discard(connection)
        connection.close()

    def linger(self) -> None:
        """Wait as long as a request has to."""
        if self.delay:
            self._closing.wait(self.delay)

    def refusal(self, method: str, path: str) -> tuple[dict[str, Any], dict[str, str]] | None:
        """The document and the headers to answer a request with right now, if it is refused."""
        now = time.monotonic()
        if now < self._unavailable_until:
            message = "the server is currently unable to handle the request"
            return _status(503, "ServiceUnavailable", message), {}
        pretended, contains, verbs = self._pretence
        if contains in path and verbs & {method, _verb(method, path)}:
            return pretended, {}
        until, retry_after, verbs = self._storm
        if now < until and verbs & {method, _verb(method, path)}:
            message = "the server has received too many requests and has asked us to try again"
            details = {"retryAfterSeconds": retry_after}
            document = _status(429, "TooManyRequests", message, details=details)
            return document, {"Retry-After": str(retry_after)}
        return None

    def spoils(self, path: str) -> bool:
        """Whether a good answer is to be sent wrong, or slowly."""
        return self.drips(path) or (self._wrong is not None and _is_at(path, self._wrong[0]))

    def spoil(self, path: str, body: bytes) -> tuple[bytes, int]:
        """The body to send, and the length to promise."""
        if self._wrong is None or not _is_at(path, self._wrong[0]):
            return body, len(body)
        changed = self._wrong[1](body)
        return changed if isinstance(changed, tuple) else (changed, len(changed))

    def drips(self, path: str) -> bool:
        """Whether an answer is to come byte by byte."""
        return self._drip is not None and _is_at(path, self._drip)

    def pause(self, seconds: float) -> bool:
        """Wait; False if the proxy is being closed."""
        return not self._closing.wait(seconds)

    def drop(self) -> str:
        """Whether the next request's connection is to be dropped: before, after, or neither."""
        with self._lock:
            if not self._reset_every:
                return ""
            self._turns += 1
            drops, rest = divmod(self._turns, self._reset_every)
        if rest:
            return ""
        return "after" if drops % 2 else "before"

    def record(self, method: str, path: str, status: int) -> None:
        with self._lock:
            self._requests.append(Request(method, path, status))

    def look_out(self, line: str) -> Callable[[bytes], None]:
        """Takes one answer piece by piece, and notes the canaries in it."""
        wanted = dict(self._forms)
        overlap = max((len(form) for forms in wanted.values() for form in forms), default=1) - 1
        rest = b""

        def look(piece: bytes) -> None:
            nonlocal rest
            text = rest + piece
            found = [one for one, forms in wanted.items() if any(form in text for form in forms)]
            for canary in found:
                # Once for each answer.
                del wanted[canary]
                with self._lock:
                    self._sightings.setdefault(canary, []).append(line)
            # A canary may lie across two pieces.
            rest = text[-overlap:] if overlap else b""

        return look


class _Passage(Exchange):
    """The requests of one connection, which has a connection of its own to the backend."""

    def __init__(self, proxy: Proxy, *arguments: Any) -> None:
        self._proxy = proxy
        self._backend = proxy.connect()
        super().__init__(*arguments)

    def finish(self) -> None:
        self._proxy.disconnect(self._backend)
        super().finish()

    def _pass(self) -> None:
        body = self.read_body()
        if body is None:
            return
        proxy = self._proxy
        drop = proxy.drop()
        proxy.linger()
        if drop == "before":
            self._reset()
            return
        if refused := proxy.refusal(self.command, self.path):
            document, headers = refused
            self._refuse(document, headers)
            return
        try:
            response, whole = self._ask(body)
        except (OSError, HTTPException) as error:
            self._backend.close()
            self._refuse(_status(502, "BadGateway", f"no answer of the backend: {error}"), {})
            return
        if drop == "after":
            self._reset()
            return
        if 200 <= response.status < 300 and proxy.spoils(self.path):
            self._hand_on_spoilt(response, response.read() if whole is None else whole)
            return
        self._hand_on(response, whole)

    def _hand_on_spoilt(self, response: HTTPResponse, whole: bytes) -> None:
        body, length = self._proxy.spoil(self.path, whole)
        self._proxy.record(self.command, self.path, response.status)
        self.send_response_only(response.status, response.reason)
        self.send_header("Date", response.headers["Date"])
        self.send_header("Content-Type", response.headers["Content-Type"])
        self.send_header("Content-Length", str(length))
        self.end_headers()
        if self._proxy.drips(self.path):
            self.wfile.flush()
            for byte in body:
                if not self._proxy.pause(1):
                    break
                self.wfile.write(bytes([byte]))
                self.wfile.flush()
        else:
            self.wfile.write(body)
        if len(body) < length:
            self.close_connection = True

    def _ask(self, body: bytes) -> tuple[HTTPResponse, bytes | None]:
        """The backend's answer, with its body unless that comes in pieces."""
        backend = self._backend
        # Readable before anything was asked: the backend has closed it.
        if backend.sock and wait_for_read(backend.sock, timeout=0):
            backend.close()
        backend.putrequest(self.command, self.path, skip_accept_encoding=True)
        for name, value in self.headers.items():
            if name.lower() not in _NOT_PASSED_ON:
                backend.putheader(name, value)
        backend.endheaders(body or None)
        response = backend.getresponse()
        return response, None if response.length is None else response.read()

    def _hand_on(self, response: HTTPResponse, whole: bytes | None) -> None:
        look = self._proxy.look_out(f"{self.command} {self.path}")
        look(str(response.headers).encode())
        look(whole or b"")
        # Before the answer leaves: whoever has it finds it recorded.
        self._proxy.record(self.command, self.path, response.status)
        self.send_response_only(response.status, response.reason)
        for name, value in response.headers.items():
            if name.lower() not in _NOT_PASSED_ON:
                self.send_header(name, value)
        if whole is None:
            self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        if whole is None:
            self._stream(response, look)
        else:
            self.wfile.write(whole)

    def _stream(self, response: HTTPResponse, look: Callable[[bytes], None]) -> None:
        """Pass on each piece when it comes: a watch has no end."""
        self.wfile.flush()
        try:
            while piece := response.read1(_PIECE):
                look(piece)
                self.wfile.write(b"%x\r\n%b\r\n" % (len(piece), piece))
                self.wfile.flush()
        except HTTPException:
            # The backend broke off, and so must we: what was sent must not look complete.
            self._drop_connection()
        else:
            self.wfile.write(b"0\r\n\r\n")

    def _refuse(self, document: dict[str, Any], headers: dict[str, str]) -> None:
        self._proxy.record(self.command, self.path, document["code"])
        self.answer(document["code"], document, headers)

    def _reset(self) -> None:
        self._proxy.record(self.command, self.path, _NO_ANSWER)
        self._backend.close()
        self._drop_connection()

    def _drop_connection(self) -> None:
        self.close_connection = True
        # Closed without lingering, the kernel sends a reset.
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        os.close(self.connection.detach())


for _method in ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"):
    setattr(_Passage, f"do_{_method}", _Passage._pass)


def cluster_admin(plane: ControlPlane, name: str = "proxied") -> User:
    """A new service account that may do everything, with a token that passes through a proxy."""
    return account(plane, name, role="cluster-admin")


def account(plane: ControlPlane, name: str, *, role: str) -> User:
    """The same with another ClusterRole, one that lets it read ClusterRoles."""
    accounts = "/api/v1/namespaces/default/serviceaccounts"
    plane.api.create(accounts, {"metadata": {"name": name}})
    reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": role}
    subject = {"kind": "ServiceAccount", "name": name, "namespace": "default"}
    binding = {"metadata": {"name": name}, "roleRef": reference, "subjects": [subject]}
    plane.api.create(f"{_RBAC}/clusterrolebindings", binding)
    asked = {"spec": {"expirationSeconds": 7200}}
    token = plane.api.create(f"{accounts}/{name}/token", asked)["status"]["token"]
    user = plane.token_user(name, token)
    for server in plane.servers.values():
        # Each server learns of the binding in its own time.
        if server.running:
            answers = Api(server.url, user).answers
            eventually(partial(answers, f"{_RBAC}/clusterroles"), within=30)
    return user


def _is_at(target: str, path: str) -> bool:
    return not path or urlsplit(target).path == path


def _verb(method: str, path: str) -> str:
    """LIST or WATCH where a GET is one; else the method."""
    url = urlsplit(path)
    parts = url.path.strip("/").split("/")
    within = parts[2:] if parts[0] == "api" else parts[3:] if parts[0] == "apis" else []
    if within[:1] == ["namespaces"] and len(within) > 2:
        within = within[2:]
    if method != "GET" or len(within) != 1:
        return method
    watch = parse_qs(url.query).get("watch", ["false"])[0]
    return "WATCH" if watch in ("1", "true") else "LIST"


def _status(code: int, reason: str, message: str, **more: Any) -> dict[str, Any]:
    """A failure as API servers tell it."""
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": message,
        "reason": reason,
        **more,
        "code": code,
    }


def _forms(canary: bytes) -> list[bytes]:
    """The canary itself, and what base64 makes of it behind 0, 1 or 2 other bytes."""
    forms = [canary]
    for before in range(3):
        encoded = base64.b64encode(bytes(before) + canary)
        # The outer characters also depend on the neighbours.
        first = (0, 2, 3)[before]
        behind = (0, 3, 2)[(before + len(canary)) % 3]
        forms.append(encoded[first : len(encoded) - behind])
    return forms
