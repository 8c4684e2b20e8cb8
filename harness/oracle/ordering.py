"""Ordering: the model's ordering rules, each a check, over the trace and what follows from it.

Beside the events of the trace a rule may speak of `attempt.started` {call, attempt, retry} and
`attempt.failed` {call, attempt}, which the oracle derives. They stand right after the event that
shows them, and carry its `seq`.
"""

from __future__ import annotations

from collections.abc import Iterator

from harness.model.error_model import ErrorModel, OrderingRule
from harness.model.trace import TraceEvent
from harness.oracle.attempts import Attempt, Call
from harness.oracle.check import Case, Check, Outcome, Violation
from harness.oracle.patterns import evaluate

__all__ = ["checks", "with_attempts"]


def checks(model: ErrorModel) -> tuple[Check, ...]:
    """Return one check for each ordering rule of `model`."""
    return tuple(_check(rule) for rule in model.ordering)


def with_attempts(events: tuple[TraceEvent, ...], calls: tuple[Call, ...]) -> list[TraceEvent]:
    """Return `events` with the derived ones among them."""
    derived: dict[int, list[TraceEvent]] = {}
    for call in calls:
        for attempt in call.attempts:
            for event in _derived(attempt):
                derived.setdefault(event.seq, []).append(event)
    merged: list[TraceEvent] = []
    for event in events:
        merged.append(event)
        merged.extend(derived.get(event.seq, ()))
    return merged


def _derived(attempt: Attempt) -> Iterator[TraceEvent]:
    facts = {"call": attempt.call, "attempt": attempt.number}
    start = attempt.start
    begun = {**facts, "retry": attempt.number > 1}
    yield TraceEvent(start.seq, start.at_ns, "oracle", "attempt.started", begun)
    if attempt.failed and attempt.knowable_seq is not None and attempt.knowable_ns is not None:
        yield TraceEvent(
            attempt.knowable_seq, attempt.knowable_ns, "oracle", "attempt.failed", facts
        )


def _check(rule: OrderingRule) -> Check:
    def run(case: Case) -> Outcome:
        return _judge(rule, case)

    return Check(
        id=f"ordering.{rule.id}",
        title=rule.id.replace("-", " ").capitalize(),
        says=rule.says,
        run=run,
    )


def _judge(rule: OrderingRule, case: Case) -> Outcome:
    outcome = Outcome(reason="nothing happened that the rule speaks of")
    if rule.needs is not None and rule.needs not in case.trace.header.subject.declares:
        outcome.reason = f"the subject's binding does not declare {rule.needs!r}"
        return outcome
    result = evaluate(rule, with_attempts(case.trace.events, case.calls))
    for _ in range(result.judged):
        outcome.looked_at(rule.requirement)
    waits = ""
    if case.trace.footer.ending != "completed":
        detail = "; ".join(case.trace.footer.detail)
        ending = case.trace.footer.ending.replace("_", " ")
        waits = f" (the run ended by {ending}{': ' if detail else ''}{detail})"
    for witness in result.witnesses:
        outcome.violate(
            Violation(
                requirement=rule.requirement,
                call=witness.key if rule.per == "call" else None,
                expected=rule.says,
                observed=f"{witness.observed}{waits}",
                events=tuple(sorted({event.seq for event in witness.events})),
            )
        )
    return outcome
