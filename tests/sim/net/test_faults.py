"""What goes wrong on the simulated wire reaches clients as it does on a real one."""

from __future__ import annotations

import asyncio
import errno
import inspect
import socket
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import aiohttp
import httpx
import pytest
import requests

from faultclock.sim.net.fates import Blackhole, Refuse, Resolve, ResolveFails, Unreachable
from tests.sim.net.scripted import (
    FIN,
    RESET,
    STALL,
    THINK,
    Send,
    Wait,
    chat_completion,
    chunked_head,
    chunks,
    head,
    json_reply,
    raw_reply,
)
from tests.sim.net.simulation import SECOND, FixedPolicy, simulate

URL = "https://api.example.com/v1"


def _httpx_get() -> Any:
    return httpx.get(URL).json()


async def _httpx_async_get() -> Any:
    async with httpx.AsyncClient() as client:
        return (await client.get(URL)).json()


def _requests_get() -> Any:
    return requests.get(URL, timeout=5).json()


async def _aiohttp_get() -> Any:
    timeout = aiohttp.ClientTimeout(total=5)
    async with aiohttp.ClientSession(timeout=timeout) as session, session.get(URL) as response:
        return await response.json()


def _plain_socket() -> None:
    socket.create_connection(("api.example.com", 443))


async def _plain_stream() -> None:
    await asyncio.open_connection("api.example.com", 443)


GETS: list[Callable[[], Any]] = [_httpx_get, _httpx_async_get, _requests_get, _aiohttp_get]


def _outer(run: Any) -> str:
    return str(run.chain[0])


@pytest.mark.parametrize(
    ("client", "expected"),
    [
        (_httpx_get, "ConnectError"),
        (_httpx_async_get, "ConnectError"),
        (_requests_get, "ConnectionError"),
        (_aiohttp_get, "ClientConnectorError"),
        (_plain_socket, "ConnectionRefusedError"),
        (_plain_stream, "ConnectionRefusedError"),
    ],
    ids=lambda value: getattr(value, "__name__", "")[1:] or None,
)
def test_refused_connection_takes_one_round_trip(client: Callable[[], Any], expected: str) -> None:
    """A refusal reaches the client as ECONNREFUSED after one round trip."""
    run = simulate(client, policy=FixedPolicy(connect=Refuse()))
    assert _outer(run) == expected
    [failed] = run.facts("net.connect_failed")
    assert (failed["at"], failed["error"], failed["connection"]) == (0.01, "refused", "c1")


def test_host_without_a_service_refuses() -> None:
    """Where nobody listens, the connection is refused."""

    def prepare(world: Any) -> None:
        world.network.unlisten(None, None)

    run = simulate(_plain_socket, prepare=prepare)
    assert _outer(run) == "ConnectionRefusedError"


@pytest.mark.parametrize("client", [_plain_socket, _plain_stream], ids=lambda c: c.__name__[1:])
def test_unreachable_host_is_told(client: Callable[[], Any]) -> None:
    """No way to the host is EHOSTUNREACH."""
    run = simulate(client, policy=FixedPolicy(connect=Unreachable()))
    assert isinstance(run.error, OSError)
    assert run.error.errno == errno.EHOSTUNREACH
    assert run.facts("net.connect_failed")[0]["error"] == "unreachable"


@pytest.mark.parametrize(
    ("client", "expected"),
    [
        (_httpx_get, "ConnectTimeout"),
        (_httpx_async_get, "ConnectTimeout"),
        (_requests_get, "ConnectTimeout"),
        (_aiohttp_get, "TimeoutError"),
    ],
    ids=lambda value: getattr(value, "__name__", "")[1:] or None,
)
def test_blackhole_meets_the_clients_own_deadline(client: Callable[[], Any], expected: str) -> None:
    """Nobody answers: the client gives up after its own five virtual seconds."""
    run = simulate(client, policy=FixedPolicy(connect=Blackhole()))
    assert _outer(run) == expected
    assert run.seconds == pytest.approx(5)
    [closed] = run.facts("net.closed")
    assert (closed["at"], closed["how"], closed["connection"]) == (5.0, "abort", "c1")


@pytest.mark.parametrize("client", [_plain_socket, _plain_stream], ids=lambda c: c.__name__[1:])
def test_blackhole_without_a_deadline_ends_after_127_seconds(client: Callable[[], Any]) -> None:
    """A client without a deadline hears ETIMEDOUT from the system, as on Linux."""
    run = simulate(client, policy=FixedPolicy(connect=Blackhole()))
    assert _outer(run) == "TimeoutError"
    assert isinstance(run.error, OSError)
    assert run.error.errno == errno.ETIMEDOUT
    assert run.seconds == pytest.approx(127)
    assert run.facts("net.connect_failed")[0]["error"] == "timed_out"


@pytest.mark.parametrize(
    ("client", "expected"),
    [
        (_httpx_get, "ConnectError"),
        (_httpx_async_get, "ConnectError"),
        (_requests_get, "ConnectionError"),
        (_aiohttp_get, "ClientConnectorDNSError"),
        (_plain_socket, "gaierror"),
        (_plain_stream, "gaierror"),
    ],
    ids=lambda value: getattr(value, "__name__", "")[1:] or None,
)
def test_failed_lookup_is_a_gaierror(client: Callable[[], Any], expected: str) -> None:
    """A name that does not resolve is a gaierror, after the lookup's delay, without a connect."""
    policy = FixedPolicy(resolve=ResolveFails(delay_ns=2 * SECOND))
    run = simulate(client, policy=policy)
    assert _outer(run) == expected
    assert "Name or service not known" in str(run.error)
    assert run.kinds == ["net.resolving", "net.resolve"]
    [lookup] = run.facts("net.resolve")
    assert lookup == {
        "at": 2.0,
        "host": "api.example.com",
        "call": None,
        "address": None,
        "error": "not_found",
    }


def test_temporary_lookup_failure_has_its_own_number() -> None:
    """A resolver that cannot answer just now is EAI_AGAIN."""
    run = simulate(_plain_socket, policy=FixedPolicy(resolve=ResolveFails(temporary=True)))
    assert isinstance(run.error, socket.gaierror)
    assert run.error.errno == socket.EAI_AGAIN
    assert run.kinds == ["net.resolve"]


@pytest.mark.parametrize("client", GETS, ids=lambda client: client.__name__[1:])
def test_slow_lookup_only_takes_time(client: Callable[[], Any]) -> None:
    """A delayed lookup delays the connection by exactly as much."""
    policy = FixedPolicy(resolve=Resolve(delay_ns=3 * SECOND))
    run = simulate(client, policy=policy)
    assert run.error is None
    assert run.facts("net.connect")[0]["at"] == 3.0


@pytest.mark.parametrize(
    ("client", "expected"),
    [
        (_httpx_get, "ReadError"),
        (_httpx_async_get, "ReadError"),
        (_requests_get, "ConnectionError"),
        (_aiohttp_get, "ClientOSError"),
    ],
    ids=lambda value: getattr(value, "__name__", "")[1:] or None,
)
def test_reset_before_the_answer(client: Callable[[], Any], expected: str) -> None:
    """A reset in place of an answer is ECONNRESET to the client."""
    run = simulate(client, (THINK, RESET))
    assert _outer(run) == expected
    assert run.facts("net.reset")[0]["at"] == pytest.approx(0.04)


@pytest.mark.parametrize(
    ("client", "expected"),
    [
        (_httpx_get, "ReadError"),
        (_httpx_async_get, "ReadError"),
        (_requests_get, "ChunkedEncodingError"),
        (_aiohttp_get, "ClientPayloadError"),
    ],
    ids=lambda value: getattr(value, "__name__", "")[1:] or None,
)
def test_reset_in_the_middle_of_the_body(client: Callable[[], Any], expected: str) -> None:
    """Bytes before a reset arrive first, then the reset."""
    start = head(200, [("content-type", "application/json"), ("content-length", "100")])
    run = simulate(client, raw_reply(start + b"{", RESET))
    assert _outer(run) == expected
    assert run.kinds[-3:-1] == ["net.delivered", "net.reset"]


@pytest.mark.parametrize(
    ("client", "expected"),
    [
        (_httpx_get, "RemoteProtocolError"),
        (_httpx_async_get, "RemoteProtocolError"),
        (_requests_get, "ChunkedEncodingError"),
        (_aiohttp_get, "ClientPayloadError"),
    ],
    ids=lambda value: getattr(value, "__name__", "")[1:] or None,
)
def test_truncation_with_a_clean_end(client: Callable[[], Any], expected: str) -> None:
    """A body that ends too early with a clean end of stream is found by the HTTP client."""
    start = chunked_head("application/json") + chunks(b'{"id"', last=False)
    run = simulate(client, raw_reply(start, FIN))
    assert _outer(run) == expected
    assert "net.eof" in run.kinds


@pytest.mark.parametrize(
    ("client", "expected"),
    [
        (_httpx_get, "ReadTimeout"),
        (_httpx_async_get, "ReadTimeout"),
        (_requests_get, "ReadTimeout"),
        (_aiohttp_get, "TimeoutError"),
    ],
    ids=lambda value: getattr(value, "__name__", "")[1:] or None,
)
def test_stall_meets_the_read_deadline(client: Callable[[], Any], expected: str) -> None:
    """A server that never answers meets the client's read deadline, in virtual time."""
    run = simulate(client, (THINK, STALL))
    assert _outer(run) == expected
    assert 5.0 <= run.seconds < 5.1
    assert len(run.facts("net.closed")) == 1


@pytest.mark.parametrize("client", GETS, ids=lambda client: client.__name__[1:])
def test_client_recovers_on_the_next_attempt(client: Callable[[], Any]) -> None:
    """One bad connection leaves nothing behind: the next attempt in the same world works."""

    # aiohttp tries an idempotent request again by itself, so it may not even raise.
    errors = (requests.RequestException, httpx.HTTPError)

    def sync_subject() -> Any:
        with suppress(*errors):
            client()
        return client()

    async def async_subject() -> Any:
        with suppress(*errors):
            await client()
        return await client()

    subject = async_subject if inspect.iscoroutinefunction(client) else sync_subject
    run = simulate(subject, (THINK, RESET), json_reply(200, chat_completion()))
    assert run.value["id"] == "chatcmpl-1"
    assert [fact["connection"] for fact in run.facts("net.connect")][:2] == ["c1", "c2"]


def test_server_that_writes_after_the_client_left_gets_an_error() -> None:
    """Writing to a client that reset the connection is an OSError for the service, no crash."""
    slow = tuple(step for _ in range(5) for step in (Wait(SECOND), Send(b"HTTP/1.1 200 OK\r\n")))

    def subject() -> None:
        with socket.create_connection(("api.example.com", 80)) as sock:
            sock.sendall(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
            sock.recv(10)
            # Closing with unread bytes resets, as on Linux.
        asyncio.run(asyncio.sleep(10))

    run = simulate(subject, slow)
    assert run.error is None
    [error] = run.service.write_errors
    assert isinstance(error, ConnectionError)


def test_bytes_to_a_side_that_has_closed_are_answered_with_a_reset() -> None:
    """A client that writes to a connection which the server has closed learns of it later."""

    def subject() -> list[str]:
        sock = socket.create_connection(("api.example.com", 80))
        sock.sendall(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n")
        seen = [repr(sock.recv(100))]
        sock.sendall(b"more")
        asyncio.run(asyncio.sleep(1))
        for _ in range(2):
            try:
                sock.sendall(b"again")
            except OSError as error:
                seen.append(type(error).__name__)
        seen.append(repr(sock.recv(100)))
        return seen

    run = simulate(subject, (THINK, FIN))
    assert run.value == ["b''", "BrokenPipeError", "BrokenPipeError", "b''"]
    assert run.kinds[-2:] == ["net.reset", "net.closed"]
