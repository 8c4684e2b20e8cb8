"""Which attempts of a call are for one answer: the one rule for all that counts attempts.

An attempt goes on with a request where it can be its retry. What begins while that one is still
unanswered is another request, made at the same time; so is one of another conversation, which has
other instructions, other tools, or neither its first nor its last message. A good answer ends a
request, and the next attempt begins another one. So does an attempt of a stage that is tried again:
that is the workflow's retry, not the transport's; and one with a tool's result that the attempt
before had not. An attempt that asks the very same after a good answer asks for that answer again,
and belongs to it.

Of several requests at once, those whose retries may still have come when another one ended the call
are cut: nothing shows that they were given up.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal

from msgspec import Struct, field
from msgspec.structs import replace

from faultclock.model.duration import MILLISECOND_NS
from faultclock.model.trace.trace import TraceEvent
from faultclock.oracle.wire.requests import (
    Attempt,
    Call,
    Outcome,
    Request,
    ask_the_same,
    wait_before,
)
from faultclock.oracle.wire.retry_hints import floor_of

#: What a later attempt is to one before: it may be its retry; it is of another conversation, which
#: says nothing of the one before; or it shows that the turn has gone on.
Relation = Literal["retry", "other", "later"]
#: Roles of messages that instruct the model.
_INSTRUCTIONS = ("system", "developer")
#: Signals of an attempt that the subject itself closed.
_OWN = ("deadline", "connect_timeout")
#: So many requests in a row that say the same are one.
_ROUNDS_MIN = 3
#: Within this of the end of one request those beside it are dropped.
_DROPPED_WITHIN_NS = 10 * MILLISECOND_NS


class Course(Struct, frozen=True, kw_only=True):
    """What happened around the attempts of a call.

    Attributes:
        staged: what the state machine was asked during the call.
        worked: what was done about the tools that the model asked for during the call.
        stop_ns: when it was stopped; None where it was not.
        late_ns: how much later than it happened an end may have been seen.
    """

    staged: Sequence[TraceEvent] = ()
    worked: Sequence[TraceEvent] = ()
    stop_ns: int | None = None
    late_ns: int = 0


class _Line(Struct, eq=False):
    """The attempts for one answer.

    Attributes:
        bout: the same number for requests that ran at the same time.
    """

    bout: int
    attempts: list[Attempt] = field(default_factory=list)

    @property
    def last(self) -> Attempt:
        return self.attempts[-1]


def in_requests(call: Call, course: Course, *, several: bool | None) -> tuple[Request, ...]:
    """Return the requests of a call, with their attempts numbered anew.

    Args:
        several: whether the call may ask for more than one answer; None: it does where it asks for
            something else, or for two things at once.
    """
    if several:
        return tuple(_of_a_turn(call, course))
    if call.end is None and call.left is not None:
        return tuple(_of_a_program(call, course))
    if several is None and len(_lines(call.attempts, _of_a_client, course.late_ns)) > 1:
        return tuple(_of_a_turn(call, course))
    if call.stop is not None and call.stop.scope == "call" and call.attempts:
        return (_request(call, Course(stop_ns=course.stop_ns), call.attempts, None),)
    outcome: Outcome = "returned" if call.returned else "raised" if call.raised else "open"
    return (Request(id=call.id, number=1, attempts=call.attempts, end=call.end, outcome=outcome),)


# ------------------------------------------------------------------------------------- grouping


def _lines(
    attempts: Sequence[Attempt], relation: Callable[[Attempt, Attempt], Relation], late_ns: int
) -> list[_Line]:
    """Return the attempts by request, in the order in which these began, numbered from 1 in each.

    Args:
        attempts: in the order in which they began.
        relation: what an attempt is to an earlier one that was over.
    """
    lines: list[_Line] = []
    live: list[_Line] = []
    before: _Line | None = None
    for attempt in attempts:
        running = [item for item in live if not _is_over(item.last, attempt, late_ns)]
        over = [item for item in live if item not in running]
        bout = lines[-1].bout if lines else 0
        own = None
        may = [
            item
            for item in over
            if relation(item.last, attempt) == "retry"
            and (item is before or item.bout == bout or _same_question(item.last, attempt))
        ]
        if may:
            own = min(may, key=lambda item: _unlike(item.last, attempt))
        else:
            own = _Line(bout if running else bout + 1)
            lines.append(own)
            live = [
                item
                for item in live
                if item.bout == own.bout or relation(item.last, attempt) == "other"
            ]
            live.append(own)
        for item in running:
            item.bout = own.bout = max(item.bout, own.bout)
        own.attempts.append(replace(attempt, number=len(own.attempts) + 1))
        before = own
    return _without_clocks(lines, relation)


def _without_clocks(
    lines: Sequence[_Line], relation: Callable[[Attempt, Attempt], Relation]
) -> list[_Line]:
    """Return the requests, those joined that say the same each time under other instructions.

    Two may be two agents, of which one gave up. Three and more are one whose instructions hold the
    time of day, say.
    """
    alone = Counter(item.bout for item in lines)
    rows: list[list[_Line]] = []
    for line in lines:
        last = rows[-1][-1] if rows else None
        if (
            last is not None
            and alone[last.bout] == alone[line.bout] == 1
            and relation(last.last, line.attempts[0]) == "other"
            and _is_said_again(last.last, line.attempts[0])
        ):
            rows[-1].append(line)
        else:
            rows.append([line])
    joined: list[_Line] = []
    for row in rows:
        if len(row) < _ROUNDS_MIN:
            joined.extend(row)
            continue
        attempts = (item for line in row for item in line.attempts)
        numbered = [replace(item, number=number) for number, item in enumerate(attempts, 1)]
        joined.append(_Line(row[0].bout, numbered))
    return joined


def _is_over(before: Attempt, attempt: Attempt, late_ns: int) -> bool:
    """Return whether an attempt had ended when another one began, as the subject could know.

    One that nothing ended was left open by whoever sent the same again.
    """
    if before.over_ns is None:
        return not ask_differently(before, attempt)
    late_ns = late_ns if _same_question(before, attempt) else 0
    return before.over_ns <= attempt.start.at_ns + late_ns


def _unlike(before: Attempt, attempt: Attempt) -> tuple[bool, bool, bool, bool, int]:
    """Sorts the request first that an attempt is a retry of, of several that failed alike.

    Of several that ask the same it is the one with the same labels. Which of two equal requests is
    sent again is in no trace: the one whose wait was over.
    """
    asked, waited_ns = floor_of(before.hints), wait_before(before, attempt)
    early = asked is not None and waited_ns is not None and waited_ns < asked.wait_ns
    likeness = not _same_question(before, attempt), not _same_body(before, attempt)
    return *likeness, not before.failed, early, before.over_ns or 0


# ------------------------------------------------------------- what one attempt is to another one


def _of_a_client(before: Attempt, attempt: Attempt) -> Relation:
    if _asks_otherwise(before, attempt):
        return "later"
    return "other" if _talks_otherwise(before, attempt) else "retry"


def _in_a_turn(course: Course) -> Callable[[Attempt, Attempt], Relation]:
    def relation(before: Attempt, attempt: Attempt) -> Relation:
        if (
            (before.outcome == "ok" and not _same_question(before, attempt))
            or _asks_otherwise(before, attempt)
            or _has_more_results(before, attempt)
            or bool(before.node and attempt.node and before.node != attempt.node)
            or _is_gated(course, before.start.seq, attempt.start.seq)
            or _begins_anew(course, before, attempt)
        ):
            return "later"
        return "other" if _talks_otherwise(before, attempt) else "retry"

    return relation


def _of_a_process(before: Attempt, attempt: Attempt) -> Relation:
    return "later" if ask_differently(before, attempt) else "retry"


def _talks_otherwise(before: Attempt, attempt: Attempt) -> bool:
    """Return whether two requests at one provider are of different conversations.

    A retry may leave out old messages, or add what was wrong; it has the same instructions and
    tools, and begins or ends as the request did.
    """
    one, other = before.asked, attempt.asked
    if one is None or other is None or before.provider != attempt.provider:
        return False
    if not one.messages or not other.messages:
        return False
    if _told(one) != _told(other):
        return True
    first, second = _said(one), _said(other)
    return bool(first and second) and first[0] != second[0] and first[-1] != second[-1]


def _is_said_again(before: Attempt, attempt: Attempt) -> bool:
    """Return whether a failed request is followed by one with the same messages."""
    one, other = before.asked, attempt.asked
    return before.failed and one is not None and other is not None and _said(one) == _said(other)


def _told(asked: TraceEvent) -> tuple[object, ...]:
    """Return the instructions of a request, and how many tools it offers."""
    return (*instructions_in(asked), asked.tools)


def instructions_in(asked: TraceEvent) -> tuple[object, ...]:
    """Return the digests of the instructions that a request has."""
    own = (item for item in asked.messages if item["role"] in _INSTRUCTIONS)
    return tuple(item.get("content_sha256") for item in own)


def _said(asked: TraceEvent) -> list[Mapping[str, Any]]:
    return [item for item in asked.messages if item["role"] not in _INSTRUCTIONS]


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
        and _same_question(before, attempt)
        and any(before.start.seq < event.seq < attempt.start.seq for event in course.worked)
    )


def ask_differently(one: Attempt, other: Attempt) -> bool:
    """Return whether two attempts are known to have asked for something different."""
    return ask_the_same(one.asked, other.asked) is False


def _same_question(one: Attempt, other: Attempt) -> bool:
    return ask_the_same(one.asked, other.asked) is True


def _same_body(one: Attempt, other: Attempt) -> bool:
    if one.asked is None or other.asked is None:
        return False
    return one.asked.body_sha256 == other.asked.body_sha256


# --------------------------------------------------------------------- what became of the requests


def _of_a_turn(call: Call, course: Course) -> Iterator[Request]:
    lines = _lines(call.attempts, _in_a_turn(course), course.late_ns)
    final = _final(call, lines)
    before: Attempt | None = None
    for number, line in enumerate(lines, 1):
        following = next(iter(lines[number:]), None)
        beside = _beside(line, lines)
        goes_on = None if following is None or beside else following.attempts[0].start
        if line is final:
            request = _request(call, course, tuple(line.attempts), None)
        else:
            request = _request(replace(call, end=None), course, _left(line, beside), goes_on)
            if request.outcome == "open" and (call.end or (beside and line.last.failed)):
                request = replace(request, outcome="cut")
        begun = line.attempts[0]
        gated = _is_gated(course, 0 if before is None else before.start.seq, begun.start.seq)
        anew = before is not None and _begins_anew(course, before, begun)
        yield replace(
            request, number=number, begins_stage=gated or anew, is_one_of_several=bool(beside)
        )
        before = line.last


def _beside(line: _Line, lines: Sequence[_Line]) -> list[_Line]:
    return [item for item in lines if item.bout == line.bout and item is not line]


def _final(call: Call, lines: Sequence[_Line]) -> _Line | None:
    """Return the line that the end of a call follows from: of a turn that returned, its text's.

    What came after that, such as a guardrail that looks at the answer, has a conversation of its
    own.
    """
    if not lines:
        return None
    own = [item for item in lines if item.bout == lines[-1].bout]
    own = [item for item in own if _dropped_ns(item.last, own) is None] or own
    found = max(own, key=lambda item: _ends_with(call, item))
    if call.returned and not call.returns(found.last):
        earlier = (item for item in reversed(lines) if call.returns(item.last))
        return next((it for it in earlier if _talks_otherwise(it.last, found.last)), found)
    return found


def _ends_with(call: Call, line: _Line) -> tuple[bool, bool, int, int]:
    """Sorts the request last that the end of a call follows from, of several at once."""
    last = line.last
    is_alike = (call.raised and last.failed) or (call.returned and not last.failed)
    return call.returns(last), is_alike, last.over_ns or 0, last.start.seq


def _of_a_program(call: Call, course: Course) -> Iterator[Request]:
    """Yield the requests of a program, of which only is known that no more came of them.

    A program may ask for many things at one address. It asks again with the same body; with
    another one it asks for something else, and has given up what failed before.
    """
    lines = _lines(call.attempts, _of_a_process, course.late_ns) or [_Line(0)]
    for number, line in enumerate(lines, 1):
        later = next(iter(lines[number:]), None)
        following = call.exited
        if later is not None and later.bout != line.bout:
            following = later.attempts[0].start
        outcome: Outcome = "cut"
        if following is not None and line.attempts and line.last.outcome != "open":
            # What has ended, or does something else, tries no more.
            outcome = "good" if line.last.outcome == "ok" else "given_up"
        yield Request(
            id=call.id,
            number=number,
            attempts=tuple(line.attempts),
            end=following,
            outcome=outcome,
        )


def _left(line: _Line, beside: Sequence[_Line]) -> tuple[Attempt, ...]:
    """Return the attempts of a request; one that another's end had closed has not ended."""
    dropped_ns = _dropped_ns(line.last, beside)
    attempts = tuple(line.attempts)
    return attempts if dropped_ns is None else (*attempts[:-1], _as_cut(line.last, dropped_ns))


def _dropped_ns(attempt: Attempt, beside: Sequence[_Line]) -> int | None:
    """Return when an attempt was closed because another request had ended; None where it was not.

    A guardrail that fails has the answer beside it thrown away.
    """
    closed_ns = attempt.known_ns
    if attempt.signal is None or attempt.signal.kind not in _OWN or closed_ns is None:
        return None
    ends = (item for line in beside for item in line.attempts if item is not attempt)
    return next(
        (
            item.over_ns
            for item in ends
            if item.over_ns is not None
            and attempt.start.at_ns < item.over_ns <= closed_ns
            and closed_ns - item.over_ns <= _DROPPED_WITHIN_NS
            and item.events[-1] < attempt.events[-1]
        ),
        None,
    )


def _request(
    call: Call, course: Course, attempts: tuple[Attempt, ...], after: TraceEvent | None
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
    return Request(id=call.id, number=1, attempts=attempts, end=known_by, outcome=outcome)


def _as_cut(attempt: Attempt, stop_ns: int | None) -> Attempt:
    """Return the attempt as not ended where it was closed because its work was stopped."""
    own = attempt.signal is not None and attempt.signal.kind in _OWN
    if not own or (attempt.known_ns is not None and attempt.known_ns < (stop_ns or 0)):
        return attempt
    return replace(
        attempt, outcome="open", signal=None, knowable_ns=None, knowable_seq=None, known_ns=None
    )
