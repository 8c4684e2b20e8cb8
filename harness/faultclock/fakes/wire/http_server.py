"""The server side of one HTTP/1.1 connection, without I/O: bytes in, requests out, and back.

It stands on h11 for parsing and framing. It never sends, waits or knows what a request means;
it keeps the answers to pipelined requests in order by reading the next request only after the
answer to the one before is finished.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from http import HTTPStatus

import h11
from msgspec import Struct

from faultclock.model.scenario.provider_script import HttpAnswer

#: Longest request line plus headers, in bytes; beyond it a request is refused with 431.
_HEAD_BYTES_MAX = 64 * 1024
#: The words after a status, as RFC 7231 has them. Python 3.13 has those of RFC 9110 for four, and
#: the bytes of an answer must not depend on the Python that sends them.
_REASONS = {status.value: status.phrase for status in HTTPStatus} | {
    413: "Request Entity Too Large",
    414: "Request-URI Too Long",
    416: "Requested Range Not Satisfiable",
    422: "Unprocessable Entity",
}
#: h11 repeats the line that it cannot read.
_ECHO = re.compile(r":?\s*(?:bytearray\()?b['\"].*", re.DOTALL)


class HttpRequest(Struct, frozen=True, kw_only=True):
    """One whole request.

    Attributes:
        method: upper case, as sent.
        target: path and query.
        headers: lower-case names; repeated ones are joined with a comma and a space.
        body: with any chunked coding taken off.
    """

    method: str
    target: str
    headers: dict[str, str]
    body: bytes


def names_of(request: HttpRequest) -> tuple[str, ...]:
    """Return what a request is called in a script: with and without its method and its query."""
    places = dict.fromkeys((request.target, request.target.partition("?")[0]))
    return tuple(name for place in places for name in (f"{request.method} {place}", place))


def scripted(
    answers: Iterable[HttpAnswer], fitting: dict[int, int], request: HttpRequest
) -> HttpAnswer | None:
    """Return the first of `answers` that is for `request`; None where none is.

    Args:
        fitting: how many requests fitted each so far, by its place; it is changed in place.
    """
    named, chosen = names_of(request), None
    for place, answer in enumerate(answers):
        if answer.holds(named=named):
            fitting[place] = fitting.get(place, 0) + 1
            if chosen is None and fitting[place] in answer.nth:
                chosen = answer
    return chosen


class ContinueWanted(Struct, frozen=True, kw_only=True):
    """The client waits for `100 Continue` before it sends its body; send `answer`."""

    answer: bytes


class BadRequest(Struct, frozen=True, kw_only=True):
    """What arrived is not HTTP: send `answer`, then close.

    Attributes:
        reason: what the parser objected to.
    """

    answer: bytes
    reason: str


class ServerConnection:
    """Parses what one client sends and frames what is answered."""

    __slots__ = ("_body", "_h11", "_head", "_is_head")

    def __init__(self) -> None:
        self._h11 = h11.Connection(h11.SERVER, max_incomplete_event_size=_HEAD_BYTES_MAX)
        self._head: h11.Request | None = None
        self._body = bytearray()
        self._is_head = False

    @property
    def must_close(self) -> bool:
        """Whether no further request can follow on this connection."""
        return self._h11.our_state in {h11.MUST_CLOSE, h11.CLOSED, h11.ERROR}

    def receive(self, data: bytes) -> None:
        """Take bytes from the client; b"" means that it ended its stream."""
        self._h11.receive_data(data)

    def events(self) -> Iterator[HttpRequest | ContinueWanted | BadRequest]:
        """Yield what the bytes so far amount to.

        After a request it yields nothing until the answer is finished with `end`.
        """
        while True:
            try:
                event = self._h11.next_event()
            except h11.RemoteProtocolError as error:
                yield self._refuse(error)
                return
            if event is h11.NEED_DATA:
                if self._h11.they_are_waiting_for_100_continue:
                    informational = h11.InformationalResponse(status_code=100, headers=[])
                    yield ContinueWanted(answer=self._send(informational))
                return
            if event is h11.PAUSED or isinstance(event, h11.ConnectionClosed):
                return
            if isinstance(event, h11.Request):
                self._head = event
                self._body.clear()
            elif isinstance(event, h11.Data):
                self._body += event.data
            elif isinstance(event, h11.EndOfMessage):
                yield self._request()

    def start(self, status: int, headers: list[tuple[str, str]]) -> bytes:
        """Return the bytes of the status line and `headers`; a body framing is added."""
        reason = _REASONS.get(status, "")
        response = h11.Response(status_code=status, headers=headers, reason=reason)
        return self._send(response)

    def data(self, data: bytes) -> bytes:
        """Return the framed bytes of a piece of the body; nothing where none is allowed."""
        return b"" if self._is_head or not data else self._send(h11.Data(data=data))

    def end(self) -> bytes:
        """Return the bytes that end the body properly, and make ready for the next request."""
        end = self._send(h11.EndOfMessage())
        if self._h11.our_state is h11.DONE and self._h11.their_state is h11.DONE:
            self._h11.start_next_cycle()
        return end

    def _request(self) -> HttpRequest:
        head = self._head
        assert head is not None, "h11 ends a message only after its request line"
        headers: dict[str, str] = {}
        for raw_name, raw_value in head.headers:
            name, value = raw_name.decode("ascii"), raw_value.decode("latin-1")
            headers[name] = f"{headers[name]}, {value}" if name in headers else value
        method = head.method.decode("ascii")
        self._is_head = method == "HEAD"
        return HttpRequest(
            method=method,
            target=head.target.decode("latin-1"),
            headers=headers,
            body=bytes(self._body),
        )

    def _refuse(self, error: h11.RemoteProtocolError) -> BadRequest:
        status = error.error_status_hint
        if self._h11.our_state not in {h11.IDLE, h11.SEND_RESPONSE}:
            return BadRequest(answer=b"", reason=_reason(error))
        text = f"{status} {'Bad Request' if status == 400 else 'Request refused'}\n".encode()
        self._is_head = False
        headers = [
            ("content-type", "text/plain; charset=utf-8"),
            ("content-length", str(len(text))),
            ("connection", "close"),
        ]
        answer = self.start(status, headers) + self.data(text) + self.end()
        return BadRequest(answer=answer, reason=_reason(error))

    def _send(self, event: h11.Event) -> bytes:
        return self._h11.send(event) or b""


def _reason(error: h11.RemoteProtocolError) -> str:
    """Return what is wrong without the bytes that are: a key may be among them."""
    return _ECHO.sub("", str(error))
