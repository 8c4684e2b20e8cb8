"""asyncio's own network calls work inside the world."""

from __future__ import annotations

import asyncio
import socket
import ssl
import threading
from collections.abc import Callable, Coroutine
from typing import Any

import anyio
import pytest

from faultclock.sim.kernel.context import CALL_ID
from tests.sim.net.scripted import FIN, RESET, THINK, Send, Wait
from tests.sim.net.simulation import SECOND, simulate

REQUEST = b"GET / HTTP/1.1\r\nhost: x\r\n\r\n"


def value_of(subject: Callable[[], Coroutine[Any, Any, Any]], *reply: Any) -> Any:
    """Run an async subject against one reply and return what it returned."""
    run = simulate(subject, *((reply,) if reply else ()))
    if run.error is not None:
        raise run.error
    return run.value


async def _shout(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.write((await reader.readline()).upper())
    await writer.drain()
    writer.close()


@pytest.mark.parametrize("tls", [False, True], ids=["plain", "tls"])
def test_server_and_client_in_one_world(tls: bool) -> None:
    """start_server and open_connection talk to each other, with and without TLS."""

    async def subject() -> bytes:
        server_side = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER) if tls else None
        server = await asyncio.start_server(_shout, "shout.example.com", 7000, ssl=server_side)
        async with server:
            assert server.sockets[0].getsockname()[1] == 7000
            reader, writer = await asyncio.open_connection(
                "shout.example.com", 7000, ssl=True if tls else None
            )
            assert (writer.get_extra_info("ssl_object") is not None) is tls
            writer.write(b"hello\n")
            answer = await reader.read()
            writer.close()
            await writer.wait_closed()
        assert not server.is_serving()
        return answer

    assert value_of(subject) == b"HELLO\n"


def test_server_on_a_free_port_serves_localhost() -> None:
    """Port 0 takes a free port, and a server on all addresses is found at localhost."""

    async def subject() -> bytes:
        server = await asyncio.start_server(_shout, "0.0.0.0", 0)
        port = server.sockets[0].getsockname()[1]
        reader, writer = await asyncio.open_connection("localhost", port)
        writer.write(b"hello\n")
        answer = await reader.read()
        writer.close()
        server.close()
        await server.wait_closed()
        with pytest.raises(ConnectionRefusedError):
            await asyncio.open_connection("localhost", port)
        return answer

    run = simulate(subject, prepare=lambda world: world.network.unlisten(None, None))
    assert (run.value, run.error) == (b"HELLO\n", None)


def test_serve_forever_ends_with_its_task() -> None:
    """Cancelling serve_forever closes the server."""

    async def subject() -> bool:
        server = await asyncio.start_server(_shout, "localhost", 7000)
        task = asyncio.create_task(server.serve_forever())
        await asyncio.sleep(1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return server.is_serving()

    assert value_of(subject) is False


def test_start_tls_upgrades_a_connection() -> None:
    """start_tls makes a plain connection look like TLS."""

    async def subject() -> tuple[str, str | None]:
        server = await asyncio.start_server(_shout, "mail.example.com", 25)
        reader, writer = await asyncio.open_connection("mail.example.com", 25)
        await writer.start_tls(ssl.create_default_context(), server_hostname="mail.example.com")
        ssl_object = writer.get_extra_info("ssl_object")
        writer.write(b"hello\n")
        answer = (await reader.read()).decode()
        writer.close()
        server.close()
        return answer, ssl_object.version()

    assert value_of(subject) == ("HELLO\n", "TLSv1.3")


def test_anyio_tls_in_a_worker_thread_context() -> None:
    """anyio's TLS stream wraps over memory buffers and reads to a clean end."""

    async def subject() -> bytes:
        async with await anyio.connect_tcp("api.example.com", 443, tls=True) as stream:
            await stream.send(REQUEST)
            return b"".join([part async for part in stream])

    assert value_of(subject, THINK, Send(b"abc"), Wait(SECOND), Send(b"def"), FIN) == b"abcdef"


def test_half_closed_connection_still_reads() -> None:
    """write_eof ends our stream; the answer still arrives."""

    async def subject() -> bytes:
        reader, writer = await asyncio.open_connection("api.example.com", 80)
        writer.write(REQUEST)
        assert writer.can_write_eof()
        writer.write_eof()
        data = await reader.read(3)
        writer.close()
        return data

    assert value_of(subject, THINK, Send(b"abc")) == b"abc"


def test_reset_reaches_the_reader() -> None:
    """A reset raises ConnectionResetError in the reader, after what arrived before."""

    async def subject() -> bytes:
        reader, writer = await asyncio.open_connection("api.example.com", 80)
        writer.write(REQUEST)
        data = await reader.readexactly(3)
        with pytest.raises(ConnectionResetError):
            await reader.read()
        writer.close()
        return data

    assert value_of(subject, THINK, Send(b"abc"), Wait(SECOND), RESET) == b"abc"


def test_cancelled_connect_is_abandoned() -> None:
    """Cancelling a connection attempt records that the subject gave it up, then and there."""

    async def subject() -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.004):
                await asyncio.open_connection("api.example.com", 80)
        await asyncio.sleep(1)

    run = simulate(subject)
    assert run.kinds == ["net.resolve", "net.connect", "net.closed"]
    assert run.facts("net.closed")[0]["at"] == pytest.approx(0.004)
    assert run.service.endpoints == []


def test_paused_transport_leaves_bytes_in_the_socket() -> None:
    """While a transport is paused nothing is passed on; resuming passes it all on."""

    class Collector(asyncio.Protocol):
        def __init__(self) -> None:
            self.data = b""

        def data_received(self, data: bytes) -> None:
            self.data += data

    async def subject() -> list[bytes]:
        loop = asyncio.get_running_loop()
        transport, protocol = await loop.create_connection(Collector, "api.example.com", 80)
        transport.pause_reading()
        transport.write(REQUEST)
        await asyncio.sleep(1)
        before = protocol.data
        transport.resume_reading()
        await asyncio.sleep(1)
        transport.abort()
        return [before, protocol.data]

    assert value_of(subject, THINK, Send(b"abc")) == [b"", b"abc"]


def test_buffered_protocol_gets_its_bytes() -> None:
    """A BufferedProtocol with a small buffer is filled until everything is passed on."""

    class Buffered(asyncio.BufferedProtocol):
        def __init__(self) -> None:
            self.buffer = bytearray(2)
            self.data = b""

        def get_buffer(self, sizehint: int) -> bytearray:
            return self.buffer

        def buffer_updated(self, nbytes: int) -> None:
            self.data += bytes(self.buffer[:nbytes])

    async def subject() -> bytes:
        loop = asyncio.get_running_loop()
        transport, protocol = await loop.create_connection(Buffered, "api.example.com", 80)
        transport.write(REQUEST)
        await asyncio.sleep(1)
        transport.close()
        return protocol.data

    assert value_of(subject, THINK, Send(b"abcde")) == b"abcde"


def test_loop_socket_calls() -> None:
    """sock_connect, sock_sendall and sock_recv work on a non-blocking socket."""

    async def subject() -> bytes:
        loop = asyncio.get_running_loop()
        with socket.socket() as sock:
            sock.setblocking(False)
            await loop.sock_connect(sock, ("api.example.com", 80))
            await loop.sock_sendall(sock, REQUEST)
            return await loop.sock_recv(sock, 10)

    assert value_of(subject, THINK, Send(b"abc")) == b"abc"


def test_readers_are_called_while_bytes_wait() -> None:
    """add_reader calls back in each round until the bytes are read; writers at once."""

    async def subject() -> tuple[list[str], bool, bool]:
        loop = asyncio.get_running_loop()
        sock = socket.create_connection(("api.example.com", 80))
        sock.setblocking(False)
        seen: list[str] = []
        finished = loop.create_future()

        def on_writable() -> None:
            seen.append("writable")
            loop.remove_writer(sock)
            sock.send(REQUEST)

        def on_readable() -> None:
            seen.append(sock.recv(1).decode())
            if len(seen) == 4:
                finished.set_result(None)

        loop.add_writer(sock, on_writable)
        loop.add_reader(sock.fileno(), on_readable)
        await finished
        removed = loop.remove_reader(sock), loop.remove_reader(sock)
        sock.close()
        return seen, *removed

    assert value_of(subject, THINK, Send(b"abc")) == (["writable", "a", "b", "c"], True, False)


def test_read_callbacks_do_not_borrow_a_strangers_context() -> None:
    """A protocol's callback runs in the context in which its connection was made."""
    seen: list[str | None] = []

    class Noting(asyncio.Protocol):
        def data_received(self, data: bytes) -> None:
            seen.append(CALL_ID.get())

    async def subject() -> None:
        loop = asyncio.get_running_loop()

        async def connect(name: str) -> None:
            CALL_ID.set(name)
            transport, _ = await loop.create_connection(Noting, "api.example.com", 80)
            transport.write(REQUEST)

        await asyncio.gather(connect("first"), connect("second"))
        CALL_ID.set("stranger")
        await asyncio.sleep(1)

    value_of(subject, THINK, Send(b"abc"))
    assert seen == ["first", "second"]


def test_blocking_client_in_a_worker_thread_of_a_loop() -> None:
    """A blocking socket in to_thread works beside the loop and keeps the caller's context."""

    async def subject() -> list[bytes]:
        def fetch() -> bytes:
            assert threading.current_thread() is not threading.main_thread()
            with socket.create_connection(("api.example.com", 80)) as sock:
                sock.sendall(REQUEST)
                return sock.recv(10)

        CALL_ID.set("call-1")
        return list(await asyncio.gather(asyncio.to_thread(fetch), asyncio.to_thread(fetch)))

    run = simulate(subject, (THINK, Send(b"abc")))
    assert run.value == [b"abc", b"abc"]
    assert [fact["call"] for fact in run.facts("net.sent")] == ["call-1", "call-1"]


def test_real_descriptor_in_the_loop_is_refused() -> None:
    """add_reader on a real descriptor is refused by name."""

    async def subject() -> None:
        asyncio.get_running_loop().add_reader(0, print)

    assert simulate(subject).reason == "escape"
