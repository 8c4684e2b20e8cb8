"""One request to a JSON service over HTTP/1.1, for the reference tool and extension.

`JsonExchange` is without any I/O: bytes in, the parsed answer or a failure out. `ask` and
`ask_blocking` carry its bytes over a connection of their own.
"""

from __future__ import annotations

import asyncio
import json
import socket
import time
from collections.abc import Callable
from typing import Any, Literal
from urllib.parse import urlsplit

import h11

from faultclock.agents.trust import tls

_READ_BYTES = 65_536
#: How often blocking code looks whether it is to stop, in seconds.
_LOOK_S = 0.25


class ServiceError(Exception):
    """The service gave no good answer. Carries what could be seen, and no judgement.

    Attributes:
        kind: where it was seen.
        status: HTTP status, None when there was none.
    """

    def __init__(
        self,
        kind: Literal["status", "deadline", "network", "malformed", "stopped"],
        status: int | None = None,
    ) -> None:
        super().__init__(f"the service failed: {kind} {status or ''}".rstrip())
        self.kind = kind
        self.status = status


class JsonExchange:
    """The state of one exchange.

    Attributes:
        host, port, secure: where to connect.
        request_bytes: the whole request.
        answer: the parsed body, once `done`.
        done: whether a good answer is whole.
    """

    def __init__(self, url: str, api_key: str | None = None, body: Any = None) -> None:
        parts = urlsplit(url)
        self.host = parts.hostname or ""
        self.secure = parts.scheme == "https"
        self.port = parts.port or (443 if self.secure else 80)
        self.answer: Any = None
        self.done = False
        self._status = 0
        self._body = bytearray()
        self._connection = h11.Connection(our_role=h11.CLIENT)
        headers = [("Host", parts.netloc), ("Accept", "application/json"), ("Connection", "close")]
        if api_key is not None:
            headers.append(("Authorization", f"Bearer {api_key}"))
        target = f"{parts.path}?{parts.query}" if parts.query else parts.path
        data = b"" if body is None else json.dumps(body).encode()
        if data:
            headers += [("Content-Type", "application/json"), ("Content-Length", str(len(data)))]
        method = "POST" if data else "GET"
        parts_sent = [
            self._connection.send(h11.Request(method=method, target=target, headers=headers)),
            self._connection.send(h11.Data(data=data)) if data else None,
            self._connection.send(h11.EndOfMessage()),
        ]
        self.request_bytes = b"".join(part for part in parts_sent if part)

    def feed(self, data: bytes) -> None:
        """Take received bytes; none at all means that the service closed the connection.

        Raises:
            ServiceError: there will be no good answer.
        """
        try:
            self._connection.receive_data(data)
            while not self.done:
                event = self._connection.next_event()
                if event is h11.NEED_DATA or event is h11.PAUSED:
                    return
                self._handle(event)
        except h11.RemoteProtocolError as error:
            # A status that is known says more than the missing rest of its body.
            if self._status >= 400:
                raise ServiceError("status", self._status) from error
            raise ServiceError("malformed" if data else "network") from error

    def _handle(self, event: object) -> None:
        match event:
            case h11.Response():
                self._status = event.status_code
            case h11.Data():
                self._body += event.data
            case h11.EndOfMessage():
                if self._status != 200:
                    raise ServiceError("status", self._status)
                self.answer = _parsed(bytes(self._body))
                self.done = True


async def ask(url: str, api_key: str | None, deadline_s: float, body: Any = None) -> Any:
    """Ask once and return the parsed body of a good answer.

    Args:
        deadline_s: from now.
        body: what is sent as JSON, by POST; None: nothing is sent, and the method is GET.

    Raises:
        ServiceError: there was none; the connection is closed by then.
    """
    exchange = JsonExchange(url, api_key, body)
    writer: asyncio.StreamWriter | None = None
    try:
        async with asyncio.timeout(deadline_s):
            reader, writer = await asyncio.open_connection(
                exchange.host, exchange.port, ssl=tls() if exchange.secure else None
            )
            writer.write(exchange.request_bytes)
            while not exchange.done:
                exchange.feed(await reader.read(_READ_BYTES))
            return exchange.answer
    except TimeoutError as error:
        raise ServiceError("deadline") from error
    except OSError as error:
        raise ServiceError("network") from error
    finally:
        if writer is not None:
            writer.transport.abort()


def ask_blocking(
    url: str, api_key: str | None, deadline_s: float, stopped: Callable[[], bool]
) -> Any:
    """Do what `ask` does with blocking sockets, looking now and then whether it is to stop."""
    exchange = JsonExchange(url, api_key)
    give_up_at = time.monotonic() + deadline_s
    try:
        with (
            socket.create_connection((exchange.host, exchange.port), deadline_s) as plain,
            _wrapped(plain, exchange) if exchange.secure else plain as connection,
        ):
            connection.sendall(exchange.request_bytes)
            while not exchange.done:
                exchange.feed(_received(connection, give_up_at, stopped))
            return exchange.answer
    except TimeoutError as error:
        raise ServiceError("deadline") from error
    except OSError as error:
        raise ServiceError("network") from error


def _wrapped(plain: socket.socket, exchange: JsonExchange) -> socket.socket:
    return tls().wrap_socket(plain, server_hostname=exchange.host)


def _received(connection: socket.socket, give_up_at: float, stopped: Callable[[], bool]) -> bytes:
    while True:
        left_s = give_up_at - time.monotonic()
        if left_s <= 0:
            raise TimeoutError("the deadline has passed")
        connection.settimeout(min(left_s, _LOOK_S))
        try:
            return connection.recv(_READ_BYTES)
        except TimeoutError:
            if stopped():
                raise ServiceError("stopped") from None


def _parsed(body: bytes) -> Any:
    try:
        return json.loads(body)
    except ValueError as error:
        raise ServiceError("malformed") from error
