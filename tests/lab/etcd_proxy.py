"""A proxy in front of etcd's JSON gateway that can damage what passes, as bad hardware would."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import urllib3

from .etcd import EtcdStore

Document = dict[str, Any]


class EtcdProxy:
    """Speaks plain HTTP on loopback. Use it as a context manager: leaving it ends it.

    `change_part` gets each part of a streamed answer with its number, and gives what to pass on;
    nothing breaks the connection off. `change_answer` gets each other answer with its path, and
    `change_bytes` the same as bytes, however they come about. Every byte of an answer takes
    `pause` seconds.
    """

    def __init__(
        self,
        store: EtcdStore,
        *,
        change_part: Callable[[int, Document], Document | None] | None = None,
        change_answer: Callable[[str, Document], Document] | None = None,
        change_bytes: Callable[[str, bytes], bytes] | None = None,
        pause: float = 0,
    ) -> None:
        self.backend = store.url
        self.change_part = change_part or (lambda _number, part: part)
        self.change_answer = change_answer or (lambda _path, document: document)
        self.change_bytes = change_bytes or (lambda _path, body: body)
        self.pause = pause
        self.pool = urllib3.PoolManager(
            ca_certs=str(store.ca),
            cert_file=str(store.certificate),
            key_file=str(store.key),
            retries=False,
        )
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Passage, self))
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def __enter__(self) -> EtcdProxy:
        return self

    def __exit__(self, *_exception: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self.pool.clear()


class _Passage(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def __init__(self, proxy: EtcdProxy, *arguments: Any) -> None:
        self._proxy = proxy
        super().__init__(*arguments)

    def do_GET(self) -> None:
        answer = self._proxy.pool.request("GET", self._proxy.backend + self.path)
        self._answer(answer.status, answer.data)

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        answer = self._proxy.pool.request(
            "POST", self._proxy.backend + self.path, body=body, preload_content=False
        )
        if answer.status == 200 and self.path == "/v3/maintenance/snapshot":
            self._stream(answer)
            return
        document = json.loads(answer.read())
        changed = self._proxy.change_answer(self.path, document)
        self._answer(answer.status, json.dumps(changed).encode())

    def _stream(self, answer: urllib3.BaseHTTPResponse) -> None:
        self.send_response(200)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for number, line in enumerate(answer):
            part = self._proxy.change_part(number, json.loads(line))
            if part is None:
                self.close_connection = True
                return
            text = json.dumps(part).encode() + b"\n"
            self._write(b"%x\r\n%b\r\n" % (len(text), text))
        self.wfile.write(b"0\r\n\r\n")

    def _answer(self, status: int, body: bytes) -> None:
        body = self._proxy.change_bytes(self.path, body)
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self._write(body)

    def _write(self, body: bytes) -> None:
        if not self._proxy.pause:
            self.wfile.write(body)
            return
        # Whoever waits for it may give up meanwhile.
        with suppress(OSError):
            for at in range(len(body)):
                self.wfile.write(body[at : at + 1])
                self.wfile.flush()
                time.sleep(self._proxy.pause)

    def log_message(self, *_arguments: object) -> None:
        """Tests look at results, not at logs."""
