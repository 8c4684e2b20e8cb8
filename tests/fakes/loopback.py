"""The same provider on a real loopback socket, in real time: to record it, and to compare.

Only the world around the provider differs from the simulation: an asyncio loop in a thread of
its own gives the clock, transports give the endpoints. What cannot be done to a listening socket
(a lookup that fails, a refused connection) is not offered.
"""

from __future__ import annotations

import asyncio
import socket
import struct
import threading
from collections.abc import Callable, Mapping
from types import TracebackType
from typing import Any

from faultclock.fakes.provider.provider import FakeProvider
from faultclock.model.scenario.payload import ErrorPayload
from faultclock.model.scenario.provider_script import ProviderScript

#: Close with a reset instead of an end of stream (socket(7), SO_LINGER with a time of 0).
_LINGER_NONE = struct.pack("ii", 1, 0)


class _Kernel:
    """Real time since the start, and the facts."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._start_s = loop.time()
        self.facts: list[tuple[str, str, dict[str, Any]]] = []

    @property
    def now_ns(self) -> int:
        return int((self._loop.time() - self._start_s) * 1e9)

    def record(self, actor: str, kind: str, /, **payload: Any) -> int:
        self.facts.append((actor, kind, payload))
        return len(self.facts)

    def call_after(self, delay_ns: int, fn: Callable[..., None], *args: Any) -> asyncio.Handle:
        return self._loop.call_later(delay_ns / 1e9, fn, *args)


class _Endpoint(asyncio.Protocol):
    """A transport, as the provider sees an endpoint."""

    def __init__(self, number: int, call: str, service: Callable[[Any], None]) -> None:
        self.connection_id = f"c{number}"
        self.call_id = self.last_call_id = call
        self.rx = bytearray()
        self.eof = self.closed = False
        self.error: OSError | None = None
        self.sink: Any = None
        self._service = service
        self._transport: Any = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport
        self._service(self)

    def data_received(self, data: bytes) -> None:
        self.rx += data
        self.sink.on_readable()

    def eof_received(self) -> bool:
        self.eof = True
        self.sink.on_readable()
        return True

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.closed:
            self.error = exc if isinstance(exc, OSError) else ConnectionResetError()
            self.sink.on_readable()

    def send(self, data: bytes) -> int:
        self._transport.write(data)
        return len(data)

    def close(self) -> None:
        self.closed = True
        self._transport.close()

    def reset(self) -> None:
        self.closed = True
        sock = self._transport.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _LINGER_NONE)
        self._transport.abort()


class LoopbackProvider:
    """Serves a script on 127.0.0.1 between `with` and its end.

    Attributes:
        port: where it listens.
        kernel: its facts are the ledger.
        policy: set by the provider and not used.
    """

    policy: Any = None
    port: int
    kernel: _Kernel

    def __init__(
        self,
        script: ProviderScript,
        payloads: Mapping[str, ErrorPayload],
        seed: int = 0,
        call: str = "ask/1",
    ) -> None:
        self.provider = FakeProvider(script, payloads, seed)
        self._call = call
        self._connections = 0
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._main()))

    @property
    def network(self) -> LoopbackProvider:
        """What the provider mounts on."""
        return self

    @property
    def base_url(self) -> str:
        """What an OpenAI client is given."""
        return f"http://127.0.0.1:{self.port}/v1"

    def listen(self, host: None, port: None, service: Callable[[Any], None]) -> None:
        """Take the provider's service."""
        self._service = service

    def __enter__(self) -> LoopbackProvider:
        self._thread.start()
        self._ready.wait()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._loop.call_soon_threadsafe(self._stop.set)
        self._thread.join()

    async def _main(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._stop = asyncio.Event()
        self.kernel = _Kernel(self._loop)
        self.provider.mount(self)  # type: ignore[arg-type]  # as much of a World as it uses
        server = await self._loop.create_server(self._endpoint, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        self._ready.set()
        await self._stop.wait()
        server.close()

    def _endpoint(self) -> _Endpoint:
        self._connections += 1
        return _Endpoint(self._connections, self._call, self._service)
