"""The further step that must follow a failure: back to the coder, past what needs it, or on.

Part of failures.outcome.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from faultclock.model.failure_rules import Consequence
from faultclock.model.workflow_script import NodeScript
from faultclock.oracle.attempts import Call
from faultclock.oracle.check import Case, Outcome, Violation
from faultclock.oracle.failure_course import may_have_ended_it, was_cut
from faultclock.oracle.failures import Failure
from faultclock.oracle.run_end import end_of

__all__ = ["failed_rounds", "has_rounds_left", "judge_step"]


def failed_rounds(failure: Failure) -> int:
    """Return how many rounds had come to this failure by then, this one included."""
    return failure.number


def has_rounds_left(case: Case, failure: Failure) -> bool:
    """Return whether the work may go back to the coder once more."""
    workflow = case.trace.header.scenario.workflow
    if workflow is None or not any(node.role == "coder" for node in workflow.nodes):
        return False
    return failed_rounds(failure) < workflow.iterations_max


def judge_step(
    case: Case, failure: Failure, rule: Consequence, call: Call, outcome: Outcome
) -> None:
    """Judge the rule's `then`, if it has one."""
    match rule.then:
        case "iterate_to_coder" if has_rounds_left(case, failure):
            _judge_iterated(case, failure, rule, call, outcome)
        case "skip_dependents":
            _judge_skipped(case, failure, rule, call, outcome)
        case "keep_recoverable":
            _judge_recoverable(case, failure, rule, call, outcome)


def _judge_iterated(
    case: Case, failure: Failure, rule: Consequence, call: Call, outcome: Outcome
) -> None:
    following = next(
        (
            act
            for act in case.node_acts
            if act.call == call.id
            and act.event.seq > failure.seq
            and (act.node.do in ("program", "agent") or act.node == failure.node)
        ),
        None,
    )
    if following is None:
        end = end_of(case, call)
        if end is None or was_cut(case, call):
            return
        outcome.looked_at(rule.requirement)
        observed = f"{end}, and the coder was not asked again"
        outcome.violate(_violation(failure, rule, _BACK, observed, end.event.seq))
        return
    outcome.looked_at(rule.requirement)
    if following.node.role != "coder":
        observed = f"the node {following.node.id!r} came next"
        outcome.violate(_violation(failure, rule, _BACK, observed, following.event.seq))


_BACK = "the work goes back to the coder, before anything is run again"


def _judge_skipped(
    case: Case, failure: Failure, rule: Consequence, call: Call, outcome: Outcome
) -> None:
    workflow = case.trace.header.scenario.workflow
    if workflow is None or failure.node is None:
        return
    needing = _needing(failure.node.id, workflow.nodes)
    if not needing or was_cut(case, call) or call.end is None:
        return
    outcome.looked_at(rule.requirement)
    for act in case.node_acts:
        if act.call == call.id and act.event.seq > failure.seq and act.node.id in needing:
            expected = f"{', '.join(sorted(needing))} does not begin: it needs the failed one"
            observed = f"the node {act.node.id!r} was begun"
            outcome.violate(_violation(failure, rule, expected, observed, act.event.seq))
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
    case: Case, failure: Failure, rule: Consequence, call: Call, outcome: Outcome
) -> None:
    end = call.end
    if end is None or was_cut(case, call) or may_have_ended_it(case, failure):
        return
    result = end.payload.get("result")
    if isinstance(result, Mapping):
        outcome.looked_at(rule.requirement)
        if not result.get("recoverable"):
            expected = "the turn ends with a result that says that the session can go on"
            observed = "the result does not say so"
            outcome.violate(_violation(failure, rule, expected, observed, end.seq))
            return
    # Who raises an error has nothing to say it with: there the next turn shows it.
    failed = {other.call for other in case.failures}
    for later in case.calls:
        if not later.is_turn or later.start.seq < end.seq or later.id in failed:
            continue
        ended = end_of(case, later)
        outcome.looked_at(rule.requirement)
        if ended is not None and ended.state == "failed":
            expected = "a later turn, in which nothing fails, works"
            outcome.violate(_violation(failure, rule, expected, str(ended), ended.event.seq))
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
