"""What an event holds at a dotted path, for the definitions that the evaluator is compared with."""

from __future__ import annotations

from typing import Any

from faultclock.model.trace.trace import TraceEvent

NOTHING = "(nothing)"


def values_of(value: Any) -> list[Any]:
    """Return the values of a field: a list has each of its items, nothing has none."""
    if value in (None, NOTHING):
        return []
    return list(value) if isinstance(value, list) else [value]


def field_of(event: TraceEvent, path: str) -> Any:
    """Return what stands at a dotted path; a number picks from a list."""
    value: Any = event.payload
    for part in path.split("."):
        if isinstance(value, list):
            value = value[int(part)] if int(part) < len(value) else NOTHING
        else:
            value = value.get(part, NOTHING) if isinstance(value, dict) else NOTHING
    return value


def is_rebirth(event: TraceEvent) -> bool:
    """Return whether a life begins that is not the first."""
    return event.kind == "process.started" and event.payload["life"] != 1
