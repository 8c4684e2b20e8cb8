"""Simulated sockets behave as the operating system's do."""

from __future__ import annotations

import errno
import os
import select
import selectors
import socket
import ssl
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from faultclock.sim.net.fates import Blackhole, Refuse
from tests.sim.net.scripted import FIN, RESET, THINK, Reply, Send, Wait
from tests.sim.net.simulation import SECOND, FixedPolicy, simulate

REQUEST = b"GET / HTTP/1.1\r\nhost: x\r\n\r\n"
ADDRESS = ("api.example.com", 80)


def _connected(timeout: float | None = None) -> socket.socket:
    sock = socket.create_connection(ADDRESS, timeout)
    sock.sendall(REQUEST)
    return sock


def value_of(subject: Callable[[], Any], *reply: Any, **options: Any) -> Any:
    """Run a blocking subject against one reply and return what it returned."""
    replies: tuple[Reply, ...] = (reply,) if reply else ()
    run = simulate(subject, *replies, **options)
    if run.error is not None:
        raise run.error
    return run.value


def test_socket_is_a_socket() -> None:
    """A simulated socket passes for a socket, and a real one still does."""

    def subject() -> list[bool]:
        sock = socket.socket()
        return [isinstance(sock, socket.socket), sock.fileno() > 0, sock.family == socket.AF_INET]

    assert value_of(subject) == [True, True, True]
    with socket.socket() as real:
        assert isinstance(real, socket.socket)
        assert real.fileno() < 1 << 20


def test_read_deadline_is_virtual() -> None:
    """A read past its deadline raises TimeoutError("timed out") at exactly that instant."""

    def subject() -> tuple[str, float]:
        sock = _connected(timeout=7.5)
        start = time.monotonic()
        with pytest.raises(TimeoutError) as caught:
            sock.recv(10)
        return str(caught.value), time.monotonic() - start

    text, took = value_of(subject, Wait(100 * SECOND), FIN)
    assert text == "timed out"
    assert took == pytest.approx(7.5)


def test_tls_read_deadline_says_so() -> None:
    """A TLS socket words its deadline as the ssl module does."""

    def subject() -> str:
        context = ssl.create_default_context()
        plain = socket.create_connection(("api.example.com", 443), 3)
        with context.wrap_socket(plain, server_hostname="api.example.com") as sock:
            sock.sendall(REQUEST)
            with pytest.raises(TimeoutError) as caught:
                sock.recv(10)
        return str(caught.value)

    assert value_of(subject, Wait(100 * SECOND), FIN) == "The read operation timed out"


def test_non_blocking_read_would_block_until_bytes_arrive() -> None:
    """A non-blocking socket raises BlockingIOError, and select with a deadline waits for it."""

    def subject() -> list[Any]:
        sock = _connected()
        sock.setblocking(False)
        with pytest.raises(BlockingIOError):
            sock.recv(10)
        start = time.monotonic()
        nothing = select.select([sock], [], [], 0.5)
        ready = select.select([sock], [sock], [sock], 10)
        readable = select.select([sock], [], [], 10)[0] == [sock]
        return [nothing, ready[1] == [sock], readable, time.monotonic() - start, sock.recv(10)]

    nothing, writable, readable, took, data = value_of(subject, Wait(2 * SECOND), Send(b"hi"))
    assert nothing == ([], [], [])
    assert (writable, readable, data) == (True, True, b"hi")
    assert took == pytest.approx(2.01)


@pytest.mark.parametrize(
    "make",
    [selectors.SelectSelector, selectors.PollSelector, selectors.EpollSelector],
    ids=lambda make: make.__name__,
)
def test_selectors_wait_in_virtual_time(make: Callable[[], selectors.BaseSelector]) -> None:
    """Every selector of the standard library waits for simulated sockets."""

    def subject() -> list[Any]:
        with make() as selector, _connected() as sock:
            key = selector.register(sock, selectors.EVENT_READ, data="mine")
            start = time.monotonic()
            early = selector.select(0.25)
            found = selector.select(None)
            selector.unregister(sock)
            return [early, found == [(key, selectors.EVENT_READ)], time.monotonic() - start]

    early, found, took = value_of(subject, Wait(SECOND), Send(b"x"))
    assert (early, found) == ([], True)
    assert took == pytest.approx(1.01)


def test_non_blocking_connect_ends_in_writability() -> None:
    """A non-blocking connect is in progress, then writable, then SO_ERROR says 0."""

    def subject() -> list[int]:
        sock = socket.socket()
        sock.setblocking(False)
        began = sock.connect_ex(("10.0.0.9", 80))
        poller = select.poll()
        poller.register(sock, select.POLLOUT)
        assert poller.poll(0) == []
        [(descriptor, events)] = poller.poll(1000)
        assert descriptor == sock.fileno()
        return [began, events, sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)]

    assert value_of(subject) == [errno.EINPROGRESS, select.POLLOUT, 0]


def test_non_blocking_connect_tells_a_refusal_through_so_error() -> None:
    """After a refused non-blocking connect SO_ERROR holds the reason, once."""

    def subject() -> list[int]:
        sock = socket.socket()
        sock.setblocking(False)
        sock.connect_ex(("10.0.0.9", 80))
        assert select.select([], [sock], [], 5)[1] == [sock]
        return [sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR) for _ in range(2)]

    policy = FixedPolicy(connect=Refuse())
    assert value_of(subject, policy=policy) == [errno.ECONNREFUSED, 0]


def test_connect_ex_returns_numbers() -> None:
    """connect_ex returns the error number: refused, or EAGAIN for the caller's own deadline."""

    def subject() -> list[int]:
        first, second = socket.socket(), socket.socket()
        second.settimeout(1)
        return [first.connect_ex(("10.0.0.9", 1)), second.connect_ex(("10.0.0.9", 1))]

    policy = FixedPolicy(connects=(Refuse(), Blackhole()))
    assert value_of(subject, policy=policy) == [errno.ECONNREFUSED, errno.EAGAIN]


def test_makefile_reads_lines() -> None:
    """makefile() gives a buffered reader, and the connection lives until both are closed."""

    def subject() -> list[Any]:
        sock = _connected()
        with sock.makefile("rb") as reader:
            sock.close()
            return [reader.readline(), reader.read()]

    run = simulate(subject, (THINK, Send(b"one\ntwo"), FIN))
    assert run.value == [b"one\n", b"two"]
    assert run.kinds[-1] == "net.closed"


def test_recv_into_peek_and_wait_all() -> None:
    """Flags and buffers work as on Linux."""

    def subject() -> list[Any]:
        sock = _connected()
        peeked = sock.recv(2, socket.MSG_PEEK)
        buffer = bytearray(4)
        count = sock.recv_into(buffer)
        rest = sock.recv(6, socket.MSG_WAITALL)
        return [peeked, count, bytes(buffer), rest, sock.recv(1)]

    steps = (Send(b"abcd"), Wait(SECOND), Send(b"efg"), Wait(SECOND), Send(b"hij"), FIN)
    assert value_of(subject, *steps) == [b"ab", 4, b"abcd", b"efghij", b""]


def test_reset_is_told_once_then_the_stream_has_ended() -> None:
    """As on Linux: ECONNRESET once, then end of stream, and EPIPE on writing."""

    def subject() -> list[str]:
        sock = _connected()
        seen = [repr(sock.recv(9))]
        for act in (lambda: sock.recv(9), lambda: sock.recv(9), lambda: sock.send(b"x")):
            try:
                seen.append(repr(act()))
            except OSError as error:
                seen.append(type(error).__name__)
        return seen

    expected = ["b'bytes'", "ConnectionResetError", "b''", "BrokenPipeError"]
    assert value_of(subject, THINK, Send(b"bytes"), RESET) == expected


def test_shutdown_ends_one_direction() -> None:
    """SHUT_WR sends an end of stream and still reads; SHUT_RD reads an end of stream."""

    def subject() -> list[bytes]:
        sock = _connected()
        sock.shutdown(socket.SHUT_WR)
        data = sock.recv(9)
        with pytest.raises(BrokenPipeError):
            sock.send(b"more")
        sock.shutdown(socket.SHUT_RD)
        return [data, sock.recv(9)]

    assert value_of(subject, THINK, Send(b"bytes")) == [b"bytes", b""]


def test_names_addresses_and_options() -> None:
    """Names resolve in order of first use, back again, and options are remembered."""

    def subject() -> list[Any]:
        sock = _connected()
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.settimeout(2)
        return [
            sock.getpeername(),
            sock.getsockname(),
            sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY),
            sock.getsockopt(socket.SOL_SOCKET, socket.SO_TYPE) == socket.SOCK_STREAM,
            sock.gettimeout(),
            socket.gethostbyname("second.example.com"),
            socket.gethostbyaddr("10.0.0.2")[0],
            socket.getaddrinfo("localhost", "https", type=socket.SOCK_STREAM)[0][4],
            socket.getaddrinfo("::1", 80)[0][4],
            socket.gethostname(),
        ]

    assert value_of(subject) == [
        ("10.0.0.1", 80),
        ("10.255.0.1", 40001),
        1,
        True,
        2.0,
        "10.0.0.2",
        "second.example.com",
        ("127.0.0.1", 443),
        ("::1", 80, 0, 0),
        "localhost",
    ]


def test_family_without_addresses_is_a_gaierror() -> None:
    """Names have IPv4 addresses only."""

    def subject() -> int:
        with pytest.raises(socket.gaierror) as caught:
            socket.getaddrinfo("api.example.com", 80, socket.AF_INET6)
        assert caught.value.errno is not None
        return caught.value.errno

    assert value_of(subject) == socket.EAI_NODATA


def test_literal_address_needs_no_lookup() -> None:
    """An IP literal is _connected to without asking the resolver."""

    def subject() -> None:
        socket.create_connection(("192.0.2.7", 80)).close()

    run = simulate(subject)
    assert run.kinds == ["net.connect", "net.connected", "net.closed"]
    assert run.facts("net.connect")[0]["host"] == "192.0.2.7"


def test_closed_socket_refuses_everything() -> None:
    """After close() every call is EBADF, and closing again does nothing."""

    def subject() -> list[int | None]:
        sock = _connected()
        sock.close()
        sock.close()
        codes = []
        for act in (lambda: sock.recv(1), lambda: sock.send(b"x"), sock.getpeername):
            with pytest.raises(OSError, match="Bad file descriptor") as caught:
                act()
            codes.append(caught.value.errno)
        return [*codes, sock.fileno()]

    assert value_of(subject) == [errno.EBADF] * 3 + [-1]


def test_abandoned_socket_is_closed() -> None:
    """A socket that nobody holds any more is closed, as the interpreter does."""

    def subject() -> None:
        sock = _connected()
        sock.recv(1)
        del sock
        time.sleep(1)

    run = simulate(subject, (THINK, Send(b"a")))
    [closed] = run.facts("net.closed")
    assert (closed["how"], closed["at"]) == ("abort", pytest.approx(0.04))


def test_server_and_client_threads_talk() -> None:
    """bind, listen and accept work between threads of one world."""

    def subject() -> bytes:
        listening = socket.create_server(("localhost", 8080))

        def serve() -> None:
            accepted, address = listening.accept()
            with accepted:
                assert address[0] == "127.0.0.1"
                accepted.sendall(accepted.recv(10).upper())

        thread = threading.Thread(target=serve)
        thread.start()
        with socket.create_connection(("127.0.0.1", 8080)) as client:
            client.sendall(b"hello")
            answer = client.recv(10)
        thread.join()
        listening.close()
        refused = socket.socket()
        with pytest.raises(ConnectionRefusedError):
            refused.connect(("localhost", 8080))
        return answer

    def prepare(world: Any) -> None:
        world.network.unlisten(None, None)

    assert value_of(subject, prepare=prepare) == b"HELLO"


def test_two_listeners_cannot_share_an_address() -> None:
    """A second listener on the same address is EADDRINUSE."""

    def subject() -> int | None:
        first = socket.create_server(("", 8080))
        second = socket.socket()
        second.bind(("127.0.0.1", 8080))
        with pytest.raises(OSError, match="in use") as caught:
            second.listen()
        first.close()
        return caught.value.errno

    assert value_of(subject) == errno.EADDRINUSE


def test_reading_in_a_thread_waits_for_its_own_bytes() -> None:
    """Blocking reads in several threads overlap in virtual time."""

    def subject() -> tuple[list[bytes], float]:
        got: list[bytes] = []

        def fetch() -> None:
            with _connected() as sock:
                got.append(sock.recv(10))

        start = time.monotonic()
        threads = [threading.Thread(target=fetch) for _ in range(5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return got, time.monotonic() - start

    got, took = value_of(subject, Wait(SECOND), Send(b"x"))
    assert got == [b"x"] * 5
    assert took == pytest.approx(1.02)


@pytest.mark.parametrize(
    "act",
    [
        lambda: socket.socket(socket.AF_UNIX),
        lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM),
        lambda: socket.socket(fileno=0),
        lambda: socket.socketpair(),
        lambda: socket.socket().dup(),
        lambda: socket.socket().detach(),
        lambda: select.select([0], [], [], 1),
        lambda: select.poll().register(0),
    ],
    ids=["unix", "udp", "fileno", "socketpair", "dup", "detach", "select", "poll"],
)
def test_what_cannot_be_simulated_is_refused_by_name(act: Callable[[], Any]) -> None:
    """An escape from the world is refused by name, and swallowing the refusal does not help."""

    def subject() -> None:
        with suppress(BaseException):
            act()

    run = simulate(subject)
    assert run.reason == "escape"
    [leak] = run.facts("leak")
    assert leak["what"]
    assert "test_sockets" in leak["site"]


def test_socket_of_a_world_that_is_over_is_dead() -> None:
    """A socket kept from an earlier run raises when a later run reads it, and closes quietly."""
    kept: list[socket.socket] = []

    def first() -> None:
        kept.append(_connected())

    def second() -> None:
        kept[0].recv(1)

    def third() -> int:
        kept[0].close()
        return kept[0].fileno()

    simulate(first)
    assert simulate(second).reason == "escape"
    assert simulate(third).value == -1


def test_descriptors_mean_nothing_outside() -> None:
    """Real I/O on a simulated descriptor fails with EBADF."""

    def subject() -> int | None:
        with pytest.raises(OSError, match="Bad file descriptor") as caught:
            os.fstat(socket.socket().fileno())
        return caught.value.errno

    assert value_of(subject) == errno.EBADF
