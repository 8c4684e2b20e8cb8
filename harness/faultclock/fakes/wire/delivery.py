"""How an answer goes out, with or without a fault: a pure script of timed steps.

`steps_of` turns an Answer and a Fault into Waits, bytes and an end. It sends nothing itself; the
provider plays the steps on a connection, so each fault's wire bytes are tested without a clock.

Cuts come one chunk interval after the last byte, as they would when the next piece was due.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from faultclock.errors import InternalError
from faultclock.fakes.wire.answer import Answer, ErrorFacts
from faultclock.model.scenario.fault import (
    AnswerEnds,
    CorruptBody,
    Fault,
    HttpError,
    OkWithErrorBody,
    ResetBeforeResponse,
    SlowDrip,
    Stall,
    StreamError,
    Truncate,
)

#: Where a server-sent event has its data. What garbles the name of a field garbles nothing else: a
#: line with an unknown field is ignored (WHATWG HTML, 9.2.6, 2026-11).
_DATA = re.compile(rb"^data: ?(.*)", re.MULTILINE)
#: SUBSTITUTE stands for a character that was garbled on the way. It is valid UTF-8, and JSON
#: allows it neither inside nor outside a string (RFC 8259, section 7).
_GARBLED = b"\x1a"


class Tempo(Struct, frozen=True, kw_only=True):
    """The delays of one answer, in nanoseconds.

    Attributes:
        think_ns: before its first byte.
        chunk_interval_ns: between two of its chunks, and behind the last one that is sent.
        gaps_ns: between its chunks, where they are not all alike: the first one is that between
            the first two.
    """

    think_ns: int
    chunk_interval_ns: int
    gaps_ns: tuple[int, ...] = ()

    def gap_ns(self, place: int) -> int:
        """Return how long after chunk `place` (0-based) the next one is due."""
        return self.gaps_ns[place] if place < len(self.gaps_ns) else self.chunk_interval_ns


class Wait(Struct, frozen=True):
    """Nothing happens for `delay_ns`."""

    delay_ns: int


class Fire(Struct, frozen=True):
    """Here the fault's effect reaches the wire."""


class Start(Struct, frozen=True):
    """Status line and headers of `answer`.

    Attributes:
        content_length: None where the body is sent in chunked coding.
    """

    answer: Answer
    content_length: int | None


class Body(Struct, frozen=True):
    """A piece of the body."""

    data: bytes


class ErrorEvent(Struct, frozen=True):
    """An error object inside a stream."""

    data: bytes
    error: ErrorFacts


class End(Struct, frozen=True):
    """The exchange is over; always the last step.

    Attributes:
        how: `complete` and `clean_end` end the message properly, `eof` closes the connection,
            `reset` resets it, `stalled` leaves it open and silent for ever.
        finish_reason: the one that was sent, if it was.
        text: the reply, if all of it was sent.
    """

    how: Literal["complete", "clean_end", "eof", "reset", "stalled"]
    finish_reason: str | None = None
    text: str | None = None


Step = Wait | Fire | Start | Body | ErrorEvent | End


def steps_of(
    answer: Answer,
    fault: Fault | None,
    tempo: Tempo,
    error_event: tuple[bytes, ErrorFacts] | None = None,
) -> Iterator[Step]:
    """Yield the steps in which `answer` goes out under `fault`.

    Args:
        answer: the good answer, or for the faults that replace it (HttpError, OkWithErrorBody,
            AnswerEnds) what comes in its place.
        fault: one that fits the answer (see `injector`), or None.
        error_event: what a StreamError puts into the stream.
    """
    yield Wait(tempo.think_ns)
    match fault:
        case None:
            yield from _whole(answer, tempo)
        case HttpError() | OkWithErrorBody() | AnswerEnds():
            yield Fire()
            yield from _whole(answer, tempo)
        case CorruptBody():
            yield Fire()
            yield from _whole(_corrupted(answer, fault), tempo)
        case ResetBeforeResponse():
            yield Fire()
            yield End(fault.how)
        case SlowDrip():
            yield Fire()
            yield from _dripped(answer, fault)
        case Truncate():
            yield from _truncated(answer, fault, tempo)
        case Stall():
            yield from _stalled(answer, fault, tempo)
        case StreamError():
            assert error_event is not None, "a stream error needs its event"
            yield from _broken_off(answer, fault, tempo, error_event)
        case _:
            raise InternalError(f"the fault {fault.kind!r} belongs to the network")


def _pieces(answer: Answer) -> tuple[bytes, ...]:
    """The end marker follows the last chunk at once, as providers send it."""
    *before, last = answer.chunks
    return (*before, last + answer.end_marker)


def _start(answer: Answer) -> Start:
    length = None if answer.stream else sum(map(len, answer.chunks))
    return Start(answer, length)


def _paced(pieces: tuple[bytes, ...], tempo: Tempo, first: int = 0) -> Iterator[Step]:
    """Yield `pieces`, of which the first is chunk `first` of the answer."""
    for index, piece in enumerate(pieces):
        if index:
            yield Wait(tempo.gap_ns(first + index - 1))
        yield Body(piece)


def _complete(answer: Answer) -> End:
    return End("complete", answer.finish_reason, answer.text)


def _whole(answer: Answer, tempo: Tempo) -> Iterator[Step]:
    yield _start(answer)
    yield from _paced(_pieces(answer), tempo)
    yield _complete(answer)


def _corrupted(answer: Answer, fault: CorruptBody) -> Answer:
    body = bytearray(b"".join(_pieces(answer)))
    first = min(fault.at_byte + _data_at(answer, body), len(body) - 1)
    last = min(first + fault.bytes_count, len(body))
    body[first:last] = _GARBLED * (last - first)
    pieces, start = [], 0
    for piece in _pieces(answer):
        pieces.append(bytes(body[start : start + len(piece)]))
        start += len(piece)
    # What the body says can no longer be vouched for, so neither reason nor text is claimed.
    return replace(answer, chunks=tuple(pieces), end_marker=b"", finish_reason=None, text=None)


def _data_at(answer: Answer, body: bytearray) -> int:
    """Return where the data begins that is garbled: of the first event with text, if one has any.

    Who passes over another event may still have the whole text.
    """
    events = list(_DATA.finditer(body)) if answer.stream else []
    for word in (answer.text or "").split()[:1]:
        events = [event for event in events if word.encode() in event[1]] or events
    return events[0].start(1) if events else 0


def _dripped(answer: Answer, fault: SlowDrip) -> Iterator[Step]:
    body = b"".join(_pieces(answer))
    yield _start(answer)
    for start in range(0, len(body), fault.bytes_per_step):
        if start:
            yield Wait(fault.every)
        yield Body(body[start : start + fault.bytes_per_step])
    yield _complete(answer)


def _split(
    answer: Answer, after_chunks: int | None, after_body_bytes: int | None
) -> tuple[tuple[bytes, ...], tuple[bytes, ...]]:
    """Return the pieces before and after the place where the answer is cut."""
    if after_chunks is not None:
        # Behind the last chunk only the end marker is left.
        rest = answer.chunks[after_chunks:]
        tail = (*rest[:-1], rest[-1] + answer.end_marker) if rest else (answer.end_marker,)
        return answer.chunks[:after_chunks], tail
    assert after_body_bytes is not None, "the fault says where it cuts"
    before: list[bytes] = []
    after: list[bytes] = []
    left = after_body_bytes
    for piece in _pieces(answer):
        before.append(piece[:left])
        after.append(piece[left:])
        left = max(0, left - len(piece))
    return tuple(filter(None, before)), tuple(filter(None, after))


def _finish_sent(answer: Answer, sent: tuple[bytes, ...]) -> str | None:
    return answer.finish_within(sum(map(len, sent)))


def _truncated(answer: Answer, fault: Truncate, tempo: Tempo) -> Iterator[Step]:
    sent, _ = _split(answer, fault.after_chunks, fault.after_body_bytes)
    yield _start(answer)
    yield from _paced(sent, tempo)
    yield Wait(tempo.gap_ns(len(sent) - 1) if sent else tempo.chunk_interval_ns)
    yield Fire()
    yield End(fault.how, _finish_sent(answer, sent))


def _stalled(answer: Answer, fault: Stall, tempo: Tempo) -> Iterator[Step]:
    before_the_head = fault.after_chunks is None and fault.after_body_bytes is None
    sent: tuple[bytes, ...] = ()
    rest = _pieces(answer)
    if not before_the_head:
        sent, rest = _split(answer, fault.after_chunks, fault.after_body_bytes)
        yield _start(answer)
        yield from _paced(sent, tempo)
    yield Fire()
    if fault.resume_after is None:
        yield End("stalled", _finish_sent(answer, sent))
        return
    yield Wait(fault.resume_after)
    if before_the_head:
        yield _start(answer)
    yield from _paced(rest, tempo, len(sent))
    yield _complete(answer)


def _broken_off(
    answer: Answer, fault: StreamError, tempo: Tempo, event: tuple[bytes, ErrorFacts]
) -> Iterator[Step]:
    sent = answer.chunks[: fault.after_chunks]
    yield _start(answer)
    yield from _paced(sent, tempo)
    if sent:
        yield Wait(tempo.gap_ns(len(sent) - 1))
    yield Fire()
    yield ErrorEvent(*event)
    yield End("complete", _finish_sent(answer, sent))
