"""What the model, people and later readers learn of a failure that was left in the end.

The model reads it in the next request of the same call: a failure that ends the turn has no result
there, and what a later turn says is not its affair. People see a message, and an investigation
needs files, both before the call ends. What must not be in them, the rules for audiences say; for
results of tools `tools.told` looks for that where the error model has rules for tool calls.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from itertools import combinations
from typing import Any, Literal

from msgspec import Struct

from faultclock.model.error_model.error_model import AudienceRule, ErrorModel
from faultclock.model.error_model.failure_rules import FieldRule, KeptRule, TellingRule
from faultclock.model.trace.trace import TraceEvent
from faultclock.oracle.check import Verdict, Verdicts, Violation, broken, check, held, otherwise
from faultclock.oracle.checks.failures.fields import faults_in, worded
from faultclock.oracle.facts.history import History
from faultclock.oracle.facts.tool_messages import CONTENT_MAX, loaded, told_of
from faultclock.oracle.failures.engine import call_of, final_failures, said_after, was_cut
from faultclock.oracle.failures.failure import Failure, is_about
from faultclock.oracle.leaks import leaks
from faultclock.oracle.rules.match import value_at
from faultclock.oracle.words import excerpt

#: Traces keep no more characters of a file, and of what a program writes at once.
_TEXT_MAX, _WROTE_MAX = 4_000, 2_000

#: A message or a file, and in words what it lacks; empty for nothing.
_Seen = tuple[TraceEvent, tuple[str, ...]]
#: What was expected, what was observed instead, what of that is cited, and a hint.
_Lack = tuple[str, str, Sequence[_Seen], str]


# ---------------------------------------------------------------------- the model


class _Told(Struct, frozen=True, kw_only=True):
    """What the model got about a failure; None where the request has no such result."""

    failure: Failure
    request: TraceEvent
    content: str | None

    @property
    def said(self) -> Mapping[str, Any] | None:
        """The JSON object that it is; None for anything else."""
        value = None if self.content is None else loaded(self.content)
        return value if isinstance(value, Mapping) else None


@check(
    "failures.told-model",
    title="What the model learns of a failure",
    says="The next request has a result about a failed tool call, in the required shape.",
    unjudged="no failed tool call was followed by another request to the model",
    role="runtime",
)
def told_model(history: History, model: ErrorModel) -> Verdicts:
    """Judge the results that the model got, one by one and beside each other."""
    rules = [rule for rule in model.telling if rule.audience == "model"]
    hidden = next((rule for rule in model.audiences if rule.id == "model"), None)
    if not rules and hidden is None:
        yield otherwise("the error model does not say what the model learns of a failure")
    told = tuple(_told(history, model))
    for item in told:
        for rule in rules:
            if is_about(history, rule, item.failure):
                yield from _judge_result(item, rule)
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
        asked = (attempt.asked for attempt in call_of(history, failure).attempts)
        request = next((item for item in asked if item and item.seq > failure.seq), None)
        if request is None:
            continue
        content = told_of(history, request, failure.tool_call)
        if content is None or len(content) < CONTENT_MAX:
            yield _Told(failure=failure, request=request, content=content)


def _judge_result(told: _Told, rule: TellingRule) -> Verdicts:
    yield held(rule.requirement)
    failure = told.failure
    if told.content is None:
        expected = f"the next request has a result about {failure}"
        yield _bad_result(told, rule, expected, "it has no such result")
        return
    if told.said is None:
        expected = f"a JSON object about {failure}"
        yield _bad_result(told, rule, expected, excerpt(told.content))
        return
    faults = faults_in(rule.fields, told.said, failure, rule.retryable)
    if faults:
        expected = f"a result for the model about {failure}: {', '.join(faults)}"
        yield _bad_result(told, rule, expected, excerpt(told.content))


def _judge_hidden(told: _Told, rule: AudienceRule) -> Verdicts:
    if told.content is None:
        return
    yield held(rule.requirement)
    found = leaks(rule, told.content)
    if found:
        expected = f"a result for the model about {told.failure}, without internals of the runtime"
        observed = f"it holds {' and '.join(found)}: {excerpt(told.content)}"
        yield _bad_result(told, rule, expected, observed)


def _judge_differs(told: list[_Told], rule: TellingRule, name: str, field: FieldRule) -> Verdicts:
    """Judge that the results differ for failures that differ."""
    for by in field.differs_by:
        keys = [item.failure.tool if by == "tool" else item.failure.pair for item in told]
        values = [value_at(item.said, name) for item in told]
        for place, item in enumerate(told):
            for other in range(place):
                if keys[place] == keys[other]:
                    continue
                yield held(rule.requirement)
                if values[place] == values[other]:
                    both = f"{item.failure}, {told[other].failure}"
                    expected = f"`{name}` differs by the {by}: {both}"
                    observed = f"the same for both: {excerpt(str(values[place]))}"
                    yield _bad_result(item, rule, expected, observed)


def _bad_result(
    told: _Told, rule: TellingRule | AudienceRule, expected: str, observed: str
) -> Violation:
    return broken(
        (rule.requirement,),
        call=told.failure.call,
        expected=expected,
        observed=observed,
        events=(*told.failure.events, told.request.seq),
        hint="Build the tool message from the class and code of the failure, in every path.",
    )


# ---------------------------------------------------------------------- people


@check(
    "failures.told-operator",
    title="What the operator sees of a failure",
    says="The operator sees the message, the actions and the status that belong to a failure.",
    unjudged="nothing failed for good that the operator must see",
    role="runtime",
)
def told_operator(history: History, model: ErrorModel) -> Verdicts:
    """Judge that the operator saw each failure that a rule is about."""
    return _judge_told(history, model, "operator")


@check(
    "failures.told-user",
    title="What the user sees of a failure",
    says="The user sees the message that belongs to a failure, before the call ends.",
    unjudged="nothing failed for good that the user must see",
    role="runtime",
)
def told_user(history: History, model: ErrorModel) -> Verdicts:
    """Judge that the user saw each failure that a rule is about."""
    return _judge_told(history, model, "user")


def _judge_told(
    history: History, model: ErrorModel, audience: Literal["operator", "user"]
) -> Verdicts:
    rules = [rule for rule in model.telling if rule.audience == audience]
    if not rules:
        yield otherwise(f"the error model does not say what the {audience} sees of a failure")
    elif audience not in history.trace.header.subject.declares:
        yield otherwise(f"the subject's binding does not declare {audience!r}")
        return
    for failure in final_failures(history, model):
        messages = said_after(history, failure, f"declared.{audience}_message")
        for rule in rules:
            if is_about(history, rule, failure):
                seen = [(event, _faults(rule, failure, event)) for event in messages]
                lack = _no_message(rule, failure, seen)
                yield from _judge_seen(history, model, failure, rule, seen, lack)


def _faults(rule: TellingRule, failure: Failure, event: TraceEvent | None) -> tuple[str, ...]:
    """Return in words what a message has to have, and has not; None is no message at all."""
    message = "" if event is None else str(event.message or "")
    actions = () if event is None else event.actions
    text = worded(rule, failure)
    found: list[str] = []
    if text is None:
        found += [] if message.strip() else ["some message"]
    elif event is None or text not in message:
        found.append(f"{text!r} is in the message")
    found += [f"the action {action!r}" for action in rule.actions if action not in actions]
    if rule.pill is not None and (event is None or event.pill != rule.pill):
        found.append(f"the status {rule.pill!r}")
    if event is None:
        return tuple(found)
    return (*found, *faults_in(rule.fields, event.payload, failure, rule.retryable))


def _no_message(rule: TellingRule, failure: Failure, seen: Sequence[_Seen]) -> _Lack:
    lacking, observed = _faults(rule, failure, None), "no message"
    if seen:
        nearest, lacking = min(seen, key=lambda item: len(item[1]))
        observed = excerpt(_shown(nearest))
    expected = f"a message to the {rule.audience} about {failure}: {', '.join(lacking)}"
    hint = "Is it chosen by the class and code of the failure, before the call ends?"
    return expected, observed, seen[:3], hint


def _shown(event: TraceEvent) -> str:
    pill = f" [{event.pill}]" if event.pill else ""
    actions = ", ".join(str(action) for action in event.actions)
    return f"{event.message}{pill}" + (f" ({actions})" if actions else "")


# ---------------------------------------------------------------------- files


@check(
    "failures.kept",
    title="Files kept after a failure",
    says="The files that an investigation of a failure needs are kept before the call ends.",
    unjudged="no failure was final and needed a kept file",
    role="runtime",
)
def kept(history: History, model: ErrorModel) -> Verdicts:
    """Judge that there is a file for each failure that a rule is about, and none twice."""
    if not model.kept:
        yield otherwise("the error model does not say what is kept of a failure")
    for rule in model.kept:
        found = []
        for failure in final_failures(history, model):
            if is_about(history, rule, failure):
                seen = list(_saved(history, failure, rule))
                lack = _no_file(rule, failure, seen)
                good = yield from _judge_seen(history, model, failure, rule, seen, lack)
                found.append((failure, good))
        for one, other in combinations(found, 2):
            yield from _judge_apart(rule, one, other)


def _saved(history: History, failure: Failure, rule: KeptRule) -> Iterator[_Seen]:
    # That the operator was shown it, telling judges.
    messages = said_after(history, failure, "declared.operator_message")
    shown = tuple(str(event.message or "") for event in messages)
    for event in said_after(history, failure, "archive.saved"):
        if fnmatchcase(str(event.name), rule.file):
            faults = faults_in(rule.fields, event.json, failure, shown=shown)
            yield event, (*faults, *_faults_of_text(history, rule, failure, event.text or ""))


def _no_file(rule: KeptRule, failure: Failure, seen: Sequence[_Seen]) -> _Lack:
    expected, observed = f"a file {rule.file!r} is kept after {failure}", "there is none"
    if seen:
        last, faults = seen[-1]
        expected += f" in which {', '.join(faults)}"
        observed = f"{last.name} has {excerpt(last.text or '')}"
    hint = "Save it also where the run gives up, before the turn ends."
    return expected, observed, seen[-1:], hint


def _judge_apart(
    rule: KeptRule,
    one: tuple[Failure, Sequence[TraceEvent]],
    other: tuple[Failure, Sequence[TraceEvent]],
) -> Verdicts:
    """Judge that what is kept of a stage is not overwritten by what is kept of another."""
    (first, of_first), (second, of_second) = one, other
    if first.node is None or second.node is None or first.node.id == second.node.id:
        return
    if first.call != second.call or not of_first or not of_second:
        return
    yield held(rule.requirement)
    names = {str(event.name) for event in (*of_first, *of_second)}
    before, after = of_first[0].text or "", of_second[-1].text or ""
    # One file for both is as good as two if the first is still in it.
    if len(names) > 1 or before in after or len(after) >= _TEXT_MAX:
        return
    yield broken(
        (rule.requirement,),
        call=first.call,
        expected=f"a file {rule.file!r} for {first}, and another one for {second}",
        observed=f"both are {names.pop()}, and the second has taken the place of the first",
        events=(*first.events, of_first[0].seq, *second.events, of_second[-1].seq),
        hint="Is the name of the stage part of the file name?",
    )


def _faults_of_text(
    history: History, rule: KeptRule, failure: Failure, text: str
) -> tuple[str, ...]:
    """Return in words what is missing in a file, of which a trace has the first characters."""
    lines = [line for line in text.splitlines() if line.strip()]
    is_whole = len(text) < _TEXT_MAX
    if rule.text == "json_lines":
        known = lines if is_whole else lines[:-1]
        good = known and all(isinstance(loaded(line), Mapping) for line in known)
        return () if good else ("there are lines, each a JSON object",)
    if rule.text == "output" and is_whole:
        missing = next((line for line in _written(history, failure) if line not in text), None)
        return () if missing is None else (f"{excerpt(missing)} is in it",)
    return ()


def _written(history: History, failure: Failure) -> list[str]:
    """Return the lines that the program wrote in the run that failed."""
    runs = [act.run for act in failure.acts if act.seq <= failure.seq and act.run is not None]
    wrote = [event for event in history.of("program.wrote") if event.run in runs[-1:]]
    for stream in ("stdout", "stderr"):
        texts = [event.text or "" for event in wrote if event.stream == stream]
        lines = [line.strip() for line in "".join(texts).splitlines() if line.strip()]
        if lines and all(len(text) < _WROTE_MAX for text in texts):
            return lines
    return []


# ---------------------------------------------------------------------- people and files


def _judge_seen(
    history: History,
    model: ErrorModel,
    failure: Failure,
    rule: TellingRule | KeptRule,
    seen: Sequence[_Seen],
    lack: _Lack,
) -> Generator[Verdict, None, tuple[TraceEvent, ...]]:
    """Judge that a message or a file is as its rule asks, and return those that are.

    Args:
        lack: what is missing where none is.
    """
    good = tuple(event for event, faults in seen if not faults)
    call = call_of(history, failure)
    if good:
        yield held(rule.requirement)
        return good
    if call.end is None or (failure.kind != "cancelled" and was_cut(history, model, call)):
        # It was kept from telling, or still may.
        return ()
    yield held(rule.requirement)
    expected, observed, cited, hint = lack
    yield broken(
        (rule.requirement,),
        call=failure.call,
        expected=expected,
        observed=observed,
        events=(*failure.events, *(event.seq for event, _ in cited), call.end.seq),
        hint=hint,
    )
    return ()
