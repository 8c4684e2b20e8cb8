"""failures.outcome: after a failure that was left in the end, the run goes on or ends as it must.

What ends a run is judged where it came first, and what lets it go on only where nothing else can
have ended it. A call that never ends at all goes on with nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from faultclock.model.error_model import ErrorModel
from faultclock.model.failure_rules import Consequence
from faultclock.model.trace import TraceEvent
from faultclock.oracle.attempts import Call
from faultclock.oracle.check import Check, Verdicts, Violation, held, otherwise
from faultclock.oracle.failure import Failure
from faultclock.oracle.failure_course import (
    consequence_of,
    final_failures,
    may_have_ended_it,
    was_cut,
)
from faultclock.oracle.failure_steps import failed_rounds, has_rounds_left, judge_step
from faultclock.oracle.history import History
from faultclock.oracle.run_end import RunEnd, end_of

__all__ = ["CHECK"]

_ACTS = ("tool.called", "node.called", "program.started", "program.missing")


def _outcome(history: History, model: ErrorModel) -> Verdicts:
    yield otherwise("nothing failed for good that the error model has a consequence for")
    if not model.consequences:
        yield otherwise("the error model says nothing of what becomes of a run")
    ended: set[str] = set()
    for failure in final_failures(history, model):
        rule, call = consequence_of(history, model, failure), history.call(failure.call)
        if rule is None or call is None or call.crashed is not None:
            continue
        yield from judge_step(history, model, failure, rule, call)
        if rule.then == "iterate_to_coder":
            if not has_rounds_left(history, failure):
                # Its last round is over: now it ends, in the states that the rule gives.
                yield from _judge_ended(history, model, failure, rule, call, ended)
        elif rule.run == "ends":
            yield from _judge_ended(history, model, failure, rule, call, ended)
        elif rule.run == "goes_on":
            yield from _judge_gone_on(history, model, failure, rule, call)


# ---------------------------------------------------------------------- it ends


def _judge_ended(
    history: History,
    model: ErrorModel,
    failure: Failure,
    rule: Consequence,
    call: Call,
    ended: set[str],
) -> Verdicts:
    own = failure.kind in ("cancelled", "limit_reached")
    if call.id in ended or (not own and was_cut(history, model, call)):
        return
    ended.add(call.id)
    further = next(_acts_after(history, failure, call), None)
    end = end_of(model, call)
    if further is not None:
        yield held(rule.requirement)
        expected = f"nothing more begins after {_named(failure)}"
        observed = f"{further.kind} followed"
        yield _violation(failure, rule, expected, observed, further.seq)
        return
    if end is None or (own and end.event.at_ns == failure.at_ns and end.state == "completed"):
        # It was over at the very instant at which it was stopped.
        return
    yield held(rule.requirement)
    fault = _wrong_end(rule, end)
    if fault is not None:
        expected = f"{fault} after {_named(failure)}"
        yield _violation(failure, rule, expected, str(end), end.event.seq)


def _acts_after(history: History, failure: Failure, call: Call) -> Iterator[TraceEvent]:
    """Yield what the subject began after a failure, in order, up to the end of the call."""
    begun = {attempt.start.seq for attempt in call.attempts}
    until = len(history.trace.events) + 1 if call.end is None else call.end.seq
    beside = ("tool.called",) if failure.target.layer == "tool" else ()
    for event in history.trace.events:
        if not failure.seq < event.seq < until:
            continue
        if event.kind in _ACTS:
            if event.call != call.id:
                continue
        elif event.seq not in begun:
            continue
        # What was to be done at the same time was begun before anything could be known.
        at_once = event.at_ns == failure.at_ns
        if not (at_once and (failure.kind == "cancelled" or event.kind in beside)):
            yield event


def _wrong_end(rule: Consequence, end: RunEnd) -> str | None:
    states = " or ".join(rule.states)
    if rule.states and end.state not in rule.states:
        return f"the run ends {states}"
    if end.pair is None and end.state == "degraded":
        # What was tolerated is no error of the run; it may be named, and need not be.
        return None
    if rule.carries and end.pair not in rule.carries:
        return f"the end carries {' or '.join(rule.carries)}"
    return None


# ---------------------------------------------------------------------- it goes on


def _judge_gone_on(
    history: History, model: ErrorModel, failure: Failure, rule: Consequence, call: Call
) -> Verdicts:
    if was_cut(history, model, call) or may_have_ended_it(history, model, failure):
        return
    end = end_of(model, call)
    yield held(rule.requirement)
    if end is None:
        expected = f"the run goes on after {_named(failure)}"
        yield _violation(failure, rule, expected, "it never ended")
        return
    allowed = rule.states or ("completed",)
    if end.state not in allowed:
        expected = f"the run goes on after {_named(failure)}, and ends {' or '.join(allowed)}"
        yield _violation(failure, rule, expected, str(end), end.event.seq)
    elif _is_of_the_model(failure) and not any(
        attempt.start.seq > failure.seq for attempt in call.attempts
    ):
        # Under any name of its state, a turn that stops at a failed call has not gone on.
        expected = f"the run goes on after {_named(failure)}: the model is asked again"
        observed = f"it was not, and the run is over: {end}"
        yield _violation(failure, rule, expected, observed, end.event.seq)


def _is_of_the_model(failure: Failure) -> bool:
    """Return whether the model waits for the result of what failed."""
    in_conversation = failure.node is None or failure.node.do == "agent"
    return failure.target.layer == "tool" and in_conversation


def _named(failure: Failure) -> str:
    rounds = f", round {failed_rounds(failure)}" if failure.kind == "command_failed" else ""
    return f"{failure}{rounds}, which is {failure.classification}"


def _violation(
    failure: Failure, rule: Consequence, expected: str, observed: str, *more: int
) -> Violation:
    return Violation(
        requirement=rule.requirement,
        call=failure.call,
        expected=expected,
        observed=observed,
        events=(*failure.events, *more),
        hint="Decide what becomes of the run by class and code, after the last attempt.",
    )


CHECK = Check(
    id="failures.outcome",
    title="What becomes of the run",
    says="After a failure that no retry mended, the run goes on or ends as the document says.",
    run=_outcome,
)
