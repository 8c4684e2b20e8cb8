"""The calls of a trace and their attempts, built once from what the world observed.

An attempt begins with the subject's act toward the provider: a name resolution that fails, a
connect, or the first bytes on a kept connection that has no open exchange. A resolution that
succeeds begins nothing, but when it leads to the connect at once, its time is the act's; in the
same way a connection that stands ready for a while begins nothing until it is used. Which call
made the attempt is what the network wrote down, never a guess from equal bodies.

An attempt ends when the subject could know: at the last byte, FIN or RST that reached it, at the
refusal, or when it closed the connection itself because its deadline had passed.

A provider adapter asks for one answer in a call, unless it makes a conversation first, or polls; a
runtime asks for several in a turn. Attempts for one answer are a Request (see `grouping`), and are
numbered within it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from faultclock.model.scenario.scenario import Scenario
from faultclock.model.trace.events import spans
from faultclock.model.trace.trace import Trace, TraceEvent
from faultclock.oracle.wire.exchanges import Draft, Ending, Endings, Wire
from faultclock.oracle.wire.grouping import Course, in_requests
from faultclock.oracle.wire.requests import Attempt, Call, Request, ask_the_same
from faultclock.oracle.wire.stops import first_stops, stopped_ns
from faultclock.oracle.wire.timing import timing_of

__all__ = ["Attempt", "Call", "Observation", "Request", "observe"]


#: Whether a call of a role asks for several answers; None: its requests show it.
_ASKS_FOR_SEVERAL: Mapping[str, bool | None] = {"runtime": True, "provider_adapter": None}


class Observation(Struct, frozen=True, kw_only=True):
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
    calls = {call.id: call for call in _calls(trace)}
    wire = Wire(trace, {id_: call.start for id_, call in calls.items()})
    drafts: dict[str, list[Draft]] = {}
    for draft in sorted(wire.drafts, key=lambda draft: draft.start.seq):
        end = calls[draft.call].end
        # What begins after the call is over is no attempt of it: an ordering rule speaks of that.
        if not draft.never_used and (end is None or draft.start.seq < end.seq):
            drafts.setdefault(draft.call, []).append(draft)
    staged = _by_call(trace.of_kind("stage.asked"))
    worked = _by_call(trace.of_kind("tool.called", "policy.decided", "interaction.shown"))
    timing = timing_of(trace)
    endings = Endings(
        latency_ns=trace.header.scenario.provider.latency, reaction_ns=timing.reaction_ns
    )
    late_ns = 0 if timing.exact else timing.late_ns + timing.reaction_ns
    places = places_of(trace.header.scenario)
    found = []
    for id_, call in calls.items():
        attempts = _attempts(drafts.get(id_, []), places, endings, over=call.over is not None)
        stop_ns = None if call.stop is None else stopped_ns(trace, call.start, call.stop)
        requests = in_requests(
            replace(call, attempts=attempts),
            Course(
                staged=staged.get(id_, ()),
                worked=worked.get(id_, ()),
                stop_ns=stop_ns,
                late_ns=late_ns,
            ),
            several=_ASKS_FOR_SEVERAL.get(trace.header.scenario.role, False),
        )
        numbered = (attempt for request in requests for attempt in request.attempts)
        in_order = tuple(sorted(numbered, key=lambda attempt: attempt.start.seq))
        found.append(replace(call, attempts=in_order, requests=requests))
    return Observation(
        calls=tuple(found),
        problems=tuple(dict.fromkeys(said for said, _ in wire.problems)),
        problem_events=tuple(event.seq for _, event in wire.problems),
    )


def _calls(trace: Trace) -> Iterable[Call]:
    """Return the calls of a trace in order, without their attempts."""
    found: dict[str, Call] = {}
    for span in spans(trace.events, "call.started"):
        # The first end counts, of those that the subject came to itself.
        ends: dict[str, TraceEvent] = {}
        for event in (span.ended, *span.parts):
            if event is not None:
                own = event.kind in ("call.returned", "call.raised")
                ends.setdefault("own" if own else event.kind, event)
        start, id_ = span.began, str(span.began.call)
        call = Call(
            id=id_,
            task=id_ if start.task is None else start.task,
            start=start,
            end=ends.get("own"),
            attempts=(),
            do=start.do,
            life=start.life,
            crashed=ends.get("call.crashed"),
            left=ends.get("call.left"),
        )
        found.setdefault(id_, call)
    stops = first_stops(trace, found.values())
    return [replace(call, stop=stops.get(id_)) for id_, call in found.items()]


def _by_call(events: Iterable[TraceEvent]) -> Mapping[str, list[TraceEvent]]:
    found: dict[str, list[TraceEvent]] = {}
    for event in events:
        found.setdefault(str(event.call), []).append(event)
    return found


# ------------------------------------------------------------------------------------ attempts


def _attempts(
    drafts: Sequence[Draft], places: Places, endings: Endings, *, over: bool
) -> tuple[Attempt, ...]:
    found: list[Attempt] = []
    for number, draft in enumerate(drafts, 1):
        # What neither ended nor was closed was given up, when the subject went on without it: when
        # it sent the same again. What it sends otherwise may be another request beside it.
        given_up = over or any(
            ask_the_same(draft.request, later.request) is not False for later in drafts[number:]
        )
        ending = endings.of(draft, given_up=given_up)
        attempt = _attempt(draft, number, ending, places)
        if ending.outcome == "failed":
            attempt = replace(attempt, content=endings.content_arrived(draft))
        found.append(attempt)
    return _with_nodes(found)


def _attempt(draft: Draft, number: int, ending: Ending, places: Places) -> Attempt:
    evidence = (draft.start, draft.request, draft.response, draft.stream_error, ending.known)
    ended, knowable, known = draft.exchange_ended, ending.knowable, ending.known
    good = ended if ending.outcome == "ok" else None
    return Attempt(
        call=draft.call,
        number=number,
        start=draft.start,
        outcome=ending.outcome,
        signal=ending.signal,
        knowable_ns=None if knowable is None else knowable.at_ns,
        knowable_seq=None if knowable is None else knowable.seq,
        known_ns=None if known is None else known.at_ns,
        text_sha256=None if good is None else good.text_sha256,
        tool_calls=ended is not None and ended.finish_reason == "tool_calls",
        provider=places.provider(draft.host, draft.request),
        node=places.node(draft.request),
        ends=None if good is None else good.ends,
        asked=draft.request,
        answered=good,
        events=tuple(sorted({fact.seq for fact in evidence if fact is not None})),
    )


# ------------------------------------------------------- where an attempt went, what it was for


class Places(Struct, frozen=True, kw_only=True):
    """What a scenario says of providers and nodes.

    A node's prompt is a message of its own in each request that is made for the node, so the trace
    shows whose request it is, without a word of the subject. Two nodes with one prompt are one.

    Attributes:
        providers: host to the id of a fallback; any other host is the first provider's.
        nodes: digest of a prompt to the node that has it.
    """

    providers: Mapping[str, str]
    nodes: Mapping[str, str]

    def provider(self, host: str, request: TraceEvent | None) -> str:
        """Return who answers at `host`: empty for the first provider.

        A log that was kept elsewhere may have no hosts, and say in the request who was asked.
        """
        if not host and request is not None:
            named = request.provider or ""
            return named if named in self.providers.values() else ""
        return self.providers.get(host, "")

    def node(self, request: TraceEvent | None) -> str:
        """Return the node that `request` is for; empty where it is unknown."""
        if request is None or not self.nodes:
            return ""
        digests = (item.get("content_sha256") for item in reversed(request.messages or ()))
        return next((self.nodes[digest] for digest in digests if digest in self.nodes), "")


def places_of(scenario: Scenario) -> Places:
    """Return the providers and the nodes of `scenario`."""
    nodes: dict[str, str] = {}
    for node in scenario.world.nodes:
        if node.do == "agent":
            nodes.setdefault(hashlib.sha256(node.prompt.encode()).hexdigest(), node.id)
    return Places(
        providers={provider.host_name: provider.id for provider in scenario.world.fallbacks},
        nodes=nodes,
    )


def _with_nodes(attempts: Sequence[Attempt]) -> tuple[Attempt, ...]:
    """Return the attempts, each with a node where its neighbours show it.

    What never reached a provider says nothing itself: after a failure it is for the same node as
    that, and otherwise for the node of the attempt after it.
    """
    found: list[Attempt] = []
    for index, attempt in enumerate(attempts):
        node = attempt.node
        if not node and attempt.asked is None:
            before = found[-1] if found and found[-1].failed else None
            later = (item.node for item in attempts[index + 1 :] if item.node)
            node = before.node if before is not None else next(later, "")
        found.append(attempt if node == attempt.node else replace(attempt, node=node))
    return tuple(found)
