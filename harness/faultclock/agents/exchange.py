"""One exchange over HTTP/1.1, without any I/O: bytes in, an answer or a failure out.

    exchange = ChatExchange(request)
    send(exchange.request_bytes)
    while not exchange.done:
        exchange.feed(receive())        # b"" when the other side closed the connection

What an answer is, and what its failures are called, is for `chat_exchange` and `json_exchange`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Generic, TypeVar
from urllib.parse import urlsplit

import h11

T = TypeVar("T")


class Exchange(ABC, Generic[T]):
    """The state of one exchange.

    Attributes:
        host, port, secure: where to connect; `authority`: host and port as the URL has them.
        target: path and query.
        request_bytes: the whole request, headers and body.
        answer: what the other side answered, once `done`.
        done: whether a good answer is whole.
        at_end: whether the other side's message was read to its end.
        keeps_alive: whether the request lets the connection live on.
    """

    keeps_alive = True
    request_bytes: bytes

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self.host = parts.hostname or ""
        self.secure = parts.scheme == "https"
        self.port = parts.port or (443 if self.secure else 80)
        self.authority = parts.netloc
        self.target = f"{parts.path}?{parts.query}" if parts.query else parts.path
        self.answer: T | None = None
        self.done = False
        self.at_end = False
        self._status = 0
        self._headers: dict[bytes, bytes] = {}
        self._body = bytearray()
        self._connection = h11.Connection(our_role=h11.CLIENT)

    def _written(
        self, method: str, target: str, headers: Sequence[tuple[str, str]], body: bytes
    ) -> bytes:
        events = (
            h11.Request(method=method, target=target, headers=list(headers)),
            h11.Data(data=body),
            h11.EndOfMessage(),
        )
        return b"".join(self._connection.send(event) or b"" for event in events)

    def feed(self, data: bytes) -> None:
        """Take received bytes; none at all means that the other side closed the connection.

        Raises:
            Exception: there will be no good answer.
        """
        try:
            self._connection.receive_data(data)
            while not self.at_end:
                event = self._connection.next_event()
                if event is h11.NEED_DATA or event is h11.PAUSED:
                    return
                self._handle(event)
        except h11.RemoteProtocolError as error:
            # What comes behind a whole answer changes nothing.
            if not self.done:
                raise self._broken(cut=not data) from error

    def _handle(self, event: object) -> None:
        match event:
            case h11.Response():
                self._status = event.status_code
                self._headers = dict(event.headers)
            case h11.Data():
                self._body += event.data
            case h11.EndOfMessage():
                self.at_end = True
                if not self.done:
                    self._answered(self._finish())

    def _answered(self, answer: T) -> None:
        self.answer, self.done = answer, True

    @abstractmethod
    def _finish(self) -> T:
        """Return the answer at the end of the message.

        Raises:
            Exception: it is no good answer.
        """

    @abstractmethod
    def _broken(self, *, cut: bool) -> Exception:
        """Return the failure of a message that is no HTTP/1.1, or was cut off."""

    @abstractmethod
    def unreachable(self, error: OSError) -> Exception:
        """Return the failure of a connection that does not work; a TimeoutError of its deadline."""
