"""What happened on the wire, by attempt: which events belong together, and how an attempt ended.

Connections are kept apart, so a call may use several at once. The provider's own record says what
was sent; what counts is what reached the subject. A stall is no failure until the subject's
deadline passes, and a reset that comes after the subject closed the connection is none of its
business.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from msgspec import Struct, field

from faultclock.model.duration import MICROSECOND_NS
from faultclock.model.error_model.error_model import SignalKind
from faultclock.model.trace.events import Span, spans
from faultclock.model.trace.trace import Trace, TraceEvent
from faultclock.oracle.wire.signals import Signal

#: What the subject does toward a provider.
_ACTS = ("net.resolving", "net.resolve", "net.connect", "net.sent")
#: What ends a connection; after an end of the stream the subject has yet to close its own.
_CLOSED = ("net.eof", "net.closed")
_OFF = ("net.connect_failed", "net.reset", *_CLOSED)
#: The first piece of a stream opens the answer and holds none of it yet.
_PIECES_WITHOUT_CONTENT = 1


class Draft(Struct, kw_only=True):
    """The facts of one attempt.

    Attributes:
        host: that it was for, in lower case; empty where nothing says so.
        exchange: its request, as the provider has it, and what belongs to that.
        broken_off: the first event after which nothing more can reach the subject.
        corrupted: whether what came in place of the answer cannot be read.
    """

    call: str
    start: TraceEvent
    host: str = ""
    connected: TraceEvent | None = None
    sent: bool = False
    exchange: Span[TraceEvent] | None = None
    delivered: list[TraceEvent] = field(default_factory=list)
    broken_off: TraceEvent | None = None
    corrupted: bool = False

    @property
    def request(self) -> TraceEvent | None:
        """The request as it reached the provider; None where it never did."""
        return None if self.exchange is None else self.exchange.began

    @property
    def response(self) -> TraceEvent | None:
        """The head of the answer."""
        return _part(self.exchange, "http.response")

    @property
    def stream_error(self) -> TraceEvent | None:
        """The error that the provider sent within the answer."""
        return _part(self.exchange, "http.stream_error")

    @property
    def exchange_ended(self) -> TraceEvent | None:
        """The end of the answer, as the provider sent it."""
        return None if self.exchange is None else self.exchange.ended

    @property
    def is_stream(self) -> bool:
        """Whether the request asked for a stream."""
        return self.request is not None and bool(self.request.stream)

    @property
    def never_used(self) -> bool:
        """Whether it asked for no answer: a spare connection, or one that only counts tokens."""
        if self.request is not None and self.request.counts:
            return True
        idle = self.connected is not None and not self.sent
        return idle and (self.broken_off is None or self.broken_off.kind in _CLOSED)


def _part(exchange: Span[TraceEvent] | None, kind: str) -> TraceEvent | None:
    parts = () if exchange is None else exchange.parts
    return next((event for event in parts if event.kind == kind), None)


class Wire:
    """The attempts on the wire of a trace, folded over its events.

    Args:
        started: the beginning of each call.

    Attributes:
        drafts: the attempts of all calls, in the order in which their connections were made.
        problems: acts that belong to no known call, in words, each with its event.
    """

    def __init__(self, trace: Trace, started: Mapping[str, TraceEvent]) -> None:
        self.drafts: list[Draft] = []
        self.problems: list[tuple[str, TraceEvent]] = []
        self._started = started
        self._open: dict[str, Draft] = {}
        # Requests at once look names up at once: the lookups of a call end in their order.
        self._resolving: dict[str, list[TraceEvent]] = {}
        self._resolved: dict[str, list[tuple[TraceEvent, int]]] = {}
        self._hosts: dict[str, str] = {}
        self._exchanges = {span.began.seq: span for span in spans(trace.events, "http.request")}
        self._fired = {(event.fault_kind, event.exchange) for event in trace.of_kind("fault.fired")}
        for event in trace.events:
            if event.kind in _ACTS:
                self._act(event)
            elif (draft := self._open.get(event.connection or "")) is not None:
                self._reached(event, draft)

    def _act(self, event: TraceEvent) -> None:
        call = event.call
        if call is None or call not in self._started or self._started[call].seq > event.seq:
            whose = "no call" if call is None else f"the unknown call {call}"
            self.problems.append((f"{event.kind} was made by {whose}", event))
        elif event.kind == "net.resolving":
            self._resolving.setdefault(call, []).append(event)
        elif event.kind == "net.resolve":
            begun = self._resolving.get(call, [])
            start = begun.pop(0) if begun else event
            if event.error is None:
                self._resolved.setdefault(call, []).append((start, event.at_ns))
            else:
                self.drafts.append(
                    Draft(call=call, start=start, host=_host(event), broken_off=event)
                )
        elif event.kind == "net.connect":
            # A lookup that led to the connect at once began the attempt.
            since_ns = event.at_ns - MICROSECOND_NS
            done = [item for item in self._resolved.get(call, ()) if item[1] >= since_ns]
            self._begin(event, call, start=done.pop(0)[0] if done else event)
            self._resolved[call] = done
        else:
            self._sent(event, call)

    def _begin(self, event: TraceEvent, call: str, start: TraceEvent) -> Draft:
        connection = str(event.connection)
        # A connection that is kept and used again says its host only when it is made.
        host = self._hosts.setdefault(connection, _host(event))
        self._open[connection] = Draft(call=call, start=start, host=host)
        self.drafts.append(self._open[connection])
        return self._open[connection]

    def _sent(self, event: TraceEvent, call: str) -> None:
        draft = self._open.get(str(event.connection))
        # Once an answer has begun to arrive, bytes that are sent belong to the next request.
        if draft is None or draft.delivered or draft.broken_off is not None:
            draft = self._begin(event, call, start=event)
            draft.connected = event
        elif not draft.sent:
            # A pool may give a connection that one call opened to another that needed one.
            draft.call = call
            up = draft.connected
            if up is not None and event.at_ns > up.at_ns + MICROSECOND_NS:
                # It stood ready until it was wanted: to ask is what begins the attempt.
                draft.start = event
        draft.sent = True

    def _reached(self, event: TraceEvent, draft: Draft) -> None:
        if event.kind == "net.connected":
            draft.connected = event
        elif event.kind == "net.delivered":
            draft.delivered.append(event)
        elif event.kind in _OFF:
            if draft.broken_off is None:
                draft.broken_off = event
            if event.kind != "net.eof":
                del self._open[str(event.connection)]
        elif event.kind == "http.request":
            if draft.request is not None:
                earlier = draft.request.exchange
                said = f"{event.exchange} was asked before {earlier} was answered"
                self.problems.append((said, event))
            draft.exchange = self._exchanges[event.seq]
            # What came in place of the answer, and is no error of the provider's, is a page.
            page = ("ok_with_error_body", event.exchange) in self._fired
            unnamed = draft.response is not None and draft.response.error is None
            broken = ("corrupt_body", event.exchange) in self._fired
            draft.corrupted = broken or (page and unnamed)


def _host(event: TraceEvent) -> str:
    return (event.host or "").lower()


# ------------------------------------------------------------------------ how an attempt ended


class Ending(Struct, frozen=True, kw_only=True):
    """The end of one attempt, as the subject could see it.

    Attributes:
        knowable: the earliest event by which the subject could know it.
        known: the latest such event. Both are None when the subject could not know.
    """

    outcome: Literal["ok", "failed", "open"]
    signal: Signal | None = None
    knowable: TraceEvent | None = None
    known: TraceEvent | None = None


class Endings(Struct, frozen=True, kw_only=True):
    """How attempts end on one network.

    Attributes:
        latency_ns: one-way delay of the network; shows which delivery carried an error event,
            where none says itself when it was sent.
        reaction_ns: how long a reader that has all it wants may take to close the connection.
    """

    latency_ns: int
    reaction_ns: int = MICROSECOND_NS

    def of(self, draft: Draft, *, given_up: bool) -> Ending:
        """Return how an attempt ended.

        Args:
            given_up: whether the subject went on without it, or its call is over.
        """
        response = draft.response
        if response is None or not draft.delivered:
            return _unanswered(draft, given_up=given_up)
        how = None if draft.exchange_ended is None else draft.exchange_ended.how
        last, off = draft.delivered[-1], draft.broken_off
        whole, status = how in ("complete", "clean_end"), response.status or 0
        if status >= 400:
            if not whole and off is None and not given_up:
                return Ending(outcome="open")
            error = response.error if whole else None
            signal = _signal("http_error", response, error, status=status)
            known = last if whole or off is None else off
            return Ending(outcome="failed", signal=signal, knowable=draft.delivered[0], known=known)
        if draft.stream_error is not None:
            return self._stream_error(draft, draft.stream_error, response)
        if whole and response.error is not None:
            signal = _signal("error_body", response, response.error)
            return Ending(outcome="failed", signal=signal, knowable=last, known=last)
        if whole and draft.corrupted:
            return _failed("malformed_body", last)
        if how == "complete" and not self._arrived(draft):
            how = "abandoned"
        return self._good_status(draft, how, given_up=given_up)

    def _good_status(self, draft: Draft, how: str | None, *, given_up: bool) -> Ending:
        last, off, stream = draft.delivered[-1], draft.broken_off, draft.is_stream
        finished, left = _has_a_reason(draft), self._left(draft)
        cut: SignalKind = "stream_cut" if stream else "body_cut"
        if how == "clean_end" or (how == "complete" and stream and not finished):
            return _failed(cut, last)
        # A reader of a stream may close the connection once it has the part that ends it. One that
        # closes it later waited for more, and gave up.
        if how == "complete" or (stream and finished and left):
            return Ending(outcome="ok", knowable=last, known=last)
        if off is None:
            return _failed("deadline", None) if given_up else Ending(outcome="open")
        if draft.corrupted and left:
            # It had read what it cannot be, and did not wait for the rest.
            return _failed("malformed_body", last)
        return _failed("deadline" if off.kind == "net.closed" else cut, off)

    def _stream_error(self, draft: Draft, error: TraceEvent, response: TraceEvent) -> Ending:
        last, off = draft.delivered[-1], draft.broken_off
        arrived = (item for item in draft.delivered if self._sent_ns(item) >= error.at_ns)
        carried = next(arrived, None)
        if carried is None and off is not None:
            # It never arrived: the subject saw the connection end first.
            if _has_a_reason(draft) and self._left(draft):
                # It came behind the end of the answer, and the reader had left with that.
                return Ending(outcome="ok", knowable=last, known=last)
            return _failed("deadline" if off.kind == "net.closed" else "stream_cut", off)
        signal = _signal("stream_error", response, error.error)
        return Ending(outcome="failed", signal=signal, knowable=carried or last, known=last)

    def content_arrived(self, draft: Draft) -> bool:
        """Return whether some content of a streamed answer reached the subject."""
        response, error = draft.response, draft.stream_error
        if response is None or not draft.is_stream or (response.status or 0) >= 400:
            return False
        before = (
            item for item in draft.delivered if error is None or self._sent_ns(item) < error.at_ns
        )
        return sum(1 for _ in before) > _PIECES_WITHOUT_CONTENT

    def _arrived(self, draft: Draft) -> bool:
        # The provider has sent all of it; the subject may have closed before the last part came.
        off, ended, last = draft.broken_off, draft.exchange_ended, draft.delivered[-1]
        if off is None or ended is None or off.kind != "net.closed":
            return True
        if last.sent_ns is not None:
            # All of it goes out before the exchange is over, and the last part at that instant.
            return last.sent_ns >= ended.at_ns
        return off.at_ns >= ended.at_ns + self.latency_ns

    def _left(self, draft: Draft) -> bool:
        last, off = draft.delivered[-1], draft.broken_off
        closed = off is not None and off.kind == "net.closed"
        return closed and off is not None and off.at_ns <= last.at_ns + self.reaction_ns

    def _sent_ns(self, delivery: TraceEvent) -> int:
        """Return when the provider had sent what a delivery brought."""
        # Where deliveries do not all take equally long, each says it.
        sent_ns = delivery.sent_ns
        return delivery.at_ns - self.latency_ns if sent_ns is None else sent_ns


def _unanswered(draft: Draft, *, given_up: bool) -> Ending:
    off = draft.broken_off
    late: SignalKind = "connect_timeout" if draft.connected is None else "deadline"
    if off is None:
        return _failed(late, None) if given_up else Ending(outcome="open")
    kinds: dict[str, SignalKind] = {
        "net.connect_failed": "connect_timeout" if off.error == "timed_out" else "connect_refused",
        "net.resolve": "dns_failure",
        "net.eof": "connection_closed",
        "net.reset": "connection_reset",
    }
    return _failed(kinds.get(off.kind, late), off)


def _has_a_reason(draft: Draft) -> bool:
    return draft.exchange_ended is not None and draft.exchange_ended.finish_reason is not None


def _failed(kind: SignalKind, known: TraceEvent | None) -> Ending:
    return Ending(outcome="failed", signal=Signal(kind=kind), knowable=known, known=known)


def _signal(
    kind: SignalKind,
    response: TraceEvent,
    error: Mapping[str, Any] | None,
    *,
    status: int | None = None,
) -> Signal:
    named = {name: str(value) for name, value in (error or {}).items() if value is not None}
    headers = {name.lower(): value for name, value in response.headers.items()}
    if response.retry_after is not None and "retry-after" not in response.headers:
        headers["retry-after"] = response.retry_after
    return Signal(
        kind=kind,
        status=status,
        error_code=named.get("code"),
        error_type=named.get("type"),
        means=named.get("means"),
        headers=headers,
        retry_delay=named.get("retry_delay"),
        message=named.get("message"),
    )
