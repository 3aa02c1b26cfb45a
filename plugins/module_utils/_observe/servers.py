# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""Every API server: finding it, verifying it, speaking to it. No other file does HTTP."""

from __future__ import annotations

import copy
import json
import re
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from http.client import HTTPException, HTTPResponse, IncompleteRead
from typing import Any
from urllib.parse import urlencode, urlsplit

from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.errors import (
    LockstepError,
)

try:
    import urllib3
    from ansible_collections.kubernetes.core.plugins.module_utils.k8s import client as k8s_client
    from kubernetes.client.rest import RESTClientObject
    from kubernetes.config import ConfigException
except ImportError:
    # The module's entry point reports the missing library before anything is called here.
    pass

RBAC_REMEDY = (
    "Grant it to the user of this kubeconfig; the ClusterRoles in docs/reference/rbac.md hold"
    " all that Lockstep needs."
)
# Servers keep it as the manager of the fields that we write.
USER_AGENT = "lockstep.kubernetes"
_JSON = "application/json"
_MERGE_PATCH = "application/merge-patch+json"
_RETRY_SECONDS = 0.5
# A server that has just started fills its cache of a resource when that is first asked for.
_FILLING_SECONDS = 0.02
# An answer that went well, of a known length, on a connection that stays.
_PLAIN_ANSWER = re.compile(
    rb"HTTP/1\.1 200 (?!.*\r\n(?:Connection|Transfer-Encoding|Content-Encoding):)"
    rb".*\r\nContent-Length: (\d+)(?:\r\n|$)",
    re.DOTALL | re.IGNORECASE,
)
# What a server says of writes while it has not yet reported what it encodes.
_REGISTERING = "storage version registration"
# And of a resource whose cache it is filling.
_FILLING = "storage is (re)initializing"


class ServerFault(Exception):
    """One address could not be read; why, and what to do about it."""

    def __init__(
        self,
        fault: str,
        remedy: str,
        *,
        status: int = 0,
        lasting: bool = False,
        document: Mapping[str, Any] | None = None,
        retry_after: float = 0.0,
        broken: bool = False,
    ) -> None:
        super().__init__(fault)
        self.fault, self.remedy, self.status = fault, remedy, status
        # Waiting does not help against it.
        self.lasting = lasting
        # The connection broke: whether the server did what was asked is not known.
        self.broken = broken
        # The Status object that came as the answer, and the seconds that it asks to wait.
        self.document, self.retry_after = document or {}, retry_after

    @property
    def passing(self) -> bool:
        """Whether the server refused only because it is still starting, or has too much to do."""
        return self.status == 429 or (self.status == 503 and _REGISTERING in self.fault)

    @property
    def filling(self) -> bool:
        """Whether the server only fills a cache, which takes a moment and no load of ours."""
        return self.status == 429 and _FILLING in self.fault

    def as_error(self, what: str) -> LockstepError:
        """The same, as the failure of the whole task."""
        kind = RefusedError if self.lasting else LockstepError
        return kind(what, self.fault, self.remedy)


class RefusedError(LockstepError):
    """Who asks is not let in, or who answers is not trusted: trying again does not help."""


class Deadline:
    """A point in time that all requests of one task share."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds
        self.seconds = seconds

    def anew(self) -> Deadline:
        """As much time once more, for the next of many things that one task does in turn."""
        return Deadline(self.seconds)

    def left(self) -> float:
        """Seconds left, never less than a request needs to fail properly."""
        return max(self._end - time.monotonic(), 0.05)

    @property
    def passed(self) -> bool:
        return time.monotonic() >= self._end


@dataclass(frozen=True)
class Access:
    """How to reach a cluster: the client settings of kubernetes.core, and headers of the user."""

    configuration: Any
    headers: Mapping[str, Any] = field(default_factory=dict)

    @property
    def host(self) -> str:
        return str(self.configuration.host)


def read_access(module: Any) -> Access:
    """The connection that a module's options, environment and kubeconfig describe."""
    try:
        # The public get_api_client would run a discovery of its own, and cache it without expiry.
        configuration = k8s_client._create_configuration(k8s_client._create_auth_spec(module))
        headers = k8s_client._create_headers(module)
    except (ConfigException, OSError, ValueError, TypeError) as error:
        raise LockstepError(
            "The connection to the cluster can't be set up.",
            f"{error}".strip().rstrip(".") + ".",
            "Give a valid O(kubeconfig) and O(context), or O(host) with O(api_key) or a client"
            " certificate.".replace("O(", "").replace(")", ""),
        ) from error
    if module.params.get("tls_server_name"):
        configuration.tls_server_name = module.params["tls_server_name"]
    _check_url(str(configuration.host), "host")
    return Access(configuration, headers)


@dataclass(frozen=True)
class Answer:
    """What a server answered: the document, and the time by its own clock."""

    body: bytes
    # The header Date.
    date: str | None

    def json(self) -> dict[str, Any]:
        """The document as data."""
        return dict(json.loads(self.body))

    def clock(self) -> datetime:
        """The time by the clock of the server that answered."""
        date = _date(self.date)
        if date is None:
            raise ServerFault(
                "its answers carry no Date header, so the age of leases can't be told",
                "Take away the proxy that strips it.",
            )
        return date


class ApiServer:
    """One address, spoken to over one connection that is kept alive.

    One connection, and no more: behind a TCP load balancer two connections may end at two
    servers, and what was read over them would belong to neither.
    """

    def __init__(self, access: Access, address: str, deadline: Deadline) -> None:
        configuration = copy.copy(access.configuration)
        configuration.host = address
        configuration.connection_pool_maxsize = 1
        self.address = address
        self.deadline = deadline
        self._headers = {
            "User-Agent": USER_AGENT,
            **_auth_headers(configuration),
            **access.headers,
        }
        self._pool = RESTClientObject(configuration).pool_manager
        # Found once: to find it anew for each request costs as much as all the rest of it.
        self._connection = self._pool.connection_from_url(address)
        self._rewriting: Any = None
        parts = urlsplit(address)
        # A server may be served below a path. A proxy for plain HTTP wants the whole address.
        plain_proxy = isinstance(self._pool, urllib3.ProxyManager) and parts.scheme == "http"
        self._prefix = address if plain_proxy else parts.path.rstrip("/")

    def get(self, path: str, *, accept: str = _JSON, **query: str) -> Answer:
        """Read one document."""
        return self._request("GET", path, accept=accept, query=query)

    def post(self, path: str, document: Mapping[str, Any], **query: str) -> Answer:
        """Create one object; 409 if there is one of that name already."""
        return self._request("POST", path, query=query, document=document)

    def put(self, path: str, document: Mapping[str, Any], **query: str) -> Answer:
        """Replace one object; its resourceVersion guards against a change in between."""
        return self._request("PUT", path, query=query, document=document)

    def patch(self, path: str, document: Mapping[str, Any], **query: str) -> Answer:
        """Merge fields into one object; a resourceVersion or uid among them guards it."""
        return self._request("PATCH", path, query=query, document=document)

    def rewrite(self, path: str, *, accept: str, query: Mapping[str, str]) -> Answer:
        """Have one object written as this server encodes it: a patch that holds nothing.

        It is tried once: who rewrites many decides on the pace of them all. And since there are
        many, it goes past the layers of urllib3 that cost more than the rest, but for a proxy.
        """
        if self._connection.proxy:
            return self._request_once("PATCH", path, query, accept, {})
        if self._rewriting is None:
            # With the TLS settings of all other requests.
            self._rewriting = _RewritingConnection(
                self._connection._new_conn(),
                urlsplit(self.address).netloc.rpartition("@")[2],
                self._headers,
            )
        target = self._prefix + path + (f"?{urlencode(query)}" if query else "")
        try:
            status, headers, body = self._rewriting.patch(target, accept, self.deadline.left())
        except (urllib3.exceptions.HTTPError, HTTPException, OSError, ValueError) as error:
            self._rewriting.close()
            raise _connection_fault(error, self) from error
        return _read_answer(status, headers, body, f"PATCH {path}")

    def delete(self, path: str, document: Mapping[str, Any], **query: str) -> Answer:
        """Delete one object, under the preconditions in `document`."""
        return self._request("DELETE", path, query=query, document=document)

    def close(self) -> None:
        self._pool.clear()
        if self._rewriting is not None:
            self._rewriting.close()

    def _request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str],
        accept: str = _JSON,
        document: Mapping[str, Any] | None = None,
    ) -> Answer:
        """Ask, and ask again as long as the server only says that it is not ready for it yet.

        What is only read is asked for once more, too, when the connection broke.
        """
        may_break = method == "GET"
        filling = _FILLING_SECONDS
        while True:
            try:
                return self._request_once(method, path, query, accept, document)
            except ServerFault as fault:
                again = fault.passing or (fault.broken and may_break)
                if not again or self.deadline.left() <= _RETRY_SECONDS:
                    raise
                may_break = may_break and not fault.broken
                pause = _RETRY_SECONDS
                if fault.filling:
                    pause, filling = filling, min(2 * filling, _RETRY_SECONDS)
            time.sleep(pause)

    def _request_once(
        self,
        method: str,
        path: str,
        query: Mapping[str, str],
        accept: str,
        document: Mapping[str, Any] | None,
    ) -> Answer:
        headers = {"Accept": accept, **self._headers}
        body = None
        if document is not None:
            headers["Content-Type"] = _MERGE_PATCH if method == "PATCH" else _JSON
            body = json.dumps(document)
        target = path + (f"?{urlencode(query)}" if query else "")
        left = self.deadline.left()
        try:
            answer = self._connection.request(
                method,
                self._prefix + target,
                headers=headers,
                body=body,
                timeout=urllib3.Timeout(connect=left, read=left),
                retries=False,
                redirect=False,
            )
        except (urllib3.exceptions.HTTPError, OSError, ValueError) as error:
            raise _connection_fault(error, self) from error
        return _read_answer(answer.status, answer.headers, answer.data, f"{method} {path}")


class _RewritingConnection:
    """Sends empty patches over a connection of urllib3, and reads the common answer by itself.

    What http.client and urllib3 do for each request takes three times the CPU of all the rest, on
    the machine of the server as often as not. Any answer but the common one is left to http.client.
    """

    def __init__(self, connection: Any, host: str, headers: Mapping[str, Any]) -> None:
        self._connection, self._host, self._headers = connection, host, headers
        self._stream: Any = None
        # What stands behind the target in each request, by what is accepted.
        self._ends: dict[str, bytes] = {}

    def patch(self, target: str, accept: str, timeout: float) -> tuple[int, Any, bytes]:
        """Status, headers (none of them where all went well) and body of one empty patch."""
        if accept not in self._ends:
            self._ends[accept] = self._end(accept)
        if self._stream is None:
            self._connection.timeout = timeout
            self._connection.connect()
            self._stream = self._connection.sock.makefile("rb")
        # In one piece: the server would wake up for each.
        self._connection.sock.settimeout(timeout)
        self._connection.sock.sendall(b"PATCH " + target.encode("ascii") + self._ends[accept])
        head, end, _rest = self._stream.peek(1).partition(b"\r\n\r\n")
        length = _PLAIN_ANSWER.match(head)
        if length is None or not end:
            return self._read_any()
        self._stream.read(len(head) + len(end))
        body = self._stream.read(int(length[1]))
        if len(body) < int(length[1]):
            raise IncompleteRead(body)
        return 200, {}, body

    def close(self) -> None:
        """The next patch begins anew."""
        if self._stream is not None:
            self._stream.close()
            self._stream = None
        self._connection.close()

    def _end(self, accept: str) -> bytes:
        headers = {
            "Host": self._host,
            "Accept": accept,
            "Content-Type": _MERGE_PATCH,
            "Content-Length": "2",
            **self._headers,
        }
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        return f" HTTP/1.1\r\n{lines}\r\n{{}}".encode("latin-1")

    def _read_any(self) -> tuple[int, Any, bytes]:
        answer = HTTPResponse(_Unclosed(self._stream), method="PATCH")  # type: ignore[arg-type]
        answer.begin()
        body = answer.read()
        if answer.will_close:
            self.close()
        return answer.status, answer.headers, body


class _Unclosed:
    """A stream that http.client reads one answer of, and would close after it."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def makefile(self, _mode: str) -> _Unclosed:
        return self

    def close(self) -> None:
        """Nothing: more answers follow."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


@dataclass(frozen=True)
class PublishedServers:
    """What the servers themselves publish in the EndpointSlices of default/kubernetes."""

    addresses: tuple[str, ...]
    # With two address families each server is listed once in each.
    count: int
    # It moves whenever a server joins or leaves, so that one that did both does not go unseen.
    generation: str = ""


def find_servers(entry: ApiServer) -> PublishedServers:
    """The servers as they publish themselves."""
    slices = entry.get(
        "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices",
        labelSelector="kubernetes.io/service-name=kubernetes",
    ).json()
    families: dict[str, set[str]] = {}
    for item in slices["items"]:
        port = next((p["port"] for p in item.get("ports") or [] if p.get("name") == "https"), 6443)
        for address in ready_addresses(item):
            host = f"[{address}]" if ":" in address else address
            families.setdefault(item["addressType"], set()).add(f"https://{host}:{port}")
    addresses = {address for family in families.values() for address in family}
    count = max((len(family) for family in families.values()), default=0)
    versions = (
        f"{m['uid']}:{m['generation']}" for m in (one["metadata"] for one in slices["items"])
    )
    return PublishedServers(tuple(sorted(addresses)), count, " ".join(sorted(versions)))


def ready_addresses(endpoint_slice: Mapping[str, Any]) -> list[str]:
    """The addresses in one EndpointSlice that take traffic; no condition means that they do."""
    return [
        address
        for endpoint in endpoint_slice.get("endpoints") or []
        if (endpoint.get("conditions") or {}).get("ready") is not False
        for address in endpoint.get("addresses") or []
    ]


def normalise_addresses(addresses: list[str]) -> list[str]:
    """Servers as users write them (host, host:port or URL), as URLs; wrong ones are named."""
    urls = []
    for address in addresses:
        url = address if "://" in address else f"https://{address}"
        _check_url(url, "servers")
        urls.append(url.rstrip("/"))
    return list(dict.fromkeys(urls))


def _check_url(url: str, option: str) -> None:
    try:
        parts = urlsplit(url)
        good = parts.scheme in ("https", "http") and bool(parts.hostname) and " " not in url
        good = good and (parts.port is None or parts.port > 0)
    except ValueError:
        good = False
    if not good:
        raise LockstepError(
            f"The option {option} holds {url!r}.",
            "That is not the URL of an API server.",
            "Give it as https://HOST:PORT.",
        )


def _auth_headers(configuration: Any) -> dict[str, str]:
    return {
        setting["key"]: setting["value"]
        for setting in configuration.auth_settings().values()
        if setting.get("in") == "header" and setting.get("value")
    }


def _date(text: str | None) -> datetime | None:
    """The Date header, as a time with a zone."""
    if not text:
        return None
    date = parsedate_to_datetime(text)
    return date if date.tzinfo else date.replace(tzinfo=timezone.utc)


def _seconds(text: str | None) -> float:
    """The header Retry-After; servers give it in seconds."""
    try:
        return max(float(text or 0), 0.0)
    except ValueError:
        return 0.0


def _connection_fault(error: Exception, server: ApiServer) -> ServerFault:
    """What went wrong on the way, in words; exceptions nest, so the whole chain is looked at."""
    chain: list[BaseException] = []
    cause: BaseException | None = error
    while cause is not None and cause not in chain:
        chain.append(cause)
        reason = getattr(cause, "reason", None)
        nested = reason if isinstance(reason, BaseException) else None
        cause = nested or cause.__cause__ or cause.__context__
        if cause is None and chain[-1].args and isinstance(chain[-1].args[0], BaseException):
            cause = chain[-1].args[0]
    for link in chain:
        if isinstance(link, ssl.SSLCertVerificationError):
            return _certificate_fault(link)
    for link in chain:
        if isinstance(link, ssl.SSLError):
            return ServerFault(
                f"the TLS handshake failed: {link.reason or link}",
                "Check that the port is an API server's and that the client certificate is valid.",
            )
    if any(isinstance(link, ConnectionRefusedError) for link in chain):
        return ServerFault(
            "connection refused: nothing listens there",
            "Start the server, or correct its address.",
        )
    if any(type(link).__name__ in ("gaierror", "NameResolutionError") for link in chain):
        return ServerFault("the name can't be resolved", "Correct the address, or the DNS.")
    # Last of the known ones: some versions of urllib3 call a refused connection a timeout too.
    if any(isinstance(link, (urllib3.exceptions.TimeoutError, TimeoutError)) for link in chain):
        return ServerFault(
            f"no answer within {server.deadline.seconds:g} s",
            "See whether the server is frozen or cut off; raise timeout if it is only slow.",
        )
    return ServerFault(
        f"the connection broke: {type(chain[-1]).__name__}: {chain[-1]}",
        "See whether the server is restarting; the task can be run again.",
        broken=True,
    )


def _certificate_fault(error: ssl.SSLCertVerificationError) -> ServerFault:
    message = error.verify_message or str(error)
    lower = message.lower()
    if "mismatch" in lower or "doesn't match" in lower or "not valid for" in lower:
        remedy = "Set tls_server_name to a name that is in the certificate, or reissue it."
    elif "expired" in lower or "not yet valid" in lower:
        remedy = "Renew the server's certificate (kubeadm certs renew apiserver), and check clocks."
    else:
        remedy = "Give the cluster's CA in ca_cert or in the kubeconfig."
    return ServerFault(f"its certificate is not trusted: {message}", remedy, lasting=True)


def _read_answer(status: int, headers: Any, body: bytes, asked: str) -> Answer:
    if status >= 300:
        fault = _answer_fault(status, body, asked)
        fault.retry_after = _seconds(headers.get("Retry-After"))
        raise fault
    return Answer(body, headers.get("Date"))


def _answer_fault(status: int, body: bytes, asked: str) -> ServerFault:
    document = _status_document(body)
    message = document["message"]
    if status == 401:
        return ServerFault(
            "401 Unauthorized: the server does not accept the credentials",
            "Renew the token or client certificate: it is wrong, expired or of another cluster.",
            status=status,
            lasting=True,
        )
    if status == 403:
        return ServerFault(
            f"403 Forbidden: {message}", RBAC_REMEDY, status=status, document=document
        )
    if status == 503 and _REGISTERING in message:
        return ServerFault(
            f"503: the server still registers its storage versions ({message})",
            "Wait until its /readyz is ok, then run the task again.",
            status=status,
            document=document,
        )
    return ServerFault(
        f"{asked} was answered with {status}: {message}",
        "See the server's log; run the task again once it is healthy.",
        status=status,
        document=document,
    )


def _status_document(body: bytes) -> dict[str, Any]:
    """A Status object, with a message in any case: the first line of what is none."""
    try:
        document = dict(json.loads(body))
        return {**document, "message": str(document["message"])}
    except (ValueError, KeyError, TypeError):
        lines = body.decode("utf-8", "replace").strip().splitlines()
        return {"message": lines[0][:200] if lines else "no message"}
