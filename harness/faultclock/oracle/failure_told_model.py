"""failures.told-model: the result of a failed tool call has the shape that the document has.

It is read in the next request of the same call. A failure that ends the turn has none, and what a
later turn says is not its affair. What must not be in it, the rule for the audience `model` says;
where the error model has rules for tool calls, `tools.told` looks for that.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from faultclock.model.error_model import AudienceRule, ErrorModel
from faultclock.model.failure_rules import FieldRule, TellingRule
from faultclock.model.trace import TraceEvent
from faultclock.oracle.audience import leaks
from faultclock.oracle.check import Check, Verdicts, Violation, held, otherwise
from faultclock.oracle.failure import Failure
from faultclock.oracle.failure_course import final_failures, is_about
from faultclock.oracle.failure_fields import excerpt, faults_in, field_of
from faultclock.oracle.history import History
from faultclock.oracle.tool_messages import loaded, told_of

__all__ = ["CHECK"]

#: Traces keep no more characters of a result; one that was cut cannot be read.
_CONTENT_MAX = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class _Told:
    """What the model got about a failure; None where the request has no such result."""

    failure: Failure
    request: TraceEvent
    content: str | None

    @property
    def said(self) -> Mapping[str, Any] | None:
        """The JSON object that it is; None for anything else."""
        value = None if self.content is None else loaded(self.content)
        return value if isinstance(value, Mapping) else None


def _told_model(history: History, model: ErrorModel) -> Verdicts:
    yield otherwise("no failed tool call was followed by another request to the model")
    rules = [rule for rule in model.telling if rule.audience == "model"]
    hidden = next((rule for rule in model.audiences if rule.id == "model"), None)
    if not rules and hidden is None:
        yield otherwise("the error model does not say what the model learns of a failure")
    told = tuple(_told(history, model))
    for item in told:
        for rule in rules:
            if is_about(history, rule, item.failure):
                yield from _judge(item, rule)
        if hidden is not None and model.tool_calls is None:
            yield from _judge_hidden(item, hidden)
    for rule in rules:
        own = [item for item in told if item.said and is_about(history, rule, item.failure)]
        for name, field in rule.fields.items():
            yield from _judge_differs(own, rule, name, field)


def _told(history: History, model: ErrorModel) -> Iterator[_Told]:
    for failure in final_failures(history, model):
        if failure.tool_call is None:
            continue
        call = history.call(failure.call)
        asked = () if call is None else (attempt.asked for attempt in call.attempts)
        request = next((item for item in asked if item and item.seq > failure.seq), None)
        if request is None:
            continue
        content = told_of(request, failure.tool_call)
        if content is None or len(content) < _CONTENT_MAX:
            yield _Told(failure=failure, request=request, content=content)


def _judge(told: _Told, rule: TellingRule) -> Verdicts:
    yield held(rule.requirement)
    failure = told.failure
    if told.content is None:
        expected = f"the next request has a result about {failure}"
        yield _violation(told, rule.requirement, expected, "it has no such result")
        return
    if told.said is None:
        expected = f"a JSON object about {failure}"
        yield _violation(told, rule.requirement, expected, excerpt(told.content))
        return
    faults = faults_in(rule.fields, told.said, failure, rule.retryable)
    if faults:
        expected = f"a result for the model about {failure}: {', '.join(faults)}"
        yield _violation(told, rule.requirement, expected, excerpt(told.content))


def _judge_hidden(told: _Told, rule: AudienceRule) -> Verdicts:
    if told.content is None:
        return
    yield held(rule.requirement)
    found = leaks(rule, told.content)
    if found:
        expected = f"a result for the model about {told.failure}, without internals of the runtime"
        observed = f"it holds {' and '.join(found)}: {excerpt(told.content)}"
        yield _violation(told, rule.requirement, expected, observed)


def _judge_differs(told: list[_Told], rule: TellingRule, name: str, field: FieldRule) -> Verdicts:
    """Judge that the results differ for failures that differ."""
    for by in field.differs_by:
        seen: list[tuple[object, object, _Told]] = []
        for item in told:
            key = item.failure.tool if by == "tool" else item.failure.pair
            value = field_of(item.said, name)
            for other_key, other_value, other in seen:
                if key == other_key:
                    continue
                yield held(rule.requirement)
                if value == other_value:
                    expected = f"`{name}` differs by the {by}: {item.failure}, {other.failure}"
                    observed = f"the same for both: {excerpt(str(value))}"
                    violation = _violation(item, rule.requirement, expected, observed)
                    yield violation
            seen.append((key, value, item))


def _violation(told: _Told, requirement: str, expected: str, observed: str) -> Violation:
    return Violation(
        requirement=requirement,
        call=told.failure.call,
        expected=expected,
        observed=observed,
        events=(*told.failure.events, told.request.seq),
        hint="Build the tool message from the class and code of the failure, in every path.",
    )


CHECK = Check(
    id="failures.told-model",
    title="What the model learns of a failure",
    says="The next request has a result about a failed tool call, in the required shape.",
    run=_told_model,
)
