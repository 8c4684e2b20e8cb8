"""What a subject says of itself, and what only the log of another system says."""

from __future__ import annotations

from typing import Any

from faultclock.model._base import Sha256
from faultclock.model.trace.event_fields import EventFields
from faultclock.model.trace.event_kinds.kind import FOREIGN, EventKind, kind
from faultclock.model.trace.event_shapes import (
    Call,
    Count,
    Int,
    Object,
    Pair,
    Record,
    Said,
    Text,
    maybe,
)

_NAMED = {"name": Said, "fields": Object}


def _declared(*fields: Any, **more: Any) -> EventKind:
    return kind("subject", {"call": Call}, *fields, FOREIGN, **more)


def _event(event: EventFields) -> str:
    fields = event.fields or {}
    about = next(
        (fields[name] for name in ("stage", "tool", "request", "id") if name in fields), ""
    )
    return f"declares {event.name} {about}".rstrip()


def _audit(event: EventFields) -> str:
    record = event.record or {}
    return f"audits {record.get('class')}/{record.get('code')}"


def _operator(event: EventFields) -> str:
    actions = f" [{', '.join(event.actions)}]" if event.actions else ""
    return f"message to the operator: {event.message}{actions}"


KINDS: dict[str, EventKind] = {
    "declared.audit": _declared({"record": Record}, text=_audit),
    "declared.audit_event": _declared(_NAMED, text="audits {name}"),
    "declared.event": _declared(_NAMED, text=_event),
    "declared.content": kind(
        "subject",
        {"call": Call, "chars": Count, "text_sha256": Sha256},
        text="passes on {chars} characters of the answer",
    ),
    "declared.model_message": _declared(
        {"shape": Said}, text="message to the model: a typed error"
    ),
    "declared.operator_message": _declared(
        {"message": Said}, maybe({"actions": list[Said], "pill": Said}), text=_operator
    ),
    "declared.user_message": _declared({"message": Said}, text="message to the user: {message}"),
    "declared.error": _declared(Pair, {"message": Said}, text="declared error", only="foreign"),
    "declared.retry": _declared(
        Pair,
        {"retry_number": Int | None, "delay_ns": Int | None},
        text="declared retry",
        only="foreign",
    ),
    "declared.sign": _declared(
        {"of": Text, "name": Text, "fields": Object}, text="declared sign", only="foreign"
    ),
}
