"""Limits: a turn stays within what it may use, and a turn that reaches a limit ends as it must.

A document has either one error for each limit (`budgets`), or the states in which a run may end as
well (`limits`). What is counted, and by what, is the same. A limit that was reached by the last
thing that the turn needed ends nothing.
"""

from __future__ import annotations

from faultclock.model.error_model import ErrorModel
from faultclock.model.failure_rules import LimitRule
from faultclock.model.turn_rules import BudgetRules
from faultclock.oracle.attempts import Call
from faultclock.oracle.check import Verdicts, also, broken, check, held, otherwise
from faultclock.oracle.failures import failures_of
from faultclock.oracle.history import History
from faultclock.oracle.run_end import RunEnd, end_of
from faultclock.oracle.uses import Use, limits_reached, named_uses, uses_of

_HINT = "Look at the limit before the next step, not after it."


@check(
    "budgets.kept",
    title="Limits of a turn",
    says="A turn stays within its limits, and a turn that reaches one ends with an error.",
    unjudged="the turns have no limits",
    role="runtime",
)
def budgets_kept(history: History, model: ErrorModel) -> Verdicts:
    """Judge each limit of each turn by the error that the document has for it."""
    rules = model.budgets or BudgetRules()
    for call in history.calls:
        for use in uses_of(history, call, rules) if call.is_turn else ():
            if use.name == "cost":
                # The models that this section is for count tokens.
                continue
            requirements = also(model, f"budgets.kept.{use.name}")
            yield held(*requirements)
            fault = _untyped_end(model, call, use, rules)
            if use.over is not None:
                fault = f"no more than {use.limit}", use.used
            if fault is not None:
                shown = (call.start, use.over, call.end)
                yield broken(
                    requirements,
                    call=call.id,
                    expected=fault[0],
                    observed=fault[1],
                    events=tuple(event.seq for event in shown if event is not None),
                    hint=_HINT,
                )


def _untyped_end(
    model: ErrorModel, call: Call, use: Use, rules: BudgetRules
) -> tuple[str, str] | None:
    """Return what was expected of a turn that reached a limit, and what was observed instead."""
    cut = call.crashed is not None or (call.stop is not None and call.stop is not call.end)
    if not use.reached or cut:
        return None
    wanted: tuple[str, ...] = getattr(rules, use.name)
    expected = f"the turn ends with {' or '.join(wanted) or 'a typed error'}: it has used up"
    expected += f" {use.limit}"
    end = end_of(model, call)
    if end is None:
        return expected, "it never ended"
    if call.returned:
        return expected, "it returned, as if that had been all"
    if end.pair is None:
        return expected, "it ended with an untyped error"
    return (expected, f"it ended with {end.pair}") if wanted and end.pair not in wanted else None


# ------------------------------------------------------------------- the states of a run


@check(
    "limits.ends",
    title="Limits end a run",
    says="A run that has used up a limit starts nothing more, and ends in its state.",
    unjudged="no turn came to one of its limits",
    role="runtime",
)
def limits_ends(history: History, model: ErrorModel) -> Verdicts:
    """Judge each turn that came to a limit, and each that says that it did."""
    if not model.limits:
        yield otherwise("the document says nothing of limits")
    rules: dict[str, LimitRule] = {rule.limit: rule for rule in reversed(model.limits)}
    reached = [use for use in limits_reached(history, model) if use.name in rules]
    for use in reached:
        hit = [rules[other.name] for other in reached if other.call == use.call]
        yield from _judge(history, model, use, rules[use.name], hit)
    stopped = {use.call for use in limits_reached(history, model)}
    for call in history.calls:
        if call.is_turn and call.id not in stopped:
            yield from _judge_claim(history, model, call)


def _judge(
    history: History, model: ErrorModel, use: Use, rule: LimitRule, hit: list[LimitRule]
) -> Verdicts:
    call = history.call(use.call)
    end = None if call is None else end_of(model, call)
    if use.over is None and end is None and history.trace.footer.ending != "completed":
        return
    if use.over is None and end is not None and _is_another_failure(history, model, use, end):
        return
    yield held(rule.requirement)
    if use.over is not None and rule.exact:
        fault = f"no more than {use.limit}", f"it went on beyond it: {use.over.kind}"
    elif end is not None and any(_fits(other, end) for other in hit):
        return
    else:
        wanted = " or ".join(rule.states) or "not completed"
        carried = f" with {' or '.join(rule.carries)}" if rule.carries else ""
        expected = f"the turn ends {wanted}{carried}: it has used up {use.limit}"
        fault = expected, "it never ended" if end is None else str(end)
    shown = (use.last, use.over, None if end is None else end.event)
    yield broken(
        (rule.requirement,),
        call=use.call,
        expected=fault[0],
        observed=fault[1],
        events=tuple(dict.fromkeys(event.seq for event in shown if event is not None)),
        hint=_HINT,
    )


def _is_another_failure(history: History, model: ErrorModel, use: Use, end: RunEnd) -> bool:
    """Return whether the turn ended by the failure of a tool, and not by its limit."""
    carried = {pair for rule in model.limits for pair in rule.carries}
    if end.pair is None or end.pair in carried:
        return False
    last = next((item for item in reversed(history.answers) if item.in_call.id == use.call), None)
    return last is not None and any(
        not execution.is_good for item in last.tool_calls for execution in item.executions[-1:]
    )


def _fits(rule: LimitRule, end: RunEnd) -> bool:
    if rule.carries and end.pair not in rule.carries:
        return False
    return end.state in rule.states if rule.states else end.state != "completed"


def _judge_claim(history: History, model: ErrorModel, call: Call) -> Verdicts:
    """Judge that a turn which came to none of its limits does not end as if it had.

    What a turn has cost is the subject's own estimate, and a limit that the scenario does not set
    may be one of its own.
    """
    end = end_of(model, call)
    if end is None or call.stop is not None or call.crashed is not None:
        return
    given = {use.name for use in named_uses(history, model, call)} - {"tokens", "cost"}
    rules = [rule for rule in model.limits if end.pair in rule.carries]
    # Something that failed may have the class and code that a limit has as well.
    pairs = (item.pair for item in failures_of(history, model) if item.call == call.id)
    explained = any(pair is not None and "/".join(pair) == end.pair for pair in pairs)
    if not rules or not {rule.limit for rule in rules} <= given or explained:
        return
    yield held(rules[0].requirement)
    yield broken(
        (rules[0].requirement,),
        call=call.id,
        expected=f"a turn ends with {end.pair} only when it has used up its limit",
        observed=f"{end}, and it had not",
        events=(call.start.seq, end.event.seq),
        hint="Count anew for each turn, and look at the limit before each further step.",
    )
