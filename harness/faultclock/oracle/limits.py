"""Limits: a run that has used up one of its limits ends there, as the model says.

What is counted, and by what, is the same as in `budgets`, which is for models that have one error
for each limit; here are the states in which a run may end as well. A limit that was reached by
the last thing that the run needed ends nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from faultclock.model.failure_rules import LimitRule
from faultclock.model.trace import TraceEvent
from faultclock.model.turn_rules import BudgetRules
from faultclock.oracle.attempts import Call
from faultclock.oracle.budgets import Use, uses_of
from faultclock.oracle.check import Case, Check, Outcome, Violation
from faultclock.oracle.predict import SLACK_NS
from faultclock.oracle.run_end import RunEnd, end_of

__all__ = ["CHECKS", "LimitReached", "limits_reached"]


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitReached:
    """A turn that needed more than one of its limits allows.

    Attributes:
        name: `steps`, `tool_calls`, `tokens`, `cost`, `wall_time` or `turns`.
        limit: in words.
        seq: the last event within the limit, at `at_ns`.
        over: what went beyond it all the same; None for nothing.
    """

    call: str
    name: str
    limit: str
    at_ns: int
    seq: int
    over: TraceEvent | None


def limits_reached(case: Case) -> tuple[LimitReached, ...]:
    """Return the limits that turns came to while they needed more, in order."""
    found = []
    for call in case.calls:
        if not call.is_turn or _is_stopped(call):
            continue
        for use in _uses(case, call):
            if (use.over is None and not use.reached) or _in_time(case, call, use):
                continue
            last = _last_within(case, call, use)
            found.append(
                LimitReached(
                    call=call.id,
                    name=use.name,
                    limit=use.limit,
                    at_ns=last.at_ns,
                    seq=last.seq,
                    over=use.over,
                )
            )
    return tuple(sorted(found, key=lambda item: item.seq))


def _is_stopped(call: Call) -> bool:
    # The limit of time is a stop as well, and then the stop is the end.
    return call.crashed is not None or (call.stop is not None and call.stop is not call.end)


def _in_time(case: Case, call: Call, use: Use) -> bool:
    """Return whether the time of a turn was not over yet when it was done, or the trace ended."""
    limit_ns = case.limit_ns(call)
    if use.name != "wall_time" or use.over is not None or limit_ns is None:
        return False
    end = end_of(case, call)
    if end is None:
        return case.trace.footer.ended_at_ns < limit_ns
    return end.state == "completed" and end.event.at_ns <= limit_ns + SLACK_NS


def _uses(case: Case, call: Call) -> Iterator[Use]:
    """Yield how the turn stands to its limits, under each name that the model has for them."""
    named = {rule.limit for rule in case.model.limits}
    rounds = _rounds(case, call)
    if rounds is not None:
        yield rounds
    for use in uses_of(case, call, case.model.budgets or BudgetRules()):
        if use.name == "steps" and "steps" not in named and "turns" in named and rounds is None:
            yield replace(use, name="turns")
        else:
            yield use


def _rounds(case: Case, call: Call) -> Use | None:
    """Return how a workflow that goes back to its coder stands to the number of its rounds."""
    workflow = case.trace.header.scenario.workflow
    if workflow is None or not any(node.role == "coder" for node in workflow.nodes):
        return None
    begun: list[TraceEvent] = []
    worked = True
    for act in case.node_acts:
        if act.call != call.id:
            continue
        if act.node.role != "coder":
            worked = True
        elif worked and act.begins:
            # Another one had its turn in between: this is no other try of the same round.
            begun.append(act.event)
            worked = False
    most = workflow.iterations_max
    return Use(
        name="turns",
        limit=f"{most} rounds of the coder",
        over=begun[most] if len(begun) > most else None,
        reached=len(begun) == most and _ended_badly(case, call, begun[-1]),
        used=f"{len(begun)} rounds",
    )


def _ended_badly(case: Case, call: Call, since: TraceEvent) -> bool:
    """Return whether the last command after `since` failed, so that the coder was due again."""
    ended = [
        event
        for event in case.trace.of_kind("program.ended")
        if event.payload.get("call") == call.id and event.seq > since.seq
    ]
    return bool(ended) and ended[-1].payload.get("status") != 0


def _last_within(case: Case, call: Call, use: Use) -> TraceEvent:
    """Return the last event of the turn before it went beyond its limit, or ended."""
    until = use.over or call.end
    within = case.trace.events[: None if until is None else until.seq - 1]
    own = (event for event in reversed(within) if event.payload.get("call") == call.id)
    return next(own, call.start)


# ------------------------------------------------------------------------------- the check


def _ends(case: Case) -> Outcome:
    outcome = Outcome(reason="no turn came to one of its limits")
    if not case.model.limits:
        outcome.reason = "the document says nothing of limits"
    reached = limits_reached(case)
    for item in reached:
        call = case.call(item.call)
        rule = next((rule for rule in case.model.limits if rule.limit == item.name), None)
        if call is not None and rule is not None:
            others = tuple(
                other
                for other in case.model.limits
                if any(hit.call == call.id and hit.name == other.limit for hit in reached)
            )
            _judge(case, call, item, rule, others, outcome)
    for call in case.calls:
        if call.is_turn and not any(item.call == call.id for item in reached):
            _judge_claim(case, call, outcome)
    return outcome


def _judge_claim(case: Case, call: Call, outcome: Outcome) -> None:
    """Judge that a turn which came to none of its limits does not end as if it had.

    What a turn has cost is the subject's own estimate, and a limit that the scenario does not set
    may be one of its own.
    """
    end = end_of(case, call)
    if end is None or call.stop is not None or call.crashed is not None:
        return
    given = {use.name for use in _uses(case, call)} - {"tokens", "cost"}
    rule = next((rule for rule in case.model.limits if end.pair in rule.carries), None)
    names = {rule.limit for rule in case.model.limits if end.pair in rule.carries}
    if rule is None or not names <= given or _else_explained(case, call, end):
        return
    outcome.looked_at(rule.requirement)
    outcome.violate(
        Violation(
            requirement=rule.requirement,
            call=call.id,
            expected=f"a turn ends with {end.pair} only when it has used up its limit",
            observed=f"{end}, and it had not",
            events=(call.start.seq, end.event.seq),
            hint="Count anew for each turn, and look at the limit before each further step.",
        )
    )


def _else_explained(case: Case, call: Call, end: RunEnd) -> bool:
    """Return whether something that failed has the class and code that a limit has as well."""
    pairs = (item.pair for item in case.failures if item.call == call.id)
    return any(pair is not None and "/".join(pair) == end.pair for pair in pairs)


def _judge(
    case: Case,
    call: Call,
    item: LimitReached,
    rule: LimitRule,
    reached: tuple[LimitRule, ...],
    outcome: Outcome,
) -> None:
    end = end_of(case, call)
    if item.over is None and end is None and case.trace.footer.ending != "completed":
        return
    if item.over is None and end is not None and _is_another_failure(case, call, end):
        return
    outcome.looked_at(rule.requirement)
    fault = _fault(item, rule, reached, end)
    if fault is None:
        return
    shown = () if item.over is None else (item.over.seq,)
    ended = () if end is None else (end.event.seq,)
    outcome.violate(
        Violation(
            requirement=rule.requirement,
            call=call.id,
            expected=fault[0],
            observed=fault[1],
            events=tuple(dict.fromkeys((item.seq, *shown, *ended))),
            hint="Look at the limit before the next step, not after it.",
        )
    )


def _is_another_failure(case: Case, call: Call, end: RunEnd) -> bool:
    """Return whether the turn ended by the failure of a tool, and not by its limit."""
    carried = {pair for rule in case.model.limits for pair in rule.carries}
    if end.pair is None or end.pair in carried:
        return False
    last = next((item for item in reversed(case.answers) if item.in_call is call), None)
    return last is not None and any(
        not execution.is_good for item in last.tool_calls for execution in item.executions[-1:]
    )


def _fault(
    item: LimitReached, rule: LimitRule, reached: tuple[LimitRule, ...], end: RunEnd | None
) -> tuple[str, str] | None:
    """Return what was expected and what was observed instead; None for nothing."""
    if item.over is not None and rule.exact:
        return f"no more than {item.limit}", f"it went on beyond it: {item.over.kind}"
    wanted = " or ".join(rule.states) or "not completed"
    carried = f" with {' or '.join(rule.carries)}" if rule.carries else ""
    expected = f"the turn ends {wanted}{carried}: it has used up {item.limit}"
    if end is None:
        return expected, "it never ended"
    if any(_fits(other, end) for other in (rule, *reached)):
        return None
    return expected, str(end)


def _fits(rule: LimitRule, end: RunEnd) -> bool:
    if rule.carries and end.pair not in rule.carries:
        return False
    return end.state in rule.states if rule.states else end.state != "completed"


CHECKS = (
    Check(
        id="limits.ends",
        title="Limits end a run",
        says="A run that has used up a limit starts nothing more, and ends in its state.",
        run=_ends,
    ),
)
