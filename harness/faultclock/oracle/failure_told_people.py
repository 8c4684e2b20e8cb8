"""What people see of a failure: one message, in time, with all that it must have.

The two checks differ in their audience, so only that is in their own modules.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from faultclock.model.error_model import ErrorModel
from faultclock.model.failure_rules import TellingRule
from faultclock.model.trace import TraceEvent
from faultclock.oracle.check import Verdicts, broken, held, otherwise
from faultclock.oracle.failure import Failure
from faultclock.oracle.failure_course import end_call, final_failures, is_about
from faultclock.oracle.failure_fields import excerpt, faults_in, worded
from faultclock.oracle.history import History

__all__ = ["judge_told"]


def judge_told(
    history: History, model: ErrorModel, audience: Literal["operator", "user"]
) -> Verdicts:
    """Judge that an audience saw each failure that a rule is about."""
    yield otherwise(f"nothing failed for good that the {audience} must see")
    rules = [rule for rule in model.telling if rule.audience == audience]
    if not rules:
        yield otherwise(f"the error model does not say what the {audience} sees of a failure")
    elif audience not in history.trace.header.subject.declares:
        yield otherwise(f"the subject's binding does not declare {audience!r}")
        return
    messages = list(history.of(f"declared.{audience}_message"))
    for failure in final_failures(history, model):
        for rule in rules:
            if is_about(history, rule, failure):
                yield from _judge(history, model, failure, rule, messages)


def _judge(
    history: History,
    model: ErrorModel,
    failure: Failure,
    rule: TellingRule,
    messages: Sequence[TraceEvent],
) -> Verdicts:
    call = history.call(failure.call)
    end = None if call is None else call.end
    told = [
        event
        for event in messages
        if event.seq > failure.seq
        and (end is None or event.seq < end.seq)
        and event.call in (failure.call, None)
    ]
    faults = [_faults(rule, failure, event) for event in told]
    if any(not found for found in faults):
        yield held(rule.requirement)
        return
    if end is None or (failure.kind != "cancelled" and end_call(history, model, failure) is None):
        # It was kept from telling, or still may.
        return
    yield held(rule.requirement)
    nearest = min(range(len(told)), key=lambda index: len(faults[index]), default=None)
    wanted = _wanted(rule, failure) if nearest is None else faults[nearest]
    observed = "no message" if nearest is None else excerpt(_shown(told[nearest]))
    yield broken(
        (rule.requirement,),
        call=failure.call,
        expected=f"a message to the {rule.audience} about {failure}: {', '.join(wanted)}",
        observed=observed,
        events=(*failure.events, *(event.seq for event in told[:3]), end.seq),
        hint="Is it chosen by the class and code of the failure, before the call ends?",
    )


def _wanted(rule: TellingRule, failure: Failure) -> tuple[str, ...]:
    text = worded(rule, failure)
    found = ["some message"] if text is None else [f"{text!r} is in the message"]
    found += [f"the action {action!r}" for action in rule.actions]
    return (*found, *([] if rule.pill is None else [f"the status {rule.pill!r}"]))


def _faults(rule: TellingRule, failure: Failure, event: TraceEvent) -> tuple[str, ...]:
    message = str(event.message or "")
    actions = event.actions or ()
    text = worded(rule, failure)
    found: list[str] = []
    if text is None:
        found += [] if message.strip() else ["some message"]
    elif text not in message:
        found.append(f"{text!r} is in the message")
    found += [f"the action {action!r}" for action in rule.actions if action not in actions]
    if rule.pill is not None and event.pill != rule.pill:
        found.append(f"the status {rule.pill!r}")
    return (*found, *faults_in(rule.fields, event.payload, failure, rule.retryable))


def _shown(event: TraceEvent) -> str:
    pill = f" [{event.pill}]" if event.pill else ""
    actions = ", ".join(str(action) for action in event.actions or ())
    return f"{event.message}{pill}" + (f" ({actions})" if actions else "")
