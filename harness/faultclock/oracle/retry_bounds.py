"""Bounds of retrying: attempts, the length of one wait, delivered content, and a cancel."""

from __future__ import annotations

from itertools import pairwise

from faultclock.model.duration import SECOND_NS, format_duration
from faultclock.model.error_model import ErrorModel
from faultclock.model.trace import TraceEvent
from faultclock.oracle.attempts import Call, Request
from faultclock.oracle.check import (
    Check,
    Verdicts,
    also,
    broken,
    held,
    otherwise,
)
from faultclock.oracle.history import History
from faultclock.oracle.retries import requests_of, wait_before
from faultclock.oracle.retry_hints import floor_of, hints_of

__all__ = ["ATTEMPTS_MAX", "CHECKS", "LONG_NS"]

#: Attempts for one answer beyond which no policy in use goes: libraries have 1 to 10, and layers of
#: them up to 45. What asks more often than this asks for ever, as far as a provider can tell.
ATTEMPTS_MAX = 64
#: A wait that is not expected of a call without a deadline.
LONG_NS = 3_600 * SECOND_NS
#: How long after a cancel an attempt may still begin, and the call may take to end.
_CANCEL_NS = SECOND_NS


def _bounded(history: History, model: ErrorModel) -> Verdicts:
    requirements = also(model, "retries.bounded")
    yield otherwise("nothing was asked again")
    for request in requests_of(history):
        if len(request.attempts) < 2:
            continue
        yield held(*requirements)
        if len(request.attempts) > ATTEMPTS_MAX:
            first, last = request.attempts[0], request.attempts[-1]
            over = format_duration(last.start.at_ns - first.start.at_ns)
            yield broken(
                requirements,
                call=request.id,
                expected="the call gives up after a bounded number of attempts",
                observed=f"{len(request.attempts)} attempts in {over}, without giving up",
                events=tuple(item.start.seq for item in (*request.attempts[:5], last)),
                hint="Count attempts, and stop; limit the whole time as well.",
            )


def _long_wait(history: History, model: ErrorModel) -> Verdicts:
    requirements = also(model, "retries.long-wait")
    yield otherwise("no call retried after a wait")
    for request in requests_of(history):
        for attempt, following in pairwise(request.attempts):
            waited_ns = wait_before(attempt, following)
            if waited_ns is None:
                continue
            yield held(*requirements)
            if waited_ns >= LONG_NS:
                events = (*attempt.events, *following.events)
                yield from _slept(requirements, request, waited_ns, events)
        yield from _judge_last(history, request, requirements)
        if request.gave_up and _asked_too_long(request):
            yield held(*requirements)


def _asked_too_long(request: Request) -> bool:
    """Return whether the last answer asked for a wait of an hour or more."""
    last = request.last_failure
    asked = None if last is None else floor_of(hints_of(last))
    return asked is not None and asked.wait_ns >= LONG_NS


def _judge_last(history: History, request: Request, requirements: tuple[str, ...]) -> Verdicts:
    """Judge the wait in which the run ended."""
    last = request.attempts[-1] if request.attempts else None
    if last is None or not last.failed or last.known_ns is None or request.outcome != "open":
        return
    waited_ns = history.trace.footer.ended_at_ns - last.known_ns
    if waited_ns >= LONG_NS:
        yield held(*requirements)
        yield from _slept(requirements, request, waited_ns, last.events)


def _slept(
    requirements: tuple[str, ...], request: Request, waited_ns: int, events: tuple[int, ...]
) -> Verdicts:
    yield broken(
        requirements,
        call=request.id,
        expected="a call without a deadline does not sleep for an hour; it gives up and says"
        " until when",
        observed=f"it slept for {format_duration(waited_ns)} before it asked again",
        events=events,
        hint="Have a ceiling for waits; above it, raise an error that carries the time.",
    )


def _after_content(history: History, model: ErrorModel) -> Verdicts:
    requirements = also(model, "retries.after-content")
    yield otherwise("no content was passed on before a failure")
    for call in history.calls:
        passed_on = [event for event in history.of("declared.content") if event.call == call.id]
        for request in call.requests:
            for attempt, following in pairwise(request.attempts):
                piece = _during(passed_on, attempt.start, following.start)
                if piece is None or not attempt.failed:
                    continue
                yield held(*requirements)
                yield broken(
                    requirements,
                    call=request.id,
                    expected="no further attempt once content was passed on to the caller",
                    observed=f"attempt {following.number} began the answer anew",
                    events=(piece.seq, *attempt.events, *following.events),
                    hint="Raise the failure: the caller already has half an answer.",
                )
            last = request.last_failure
            if last is not None and _during(passed_on, last.start, None) is not None:
                yield held(*requirements)


def _during(
    events: list[TraceEvent], since: TraceEvent, until: TraceEvent | None
) -> TraceEvent | None:
    return next(
        (
            event
            for event in events
            if event.seq > since.seq and (until is None or event.seq < until.seq)
        ),
        None,
    )


def _after_cancel(history: History, model: ErrorModel) -> Verdicts:
    requirements = also(model, "retries.after-cancel")
    yield otherwise("no call was cancelled")
    if history.trace.header.scenario.role != "provider_adapter":
        yield otherwise("cancels of whole turns are another check's")
        return
    for event in history.of("cancel.requested"):
        for id_ in _cancelled(event):
            call = history.call(id_)
            if call is None or (call.over is not None and call.over.seq < event.seq):
                continue
            yield held(*requirements)
            yield from _judge_cancel(call, event, requirements)


def _cancelled(event: TraceEvent) -> tuple[str, ...]:
    calls = event.calls or [event.call]
    return tuple(str(call) for call in calls if call is not None)


def _judge_cancel(call: Call, event: TraceEvent, requirements: tuple[str, ...]) -> Verdicts:
    due_ns = event.at_ns + _CANCEL_NS
    late = [item for item in call.attempts if item.start.at_ns > due_ns]
    if late:
        after = format_duration(late[0].start.at_ns - event.at_ns)
        observed = f"attempt {late[0].number} began {after} after the cancel"
        events = (event.seq, *late[0].events)
    elif call.over is None:
        observed, events = "the call never ended", (event.seq,)
    elif call.over.at_ns > due_ns:
        after = format_duration(call.over.at_ns - event.at_ns)
        observed, events = f"the call ended {after} after the cancel", (event.seq, call.over.seq)
    else:
        return
    yield broken(
        requirements,
        call=call.id,
        expected="a cancelled call ends within a second, and asks nothing more",
        observed=observed,
        events=events,
        hint="Let CancelledError pass: an `except BaseException` or a retry on it swallows it.",
    )


CHECKS = (
    Check(
        id="retries.bounded",
        title="Attempts are bounded",
        says=f"One answer is asked for at most {ATTEMPTS_MAX} times.",
        run=_bounded,
    ),
    Check(
        id="retries.after-content",
        title="No retry after content was passed on",
        says="After content reached the caller, a failure ends the call.",
        run=_after_content,
    ),
    Check(
        id="retries.after-cancel",
        title="A cancel stops the attempts",
        says="A cancelled call of a client ends within a second, and sends no request after that.",
        run=_after_cancel,
    ),
    Check(
        id="retries.long-wait",
        title="No wait of an hour",
        says="A call that has no deadline of its own does not sleep for an hour or longer.",
        run=_long_wait,
    ),
)
