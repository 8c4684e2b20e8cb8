"""Requests: the attempts of a call, by the answer of the provider that they are for.

A good answer ends a request, and the next attempt begins another one. So does an attempt of a
stage that is tried again: that is the workflow's retry, not the transport's. An attempt that
sends the very same body after a good answer asks for that answer again, and belongs to it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from faultclock.model.trace import TraceEvent
from faultclock.oracle.chain import ended_well
from faultclock.oracle.signals import Signal

__all__ = ["Attempt", "Request", "in_requests"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One attempt of a call, as the world saw it.

    Attributes:
        number: 1-based within its request.
        start: the act that began it.
        outcome: `open` when the trace ends before it does.
        signal: what the subject could see of its failure; None unless it failed.
        knowable_ns: the earliest time at which its end could be known: an error status is known
            before the body that follows it.
        knowable_seq: the event at that time, for the order of things.
        known_ns: the latest such time; None when the subject could not know, and closed nothing.
        text_sha256: digest of the provider's whole text, when it was sent whole.
        tool_calls: whether the provider's answer asked for tools.
        provider: who was asked: empty for the first of the chain, or the id of a fallback.
        node: the node of the workflow that it was for; empty where it is unknown.
        content: whether some of the content of a streamed answer had arrived when it failed.
        ends: how a good answer ended that is not a whole one: `length`, `filtered`, `refused` or
            `empty`; None where it is whole.
        asked: the request as it reached the provider; None when it never did.
        answered: the provider's record of a good answer; None for any other.
        events: `seq` of the events that show it.
    """

    call: str
    number: int
    start: TraceEvent
    outcome: Literal["ok", "failed", "open"]
    signal: Signal | None
    knowable_ns: int | None
    knowable_seq: int | None
    known_ns: int | None
    text_sha256: str | None = None
    tool_calls: bool = False
    provider: str = ""
    node: str = ""
    content: bool = False
    ends: str | None = None
    asked: TraceEvent | None = None
    answered: TraceEvent | None = None
    events: tuple[int, ...] = ()

    @property
    def failed(self) -> bool:
        """Whether it ended with a failure."""
        return self.outcome == "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """The attempts to get one answer.

    Attributes:
        id: of its call.
        number: 1-based within its call.
        begins_stage: whether an attempt of a stage, or of a node, began between it and the
            request before it.
        end: how its end is known: the end of the call, or what the state machine was asked once
            the attempts had failed. None where nothing shows that they were given up.
        outcome: `returned` and `raised` when the call ended so with it; `given_up` when the
            state machine took over, or the turn went on with another node; `good` when it was
            answered and the turn went on; `cut` when a crash or a cancel came between; `open`
            when the trace ends before it does.
    """

    id: str
    number: int
    attempts: tuple[Attempt, ...]
    end: TraceEvent | None
    outcome: Literal["returned", "raised", "given_up", "good", "cut", "open"]
    begins_stage: bool = False

    @property
    def returned(self) -> bool:
        """Whether its call ended with a reply, after it."""
        return self.outcome == "returned"

    @property
    def raised(self) -> bool:
        """Whether its call ended with an error, after it."""
        return self.outcome == "raised"

    @property
    def gave_up(self) -> bool:
        """Whether the subject is known to have stopped trying."""
        return self.outcome in ("raised", "given_up")

    @property
    def last_failure(self) -> Attempt | None:
        """The attempt that it failed with: its last one, unless that one was good."""
        last = self.attempts[-1] if self.attempts else None
        return last if last is not None and last.failed else None


def in_requests(
    call: str,
    attempts: Sequence[Attempt],
    *,
    end: TraceEvent | None,
    stop: TraceEvent | None,
    staged: Sequence[TraceEvent],
    several: bool,
    worked: Sequence[TraceEvent] = (),
    exited: TraceEvent | None = None,
    unwatched: bool = False,
    stop_ns: int | None = None,
) -> tuple[Request, ...]:
    """Return the requests of a call, with their attempts numbered anew.

    Args:
        end: the end of the call; None when it has none.
        stop: the first event that stopped the work of the call from outside; None for none.
        staged: what the state machine was asked during the call.
        several: whether the call may ask for more than one answer.
        worked: what was done about the tools that the model asked for during the call.
        exited: the end of the process that made the call, where its outcome is unknown.
        unwatched: whether its outcome is unknown.
        stop_ns: when it was stopped; None: at `stop`.
    """
    if stop is not None and stop_ns is None:
        stop_ns = stop.at_ns
    if not several:
        if end is None and unwatched:
            return _untold(call, attempts, exited)
        outcome: Literal["returned", "raised", "open"] = "open"
        if end is not None:
            outcome = "returned" if ended_well(end) else "raised"
        if stop is not None and stop.scope == "call" and attempts:
            return (_request(call, 1, tuple(attempts), end, stop, stop_ns, (), None),)
        only = Request(id=call, number=1, attempts=tuple(attempts), end=end, outcome=outcome)
        return (only,)
    groups = list(_groups(attempts, staged, worked))
    if not groups:
        return ()
    gates = [event.seq for event in staged if event.phase == "check_gate"]
    found = []
    since = 0
    following = [group[0].start for group in groups[1:]]
    for number, group in enumerate(groups, 1):
        began = group[0].start.seq
        after = following[number - 1] if number < len(groups) else None
        request = _request(call, number, group, end, stop, stop_ns, staged, after)
        anew = number > 1 and _begins_anew(groups[number - 2][-1], group[0], worked)
        gated = any(since < seq < began for seq in gates)
        found.append(replace(request, begins_stage=gated or anew))
        since = began
    return tuple(found)


def _untold(
    call: str, attempts: Sequence[Attempt], exited: TraceEvent | None
) -> tuple[Request, ...]:
    """Return the requests of a program, of which only is known that no more came of them.

    A program may ask for many things at one address. It asks again with the same body; with
    another one it asks for something else, and has given up what failed before.
    """
    groups: list[list[Attempt]] = [[]]
    for attempt in attempts:
        before = groups[-1][-1] if groups[-1] else None
        if before is not None and _bodies_differ(before, attempt):
            groups.append([])
        groups[-1].append(replace(attempt, number=len(groups[-1]) + 1))
    found = []
    for number, group in enumerate(groups, 1):
        following = groups[number][0].start if number < len(groups) else exited
        outcome: Literal["given_up", "good", "cut"] = "cut"
        if following is not None and group and group[-1].outcome != "open":
            # Who has ended, or does something else, tries no more.
            outcome = "good" if group[-1].outcome == "ok" else "given_up"
        found.append(
            Request(id=call, number=number, attempts=tuple(group), end=following, outcome=outcome)
        )
    return tuple(found)


def _bodies_differ(one: Attempt, other: Attempt) -> bool:
    bodies = {attempt.asked.body_sha256 for attempt in (one, other) if attempt.asked}
    return len(bodies) == 2 and None not in bodies


def _groups(
    attempts: Sequence[Attempt], staged: Sequence[TraceEvent], worked: Sequence[TraceEvent]
) -> Iterator[tuple[Attempt, ...]]:
    gates = [event.seq for event in staged if event.phase == "check_gate"]
    group: list[Attempt] = []
    for attempt in attempts:
        before = group[-1] if group else None
        if before is not None and (
            (before.outcome == "ok" and not _same_body(before, attempt))
            or (before.node and attempt.node and before.node != attempt.node)
            or any(before.start.seq < seq < attempt.start.seq for seq in gates)
            or _begins_anew(before, attempt, worked)
        ):
            yield tuple(group)
            group = []
        group.append(replace(attempt, number=len(group) + 1))
    if group:
        yield tuple(group)


def _begins_anew(before: Attempt, attempt: Attempt, worked: Sequence[TraceEvent]) -> bool:
    """Return whether a node of a workflow is done again, after the tools of its answer."""
    return (
        before.outcome == "ok"
        and before.tool_calls
        and bool(attempt.node)
        and before.node == attempt.node
        and _same_body(before, attempt)
        and any(before.start.seq < event.seq < attempt.start.seq for event in worked)
    )


def _same_body(one: Attempt, other: Attempt) -> bool:
    if one.asked is None or other.asked is None:
        return False
    body = one.asked.body_sha256
    return body is not None and body == other.asked.body_sha256


def _as_cut(attempt: Attempt, stop_ns: int | None) -> Attempt:
    """Return the attempt as not ended where it was closed because its work was stopped."""
    own = attempt.signal is not None and attempt.signal.kind in ("deadline", "connect_timeout")
    if own and (attempt.known_ns is None or attempt.known_ns >= (stop_ns or 0)):
        return replace(
            attempt,
            outcome="open",
            signal=None,
            knowable_ns=None,
            knowable_seq=None,
            known_ns=None,
        )
    return attempt


def _request(
    call: str,
    number: int,
    attempts: tuple[Attempt, ...],
    end: TraceEvent | None,
    stop: TraceEvent | None,
    stop_ns: int | None,
    staged: Sequence[TraceEvent],
    after: TraceEvent | None,
) -> Request:
    final = attempts[-1]
    took_over = next((event for event in staged if event.seq > final.events[-1]), None)
    outcome: Literal["returned", "raised", "given_up", "good", "cut", "open"] = "open"
    known_by: TraceEvent | None = None
    if final.outcome == "ok":
        outcome = "good"
        if after is None and end is not None and ended_well(end):
            outcome, known_by = "returned", end
    elif stop is not None and stop.seq > final.start.seq:
        outcome = "cut"
        attempts = (*attempts[:-1], _as_cut(final, stop_ns))
    elif took_over is not None:
        outcome, known_by = "given_up", took_over
    elif after is not None and final.failed:
        # The turn went on with another request, so this one was over.
        outcome, known_by = "given_up", after
    elif end is not None:
        outcome, known_by = "returned" if ended_well(end) else "raised", end
    return Request(id=call, number=number, attempts=attempts, end=known_by, outcome=outcome)
