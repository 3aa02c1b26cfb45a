# Copyright: (c) 2026, the Lockstep authors
# GNU General Public License v3.0+ (see LICENSE or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

# This module_utils is PRIVATE to the lockstep.kubernetes collection: it may change at any time.

"""Every API server: finding it, verifying it, speaking to it. No other file does HTTP."""

from __future__ import annotations

import copy
import io
import ipaddress
import json
import re
import ssl
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from http.client import HTTPException, HTTPResponse, IncompleteRead
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlencode, urlsplit

from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.addresses import (
    with_brackets,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.errors import (
    LockstepError,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._decide.urls import (
    passwords_in,
    without_user,
)
from ansible_collections.lockstep.kubernetes.plugins.module_utils._observe import documents

try:
    import urllib3
    from ansible_collections.kubernetes.core.plugins.module_utils.k8s import client as k8s_client
    from kubernetes.client.rest import RESTClientObject
    from kubernetes.config import ConfigException
    from urllib3._collections import HTTPHeaderDict
except ImportError:
    # The module's entry point reports the missing library before anything is called here.
    pass

Parsed = TypeVar("Parsed")
# Several may have the same name.
Headers = tuple[tuple[str, str], ...]

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
    _check_files(module.params)
    # They may come from a kubeconfig or from the environment.
    module.no_log_values.update(passwords_in([configuration.host, configuration.proxy]))
    _check_url(str(configuration.host), "host")
    if module.params.get("proxy"):
        _check_url(module.params["proxy"], "proxy")
    configuration.host = without_user(str(configuration.host))
    return Access(configuration, headers)


@dataclass(frozen=True)
class Answer:
    """What a server answered: the document, and the time by its own clock."""

    body: bytes
    # The header Date.
    date: str | None
    # The method and the path that it answers.
    asked: str = "the request"

    def json(self) -> dict[str, Any]:
        """The document as data: a JSON object, or a fault of the server."""
        return self.read(dict)

    def read(self, parse: Callable[[dict[str, Any]], Parsed]) -> Parsed:
        """What the document says. One that is not what was asked for is a fault of the server.

        This is the one place that turns nonsense into faults: `parse` may fail as it likes.
        """
        try:
            return parse(documents.parse_object(self.body))
        except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError) as error:
            raise ServerFault(
                f"{self.asked} was answered with something else than what was asked for:"
                f" {_explain(error)}",
                "See what answers at that address: it must be an API server itself, not the page"
                " of a proxy or of a load balancer.",
            ) from error

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
        self._headers = _flat_headers(
            {"User-Agent": USER_AGENT, **_auth_headers(configuration), **access.headers}
        )
        try:
            self._pool = RESTClientObject(configuration).pool_manager
            # Found once: to find it anew for each request costs as much as all the rest of it.
            self._connection = self._pool.connection_from_url(address)
        except (urllib3.exceptions.HTTPError, ImportError, OSError, ValueError) as error:
            raise LockstepError(
                f"The connection to {address} can't be set up",
                f"{type(error).__name__}: {error}",
                "Correct the proxy, the CA and the client certificate in the options or in the"
                " kubeconfig",
            ) from error
        self._patience = _Patience()
        self._connection.ConnectionCls = _timed(self._connection.ConnectionCls, self._patience)
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
                self._patience,
            )
        target = self._prefix + path + (f"?{urlencode(query)}" if query else "")
        try:
            self._patience.begin(self.deadline.left())
            status, headers, body = self._rewriting.patch(target, accept)
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
        headers = HTTPHeaderDict(Accept=accept)
        for name, value in self._headers:
            headers.add(name, value)
        body = None
        if document is not None:
            headers["Content-Type"] = _MERGE_PATCH if method == "PATCH" else _JSON
            body = json.dumps(document)
        target = path + (f"?{urlencode(query)}" if query else "")
        left = self.deadline.left()
        self._patience.begin(left)
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


class _Patience:
    """How long the request that is under way may still take, as a whole."""

    def __init__(self) -> None:
        self._end = 0.0

    def begin(self, seconds: float) -> None:
        """A request begins, which may take so long."""
        self._end = time.monotonic() + seconds

    def left(self) -> float:
        """Seconds left; none left is a timeout."""
        left = self._end - time.monotonic()
        if left <= 0:
            raise TimeoutError("timed out")
        return left


class _TimedSocket:
    """A socket that http.client reads an answer from, and that a drip of bytes can't hold up.

    A socket's own timeout begins anew with every byte that comes.
    """

    def __init__(self, connection: Any, patience: _Patience) -> None:
        self._connection, self._patience = connection, patience

    def makefile(self, _mode: str = "rb") -> io.BufferedReader:
        return io.BufferedReader(_TimedStream(self._connection, self._patience))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)


class _TimedStream(io.RawIOBase):
    """What comes through a socket while there is patience left."""

    def __init__(self, connection: Any, patience: _Patience) -> None:
        super().__init__()
        self._connection, self._patience = connection, patience
        self._stream = connection.makefile("rb", buffering=0)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        self._connection.settimeout(self._patience.left())
        read: int | None = self._stream.readinto(buffer)
        return read

    def close(self) -> None:
        self._stream.close()
        super().close()


def _timed(connection: Any, patience: _Patience) -> Any:
    """A class of connections whose answers must have come as a whole in time."""

    def read_response(sock: Any, *arguments: Any, **options: Any) -> HTTPResponse:
        return HTTPResponse(_TimedSocket(sock, patience), *arguments, **options)  # type: ignore[arg-type]

    return type("TimedConnection", (connection,), {"response_class": staticmethod(read_response)})


class _RewritingConnection:
    """Sends empty patches over a connection of urllib3, and reads the common answer by itself.

    What http.client and urllib3 do for each request takes three times the CPU of all the rest, on
    the machine of the server as often as not. Any answer but the common one is left to http.client.
    """

    def __init__(self, connection: Any, host: str, headers: Headers, patience: _Patience) -> None:
        self._connection, self._host, self._headers = connection, host, headers
        self._patience = patience
        self._stream: Any = None
        # What stands behind the target in each request, by what is accepted.
        self._ends: dict[str, bytes] = {}

    def patch(self, target: str, accept: str) -> tuple[int, Any, bytes]:
        """Status, headers (none of them where all went well) and body of one empty patch."""
        if accept not in self._ends:
            self._ends[accept] = self._end(accept)
        if self._stream is None:
            self._connection.timeout = self._patience.left()
            self._connection.connect()
            self._stream = _TimedSocket(self._connection.sock, self._patience).makefile()
        # In one piece: the server would wake up for each.
        self._connection.sock.settimeout(self._patience.left())
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
        headers = (
            ("Host", self._host),
            ("Accept", accept),
            ("Content-Type", _MERGE_PATCH),
            ("Content-Length", "2"),
            *self._headers,
        )
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers)
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
    # The revision of this list, which is a consistent one.
    revision: int = 0


# What a list of the published servers is a list of.
PUBLISHED_IN = "endpointslices.discovery.k8s.io"


def find_servers(entry: ApiServer) -> PublishedServers:
    """The servers as they publish themselves."""
    answer = entry.get(
        "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices",
        labelSelector="kubernetes.io/service-name=kubernetes",
    )
    return answer.read(parse_published)


def parse_published(document: documents.Document) -> PublishedServers:
    """The servers in the EndpointSlices of default/kubernetes."""
    families: dict[str, set[str]] = {}
    versions = []
    for item in documents.list_items(document, "EndpointSliceList"):
        ports = documents.sections(item, "ports")
        https = [
            documents.number(port, "port")
            for port in ports
            if documents.optional_text(port, "name") == "https"
        ]
        for address in ready_addresses(item):
            host = with_brackets(str(ipaddress.ip_address(address)))
            family = documents.text(item, "addressType")
            families.setdefault(family, set()).add(f"https://{host}:{(*https, 6443)[0]}")
        metadata = documents.required_section(item, "metadata")
        versions.append(
            f"{documents.text(metadata, 'uid')}:{documents.number(metadata, 'generation')}"
        )
    addresses = {address for family in families.values() for address in family}
    count = max((len(family) for family in families.values()), default=0)
    metadata = documents.required_section(document, "metadata")
    return PublishedServers(
        addresses=tuple(sorted(addresses)),
        count=count,
        generation=" ".join(sorted(versions)),
        revision=int(documents.text(metadata, "resourceVersion")),
    )


def ready_addresses(endpoint_slice: documents.Document) -> list[str]:
    """The addresses in one EndpointSlice that take traffic; no condition means that they do."""
    return [
        address
        for endpoint in documents.sections(endpoint_slice, "endpoints")
        if documents.section(endpoint, "conditions").get("ready") is not False
        for address in documents.texts(endpoint, "addresses")
    ]


def normalise_addresses(addresses: list[str], *, option: str = "servers") -> list[str]:
    """Servers as users write them (host, host:port or URL), as URLs; wrong ones are named."""
    urls = []
    for address in addresses:
        url = address if "://" in address else f"https://{with_brackets(address)}"
        _check_url(url, option)
        urls.append(without_user(url).rstrip("/"))
    return list(dict.fromkeys(urls))


def _check_files(params: Mapping[str, Any]) -> None:
    for option in ("ca_cert", "client_cert", "client_key"):
        path = params.get(option)
        if not path or (option == "ca_cert" and params.get("validate_certs") is False):
            continue
        try:
            with Path(path).open("rb"):
                pass
        except OSError as error:
            raise LockstepError(
                f"The option {option} names {path}",
                f"It can't be read: {error.strerror}",
                "Give the path of a PEM file on the host that runs the task",
            ) from error


def _check_url(url: str, option: str) -> None:
    what = "an API server"
    schemes: tuple[str, ...] = ("https", "http")
    if option == "proxy":
        what = "a proxy"
        schemes = ("http", "https", "socks5", "socks5h", "socks4", "socks4a")
    try:
        parts = urlsplit(url)
        good = parts.scheme in schemes and bool(parts.hostname)
        good = good and not re.search(r"[\s\x00-\x1f]", url)
        good = good and (parts.port is None or parts.port > 0)
    except ValueError:
        good = False
    if not good:
        raise LockstepError(
            f"The option {option} holds {url!r}.",
            f"That is not the URL of {what}.",
            f"Give it as {schemes[0]}://HOST:PORT, an IPv6 address in brackets.",
        )


def _auth_headers(configuration: Any) -> dict[str, str]:
    return {
        setting["key"]: setting["value"]
        for setting in configuration.auth_settings().values()
        if setting.get("in") == "header" and setting.get("value")
    }


def _flat_headers(headers: Mapping[str, Any]) -> Headers:
    """One header for each value: a user may be impersonated with several groups."""
    flat = tuple(
        (name, str(one))
        for name, value in headers.items()
        for one in (value if isinstance(value, (list, tuple)) else [value])
    )
    for name, value in flat:
        if re.search(r"[\x00-\x08\x0a-\x1f\x7f]", value) or not _is_latin(value):
            # What it holds is not shown: it may be a token.
            raise LockstepError(
                f"The header {name} can't be sent",
                "It would hold a line break, or another character that no header may hold",
                "Correct the token, the password or the name of the user, in the options or in the"
                " kubeconfig",
            )
    return flat


def _is_latin(text: str) -> bool:
    try:
        text.encode("latin-1")
    except UnicodeEncodeError:
        return False
    return True


def _date(text: str | None) -> datetime | None:
    """The Date header, as a time with a zone."""
    try:
        date = parsedate_to_datetime(text or "")
    except (ValueError, TypeError, OverflowError):
        return None
    return date if date.tzinfo else date.replace(tzinfo=timezone.utc)


def _seconds(text: str | None) -> float:
    """The header Retry-After; servers give it in seconds."""
    try:
        seconds = float(text or 0)
    except ValueError:
        return 0.0
    return seconds if 0 <= seconds < float("inf") else 0.0


def _explain(error: Exception) -> str:
    """What is wrong with a document, by what was raised while it was read, in one line."""
    if isinstance(error, documents.MalformedError):
        said = error.why
    elif isinstance(error, LockstepError):
        said = error.what
    else:
        said = f"{type(error).__name__}: {error}"
    # It may quote names from the document, which can hold anything.
    return " ".join(said.split())


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
    timeouts = (urllib3.exceptions.TimeoutError, TimeoutError)
    # Before Python 3.10 that of a socket is another one.
    if any(isinstance(link, timeouts) or type(link).__name__ == "timeout" for link in chain):
        return ServerFault(
            f"no answer within {server.deadline.seconds:g} s",
            "See whether the server is frozen or cut off; raise timeout if it is only slow.",
        )
    if any(isinstance(link, (FileNotFoundError, IsADirectoryError)) for link in chain):
        return ServerFault(
            "a certificate or key of the connection is not there",
            "Correct ca_cert, client_cert and client_key, or the kubeconfig.",
            lasting=True,
        )
    if isinstance(chain[-1], ValueError):
        return ServerFault(
            f"the request can't be made of these options ({type(chain[-1]).__name__})",
            "Correct tls_server_name and the addresses of servers.",
            lasting=True,
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
    return Answer(body, headers.get("Date"), asked)


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
        document = documents.parse_object(body)
        message = documents.text(document, "message")
    except documents.MalformedError:
        lines = body.decode("utf-8", "replace").strip().splitlines()
        return {"message": lines[0][:200] if lines else "no message"}
    parts = {
        key: part
        for key, part in document.items()
        if key not in ("details", "metadata") or isinstance(part, dict)
    }
    return {**parts, "message": message}
