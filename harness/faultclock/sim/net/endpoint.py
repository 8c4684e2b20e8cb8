"""One side of a simulated TCP connection: bytes, end of stream, reset, with latency and FIFO.

An endpoint is what a service holds to talk to the subject, and what the subject's socket or
transport stands on. It follows Linux: bytes that arrived before a reset stay readable, an end
of stream hides a later reset from the reader, a write to a side that has closed provokes a
reset. It never blocks and never calls into a client: sinks only enqueue or wake.

Not modelled: windows and backpressure (a write never blocks), retransmission, urgent data.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from faultclock.sim.kernel.context import current_call
from faultclock.sim.kernel.escapes import refuse

if TYPE_CHECKING:
    from faultclock.sim.kernel.kernel import Kernel
    from faultclock.sim.net.network import Network

#: What `getpeername` answers: (host, port), or (host, port, flow, scope) for IPv6.
Address = tuple[str, int] | tuple[str, int, int, int]


class Sink(Protocol):
    """Whoever wants to know that an endpoint has something to read."""

    def on_readable(self) -> None:
        """Note that bytes, end of stream or a reset arrived. Must only enqueue or wake."""
        ...


class Endpoint:
    """One side of a connection. Made in pairs by `link`.

    Attributes:
        connection_id: "c1", "c2"... in the order in which connecting began; both sides share it.
        is_subject: True on the side that opened the connection; only its facts are recorded.
        hostname: the name that the client asked for (the address, if it gave one).
        peer: the other side.
        rx: bytes that arrived and were not read; the reader deletes what it takes.
        eof: the peer will send nothing more.
        error: the reset that hit this side, or None. It stays set once it happened.
        closed: this side closed or reset; it can neither read nor write.
        call_id: the call that opened the connection.
        last_call_id: the call of the subject's most recent write (on the far side: the most
            recent write that has arrived).
        sink: told when there is something to read; may be None.
        opened_at: `module:line` that opened it, where no fact is recorded of it; empty: each is.
    """

    __slots__ = (
        "_deaf",
        "_fin_sent",
        "_last_arrival_ns",
        "_network",
        "_reset_errno",
        "_reset_noticed",
        "call_id",
        "closed",
        "connection_id",
        "eof",
        "hostname",
        "is_subject",
        "kernel",
        "last_call_id",
        "local_address",
        "opened_at",
        "peer",
        "remote_address",
        "rx",
        "sink",
    )

    peer: Endpoint

    def __init__(
        self,
        network: Network,
        *,
        connection_id: str,
        is_subject: bool,
        hostname: str,
        local_address: Address,
        remote_address: Address,
        call_id: str | None,
        opened_at: str = "",
    ) -> None:
        self._network = network
        self.opened_at = opened_at
        self.kernel: Kernel = network.kernel
        self.connection_id = connection_id
        self.is_subject = is_subject
        self.hostname = hostname
        self.local_address = local_address
        self.remote_address = remote_address
        self.call_id = call_id
        self.last_call_id = call_id
        self.rx = bytearray()
        self.eof = False
        self.closed = False
        self.sink: Sink | None = None
        self._fin_sent = False
        self._deaf = False
        self._last_arrival_ns = 0
        self._reset_errno = 0
        self._reset_noticed = False

    def __repr__(self) -> str:
        side = "client" if self.is_subject else "server"
        return f"<Endpoint {self.connection_id} {side} of {self.hostname}>"

    @property
    def lane(self) -> str:
        """What arrives here keeps its order: the name of that order."""
        return f"{self.connection_id}/{'client' if self.is_subject else 'server'}"

    @property
    def error(self) -> OSError | None:
        """The reset that hit this side, as a new exception, or None."""
        return _os_error(self._reset_errno) if self._reset_errno else None

    @property
    def readable(self) -> bool:
        """Whether a read would return at once: bytes, end of stream or a reset."""
        return bool(self.rx) or self.eof or self._reset_errno != 0

    # ------------------------------------------------------------------ what the owner does

    def send(self, data: bytes | bytearray | memoryview) -> int:
        """Send `data` to the peer and return its length.

        Raises:
            OSError: the connection was reset, or this side closed or ended its stream.
            SimEscape: its world is over.
        """
        if self.kernel.ending is not None:
            refuse(f"{self!r}, which belongs to a world that is over,")
        if self.closed:
            raise _os_error(errno.EBADF)
        if self._reset_errno:
            raise self._notice_reset(errno.EPIPE)
        if self._fin_sent:
            raise _os_error(errno.EPIPE)
        payload = bytes(data)
        if not payload:
            return 0
        if self.is_subject:
            call = self.last_call_id = current_call()
            self._record("net.sent", call, bytes_count=len(payload))
            self._transmit(self.peer._on_request_bytes, payload, call)
        else:
            self._transmit(self.peer._on_data, payload, self.kernel.now_ns)
        return len(payload)

    def read(self, limit: int) -> bytes | None:
        """Take at most `limit` bytes; b"" is the end of the stream, None means nothing yet.

        Raises:
            OSError: the connection was reset. It is told once; later reads return b"".
        """
        if self.rx:
            data = bytes(self.rx[:limit])
            del self.rx[:limit]
            return data
        if self.eof or self._deaf:
            return b""
        if self._reset_errno:
            if self._reset_noticed:
                return b""
            raise self._notice_reset(self._reset_errno)
        return None

    def send_eof(self) -> None:
        """End our stream (FIN) and go on reading."""
        if not (self._fin_sent or self.closed or self._reset_errno or self.kernel.ending):
            self._fin_sent = True
            self._transmit(self.peer._on_eof)

    def stop_reading(self) -> None:
        """Pretend the peer ended its stream (SHUT_RD)."""
        self._deaf = self.eof = True
        self._notify()

    def close(self, how: str = "close") -> None:
        """Close this side: FIN, or a reset where a subject leaves bytes unread, as Linux does.

        Args:
            how: "close" or "abort", which the trace repeats for the subject's side.
        """
        if self.closed or self.kernel.ending is not None:
            return
        if self.is_subject and self.rx:
            self._close(how, self.peer._on_reset)
        elif self._fin_sent:
            self._close(how, None)
        else:
            self._fin_sent = True
            self._close(how, self.peer._on_eof)

    def reset(self) -> None:
        """Close this side with a reset (RST); the peer sees it after what was sent before."""
        if not self.closed and self.kernel.ending is None:
            self._close("abort", self.peer._on_reset)

    # ------------------------------------------------------------------ what the network does

    def _close(self, how: str, tell_peer: Callable[[], None] | None) -> None:
        self.closed = True
        self.rx.clear()
        if self.is_subject:
            self._record("net.closed", current_call(), how=how)
        if tell_peer is not None and not self._reset_errno:
            self._transmit(tell_peer)

    def _transmit(self, deliver: Callable[..., None], *args: object) -> None:
        """Let `deliver(*args)` happen one latency from now, never before what was sent earlier."""
        at_ns = self.kernel.now_ns + self._network.one_way_ns(self.peer.lane)
        self._last_arrival_ns = at_ns = max(at_ns, self._last_arrival_ns)
        self.kernel.call_at(at_ns, deliver, *args)

    def _on_request_bytes(self, data: bytes, call: str | None) -> None:
        self.last_call_id = call
        self._on_data(data)

    def _on_data(self, data: bytes, sent_ns: int = 0) -> None:
        if self.closed or self._reset_errno:
            # Whoever sends to a closed socket is answered with a reset (RFC 9293, 3.10.7.1).
            self._transmit(self.peer._on_reset)
            return
        if self.is_subject:
            # Where each delivery takes as long as the next one, its own time says this, too.
            told = {"sent_ns": sent_ns} if self._network.jitter_ns else {}
            self._record("net.delivered", self.last_call_id, bytes_count=len(data), **told)
        if not self._deaf:
            self.rx += data
            self._notify()

    def _on_eof(self) -> None:
        if self.closed or self.eof or self._reset_errno:
            return
        self.eof = True
        if self.is_subject:
            self._record("net.eof", self.last_call_id)
        self._notify()

    def _on_reset(self) -> None:
        if self.closed or self._reset_errno:
            return
        # Linux reports a reset that follows an end of stream as EPIPE (tcp_reset, CLOSE_WAIT).
        self._reset_errno = errno.EPIPE if self.eof else errno.ECONNRESET
        if self.is_subject:
            self._record("net.reset", self.last_call_id)
        self._notify()

    def _record(self, kind: str, call: str | None, **payload: int | str) -> None:
        if not self.opened_at:
            self.kernel.record("network", kind, connection=self.connection_id, call=call, **payload)

    def _notify(self) -> None:
        if self.sink is not None:
            self.sink.on_readable()

    def _notice_reset(self, later_errno: int) -> OSError:
        """Return what this operation raises: the reset itself once, then `later_errno`."""
        code = later_errno if self._reset_noticed else self._reset_errno
        self._reset_noticed = True
        return _os_error(code)


def link(one: Endpoint, other: Endpoint) -> None:
    """Make two endpoints each other's peer."""
    one.peer = other
    other.peer = one


def _os_error(code: int) -> OSError:
    return OSError(code, os.strerror(code))
