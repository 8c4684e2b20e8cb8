"""Limits: a turn stays within what it may use, and a turn that reaches a limit ends as it must.

A document has either one error for each limit (`budgets`, which the model reads as `limits`), or
the states in which a run may end as well. A limit that was reached by the last thing that the turn
needed ends nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from faultclock.model.error_model.error_model import ErrorModel
from faultclock.model.error_model.failure_rules import ANY_PAIR, LimitRule
from faultclock.model.trace.trace import seqs
from faultclock.oracle.check import Verdicts, Violation, broken, check, held, otherwise
from faultclock.oracle.facts.history import History
from faultclock.oracle.facts.run_end import RunEnd, end_of
from faultclock.oracle.facts.uses import Use, limits_reached, uses_of
from faultclock.oracle.failures.engine import failures_of
from faultclock.oracle.wire.attempts import Call

#: Rules for limits, by the name of the limit.
Rules = Mapping[str, LimitRule]


@check(
    "budgets.kept",
    title="Limits of a turn",
    says="A turn stays within its limits, and a turn that reaches one ends with an error.",
    unjudged="the turns have no limits",
    role="runtime",
)
def budgets_kept(history: History, model: ErrorModel) -> Verdicts:
    """Judge each limit of each turn by the error that the document has for it."""
    rules: Rules = {rule.limit: rule for rule in model.budget_limits}
    for call in history.calls:
        for use in uses_of(history, model, call) if call.is_turn else ():
            if use.name in rules:
                yield held(rules[use.name].requirement)
    for _, fault in _ends(history, model, rules):
        if fault is not None:
            yield fault


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
    rules: Rules = {rule.limit: rule for rule in reversed(model.limits)}
    for rule, fault in _ends(history, model, rules):
        yield held(rule.requirement)
        if fault is not None:
            yield fault
    stopped = {use.call for use in limits_reached(history, model)}
    for call in history.calls:
        if call.is_turn and call.id not in stopped:
            yield from _judge_claim(history, model, call)


def _ends(
    history: History, model: ErrorModel, rules: Rules
) -> Iterator[tuple[LimitRule, Violation | None]]:
    """Yield the rule for each limit that a turn came to, with what is wrong at its end."""
    reached = [use for use in limits_reached(history, model) if use.name in rules]
    for use in reached:
        call, rule = history.call(use.call), rules[use.name]
        end = None if call is None else end_of(model, call)
        if use.over is not None and rule.exact:
            beyond = f"it went on beyond it: {use.over.kind}"
            yield rule, _violation(rule, use, end, f"no more than {use.limit}", beyond)
        elif use.over is None and not _is_judged(history, model, use, end, rules):
            continue
        elif end is None or not any(
            # Where it came to several at once, the end of each of them is right.
            _fits(rules[other.name], end)
            for other in reached
            if other.call == use.call
        ):
            wanted = " or ".join(rule.states) or "not completed"
            pairs = ("any class and code" if pair == ANY_PAIR else pair for pair in rule.carries)
            carried = f" with {' or '.join(pairs)}" if rule.carries else ""
            expected = f"the turn ends {wanted}{carried}: it has used up {use.limit}"
            yield rule, _violation(rule, use, end, expected, str(end or "it never ended"))
        else:
            yield rule, None


def _violation(
    rule: LimitRule, use: Use, end: RunEnd | None, expected: str, observed: str
) -> Violation:
    shown = seqs(use.last, use.over, None if end is None else end.event)
    return broken(
        (rule.requirement,),
        call=use.call,
        expected=expected,
        observed=observed,
        events=tuple(dict.fromkeys(shown)),
        hint="Look at the limit before the next step, not after it.",
    )


def _is_judged(
    history: History, model: ErrorModel, use: Use, end: RunEnd | None, rules: Rules
) -> bool:
    """Return whether the end of a turn is that of its limit, and not of a tool that failed."""
    if end is None:
        return history.trace.footer.ending == "completed"
    carried = {pair for rule in rules.values() for pair in rule.carries}
    if not model.consequences or end.pair is None or end.pair in carried:
        return True
    last = next((item for item in reversed(history.answers) if item.in_call.id == use.call), None)
    return last is None or all(
        execution.is_good for item in last.tool_calls for execution in item.executions[-1:]
    )


def _fits(rule: LimitRule, end: RunEnd) -> bool:
    any_pair = ANY_PAIR in rule.carries and end.pair is not None
    if rule.carries and end.pair not in rule.carries and not any_pair:
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
    given = {use.name for use in uses_of(history, model, call)} - {"tokens", "cost"}
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
