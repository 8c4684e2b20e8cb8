"""Checks the events of a trace against the catalogue of event kinds, and says which field is wrong.

It knows nothing of files and of where events come from: a reader that has lines adds its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cache
from typing import Any, Protocol

from pydantic import TypeAdapter, ValidationError

from faultclock.errors import EventError
from faultclock.model.trace.events import EVENTS, payload_type


class _Event(Protocol):
    """What is read of a TraceEvent."""

    @property
    def seq(self) -> int: ...
    @property
    def actor(self) -> str: ...
    @property
    def kind(self) -> str: ...
    @property
    def payload(self) -> Mapping[str, Any]: ...


def check_events(events: Iterable[_Event]) -> None:
    """Check kind, actor and payload of each event.

    Raises:
        EventError: with the number of the first event that does not fit, and its field.
    """
    for event in events:
        kind = EVENTS.get(event.kind)
        if kind is None:
            raise EventError(event.seq, "kind", f"there is no kind of event {event.kind!r}")
        if event.actor not in kind.actors:
            who = " or ".join(kind.actors)
            message = f"{event.kind} is recorded by {who}, not by {event.actor!r}"
            raise EventError(event.seq, "actor", message)
        try:
            _validator(event.kind).validate_python(event.payload)
        except ValidationError as error:
            field, message = _worst(event.payload, error)
            raise EventError(event.seq, field, f"{event.kind}: {field}: {message}") from None


@cache
def _validator(kind: str) -> Any:
    return TypeAdapter(payload_type(kind)).validator


def _worst(payload: Any, error: ValidationError) -> tuple[str, str]:
    """Return the innermost field that is wrong, and what is wrong with it."""
    found: dict[str, list[str]] = {}
    for each in error.errors(include_url=False, include_context=False, include_input=False):
        found.setdefault(_field(payload, each["loc"], each["type"]), []).append(each["msg"])
    field, messages = max(found.items(), key=lambda item: item[0].count("."))
    # A value that may be several things fits none of them.
    return field, messages[0] if len(messages) == 1 else "no such value can stand here"


def _field(payload: Any, place: tuple[int | str, ...], wrong: str) -> str:
    """Return the path of a field; pydantic's place also names the branches of a union."""
    found = ["payload"]
    value = payload
    for part in place:
        inside = part in value if isinstance(value, Mapping) else part in range(_length(value))
        if inside:
            value = value[part]
        if inside or (part is place[-1] and wrong in ("missing", "extra_forbidden")):
            found.append(str(part))
    return ".".join(found)


def _length(value: object) -> int:
    return len(value) if isinstance(value, list) else 0
