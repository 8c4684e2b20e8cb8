"""The facts of a trace, sorted by attempt: which events belong together. Says nothing of them.

Connections are kept apart, so a call may use several at once.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from faultclock.model.duration import MICROSECOND_NS
from faultclock.model.trace import Trace, TraceEvent

__all__ = ["Draft", "Facts", "read_facts"]


@dataclass(slots=True, kw_only=True)
class Draft:
    """The facts of one attempt while the trace is read."""

    call: str
    start: TraceEvent
    #: The host that it was for, in lower case; empty where nothing says so.
    host: str = ""
    connection: str | None = None
    connected: TraceEvent | None = None
    sent: bool = False
    request: TraceEvent | None = None
    response: TraceEvent | None = None
    stream_error: TraceEvent | None = None
    exchange_ended: TraceEvent | None = None
    delivered: list[TraceEvent] = field(default_factory=list)
    #: The first event after which nothing more can reach the subject.
    broken_off: TraceEvent | None = None
    corrupted: bool = False


class Facts:
    """What one pass over the events sorts them into.

    Attributes:
        started, ended: the first such event of each call.
        crashed: calls that the end of their process cut off.
        left: calls of unknown outcome: their process is over, or they were not watched on.
        staged: what the state machine was asked during each call.
        worked: what was done about the tools that the model asked for, likewise.
        drafts: the attempts of all calls, in the order in which they began.
        problems: acts that belong to no known call, in words; `problem_events` has their `seq`.
    """

    def __init__(self) -> None:
        self.started: dict[str, TraceEvent] = {}
        self.ended: dict[str, TraceEvent] = {}
        self.crashed: dict[str, TraceEvent] = {}
        self.left: dict[str, TraceEvent] = {}
        self.staged: dict[str, list[TraceEvent]] = {}
        self.worked: dict[str, list[TraceEvent]] = {}
        self.drafts: list[Draft] = []
        self.problems: list[str] = []
        self.problem_events: list[int] = []
        self._open: dict[str, Draft] = {}
        self._by_exchange: dict[str, Draft] = {}
        self._resolving: dict[str, TraceEvent] = {}
        self._resolved: dict[str, tuple[TraceEvent, int]] = {}
        self._corrupted: set[str] = set()
        self._replaced: set[str] = set()
        self._hosts: dict[str, str] = {}

    def read(self, event: TraceEvent) -> None:
        """Take in the next event."""
        kind, payload = event.kind, event.payload
        if kind == "call.started":
            self.started.setdefault(str(payload.get("call")), event)
        elif kind in ("call.returned", "call.raised"):
            self.ended.setdefault(str(payload.get("call")), event)
        elif kind == "call.crashed":
            self.crashed.setdefault(str(payload.get("call")), event)
        elif kind == "call.left":
            self.left.setdefault(str(payload.get("call")), event)
        elif kind == "stage.asked":
            self.staged.setdefault(str(payload.get("call")), []).append(event)
        elif kind in ("tool.called", "policy.decided", "interaction.shown"):
            self.worked.setdefault(str(payload.get("call")), []).append(event)
        elif kind in ("net.resolving", "net.resolve", "net.connect", "net.sent"):
            self._act(event)
        elif kind.startswith("net."):
            self._reached(event)
        elif kind.startswith("http."):
            self._provider(event)
        elif kind == "fault.fired" and payload.get("fault_kind") == "corrupt_body":
            exchange = str(payload.get("exchange"))
            self._corrupted.add(exchange)
            if exchange in self._by_exchange:
                self._by_exchange[exchange].corrupted = True
        elif kind == "fault.fired" and payload.get("fault_kind") == "ok_with_error_body":
            self._replaced.add(str(payload.get("exchange")))

    def _act(self, event: TraceEvent) -> None:
        call = event.call
        if call is None or str(call) not in self.started:
            whose = "no call" if call is None else f"the unknown call {call}"
            self.problems.append(f"{event.kind} was made by {whose}")
            self.problem_events.append(event.seq)
            return
        if event.kind == "net.resolving":
            self._resolving[str(call)] = event
        elif event.kind == "net.resolve":
            self._resolve(event, str(call))
        elif event.kind == "net.connect":
            self._begin(event, str(call), start=self._looked_up_for(event, str(call)))
        else:
            self._sent(event, str(call))

    def _resolve(self, event: TraceEvent, call: str) -> None:
        start = self._resolving.pop(call, event)
        if event.error is None:
            self._resolved[call] = (start, event.at_ns)
        else:
            draft = Draft(call=call, start=start, host=_host(event), broken_off=event)
            self.drafts.append(draft)

    def _looked_up_for(self, connect: TraceEvent, call: str) -> TraceEvent:
        """Return the lookup that led to `connect`, or `connect` where none led to it at once."""
        lookup, done_ns = self._resolved.pop(call, (connect, connect.at_ns))
        return lookup if connect.at_ns <= done_ns + MICROSECOND_NS else connect

    def _begin(self, event: TraceEvent, call: str, start: TraceEvent) -> Draft:
        connection = str(event.connection)
        # A connection that is kept and used again says its host only when it is made.
        host = self._hosts.setdefault(connection, _host(event))
        draft = Draft(call=call, start=start, host=host, connection=connection)
        self.drafts.append(draft)
        self._open[connection] = draft
        return draft

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

    def _reached(self, event: TraceEvent) -> None:
        connection = str(event.connection)
        draft = self._open.get(connection)
        if draft is None:
            return
        if event.kind == "net.connected":
            draft.connected = event
        elif event.kind == "net.delivered":
            draft.delivered.append(event)
        elif event.kind in ("net.connect_failed", "net.eof", "net.reset", "net.closed"):
            if draft.broken_off is None:
                draft.broken_off = event
            if event.kind != "net.eof":
                del self._open[connection]

    def _provider(self, event: TraceEvent) -> None:
        exchange = str(event.exchange)
        if event.kind == "http.request":
            draft = self._open.get(str(event.connection))
            if draft is not None:
                if draft.request is not None:
                    earlier = draft.request.exchange
                    self.problems.append(f"{exchange} was asked before {earlier} was answered")
                    self.problem_events.append(event.seq)
                draft.request = event
                draft.corrupted = exchange in self._corrupted
                self._by_exchange[exchange] = draft
            return
        draft = self._by_exchange.get(exchange)
        if draft is None:
            return
        if event.kind == "http.response":
            draft.response = event
            # What came in place of the answer, and is no error of the provider's, is a page.
            if exchange in self._replaced and event.error is None:
                draft.corrupted = True
        elif event.kind == "http.stream_error":
            draft.stream_error = event
        elif event.kind == "http.exchange_ended":
            draft.exchange_ended = event


def _host(event: TraceEvent) -> str:
    return str(event.host or "").lower()


def read_facts(trace: Trace) -> Facts:
    """Return the events of `trace`, sorted by attempt."""
    facts = Facts()
    for event in trace.events:
        facts.read(event)
    return facts
