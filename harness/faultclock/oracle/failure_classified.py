"""failures.classified: the audit trail has each failure with the class and code that it has.

Which of several like failures a record tells of is said by its `target`. A request has no name
that a subject could know, nor has a run: there the class and code are enough.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from faultclock.model.error_model import ErrorModel
from faultclock.model.trace import TraceEvent
from faultclock.oracle.check import (
    Check,
    Verdicts,
    Violation,
    also,
    exercising,
    held,
    otherwise,
)
from faultclock.oracle.failure import Failure
from faultclock.oracle.failure_course import requirements_of
from faultclock.oracle.failures import failures_of
from faultclock.oracle.history import History

__all__ = ["CHECK"]

_WITHOUT_A_NAME = ("request", "run", "telemetry", "store")


def _classified(history: History, model: ErrorModel) -> Verdicts:
    yield otherwise("nothing failed that the error model has a class for")
    if "audit" not in history.trace.header.subject.declares:
        yield otherwise("the subject's binding does not declare 'audit'")
        return
    general = also(model, "failures.classified")
    records = list(history.of("declared.audit"))
    told: list[Failure] = []
    for failure in failures_of(history, model):
        if failure.pair is None or failure.disposition == "not_an_error":
            continue
        own = next((item for item in records if _tells_of(item, failure, exactly=True)), None)
        requirements = (*requirements_of(model, failure), *general)
        if own is not None:
            # One record is about one failure.
            records.remove(own)
            told.append(failure)
            yield held(*requirements)
            continue
        call = history.call(failure.call)
        if call is None or call.end is None or _cut_at_once(history, failure):
            continue
        yield held(*requirements)
        near = [
            item
            for item in records
            if _tells_of(item, failure, exactly=False) and item.seq < call.end.seq
        ]
        yield exercising(_violation(failure, requirements, near, call.end), *requirements)
    yield from _judge_others(history, model, told, records)


def _judge_others(
    history: History, model: ErrorModel, told: list[Failure], records: list[TraceEvent]
) -> Verdicts:
    """Judge that no further record calls a failed tool call something else of its class."""
    for failure in told:
        if failure.tool_call is None or failure.pair is None:
            continue
        own = {
            item.pair for item in failures_of(history, model) if item.tool_call == failure.tool_call
        }
        for event in records:
            record = event.record
            pair = (record.get("class"), record.get("code"))
            if (
                _tells_of(event, failure, exactly=False)
                and _target(record) == failure.tool_call
                and pair[0] == failure.pair[0]
                and pair not in own
            ):
                requirements = requirements_of(model, failure)
                yield exercising(_violation(failure, requirements, [event], event), *requirements)
                break


def _tells_of(event: TraceEvent, failure: Failure, *, exactly: bool) -> bool:
    if event.seq < failure.seq or event.call not in (failure.call, None):
        return False
    record = event.record
    if exactly and (record.get("class"), record.get("code")) != failure.pair:
        return False
    if failure.target.layer in _WITHOUT_A_NAME:
        return exactly
    return _target(record) in (failure.target.id, *failure.names)


def _target(record: Mapping[str, Any]) -> str:
    context = record.get("context")
    return str(context.get("target") if isinstance(context, Mapping) else None)


def _cut_at_once(history: History, failure: Failure) -> bool:
    """Return whether the work was stopped before the failure could be written down."""
    call = history.call(failure.call)
    stop = None if call is None else call.stop
    return stop is not None and failure.kind != "cancelled" and stop.at_ns <= failure.at_ns


def _violation(
    failure: Failure, requirements: tuple[str, ...], near: list[TraceEvent], end: TraceEvent
) -> Violation:
    told = [f"{item.record.get('class')}/{item.record.get('code')}" for item in near]
    known = failure.classification
    observed = (
        f"the record about it says {told[0]}" if told else "no record says so before the call ends"
    )
    return Violation(
        requirement=next(iter(requirements), None),
        call=failure.call,
        expected=f"a record with {known} for {failure}",
        observed=observed,
        events=(*failure.events, *(item.seq for item in near[:1]), end.seq),
        hint='Call `host.audit(error_class=…, code=…, context={"target": …})` for each failure.',
    )


CHECK = Check(
    id="failures.classified",
    title="Each failure has its class and code",
    says="Each failure is in the audit trail with the class and code that the document gives it.",
    run=_classified,
)
