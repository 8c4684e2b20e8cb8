"""Failures of a run as a whole: what came from outside, or was used up."""

from __future__ import annotations

from collections.abc import Iterator

from faultclock.model.error_model import ErrorModel
from faultclock.model.trace import TraceEvent
from faultclock.oracle.breaker import breaker_refusals
from faultclock.oracle.failure import Failure, Target
from faultclock.oracle.history import History
from faultclock.oracle.joins import join_violations
from faultclock.oracle.stops import is_stop
from faultclock.oracle.uses import limits_reached

__all__ = ["breaker_failures", "cancel_failures", "join_failures", "limit_failures"]

#: First parts of the kinds of facts that show the work of a turn itself.
_WORK = ("call.started", "http.", "net.", "tool.", "node.", "program.")


def cancel_failures(history: History, _model: ErrorModel) -> Iterator[Failure]:
    """Yield one failure for each turn that a cancel hit; the cause is its scope.

    A dialog that the person closes cancels its turn. The cancel of one tool is the tool's.
    """
    for event in history.of("cancel.requested", "interaction.answered"):
        if not is_stop(event):
            continue
        if event.kind == "cancel.requested":
            scope = str(event.scope)
            hit = event.calls if scope == "call" else _hit(history, event, scope)
            yield from (_cancelled(event, str(call), scope) for call in hit)
        elif event.call is not None:
            yield _cancelled(event, str(event.call), "turn")


def _hit(history: History, event: TraceEvent, scope: str) -> list[str]:
    running = [
        call.id
        for call in history.calls
        if call.is_turn
        and call.start.seq < event.seq
        and (call.end is None or event.seq < call.end.seq)
        and (call.crashed is None or event.seq < call.crashed.seq)
    ]
    # What waits for its turn is not hit by a cancel of the one that runs.
    return running if scope == "session" else running[:1]


def _cancelled(event: TraceEvent, call: str, scope: str) -> Failure:
    return Failure(
        kind="cancelled",
        cause=scope,
        call=call,
        at_ns=event.at_ns,
        seq=event.seq,
        events=(event.seq,),
        target=Target(layer="run", id=call),
    )


def limit_failures(history: History, model: ErrorModel) -> Iterator[Failure]:
    """Yield the limits that turns came to; the cause is the limit's name."""
    for reached in limits_reached(history, model):
        over = () if reached.over is None else (reached.over.seq,)
        # What the subject says of it, or saves, comes after it.
        last = next(
            (
                event
                for event in reversed(history.trace.events[: reached.seq])
                if event.call == reached.call and event.kind.startswith(_WORK)
            ),
            None,
        )
        yield Failure(
            kind="limit_reached",
            cause=reached.name,
            call=reached.call,
            at_ns=reached.at_ns,
            seq=reached.seq if last is None else last.seq,
            events=(reached.seq, *over),
            target=Target(layer="run", id=reached.call),
        )


def join_failures(history: History, model: ErrorModel) -> Iterator[Failure]:
    """Yield the groups of subagents whose join does not hold; the cause is the policy."""
    for violation in join_violations(history, model):
        yield Failure(
            kind="join_violated",
            cause=violation.group.rule.policy,
            call=violation.call,
            at_ns=violation.at_ns,
            seq=violation.seq,
            events=violation.events,
            target=Target(layer="run", id=violation.call),
        )


def breaker_failures(history: History, model: ErrorModel) -> Iterator[Failure]:
    """Yield what an open breaker kept back. Where another provider was asked, it was made good."""
    for refusal in breaker_refusals(history, model):
        moved = [
            attempt.start
            for call in history.calls
            for attempt in call.attempts
            if refusal.moved and call.id == refusal.call and attempt.start.seq > refusal.seq
        ]
        yield Failure(
            kind="breaker_open",
            call=refusal.call,
            at_ns=refusal.at_ns,
            seq=refusal.seq,
            events=refusal.events,
            target=Target(layer="run", id=refusal.call),
            names=(refusal.provider,),
            acts=tuple(moved[:1]),
        )
