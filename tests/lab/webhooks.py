"""Webhooks that the API servers call: a conversion in which a field moves, and an admission."""

from __future__ import annotations

import base64
import json
import socket
import ssl
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import partial
from http.server import BaseHTTPRequestHandler
from socketserver import TCPServer
from typing import Any

from .control_plane import ControlPlane
from .objects import crd

VALIDATING_WEBHOOKS = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"

_SIZE = {"type": "object", "properties": {"size": {"type": "integer"}}}
_SPECS = {"v1": _SIZE, "v2": {"type": "object", "properties": {"dimensions": _SIZE}}}


class HttpsServer(TCPServer):
    """Serves HTTPS at an address of its own until it is closed, a thread for each connection."""

    allow_reuse_address = True
    request_queue_size = 128

    def __init__(
        self, plane: ControlPlane, name: str, handler: Callable[..., BaseHTTPRequestHandler]
    ) -> None:
        address, port = plane.take_address()
        certificate, key = plane.authority.issue(
            f"{name}-{address}-{port}", common_name=name, addresses=[address]
        )
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        super().__init__((address, port), handler)
        # The handshake is left to the connection's thread: a slow client holds nobody up.
        self.socket = context.wrap_socket(
            self.socket, server_side=True, do_handshake_on_connect=False
        )
        self.url = f"https://{address}:{port}"
        self._lock = threading.Lock()
        self._connections: dict[threading.Thread, socket.socket] = {}
        self._thread = threading.Thread(target=self.serve_forever, args=(0.05,), daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End it, with all its connections and their threads."""
        self.drop_all()
        self.join()

    def drop_all(self) -> None:
        """Take no more connections, and drop those that are open."""
        self.shutdown()
        self.server_close()
        with self._lock:
            left = list(self._connections.values())
        for connection in left:
            # Below TLS, which belongs to the connection's own thread.
            with suppress(OSError):
                socket.socket.shutdown(connection, socket.SHUT_RDWR)

    def join(self) -> None:
        """Wait for the threads, after the connections were dropped."""
        with self._lock:
            left = [self._thread, *self._connections]
        for thread in left:
            thread.join(5)

    def process_request(self, request: Any, client_address: Any) -> None:
        thread = threading.Thread(target=self._serve, args=(request, client_address), daemon=True)
        with self._lock:
            self._connections[thread] = request
        thread.start()

    def _serve(self, request: Any, client_address: Any) -> None:
        try:
            self.finish_request(request, client_address)
        except OSError:
            # The other side is gone, or close() has dropped it.
            pass
        except Exception:
            self.handle_error(request, client_address)
        finally:
            self.shutdown_request(request)
            with self._lock:
                del self._connections[threading.current_thread()]


class Exchange(BaseHTTPRequestHandler):
    """The requests of one connection, which stays open between them."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    # Buffered, so that the head and the body of an answer leave together.
    wbufsize = -1

    def read_body(self) -> bytes | None:
        """The request's body; None, and the request is answered, if its length is not told."""
        if "Transfer-Encoding" in self.headers:
            self.send_error(411)
            return None
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def answer(
        self, status: int, document: object, headers: Mapping[str, str] | None = None
    ) -> None:
        """Answer with a document."""
        body = json.dumps(document).encode()
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_arguments: object) -> None:
        """Tests look at counts, not at logs."""


class Webhooks:
    """One server for both webhooks. Use it as a context manager: leaving it ends the server."""

    def __init__(self, plane: ControlPlane) -> None:
        # What conversions are to fail with; nothing: they succeed.
        self.conversion_fault = ""
        # The names of objects that nobody may update, and the Status that says so.
        self.denied: set[str] = set()
        # Without a code the API server would make it a bad request.
        self.denial: dict[str, Any] = {"code": 403, "reason": "Forbidden"}
        self.conversions = 0
        self.admissions = 0
        self._lock = threading.Lock()
        self._bundle = base64.b64encode(plane.authority.certificate_file.read_bytes()).decode()
        self._server = HttpsServer(plane, "webhooks", partial(_Call, self))

    def __enter__(self) -> Webhooks:
        return self

    def __exit__(self, *_exception: object) -> None:
        self.close()

    def close(self) -> None:
        self._server.close()

    def client_config(self, path: str) -> dict[str, str]:
        """How an API server is to call one of them."""
        return {"url": self._server.url + path, "caBundle": self._bundle}

    def convert(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """The response to a ConversionReview."""
        with self._lock:
            self.conversions += 1
        fault = self.conversion_fault
        if fault:
            return {"uid": request["uid"], "result": {"status": "Failure", "message": fault}}
        objects = [_converted(one, request["desiredAPIVersion"]) for one in request["objects"]]
        return {
            "uid": request["uid"],
            "convertedObjects": objects,
            "result": {"status": "Success"},
        }

    def admit(self, request: Mapping[str, Any]) -> dict[str, Any]:
        """The response to an AdmissionReview."""
        with self._lock:
            self.admissions += 1
        name = request.get("name", "")
        if request["operation"] != "UPDATE" or name not in self.denied:
            return {"uid": request["uid"], "allowed": True}
        message = f"lockstep lab: {name} may not be written"
        status = {**self.denial, "message": message}
        return {"uid": request["uid"], "allowed": False, "status": status}


class _Call(Exchange):
    """Calls of an API server."""

    def __init__(self, webhooks: Webhooks, *arguments: Any) -> None:
        self._responders = {"/convert": webhooks.convert, "/admit": webhooks.admit}
        super().__init__(*arguments)

    def do_POST(self) -> None:
        body = self.read_body()
        if body is None:
            return
        # API servers add a query with their timeout.
        respond = self._responders.get(self.path.partition("?")[0])
        if respond is None:
            self.send_error(404)
            return
        review = json.loads(body)
        kind = {"apiVersion": review["apiVersion"], "kind": review["kind"]}
        self.answer(200, {**kind, "response": respond(review["request"])})


def converted_crd(
    plural: str,
    group: str,
    webhooks: Webhooks,
    *,
    storage: str = "v1",
    namespaced: bool = False,
) -> dict[str, Any]:
    """A definition whose v1 has spec.size where its v2 has spec.dimensions.size."""
    definition = crd(plural, group, storage=storage, namespaced=namespaced)
    for version in definition["spec"]["versions"]:
        properties = {"spec": _SPECS[version["name"]]}
        version["schema"] = {"openAPIV3Schema": {"type": "object", "properties": properties}}
    definition["spec"]["conversion"] = {
        "strategy": "Webhook",
        "webhook": {
            "clientConfig": webhooks.client_config("/convert"),
            "conversionReviewVersions": ["v1"],
        },
    }
    return definition


def denying_configuration(name: str, webhooks: Webhooks, group: str, plural: str) -> dict[str, Any]:
    """Has every update of a resource asked for; one that cannot be asked for fails."""
    rule = {
        "operations": ["UPDATE"],
        "apiGroups": [group],
        "apiVersions": ["*"],
        "resources": [plural],
    }
    return {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": name},
        "webhooks": [
            {
                "name": f"{name}.lab.example.com",
                "clientConfig": webhooks.client_config("/admit"),
                "rules": [rule],
                "failurePolicy": "Fail",
                "sideEffects": "None",
                "admissionReviewVersions": ["v1"],
            }
        ],
    }


def _converted(document: Mapping[str, Any], desired: str) -> dict[str, Any]:
    """The same object in another version: the size moves, all else stays."""
    spec = dict(document.get("spec", {}))
    if desired.endswith("/v2") and "size" in spec:
        spec["dimensions"] = {"size": spec.pop("size")}
    elif desired.endswith("/v1") and "dimensions" in spec:
        spec.update(spec.pop("dimensions"))
    moved = {"spec": spec} if "spec" in document else {}
    return {**document, **moved, "apiVersion": desired}
