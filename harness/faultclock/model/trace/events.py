"""The catalogue of event kinds: what a fact of a trace is called, who records it, what it holds.

It is data, and the one place: the names that a trigger may wait for, the check of each trace that
is read (`model.event_check`), the published schema, the line about an event, its lane in a timeline
and the events that belong together come from it. No trace holds another kind, and no event holds
another field. The entries stand in `model.event_kinds`, a file for each side of a run.

What the harness measures has a type of its own. What a subject hands over can be anything, so it is
`Said`: any JSON value, and its readers expect any.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Generic, Literal, Protocol, TypeVar

from msgspec import Struct, field

from faultclock.model.trace.event_kinds import declared, kept, run, services, tools, wire
from faultclock.model.trace.event_kinds.kind import LANES, EventKind, Mark
from faultclock.model.trace.event_shapes import INT_END, Count, Number, shape

if TYPE_CHECKING:
    from faultclock.model.trace.trace import TraceEvent

__all__ = [
    "DERIVED_KINDS",
    "EVENTS",
    "EVENT_KINDS",
    "INT_END",
    "EventKind",
    "Span",
    "describe",
    "ends_of",
    "event_types",
    "happened",
    "is_routine",
    "lane_of",
    "mark_of",
    "payload_type",
    "spans",
]

#: Every kind that a trace may hold, by its name.
EVENTS: dict[str, EventKind] = {
    **run.KINDS,
    **wire.KINDS,
    **tools.KINDS,
    **kept.KINDS,
    **services.KINDS,
    **declared.KINDS,
}

#: The kinds that a simulated run can record: what a trigger of a scenario may wait for.
EVENT_KINDS = frozenset(name for name, kind in EVENTS.items() if kind.only == "all")

#: What the oracle makes of these for ordering rules, with their fields; no trigger waits for them.
DERIVED_KINDS: dict[str, frozenset[str]] = {
    "attempt.started": frozenset({"call", "attempt", "retry", "good"}),
    "attempt.failed": frozenset({"call", "attempt"}),
    "call.cancelled": frozenset({"call", "asked", "right", "said"}),
    "dependent.phase": frozenset({"extension", "dependent", "phase", "ok"}),
    "failure.seen": frozenset(
        {"kind", "cause", "class", "code", "role", "layer", "target", "tool", "tool_call"}
        | {"node", "call", "number"}
    ),
    "gated.called": frozenset({*EVENTS["tool.called"].fields, "mode", "staged"}),
    "interaction.over": frozenset({"call", "request", "interaction_kind", "lives", "said"}),
    "phase.ended": frozenset(
        {"call", "phase", "due", "again", "disposed", "asked", "right", "acted", "said"}
    ),
    "phase.failed": frozenset(
        {"call", "extension", "phase", "class", "code", "error", "within_ns"}
    ),
    "tool.run": frozenset(
        {"call", "cancelled", "ended", "due", "asked", "right", "said", "in_time", "limit", "late"}
        | {"took", "value", "output_problem", "malformed", "classes", "untyped", "has_message"}
        | {"leak"}
    ),
    "try.failed": frozenset({"call", "what", "attempt", "class", "code", "error", "left_ns"}),
}


def payload_type(name: str) -> Any:
    """Return the type of the payload of a kind, for pydantic."""
    kind = EVENTS[name]
    return shape(name, kind.fields, "allow" if kind.counts else "forbid")


def event_types() -> Iterator[tuple[str, Any]]:
    """Yield each kind by its name, with the type of its events as a trace has them."""
    for name, kind in EVENTS.items():
        fields = {
            "seq": Number,
            "at_ns": Count,
            "actor": Literal[kind.actors],
            "kind": Literal[name],
            "payload": payload_type(name),
        }
        yield name, shape(f"event {name}", fields)


# ---------------------------------------------------------------------- how an event is shown


def describe(event: TraceEvent) -> str:
    """Return one short line about an event."""
    text = EVENTS[event.kind].text
    return text.format_map(event.payload) if isinstance(text, str) else text(event)


def happened(event: TraceEvent) -> str:
    """Return in plain words that an event occurred: `a tool was run`."""
    if event.kind.startswith("declared.") and event.name:
        return f"there was {event.name}"
    known = EVENTS.get(event.kind)
    return (known and known.happened) or f"there was {event.kind}"


def lane_of(kind: str, actor: str) -> str:
    """Return the lane in which a timeline draws an event of this kind that `actor` recorded."""
    known = EVENTS.get(kind)
    return (known and known.lane) or LANES.get(actor, actor)


def mark_of(kind: str, payload: Mapping[str, Any]) -> Mark | None:
    """Return how a timeline shows an event that does not last; None where it does not."""
    known = EVENTS.get(kind)
    mark = None if known is None else known.mark
    return mark(payload) if callable(mark) else mark


def is_routine(kind: str, payload: Mapping[str, Any]) -> bool:
    """Return whether an event says nothing that one looks for: nearly every run has many such."""
    known = EVENTS.get(kind)
    return known is not None and known.routine and mark_of(kind, payload) is None


# ---------------------------------------------------------------------- which belong together


class Paired(Protocol):
    """What is read of an event to pair it: that of a trace, or its mark in a report."""

    @property
    def kind(self) -> str: ...
    @property
    def payload(self) -> Mapping[str, Any]: ...


EventT = TypeVar("EventT", bound=Paired)


class Span(Struct, Generic[EventT], kw_only=True):
    """Something that lasted: the event that began it, and those that belong to that one.

    Attributes:
        ended: None where the trace shows no end.
        parts: what else belongs to it, in order, also after its end, such as a second answer.
    """

    began: EventT
    ended: EventT | None = None
    parts: list[EventT] = field(default_factory=list)


def ends_of(kind: str) -> tuple[str, ...]:
    """Return the kinds that end what this kind begins."""
    return tuple(name for name, other in EVENTS.items() if other.closes == kind)


#: Each kind that belongs to a span: the kind that begins it, and the fields that name it.
_BELONGS = {
    name: (begins, EVENTS[begins].opens)
    for name, kind in EVENTS.items()
    for begins in (name if kind.opens else kind.closes or kind.part_of,)
    if begins is not None
}


def spans(events: Iterable[EventT], *begins: str) -> list[Span[EventT]]:
    """Pair events by their keys, in one pass.

    An event belongs to the latest span of its key. What belongs to no span is left out.

    Args:
        begins: the kinds that begin the spans; all kinds where none is named.

    Returns:
        The spans, in the order in which they began.
    """
    found: list[Span[EventT]] = []
    latest: dict[tuple[str, ...], Span[EventT]] = {}
    for event in events:
        belongs = _BELONGS.get(event.kind)
        if belongs is None or (begins and belongs[0] not in begins):
            continue
        first, fields = belongs
        key = (first, *(str(event.payload.get(name)) for name in fields))
        if event.kind == first:
            latest[key] = Span(began=event)
            found.append(latest[key])
        elif (span := latest.get(key)) is None:
            continue
        elif EVENTS[event.kind].closes is not None and span.ended is None:
            span.ended = event
        else:
            span.parts.append(event)
    return found
