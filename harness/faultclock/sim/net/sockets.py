"""Blocking and non-blocking sockets of the simulated network.

A SimSocket is a `socket.socket` for `isinstance`, `makefile` and every caller, but owns no
descriptor of the operating system: a blocking call parks the simulated thread, a deadline is
virtual. Its `fileno()` is a number that only the simulated select and poll understand.

What cannot be simulated (dup, detach, datagrams) is refused by name.
"""

from __future__ import annotations

import errno
import os
import select
import socket
from collections import deque
from typing import TYPE_CHECKING, Any, NoReturn, Self

from faultclock.sim.kernel.escapes import refuse
from faultclock.sim.kernel.kernel import current
from faultclock.sim.net.endpoint import Address, Endpoint
from faultclock.sim.net.network import Attempt, current_network
from faultclock.sim.net.tls import Buffer
from faultclock.sim.net.watchers import Watchers, park_until, timeout_to_ns

if TYPE_CHECKING:
    from collections.abc import Iterable


_TIMED_OUT_TEXT = "timed out"
_NO_ADDRESS = ("0.0.0.0", 0)  # noqa: S104  # what an unbound socket answers


class SimSocket(socket.socket):
    """A TCP socket inside the world.

    Attributes:
        watchers: who waits for it.
        endpoint: its side of the connection once that stands.
    """

    def __init__(
        self,
        family: int = socket.AF_INET,
        type: int = socket.SOCK_STREAM,
        proto: int = 0,
        fileno: int | None = None,
    ) -> None:
        # The base class is not initialised: that would open a real descriptor.
        assert fileno is None
        self._io_refs = 0
        self._closed = False
        self._network = current_network()
        self._kernel = self._network.kernel
        self._family = socket.AF_INET if family in (-1, 0) else socket.AddressFamily(family)
        self._proto = socket.IPPROTO_TCP if proto in (-1, 0) else proto
        self._timeout: float | None = socket.getdefaulttimeout()
        if type != -1 and type & socket.SOCK_NONBLOCK:
            self._timeout = 0.0
        self._descriptor = self._network.new_descriptor(self)
        self._options: dict[tuple[int, int], int | bytes] = {}
        self._bound: Address | None = None
        self._attempt: Attempt | None = None
        self._connect_errno = 0
        self._backlog: deque[Endpoint] | None = None
        self.endpoint: Endpoint | None = None
        self.watchers = Watchers()

    def __repr__(self) -> str:
        state = "closed" if self._descriptor < 0 else f"fd={self._descriptor}"
        return f"<{self.__class__.__name__} {state} {self.endpoint or 'not connected'}>"

    def __del__(self) -> None:
        # An abandoned socket is closed, as the interpreter does with a real one; only while its
        # own world lives, and without a word: a finalizer must not disturb anybody.
        if getattr(self, "_descriptor", -1) >= 0:
            here = current()
            if here is not None and here[0] is self._kernel:
                self.release("abort")

    # ------------------------------------------------------------------ what it is

    @property
    def family(self) -> socket.AddressFamily:
        """AF_INET, or AF_INET6 for a literal IPv6 address."""
        return self._family

    @property
    def type(self) -> socket.SocketKind:
        """SOCK_STREAM: there are no datagrams."""
        return socket.SOCK_STREAM

    @property
    def proto(self) -> int:
        """TCP."""
        return self._proto

    @property
    def timeout(self) -> float | None:
        """Seconds that a blocking call may take; None for ever, 0.0 non-blocking."""
        return self._timeout

    def fileno(self) -> int:
        """Return the simulated descriptor, -1 once closed."""
        return self._descriptor

    def gettimeout(self) -> float | None:
        """Return the `timeout`."""
        return self._timeout

    def settimeout(self, value: float | None, /) -> None:
        """Set the `timeout` in seconds.

        Raises:
            ValueError: it is negative.
        """
        if value is not None and value < 0:
            raise ValueError("Timeout value out of range")
        self._timeout = None if value is None else float(value)

    def setblocking(self, flag: bool, /) -> None:
        """Wait for ever, or never."""
        self._timeout = None if flag else 0.0

    def getblocking(self) -> bool:
        """Return whether calls may block."""
        return self._timeout != 0.0

    def get_inheritable(self) -> bool:
        """Return False: there is no child process to inherit it."""
        return False

    def set_inheritable(self, inheritable: bool) -> None:
        """Ignore the wish: there is no child process to inherit it."""

    def setsockopt(self, level: int, optname: int, value: Any, optlen: int | None = None) -> None:
        """Remember an option; none of them changes the simulated network."""
        self._open()
        self._options[(level, optname)] = 0 if value is None else value

    def getsockopt(self, level: int, optname: int, buflen: int = 0, /) -> Any:
        """Return what was set, or what a fresh socket says. SO_ERROR is told once."""
        self._open()
        if level == socket.SOL_SOCKET:
            if optname == socket.SO_TYPE:
                return int(socket.SOCK_STREAM)
            if optname == socket.SO_ERROR:
                return self.take_connect_errno()
            if optname == socket.SO_ACCEPTCONN:
                return int(self._backlog is not None)
        value = self._options.get((level, optname), 0)
        if buflen and isinstance(value, int):
            return value.to_bytes(buflen, "little")
        return value

    def getsockname(self) -> Any:
        """Return our address."""
        self._open()
        if self.endpoint is not None:
            return self.endpoint.local_address
        return self._bound or _NO_ADDRESS

    def getpeername(self) -> Any:
        """Return the peer's address."""
        return self._connected().remote_address

    # ------------------------------------------------------------------ connecting

    def connect(self, address: Any, /) -> None:
        """Connect to (host, port) within the `timeout`.

        Raises:
            BlockingIOError: non-blocking; the attempt goes on.
            TimeoutError: not connected in time.
            OSError: refused, unreachable, or given up by the system.
        """
        if self._attempt is not None:
            raise BlockingIOError(errno.EALREADY, os.strerror(errno.EALREADY))
        host, port = address[0], address[1]
        self._open()
        literal = self._network.resolve(host or "localhost", port)
        self.begin_connect((literal, port, *address[2:]))
        if self._timeout == 0.0:
            raise BlockingIOError(errno.EINPROGRESS, os.strerror(errno.EINPROGRESS))
        self._wait(lambda: not self.connecting, f"connect to {host}:{port}")
        if code := self.take_connect_errno():
            raise OSError(code, os.strerror(code))

    def connect_ex(self, address: Any, /) -> int:
        """Connect as `connect` does, but return the error number (0 when connected)."""
        try:
            self.connect(address)
        except socket.gaierror:
            raise
        except OSError as error:
            # A deadline of the client's own has no number; the system's answer is EAGAIN.
            return error.errno or errno.EAGAIN
        return 0

    def begin_connect(self, address: Address) -> None:
        """Start to connect to a literal address; the watchers hear of the outcome.

        Raises:
            OSError: the socket is closed or connected already.
        """
        self._open()
        if self.endpoint is not None:
            raise OSError(errno.EISCONN, os.strerror(errno.EISCONN))
        self._connect_errno = 0
        self._attempt = self._network.connect(address, self._on_connected)

    @property
    def connecting(self) -> bool:
        """Whether an attempt to connect is under way."""
        return self._attempt is not None

    def take_connect_errno(self) -> int:
        """Return and forget why the attempt failed; 0 when it did not."""
        code, self._connect_errno = self._connect_errno, 0
        return code

    def _on_connected(self, outcome: Endpoint | OSError) -> None:
        self._attempt = None
        if isinstance(outcome, Endpoint):
            self.attach(outcome)
        else:
            self._connect_errno = outcome.errno or errno.ECONNREFUSED
        self.watchers.on_readable()

    def attach(self, endpoint: Endpoint) -> None:
        """Stand on `endpoint` from now on."""
        self.endpoint = endpoint
        endpoint.sink = self.watchers

    # ------------------------------------------------------------------ listening

    def bind(self, address: Any, /) -> None:
        """Take a local address; port 0 takes a free one."""
        self._open()
        host, port = address[0], address[1]
        literal = self._network.address_of(host or _NO_ADDRESS[0])
        self._bound = (literal, port or self._network.new_port(), *address[2:])

    def listen(self, backlog: int = 128, /) -> None:
        """Accept connections to the bound address. Nobody is turned away."""
        self._open()
        if self._backlog is None:
            if self._bound is None:
                self._bound = (_NO_ADDRESS[0], self._network.new_port())
            self._network.listen(self._bound[0], self._bound[1], self._on_incoming)
            self._backlog = deque()

    def _on_incoming(self, endpoint: Endpoint) -> None:
        assert self._backlog is not None
        self._backlog.append(endpoint)
        self.watchers.on_readable()

    def accept(self) -> tuple[socket.socket, Any]:
        """Return the next connection and its client's address."""
        self._open()
        if self._backlog is None:
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
        self._wait(lambda: bool(self._backlog), "accept")
        endpoint = self._backlog.popleft()
        accepted = SimSocket(self._family)
        accepted.attach(endpoint)
        return accepted, endpoint.remote_address

    # ------------------------------------------------------------------ reading

    def _read(self, limit: int, flags: int = 0) -> bytes:
        if flags & ~(socket.MSG_PEEK | socket.MSG_DONTWAIT | socket.MSG_WAITALL):
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
        endpoint = self._connected()
        if limit <= 0:
            if limit < 0:
                raise ValueError("negative buffersize in recv")
            return b""
        if not endpoint.readable:
            if flags & socket.MSG_DONTWAIT:
                self._would_block()
            self._wait(lambda: endpoint.readable, "read", self._read_timeout_text)
        if flags & socket.MSG_PEEK and endpoint.rx:
            return bytes(endpoint.rx[:limit])
        data = endpoint.read(limit)
        assert data is not None
        if flags & socket.MSG_WAITALL:
            while data and len(data) < limit and (more := self._read(limit - len(data))):
                data += more
        return data

    def recv(self, bufsize: int, flags: int = 0, /) -> bytes:
        """Return at most `bufsize` bytes; b"" is the end of the stream.

        Raises:
            TimeoutError: nothing came within the `timeout`.
            BlockingIOError: nothing is there and the socket is non-blocking.
            OSError: the connection was reset, or there is none.
        """
        return self._read(bufsize, flags)

    def recv_into(self, buffer: Buffer, nbytes: int = 0, flags: int = 0) -> int:
        """Read into `buffer` and return how many bytes came."""
        view = memoryview(buffer).cast("B")
        data = self._read(nbytes or len(view), flags)
        view[: len(data)] = data
        return len(data)

    def recvfrom(self, bufsize: int, flags: int = 0, /) -> tuple[bytes, Any]:
        """Read as `recv` does; a stream names no sender."""
        return self._read(bufsize, flags), None

    def recvfrom_into(self, buffer: Buffer, nbytes: int = 0, flags: int = 0) -> tuple[int, Any]:
        """Read as `recv_into` does; a stream names no sender."""
        return self.recv_into(buffer, nbytes, flags), None

    def recvmsg(
        self, bufsize: int, ancbufsize: int = 0, flags: int = 0, /
    ) -> tuple[bytes, list[tuple[int, int, bytes]], int, Any]:
        """Read as `recv` does; there is no ancillary data."""
        return self._read(bufsize, flags), [], 0, None

    def recvmsg_into(
        self, buffers: Iterable[Buffer], ancbufsize: int = 0, flags: int = 0, /
    ) -> tuple[int, list[tuple[int, int, bytes]], int, Any]:
        """Read into the first buffer with room."""
        for buffer in buffers:
            if memoryview(buffer).nbytes:
                return self.recv_into(buffer, 0, flags), [], 0, None
        return 0, [], 0, None

    # ------------------------------------------------------------------ writing

    def send(self, data: Buffer, flags: int = 0, /) -> int:
        """Send all of `data` (writes never block) and return its length.

        Raises:
            OSError: the connection was reset, or there is none.
        """
        return self._connected(errno.EPIPE).send(memoryview(data).cast("B"))

    def sendall(self, data: Buffer, flags: int = 0, /) -> None:
        """Send all of `data`."""
        self.send(data, flags)

    def sendto(self, data: Buffer, *arguments: Any) -> int:
        """Send on a connected stream; an address is ignored, as Linux does for TCP."""
        return self.send(data)

    def sendmsg(self, buffers: Iterable[Buffer], *arguments: Any) -> int:
        """Send all `buffers` as one write."""
        return self.send(b"".join(bytes(buffer) for buffer in buffers))

    def sendfile(self, file: Any, offset: int = 0, count: int | None = None) -> int:
        """Send what `file` holds from `offset` on, as one write."""
        file.seek(offset)
        return self.send(file.read() if count is None else file.read(count))

    # ------------------------------------------------------------------ ending

    def shutdown(self, how: int, /) -> None:
        """End one direction or both and keep the socket."""
        endpoint = self._connected()
        if how not in (socket.SHUT_RD, socket.SHUT_WR, socket.SHUT_RDWR):
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
        if how in (socket.SHUT_WR, socket.SHUT_RDWR):
            endpoint.send_eof()
        if how in (socket.SHUT_RD, socket.SHUT_RDWR):
            endpoint.stop_reading()

    def _real_close(self, *_: Any) -> None:
        # The base class calls it from close(), and later when the last makefile() closes.
        self.release("close")

    def release(self, how: str) -> None:
        """Give back the descriptor and end what stands on it; `how` as in `Endpoint.close`."""
        self._closed = True
        if self._descriptor < 0:
            return
        self._descriptor = -1
        here = current()
        if here is None or here[0] is not self._kernel:
            return  # Its world is over; closing what is left of it harms nobody.
        if self._attempt is not None:
            self._attempt.abandon()
            self._attempt = None
        if self.endpoint is not None:
            self.endpoint.close(how)
        if self._backlog is not None and self._bound is not None:
            self._network.unlisten(self._bound[0], self._bound[1])
            for waiting in self._backlog:
                waiting.reset()

    def take_over(self, other: SimSocket) -> None:
        """Become `other`: its connection, descriptor and settings. `other` is left closed."""
        self._network.descriptors.pop(self._descriptor)
        self._descriptor, other._descriptor = other._descriptor, -1
        other._closed = True
        self._network.descriptors[self._descriptor] = self
        self._family, self._timeout, self._options = other._family, other._timeout, other._options
        self._bound, self.watchers = other._bound, other.watchers
        self.endpoint, other.endpoint = other.endpoint, None

    def detach(self) -> int:
        """Refuse: a simulated descriptor means nothing outside its socket."""
        refuse("socket.detach on a simulated socket")

    def dup(self) -> Self:
        """Refuse: two sockets cannot share one simulated connection."""
        refuse("socket.dup on a simulated socket")

    # ------------------------------------------------------------------ readiness

    def readiness(self) -> int:
        """Return the poll(2) events that hold now."""
        if self._backlog is not None:
            return select.POLLIN if self._backlog else 0
        if self._attempt is not None:
            return 0
        endpoint = self.endpoint
        if endpoint is None:
            broken = select.POLLIN | select.POLLERR if self._connect_errno else 0
            return select.POLLOUT | select.POLLHUP | broken
        events = select.POLLOUT
        if endpoint.readable:
            events |= select.POLLIN
        if endpoint.eof:
            events |= select.POLLRDHUP
        if endpoint.error is not None:
            events |= select.POLLERR | select.POLLHUP
        return events

    # ------------------------------------------------------------------ helpers

    _read_timeout_text = _TIMED_OUT_TEXT

    def _open(self) -> None:
        """Raise unless the socket is open and its world is the caller's."""
        here = current()
        if here is None or here[0] is not self._kernel:
            refuse(f"{self.__class__.__name__} of a world that is over")
        if self._descriptor < 0:
            raise OSError(errno.EBADF, os.strerror(errno.EBADF))

    def _connected(self, otherwise: int = errno.ENOTCONN) -> Endpoint:
        self._open()
        if self.endpoint is None:
            raise OSError(otherwise, os.strerror(otherwise))
        return self.endpoint

    def _would_block(self) -> NoReturn:
        raise BlockingIOError(errno.EAGAIN, os.strerror(errno.EAGAIN))

    def _wait(self, ready: Any, reason: str, timeout_text: str = _TIMED_OUT_TEXT) -> None:
        """Park until `ready()`, or raise as a real socket with this `timeout` does."""
        if self._timeout == 0.0:
            if not ready():
                self._would_block()
            return
        where = self.endpoint.connection_id if self.endpoint is not None else "socket"
        timeout_ns = timeout_to_ns(self._timeout)
        if not park_until(self._kernel, (self,), ready, timeout_ns, f"{reason} ({where})"):
            raise TimeoutError(timeout_text)
