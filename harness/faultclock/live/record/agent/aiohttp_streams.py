"""Recording for aiohttp that leaves a stream a stream.

vcrpy's stub prepares the request and would then read the whole answer. Its last step,
`record_responses` of vcrpy 9.4, `stubs/aiohttp_stubs.py`, is exchanged; the pieces of a body are
seen where aiohttp's parser hands them to the stream that the program reads from, whenever it does.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

_current: ContextVar[Any] = ContextVar("faultclock_exchange", default=None)


def install(
    aiohttp: Any,
    stubs: Any,
    cassette: Any,
    asked: ContextVar[Any],
    begin: Callable[[str, Any], Any],
    kind_of: Callable[[BaseException], str],
) -> None:
    """Patch `aiohttp.ClientSession` by way of vcrpy's stub.

    Args:
        stubs: the module `vcr.stubs.aiohttp_stubs`.
        asked: the request that vcrpy's stub made last, in this task.
        begin: begins an exchange, of the client and the request.
        kind_of: names a failure.
    """
    # By `id()`, which stays its own while the stream is kept here: it takes no weak references.
    watched: dict[int, tuple[Any, Any]] = {}
    _watch_streams(aiohttp.streams.StreamReader, watched, kind_of)
    _watch_responses(aiohttp.ClientResponse, watched, kind_of)
    plain = stubs.record_responses
    real_request = aiohttp.ClientSession._request

    @functools.wraps(real_request)
    async def request(self: Any, method: str, url: Any, **options: Any) -> Any:
        exchange = begin("aiohttp", asked.get())
        token = _current.set(exchange)
        try:
            return await real_request(self, method, url, **options)
        except BaseException as error:
            exchange.fail(error, kind_of(error))
            raise
        finally:
            _current.reset(token)

    async def record_responses(used: Any, vcr_request: Any, response: Any) -> None:
        if used is not cassette:
            await plain(used, vcr_request, response)
            return
        entry = watched.get(id(response.content)) or getattr(response, "_faultclock", None)
        if entry is None:
            return
        exchange = entry[1]
        if response.history:
            info = response.request_info
            headers = stubs._serialize_headers(info.headers)
            exchange.redirected(stubs.Request(info.method, str(info.url), None, headers))
        exchange.answer(response.status, response.reason, response.headers.items())
        if response.content.is_eof():
            exchange.end("complete")

    stubs.record_responses = record_responses
    aiohttp.ClientSession._request = stubs.vcr_request(cassette, request)


def _watch_streams(
    stream: Any, watched: dict[int, tuple[Any, Any]], kind_of: Callable[[BaseException], str]
) -> None:
    feed_data, feed_eof, set_exception = stream.feed_data, stream.feed_eof, stream.set_exception

    @functools.wraps(feed_data)
    def fed(self: Any, data: bytes, *rest: Any) -> Any:
        if id(self) in watched:
            watched[id(self)][1].chunk(data)
        return feed_data(self, data, *rest)

    @functools.wraps(feed_eof)
    def ended(self: Any) -> Any:
        entry = watched.pop(id(self), None)
        result = feed_eof(self)
        if entry is not None:
            entry[1].end("complete")
        return result

    @functools.wraps(set_exception)
    def failed(self: Any, error: Any, *rest: Any) -> Any:
        entry = watched.pop(id(self), None)
        result = set_exception(self, error, *rest)
        if entry is not None:
            instance = error if isinstance(error, BaseException) else error()
            entry[1].fail(instance, kind_of(instance))
        return result

    stream.feed_data, stream.feed_eof, stream.set_exception = fed, ended, failed


def _watch_responses(
    response: Any, watched: dict[int, tuple[Any, Any]], kind_of: Callable[[BaseException], str]
) -> None:
    start, close, release = response.start, response.close, response.release

    @functools.wraps(start)
    async def started(self: Any, connection: Any) -> Any:
        result = await start(self, connection)
        exchange = _current.get()
        if exchange is not None:
            exchange.head()
            # What came in one piece with the head is in the stream already.
            for piece in tuple(getattr(self.content, "_buffer", ())):
                exchange.chunk(piece)
            entry = (self.content, exchange)
            self._faultclock = entry
            if not self.content.is_eof():
                watched[id(self.content)] = entry
        return result

    def left(self: Any) -> None:
        entry = watched.pop(id(self.content), None)
        if entry is None:
            return
        error = sys.exc_info()[1]
        if isinstance(error, TimeoutError):
            entry[1].fail(error, kind_of(error))
        else:
            entry[1].end("left")

    @functools.wraps(close)
    def closed(self: Any) -> Any:
        left(self)
        return close(self)

    @functools.wraps(release)
    def released(self: Any) -> Any:
        left(self)
        return release(self)

    response.start, response.close, response.release = started, closed, released
