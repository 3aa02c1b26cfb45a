"""A KMS plugin of an API server: it tells under which key it encrypts, and keeps nothing secret."""

from __future__ import annotations

from collections.abc import Callable
from concurrent import futures
from pathlib import Path
from types import TracebackType

import grpc

from . import binaries

_SERVICE = "v2.KeyManagementService"
_SOCKET = "kms.sock"


class KmsPlugin:
    """The plugin of one server. Use it as a context manager.

    All servers have the very same file: it names a socket in their working directory, and each has
    one of its own.
    """

    def __init__(self, directory: Path, key: str) -> None:
        self._directory, self._key = directory, key
        directory.mkdir()
        self._server = grpc.server(futures.ThreadPoolExecutor(2))
        methods = {"Status": self._status, "Encrypt": self._encrypt, "Decrypt": self._decrypt}
        handlers = {name: _handler(method) for name, method in methods.items()}
        self._server.add_generic_rpc_handlers(
            (grpc.method_handlers_generic_handler(_SERVICE, handlers),)
        )
        self._server.add_insecure_port(f"unix://{directory / _SOCKET}")

    def __enter__(self) -> KmsPlugin:
        self._server.start()
        return self

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        self._server.stop(None)

    @staticmethod
    def provider() -> dict[str, object]:
        """What an EncryptionConfiguration says of it."""
        endpoint = f"unix:///proc/self/cwd/{_SOCKET}"
        return {"kms": {"apiVersion": "v2", "name": "lab", "endpoint": endpoint}}

    def program(self) -> str:
        """A kube-apiserver that runs beside it."""
        release = binaries.DEFAULT_RELEASE
        real = binaries.find(binaries.kubernetes("kube-apiserver", release))
        script = self._directory / "kube-apiserver"
        script.write_text(f'#!/bin/sh\ncd "{self._directory}" && exec "{real}" "$@"\n')
        script.chmod(0o700)
        return str(script)

    def _status(self, _request: bytes) -> bytes:
        return _field(1, b"v2") + _field(2, b"ok") + _field(3, self._key.encode())

    def _encrypt(self, request: bytes) -> bytes:
        return _field(1, _first_field(request)) + _field(2, self._key.encode())

    def _decrypt(self, request: bytes) -> bytes:
        return _field(1, _first_field(request))


def _handler(method: Callable[[bytes], bytes]) -> grpc.RpcMethodHandler:
    return grpc.unary_unary_rpc_method_handler(lambda request, _context: method(request))


def _field(number: int, value: bytes) -> bytes:
    """One field of a protobuf message; all that is sent here is short."""
    assert len(value) < 128
    return bytes([number << 3 | 2, len(value)]) + value


def _first_field(message: bytes) -> bytes:
    assert message[0] == 1 << 3 | 2
    return message[2 : 2 + message[1]]
