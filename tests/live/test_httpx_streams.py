"""What the agent does with streams of httpx2, with a transport that is a test."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from types import SimpleNamespace
from typing import Any

import httpx2
import pytest

from faultclock.live.record.agent.channel import Exchange
from faultclock.live.record.agent.failures import kind_of
from faultclock.live.record.agent.httpx_streams import install
from faultclock.live.record.parts import takes_of
from faultclock.recordings.tape import Take

_OURS = object()


class _Channel:
    """Keeps what is sent."""

    def __init__(self) -> None:
        self.sent: list[dict[str, Any]] = []
        self.open: dict[int, Any] = {}

    def send(self, message: dict[str, Any]) -> None:
        self.sent.append({"pid": 1, **message})

    def take(self) -> Take:
        (take,) = takes_of(self.sent)
        return take


class _Pieces(httpx2.SyncByteStream, httpx2.AsyncByteStream):
    """Two pieces and perhaps an error."""

    def __init__(self, error: Exception | None = None) -> None:
        self.error = error
        self.closed = False

    def __iter__(self) -> Iterator[bytes]:
        yield from (b"one", b"two")
        if self.error is not None:
            raise self.error

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for piece in self:
            yield piece

    def close(self) -> None:
        self.closed = True

    async def aclose(self) -> None:
        self.closed = True


def _handlers(channel: Any) -> Any:
    stubs = SimpleNamespace(
        _vcr_handle_request=lambda *_: "vcrpy's own",
        _vcr_handle_async_request=lambda *_: "vcrpy's own",
        _make_vcr_request=lambda request, body: SimpleNamespace(
            method=request.method, uri=str(request.url), headers=request.headers, body=body
        ),
    )
    install(stubs, _OURS, lambda name, request: Exchange(channel, name, request), kind_of)
    return stubs


def _asked(channel: Any, status: int, inner: _Pieces) -> Any:
    request = httpx2.Request("POST", "https://api.example/v1", content=b"asked")

    def real(_: Any, __: Any) -> httpx2.Response:
        return httpx2.Response(status, stream=inner, headers={"x-of": "us"})

    return _handlers(channel)._vcr_handle_request(
        _OURS, real, httpx2.HTTPTransport(), request, httpx2
    )


def test_each_piece_is_passed_on_and_noted() -> None:
    """The program reads what it would have read."""
    channel = _Channel()
    response = _asked(channel, 200, _Pieces())
    assert list(response.stream) == [b"one", b"two"]
    take = channel.take()
    assert (take.how, take.status, take.request_body) == ("complete", 200, b"asked")
    assert (take.response_body, [size for _, size in take.chunks]) == (b"onetwo", [3, 3])
    assert channel.open == {}


def test_a_stream_that_is_closed_early_was_left() -> None:
    """What came until then is there."""
    channel, inner = _Channel(), _Pieces()
    response = _asked(channel, 200, inner)
    assert next(iter(response.stream)) == b"one"
    response.stream.close()
    assert inner.closed
    assert (channel.take().how, channel.take().response_body) == ("left", b"one")


def test_an_error_that_the_program_does_not_look_at_is_read_for_it() -> None:
    """A client that streams tries again as soon as it has seen the status."""
    channel, inner = _Channel(), _Pieces()
    _asked(channel, 429, inner).stream.close()
    assert inner.closed
    assert (channel.take().how, channel.take().response_body) == ("complete", b"onetwo")


def test_a_failure_of_a_body_nobody_asked_for_is_not_the_programs() -> None:
    """It closes, and hears nothing of it."""
    channel = _Channel()
    _asked(channel, 500, _Pieces(httpx2.ReadError("x"))).stream.close()
    assert channel.take().response_body == b"onetwo"


def test_a_stream_that_fails_fails_for_the_program_too() -> None:
    """With the same exception."""
    channel = _Channel()
    response = _asked(channel, 200, _Pieces(httpx2.ReadTimeout("x")))
    with pytest.raises(httpx2.ReadTimeout):
        list(response.stream)
    assert (channel.take().how, channel.take().failure) == ("failed", "stall")


def test_async_streams_are_the_same() -> None:
    """Piece by piece, and left when they are cancelled."""
    channel, inner = _Channel(), _Pieces()

    async def real(_: Any, __: Any) -> httpx2.Response:
        return httpx2.Response(200, stream=inner)

    async def ask() -> list[bytes]:
        request = httpx2.Request("POST", "https://api.example/v1")
        handle = _handlers(channel)._vcr_handle_async_request
        response = await handle(_OURS, real, httpx2.AsyncHTTPTransport(), request, httpx2)
        found = [piece async for piece in response.stream]
        await response.stream.aclose()
        return found

    assert asyncio.run(ask()) == [b"one", b"two"]
    assert inner.closed
    assert channel.take().how == "complete"


def test_other_cassettes_and_transports_within_the_process_are_left_alone() -> None:
    """What a program replays for itself, or answers itself, is no exchange with a provider."""
    channel = _Channel()
    request = httpx2.Request("GET", "https://api.example/v1")
    handle = _handlers(channel)._vcr_handle_request
    assert handle(object(), None, None, request, httpx2) == "vcrpy's own"
    inside = httpx2.MockTransport(lambda _: httpx2.Response(200))
    assert handle(_OURS, lambda _, __: "answered", inside, request, httpx2) == "answered"
    assert channel.sent == []


def test_who_leaves_has_not_failed() -> None:
    """A task that was cancelled says nothing of the provider."""
    channel = _Channel()
    response = _asked(channel, 200, _Pieces(error=None))
    pieces = iter(response.stream)
    next(pieces)
    with pytest.raises(asyncio.CancelledError):
        pieces.throw(asyncio.CancelledError())  # type: ignore[attr-defined]
    assert (channel.take().how, channel.take().failure) == ("left", None)
