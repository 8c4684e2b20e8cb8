"""Which events a rule means: by kind or by a name of the source document, and by payload fields."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches

from pydantic import model_validator

from faultclock.model._base import Value

Fact = str | int | bool | None


class EventPattern(Value):
    """A set of trace events: by kind (or by one of the model's own names), and by payload fields.

    Give exactly one of `kinds` and `event`.
    """

    kinds: tuple[str, ...] = ()
    """Canonical kinds, such as `tool.called`."""
    event: str | None = None
    """A name of the model's `events`; what stands beside it narrows it."""
    where: dict[str, Fact | tuple[Fact, ...]] = {}
    """Payload field (dotted where it is nested; a number picks from a list) to the value that it
    must have, or to a list of which it must have one."""
    like: dict[str, str] = {}
    """Payload field to a text in which `*` stands for anything."""
    has: tuple[str, ...] = ()
    """Payload fields that must be there, and be neither null nor an empty text."""

    @model_validator(mode="after")
    def _one_source(self) -> EventPattern:
        if bool(self.kinds) == (self.event is not None):
            raise ValueError("give exactly one of kinds and event")
        return self


#: One set of events, or several that count as one: by name, by pattern, or a list of both.
EventRef = str | EventPattern | tuple[str | EventPattern, ...]
#: A source document's names for events.
Events = Mapping[str, EventPattern]


def resolved(ref: EventRef | None, events: Events) -> tuple[tuple[str, EventPattern], ...]:
    """Return the sets that `ref` stands for, each as its name and a pattern with kinds.

    The name is the source document's own, or else the kinds. An absent `ref` is no set.
    """
    if ref is None:
        return ()
    items = ref if isinstance(ref, tuple) else (ref,)
    return tuple(_resolved(item, events) for item in items)


def _resolved(item: str | EventPattern, events: Events) -> tuple[str, EventPattern]:
    if isinstance(item, str):
        return item, events[item]
    details = _details(item)
    if item.event is None:
        return f"{' or '.join(item.kinds)}{details}", item
    named = events[item.event]
    narrowed = EventPattern(
        kinds=named.kinds,
        where={**named.where, **item.where},
        like={**named.like, **item.like},
        has=(*named.has, *item.has),
    )
    return f"{item.event}{details}", narrowed


def _details(pattern: EventPattern) -> str:
    """Return the conditions on fields, in words, such as ` {answer: approved}`."""
    wanted = {**pattern.where, **pattern.like}
    parts = [f"{path.removeprefix('fields.')}: {_shown(value)}" for path, value in wanted.items()]
    return f" {{{', '.join(parts)}}}" if parts else ""


def _shown(value: object) -> str:
    if isinstance(value, tuple):
        return " or ".join(map(_shown, value))
    if isinstance(value, bool) or value is None:
        return "null" if value is None else str(value).lower()
    return str(value)


def near_to(name: str, known: Iterable[str]) -> str:
    """Return what to write in place of `name`, where something is near it; else nothing."""
    near = get_close_matches(name, list(known), n=1)
    return f": write {near[0]}" if near else ""
