"""Recording for httpx and httpx2 that leaves a stream a stream.

vcrpy's own stub reads a whole answer before the program sees its first byte. Here its two handlers
are exchanged for ones that do the same with the request, and pass each piece of the answer on as
it comes. They are private to vcrpy 9.4, `stubs/httpx_stubs.py`, and looked up by name.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from typing import Any

_HANDLERS = ("_vcr_handle_request", "_vcr_handle_async_request")
#: Transports that stay within the process: there is no provider behind them.
_INSIDE = ("MockTransport", "ASGITransport", "WSGITransport")


def install(
    stubs: Any,
    cassette: Any,
    begin: Callable[[str, Any], Any],
    kind_of: Callable[[BaseException], str],
) -> None:
    """Exchange the handlers.

    Args:
        stubs: the module `vcr.stubs.httpx_stubs`.
        cassette: ours; requests of other cassettes, which are the program's, go their own way.
        begin: begins an exchange, of the client and the request.
        kind_of: names a failure.
    """
    plain, plain_async = (getattr(stubs, name) for name in _HANDLERS)
    streams: dict[str, tuple[type, type]] = {}

    def begun(httpx: Any, request: Any, body: bytes) -> Any:
        request.stream = httpx.ByteStream(body)
        return begin(httpx.__name__, stubs._make_vcr_request(request, body))

    def answered(httpx: Any, response: Any, exchange: Any, *, is_async: bool) -> Any:
        exchange.head()
        headers = response.headers.multi_items()
        exchange.answer(response.status_code, response.reason_phrase, headers)
        if httpx.__name__ not in streams:
            streams[httpx.__name__] = _streams(httpx, kind_of)
        kinds = streams[httpx.__name__]
        # By who asked: a stream may be of both kinds.
        failed = response.status_code >= 400
        response.stream = kinds[is_async](response.stream, exchange, failed)
        return response

    def handle(used: Any, real: Any, transport: Any, request: Any, httpx: Any) -> Any:
        if used is not cassette:
            return plain(used, real, transport, request, httpx)
        if _is_inside(transport, httpx):
            return real(transport, request)
        exchange = begun(httpx, request, b"".join(request.stream))
        with _telling(exchange, kind_of):
            response = real(transport, request)
        return answered(httpx, response, exchange, is_async=False)

    async def handle_async(used: Any, real: Any, transport: Any, request: Any, httpx: Any) -> Any:
        if used is not cassette:
            return await plain_async(used, real, transport, request, httpx)
        if _is_inside(transport, httpx):
            return await real(transport, request)
        exchange = begun(httpx, request, b"".join([part async for part in request.stream]))
        with _telling(exchange, kind_of):
            response = await real(transport, request)
        return answered(httpx, response, exchange, is_async=True)

    for name, handler in zip(_HANDLERS, (handle, handle_async), strict=True):
        setattr(stubs, name, handler)


def _is_inside(transport: Any, httpx: Any) -> bool:
    return isinstance(transport, tuple(getattr(httpx, name) for name in _INSIDE))


@contextmanager
def _telling(exchange: Any, kind_of: Callable[[BaseException], str]) -> Iterator[None]:
    """Tell the exchange what fails within."""
    try:
        yield
    except BaseException as error:
        exchange.fail(error, kind_of(error))
        raise


def _streams(httpx: Any, kind_of: Callable[[BaseException], str]) -> tuple[type, type]:
    """Return the classes of streams, sync and async, that tell what passes through them."""

    class Passing:
        """What both have in common."""

        def __init__(self, inner: Any, exchange: Any, failed: bool) -> None:
            self._inner = inner
            self._exchange = exchange
            self._unseen = failed

    class Sync(Passing, httpx.SyncByteStream):  # type: ignore[misc]
        """A sync stream."""

        def __iter__(self) -> Iterator[bytes]:
            self._unseen = False
            with _telling(self._exchange, kind_of):
                for part in self._inner:
                    self._exchange.chunk(part)
                    yield part
            self._exchange.end("complete")

        def close(self) -> None:
            """Close it; what is not over was left."""
            try:
                if self._unseen:
                    # A client that streams tries again without a look at what the error said.
                    for _ in self:
                        continue
            except Exception:  # noqa: BLE001 - the program has not asked for it; it was told
                self._unseen = False
            try:
                self._inner.close()
            finally:
                self._exchange.end("left")

    class Async(Passing, httpx.AsyncByteStream):  # type: ignore[misc]
        """An async stream."""

        async def __aiter__(self) -> AsyncIterator[bytes]:
            self._unseen = False
            with _telling(self._exchange, kind_of):
                async for part in self._inner:
                    self._exchange.chunk(part)
                    yield part
            self._exchange.end("complete")

        async def aclose(self) -> None:
            """Close it; what is not over was left."""
            try:
                if self._unseen:
                    async for _ in self:
                        continue
            except Exception:  # noqa: BLE001 - the program has not asked for it; it was told
                self._unseen = False
            try:
                await self._inner.aclose()
            finally:
                self._exchange.end("left")

    return Sync, Async
