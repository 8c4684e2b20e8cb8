"""Calls of an adopted function: its arguments are made, and what it returns is read.

A function may return a text, an object of an SDK, or something that yields the pieces of an answer.
The pieces are joined, and each of them is reported as delivered when it comes: from then on, a
caller of this function has shown it to somebody.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import aclosing, closing, nullcontext
from typing import Any

from faultclock.subjects.adopt_signature import Wanted
from faultclock.subjects.ports import ProviderRequest
from faultclock.subjects.reading import StreamedReply, reply_of


def async_call(function: Callable[..., Any], wanted: Wanted) -> Callable[..., Awaitable[Any]]:
    """Return a coroutine function of a request that calls `function` and reads its answer."""

    async def call(request: ProviderRequest) -> Any:
        return await _answer(wanted.call(function, request), request)

    return call


def sync_call(function: Callable[..., Any], wanted: Wanted) -> Callable[..., Any]:
    """Return a blocking function of a request that calls `function` and reads its answer."""

    def call(request: ProviderRequest) -> Any:
        value = wanted.call(function, request)
        if inspect.isawaitable(value) or isinstance(value, AsyncIterator):
            # A plain function that returns a coroutine, as `lambda prompt: ask(prompt)` does.
            return asyncio.run(_answer(value, request))
        return _joined(value, request) if isinstance(value, Iterator) else reply_of(value)

    return call


async def _answer(value: Any, request: ProviderRequest) -> Any:
    if inspect.isawaitable(value):
        value = await value
    if isinstance(value, AsyncIterator):
        return await _joined_async(value, request)
    return _joined(value, request) if isinstance(value, Iterator) else reply_of(value)


def _joined(pieces: Iterator[Any], request: ProviderRequest) -> Any:
    streamed = StreamedReply()
    closable: Any = pieces
    with closing(closable) if hasattr(pieces, "close") else nullcontext():
        for piece in pieces:
            _deliver(streamed.add(piece), request)
    return streamed.reply()


async def _joined_async(pieces: AsyncIterator[Any], request: ProviderRequest) -> Any:
    streamed = StreamedReply()
    closable: Any = pieces
    async with aclosing(closable) if hasattr(pieces, "aclose") else nullcontext():
        async for piece in pieces:
            _deliver(streamed.add(piece), request)
    return streamed.reply()


def _deliver(piece: str, request: ProviderRequest) -> None:
    deliver = getattr(getattr(request, "host", None), "delivered", None)
    if deliver is not None and piece:
        deliver(piece)
