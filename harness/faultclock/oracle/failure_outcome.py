"""failures.outcome: after a failure that was left in the end, the run goes on or ends as it must.

What ends a run is judged where it came first, and what lets it go on only where nothing else can
have ended it. A call that never ends at all goes on with nothing. A failure may call for a further
step: back to the coder, past what needs the failed node, or a session that can go on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from faultclock.model.error_model import ErrorModel
from faultclock.model.failure_rules import Consequence
from faultclock.model.trace import TraceEvent
from faultclock.model.workflow_script import NodeScript
from faultclock.oracle.attempts import Call
from faultclock.oracle.check import Verdicts, Violation, broken, check, held, otherwise
from faultclock.oracle.failure import Failure, consequence_of
from faultclock.oracle.failure_nodes import node_acts_of
from faultclock.oracle.failures import (
    call_of,
    failures_of,
    final_failures,
    may_have_ended_it,
    was_cut,
)
from faultclock.oracle.history import History
from faultclock.oracle.run_end import RunEnd, end_of

_ACTS = ("tool.called", "node.called", "program.started", "program.missing")
_BACK = "the work goes back to the coder, before anything is run again"


@check(
    "failures.outcome",
    title="What becomes of the run",
    says="After a failure that no retry mended, the run goes on or ends as the document says.",
    unjudged="nothing failed for good that the error model has a consequence for",
    role="runtime",
)
def outcome(history: History, model: ErrorModel) -> Verdicts:
    """Judge what followed each failure that the model has a consequence for."""
    if not model.consequences:
        yield otherwise("the error model says nothing of what becomes of a run")
    ended: set[str] = set()
    for failure in final_failures(history, model):
        rule, call = consequence_of(history, model, failure), call_of(history, failure)
        if rule is None or call.crashed is not None:
            continue
        goes_back = rule.then == "iterate_to_coder"
        has_rounds = _has_rounds_left(history, failure)
        if goes_back and has_rounds:
            yield from _judge_iterated(history, model, failure, rule, call)
        elif rule.then == "skip_dependents":
            yield from _judge_skipped(history, model, failure, rule, call)
        elif rule.then == "keep_recoverable":
            yield from _judge_recoverable(history, model, failure, rule, call)
        if goes_back:
            if not has_rounds:
                # Its last round is over: now it ends, in the states that the rule gives.
                yield from _judge_ended(history, model, failure, rule, call, ended)
        elif rule.run == "ends":
            yield from _judge_ended(history, model, failure, rule, call, ended)
        elif rule.run == "goes_on":
            yield from _judge_gone_on(history, model, failure, rule, call)


def _violation(
    failure: Failure, rule: Consequence, expected: str, observed: str, *more: int
) -> Violation:
    return broken(
        (rule.requirement,),
        call=failure.call,
        expected=expected,
        observed=observed,
        events=(*failure.events, *more),
        hint="Decide what becomes of the run by class and code, after the last attempt.",
    )


def _wrong_step(
    failure: Failure, rule: Consequence, expected: str, observed: str, event: TraceEvent
) -> Violation:
    return broken(
        (rule.requirement,),
        call=failure.call,
        expected=f"{expected}: after {failure}, which is {failure.classification}",
        observed=observed,
        events=(*failure.events, event.seq),
        hint="Which nodes go on depends on the failed one, and on those that need it.",
    )


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
    rounds = f", round {failure.number}" if failure.kind == "command_failed" else ""
    return f"{failure}{rounds}, which is {failure.classification}"


# ---------------------------------------------------------------------- a further step


def _has_rounds_left(history: History, failure: Failure) -> bool:
    """Return whether the work may go back to the coder once more."""
    workflow = history.trace.header.scenario.workflow
    if workflow is None or not any(node.role == "coder" for node in workflow.nodes):
        return False
    return failure.number < workflow.iterations_max


def _judge_iterated(
    history: History, model: ErrorModel, failure: Failure, rule: Consequence, call: Call
) -> Verdicts:
    following = next(
        (
            act
            for act in node_acts_of(history)
            if act.call == call.id
            and act.event.seq > failure.seq
            and (act.node.do in ("program", "agent") or act.node == failure.node)
        ),
        None,
    )
    if following is None:
        end = end_of(model, call)
        if end is None or was_cut(history, model, call):
            return
        yield held(rule.requirement)
        observed = f"{end}, and the coder was not asked again"
        yield _wrong_step(failure, rule, _BACK, observed, end.event)
        return
    yield held(rule.requirement)
    if following.node.role != "coder":
        observed = f"the node {following.node.id!r} came next"
        yield _wrong_step(failure, rule, _BACK, observed, following.event)


def _judge_skipped(
    history: History, model: ErrorModel, failure: Failure, rule: Consequence, call: Call
) -> Verdicts:
    workflow = history.trace.header.scenario.workflow
    if workflow is None or failure.node is None:
        return
    needing = _needing(failure.node.id, workflow.nodes)
    if not needing or was_cut(history, model, call) or call.end is None:
        return
    yield held(rule.requirement)
    for act in node_acts_of(history):
        if act.call == call.id and act.event.seq > failure.seq and act.node.id in needing:
            expected = f"{', '.join(sorted(needing))} does not begin: it needs the failed one"
            observed = f"the node {act.node.id!r} was begun"
            yield _wrong_step(failure, rule, expected, observed, act.event)
            return


def _needing(id_: str, nodes: Sequence[NodeScript]) -> set[str]:
    """Return the nodes that need a node, directly or not."""
    needing: set[str] = set()
    # A node needs only nodes before it, so one pass is enough.
    for node in nodes:
        if any(name == id_ or name in needing for name in node.needs):
            needing.add(node.id)
    return needing


def _judge_recoverable(
    history: History, model: ErrorModel, failure: Failure, rule: Consequence, call: Call
) -> Verdicts:
    end = call.end
    if end is None or was_cut(history, model, call) or may_have_ended_it(history, model, failure):
        return
    if end.result is not None:
        yield held(rule.requirement)
        if not end.result.get("recoverable"):
            expected = "the turn ends with a result that says that the session can go on"
            observed = "the result does not say so"
            yield _wrong_step(failure, rule, expected, observed, end)
            return
    # Who raises an error has nothing to say it with: there the next turn shows it.
    failed = {other.call for other in failures_of(history, model)}
    for later in history.calls:
        if not later.is_turn or later.start.seq < end.seq or later.id in failed:
            continue
        ended = end_of(model, later)
        yield held(rule.requirement)
        if ended is not None and ended.state == "failed":
            expected = "a later turn, in which nothing fails, works"
            yield _wrong_step(failure, rule, expected, str(ended), ended.event)
        return
