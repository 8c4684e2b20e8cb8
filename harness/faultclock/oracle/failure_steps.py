"""The further step that must follow a failure: back to the coder, past what needs it, or on.

Part of failures.outcome.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from faultclock.model.error_model import ErrorModel
from faultclock.model.failure_rules import Consequence
from faultclock.model.workflow_script import NodeScript
from faultclock.oracle.attempts import Call
from faultclock.oracle.check import Verdicts, Violation, held
from faultclock.oracle.failure import Failure
from faultclock.oracle.failure_course import may_have_ended_it, was_cut
from faultclock.oracle.failure_nodes import node_acts_of
from faultclock.oracle.failures import failures_of
from faultclock.oracle.history import History
from faultclock.oracle.run_end import end_of

__all__ = ["failed_rounds", "has_rounds_left", "judge_step"]


def failed_rounds(failure: Failure) -> int:
    """Return how many rounds had come to this failure by then, this one included."""
    return failure.number


def has_rounds_left(history: History, failure: Failure) -> bool:
    """Return whether the work may go back to the coder once more."""
    workflow = history.trace.header.scenario.workflow
    if workflow is None or not any(node.role == "coder" for node in workflow.nodes):
        return False
    return failed_rounds(failure) < workflow.iterations_max


def judge_step(
    history: History, model: ErrorModel, failure: Failure, rule: Consequence, call: Call
) -> Verdicts:
    """Judge the rule's `then`, if it has one."""
    match rule.then:
        case "iterate_to_coder" if has_rounds_left(history, failure):
            yield from _judge_iterated(history, model, failure, rule, call)
        case "skip_dependents":
            yield from _judge_skipped(history, model, failure, rule, call)
        case "keep_recoverable":
            yield from _judge_recoverable(history, model, failure, rule, call)


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
        yield _violation(failure, rule, _BACK, observed, end.event.seq)
        return
    yield held(rule.requirement)
    if following.node.role != "coder":
        observed = f"the node {following.node.id!r} came next"
        yield _violation(failure, rule, _BACK, observed, following.event.seq)


_BACK = "the work goes back to the coder, before anything is run again"


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
            yield _violation(failure, rule, expected, observed, act.event.seq)
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
    result = end.result
    if isinstance(result, Mapping):
        yield held(rule.requirement)
        if not result.get("recoverable"):
            expected = "the turn ends with a result that says that the session can go on"
            observed = "the result does not say so"
            yield _violation(failure, rule, expected, observed, end.seq)
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
            yield _violation(failure, rule, expected, str(ended), ended.event.seq)
        return


def _violation(
    failure: Failure, rule: Consequence, expected: str, observed: str, *more: int
) -> Violation:
    return Violation(
        requirement=rule.requirement,
        call=failure.call,
        expected=f"{expected}: after {failure}, which is {failure.classification}",
        observed=observed,
        events=(*failure.events, *more),
        hint="Which nodes go on depends on the failed one, and on those that need it.",
    )
