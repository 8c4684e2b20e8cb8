"""The bytes of a connection as a request, and as an answer with the instant of each piece.

Pure. Of clients on `http.client`, what is seen is what their connections send and read: heads and
the framing of chunks as well. h11 tells these from the body.
"""

from __future__ import annotations

from collections.abc import Iterable

import h11
from msgspec import Struct

#: Some providers send long heads: cookies, policies.
_HEAD_BYTES_MAX = 1 << 20


class WireAnswer(Struct, frozen=True, kw_only=True):
    """What stood on the wire.

    Attributes:
        head_ns: when the head was complete.
        chunks: instant and number of bytes of each piece of the body.
        ending: `complete`; `eof` where the connection ended in the middle; None where the bytes
            end in the middle and the connection did not.
    """

    head_ns: int
    status: int
    message: str
    headers: tuple[tuple[str, str], ...]
    chunks: tuple[tuple[int, int], ...]
    body: bytes
    ending: str | None


class WireRequest(Struct, frozen=True, kw_only=True):
    """What was sent.

    Attributes:
        url: as a proxy gets it whole; else with the host that the headers name, and `https`.
    """

    method: str
    url: str
    headers: tuple[tuple[str, str], ...]
    body: bytes


def request_on_wire(sent: bytes) -> WireRequest | None:
    """Return the request that `sent` holds, as far as it goes; None where it is none."""
    wire = h11.Connection(h11.SERVER, max_incomplete_event_size=_HEAD_BYTES_MAX)
    head: h11.Request | None = None
    body = bytearray()
    try:
        wire.receive_data(sent)
        while (event := wire.next_event()) not in (h11.NEED_DATA, h11.PAUSED):
            if isinstance(event, h11.Request):
                head = event
            elif isinstance(event, h11.Data):
                body += event.data
            else:
                break
    except h11.ProtocolError:
        # A request that no server would take: what was understood of it is kept.
        pass
    if head is None:
        return None
    headers = _texts(head.headers.raw_items())
    target = head.target.decode("latin-1")
    host = next((value for name, value in headers if name.lower() == "host"), "")
    return WireRequest(
        method=head.method.decode("latin-1"),
        url=target if "://" in target else f"https://{host}{target}",
        headers=headers,
        body=bytes(body),
    )


def answer_on_wire(method: str, reads: Iterable[tuple[int, bytes]]) -> WireAnswer | None:
    """Return the answer that `reads` hold, as far as they go; None where there is no head.

    Args:
        method: of the request: an answer to HEAD has no body.
        reads: instant and bytes of each read, in order; none at all stand for the end.
    """
    wire = h11.Connection(h11.CLIENT, max_incomplete_event_size=_HEAD_BYTES_MAX)
    head: tuple[int, h11.Response] | None = None
    chunks: list[tuple[int, int]] = []
    body = bytearray()
    ending: str | None = None
    try:
        wire.send(h11.Request(method=method, target="/", headers=[("host", "recorded")]))
        wire.send(h11.EndOfMessage())
        for at_ns, data in reads:
            if wire.their_state in (h11.CLOSED, h11.ERROR):
                break
            ending = "eof" if not data and head is not None else None
            wire.receive_data(data)
            size = len(body)
            while (event := wire.next_event()) not in (h11.NEED_DATA, h11.PAUSED):
                if isinstance(event, h11.Response):
                    head = (at_ns, event)
                elif isinstance(event, h11.Data):
                    body += event.data
                elif isinstance(event, h11.EndOfMessage):
                    ending = "complete"
                elif not isinstance(event, h11.InformationalResponse):
                    break
            if len(body) > size:
                # The framing may cut one read into several pieces, which came together.
                chunks.append((at_ns, len(body) - size))
            if ending is not None:
                break
    except (h11.ProtocolError, ValueError):
        # Not HTTP any more from here on: what came before that was.
        pass
    if head is None:
        return None
    head_ns, response = head
    return WireAnswer(
        head_ns=head_ns,
        status=response.status_code,
        message=response.reason.decode("latin-1"),
        headers=_texts(response.headers.raw_items()),
        chunks=tuple(chunks),
        body=bytes(body),
        ending=ending,
    )


def _texts(headers: Iterable[tuple[bytes, bytes]]) -> tuple[tuple[str, str], ...]:
    return tuple((name.decode("latin-1"), value.decode("latin-1")) for name, value in headers)
