"""The reference's own I/O: one attempt on a fake connection, and the loop around attempts."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest

from faultclock.agents.adapter import ask_once, ask_once_blocking, reference, reference_sync
from faultclock.agents.chat_exchange import ChatExchange
from faultclock.subjects.ports import ProviderRequest, Reply, TypedError
from faultclock.subjects.stud import AttemptError

_BODY = b'{"choices": [{"message": {"content": "Hello"}}]}'
GOOD = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(_BODY), _BODY)
STREAM = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\ndata: %s\n\n"
BUSY = b"HTTP/1.1 429 X\r\nContent-Length: 0\r\nRetry-After: 7\r\n\r\n"


def test_an_attempt_sends_the_request_and_closes_in_peace(
    request_: ProviderRequest, connections: Callable[..., list[Any]]
) -> None:
    """A whole answer ends the connection properly."""
    writers = connections(GOOD)
    exchange = ChatExchange(request_)
    assert asyncio.run(ask_once(exchange, 30.0)) == Reply("Hello")
    assert (writers[0].written, writers[0].ended) == (exchange.request_bytes, "close")


def test_an_unfinished_exchange_is_dropped_at_once(
    request_: ProviderRequest, connections: Callable[..., list[Any]]
) -> None:
    """Nothing of it can reach the next attempt."""
    writers = connections(GOOD[:-5])
    with pytest.raises(AttemptError) as raised:
        asyncio.run(ask_once(ChatExchange(request_), 30.0))
    assert raised.value.kind == "cut"
    assert writers[0].ended == "abort"


@pytest.mark.parametrize("text", ["", "Hel"])
def test_a_failure_says_whether_some_of_the_answer_had_arrived(
    request_: ProviderRequest, connections: Callable[..., list[Any]], text: str
) -> None:
    """Once content was passed on, another provider must not begin the answer anew."""
    connections(STREAM % json.dumps({"choices": [{"delta": {"content": text}}]}).encode())
    with pytest.raises(AttemptError) as raised:
        asyncio.run(ask_once(ChatExchange(replace(request_, stream=True)), 30.0))
    assert (raised.value.kind, raised.value.after_content) == ("cut", bool(text))


@pytest.mark.parametrize(
    ("error", "kind"),
    [(ConnectionRefusedError(), "network"), (socket.gaierror(), "network")],
    ids=["refused", "no such host"],
)
def test_a_failed_connection_keeps_its_cause(
    request_: ProviderRequest,
    connections: Callable[..., list[Any]],
    error: OSError,
    kind: str,
) -> None:
    """What the system said is the cause of the failure."""
    connections(error)
    with pytest.raises(AttemptError) as raised:
        asyncio.run(ask_once(ChatExchange(request_), 30.0))
    assert (raised.value.kind, raised.value.__cause__) == (kind, error)


def test_a_deadline_ends_an_attempt_that_says_nothing(
    request_: ProviderRequest, connections: Callable[..., list[Any]]
) -> None:
    """The connection is dropped, the failure is told as a deadline."""
    writers = connections(None)
    with pytest.raises(AttemptError) as raised:
        asyncio.run(ask_once(ChatExchange(request_), 0.0))
    assert raised.value.kind == "deadline"
    assert [writer.ended for writer in writers] in (["abort"], [])


def test_the_call_waits_between_attempts_and_returns_the_answer(
    request_: ProviderRequest,
    connections: Callable[..., list[Any]],
    slept: list[float],
) -> None:
    """429 with Retry-After: 7, then a good answer."""
    connections(BUSY, GOOD)
    assert asyncio.run(reference.invoke_async(request_)) == Reply("Hello")
    assert slept == [7.0]


def test_the_call_ends_with_the_last_attempt(
    request_: ProviderRequest,
    connections: Callable[..., list[Any]],
    slept: list[float],
) -> None:
    """Three times no connection: two waits, then the typed error."""
    connections(*(ConnectionRefusedError() for _ in range(3)))
    with pytest.raises(TypedError, match="gave up after 3 attempts"):
        asyncio.run(reference.invoke_async(request_))
    assert len(slept) == 2


@pytest.fixture
def blocking(
    request_: ProviderRequest, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Callable[..., ProviderRequest]]:
    """Return a function that plans what each blocking connection receives."""
    peers: list[socket.socket] = []
    planned: Iterator[bytes] = iter(())

    def create_connection(address: Any, timeout: float) -> socket.socket:
        ours, theirs = socket.socketpair()
        theirs.sendall(next(planned))
        theirs.shutdown(socket.SHUT_WR)
        peers.append(theirs)
        ours.settimeout(timeout)
        return ours

    monkeypatch.setattr(socket, "create_connection", create_connection)

    def plan(*received: bytes) -> ProviderRequest:
        nonlocal planned
        planned = iter(received)
        return replace(request_, base_url="http://provider.test/v1")

    yield plan
    for peer in peers:
        peer.close()


def test_the_blocking_call_waits_and_returns_as_well(
    blocking: Callable[..., ProviderRequest], slept: list[float]
) -> None:
    """The same rules on blocking sockets."""
    assert reference_sync.invoke_sync(blocking(BUSY, GOOD)) == Reply("Hello")
    assert slept == [7.0]


def test_a_blocking_attempt_knows_a_cut_and_a_deadline(
    blocking: Callable[..., ProviderRequest],
) -> None:
    """The same failures, too."""
    with pytest.raises(AttemptError) as raised:
        ask_once_blocking(ChatExchange(blocking(GOOD[:-5])), 30.0)
    assert raised.value.kind == "cut"
    with pytest.raises(AttemptError) as raised:
        ask_once_blocking(ChatExchange(blocking(GOOD)), 0.0)
    assert raised.value.kind == "deadline"
