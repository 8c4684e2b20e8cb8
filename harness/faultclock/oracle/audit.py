"""The audit trail of a turn: each failed try with its number, each exchange on an error path.

What is retried is audited so that operators see when tools and stores become flaky. The attempts
at the provider are the business of the ordering rules and of the audience `audit`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from faultclock.model.error_model import ErrorModel
from faultclock.model.trace import TraceEvent
from faultclock.oracle.check import (
    Check,
    Verdicts,
    also,
    broken,
    held,
    otherwise,
)
from faultclock.oracle.history import History
from faultclock.oracle.redo import Series
from faultclock.oracle.stages import series_of_stages
from faultclock.oracle.store_redo import store_series
from faultclock.oracle.tool_redo import series_of_tools

__all__ = ["CHECKS"]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Failure:
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


def _attempts(history: History, model: ErrorModel) -> Verdicts:
    requirements = also(model, "audit.attempts")
    yield otherwise("no tool, store or stage failed")
    if "audit" not in history.trace.header.subject.declares:
        yield otherwise("the subject's binding does not declare 'audit'")
        return
    records = list(history.of("declared.audit"))
    for failure in sorted(_failures(history, model), key=lambda item: item.ended.seq):
        yield held(*requirements)
        own = next((item for item in records if _is_about(item, failure)), None)
        if own is not None:
            # One record is about one failure.
            records.remove(own)
            continue
        said = "/".join(failure.pair) if failure.pair else "a class and a code"
        yield broken(
            requirements,
            call=failure.call,
            expected=f"a record of attempt {failure.number} of {failure.what}, with {said}",
            observed=_observed(history, failure),
            events=(failure.ended.seq, failure.until.seq),
            hint="Call `host.audit(…, attempt=n)` for each attempt that fails, also the last.",
        )


def _failures(history: History, model: ErrorModel) -> Iterator[_Failure]:
    for series_of in (series_of_tools, store_series, series_of_stages):
        for series in series_of(history, model, ()):
            yield from _failures_of(history, series)


def _failures_of(history: History, series: Series) -> Iterator[_Failure]:
    call = history.call(series.call)
    if call is None or call.end is None:
        return
    for number, own, _ in series.steps():
        if own.outcome != "failed" or own.ended is None or own.ended.seq > call.end.seq:
            continue
        class_name, slash, code = own.failure.partition("/")
        yield _Failure(
            what=series.what,
            call=call.id,
            number=number,
            pair=(class_name, code) if slash else None,
            ended=own.ended,
            until=call.end,
        )


def _is_about(event: TraceEvent, failure: _Failure) -> bool:
    if not failure.ended.seq < event.seq < failure.until.seq:
        return False
    record = event.record
    if event.call not in (failure.call, None):
        return False
    if record.get("attempt") != failure.number:
        return False
    return failure.pair in (None, (record.get("class"), record.get("code")))


def _observed(history: History, failure: _Failure) -> str:
    near = [
        event.record.get("attempt")
        for event in history.of("declared.audit")
        if failure.ended.seq < event.seq < failure.until.seq
        and (event.record.get("class"), event.record.get("code")) == failure.pair
    ]
    if not near:
        return "there is none"
    numbers = ", ".join("none" if item is None else str(item) for item in near)
    return f"the records after it have the attempt numbers: {numbers}"


def _interactions(history: History, model: ErrorModel) -> Verdicts:
    requirements = also(model, "audit.interactions")
    yield otherwise("no request to a person came to a bad end")
    if "audit" not in history.trace.header.subject.declares:
        yield otherwise("the subject's binding does not declare 'audit'")
        return
    audited = {
        (event.life, (event.fields or {}).get("request"))
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


CHECKS = (
    Check(
        id="audit.attempts",
        title="Failed attempts are audited",
        says="Each failed attempt of a tool, a store or a stage has a record with its number.",
        run=_attempts,
    ),
    Check(
        id="audit.interactions",
        title="Exchanges on error paths are audited",
        says="Each request to a person that was refused or ran out has a record of the exchange.",
        run=_interactions,
    ),
)
