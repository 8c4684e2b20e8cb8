"""Recording for whatever stands on `http.client`: urllib3, requests, boto3, httplib2, urllib.

vcrpy has stubs for these, which are not used. They read each answer to its end before the program
sees its first byte, and put the real classes back for a moment in every request, so that requests
of other threads slip through. Here nothing is replaced: what a connection sends and reads is noted
on its way, and the recorder finds request and answer in it.
"""

from __future__ import annotations

import contextlib
import functools
import io
import sys
import threading
from collections.abc import Callable, Iterator
from http.client import HTTPConnection, HTTPResponse
from types import SimpleNamespace
from typing import Any

_PORTS = {"http": 80, "https": 443}


class _Reads(io.RawIOBase):
    """A connection's raw stream, each read of which is told to the exchange that it is for."""

    def __init__(self, inner: Any, exchange: Any, kind_of: Callable[[BaseException], str]) -> None:
        self._inner = inner
        self._exchange = exchange
        self._kind_of = kind_of

    def __getattr__(self, name: str) -> Any:
        """Give what some clients look for beneath a stream, such as its socket."""
        return getattr(self._inner, name)

    def readable(self) -> bool:
        """Say that it can be read."""
        return True

    def readinto(self, buffer: Any) -> int | None:
        """Read what is there."""
        try:
            count: int | None = self._inner.readinto(buffer)
        except BaseException as error:
            self._exchange.fail(error, self._kind_of(error))
            raise
        if count is not None:
            # Nothing stands for the end of the connection.
            self._exchange.read(bytes(memoryview(buffer)[:count]))
        return count

    def fileno(self) -> int:
        """Return the descriptor beneath it."""
        return int(self._inner.fileno())

    def close(self) -> None:
        """Close it, and what is beneath it."""
        try:
            self._inner.close()
        finally:
            super().close()


def install(begin: Callable[[str, Any], Any], kind_of: Callable[[BaseException], str]) -> None:
    """Watch all connections of this process.

    Args:
        begin: begins an exchange, of the client and the request.
        kind_of: names a failure.
    """
    here = threading.local()
    _watch_requests(HTTPConnection, begin, kind_of)
    _watch_answers(HTTPConnection, here, kind_of)
    real_init = HTTPResponse.__init__

    @functools.wraps(real_init)
    def init(self: Any, *args: Any, **options: Any) -> None:
        real_init(self, *args, **options)
        exchange = getattr(here, "exchange", None)
        if exchange is not None and isinstance(self.fp, io.BufferedReader):
            self.fp = io.BufferedReader(_Reads(self.fp.detach(), exchange, kind_of))

    answer: Any = HTTPResponse
    close = answer._close_conn

    @functools.wraps(close)
    def closed(self: Any) -> Any:
        # Read to its end or not: its bytes say which.
        exchange = self.__dict__.get("_faultclock")
        if exchange is not None:
            exchange.end("left")
        return close(self)

    answer.__init__, answer._close_conn = init, closed
    if "urllib3.connectionpool" in sys.modules:
        # vcrpy has imported it, where it is installed.
        pools = sys.modules["urllib3.connectionpool"]
        _watch_pools(pools.HTTPConnectionPool, begin, kind_of)


def _watch_requests(
    connection: Any, begin: Callable[[str, Any], Any], kind_of: Callable[[BaseException], str]
) -> None:
    request, putrequest, send = connection.request, connection.putrequest, connection.send

    @functools.wraps(request)
    def requested(self: Any, method: str, url: str, *args: Any, **options: Any) -> Any:
        with _asked(self, args, options):
            return request(self, method, url, *args, **options)

    @functools.wraps(putrequest)
    def put(self: Any, method: str, url: str, *args: Any, **options: Any) -> Any:
        result = putrequest(self, method, url, *args, **options)
        asked = getattr(self, "_faultclock_asked", (None, None))
        self._faultclock = begin("http.client", _request(self, method, url, *asked))
        return result

    @functools.wraps(send)
    def sent(self: Any, data: Any) -> Any:
        exchange = getattr(self, "_faultclock", None)
        if exchange is None or exchange.is_over:
            return send(self, data)
        if self.sock is None and self.auto_open:
            # What a proxy is asked on the way is no part of the request.
            self._faultclock = None
        try:
            if self.sock is None and self.auto_open:
                self.connect()
            result = send(self, data)
        except BaseException as error:
            exchange.fail(error, kind_of(error))
            raise
        finally:
            self._faultclock = exchange
        if isinstance(data, (bytes, bytearray, memoryview)):
            exchange.send(bytes(data))
        return result

    connection.request, connection.putrequest, connection.send = requested, put, sent


@contextlib.contextmanager
def _asked(connection: Any, args: tuple[Any, ...], options: dict[str, Any]) -> Iterator[None]:
    """Keep headers and body of a request at hand: one that cannot be sent is seen nowhere else."""
    body = options.get("body", args[0] if args else None)
    headers = options.get("headers", args[1] if len(args) > 1 else None)
    connection._faultclock_asked = (headers, body)
    try:
        yield
    finally:
        connection._faultclock_asked = (None, None)


def _watch_answers(connection: Any, here: Any, kind_of: Callable[[BaseException], str]) -> None:
    getresponse = connection.getresponse

    @functools.wraps(getresponse)
    def answered(self: Any, *args: Any, **options: Any) -> Any:
        exchange = getattr(self, "_faultclock", None)
        if exchange is None or exchange.is_over:
            return getresponse(self, *args, **options)
        here.exchange = exchange
        try:
            response = getresponse(self, *args, **options)
        except BaseException as error:
            exchange.fail(error, kind_of(error))
            raise
        finally:
            here.exchange = None
        exchange.head()
        exchange.answer(response.status, response.reason, response.getheaders())
        if response.isclosed():
            exchange.end("left")
        else:
            response._faultclock = exchange
        return response

    connection.getresponse = answered


def _watch_pools(
    pool: Any, begin: Callable[[str, Any], Any], kind_of: Callable[[BaseException], str]
) -> None:
    """See connections fail that urllib3 opens before it begins a request, as it does for https."""
    make_request = pool._make_request

    @functools.wraps(make_request)
    def made(self: Any, conn: Any, method: str, url: str, *args: Any, **options: Any) -> Any:
        before = getattr(conn, "_faultclock", None)
        with _asked(conn, args, options):
            try:
                return make_request(self, conn, method, url, *args, **options)
            except BaseException as error:
                if getattr(conn, "_faultclock", None) is before:
                    request = _request(conn, method, url, *conn._faultclock_asked)
                    begin("http.client", request).fail(error, kind_of(error))
                raise

    pool._make_request = made


def _request(
    connection: Any, method: str, url: str, headers: Any = None, body: Any = None
) -> SimpleNamespace:
    """Return a request in the form of vcrpy's."""
    scheme = "https" if _is_secure(connection) else "http"
    host = getattr(connection, "_tunnel_host", None) or connection.host
    port = getattr(connection, "_tunnel_port", None) or connection.port
    place = f"[{host}]" if ":" in host else host
    if port != _PORTS[scheme]:
        place = f"{place}:{port}"
    uri = url if "://" in url.partition("?")[0] else f"{scheme}://{place}{url}"
    known = body is None or isinstance(body, (bytes, str))
    return SimpleNamespace(
        method=method, uri=uri, headers=dict(headers or {}), body=body if known else None
    )


def _is_secure(connection: Any) -> bool:
    return int(getattr(connection, "default_port", 80)) == _PORTS["https"]
