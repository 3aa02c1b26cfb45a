"""A TCP load balancer, round robin, as real clusters have in front of their API servers."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence

from .namespaces import join_port

Backend = tuple[str, int]


class LoadBalancer:
    """Passes each new connection to the next server that accepts it; TLS goes through untouched."""

    def __init__(self, address: str, port: int, backends: Callable[[], Sequence[Backend]]) -> None:
        self.address, self.port = address, port
        self._backends = backends
        self._turn = 0
        self._loop = asyncio.new_event_loop()
        self._tasks: set[asyncio.Task[None]] = set()
        self._server = self._loop.run_until_complete(
            asyncio.start_server(self._accept, address, port)
        )
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"https://{join_port(self.address, self.port)}"

    def close(self) -> None:
        """Stop taking connections, and drop those that are open."""

        async def shut() -> None:
            self._server.close()
            for task in list(self._tasks):
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

        asyncio.run_coroutine_threadsafe(shut(), self._loop).result(5)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(5)
        self._loop.close()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            backend = await self._connect()
            if backend:
                backend_reader, backend_writer = backend
                try:
                    await asyncio.gather(
                        _copy(reader, backend_writer), _copy(backend_reader, writer)
                    )
                finally:
                    backend_writer.close()
        except asyncio.CancelledError:
            # Only close() cancels, and it has no use for the outcome.
            pass
        finally:
            writer.close()
            self._tasks.discard(task)

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter] | None:
        backends = list(self._backends())
        for _attempt in backends:
            self._turn += 1
            host, port = backends[self._turn % len(backends)]
            try:
                return await asyncio.wait_for(asyncio.open_connection(host, port), 2)
            except (TimeoutError, OSError):
                continue
        return None


async def _copy(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
        if writer.can_write_eof():
            writer.write_eof()
    except OSError:
        writer.close()
