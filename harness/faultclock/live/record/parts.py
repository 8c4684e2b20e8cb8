"""What the agents reported, put together: one Take for each exchange, in the order of their starts.

All processes of a machine have one monotonic clock, so their exchanges can be merged by it.
"""

from __future__ import annotations

import binascii
from base64 import b64decode
from collections.abc import Iterable, Mapping
from typing import Any

from faultclock.recordings.tape import Take
from faultclock.recordings.wire import WireAnswer, answer_on_wire, request_on_wire


def takes_of(messages: Iterable[Mapping[str, Any]]) -> tuple[Take, ...]:
    """Return the exchanges; what is no message of ours is left out."""
    takes = []
    for message in messages:
        if message.get("kind") != "exchange":
            continue
        try:
            takes.append(_take(message))
        except (KeyError, TypeError, ValueError, AttributeError):
            # Another program wrote to our socket, or an agent of another version.
            continue
    return tuple(sorted(takes, key=lambda take: take.started_ns))


def _take(message: Mapping[str, Any]) -> Take:
    request, response = message["request"], message.get("response")
    reads = tuple((int(at_ns), _bytes(data) or b"") for at_ns, data in message["wire"])
    wire = answer_on_wire(request["method"], reads) if reads else None
    how, failure = _end(message, wire)
    status, reason, body = None, "", None
    headers: tuple[tuple[str, str], ...] = ()
    if wire is not None:
        status, reason, headers, body = wire.status, wire.message, wire.headers, wire.body
    elif response is not None:
        status, reason = int(response["status"]["code"]), str(response["status"]["message"])
        headers, body = _headers(response["headers"]), _bytes(response["body"])
    sent = message.get("sent")
    asked = None if sent is None else request_on_wire(_bytes(sent) or b"")
    head_ns = message.get("head_ns")
    chunks = tuple((int(at_ns), int(size)) for at_ns, size in message["chunks"])
    return Take(
        client=str(message["client"]),
        process=int(message["pid"]),
        wall_ns=int(message["wall_ns"]),
        started_ns=int(message["started_ns"]),
        head_ns=wire.head_ns if wire is not None else None if head_ns is None else int(head_ns),
        ended_ns=int(message["ended_ns"]),
        chunks=wire.chunks if wire is not None else chunks,
        how=how,
        failure=failure,
        method=str(request["method"]),
        url=str(request["uri"]),
        request_headers=_headers(request["headers"]) if asked is None else asked.headers,
        # What could not be sent stands in what was to be sent.
        request_body=_bytes(request["body"]) if asked is None or not asked.body else asked.body,
        status=status,
        message=reason,
        response_headers=headers,
        response_body=body,
    )


def _end(message: Mapping[str, Any], wire: WireAnswer | None) -> tuple[str, str | None]:
    """Return how an exchange ended, and its failure: the bytes know more than who closed it."""
    failure = message.get("failure")
    if failure is not None:
        return str(message["how"]), str(failure["kind"])
    if wire is not None and wire.ending is not None:
        return ("complete", None) if wire.ending == "complete" else ("failed", wire.ending)
    return str(message["how"]), None


def _headers(table: Mapping[str, list[str]]) -> tuple[tuple[str, str], ...]:
    return tuple((str(name), str(value)) for name, values in table.items() for value in values)


def _bytes(coded: str | None) -> bytes | None:
    try:
        return None if coded is None else b64decode(coded, validate=True)
    except binascii.Error:
        return None
