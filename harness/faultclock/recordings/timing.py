"""When the tasks of a recorded session began, and which of them had ended by then.

A recording that has instants shows which calls overlapped. One that has whole seconds, or no times,
does not: its calls follow one another, as they do in most programs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from msgspec import Struct

from faultclock.model.duration import SECOND_NS
from faultclock.recordings.exchange import Exchange, Oddities, OddityKind
from faultclock.recordings.sessions import Call, Session
from faultclock.recordings.tempo import pauses_of

#: Clocks of recorders are not finer, and floats would show their tail.
_STEP_NS = 1_000_000
_STEP_S = _STEP_NS / SECOND_NS


class Start(Struct, frozen=True, kw_only=True):
    """When a task begins.

    Attributes:
        at_ns: not before this instant, in nanoseconds since the first call of the session.
        after: 0-based place of the task that has to end before it; None: it waits for none.
    """

    at_ns: int
    after: int | None


def starts_of(tasks: Sequence[Sequence[Call]], oddities: Oddities) -> list[Start]:
    """Return when each task starts; each is at or after the one before.

    Args:
        tasks: the calls of each, in their order.
    """
    begun = [began_s(calls[0]) for calls in tasks]
    first_s = next((at_s for at_s in begun if at_s is not None), None)
    starts: list[Start] = []
    for number, at_s in enumerate(begun):
        at_ns = starts[-1].at_ns if starts else 0
        if at_s is None or first_s is None:
            message = "the time of this exchange is not recorded"
            oddities.note(OddityKind.NO_TIME, tasks[number][0].first.place, message)
        else:
            at_ns = max(at_ns, round((at_s - first_s) / _STEP_S) * _STEP_NS)
        starts.append(Start(at_ns=at_ns, after=_after(tasks, number)))
    return starts


def began_s(call: Call) -> float | None:
    """Return when a call began, as nearly as the recording has it: Unix time in seconds."""
    exchange = call.first
    if exchange.answered_at_s is None:
        return None
    return exchange.answered_at_s - (exchange.wait_ns or 0) / SECOND_NS


def comments_on(session: Session, starts: list[Start]) -> Iterator[str]:
    """Yield what a person should know of the times of a scenario."""
    known = [began_s(call) is not None for call in session.calls]
    if not all(known):
        yield (
            "Timing: unknown where no time is recorded; such a call begins when the one before it"
            " has ended."
        )
    if any(known):
        exact = any(call.first.exact for call in session.calls)
        told = "the recorder's own clock" if exact else "Date headers, which have whole seconds"
        yield f"Timing: from {told}, relative to the first one."
    if not all(_is_exact(call) for call in session.calls) and len(starts) > 1:
        yield "Calls follow one another: the recording does not show that any overlapped."
    yield from _waits(session)


def _after(tasks: Sequence[Sequence[Call]], number: int) -> int | None:
    """Return the task that has to end before task `number` (0-based) begins."""
    if not number:
        return None
    if not _is_exact(tasks[number][0]):
        return number - 1
    at_s = began_s(tasks[number][0])
    ended = [
        (end_s, place)
        for place, calls in enumerate(tasks[:number])
        if at_s is not None
        and (end_s := _ended_s(calls[-1].attempts[-1].exchange)) is not None
        and end_s <= at_s + _STEP_S
    ]
    return max(ended)[1] if ended else None


def _is_exact(call: Call) -> bool:
    return call.first.exact and began_s(call) is not None


def _ended_s(exchange: Exchange) -> float | None:
    if exchange.answered_at_s is None:
        return None
    return exchange.answered_at_s + (exchange.receive_ns or 0) / SECOND_NS


def _waits(session: Session) -> Iterator[str]:
    for number, call in enumerate(session.calls, start=1):
        seconds = [item.exchange.answered_at_s for item in call.attempts]
        attempts = f"call-{number}: {len(call.attempts)} attempts were recorded"
        pauses = pauses_of(call)
        if pauses:
            yield f"{attempts}; from the end of one to the next {', '.join(pauses[:10])}."
            continue
        waits = [
            "an unknown time" if before is None or after is None else f"{after - before:g} s"
            for before, after in pairwise(seconds)
        ]
        if waits and not any(before and after for before, after in pairwise(seconds)):
            yield f"{attempts}; the waits between them are unknown."
        elif waits:
            yield f"{attempts}; from answer to answer {', '.join(waits[:10])}."
