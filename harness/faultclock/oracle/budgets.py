"""Budgets: a turn never exceeds what it may use, and ends with a typed error when it has to stop.

A limit that is reached by the last thing that the turn needed ends nothing.
"""

from __future__ import annotations

from faultclock.model.error_model import ErrorModel
from faultclock.model.turn_rules import BudgetRules
from faultclock.oracle.attempts import Call
from faultclock.oracle.chain import chain_of, origin, typed
from faultclock.oracle.check import (
    Check,
    Verdicts,
    also,
    broken,
    held,
    otherwise,
)
from faultclock.oracle.history import History
from faultclock.oracle.uses import Use, uses_of

__all__ = ["CHECKS"]


def _kept(history: History, model: ErrorModel) -> Verdicts:
    yield otherwise("the turns have no limits")
    rules = model.budgets or BudgetRules()
    for call in history.calls:
        if not call.is_turn:
            continue
        for use in uses_of(history, call, rules):
            if use.name == "cost":
                # The models that this section is for count tokens; see `limits`.
                continue
            requirements = also(model, f"budgets.kept.{use.name}")
            yield held(*requirements)
            fault = _fault(call, use, rules)
            if fault is not None:
                shown = () if use.over is None else (use.over.seq,)
                ended = () if call.end is None else (call.end.seq,)
                yield broken(
                    requirements,
                    call=call.id,
                    expected=fault[0],
                    observed=fault[1],
                    events=(call.start.seq, *shown, *ended),
                    hint="Look at the limit before the next step, not after it.",
                )
    yield from _judge_caps(history, model)


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


def _judge_caps(history: History, model: ErrorModel) -> Verdicts:
    """Judge that an attempt of a stage gets no more answers than its cap."""
    scripts = {stage.id: stage for stage in history.session.stages}
    requirements = also(model, "budgets.kept.turn_cap")
    for visit in history.stage_visits:
        script, call = scripts.get(visit.stage), history.call(visit.call)
        if script is None or script.turn_cap is None or call is None:
            continue
        for item in visit.tries:
            until = len(history.trace.events) if item.decided is None else item.decided.seq
            answers = [
                attempt
                for attempt in call.attempts
                if attempt.outcome == "ok" and item.begun.seq < attempt.start.seq < until
            ]
            yield held(*requirements)
            if len(answers) > script.turn_cap:
                yield broken(
                    requirements,
                    call=call.id,
                    expected=(f"at most {script.turn_cap} answers in an attempt of {visit.stage}"),
                    observed=f"there were {len(answers)}",
                    events=(item.begun.seq, answers[script.turn_cap].start.seq),
                )


CHECKS = (
    Check(
        id="budgets.kept",
        title="Limits of a turn",
        says="A turn stays within its limits, and a turn that reaches one ends with an error.",
        run=_kept,
    ),
)
