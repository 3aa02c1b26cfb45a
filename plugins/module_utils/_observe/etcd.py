# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""One member of etcd: reaching it, verifying it, asking it. No other file speaks to it.

With the Python package grpcio pages come as etcd has them; without, through the JSON gateway that
etcd has built in, by what Python itself brings. Nothing is ever written.
"""

from __future__ import annotations

import base64
import http.client
import json
import os
import select
import socket
import ssl
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Callable
from urllib.parse import urlsplit

from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.audit import Source
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.errors import (
    LockstepError,
    sentence,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.keys import KeyRange

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

# gRPC's codes, which the gateway gives too.
CANCELLED, _DEADLINE, _DENIED, _EXHAUSTED = 1, 4, 7, 8
_OUT_OF_RANGE, UNIMPLEMENTED, UNAVAILABLE, _UNAUTHENTICATED = 11, 12, 14, 16
UNREACHABLE = (_DEADLINE, UNAVAILABLE)

# From an access and an endpoint to what has `range` and `close`.
Transport = Callable[["EtcdAccess", str], Any]


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


class EtcdFault(Exception):
    """etcd refused or could not be reached; gRPC's code, why, and what to do about it."""

    def __init__(self, code: int, why: str, remedy: str = "") -> None:
        super().__init__(why)
        self.code, self.why, self.remedy = code, why, remedy

    @property
    def compacted(self) -> bool:
        return self.code == _OUT_OF_RANGE and "compacted" in self.why

    @property
    def ahead(self) -> bool:
        """The member has not got that revision yet."""
        return self.code == _OUT_OF_RANGE and "future" in self.why

    @property
    def too_large(self) -> bool:
        return self.code == _EXHAUSTED and "larger than max" in self.why


@dataclass(frozen=True)
class RangeRequest:
    """One read. With a revision it is serializable: any member answers by itself."""

    keys: KeyRange
    limit: int = 0
    revision: int = 0
    min_mod_revision: int = 0
    count_only: bool = False


@dataclass(frozen=True)
class Page:
    """An answer: who gave it, what was counted, and keys with values to be looked at once."""

    source: Source
    count: int
    more: bool
    keys: int
    size: int
    first: bytes
    last: bytes
    items: Iterable[tuple[bytes, bytes]]


# --- the wire: gRPC ---------------------------------------------------------------------------


def encode_request(request: RangeRequest) -> bytes:
    """A RangeRequest as protobuf."""
    parts = [
        b"\x0a" + _encode_varint(len(request.keys.start)) + request.keys.start,
        b"\x12" + _encode_varint(len(request.keys.end)) + request.keys.end,
    ]
    for tag, number in (
        (b"\x18", request.limit),
        (b"\x20", request.revision),
        (b"\x38", int(bool(request.revision))),
        (b"\x48", int(request.count_only)),
        (b"\x50", request.min_mod_revision),
    ):
        if number:
            parts.append(tag + _encode_varint(number))
    return b"".join(parts)


def decode_page(message: bytes) -> Page:
    """A RangeResponse; keys and values stay where they are until they are looked at."""
    frames: list[tuple[int, int]] = []
    header: dict[int, int] = {}
    more, count, at, end = 0, 0, 0, len(message)
    try:
        while at < end:
            tag = message[at]
            if tag == 0x12:
                size, at = _decode_varint(message, at + 1)
                frames.append((at, at + size))
                at += size
            elif tag == 0x0A:
                size, at = _decode_varint(message, at + 1)
                header = _decode_numbers(message, at, at + size)
                at += size
            elif tag & 7 == 0:
                number, at = _decode_varint(message, at + 1)
                more, count = (number, count) if tag == 0x18 else (more, number)
            else:
                raise IndexError
        if at != end:
            raise IndexError
        return Page(
            source=Source(f"{header[1]:x}", header[3], header.get(4, 0)),
            count=count,
            more=bool(more),
            keys=len(frames),
            size=end,
            first=_decode_pair(message, *frames[0])[0] if frames else b"",
            last=_decode_pair(message, *frames[-1])[0] if frames else b"",
            items=(_decode_pair(message, start, stop) for start, stop in frames),
        )
    except (IndexError, KeyError):
        raise EtcdFault(
            UNIMPLEMENTED, "its answer is not etcd's", "Give the client address of an etcd"
        ) from None


def _decode_pair(message: bytes, at: int, end: int) -> tuple[bytes, bytes]:
    """Key and value of a KeyValue; the numbers between them are skipped."""
    key = value = b""
    while at < end:
        tag = message[at]
        at += 1
        if tag & 7 == 2:
            size = message[at]
            at += 1
            if size > 127:
                size, at = _decode_varint(message, at - 1)
            if tag == 0x0A:
                key = message[at : at + size]
            elif tag == 0x2A:
                value = message[at : at + size]
            at += size
        else:
            while message[at] > 127:
                at += 1
            at += 1
    return key, value


def _decode_numbers(message: bytes, at: int, end: int) -> dict[int, int]:
    numbers = {}
    while at < end:
        tag, at = _decode_varint(message, at)
        numbers[tag >> 3], at = _decode_varint(message, at)
    return numbers


def _decode_varint(message: bytes, at: int) -> tuple[int, int]:
    number, shift = 0, 0
    while True:
        byte = message[at]
        at += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number, at
        shift += 7


def _encode_varint(number: int) -> bytes:
    encoded = bytearray()
    while number > 127:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)


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
        self._call = self._channel.unary_unary("/etcdserverpb.KV/Range")
        self._timeout = access.timeout

    def range(self, request: RangeRequest) -> Page:
        try:
            return decode_page(self._call(encode_request(request), timeout=self._timeout))
        except grpc.RpcError as error:
            code = error.code().value[0]
            why = error.details() or error.code().name
            raise EtcdFault(code, why) from None
        except ValueError:
            raise EtcdFault(CANCELLED, "the connection was closed") from None

    def close(self) -> None:
        self._channel.close()


# --- the wire: the JSON gateway ---------------------------------------------------------------


class _Connection(http.client.HTTPConnection):
    """A connection whose certificate is verified, by another name than the host's if need be."""

    def __init__(self, access: EtcdAccess, endpoint: str) -> None:
        url = urlsplit(endpoint)
        self._server_name = access.tls_server_name or url.hostname
        self._context = tls_context(access) if url.scheme == "https" else None
        # Where only one user may reach it, as an etcd of our own with everybody's secrets in it.
        self._socket_path = url.path if url.scheme == "unix" else ""
        super().__init__(url.hostname or "localhost", _port(url), timeout=access.timeout)

    def connect(self) -> None:
        if self._socket_path:
            self.sock = socket.socket(socket.AF_UNIX)
            self.sock.settimeout(self.timeout)
            self.sock.connect(self._socket_path)
            return
        super().connect()
        if self._context:
            self.sock = self._context.wrap_socket(self.sock, server_hostname=self._server_name)

    def await_verdict(self) -> None:
        """Let TLS 1.3 tell what the server thinks of our certificate, which it says afterwards.

        Who writes at once may find the connection reset, and never learn why.
        """
        if not isinstance(self.sock, ssl.SSLSocket):
            return
        timeout = self.sock.gettimeout()
        select.select([self.sock], [], [], _VERDICT_SECONDS)
        self.sock.setblocking(False)
        with suppress(ssl.SSLWantReadError, ssl.SSLWantWriteError):
            self.sock.read(1)
        self.sock.settimeout(timeout)


class Gateway:
    """One connection for each thread that asks."""

    name = GATEWAY

    def __init__(self, access: EtcdAccess, endpoint: str) -> None:
        self._access, self._endpoint = access, endpoint
        self._local = threading.local()
        self._open: list[_Connection] = []

    def range(self, request: RangeRequest) -> Page:
        document = {
            "key": _base64(request.keys.start),
            "range_end": _base64(request.keys.end),
            "limit": str(request.limit),
            "revision": str(request.revision),
            "serializable": bool(request.revision),
            "count_only": request.count_only,
            "min_mod_revision": str(request.min_mod_revision),
        }
        status, body = self._post("/v3/kv/range", document)
        if status != 200:
            raise _gateway_fault(status, body)
        try:
            return _gateway_page(json.loads(body), len(body))
        except (ValueError, KeyError, TypeError, AttributeError):
            raise EtcdFault(
                UNIMPLEMENTED, "its answer is not etcd's", "Give the client address of an etcd"
            ) from None

    def ask(self, path: str) -> dict[str, Any]:
        """What a member answers to a question without parameters."""
        status, body = self._post(path, {})
        if status != 200:
            raise _gateway_fault(status, body)
        try:
            return dict(json.loads(body))
        except ValueError:
            raise EtcdFault(UNIMPLEMENTED, "its answer is not etcd's") from None

    def stream(self, path: str) -> Iterator[dict[str, Any]]:
        """The same for an answer in many parts, of which only one is held at a time."""
        connection = _Connection(self._access, self._endpoint)
        try:
            connection.request("POST", path, "{}")
            answer = connection.getresponse()
            if answer.status != 200:
                raise _gateway_fault(answer.status, answer.read(_MESSAGE_BYTES))
            # A part is a line. Whether the last one came, only the reader of them can tell.
            for line in iter(lambda: answer.readline(_MESSAGE_BYTES), b""):
                yield gateway_part(line)
        except (OSError, http.client.HTTPException) as error:
            raise connection_fault(error, self._access) from None
        finally:
            connection.close()

    def close(self) -> None:
        for connection in self._open:
            connection.close()

    def _post(self, path: str, document: dict[str, Any]) -> tuple[int, bytes]:
        connection = getattr(self._local, "connection", None)
        if connection is None:
            connection = self._local.connection = _Connection(self._access, self._endpoint)
            self._open.append(connection)
        try:
            connection.request("POST", path, json.dumps(document))
            answer = connection.getresponse()
            # Values come in base64.
            body = answer.read(_MESSAGE_BYTES * 4 // 3 + 1)
            if len(body) > _MESSAGE_BYTES * 4 // 3:
                connection.close()
                raise EtcdFault(_EXHAUSTED, "the answer is larger than max")
            return answer.status, body
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            raise connection_fault(error, self._access) from None


def _gateway_page(document: dict[str, Any], size: int) -> Page:
    pairs, header = document.get("kvs", []), document["header"]
    decode = base64.b64decode
    return Page(
        source=Source(
            f"{int(header['cluster_id']):x}",
            int(header["revision"]),
            int(header.get("raft_term", 0)),
        ),
        count=int(document.get("count", 0)),
        more=bool(document.get("more")),
        keys=len(pairs),
        size=size * 3 // 4,
        first=decode(pairs[0]["key"]) if pairs else b"",
        last=decode(pairs[-1]["key"]) if pairs else b"",
        items=((decode(pair["key"]), decode(pair.get("value", ""))) for pair in pairs),
    )


def gateway_part(line: bytes) -> dict[str, Any]:
    """One part of a streamed answer; a fault may come after any of them."""
    try:
        document = json.loads(line)
        error = document.get("error")
        if error is None:
            return dict(document["result"])
        code = error.get("grpc_code") or error.get("code") or UNAVAILABLE
        fault = EtcdFault(int(code), str(error["message"]))
    except (ValueError, KeyError, TypeError, AttributeError):
        fault = EtcdFault(
            UNIMPLEMENTED, "its answer is not etcd's", "Give the client address of an etcd"
        )
    # Raised out here, so that what could not be read, which may hold values, does not go along.
    raise fault


def _gateway_fault(status: int, body: bytes) -> EtcdFault:
    try:
        document = json.loads(body)
        return EtcdFault(int(document["code"]), str(document["message"]))
    except (ValueError, KeyError, TypeError):
        pass
    if status == 404:
        return EtcdFault(
            UNIMPLEMENTED,
            "it has no JSON gateway",
            "Install the Python package grpcio on this host, or start etcd without"
            " --enable-grpc-gateway=false",
        )
    if b"CommonName" in body:
        return EtcdFault(_UNAUTHENTICATED, "it does not take the certificate's name for a user")
    return EtcdFault(UNAVAILABLE, f"it answered with HTTP status {status}")


def _base64(key: bytes) -> str:
    return base64.b64encode(key).decode("ascii")


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
        return EtcdFault(_UNAUTHENTICATED, f"its certificate is not trusted: {message}", remedy)
    if isinstance(error, ssl.SSLError):
        text = f"{error.reason or error}".replace("_", " ").lower()
        if "certificate" in text or "unknown ca" in text:
            given = "the client certificate" if access.client_cert else "a missing certificate"
            return EtcdFault(
                _UNAUTHENTICATED,
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
            _DEADLINE,
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


def normalise_endpoints(endpoints: Sequence[str]) -> tuple[str, ...]:
    """Endpoints as users write them (host, host:port or URL), as URLs; wrong ones are named."""
    urls = []
    for endpoint in endpoints:
        url = endpoint if "://" in endpoint else f"https://{endpoint}"
        try:
            parts = urlsplit(url)
            good = parts.scheme in ("https", "http") and bool(parts.hostname) and " " not in url
            good = good and _port(parts) > 0
        except ValueError:
            good = False
        if not good:
            raise LockstepError(
                f"The option endpoints holds {endpoint!r}",
                "That is not the address of an etcd member",
                "Give it as https://HOST:2379",
            )
        urls.append(url.rstrip("/"))
    return tuple(dict.fromkeys(urls))


def greet(access: EtcdAccess, endpoint: str) -> str | None:
    """Verify who is there by Python's own TLS, whose errors are clear.

    Gives etcd's version, or None where there is no HTTP.
    """
    connection = _Connection(access, endpoint)
    try:
        connection.connect()
        connection.await_verdict()
        connection.request("GET", "/version")
        answer = connection.getresponse()
        body = answer.read(4096)
    except (http.client.HTTPException, ConnectionResetError, BrokenPipeError):
        return None
    except OSError as error:
        raise connection_fault(error, access) from None
    finally:
        connection.close()
    try:
        return str(json.loads(body)["etcdserver"])
    except (ValueError, KeyError, TypeError):
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
    if fault.code == _DENIED:
        remedy = "Let the etcd user that the certificate names read the keys (etcdctl role grant)"
    elif fault.code == _UNAUTHENTICATED or "user name is empty" in fault.why:
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
    elif fault.code == _DEADLINE:
        remedy = "Raise timeout, or lower page_size if etcd is slow"
    elif "no leader" in fault.why or "timed out" in fault.why:
        remedy = "Bring back a majority of etcd's members; without it nobody knows what is newest"
    return EtcdFault(fault.code, fault.why, remedy)
