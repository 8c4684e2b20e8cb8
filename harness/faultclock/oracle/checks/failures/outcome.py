"""failures.outcome: after a failure that was left in the end, the run goes on or ends as it must.

What ends a run is judged where it came first, and what lets it go on only where nothing else can
have ended it. A call that never ends at all goes on with nothing. A failure may call for a further
step: back to the coder, past what needs the failed node, or a session that can go on.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from faultclock.model.error_model.error_model import ErrorModel
from faultclock.model.error_model.failure_rules import Consequence
from faultclock.model.scenario.workflow_script import NodeScript
from faultclock.model.trace.trace import TraceEvent
from faultclock.oracle.check import Verdicts, Violation, broken, check, held, otherwise
from faultclock.oracle.facts.history import History
from faultclock.oracle.facts.nodes import node_acts_of
from faultclock.oracle.facts.run_end import RunEnd, end_of
from faultclock.oracle.failures.engine import (
    call_of,
    failures_of,
    final_failures,
    may_have_ended_it,
    was_cut,
)
from faultclock.oracle.failures.failure import Failure, consequence_of
from faultclock.oracle.wire.attempts import Call

_ACTS = ("tool.called", "node.called", "program.started", "program.missing")
_BECOMES = "Decide what becomes of the run by class and code, after the last attempt."
_FURTHER = "Which nodes go on depends on the failed one, and on those that need it."
_BACK = "the work goes back to the coder, before anything is run again"


class _Left(Struct, frozen=True, kw_only=True):
    """A failure that was left in the end, and the consequence that the model has for it."""

    history: History
    model: ErrorModel
    failure: Failure
    rule: Consequence
    call: Call

    @property
    def end(self) -> RunEnd | None:
        """How its call ended; None where it did not."""
        return end_of(self.model, self.call)

    @property
    def was_cut(self) -> bool:
        """Whether something else came between."""
        return was_cut(self.history, self.model, self.call)

    @property
    def has_rounds(self) -> bool:
        """Whether the work may go back to the coder once more."""
        workflow = self.history.world.workflow
        if workflow is None or not any(node.role == "coder" for node in workflow.nodes):
            return False
        return self.failure.number < workflow.iterations_max

    def __str__(self) -> str:
        failure = self.failure
        round_ = f", round {failure.number}" if failure.kind == "command_failed" else ""
        return f"{failure}{round_}, which is {failure.classification}"

    def broken(
        self, expected: str, observed: str, *events: TraceEvent, hint: str = _BECOMES
    ) -> Violation:
        """Return that the run did not go on, or end, as it must."""
        return broken(
            (self.rule.requirement,),
            call=self.failure.call,
            expected=expected,
            observed=observed,
            events=(*self.failure.events, *(event.seq for event in events)),
            hint=hint,
        )

    def wrong_step(self, expected: str, observed: str, event: TraceEvent) -> Violation:
        """Return that the further step was another one."""
        after = f"after {self.failure}, which is {self.failure.classification}"
        return self.broken(f"{expected}: {after}", observed, event, hint=_FURTHER)


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
        left = _Left(history=history, model=model, failure=failure, rule=rule, call=call)
        match rule.then:
            case "iterate_to_coder" if left.has_rounds:
                yield from _judge_iterated(left)
                continue
            case "skip_dependents":
                yield from _judge_skipped(left)
            case "keep_recoverable":
                yield from _judge_recoverable(left)
        # Where its last round is over it ends, too, in the states that the rule gives.
        if rule.then == "iterate_to_coder" or rule.run == "ends":
            yield from _judge_ended(left, ended)
        elif rule.run == "goes_on":
            yield from _judge_gone_on(left)


# ---------------------------------------------------------------------- it ends


def _judge_ended(left: _Left, ended: set[str]) -> Verdicts:
    failure, rule = left.failure, left.rule
    own = failure.kind in ("cancelled", "limit_reached")
    if left.call.id in ended or (not own and left.was_cut):
        return
    ended.add(left.call.id)
    further = next(_acts_after(left), None)
    end = left.end
    if further is not None:
        yield held(rule.requirement)
        yield left.broken(f"nothing more begins after {left}", f"{further.kind} followed", further)
        return
    if end is None or (own and end.event.at_ns == failure.at_ns and end.state == "completed"):
        # It was over at the very instant at which it was stopped.
        return
    yield held(rule.requirement)
    fault = _wrong_end(rule, end)
    if fault is not None:
        yield left.broken(f"{fault} after {left}", str(end), end.event)


def _acts_after(left: _Left) -> Iterator[TraceEvent]:
    """Yield what the subject began after a failure, in order, up to the end of the call."""
    failure, call, events = left.failure, left.call, left.history.trace.events
    begun = {attempt.start.seq for attempt in call.attempts}
    until = len(events) + 1 if call.end is None else call.end.seq
    beside = ("tool.called",) if failure.layer == "tool" else ()
    for event in events:
        if not failure.seq < event.seq < until:
            continue
        own = event.call == call.id if event.kind in _ACTS else event.seq in begun
        # What was to be done at the same time was begun before anything could be known.
        at_once = event.at_ns == failure.at_ns
        if own and not (at_once and (failure.kind == "cancelled" or event.kind in beside)):
            yield event


def _wrong_end(rule: Consequence, end: RunEnd) -> str | None:
    if rule.states and end.state not in rule.states:
        return f"the run ends {' or '.join(rule.states)}"
    if end.pair is None and end.state == "degraded":
        # What was tolerated is no error of the run; it may be named, and need not be.
        return None
    if rule.carries and end.pair not in rule.carries:
        return f"the end carries {' or '.join(rule.carries)}"
    return None


# ---------------------------------------------------------------------- it goes on


def _judge_gone_on(left: _Left) -> Verdicts:
    failure, rule, end = left.failure, left.rule, left.end
    if left.was_cut or may_have_ended_it(left.history, left.model, failure):
        return
    yield held(rule.requirement)
    if end is None:
        yield left.broken(f"the run goes on after {left}", "it never ended")
        return
    allowed = rule.states or ("completed",)
    in_conversation = failure.node is None or failure.node.do == "agent"
    if end.state not in allowed:
        expected = f"the run goes on after {left}, and ends {' or '.join(allowed)}"
        yield left.broken(expected, str(end), end.event)
    elif (
        # The model waits for the result. Under any name of its state, a turn that stops at a
        # failed call has not gone on.
        failure.layer == "tool"
        and in_conversation
        and not any(attempt.start.seq > failure.seq for attempt in left.call.attempts)
    ):
        expected = f"the run goes on after {left}: the model is asked again"
        yield left.broken(expected, f"it was not, and the run is over: {end}", end.event)


# ---------------------------------------------------------------------- a further step


def _judge_iterated(left: _Left) -> Verdicts:
    following = next(
        (
            act
            for act in node_acts_of(left.history)
            if act.call == left.call.id
            and act.event.seq > left.failure.seq
            and (act.node.do in ("program", "agent") or act.node == left.failure.node)
        ),
        None,
    )
    if following is None:
        end = left.end
        if end is not None and not left.was_cut:
            yield held(left.rule.requirement)
            observed = f"{end}, and the coder was not asked again"
            yield left.wrong_step(_BACK, observed, end.event)
        return
    yield held(left.rule.requirement)
    if following.node.role != "coder":
        observed = f"the node {following.node.id!r} came next"
        yield left.wrong_step(_BACK, observed, following.event)


def _judge_skipped(left: _Left) -> Verdicts:
    node = left.failure.node
    needing = () if node is None else _needing(node.id, left.history.world.nodes)
    if not needing or left.was_cut or left.call.end is None:
        return
    yield held(left.rule.requirement)
    for act in node_acts_of(left.history):
        if act.call == left.call.id and act.event.seq > left.failure.seq and act.node.id in needing:
            expected = f"{', '.join(sorted(needing))} does not begin: it needs the failed one"
            yield left.wrong_step(expected, f"the node {act.node.id!r} was begun", act.event)
            return


def _needing(id_: str, nodes: Sequence[NodeScript]) -> set[str]:
    """Return the nodes that need a node, directly or not."""
    needing: set[str] = set()
    # A node needs only nodes before it, so one pass is enough.
    for node in nodes:
        if any(name == id_ or name in needing for name in node.needs):
            needing.add(node.id)
    return needing


def _judge_recoverable(left: _Left) -> Verdicts:
    end = left.call.end
    if end is None or left.was_cut or may_have_ended_it(left.history, left.model, left.failure):
        return
    if end.result is not None:
        yield held(left.rule.requirement)
        if not end.result.get("recoverable"):
            expected = "the turn ends with a result that says that the session can go on"
            yield left.wrong_step(expected, "the result does not say so", end)
            return
    # A raised error has no such field: there the next turn shows it.
    failed = {other.call for other in failures_of(left.history, left.model)}
    for later in left.history.calls:
        if not later.is_turn or later.start.seq < end.seq or later.id in failed:
            continue
        ended = end_of(left.model, later)
        yield held(left.rule.requirement)
        if ended is not None and ended.state == "failed":
            expected = "a later turn, in which nothing fails, works"
            yield left.wrong_step(expected, str(ended), ended.event)
        return
