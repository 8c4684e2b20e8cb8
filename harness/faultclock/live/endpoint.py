"""The provider's side of one real connection, as the provider knows it from the simulation.

What the client does is recorded when it is seen here, which is never before it did it; what the
client is sent, just before it goes out. So a wait between the two is never measured too short by
this. The scenario's latency is played on the way to the client: what is sent arrives that much
later, in order, with the end or the reset of the connection behind it.

Which call a connection belongs to is known with the first line of a request; what happened before
is recorded then, for its own time. A connection that was never used for anything is no fact.
"""

from __future__ import annotations

import asyncio
import errno
import os
import socket
import struct
from collections import deque
from typing import TYPE_CHECKING, Any, cast

from faultclock.fakes.provider.place import Waiting
from faultclock.model.duration import MILLISECOND_NS

if TYPE_CHECKING:
    from faultclock.live.server import LiveServer
    from faultclock.sim.net.endpoint import Sink

#: A first line that is longer is none: HTTP/1.1 asks for 8,000 octets (RFC 9112, section 3).
_LINE_BYTES_MAX = 16 * 1024
_CONTINUE = b"HTTP/1.1 100"
#: How long to wait for the system to take what was written, before the connection is reset.
_DRAIN_NS = MILLISECOND_NS
#: SO_LINGER, on and of no length: to close is to reset (socket(7)).
_NO_LINGER = struct.pack("ii", 1, 0)


class LiveEndpoint(asyncio.Protocol):
    """One accepted connection. See `fakes.place.ServerSide` for what the provider uses.

    Attributes:
        connection_id: "c1", "c2"... in the order in which they were accepted.
        last_call_id: the call of the request that is being read or answered.
        rx: bytes that arrived and were not read.
        eof: the client has closed.
        closed: this side has closed or reset.
        sink: called when there is something to read.
    """

    def __init__(self, server: LiveServer) -> None:
        self._server = server
        self._kernel = server.kernel
        self.connection_id = ""
        self.last_call_id: str | None = None
        self.rx = bytearray()
        self.eof = False
        self.closed = False
        self.sink: Sink | None = None
        self._transport: asyncio.Transport | None = None
        self._accepted_ns = 0
        self._told = False
        self._lost = False
        #: Whether the next bytes begin a request, and what of its first line is there.
        self._begins = True
        self._head = bytearray()
        self._arrivals: list[tuple[int, int]] = []
        #: What is on its way to the client: when it arrives, what it is, its bytes.
        self._way: deque[tuple[int, str, bytes]] = deque()
        self._timer: Waiting | None = None

    @property
    def error(self) -> OSError | None:
        """The loss of the connection, or None."""
        return _os_error(errno.ECONNRESET) if self._lost else None

    # ------------------------------------------------------------------ for asyncio

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take the connection that was accepted."""
        self._transport = cast("asyncio.Transport", transport)
        self._accepted_ns = self._kernel.now_ns
        self.connection_id = self._server.opened(self)

    def data_received(self, data: bytes) -> None:
        """Take bytes of the client."""
        if self.closed:
            return
        self._arrivals.append((self._kernel.now_ns, len(data)))
        if self._begins:
            self._head += data
            routed = self._server.routes.of_head(bytes(self._head))
            if routed is not None:
                self.last_call_id = routed.call
            elif _may_be_line(self._head):
                return
            elif not self._told:
                self.last_call_id = self._server.routes.calls[0]
            data = bytes(self._head)
            self._head.clear()
            self._begins = False
        self._tell_arrivals()
        self.rx += data
        self._notify()

    def eof_received(self) -> None:
        """Note that the client has closed its side: no client of an API waits after that."""
        self._gone("close")

    def connection_lost(self, exc: Exception | None) -> None:
        """Note that the connection is no more."""
        if not (self.closed or self.eof):
            self._lost = True
            self._gone("abort" if exc is not None else "close")
        self.closed = True
        self._drop_way()
        self._server.gone(self)

    # ------------------------------------------------------------------ for the provider

    def send(self, data: bytes) -> int:
        """Send `data` to the client and return its length.

        Raises:
            OSError: the client has gone, or this side has closed.
        """
        if self.closed or self.eof or self._lost:
            raise _os_error(errno.EPIPE)
        # After `100 Continue` the rest of the same request is to come.
        self._begins = self._begins or not data.startswith(_CONTINUE)
        if data:
            self._put("data", bytes(data))
        return len(data)

    def close(self) -> None:
        """End the connection properly, after what was sent before."""
        self._end("eof")

    def reset(self) -> None:
        """End the connection by a reset, after what was sent before."""
        self._end("reset")

    def abandon(self) -> None:
        """Drop the connection because the server has ended; that is no fact of the run."""
        self.closed = True
        self._drop_way()
        if self._transport is not None:
            self._transport.abort()

    # ------------------------------------------------------------------ what the client does

    def _tell_arrivals(self) -> None:
        if not self._told:
            self._told = True
            self._server.begin_call(self.last_call_id, self._accepted_ns)
            self._fact_at(self._accepted_ns, "net.connect", **self._server.place)
            self._fact_at(self._accepted_ns, "net.connected")
        else:
            self._server.begin_call(self.last_call_id, self._arrivals[0][0])
        for at_ns, bytes_count in self._arrivals:
            self._fact_at(at_ns, "net.sent", bytes_count=bytes_count)
        self._arrivals.clear()

    def _gone(self, how: str) -> None:
        """Note that the client has closed or reset its side."""
        if self.eof:
            return
        self.eof = True
        if self.closed:
            return
        if self._told:
            self._fact("net.closed", how=how)
        self._drop_way()
        self._notify()
        if not self.closed:
            self.close()

    def _notify(self) -> None:
        if self.sink is not None:
            self.sink.on_readable()

    # ------------------------------------------------------------------ on the way to the client

    def _end(self, how: str) -> None:
        if self.closed:
            return
        self.closed = True
        if self.eof or self._lost:
            # There is no reader for it any more.
            if self._transport is not None:
                self._transport.close()
            return
        self._put(how, b"")

    def _put(self, what: str, data: bytes) -> None:
        self._way.append((self._kernel.now_ns + self._server.latency_ns, what, data))
        if self._timer is None:
            self._timer = self._kernel.call_after(self._server.latency_ns, self._arrive)

    def _arrive(self) -> None:
        """Hand over what is due by now, and come again for the rest."""
        self._timer = None
        transport = self._transport
        assert transport is not None, "what is not connected has sent nothing"
        while self._way:
            due_ns, what, data = self._way[0]
            wait_ns = due_ns - self._kernel.now_ns
            if what == "reset" and wait_ns <= 0 and transport.get_write_buffer_size():
                wait_ns = _DRAIN_NS
            if wait_ns > 0:
                self._timer = self._kernel.call_after(wait_ns, self._arrive)
                return
            self._way.popleft()
            match what:
                case "data":
                    self._fact("net.delivered", bytes_count=len(data))
                    transport.write(data)
                case "eof":
                    self._fact("net.eof")
                    transport.close()
                case _:
                    self._fact("net.reset")
                    _reset(transport)

    def _drop_way(self) -> None:
        self._way.clear()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    # ------------------------------------------------------------------ the ledger

    def _fact(self, kind: str, **payload: Any) -> None:
        self._fact_at(self._kernel.now_ns, kind, **payload)

    def _fact_at(self, at_ns: int, kind: str, **payload: Any) -> None:
        self._kernel.record_at(
            at_ns,
            "network",
            kind,
            connection=self.connection_id,
            call=self.last_call_id,
            **payload,
        )


def _may_be_line(head: bytearray) -> bool:
    """Return whether more bytes could make a request line of `head`."""
    return len(head) < _LINE_BYTES_MAX and head.decode("latin-1").isprintable() and head.isascii()


def _reset(transport: asyncio.Transport) -> None:
    connected = transport.get_extra_info("socket")
    if connected is not None:
        connected.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _NO_LINGER)
    transport.abort()


def _os_error(code: int) -> OSError:
    return OSError(code, os.strerror(code))
