"""Calls, and their attempts by the answer of the provider that they are for: the requests.

A good answer ends a request, and the next attempt begins another one. So does an attempt of a
stage that is tried again: that is the workflow's retry, not the transport's; and one with a tool's
result that the attempt before had not. An attempt that sends the very same body after a good answer
asks for that answer again, and belongs to it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise, starmap, zip_longest
from typing import Literal

from faultclock.model.trace.trace import TraceEvent
from faultclock.oracle.wire.chain import ended_well
from faultclock.oracle.wire.signals import Signal

Outcome = Literal["returned", "raised", "given_up", "good", "cut", "open"]


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
    outcome: Outcome
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
    def exited(self) -> TraceEvent | None:
        """The end of its process, where that ended by itself: then it had stopped trying."""
        return self.left if self.left is not None and self.left.exit_code is not None else None

    @property
    def over(self) -> TraceEvent | None:
        """What shows that it was over, however it came out; None where nothing does."""
        return self.end if self.end is not None else self.exited

    @property
    def bounds(self) -> tuple[int, ...]:
        """`seq` of its start, and of its end where it has one."""
        return (self.start.seq,) if self.end is None else (self.start.seq, self.end.seq)

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
class Course:
    """What happened around the attempts of a call.

    Attributes:
        staged: what the state machine was asked during the call.
        worked: what was done about the tools that the model asked for during the call.
        stop_ns: when it was stopped; None where it was not.
    """

    staged: Sequence[TraceEvent] = ()
    worked: Sequence[TraceEvent] = ()
    stop_ns: int | None = None


def in_requests(call: Call, course: Course, *, several: bool | None) -> tuple[Request, ...]:
    """Return the requests of a call, with their attempts numbered anew.

    Args:
        several: whether the call may ask for more than one answer; None: it does where it asks for
            something else behind a good answer.
    """
    if several:
        return tuple(_of_a_turn(call, course))
    if call.end is None and call.left is not None:
        return tuple(_of_a_program(call))
    if several is None and any(starmap(_asks_otherwise, pairwise(call.attempts))):
        return tuple(_of_a_turn(call, course))
    if call.stop is not None and call.stop.scope == "call" and call.attempts:
        return (_request(call, Course(stop_ns=course.stop_ns), 1, call.attempts, None),)
    outcome: Outcome = "returned" if call.returned else "raised" if call.raised else "open"
    return (Request(id=call.id, number=1, attempts=call.attempts, end=call.end, outcome=outcome),)


def _of_a_turn(call: Call, course: Course) -> Iterator[Request]:
    groups = list(_groups(call.attempts, lambda *two: _begins_request(course, *two)))
    before: Attempt | None = None
    for number, (group, following) in enumerate(zip_longest(groups, groups[1:]), 1):
        after = None if following is None else following[0].start
        request = _request(call, course, number, group, after)
        since = 0 if before is None else before.start.seq
        gated = _is_gated(course, since, group[0].start.seq)
        anew = before is not None and _begins_anew(course, before, group[0])
        yield replace(request, begins_stage=gated or anew)
        before = group[-1]


def _of_a_program(call: Call) -> Iterator[Request]:
    """Yield the requests of a program, of which only is known that no more came of them.

    A program may ask for many things at one address. It asks again with the same body; with
    another one it asks for something else, and has given up what failed before.
    """
    groups = list(_groups(call.attempts, _bodies_differ)) or [()]
    for number, (group, later) in enumerate(zip_longest(groups, groups[1:]), 1):
        following = call.exited if later is None else later[0].start
        outcome: Outcome = "cut"
        if following is not None and group and group[-1].outcome != "open":
            # What has ended, or does something else, tries no more.
            outcome = "good" if group[-1].outcome == "ok" else "given_up"
        yield Request(id=call.id, number=number, attempts=group, end=following, outcome=outcome)


def _groups(
    attempts: Sequence[Attempt], parted: Callable[[Attempt, Attempt], bool]
) -> Iterator[tuple[Attempt, ...]]:
    """Yield attempts in groups, numbered from 1 in each, parted between two as `parted` says."""
    group: list[Attempt] = []
    for attempt in attempts:
        if group and parted(group[-1], attempt):
            yield tuple(group)
            group = []
        group.append(replace(attempt, number=len(group) + 1))
    if group:
        yield tuple(group)


def _begins_request(course: Course, before: Attempt, attempt: Attempt) -> bool:
    return (
        (before.outcome == "ok" and not _same_body(before, attempt))
        or _asks_otherwise(before, attempt)
        or _has_more_results(before, attempt)
        or bool(before.node and attempt.node and before.node != attempt.node)
        or _is_gated(course, before.start.seq, attempt.start.seq)
        or _begins_anew(course, before, attempt)
    )


def _asks_otherwise(before: Attempt, attempt: Attempt) -> bool:
    """Return whether a good answer is followed by a request for something else.

    To read something again is no second attempt to read it: a client polls what works in the
    background.
    """
    one, other = before.asked, attempt.asked
    if before.outcome != "ok" or one is None or other is None:
        return False
    return one.method == "GET" or _place(one) != _place(other)


def _has_more_results(before: Attempt, attempt: Attempt) -> bool:
    """Return whether an attempt has the result of a tool call that the one before had not.

    No retry has: one agent gave up, say, and its failure is a result in the request of another.
    """
    return before.asked is not None and not _results_in(attempt) <= _results_in(before)


def _results_in(attempt: Attempt) -> set[str]:
    if attempt.asked is None:
        return set()
    found = {
        str(message["tool_call_id"])
        for message in attempt.asked.messages
        if message["role"] == "tool" and "tool_call_id" in message
    }
    return found.union(*(item["tool_call_ids"] for item in attempt.asked.in_words))


def _place(asked: TraceEvent) -> tuple[str | None, str]:
    return asked.method, str(asked.target).partition("?")[0]


def _is_gated(course: Course, since: int, until: int) -> bool:
    """Return whether an attempt of a stage began between two events."""
    return any(since < ask.seq < until for ask in course.staged if ask.phase == "check_gate")


def _begins_anew(course: Course, before: Attempt, attempt: Attempt) -> bool:
    """Return whether a node of a workflow is done again, after the tools of its answer."""
    return (
        before.outcome == "ok"
        and before.tool_calls
        and bool(attempt.node)
        and before.node == attempt.node
        and _same_body(before, attempt)
        and any(before.start.seq < event.seq < attempt.start.seq for event in course.worked)
    )


def _bodies_differ(one: Attempt, other: Attempt) -> bool:
    both = one.asked is not None and other.asked is not None
    return both and not _same_body(one, other)


def _same_body(one: Attempt, other: Attempt) -> bool:
    if one.asked is None or other.asked is None:
        return False
    return one.asked.body_sha256 == other.asked.body_sha256


def _request(
    call: Call,
    course: Course,
    number: int,
    attempts: tuple[Attempt, ...],
    after: TraceEvent | None,
) -> Request:
    final, stop, end = attempts[-1], call.stop, call.end
    took_over = next((event for event in course.staged if event.seq > final.events[-1]), None)
    outcome: Outcome = "open"
    known_by: TraceEvent | None = None
    if final.outcome == "ok":
        outcome = "good"
        if after is None and call.returned:
            outcome, known_by = "returned", end
    elif stop is not None and stop.seq > final.start.seq:
        outcome = "cut"
        attempts = (*attempts[:-1], _as_cut(final, course.stop_ns))
    elif took_over is not None:
        outcome, known_by = "given_up", took_over
    elif after is not None and final.failed:
        # The turn went on with another request, so this one was over.
        outcome, known_by = "given_up", after
    elif end is not None:
        outcome, known_by = "returned" if call.returned else "raised", end
    return Request(id=call.id, number=number, attempts=attempts, end=known_by, outcome=outcome)


def _as_cut(attempt: Attempt, stop_ns: int | None) -> Attempt:
    """Return the attempt as not ended where it was closed because its work was stopped."""
    own = attempt.signal is not None and attempt.signal.kind in ("deadline", "connect_timeout")
    if not own or (attempt.known_ns is not None and attempt.known_ns < (stop_ns or 0)):
        return attempt
    return replace(
        attempt, outcome="open", signal=None, knowable_ns=None, knowable_seq=None, known_ns=None
    )
