"""Limits: a run that has used up one of its limits ends there, as the model says.

What is counted, and by what, is the same as in `budgets`, which is for models that have one error
for each limit; here are the states in which a run may end as well. A limit that was reached by
the last thing that the run needed ends nothing.
"""

from __future__ import annotations

from faultclock.model.error_model import ErrorModel
from faultclock.model.failure_rules import LimitRule
from faultclock.oracle.attempts import Call
from faultclock.oracle.check import Check, Verdicts, broken, held, otherwise
from faultclock.oracle.failures import failures_of
from faultclock.oracle.history import History
from faultclock.oracle.run_end import RunEnd, end_of
from faultclock.oracle.uses import LimitReached, limits_reached, named_uses

__all__ = ["CHECKS"]


# ------------------------------------------------------------------------------- the check


def _ends(history: History, model: ErrorModel) -> Verdicts:
    yield otherwise("no turn came to one of its limits")
    if not model.limits:
        yield otherwise("the document says nothing of limits")
    reached = limits_reached(history, model)
    for item in reached:
        call = history.call(item.call)
        rule = next((rule for rule in model.limits if rule.limit == item.name), None)
        if call is not None and rule is not None:
            others = tuple(
                other
                for other in model.limits
                if any(hit.call == call.id and hit.name == other.limit for hit in reached)
            )
            yield from _judge(history, model, call, item, rule, others)
    for call in history.calls:
        if call.is_turn and not any(item.call == call.id for item in reached):
            yield from _judge_claim(history, model, call)


def _judge_claim(history: History, model: ErrorModel, call: Call) -> Verdicts:
    """Judge that a turn which came to none of its limits does not end as if it had.

    What a turn has cost is the subject's own estimate, and a limit that the scenario does not set
    may be one of its own.
    """
    end = end_of(model, call)
    if end is None or call.stop is not None or call.crashed is not None:
        return
    given = {use.name for use in named_uses(history, model, call)} - {"tokens", "cost"}
    rule = next((rule for rule in model.limits if end.pair in rule.carries), None)
    names = {rule.limit for rule in model.limits if end.pair in rule.carries}
    if rule is None or not names <= given or _else_explained(history, model, call, end):
        return
    yield held(rule.requirement)
    yield broken(
        (rule.requirement,),
        call=call.id,
        expected=f"a turn ends with {end.pair} only when it has used up its limit",
        observed=f"{end}, and it had not",
        events=(call.start.seq, end.event.seq),
        hint="Count anew for each turn, and look at the limit before each further step.",
    )


def _else_explained(history: History, model: ErrorModel, call: Call, end: RunEnd) -> bool:
    """Return whether something that failed has the class and code that a limit has as well."""
    pairs = (item.pair for item in failures_of(history, model) if item.call == call.id)
    return any(pair is not None and "/".join(pair) == end.pair for pair in pairs)


def _judge(
    history: History,
    model: ErrorModel,
    call: Call,
    item: LimitReached,
    rule: LimitRule,
    reached: tuple[LimitRule, ...],
) -> Verdicts:
    end = end_of(model, call)
    if item.over is None and end is None and history.trace.footer.ending != "completed":
        return
    if item.over is None and end is not None and _is_another_failure(history, model, call, end):
        return
    yield held(rule.requirement)
    fault = _fault(item, rule, reached, end)
    if fault is None:
        return
    shown = () if item.over is None else (item.over.seq,)
    ended = () if end is None else (end.event.seq,)
    yield broken(
        (rule.requirement,),
        call=call.id,
        expected=fault[0],
        observed=fault[1],
        events=tuple(dict.fromkeys((item.seq, *shown, *ended))),
        hint="Look at the limit before the next step, not after it.",
    )


def _is_another_failure(history: History, model: ErrorModel, call: Call, end: RunEnd) -> bool:
    """Return whether the turn ended by the failure of a tool, and not by its limit."""
    carried = {pair for rule in model.limits for pair in rule.carries}
    if end.pair is None or end.pair in carried:
        return False
    last = next((item for item in reversed(history.answers) if item.in_call is call), None)
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
