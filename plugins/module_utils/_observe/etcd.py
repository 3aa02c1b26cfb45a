# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""One member of etcd: reaching it, verifying it, asking it. No other file speaks to it.

With the Python package grpcio pages come as etcd has them; without, through the JSON gateway that
etcd has built in, by what Python itself brings. Nothing is ever written.
"""

from __future__ import annotations

import http.client
import io
import json
import os
import select
import socket
import ssl
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable, TypeVar
from urllib.parse import urlsplit

from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.addresses import (
    with_brackets,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.errors import (
    LockstepError,
    sentence,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe.etcd_answers import (
    CANCELLED,
    DEADLINE,
    DENIED,
    EXHAUSTED,
    UNAUTHENTICATED,
    UNAVAILABLE,
    UNIMPLEMENTED,
    EtcdFault,
    Page,
    Question,
    RangeRequest,
    encode_request,
    gateway_fault,
    gateway_page,
    gateway_part,
    protobuf_page,
    read_version,
    request_document,
)

# It would write its own lines among a module's output.
os.environ.setdefault("GRPC_VERBOSITY", "NONE")
try:
    import grpc

    # A directory of that name can be imported too.
    HAS_GRPC = hasattr(grpc, "ssl_channel_credentials")
except ImportError:
    HAS_GRPC = False

AUTO, GRPC, GATEWAY = "auto", "grpc", "gateway"

# No page is larger, whatever the objects in it are.
_MESSAGE_BYTES = 32 * 1024 * 1024
_VERDICT_SECONDS = 0.5
# All that may go wrong on the way: ValueError is what http.client makes of a wrong header, and
# AttributeError what becomes of a request whose connection another thread has closed.
_BROKEN = (OSError, http.client.HTTPException, ValueError, AttributeError)

# From an access and an endpoint to what has `range`, `ask` and `close`.
Transport = Callable[["EtcdAccess", str], Any]
Answer = TypeVar("Answer")


@dataclass(frozen=True)
class EtcdAccess:
    """Where etcd is, and how to be let in."""

    endpoints: tuple[str, ...]
    ca_cert: str = ""
    client_cert: str = ""
    client_key: str = ""
    tls_server_name: str = ""
    timeout: float = 30.0
    transport: str = AUTO


# --- the wire: gRPC ----------------------------------------------------------------------------


class _Grpc:
    """One channel; calls may overlap."""

    name = GRPC

    def __init__(self, access: EtcdAccess, endpoint: str) -> None:
        url = urlsplit(endpoint)
        host = f"[{url.hostname}]" if ":" in (url.hostname or "") else url.hostname
        options: list[tuple[str, Any]] = [
            ("grpc.max_receive_message_length", _MESSAGE_BYTES),
            ("grpc.enable_http_proxy", 0),
            ("grpc.enable_retries", 0),
        ]
        if access.tls_server_name:
            options.append(("grpc.ssl_target_name_override", access.tls_server_name))
        target = f"{host}:{_port(url)}"
        if url.scheme == "https":
            credentials = grpc.ssl_channel_credentials(
                _read(access.ca_cert), _read(access.client_key), _read(access.client_cert)
            )
            self._channel = grpc.secure_channel(target, credentials, options=options)
        else:
            self._channel = grpc.insecure_channel(target, options=options)
        self._timeout = access.timeout

    def range(self, request: RangeRequest) -> Page:
        return protobuf_page(request, self._call("/etcdserverpb.KV/Range", encode_request(request)))

    def ask(self, question: Question[Answer]) -> Answer:
        """What the member answers to a question without parameters."""
        return question.read_protobuf(self._call(question.method, b""))

    def _call(self, method: str, message: bytes) -> bytes:
        try:
            return bytes(self._channel.unary_unary(method)(message, timeout=self._timeout))
        except grpc.RpcError as error:
            code = error.code().value[0]
            why = error.details() or error.code().name
            raise EtcdFault(code, why) from None
        except ValueError:
            raise EtcdFault(CANCELLED, "the connection was closed") from None

    def close(self) -> None:
        self._channel.close()


# --- the wire: the JSON gateway ---------------------------------------------------------------


class _TimedSocket:
    """What http.client needs of a socket; an answer is in time as a whole, or it is not.

    A socket's own timeout begins anew with every byte, so that one that drips never ends.
    """

    def __init__(self, plain: socket.socket, left: Callable[[], float]) -> None:
        self._socket, self._left = plain, left

    def sendall(self, data: Any) -> None:
        self._socket.settimeout(self._left())
        self._socket.sendall(data)

    def makefile(self, *_arguments: Any) -> io.BufferedReader:
        return io.BufferedReader(_TimedReader(self._socket, self._left))

    def close(self) -> None:
        self._socket.close()


class _TimedReader(io.RawIOBase):
    def __init__(self, plain: socket.socket, left: Callable[[], float]) -> None:
        super().__init__()
        self._socket, self._left = plain, left
        # Keeps the socket open until the answer is read, as http.client relies on.
        self._file = plain.makefile("rb", buffering=0)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        self._socket.settimeout(self._left())
        return self._file.readinto(buffer)

    def close(self) -> None:
        self._file.close()
        super().close()


class _Connection(http.client.HTTPConnection):
    """A connection whose certificate is verified, by another name than the host's if need be."""

    def __init__(self, access: EtcdAccess, endpoint: str, *, awaits_verdict: bool = False) -> None:
        url = urlsplit(endpoint)
        self._awaits_verdict = awaits_verdict
        self._server_name = access.tls_server_name or url.hostname
        self._context = tls_context(access) if url.scheme == "https" else None
        # Where only one user may reach it, as an etcd of our own with everybody's secrets in it.
        self._socket_path = url.path if url.scheme == "unix" else ""
        self._seconds = access.timeout
        self.begin()
        super().__init__(url.hostname or "localhost", _port(url), timeout=access.timeout)

    def begin(self) -> None:
        """From now on the time counts in which an answer must be there."""
        self._deadline = time.monotonic() + self._seconds

    def _left(self) -> float:
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError
        return left

    def connect(self) -> None:
        if self._socket_path:
            plain: socket.socket = socket.socket(socket.AF_UNIX)
            plain.settimeout(self._left())
            plain.connect(self._socket_path)
        else:
            super().connect()
            plain = self.sock
        if self._context:
            plain.settimeout(self._left())
            plain = self._context.wrap_socket(plain, server_hostname=self._server_name)
            if self._awaits_verdict:
                _await_verdict(plain)
        timed: Any = _TimedSocket(plain, self._left)
        self.sock = timed


def _await_verdict(secured: ssl.SSLSocket) -> None:
    """Let TLS 1.3 tell what the server thinks of our certificate, which it says afterwards.

    Who writes at once may find the connection reset, and never learn why.
    """
    select.select([secured], [], [], _VERDICT_SECONDS)
    secured.setblocking(False)
    with suppress(ssl.SSLWantReadError, ssl.SSLWantWriteError):
        secured.read(1)


class Gateway:
    """One connection for each thread that asks."""

    name = GATEWAY

    def __init__(self, access: EtcdAccess, endpoint: str) -> None:
        self._access, self._endpoint = access, endpoint
        self._local = threading.local()
        self._open: list[_Connection] = []

    def range(self, request: RangeRequest) -> Page:
        return gateway_page(request, self._post("/v3/kv/range", request_document(request)))

    def ask(self, question: Question[Answer]) -> Answer:
        """What the member answers to a question without parameters."""
        return question.read_json(self._post(question.path, {}))

    def stream(self, path: str) -> Iterator[dict[str, Any]]:
        """The same for an answer in many parts, of which only one is held at a time."""
        connection = _Connection(self._access, self._endpoint)
        try:
            connection.request("POST", path, "{}")
            answer = connection.getresponse()
            if answer.status != 200:
                raise gateway_fault(answer.status, answer.read(_MESSAGE_BYTES))

            def read_line() -> bytes:
                connection.begin()
                return answer.readline(_MESSAGE_BYTES)

            # A part is a line. Whether the last one came, only the reader of them can tell.
            for line in iter(read_line, b""):
                yield gateway_part(line)
        except _BROKEN as error:
            raise connection_fault(error, self._access) from None
        finally:
            connection.close()

    def close(self) -> None:
        for connection in self._open:
            connection.close()

    def _post(self, path: str, document: dict[str, Any]) -> bytes:
        connection = getattr(self._local, "connection", None)
        if connection is None:
            connection = self._local.connection = _Connection(self._access, self._endpoint)
            self._open.append(connection)
        try:
            connection.begin()
            connection.request("POST", path, json.dumps(document))
            answer = connection.getresponse()
            # Values come in base64.
            body: bytes = answer.read(_MESSAGE_BYTES * 4 // 3 + 1)
        except _BROKEN as error:
            connection.close()
            raise connection_fault(error, self._access) from None
        if len(body) > _MESSAGE_BYTES * 4 // 3:
            connection.close()
            raise EtcdFault(EXHAUSTED, "the answer is larger than max")
        if answer.status != 200:
            raise gateway_fault(answer.status, body)
        return body


# --- being let in -----------------------------------------------------------------------------


def tls_context(access: EtcdAccess) -> ssl.SSLContext:
    """What to trust and what to show; a file that can't be used is named."""
    try:
        context = ssl.create_default_context(cafile=access.ca_cert or None)
    except (OSError, ValueError) as error:
        raise _file_error("ca_cert", access.ca_cert, error) from error
    if access.client_cert or access.client_key:
        try:
            # A key that asks for a password would make the module wait for ever.
            context.load_cert_chain(access.client_cert, access.client_key or None, password="")
        except (OSError, ValueError) as error:
            for option in ("client_cert", "client_key"):
                _check_readable(option, getattr(access, option))
            raise _file_error("client_cert", access.client_cert, error) from error
    return context


def _check_readable(option: str, path: str) -> None:
    try:
        Path(path).read_bytes()
    except OSError as error:
        raise _file_error(option, path, error) from error


def _file_error(option: str, path: str, error: Exception) -> LockstepError:
    if isinstance(error, ssl.SSLError):
        why = "It holds no PEM certificate, or a key that does not belong to it or has a password"
    else:
        why = f"It can't be read: {getattr(error, 'strerror', '') or error}"
    return LockstepError(
        f"The option {option} names {path!r}",
        why,
        "Name the files that the API server uses for etcd (--etcd-cafile, --etcd-certfile,"
        " --etcd-keyfile), on the host that the task runs on and as a user who may read them",
    )


def connection_fault(error: Exception, access: EtcdAccess) -> EtcdFault:
    """What went wrong on the way, in words."""
    if isinstance(error, ssl.SSLCertVerificationError):
        message = error.verify_message or str(error)
        named = "mismatch" in message.lower() or "not valid for" in message.lower()
        remedy = "Give etcd's own CA in ca_cert, which is not the cluster's"
        if named:
            remedy = "Set tls_server_name to a name that is in the certificate"
        elif "expired" in message.lower():
            remedy = "Renew etcd's server certificate, and check clocks"
        return EtcdFault(UNAUTHENTICATED, f"its certificate is not trusted: {message}", remedy)
    if isinstance(error, ssl.SSLError):
        text = f"{error.reason or error}".replace("_", " ").lower()
        if "certificate" in text or "unknown ca" in text:
            given = "the client certificate" if access.client_cert else "a missing certificate"
            return EtcdFault(
                UNAUTHENTICATED,
                f"it does not accept {given}: {text}",
                "Give a certificate of etcd's own CA in client_cert and its key in client_key;"
                " kubeadm keeps them as apiserver-etcd-client.crt and .key",
            )
        return EtcdFault(
            UNAVAILABLE,
            f"the TLS handshake failed: {text}",
            "Check that the port is etcd's client port, and whether it speaks https or http",
        )
    if isinstance(error, ConnectionRefusedError):
        return EtcdFault(
            UNAVAILABLE,
            "connection refused: nothing listens there",
            "Start etcd, or correct the address; 2379 is its usual port for clients",
        )
    # Until Python 3.10 they were two.
    if isinstance(error, (TimeoutError, socket.timeout)):
        return EtcdFault(
            DEADLINE,
            f"no answer within {access.timeout:g} s",
            "See whether etcd is frozen or cut off; raise timeout if it is slow, or lower page_size"
            " where pages are read",
        )
    if type(error).__name__ == "gaierror":
        return EtcdFault(UNAVAILABLE, "the name can't be resolved", "Correct the address")
    return EtcdFault(
        UNAVAILABLE,
        f"the connection broke: {type(error).__name__}: {error}".rstrip(": "),
        "Check that it is etcd's client address; run the task again if etcd is restarting",
    )


def _read(path: str) -> bytes | None:
    return Path(path).read_bytes() if path else None


def _port(url: Any) -> int:
    return int(url.port or 2379)


def normalise_endpoints(endpoints: Sequence[str], *, option: str = "endpoints") -> tuple[str, ...]:
    """Endpoints as users write them (host, host:port or URL), as URLs; wrong ones are named."""
    urls = []
    for endpoint in endpoints:
        url = endpoint if "://" in endpoint else f"https://{with_brackets(endpoint)}"
        try:
            parts = urlsplit(url)
            good = parts.scheme in ("https", "http") and bool(parts.hostname) and " " not in url
            good = good and _port(parts) > 0
        except ValueError:
            good = False
        if not good:
            raise LockstepError(
                f"The option {option} holds {endpoint!r}",
                "That is not the address of an etcd member",
                "Give it as https://HOST:2379",
            )
        urls.append(url.rstrip("/"))
    return tuple(dict.fromkeys(urls))


def probe(access: EtcdAccess, endpoint: str) -> str | None:
    """Verify who is there by Python's own TLS, whose errors are clear.

    Gives etcd's version, or None where there is no HTTP.
    """
    connection = _Connection(access, endpoint, awaits_verdict=True)
    try:
        connection.connect()
        connection.request("GET", "/version")
        answer = connection.getresponse()
        body = answer.read(4096)
    except (http.client.HTTPException, ConnectionResetError, BrokenPipeError):
        return None
    except _BROKEN as error:
        raise connection_fault(error, access) from None
    finally:
        connection.close()
    try:
        return read_version(body)
    except EtcdFault:
        raise EtcdFault(
            UNIMPLEMENTED,
            f"what answers there (HTTP status {answer.status}) is no etcd",
            "Give the client address of an etcd, not that of an API server; 2379 is its usual port",
        ) from None


def transports(access: EtcdAccess, *, speaks_http: bool) -> list[Transport]:
    """The ways to speak to a member, the fastest first."""
    kinds: list[Transport] = []
    if HAS_GRPC and access.transport in (AUTO, GRPC):
        kinds.append(_Grpc)
    if speaks_http and access.transport in (AUTO, GATEWAY):
        kinds.append(Gateway)
    if kinds:
        return kinds
    if access.transport == GRPC:
        raise LockstepError(
            "The option transport asks for grpc",
            "The Python package grpcio is not on this host",
            "Install it, or leave transport out",
        )
    raise EtcdFault(
        UNIMPLEMENTED,
        "it speaks gRPC only at this address",
        "Install the Python package grpcio on this host, or name an address of"
        " --listen-client-http-urls",
    )


def unreachable(faults: dict[str, EtcdFault]) -> LockstepError:
    """Why nothing could be read, endpoint by endpoint."""
    explained = {endpoint: explain(fault) for endpoint, fault in faults.items()}
    why = " ".join(sentence(f"{endpoint}: {one.why}") for endpoint, one in explained.items())
    remedies = dict.fromkeys(sentence(one.remedy) for one in explained.values() if one.remedy)
    return LockstepError("etcd can't be read", why, " ".join(remedies))


def explain(fault: EtcdFault) -> EtcdFault:
    """Give a refusal of etcd's own the remedy that it lacks."""
    if fault.remedy:
        return fault
    remedy = "See etcd's log; run the task again once it is healthy"
    if fault.code == DENIED:
        remedy = "Let the etcd user that the certificate names read the keys (etcdctl role grant)"
    elif fault.code == UNAUTHENTICATED or "user name is empty" in fault.why:
        remedy = (
            "etcd asks who reads, and its JSON gateway does not pass on the name in a client"
            " certificate: install the Python package grpcio on this host"
        )
    elif fault.ahead:
        remedy = (
            "This member lags behind the one that was asked first: wait until it has caught up, or"
            " name the others in endpoints"
        )
    elif fault.too_large:
        remedy = "A single value is larger than Kubernetes could have written: see who wrote it"
    elif fault.code == DEADLINE:
        remedy = "Raise timeout, or lower page_size if etcd is slow"
    elif "no leader" in fault.why or "timed out" in fault.why:
        remedy = "Bring back a majority of etcd's members; without it nobody knows what is newest"
    return EtcdFault(fault.code, fault.why, remedy)
