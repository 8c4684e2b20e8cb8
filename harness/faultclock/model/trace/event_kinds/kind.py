"""What the catalogue says of one kind of event, and the fields that many kinds share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

from msgspec import Struct

from faultclock.model.trace.event_fields import EventFields
from faultclock.model.trace.event_shapes import Call, Flag, MaybeText, Number, Text, UseError, maybe

#: How a drawing shows an event that does not last.
Mark = Literal[
    "answer",
    "broken",
    "cancel",
    "effect",
    "fault",
    "leak",
    "raised",
    "refusal",
    "returned",
    "start",
    "unmet",
]

#: Who records an event, and the lane in which a timeline draws it. A kind may have another lane.
LANES = {
    "archive": "store",
    "disk": "store",
    "extension": "extensions",
    "harness": "harness",
    "hook": "services",
    "interactor": "person",
    "network": "network",
    "policy": "tools",
    "program": "programs",
    "provider": "provider",
    "queue": "services",
    "service": "services",
    "stage": "stages",
    "store": "store",
    "subject": "subject",
    "telemetry": "services",
    "tool": "tools",
    "workflow": "nodes",
}


class EventKind(Struct, frozen=True, kw_only=True):
    """One kind of event.

    Attributes:
        actors: who may record it.
        fields: of its payload, with their types; `NotRequired` where some events lack one.
        text: the line about it: a template over its fields, or a function.
        happened: what it is in plain words, for the sentence of a finding; empty: its name will do.
        lane: in which a timeline draws it; None: the lane of its actor.
        opens: it begins something that lasts; the fields that name one such thing.
        closes: the kind that begins what it ends.
        part_of: the kind that begins what it belongs to, where it neither begins nor ends it.
        named: the field that a drawing labels what it begins with; None: drawings do not show it.
        mark: how a drawing shows it; None: it does not.
        routine: nearly every run is full of it, so a list leaves it out unless it has a mark.
        arrives: it reaches the subject, and what the subject does next may follow from it.
        counts: it may also hold counts under names that are not known beforehand.
        only: the traces that may hold it: all; only those in real time; only foreign logs.
    """

    actors: tuple[str, ...]
    fields: Mapping[str, Any]
    text: str | Callable[[EventFields], str]
    happened: str = ""
    lane: str | None = None
    opens: tuple[str, ...] = ()
    closes: str | None = None
    part_of: str | None = None
    named: str | None = None
    mark: Mark | Callable[[Mapping[str, Any]], Mark | None] | None = None
    routine: bool = False
    arrives: bool = False
    counts: bool = False
    only: Literal["all", "real_time", "foreign"] = "all"


def kind(actor: str | tuple[str, ...], *fields: Mapping[str, Any], **more: Any) -> EventKind:
    """Return a kind with the fields of all these groups."""
    actors = (actor,) if isinstance(actor, str) else actor
    joined = {name: type_ for group in fields for name, type_ in group.items()}
    return EventKind(actors=actors, fields=joined, **more)


#: The 1-based process of the subject in which it happened.
LIVED = {"call": Call, "life": Number}
#: What the reader of a foreign log adds to each fact: the line, and the run that it names.
FOREIGN = maybe({"line": Number, "log_run": MaybeText, "life": Number})
PROVIDED = maybe({"provider": Text})
#: How a numbered use ended.
USED = {"ok": Flag, "error": UseError | None}


def typed(event: EventFields) -> str:
    """Return the class and the code of an event as `Class/Code`."""
    return f"{event.error_class}/{event.code}"
