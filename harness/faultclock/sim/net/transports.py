"""What an asyncio loop inside the world can do with the network.

Mixed into SimLoop. Whatever is not here (datagrams, pipes, UNIX sockets, subprocesses) the
loop itself refuses by name.
"""

from __future__ import annotations

import asyncio
import contextvars
import select
import socket
import ssl as ssl_module
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from faultclock.sim.kernel.escapes import refuse
from faultclock.sim.net.lookup import AddressInfo, query
from faultclock.sim.net.network import current_network
from faultclock.sim.net.servers import SimServer
from faultclock.sim.net.sockets import SimSocket
from faultclock.sim.net.stream_transport import SimTransport

if TYPE_CHECKING:
    _Base = asyncio.BaseEventLoop
else:
    _Base = object

ProtocolFactory = Callable[[], asyncio.BaseProtocol]
Context = ssl_module.SSLContext | bool | None


class _Watch:
    """One `add_reader` or `add_writer`: calls back in each round while the socket is ready."""

    __slots__ = ("_args", "_callback", "_context", "_due", "_loop", "_mask", "_sock")

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        sock: SimSocket,
        mask: int,
        callback: Callable[..., object],
        args: tuple[Any, ...],
    ) -> None:
        self._loop = loop
        self._sock = sock
        self._mask = mask
        self._callback = callback
        self._args = args
        self._context = contextvars.copy_context()
        self._due = False
        sock.watchers.hooks[self] = self.look
        self.look()

    def look(self) -> None:
        """Schedule the callback if the socket is ready."""
        if not self._due and self._sock.readiness() & self._mask:
            self._due = True
            self._loop.call_soon(self._run, context=self._context)

    def cancel(self) -> None:
        """Never call back again."""
        self._sock.watchers.hooks.pop(self, None)

    def _run(self) -> None:
        self._due = False
        if self in self._sock.watchers.hooks:
            try:
                self._callback(*self._args)
            finally:
                if self in self._sock.watchers.hooks:
                    self.look()


class NetworkLoopMixin(_Base):
    """Name lookups, connections, servers and socket calls of a simulated loop."""

    _watches: dict[tuple[int, str], _Watch]

    # ------------------------------------------------------------------ names

    async def getaddrinfo(  # type: ignore[override]
        self,
        host: str | bytes | None,
        port: Any,
        *,
        family: int = 0,
        type: int = 0,
        proto: int = 0,
        flags: int = 0,
    ) -> list[AddressInfo]:
        """Look a name up in the simulated network."""
        asked = query(host, port, family, type, flags)
        return asked.answer(await self._resolve(asked.host, asked.port))

    async def getnameinfo(self, sockaddr: Any, flags: int = 0) -> tuple[str, str]:
        """Return the name that an address was handed out for, and the port."""
        return current_network().name_of(sockaddr[0]), str(sockaddr[1])

    async def _resolve(self, host: str, port: int) -> str:
        network = current_network()
        fate = network.begin_resolve(host, port)
        if fate.delay_ns:
            answered = self.create_future()
            call = network.kernel.call_after(fate.delay_ns, _settle, answered)
            try:
                await answered
            finally:
                call.cancel()
        return network.end_resolve(host, fate)

    # ------------------------------------------------------------------ connections

    async def create_connection(  # type: ignore[override]
        self,
        protocol_factory: ProtocolFactory,
        host: str | bytes | None = None,
        port: Any = None,
        *,
        ssl: Context = None,
        family: int = 0,
        proto: int = 0,
        flags: int = 0,
        sock: socket.socket | None = None,
        local_addr: Any = None,
        server_hostname: str | None = None,
        **_timing: Any,
    ) -> tuple[SimTransport, asyncio.BaseProtocol]:
        """Connect, or take over a connected socket, and serve a protocol on it.

        TLS timeouts and happy-eyeballs settings are ignored: a handshake takes no time and
        every name has one address.
        """
        if server_hostname is not None and not ssl:
            raise ValueError("server_hostname is only meaningful with ssl")
        if ssl and server_hostname is None:
            if not host:
                raise ValueError("You must set server_hostname when using ssl without a host")
            server_hostname = host.decode("ascii") if isinstance(host, bytes) else host
        if sock is not None:
            if host is not None or port is not None:
                raise ValueError("host/port and sock can not be specified at the same time")
            return await self._serve(_simulated(sock), protocol_factory, ssl, server_hostname)
        if host is None and port is None:
            raise ValueError("host and port was not specified and no sock specified")
        connecting = SimSocket(family)
        try:
            connecting.setblocking(False)
            if local_addr is not None:
                connecting.bind(local_addr)
            infos = await self.getaddrinfo(host, port, family=family, flags=flags)
            await self.sock_connect(connecting, infos[0][4])
        except BaseException:
            connecting.close()
            raise
        return await self._serve(connecting, protocol_factory, ssl, server_hostname)

    async def connect_accepted_socket(  # type: ignore[override]
        self,
        protocol_factory: ProtocolFactory,
        sock: socket.socket,
        *,
        ssl: Context = None,
        **_timing: Any,
    ) -> tuple[SimTransport, asyncio.BaseProtocol]:
        """Serve a protocol on a socket that `accept` returned."""
        return await self._serve(_simulated(sock), protocol_factory, ssl, None, server_side=True)

    async def _serve(
        self,
        sock: SimSocket,
        protocol_factory: ProtocolFactory,
        context: Context,
        server_hostname: str | None,
        *,
        server_side: bool = False,
    ) -> tuple[SimTransport, asyncio.BaseProtocol]:
        protocol = protocol_factory()
        sock.setblocking(False)
        sock.getpeername()  # Raises, as asyncio does, unless it is connected.
        transport = SimTransport(self, sock, protocol)
        if context:
            transport.use_tls(context, server_side=server_side, server_hostname=server_hostname)
        ready = self.create_future()
        transport.begin(partial(_settle, ready))
        try:
            await ready
        except BaseException:
            transport.close()
            raise
        return transport, protocol

    async def start_tls(
        self,
        transport: asyncio.BaseTransport,
        protocol: asyncio.BaseProtocol,
        sslcontext: ssl_module.SSLContext,
        *,
        server_side: bool = False,
        server_hostname: str | None = None,
        **_timing: Any,
    ) -> SimTransport:
        """Look like TLS from now on; the same transport is returned."""
        if not isinstance(transport, SimTransport):
            raise TypeError(f"transport {transport!r} is not supported by start_tls()")
        transport.use_tls(sslcontext, server_side=server_side, server_hostname=server_hostname)
        transport.set_protocol(protocol)
        transport.resume_reading()
        return transport

    async def create_server(  # type: ignore[override]
        self,
        protocol_factory: ProtocolFactory,
        host: str | Sequence[str] | None = None,
        port: int | None = None,
        *,
        sock: socket.socket | None = None,
        ssl: ssl_module.SSLContext | None = None,
        start_serving: bool = True,
        **_options: Any,
    ) -> SimServer:
        """Listen inside the world on `host`:`port` or on a bound socket."""
        if sock is not None:
            if host is not None or port is not None:
                raise ValueError("host/port and sock can not be specified at the same time")
            sockets = [_simulated(sock)]
        else:
            hosts = [host] if host is None or isinstance(host, str) else list(host)
            sockets = []
            for name in hosts:
                listening = SimSocket()
                listening.bind((name or "", port or 0))
                sockets.append(listening)
        server = SimServer(self, sockets, protocol_factory, ssl)
        if start_serving:
            server.begin()
        return server

    # ------------------------------------------------------------------ sockets

    async def sock_connect(self, sock: socket.socket, address: Any) -> None:
        """Connect a non-blocking socket.

        Raises:
            OSError: the connection failed.
        """
        connecting = _simulated(sock)
        literal = await self._resolve(address[0], address[1])
        connecting.begin_connect((literal, address[1], *address[2:]))
        await self._until(connecting, lambda: not connecting.connecting)
        if code := connecting.take_connect_errno():
            raise OSError(code, f"Connect call failed {address}")

    async def sock_accept(self, sock: socket.socket) -> tuple[socket.socket, Any]:
        """Return the next connection and its client's address."""
        listening = _simulated(sock)
        await self._until(listening, lambda: bool(listening.readiness()))
        accepted, address = listening.accept()
        accepted.setblocking(False)
        return accepted, address

    async def sock_recv(self, sock: socket.socket, nbytes: int) -> bytes:
        """Return at most `nbytes` bytes; b"" is the end of the stream."""
        reading = _simulated(sock)
        await self._until(reading, lambda: bool(reading.readiness() & select.POLLIN))
        return reading.recv(nbytes)

    async def sock_recv_into(self, sock: socket.socket, buf: Any) -> int:
        """Read into `buf` and return how many bytes came."""
        reading = _simulated(sock)
        await self._until(reading, lambda: bool(reading.readiness() & select.POLLIN))
        return reading.recv_into(buf)

    async def sock_sendall(self, sock: socket.socket, data: Any) -> None:
        """Send all of `data`."""
        _simulated(sock).sendall(data)

    async def _until(self, sock: SimSocket, ready: Callable[[], bool]) -> None:
        """Wait until a socket's change makes `ready()` true."""
        while not ready():
            changed = self.create_future()
            sock.watchers.hooks[changed] = partial(_settle, changed)
            try:
                await changed
            finally:
                sock.watchers.hooks.pop(changed, None)

    # ------------------------------------------------------------------ descriptors

    def add_reader(  # type: ignore[override]
        self, fd: Any, callback: Callable[..., object], *args: Any
    ) -> None:
        """Call back in each round while the descriptor is readable."""
        self._watch(fd, "reader", select.POLLIN | select.POLLHUP | select.POLLERR, callback, args)

    def add_writer(  # type: ignore[override]
        self, fd: Any, callback: Callable[..., object], *args: Any
    ) -> None:
        """Call back in each round while the descriptor is writable."""
        self._watch(fd, "writer", select.POLLOUT | select.POLLERR, callback, args)

    def remove_reader(self, fd: Any) -> bool:
        """Stop watching; return whether it was watched."""
        return self._unwatch(fd, "reader")

    def remove_writer(self, fd: Any) -> bool:
        """Stop watching; return whether it was watched."""
        return self._unwatch(fd, "writer")

    def _watch(
        self, fd: Any, what: str, mask: int, callback: Callable[..., object], args: Iterable[Any]
    ) -> None:
        descriptor = _number_of(fd)
        sock = current_network().descriptors.get(descriptor)
        if sock is None:
            refuse(f"loop.add_{what} on a real file descriptor")
        self._unwatch(descriptor, what)
        watches = self.__dict__.setdefault("_watches", {})
        watches[descriptor, what] = _Watch(self, sock, mask, callback, tuple(args))

    def _unwatch(self, fd: Any, what: str) -> bool:
        watch = self.__dict__.get("_watches", {}).pop((_number_of(fd), what), None)
        if watch is None:
            return False
        watch.cancel()
        return True


def _number_of(fd: Any) -> int:
    return fd if isinstance(fd, int) else int(fd.fileno())


def _simulated(sock: socket.socket) -> SimSocket:
    if not isinstance(sock, SimSocket):
        refuse("a real socket handed to a simulated loop")
    return sock


def _settle(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
