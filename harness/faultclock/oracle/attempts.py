"""The calls of a trace and their attempts, built once from what the world observed.

An attempt begins with the subject's act toward the provider: a name resolution that fails, a
connect, or the first bytes on a kept connection that has no open exchange. A resolution that
succeeds begins nothing, but when it leads to the connect at once, its time is the act's; in the
same way a connection that stands ready for a while begins nothing until it is used. Which call
made the attempt is what the network wrote down, never a guess from equal bodies.

An attempt ends when the subject could know: at the last byte, FIN or RST that reached it, at the
refusal, or when it closed the connection itself because its deadline had passed.

A provider adapter asks for one answer in a call; a runtime asks for several in a turn. Attempts
for one answer are a Request (see `requests`), and are numbered within it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from faultclock.model.trace import Trace, TraceEvent
from faultclock.oracle.chain import ended_well
from faultclock.oracle.ending import Ending, content_arrived, ending_of
from faultclock.oracle.facts import Draft, Facts, read_facts
from faultclock.oracle.hosts import Places, places_of, with_nodes
from faultclock.oracle.requests import Attempt, Request, in_requests
from faultclock.oracle.stops import first_stops, stopped_ns
from faultclock.oracle.wall import timing_of

__all__ = ["Attempt", "Call", "Observation", "Request", "observe"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call of the subject: its start, its attempts in order, and its end if it has one.

    Attributes:
        do: what was asked for; `turn` for a runtime, `start`, `close`, `ask`... likewise.
        life: 1-based process of the subject in which it ran.
        crashed: the crash that cut it off; then it has no end.
        left: where its outcome is unknown: its process ended, or it was not watched on.
        stop: the first event that stopped its work from outside; None for none.
        requests: its attempts, by the answer that they are for.
    """

    id: str
    task: str
    start: TraceEvent
    end: TraceEvent | None
    attempts: tuple[Attempt, ...]
    do: str = "call"
    life: int = 1
    crashed: TraceEvent | None = None
    left: TraceEvent | None = None
    stop: TraceEvent | None = None
    requests: tuple[Request, ...] = ()

    @property
    def over(self) -> TraceEvent | None:
        """What shows that it was over, however it came out; None where nothing does."""
        return self.end if self.end is not None else _exit(self.left)

    @property
    def is_turn(self) -> bool:
        """Whether the provider is to be asked in it."""
        return self.do in ("call", "turn")

    @property
    def returned(self) -> bool:
        """Whether it ended with a reply."""
        return self.end is not None and ended_well(self.end)

    @property
    def raised(self) -> bool:
        """Whether it ended with an error."""
        return self.end is not None and not ended_well(self.end)

    @property
    def last_failure(self) -> Attempt | None:
        """The attempt that the call failed with: its last one, unless that one was good."""
        last = self.attempts[-1] if self.attempts else None
        return last if last is not None and last.failed else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Observation:
    """All calls of a trace.

    Attributes:
        problems: what could not be attributed, in words.
        problem_events: `seq` of those events.
    """

    calls: tuple[Call, ...]
    problems: tuple[str, ...] = ()
    problem_events: tuple[int, ...] = ()


def observe(trace: Trace) -> Observation:
    """Return the calls of `trace` with their attempts."""
    facts = read_facts(trace)
    drafts: dict[str, list[Draft]] = {}
    for draft in sorted(facts.drafts, key=lambda draft: draft.start.seq):
        end = facts.ended.get(draft.call)
        # What begins after the call is over is no attempt of it: an ordering rule speaks of that.
        if not _never_used(draft) and (end is None or draft.start.seq < end.seq):
            drafts.setdefault(draft.call, []).append(draft)
    stops = first_stops(trace, facts)
    places = places_of(trace.header.scenario)
    calls = tuple(
        _call(trace, facts, start, drafts.get(id_, []), places, stops.get(id_))
        for id_, start in facts.started.items()
    )
    return Observation(
        calls=calls,
        problems=tuple(dict.fromkeys(facts.problems)),
        problem_events=tuple(facts.problem_events),
    )


def _call(
    trace: Trace,
    facts: Facts,
    start: TraceEvent,
    drafts: list[Draft],
    places: Places,
    stop: TraceEvent | None,
) -> Call:
    id_ = str(start.call)
    end, crashed, left = facts.ended.get(id_), facts.crashed.get(id_), facts.left.get(id_)
    # A crash gives nothing up: what was open stays open.
    latency_ns = trace.header.scenario.provider.latency
    over = end is not None or _exit(left) is not None
    reaction_ns = timing_of(trace).reaction_ns
    found = tuple(_attempts(drafts, latency_ns, places, reaction_ns, over=over))
    attempts = with_nodes(found)
    requests = in_requests(
        id_,
        attempts,
        end=end,
        stop=stop,
        stop_ns=None if stop is None else stopped_ns(trace, start, stop),
        exited=_exit(left),
        unwatched=left is not None,
        staged=facts.staged.get(id_, ()),
        worked=facts.worked.get(id_, ()),
        several=trace.header.scenario.role == "runtime",
    )
    return Call(
        id=id_,
        task=str(start.payload.get("task", id_)),
        start=start,
        end=end,
        attempts=tuple(attempt for request in requests for attempt in request.attempts),
        do=str(start.do),
        life=start.life,
        crashed=crashed,
        left=left,
        stop=stop,
        requests=requests,
    )


def _exit(left: TraceEvent | None) -> TraceEvent | None:
    """Return `left` where the process of the call ended by itself: then it had stopped trying."""
    return left if left is not None and left.exit_code is not None else None


def _never_used(draft: Draft) -> bool:
    # A spare connection that was opened, never asked anything, and closed is no attempt.
    off = draft.broken_off
    idle = draft.connected is not None and not draft.sent
    return idle and (off is None or off.kind in ("net.closed", "net.eof"))


def _attempts(
    drafts: list[Draft], latency_ns: int, places: Places, reaction_ns: int, *, over: bool
) -> Iterator[Attempt]:
    for index, draft in enumerate(drafts):
        # What neither ended nor was closed was given up, when the subject went on without it.
        given_up = over or index + 1 < len(drafts)
        ending = ending_of(draft, latency_ns, given_up=given_up, reaction_ns=reaction_ns)
        attempt = _attempt(draft, index + 1, ending)
        yield replace(
            attempt,
            provider=places.provider(draft.host, draft.request),
            node=places.node(draft.request),
            content=attempt.failed and content_arrived(draft, latency_ns),
            ends=_ends(draft) if attempt.outcome == "ok" else None,
        )


def _ends(draft: Draft) -> str | None:
    ended = {} if draft.exchange_ended is None else draft.exchange_ended.payload
    ends = ended.get("ends")
    return None if ends is None else str(ends)


def _attempt(draft: Draft, number: int, ending: Ending) -> Attempt:
    evidence = (draft.start, draft.request, draft.response, draft.stream_error, ending.known)
    payload = {} if draft.exchange_ended is None else draft.exchange_ended.payload
    whole = ending.outcome == "ok"
    return Attempt(
        call=draft.call,
        number=number,
        start=draft.start,
        outcome=ending.outcome,
        signal=ending.signal,
        knowable_ns=None if ending.knowable is None else ending.knowable.at_ns,
        knowable_seq=None if ending.knowable is None else ending.knowable.seq,
        known_ns=None if ending.known is None else ending.known.at_ns,
        text_sha256=payload.get("text_sha256") if whole else None,
        tool_calls=payload.get("finish_reason") == "tool_calls",
        asked=draft.request,
        answered=draft.exchange_ended if whole else None,
        events=tuple(sorted({fact.seq for fact in evidence if fact is not None})),
    )
