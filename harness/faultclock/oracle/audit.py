"""The audit trail: each failure with its class, each failed try with its number, each exchange.

The `target` of a record says which of several like failures it is about. A request has no name
that a subject could know, nor has a run: there the class and code are enough. What is retried is
audited so that operators see when tools and stores become flaky.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeVar

from faultclock.model.error_model import ErrorModel
from faultclock.model.trace import TraceEvent
from faultclock.oracle.check import (
    Verdicts,
    Violation,
    also,
    broken,
    check,
    held,
    otherwise,
)
from faultclock.oracle.failure import Failure, requirements_of
from faultclock.oracle.failures import call_of, failures_of
from faultclock.oracle.history import History
from faultclock.oracle.redo import Series
from faultclock.oracle.stages import series_of_stages
from faultclock.oracle.store_redo import store_series
from faultclock.oracle.tool_redo import series_of_tools

ItemT = TypeVar("ItemT")

_WITHOUT_A_NAME = ("request", "run", "telemetry", "store")
_NO_AUDIT = "the subject's binding does not declare 'audit'"


def _is_audited(history: History) -> bool:
    return "audit" in history.trace.header.subject.declares


def _recorded(
    records: list[TraceEvent],
    items: Iterable[ItemT],
    is_about: Callable[[TraceEvent, ItemT], bool],
) -> Iterator[tuple[ItemT, bool]]:
    """Yield whether each item has a record of its own, which is taken out of `records`."""
    for item in items:
        own = next((event for event in records if is_about(event, item)), None)
        if own is not None:
            records.remove(own)
        yield item, own is not None


# ---------------------------------------------------------------------- failures


@check(
    "failures.classified",
    title="Each failure has its class and code",
    says="Each failure is in the audit trail with the class and code that the document gives it.",
    unjudged="nothing failed that the error model has a class for",
    role="runtime",
)
def classified(history: History, model: ErrorModel) -> Verdicts:
    """Judge the record of each failure that has a class."""
    if not _is_audited(history):
        yield otherwise(_NO_AUDIT)
        return
    general = also(model, "failures.classified")
    records = list(history.of("declared.audit"))
    failures = [
        failure
        for failure in failures_of(history, model)
        if failure.pair is not None and failure.disposition != "not_an_error"
    ]
    recorded: list[Failure] = []
    for failure, found in _recorded(records, failures, _says_exactly):
        requirements = (*requirements_of(model, failure), *general)
        call = call_of(history, failure)
        if found:
            recorded.append(failure)
            yield held(*requirements)
        elif call.end is not None and not _cut_at_once(failure, call.stop):
            yield held(*requirements)
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
    nameless = failure.target.layer in _WITHOUT_A_NAME
    return _pair(event) == failure.pair and (
        _is_near(event, failure) or (nameless and _may_be_of(event, failure))
    )


def _is_near(event: TraceEvent, failure: Failure) -> bool:
    """Return whether a record names the target of a failure."""
    return (
        failure.target.layer not in _WITHOUT_A_NAME
        and _may_be_of(event, failure)
        and _target(event.record) in (failure.target.id, *failure.names)
    )


def _may_be_of(event: TraceEvent, failure: Failure) -> bool:
    return event.seq >= failure.seq and event.call in (failure.call, None)


def _pair(event: TraceEvent) -> tuple[object, object]:
    return event.record.get("class"), event.record.get("code")


def _target(record: Mapping[str, object]) -> str:
    context = record.get("context")
    return str(context.get("target") if isinstance(context, Mapping) else None)


def _cut_at_once(failure: Failure, stop: TraceEvent | None) -> bool:
    """Return whether the work was stopped before the failure could be written down."""
    return stop is not None and failure.kind != "cancelled" and stop.at_ns <= failure.at_ns


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


# ---------------------------------------------------------------------- tries


@dataclass(frozen=True, slots=True, kw_only=True)
class _Try:
    """One try that failed, and what its record has to say.

    Attributes:
        pair: class and code; None where any is right.
        until: the end of the call; the record has to be there by then.
    """

    what: str
    call: str
    number: int
    pair: tuple[str, str] | None
    ended: TraceEvent
    until: TraceEvent


@check(
    "audit.attempts",
    title="Failed attempts are audited",
    says="Each failed attempt of a tool, a store or a stage has a record with its number.",
    unjudged="no tool, store or stage failed",
    role="runtime",
)
def attempts(history: History, model: ErrorModel) -> Verdicts:
    """Judge the record of each failed try but those at the provider: ordering rules speak of them.

    They are the business of the audience `audit` as well.
    """
    if not _is_audited(history):
        yield otherwise(_NO_AUDIT)
        return
    requirements = also(model, "audit.attempts")
    tries = sorted(_tries(history, model), key=lambda item: item.ended.seq)
    for item, found in _recorded(list(history.of("declared.audit")), tries, _numbers):
        yield held(*requirements)
        if not found:
            said = "/".join(item.pair) if item.pair else "a class and a code"
            yield broken(
                requirements,
                call=item.call,
                expected=f"a record of attempt {item.number} of {item.what}, with {said}",
                observed=_numbers_after(history, item),
                events=(item.ended.seq, item.until.seq),
                hint="Call `host.audit(…, attempt=n)` for each attempt that fails, also the last.",
            )


def _tries(history: History, model: ErrorModel) -> Iterator[_Try]:
    series: tuple[Series, ...] = (
        *series_of_tools(history, model, ()),
        *store_series(history, model, ()),
        *series_of_stages(history, model, ()),
    )
    for one in series:
        call = history.call(one.call)
        for number, own, _ in () if call is None or call.end is None else one.steps():
            if call is None or call.end is None or own.ended is None:
                continue
            if own.outcome != "failed" or own.ended.seq > call.end.seq:
                continue
            class_name, slash, code = own.failure.partition("/")
            yield _Try(
                what=one.what,
                call=call.id,
                number=number,
                pair=(class_name, code) if slash else None,
                ended=own.ended,
                until=call.end,
            )


def _numbers(event: TraceEvent, item: _Try) -> bool:
    """Return whether a record is about a try, with its number."""
    return (
        item.ended.seq < event.seq < item.until.seq
        and event.call in (item.call, None)
        and event.record.get("attempt") == item.number
        and item.pair in (None, _pair(event))
    )


def _numbers_after(history: History, item: _Try) -> str:
    near = [
        event.record.get("attempt")
        for event in history.of("declared.audit")
        if item.ended.seq < event.seq < item.until.seq and _pair(event) == item.pair
    ]
    if not near:
        return "there is none"
    numbers = ", ".join("none" if number is None else str(number) for number in near)
    return f"the records after it have the attempt numbers: {numbers}"


# ---------------------------------------------------------------------- exchanges


@check(
    "audit.interactions",
    title="Exchanges on error paths are audited",
    says="Each request to a person that was refused or ran out has a record of the exchange.",
    unjudged="no request to a person came to a bad end",
    role="runtime",
)
def interactions(history: History, model: ErrorModel) -> Verdicts:
    """Judge the record of each request that was not approved, nor answered with a value."""
    if not _is_audited(history):
        yield otherwise(_NO_AUDIT)
        return
    requirements = also(model, "audit.interactions")
    audited = {
        (event.life, event.fields.get("request"))
        for event in history.of("declared.audit_event")
        if event.name == "InteractionExchange"
    }
    for prompt in history.prompts:
        call = history.call(prompt.call)
        if prompt.said in ("approved", "given") or call is None or call.end is None:
            continue
        yield held(*requirements)
        if {(prompt.life, prompt.id), (1, prompt.id)} & audited:
            continue
        settled = () if prompt.settled is None else (prompt.settled.seq,)
        yield broken(
            requirements,
            call=prompt.call,
            expected=f"a record InteractionExchange of {prompt.kind} {prompt.id}, which"
            f" {'was ' + prompt.said if prompt.said else 'was not answered'}",
            observed="there is none",
            events=(prompt.shown.seq, *settled, call.end.seq),
            hint="Every exchange on an error path is audited, with its request and status.",
        )
