"""Audiences: the user, the model and the audit trail each see what is theirs of a failure.

Texts are searched for what has the shape of a secret, a stack trace, an absolute path or the name
of an exception class; what a shape cannot show is not judged.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct

from faultclock.model.error_model.error_model import AudienceRule, ErrorModel
from faultclock.model.trace.trace import TraceEvent, seqs
from faultclock.oracle.check import Check, Verdicts, Violation, broken, held, otherwise
from faultclock.oracle.facts.history import History
from faultclock.oracle.leaks import NAMES, leaks
from faultclock.oracle.retries.plans import plans_of
from faultclock.oracle.wire.attempts import Request
from faultclock.oracle.words import excerpt


class _Channel(Struct, frozen=True):
    """The events by which an audience is spoken to, and the field that it sees of them."""

    kind: str
    field: str
    title: str


_CHANNELS = {
    "user": _Channel("declared.user_message", "message", "What the user sees"),
    "model": _Channel("declared.model_message", "shape", "What the model sees"),
    "operator": _Channel("declared.operator_message", "message", "What the operator sees"),
    "audit": _Channel("declared.audit", "record", "What the audit trail has"),
}


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
        parts.append(f"never has {', '.join(NAMES[name] for name in rule.never)}")
    return Check(
        id=f"audience.{rule.id}",
        title=_CHANNELS[rule.id].title,
        says=f"A message about a failure to the audience {rule.id!r} {' and '.join(parts)}.",
        run=run,
    )


def _judge(rule: AudienceRule, history: History, model: ErrorModel) -> Verdicts:
    channel = _CHANNELS[rule.id]
    yield otherwise(f"no message went to the audience {rule.id!r}")
    for event in history.of("declared.event"):
        if event.name in rule.events:
            yield held(rule.requirement)
            # That such an event comes at all is not judged here.
            yield from _judge_leaks(rule, event, event.fields, f"{event.name} holds")
    if rule.id not in history.trace.header.subject.declares:
        yield otherwise(f"the subject's binding does not declare {rule.id!r}")
        for event in history.of(channel.kind):
            # It need not be shown, and a leak is a leak.
            yield from _judge_leaks(rule, event, getattr(event, channel.field), "it holds")
        return
    unmapped = _calls_with_unmapped(history, model)
    for event in history.of(channel.kind):
        yield held(rule.requirement)
        said = getattr(event, channel.field)
        found = list(_judge_leaks(rule, event, said, "it holds"))
        yield from found or _judge_fields(rule, event, said, may_be_unmapped=event.call in unmapped)
    if rule.on_every_failure:
        told = {event.call for event in history.of(channel.kind)}
        for request, _ in plans_of(history, model):
            if request.raised and request.last_failure is not None and request.id not in told:
                yield _silence(rule, request)


def _calls_with_unmapped(history: History, model: ErrorModel) -> set[str | None]:
    return {
        request.id
        for request, steps in plans_of(history, model)
        for step in steps
        if step.classification is not None and step.classification.pair is None
    }


def _judge_leaks(rule: AudienceRule, event: TraceEvent, said: object, where: str) -> Verdicts:
    """Judge that nothing in what was said must stay hidden from this audience."""
    found = leaks(rule, "\n".join(_texts(said)))
    if found:
        expected = f"nothing of: {', '.join(NAMES[name] for name in rule.never)}"
        observed = f"{where} {' and '.join(found)}: {excerpt(said)}"
        yield _violation(rule, event, expected, observed)


def _judge_fields(
    rule: AudienceRule, event: TraceEvent, said: object, *, may_be_unmapped: bool
) -> Verdicts:
    """Judge that a message has all that it must have."""
    fields: Mapping[str, Any] = said if isinstance(said, Mapping) else {"message": said}
    # A failure without a class in the document has none to show.
    wanted = [
        name
        for name in rule.must_have
        if not (may_be_unmapped and name in ("class", "code") and fields.get("class") is None)
    ]
    missing = [name for name in wanted if fields.get(name) in (None, "", {}, [])]
    if missing:
        observed = f"{' and '.join(missing)} is missing: {excerpt(said)}"
        yield _violation(rule, event, ", ".join(rule.must_have), observed)


def _silence(rule: AudienceRule, request: Request) -> Violation:
    """Return that this audience learned nothing of a failed request."""
    return broken(
        (rule.requirement,),
        call=request.id,
        expected=f"a message to the audience {rule.id!r} about the failure that ended the call",
        observed="no message",
        events=seqs(request.end),
    )


def _violation(rule: AudienceRule, event: TraceEvent, expected: str, observed: str) -> Violation:
    return broken(
        (rule.requirement,),
        call=str(event.call),
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
