"""The asyncio server object of a listener inside the world."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable, Sequence
from functools import partial
from ssl import SSLContext

from faultclock.sim.net.sockets import SimSocket
from faultclock.sim.net.stream_transport import SimTransport


class SimServer(asyncio.AbstractServer):
    """Accepts connections on its sockets and makes a protocol for each.

    Args:
        loop: where the protocols run.
        sockets: bound, not yet listening.
        protocol_factory: called once a connection.
        context: set to look like TLS.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        sockets: Sequence[SimSocket],
        protocol_factory: Callable[[], asyncio.BaseProtocol],
        context: SSLContext | None,
    ) -> None:
        self._loop = loop
        self._sockets = tuple(sockets)
        self._protocol_factory = protocol_factory
        self._context = context
        self._contextvars = contextvars.copy_context()
        self._serving = False
        self._closed = False
        self._transports: dict[SimTransport, None] = {}
        self._waiters: list[asyncio.Future[None]] = []
        self._forever: asyncio.Future[None] | None = None

    @property
    def sockets(self) -> tuple[SimSocket, ...]:
        """What it listens on; empty once closed."""
        return () if self._closed else self._sockets

    def get_loop(self) -> asyncio.AbstractEventLoop:
        """Return where the protocols run."""
        return self._loop

    def is_serving(self) -> bool:
        """Return whether it accepts connections."""
        return self._serving

    async def start_serving(self) -> None:
        """Accept connections from now on; nothing happens when it does already."""
        self.begin()

    def begin(self) -> None:
        """Accept connections from now on."""
        if self._serving or self._closed:
            return
        self._serving = True
        for sock in self._sockets:
            sock.listen()
            sock.watchers.hooks[self] = partial(self._on_incoming, sock)

    async def serve_forever(self) -> None:
        """Accept connections until cancelled or closed.

        Raises:
            RuntimeError: it is closed, or serves for ever already.
        """
        if self._forever is not None:
            raise RuntimeError(f"server {self!r} is already being awaited on serve_forever()")
        if self._closed:
            raise RuntimeError(f"server {self!r} is closed")
        self.begin()
        self._forever = self._loop.create_future()
        try:
            await self._forever
        except asyncio.CancelledError:
            self.close()
            raise
        finally:
            self._forever = None

    def close(self) -> None:
        """Stop accepting; connections that stand go on."""
        if self._closed:
            return
        self._closed = True
        self._serving = False
        for sock in self._sockets:
            sock.watchers.hooks.pop(self, None)
            sock.close()
        if self._forever is not None and not self._forever.done():
            self._forever.cancel()
        self._wake_if_idle()

    def close_clients(self) -> None:
        """Close every connection that stands."""
        for transport in tuple(self._transports):
            transport.close()

    def abort_clients(self) -> None:
        """Abort every connection that stands."""
        for transport in tuple(self._transports):
            transport.abort()

    async def wait_closed(self) -> None:
        """Wait until it is closed and the last connection has ended."""
        if self._closed and not self._transports:
            return
        waiter: asyncio.Future[None] = self._loop.create_future()
        self._waiters.append(waiter)
        await waiter

    def _on_incoming(self, sock: SimSocket) -> None:
        # Called by the network on whichever thread steps the world: only enqueue, and in our
        # own context, so that no call of somebody else is taken for this server's.
        self._loop.call_soon(self._accept, sock, context=self._contextvars)

    def _accept(self, sock: SimSocket) -> None:
        while not self._closed and sock.readiness():
            accepted, _ = sock.accept()
            assert isinstance(accepted, SimSocket)
            accepted.setblocking(False)
            transport = SimTransport(self._loop, accepted, self._protocol_factory(), self._on_lost)
            if self._context is not None:
                transport.use_tls(self._context, server_side=True, server_hostname=None)
            self._transports[transport] = None
            transport.begin()

    def _on_lost(self, transport: SimTransport) -> None:
        self._transports.pop(transport, None)
        self._wake_if_idle()

    def _wake_if_idle(self) -> None:
        if self._closed and not self._transports:
            for waiter in self._waiters:
                if not waiter.done():
                    waiter.set_result(None)
            self._waiters.clear()
