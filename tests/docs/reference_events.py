"""The reference of the events of a trace, from the catalogue of event kinds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NotRequired, Union, get_args, get_origin

from typing_extensions import is_typeddict

from faultclock.model._base import Sha256
from faultclock.model.scenario.fault import AnswerEnd
from faultclock.model.trace import event_shapes as shapes
from faultclock.model.trace.event_kinds import declared, kept, run, services, tools, wire
from faultclock.model.trace.events import EVENTS, EventKind, ends_of
from tests.docs.reference_text import GENERATED, anchor, listed, prose

_SIDES = (run, wire, tools, kept, services, declared)
#: Types with a name that a reader knows.
_WORDS: tuple[tuple[Any, str], ...] = (
    (shapes.Text, "text"),
    (shapes.Int, "integer"),
    (shapes.Count, "integer from 0"),
    (shapes.Number, "integer from 1"),
    (shapes.Flag, "true or false"),
    (shapes.Said, "any JSON value"),
    (shapes.Object, "object"),
    (shapes.Record, "record"),
    (Sha256, "SHA-256"),
    (AnswerEnd, "text"),
    (NoneType, "null"),
)
_ONLY = {
    "real_time": "Only a trace in real time has it.",
    "foreign": "Only the trace of another system's log has it.",
}


def events_page() -> str:
    """Return the page."""
    lines = [
        "# Events of a trace",
        "",
        GENERATED,
        "",
        *prose(
            "Every kind of event that a trace can hold: who records it, what it belongs to, and "
            "its fields. A trace with another kind or field is refused. `faultclock schema trace` "
            "prints the same as a JSON Schema. A field with `?` may be missing. A trigger of a "
            "scenario and an ordering rule call events by these names."
        ),
    ]
    for side in _SIDES:
        assert side.__doc__ is not None
        lines += ["", f"## {side.__doc__.partition('.')[0]}"]
        for name, kind in side.KINDS.items():
            lines += ["", f"### {name}", "", *prose(" ".join(_said(name, kind))), ""]
            if fields := [_field(field, type_) for field, type_ in kind.fields.items()]:
                lines += prose(f"Fields: {'; '.join(fields)}.")
            else:
                lines.append("It has no fields.")
    return "\n".join(lines) + "\n"


def _said(name: str, kind: EventKind) -> Iterator[str]:
    yield f"Recorded by {listed(kind.actors)}."
    if kind.opens:
        ends = ends_of(name)
        parts = [other for other, about in EVENTS.items() if about.part_of == name]
        yield f"Begins a span, which {listed(kind.opens)} name{'s' * (len(kind.opens) == 1)}."
        yield f"Ends of it: {_linked(ends)}."
        if parts:
            yield f"Parts of it: {_linked(parts)}."
    if kind.closes is not None:
        yield f"Ends {_linked([kind.closes])} with the same {_key(kind.closes)}."
    if kind.part_of is not None:
        yield f"Part of {_linked([kind.part_of])} with the same {_key(kind.part_of)}."
    if kind.only in _ONLY:
        yield _ONLY[kind.only]
    if kind.counts:
        yield "It also holds counts under other names."


def _key(begins: str) -> str:
    return listed(EVENTS[begins].opens)


def _linked(names: Iterable[str]) -> str:
    return ", ".join(f"[`{name}`](#{anchor(name)})" for name in names)


def _field(name: str, type_: Any) -> str:
    if get_origin(type_) is NotRequired:
        return f"`{name}`? {_type(get_args(type_)[0])}"
    return f"`{name}` {_type(type_)}"


def _type(type_: Any) -> str:
    """Return a type in words."""
    for known, word in _WORDS:
        if type_ is known or type_ == known:
            return word
    if is_typeddict(type_):
        return f"object ({', '.join(type_.__annotations__)})"
    origin, inside = get_origin(type_), get_args(type_)
    if origin is Annotated:
        return _type(inside[0])
    if origin is Literal:
        return " or ".join(f"`{value}`" for value in inside)
    if origin in (Union, UnionType):
        return " or ".join(dict.fromkeys(_type(one) for one in inside))
    if origin is list:
        return f"list of {_type(inside[0])}"
    if origin is dict:
        return f"object of {_type(inside[1])}"
    return {int: "integer", str: "text"}[type_]
