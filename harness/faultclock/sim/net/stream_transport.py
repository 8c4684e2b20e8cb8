"""The asyncio transport of a simulated connection.

It follows the selector transport of the standard library: reads when the loop comes round,
stops while paused, tells `eof_received`, then `connection_lost`. Writes go out at once, because
the simulated network has no backpressure. With TLS it passes bytes through unchanged.
"""

from __future__ import annotations

import asyncio
import contextvars
import ssl
from collections.abc import Callable, Iterable
from typing import Any

from faultclock.sim.net.endpoint import Endpoint
from faultclock.sim.net.sockets import SimSocket
from faultclock.sim.net.tls import CIPHER, PlainSSLObject

#: How much one read takes, as the standard library's selector transport does.
_READ_LIMIT = 256 * 1024


class SimTransport(asyncio.Transport):
    """Carries bytes between a protocol and an endpoint.

    Args:
        loop: where the protocol's callbacks run.
        sock: the socket whose connection it takes over.
        protocol: whom it serves; `connection_made` is the caller's to schedule.
        on_lost: called once, after `connection_lost`.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        sock: SimSocket,
        protocol: asyncio.BaseProtocol,
        on_lost: Callable[[SimTransport], None] | None = None,
    ) -> None:
        endpoint = sock.endpoint
        assert endpoint is not None
        super().__init__()
        self._info: dict[str, Any] = {
            "socket": sock,
            "sockname": endpoint.local_address,
            "peername": endpoint.remote_address,
        }
        self._loop = loop
        self._sock = sock
        self._endpoint = endpoint
        self._on_lost = on_lost
        # Bytes arrive in the context in which the connection was made, as with add_reader.
        self._context = contextvars.copy_context()
        self._paused = False
        self._closing = False
        self._lost = False
        self._eof_told = False
        self._read_due = False
        self.set_protocol(protocol)
        endpoint.sink = self

    def __repr__(self) -> str:
        state = "closing" if self._closing else "open"
        return f"<SimTransport {state} {self._endpoint}>"

    @property
    def endpoint(self) -> Endpoint:
        """Our side of the connection."""
        return self._endpoint

    def begin(self, made: Callable[[], None] | None = None) -> None:
        """Schedule `connection_made`, then reading, then `made`, in the order asyncio has."""
        self._loop.call_soon(self._protocol.connection_made, self, context=self._context)
        self._loop.call_soon(self.on_readable, context=self._context)
        if made is not None:
            self._loop.call_soon(made, context=self._context)

    def use_tls(
        self, context: ssl.SSLContext | bool, *, server_side: bool, server_hostname: str | None
    ) -> None:
        """Look like TLS from now on."""
        if isinstance(context, bool):
            context = ssl.create_default_context()
        ssl_object = PlainSSLObject(
            context, None, None, server_side=server_side, server_hostname=server_hostname
        )
        self._info.update(
            ssl_object=ssl_object,
            sslcontext=context,
            peercert=ssl_object.getpeercert(),
            cipher=CIPHER,
            compression=None,
        )

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        """Return what is known of the connection under the standard library's names."""
        return self._info.get(name, default)

    # ------------------------------------------------------------------ reading

    def set_protocol(self, protocol: asyncio.BaseProtocol) -> None:
        """Serve another protocol from now on."""
        self._protocol = protocol
        self._buffered = isinstance(protocol, asyncio.BufferedProtocol)

    def get_protocol(self) -> asyncio.BaseProtocol:
        """Return whom it serves."""
        return self._protocol

    def is_reading(self) -> bool:
        """Return whether bytes that arrive are passed on."""
        return not self._paused and not self._closing

    def pause_reading(self) -> None:
        """Leave what arrives in the socket's buffer."""
        self._paused = True

    def resume_reading(self) -> None:
        """Pass on what arrived and what will arrive."""
        if self._paused:
            self._paused = False
            self.on_readable()

    def on_readable(self) -> None:
        """Read when the loop comes round. Called by the network: it only enqueues."""
        self._sock.watchers.on_readable()
        if not (self._read_due or self._paused or self._closing) and self._endpoint.readable:
            self._read_due = True
            self._loop.call_soon(self._read_ready, context=self._context)

    def _read_ready(self) -> None:
        self._read_due = False
        if self._paused or self._closing or self._eof_told:
            return
        try:
            data = self._endpoint.read(_READ_LIMIT)
        except OSError as error:
            self._end("abort", error)
            return
        if data is None:
            return
        if data:
            self._pass_on(data)
            self.on_readable()
            return
        self._eof_told = True
        keep_open = self._protocol.eof_received()  # type: ignore[attr-defined]
        # A TLS connection cannot stay half open, whatever the protocol wishes.
        if not keep_open or "ssl_object" in self._info:
            self.close()

    def _pass_on(self, data: bytes) -> None:
        protocol: Any = self._protocol
        if not self._buffered:
            protocol.data_received(data)
            return
        while data and not self._closing:
            buffer = memoryview(protocol.get_buffer(len(data))).cast("B")
            count = min(len(buffer), len(data))
            buffer[:count] = data[:count]
            data = data[count:]
            protocol.buffer_updated(count)

    # ------------------------------------------------------------------ writing

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Send `data` at once; a reset that it meets is told by `connection_lost`."""
        if not isinstance(data, bytes | bytearray | memoryview):
            raise TypeError(
                f"data argument must be a bytes-like object, not {type(data).__name__!r}"
            )
        if self._closing or not data:
            return
        try:
            self._endpoint.send(data)
        except OSError as error:
            self._end("abort", error)

    def writelines(self, list_of_data: Iterable[Any]) -> None:
        """Send all of it as one write."""
        self.write(b"".join(list_of_data))

    def can_write_eof(self) -> bool:
        """Return whether the stream can be half closed: not with TLS."""
        return "ssl_object" not in self._info

    def write_eof(self) -> None:
        """End our stream and go on reading.

        Raises:
            NotImplementedError: TLS cannot be half closed.
        """
        if not self.can_write_eof():
            raise NotImplementedError
        if not self._closing:
            self._endpoint.send_eof()

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """Ignore the wish: nothing is ever buffered."""

    def get_write_buffer_limits(self) -> tuple[int, int]:
        """Return (low, high) as the standard library sets them at first."""
        return (16 * 1024, 64 * 1024)

    def get_write_buffer_size(self) -> int:
        """Return 0: nothing is ever buffered."""
        return 0

    # ------------------------------------------------------------------ ending

    def is_closing(self) -> bool:
        """Return whether it was closed or lost."""
        return self._closing

    def close(self) -> None:
        """Close the connection; `connection_lost(None)` follows."""
        self._end("close", None)

    def abort(self) -> None:
        """Close the connection at once; `connection_lost(None)` follows."""
        self._end("abort", None)

    def _end(self, how: str, error: OSError | None) -> None:
        if self._closing:
            return
        self._closing = True
        self._sock.release(how)
        # In a world that is over nothing runs any more; its loop may be closed already.
        if self._endpoint.kernel.ending is None:
            self._loop.call_soon(self._tell_lost, error, context=self._context)

    def _tell_lost(self, error: OSError | None) -> None:
        if self._lost:
            return
        self._lost = True
        self._protocol.connection_lost(error)
        if self._on_lost is not None:
            self._on_lost(self)
