"""Budgets: a turn never exceeds what it may use, and ends with a typed error when it has to stop.

A limit that is reached by the last thing that the turn needed ends nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

from faultclock.model.duration import format_duration
from faultclock.model.session_script import Budgets
from faultclock.model.trace import TraceEvent
from faultclock.model.turn_rules import BudgetRules
from faultclock.oracle.attempts import Call
from faultclock.oracle.chain import chain_of, origin, typed
from faultclock.oracle.check import Case, Check, Outcome, Violation, also
from faultclock.oracle.permissions import refusal_of
from faultclock.oracle.predict import SLACK_NS
from faultclock.oracle.requests import Attempt
from faultclock.oracle.tool_fates import arguments_of, fits
from faultclock.oracle.turn_facts import Execution

__all__ = ["CHECKS", "Use", "uses_of"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """How a turn stands to one of its limits.

    Attributes:
        name: of the limit, as the model's rules name it.
        limit: the limit in words.
        over: what went beyond it; None for nothing.
        reached: whether the turn had to stop there, though it needed more.
        used: what it used, in words.
    """

    name: str
    limit: str
    over: TraceEvent | None
    reached: bool
    used: str


def _kept(case: Case) -> Outcome:
    outcome = Outcome(reason="the turns have no limits")
    rules = case.model.budgets or BudgetRules()
    for call in case.calls:
        if not call.is_turn:
            continue
        for use in uses_of(case, call, rules):
            if use.name == "cost":
                # The models that this section is for count tokens; see `limits`.
                continue
            requirements = also(case.model, f"budgets.kept.{use.name}")
            outcome.looked_at(*requirements)
            fault = _fault(call, use, rules)
            if fault is not None:
                shown = () if use.over is None else (use.over.seq,)
                ended = () if call.end is None else (call.end.seq,)
                outcome.violate(
                    Violation(
                        requirement=next(iter(requirements), None),
                        call=call.id,
                        expected=fault[0],
                        observed=fault[1],
                        events=(call.start.seq, *shown, *ended),
                        hint="Look at the limit before the next step, not after it.",
                    ),
                    *requirements,
                )
    _judge_caps(case, outcome)
    return outcome


def uses_of(case: Case, call: Call, rules: BudgetRules) -> Iterator[Use]:
    """Yield how a turn stands to each of its limits."""
    budgets = case.session.budgets
    answers = [attempt for attempt in call.attempts if attempt.outcome == "ok"]
    executions = [item for item in case.executions if item.call == call.id]
    # A turn that ended with a text needed nothing more.
    wants_more = bool(answers) and answers[-1].tool_calls
    if budgets.steps_max is not None:
        over = answers[budgets.steps_max :]
        yield Use(
            name="steps",
            limit=f"{budgets.steps_max} answers of the provider",
            over=over[0].start if over else None,
            reached=wants_more and len(answers) >= budgets.steps_max,
            used=f"{len(answers)} answers",
        )
    if budgets.tool_calls_max is not None:
        beyond = executions[budgets.tool_calls_max :]
        yield Use(
            name="tool_calls",
            limit=f"{budgets.tool_calls_max} executions of tools",
            over=beyond[0].called if beyond else None,
            reached=len(executions) + _pending(case, call) > budgets.tool_calls_max,
            used=f"{len(executions)} executions",
        )
    if budgets.tokens_max is not None:
        yield _tokens(call, answers, budgets.tokens_max, wants_more=wants_more)
    if budgets.cost_max_usd is not None:
        yield _cost(call, answers, budgets, wants_more=wants_more)
    limit_ns = case.limit_ns(call)
    if limit_ns is not None:
        late = _late(call, executions, limit_ns, rules)
        yield Use(
            name="wall_time",
            limit=f"{format_duration(limit_ns - call.start.at_ns)} for a turn",
            over=late,
            reached=call.end is None or call.end.at_ns >= limit_ns,
            used="it went on after its time was over",
        )


def _pending(case: Case, call: Call) -> int:
    """Return how many tool calls of the turn could have run, and did not."""
    pending = 0
    for answer in case.answers:
        for item in answer.tool_calls if answer.in_call is call else ():
            script = case.tool_scripts.get(item.name)
            given = arguments_of(item)
            if item.executions or script is None or given is None:
                continue
            refused = script.gated and refusal_of(case, item) is not None
            pending += fits(script.input_schema, given) and not refused
    return pending


def _cost(call: Call, answers: list[Attempt], budgets: Budgets, *, wants_more: bool) -> Use:
    assert budgets.cost_max_usd is not None, "a cost is counted against a limit"
    price = budgets.usd_per_million_tokens
    # It is spent by the first token at which the money is no less than the limit.
    tokens = math.ceil(budgets.cost_max_usd * 1_000_000 / price)
    use = _tokens(call, answers, tokens, wants_more=wants_more)
    return replace(use, name="cost", limit=f"{budgets.cost_max_usd} USD ({use.limit})")


def _tokens(call: Call, answers: list[Attempt], limit: int, *, wants_more: bool) -> Use:
    used = 0
    spent_by: Attempt | None = None
    for attempt in answers:
        usage = {} if attempt.answered is None else attempt.answered.payload.get("usage") or {}
        used += int(usage.get("total_tokens") or 0)
        if spent_by is None and used >= limit:
            spent_by = attempt
    over = None
    if spent_by is not None:
        after = [item.start for item in call.attempts if item.start.seq > spent_by.events[-1]]
        over = after[0] if after else None
    return Use(
        name="tokens",
        limit=f"{limit} tokens",
        over=over,
        reached=spent_by is not None and wants_more,
        used=f"{used} tokens, and it asked again",
    )


def _late(
    call: Call, executions: list[Execution], limit_ns: int, rules: BudgetRules
) -> TraceEvent | None:
    """Return the first work that began after the time was over, or an end that is too late."""
    began = [item.start for item in call.attempts] + [item.called for item in executions]
    for event in sorted(began, key=lambda event: event.seq):
        if event.at_ns > limit_ns + SLACK_NS:
            return event
    end = call.end
    return end if end is not None and end.at_ns > limit_ns + rules.within else None


def _fault(call: Call, use: Use, rules: BudgetRules) -> tuple[str, str] | None:
    if use.over is not None:
        return f"no more than {use.limit}", use.used
    if not use.reached or call.crashed is not None:
        return None
    if call.stop is not None and call.stop is not call.end:
        return None
    wanted: tuple[str, ...] = getattr(rules, use.name)
    expected = f"the turn ends with {' or '.join(wanted) or 'a typed error'}: it has used up"
    expected += f" {use.limit}"
    if call.end is None:
        return expected, "it never ended"
    if call.returned:
        return expected, "it returned, as if that had been all"
    named = typed(origin(chain_of(call.end)))
    if named is None:
        return expected, "it ended with an untyped error"
    if wanted and "/".join(named) not in wanted:
        return expected, f"it ended with {'/'.join(named)}"
    return None


def _judge_caps(case: Case, outcome: Outcome) -> None:
    """Judge that an attempt of a stage gets no more answers than its cap."""
    scripts = {stage.id: stage for stage in case.session.stages}
    requirements = also(case.model, "budgets.kept.turn_cap")
    for visit in case.stage_visits:
        script, call = scripts.get(visit.stage), case.call(visit.call)
        if script is None or script.turn_cap is None or call is None:
            continue
        for item in visit.tries:
            until = len(case.trace.events) if item.decided is None else item.decided.seq
            answers = [
                attempt
                for attempt in call.attempts
                if attempt.outcome == "ok" and item.begun.seq < attempt.start.seq < until
            ]
            outcome.looked_at(*requirements)
            if len(answers) > script.turn_cap:
                outcome.violate(
                    Violation(
                        requirement=next(iter(requirements), None),
                        call=call.id,
                        expected=(
                            f"at most {script.turn_cap} answers in an attempt of {visit.stage}"
                        ),
                        observed=f"there were {len(answers)}",
                        events=(item.begun.seq, answers[script.turn_cap].start.seq),
                    )
                )


CHECKS = (
    Check(
        id="budgets.kept",
        title="Limits of a turn",
        says="A turn stays within its limits, and a turn that reaches one ends with an error.",
        run=_kept,
    ),
)
