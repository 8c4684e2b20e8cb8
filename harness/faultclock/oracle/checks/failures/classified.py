"""The audit trail of failures: each is recorded, with its class and code.

The `target` of a record says which of several like failures it is about. A request has no name
that a subject could know, nor has a run: there the class and code are enough.
"""

from __future__ import annotations

from collections.abc import Mapping

from faultclock.model.error_model.error_model import ErrorModel
from faultclock.model.trace.trace import TraceEvent
from faultclock.oracle.check import Verdicts, Violation, also, broken, check, held
from faultclock.oracle.facts.history import History
from faultclock.oracle.failures.engine import call_of, failures_of
from faultclock.oracle.failures.failure import Failure, requirements_of

_WITHOUT_A_NAME = ("request", "run", "telemetry", "store")


@check(
    "failures.classified",
    title="Each failure has its class and code",
    says="Each failure is in the audit trail with the class and code that the document gives it.",
    unjudged="nothing failed that the error model has a class for",
    role="runtime",
    declares=("audit",),
)
def classified(history: History, model: ErrorModel) -> Verdicts:
    """Judge the record of each failure that has a class."""
    general = also(model, "failures.classified")
    records = list(history.of("declared.audit"))
    failures = [
        failure
        for failure in failures_of(history, model)
        if failure.pair is not None and failure.disposition != "not_an_error"
    ]
    recorded: list[Failure] = []
    for failure in failures:
        own = next((event for event in records if _says_exactly(event, failure)), None)
        requirements = (*requirements_of(model, failure), *general)
        call = call_of(history, failure)
        if own is not None:
            # One record is about one failure.
            records.remove(own)
            recorded.append(failure)
            yield held(*requirements)
        elif call.end is not None and not _cut_at_once(failure, call.stop):
            near = (item for item in records if _is_near(item, failure))
            first = next((item for item in near if item.seq < call.end.seq), None)
            yield _wrong_record(failure, requirements, first, call.end)
    for failure in recorded:
        yield from _judge_others(history, model, failure, records)


def _judge_others(
    history: History, model: ErrorModel, failure: Failure, records: list[TraceEvent]
) -> Verdicts:
    """Judge that no further record calls a failed tool call something else of its class."""
    if failure.tool_call is None:
        return
    own = {item.pair for item in failures_of(history, model) if item.tool_call == failure.tool_call}
    for event in records:
        if (
            _is_near(event, failure)
            and _target(event.record) == failure.tool_call
            and failure.pair is not None
            and event.record.get("class") == failure.pair[0]
            and _pair(event) not in own
        ):
            yield _wrong_record(failure, requirements_of(model, failure), event, event)
            return


def _says_exactly(event: TraceEvent, failure: Failure) -> bool:
    """Return whether a record is about a failure, with its class and code."""
    nameless = failure.layer in _WITHOUT_A_NAME
    return _pair(event) == failure.pair and (
        _is_near(event, failure) or (nameless and _may_be_of(event, failure))
    )


def _is_near(event: TraceEvent, failure: Failure) -> bool:
    """Return whether a record names the target of a failure."""
    return (
        failure.layer not in _WITHOUT_A_NAME
        and _may_be_of(event, failure)
        and _target(event.record) in (failure.target, *failure.names)
    )


def _may_be_of(event: TraceEvent, failure: Failure) -> bool:
    return event.seq >= failure.seq and event.call in (failure.call, None)


def _pair(event: TraceEvent) -> tuple[object, object]:
    return event.record.get("class"), event.record.get("code")


def _target(record: Mapping[str, object]) -> str:
    context = record.get("context")
    return str(context.get("target") if isinstance(context, Mapping) else None)


def _cut_at_once(failure: Failure, stop: TraceEvent | None) -> bool:
    """Return whether the work was stopped before the failure could be written down.

    A cancel and a limit are what stopped it, and the subject itself acts on both.
    """
    is_the_stop = failure.kind in ("cancelled", "limit_reached")
    return stop is not None and not is_the_stop and stop.at_ns <= failure.at_ns


def _wrong_record(
    failure: Failure, requirements: tuple[str, ...], near: TraceEvent | None, end: TraceEvent
) -> Violation:
    observed, events = "no record says so before the call ends", (*failure.events, end.seq)
    if near is not None:
        observed = "the record about it says {}/{}".format(*_pair(near))
        events = (*failure.events, near.seq, end.seq)
    return broken(
        requirements,
        call=failure.call,
        expected=f"a record with {failure.classification} for {failure}",
        observed=observed,
        events=events,
        hint='Call `host.audit(error_class=…, code=…, context={"target": …})` for each failure.',
    )
