"""Audiences: the user, the model and the audit trail each see what is theirs of a failure.

Texts are searched for what has the shape of a secret, a stack trace, an absolute path or the name
of an exception class; what a shape cannot show is not judged.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from faultclock.model.error_model import AudienceRule, ErrorModel
from faultclock.model.secrets import SECRET, SECRET_SHAPE, without_secrets
from faultclock.model.trace import TraceEvent
from faultclock.oracle.attempts import Request
from faultclock.oracle.check import Check, Verdicts, Violation, broken, held, otherwise
from faultclock.oracle.history import History
from faultclock.oracle.plans import plans_of

__all__ = ["channel_kind", "checks", "leaks"]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Channel:
    """Where in a trace an audience is spoken to."""

    declares: str
    kind: str
    field: str
    title: str


_CHANNELS = {
    "user": _Channel(
        declares="user", kind="declared.user_message", field="message", title="What the user sees"
    ),
    "model": _Channel(
        declares="model", kind="declared.model_message", field="shape", title="What the model sees"
    ),
    "operator": _Channel(
        declares="operator",
        kind="declared.operator_message",
        field="message",
        title="What the operator sees",
    ),
    "audit": _Channel(
        declares="audit", kind="declared.audit", field="record", title="What the audit trail has"
    ),
}

_SHAPES: dict[str, re.Pattern[str]] = {
    # The mark stands where a recorder took a key out before it wrote the text down.
    "secret": re.compile(f"{SECRET_SHAPE.pattern}|{re.escape(SECRET)}"),
    "stack": re.compile(
        r"Traceback \(most recent call last\)|\bFile \"[^\"]+\"(?:, line \d+)?"
        r"|^\s+at \S+ ?\(.*:\d+:\d+\)",
        re.MULTILINE,
    ),
    "path": re.compile(
        r"(?<![\w/.:])/(?:Applications|Library|Users|Volumes|bin|boot|dev|etc|home|lib|lib64|mnt"
        r"|opt|private|proc|root|run|sbin|snap|srv|sys|tmp|usr|var|work|workspace)/[^\s'\"]+"
        r"|\b[A-Za-z]:\\[^\s'\"]+|\bfile:///[^\s'\"]+|(?<!\w)…/[\w.-]+"
    ),
    "class_name": re.compile(
        r"\b(?:[A-Za-z_]\w*\.)*[A-Z]\w*[a-z](?:Error|Exception|Failure|Warning)\b"
    ),
}
_NAMES = {
    "secret": "a secret",
    "stack": "a stack trace",
    "path": "an absolute path",
    "class_name": "the name of an exception class",
}


def leaks(rule: AudienceRule, text: str) -> tuple[str, ...]:
    """Return in words what `text` holds that `rule` says this audience must never see."""
    return tuple(_NAMES[name] for name in rule.never if _SHAPES[name].search(text))


def channel_kind(audience: str) -> str:
    """Return the kind of the events that this audience sees."""
    return _CHANNELS[audience].kind


def checks(model: ErrorModel) -> tuple[Check, ...]:
    """Return one check for each audience rule of `model` that has a channel in a trace."""
    return tuple(_check(rule) for rule in model.audiences if rule.id in _CHANNELS)


def _check(rule: AudienceRule) -> Check:
    def run(history: History, model: ErrorModel) -> Verdicts:
        return _judge(rule, history, model)

    parts = []
    if rule.must_have:
        parts.append(f"has {', '.join(rule.must_have)}")
    if rule.never:
        parts.append(f"never has {', '.join(_NAMES[name] for name in rule.never)}")
    return Check(
        id=f"audience.{rule.id}",
        title=_CHANNELS[rule.id].title,
        says=f"A message about a failure to the audience {rule.id!r} {' and '.join(parts)}.",
        run=run,
    )


def _judge(rule: AudienceRule, history: History, model: ErrorModel) -> Verdicts:
    channel = _CHANNELS[rule.id]
    yield otherwise(f"no message went to the audience {rule.id!r}")
    yield from _judge_events(rule, history)
    if channel.declares not in history.trace.header.subject.declares:
        yield otherwise(f"the subject's binding does not declare {channel.declares!r}")
        yield from _judge_undeclared(rule, channel, history)
        return
    unmapped = _calls_with_unmapped(history, model)
    told: set[str] = set()
    for event in history.of(channel.kind):
        call = str(event.call)
        told.add(call)
        yield held(rule.requirement)
        fault = _fault(rule, event.payload.get(channel.field), may_be_unmapped=call in unmapped)
        if fault is not None:
            yield _violation(rule, fault, event, call)
    if rule.on_every_failure:
        for request, _ in plans_of(history, model):
            if request.raised and request.last_failure is not None:
                yield from _judge_told(rule, request, told=request.id in told)


def _judge_undeclared(rule: AudienceRule, channel: _Channel, history: History) -> Verdicts:
    """Judge what is shown all the same: it need not be shown, and a leak is a leak."""
    for event in history.of(channel.kind):
        found = leaks(rule, "\n".join(_texts(event.payload.get(channel.field))))
        if not found:
            continue
        never = ", ".join(_NAMES[name] for name in rule.never)
        said = _excerpt(event.payload.get(channel.field))
        fault = (f"nothing of: {never}", f"it holds {' and '.join(found)}: {said}")
        yield _violation(rule, fault, event, str(event.call))


def _judge_events(rule: AudienceRule, history: History) -> Verdicts:
    """Judge the events that this audience sees; that they come at all is not judged here."""
    for event in history.of("declared.event"):
        if event.name not in rule.events:
            continue
        yield held(rule.requirement)
        fields = event.fields
        found = leaks(rule, "\n".join(_texts(fields)))
        if found:
            never = ", ".join(_NAMES[name] for name in rule.never)
            observed = f"{event.name} holds {' and '.join(found)}: {_excerpt(fields)}"
            call = str(event.call)
            yield _violation(rule, (f"nothing of: {never}", observed), event, call)


def _calls_with_unmapped(history: History, model: ErrorModel) -> set[str]:
    return {
        request.id
        for request, steps in plans_of(history, model)
        for step in steps
        if step.classification is not None and step.classification.pair is None
    }


def _fault(rule: AudienceRule, said: object, *, may_be_unmapped: bool) -> tuple[str, str] | None:
    found = leaks(rule, "\n".join(_texts(said)))
    if found:
        never = ", ".join(_NAMES[name] for name in rule.never)
        return f"nothing of: {never}", f"it holds {' and '.join(found)}: {_excerpt(said)}"
    fields: Mapping[str, Any] = said if isinstance(said, Mapping) else {"message": said}
    # A failure without a class in the document has none to show.
    wanted = [
        name
        for name in rule.must_have
        if not (may_be_unmapped and name in ("class", "code") and fields.get("class") is None)
    ]
    missing = [name for name in wanted if fields.get(name) in (None, "", {}, [])]
    if missing:
        return ", ".join(rule.must_have), f"{' and '.join(missing)} is missing: {_excerpt(said)}"
    return None


def _judge_told(rule: AudienceRule, request: Request, *, told: bool) -> Verdicts:
    if told:
        return
    yield held(rule.requirement)
    ending = (request.end.seq,) if request.end is not None else ()
    yield broken(
        (rule.requirement,),
        call=request.id,
        expected=f"a message to the audience {rule.id!r} about the failure that ended the call",
        observed="no message",
        events=ending,
    )


def _violation(
    rule: AudienceRule, fault: tuple[str, str], event: TraceEvent, call: str
) -> Violation:
    expected, observed = fault
    return Violation(
        requirement=rule.requirement,
        call=call,
        expected=f"for the audience {rule.id!r}: {expected}",
        observed=observed,
        events=(event.seq,),
    )


def _texts(said: object) -> Iterator[str]:
    """Yield every text in a JSON value, keys included."""
    if isinstance(said, str):
        yield said
    elif isinstance(said, Mapping):
        for key, value in said.items():
            yield str(key)
            yield from _texts(value)
    elif isinstance(said, (list, tuple)):
        for value in said:
            yield from _texts(value)


def _excerpt(said: object) -> str:
    text = said if isinstance(said, str) else json.dumps(said, sort_keys=True, ensure_ascii=False)
    # What leaked must not leak again through the report.
    text = without_secrets(text)
    return repr(text if len(text) <= 160 else f"{text[:159]}…")
