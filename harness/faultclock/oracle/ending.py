"""How an attempt ended, as the subject could see it, and when it could know.

The provider's own record says what was sent; what counts is what reached the subject. A stall is
no failure until the subject's deadline passes, and a reset that comes after the subject closed
the connection is none of its business.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from faultclock.model.duration import MICROSECOND_NS
from faultclock.model.error_model import SignalKind
from faultclock.model.trace import TraceEvent
from faultclock.oracle.facts import Draft
from faultclock.oracle.signals import Signal

__all__ = ["Ending", "content_arrived", "ending_of"]

#: The first piece of a stream opens the answer and holds none of it yet.
_PIECES_WITHOUT_CONTENT = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """The end of one attempt.

    Attributes:
        knowable: the earliest event by which the subject could know it.
        known: the latest such event. Both are None when the subject could not know.
    """

    outcome: Literal["ok", "failed", "open"]
    signal: Signal | None = None
    knowable: TraceEvent | None = None
    known: TraceEvent | None = None


def ending_of(
    draft: Draft, latency_ns: int, *, given_up: bool, reaction_ns: int = MICROSECOND_NS
) -> Ending:
    """Return how the attempt of `draft` ended.

    Args:
        latency_ns: one-way delay of the network; shows which delivery carried an error event,
            where none says itself when it was sent.
        given_up: whether the subject went on without it, or its call is over.
        reaction_ns: how long a reader that has all it wants may take to close the connection.
    """
    if draft.response is not None and draft.delivered:
        return _answered(draft, draft.response, latency_ns, reaction_ns, given_up=given_up)
    return _unanswered(draft, given_up=given_up)


def content_arrived(draft: Draft, latency_ns: int) -> bool:
    """Return whether some content of a streamed answer reached the subject."""
    response, request = draft.response, draft.request
    if response is None or request is None or not request.stream:
        return False
    if (response.status or 0) >= 400:
        return False
    error = draft.stream_error
    pieces = [
        event
        for event in draft.delivered
        if error is None or _sent_ns(event, latency_ns) < error.at_ns
    ]
    return len(pieces) > _PIECES_WITHOUT_CONTENT


def _sent_ns(delivery: TraceEvent, latency_ns: int) -> int:
    """Return when the provider had sent what a delivery brought."""
    # Where deliveries do not all take equally long, each says it.
    sent_ns = delivery.sent_ns
    return delivery.at_ns - latency_ns if sent_ns is None else int(sent_ns)


def _unanswered(draft: Draft, *, given_up: bool) -> Ending:
    off = draft.broken_off
    late: SignalKind = "connect_timeout" if draft.connected is None else "deadline"
    if off is None:
        return _failed(late, None) if given_up else Ending(outcome="open")
    if off.kind == "net.connect_failed":
        timed_out = off.error == "timed_out"
        return _failed("connect_timeout" if timed_out else "connect_refused", off)
    kinds: dict[str, SignalKind] = {
        "net.resolve": "dns_failure",
        "net.eof": "connection_closed",
        "net.reset": "connection_reset",
    }
    return _failed(kinds.get(off.kind, late), off)


def _answered(
    draft: Draft, response: TraceEvent, latency_ns: int, reaction_ns: int, *, given_up: bool
) -> Ending:
    ended = {} if draft.exchange_ended is None else draft.exchange_ended.payload
    how, last = ended.get("how"), draft.delivered[-1]
    whole = how in ("complete", "clean_end")
    off = draft.broken_off
    status = response.status or 0
    if status >= 400:
        if not whole and off is None and not given_up:
            return Ending(outcome="open")
        error = response.error if whole else None
        signal = _signal("http_error", response, error, status=status)
        known = last if whole or off is None else off
        return Ending(outcome="failed", signal=signal, knowable=draft.delivered[0], known=known)
    if draft.stream_error is not None:
        return _stream_error(draft, draft.stream_error, response, latency_ns, reaction_ns)
    if whole and response.error is not None:
        signal = _signal("error_body", response, response.error)
        return Ending(outcome="failed", signal=signal, knowable=last, known=last)
    if whole and draft.corrupted:
        return _failed("malformed_body", last)
    if how == "complete" and not _arrived(draft, latency_ns):
        how = "abandoned"
    finish = ended.get("finish_reason")
    return _good_status(draft, how, finish, reaction_ns, given_up=given_up)


def _arrived(draft: Draft, latency_ns: int) -> bool:
    # The provider has sent all of it; the subject may have closed before the last part was there.
    off, ended = draft.broken_off, draft.exchange_ended
    if off is None or ended is None or off.kind != "net.closed":
        return True
    last = draft.delivered[-1]
    if "sent_ns" in last.payload:
        # All of it goes out before the exchange is over, and the last part at that instant.
        return _sent_ns(last, latency_ns) >= ended.at_ns
    return off.at_ns >= ended.at_ns + latency_ns


def _good_status(
    draft: Draft, how: object, finish: object, reaction_ns: int, *, given_up: bool
) -> Ending:
    last, off = draft.delivered[-1], draft.broken_off
    stream = draft.request is not None and bool(draft.request.stream)
    cut: SignalKind = "stream_cut" if stream else "body_cut"
    if how == "clean_end" or (how == "complete" and stream and finish is None):
        return _failed(cut, last)
    # A reader of a stream may close the connection once it has the part that ends it. Who closes
    # it later waited for more, and gave up.
    left = _left(draft, reaction_ns)
    if how == "complete" or (stream and finish is not None and left):
        return Ending(outcome="ok", knowable=last, known=last)
    if off is None:
        return _failed("deadline", None) if given_up else Ending(outcome="open")
    if draft.corrupted and left:
        # It had read what it cannot be, and did not wait for the rest.
        return _failed("malformed_body", last)
    return _failed("deadline" if off.kind == "net.closed" else cut, off)


def _left(draft: Draft, reaction_ns: int) -> bool:
    last, off = draft.delivered[-1], draft.broken_off
    return off is not None and off.kind == "net.closed" and off.at_ns <= last.at_ns + reaction_ns


def _stream_error(
    draft: Draft, error: TraceEvent, response: TraceEvent, latency_ns: int, reaction_ns: int
) -> Ending:
    last = draft.delivered[-1]
    arrived = next(
        (event for event in draft.delivered if _sent_ns(event, latency_ns) >= error.at_ns), None
    )
    if arrived is None and draft.broken_off is not None:
        # It never arrived: the subject saw the connection end first.
        off = draft.broken_off
        ended = {} if draft.exchange_ended is None else draft.exchange_ended.payload
        if ended.get("finish_reason") is not None and _left(draft, reaction_ns):
            # It came behind the end of the answer, and the reader had left with that.
            return Ending(outcome="ok", knowable=last, known=last)
        return _failed("deadline" if off.kind == "net.closed" else "stream_cut", off)
    signal = _signal("stream_error", response, error.error)
    return Ending(outcome="failed", signal=signal, knowable=arrived or last, known=last)


def _failed(kind: SignalKind, known: TraceEvent | None) -> Ending:
    return Ending(outcome="failed", signal=Signal(kind=kind), knowable=known, known=known)


def _signal(
    kind: SignalKind, response: TraceEvent, error: Any, *, status: int | None = None
) -> Signal:
    named = error if isinstance(error, dict) else {}
    headers = dict(response.headers or {})
    asked = response.retry_after
    if asked is not None:
        headers.setdefault("retry-after", str(asked))
    return Signal(
        kind=kind,
        status=status,
        error_code=_text(named.get("code")),
        error_type=_text(named.get("type")),
        means=_text(named.get("means")),
        headers={str(name).lower(): str(value) for name, value in headers.items()},
        retry_delay=_text(named.get("retry_delay")),
        message=_text(named.get("message")),
    )


def _text(value: object) -> str | None:
    return None if value is None else str(value)
