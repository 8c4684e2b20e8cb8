"""Figures of an ordering rule that stand somewhere else: in an event, or in the scenario.

A path that begins with `scenario.` leads into the scenario, `network.round_trip` is the longest
way there and back, and any other path is a field of an event. In a path of the scenario, `{tool}`
stands for the value of the event's field `tool`, and an element of a list is found by its `id` or
its `name`.
"""

from __future__ import annotations

import types
from collections.abc import Iterator
from typing import Annotated, Any, Union, get_args, get_origin

from msgspec import Struct
from pydantic import (
    BaseModel,
    BeforeValidator,
    Field,
    PlainSerializer,
    field_validator,
)

from faultclock.model._base import Value
from faultclock.model.duration import (
    DurationNs,
    SignedDurationNs,
    format_duration,
    parse_duration,
)
from faultclock.model.error_model.event_sets import near_to
from faultclock.model.scenario.scenario import Scenario

#: A dotted path; a name in braces stands for the value that an event has there.
_PATH = r"^[A-Za-z_][\w-]*(\.([\w-]+|\{[A-Za-z_][\w-]*\}))*$"
_ROUND_TRIP = "network.round_trip"


class TimeLookup(Value):
    """A time that is looked up for each event, in nanoseconds."""

    of: str = Field(pattern=_PATH)
    """Where it stands: a field of the event, or a path that begins with `scenario.`."""
    default: DurationNs | None = None
    """What counts where nothing stands there; None: the event is not judged."""
    plus: SignedDurationNs = 0
    """What is added to it, such as a slack; it may be negative."""

    @field_validator("of")
    @classmethod
    def _there(cls, path: str) -> str:
        _check_path(path, time=True)
        return path


class CountLookup(Value):
    """A number that is looked up for each stretch."""

    of: str = Field(pattern=_PATH)
    """Where it stands: a field of the event that begins the stretch, or a path that begins with
    `scenario.`."""
    default: int | None = Field(default=None, ge=0)
    """What counts where nothing stands there; None: the stretch is not judged."""
    plus: int = 0
    """What is added to it; it may be negative."""

    @field_validator("of")
    @classmethod
    def _there(cls, path: str) -> str:
        _check_path(path, time=False)
        return path


def is_setting(path: str) -> bool:
    """Return whether `path` leads into the settings of a run, and not into an event."""
    return path.partition(".")[0] in ("scenario", "network")


def _time_bound(value: object) -> object:
    if isinstance(value, str):
        return {"of": value} if value[:1].isalpha() else parse_duration(value)
    return value if isinstance(value, (dict, TimeLookup)) else parse_duration(value)


def _count_bound(value: object) -> object:
    return {"of": value} if isinstance(value, str) else value


def _spelt(value: int | TimeLookup) -> object:
    return format_duration(value) if isinstance(value, int) else value


class _Schema(Struct, frozen=True, eq=False):
    """What a bound is in a JSON Schema, which is made when one is asked for."""

    written: dict[str, Any]
    looked_up: type[Value]

    def __get_pydantic_json_schema__(self, *_: object) -> dict[str, Any]:
        return {"anyOf": [self.written, self.looked_up.model_json_schema()]}


#: A duration such as `5s`, a path, or both with a default; an int of nanoseconds where it is known.
TimeBound = Annotated[
    int | TimeLookup,
    BeforeValidator(_time_bound),
    PlainSerializer(_spelt),
    _Schema({"type": "string", "examples": ["5s", "timeout_ns"]}, TimeLookup),
]
#: A number, a path, or both with a default.
CountBound = Annotated[
    Annotated[int, Field(ge=0)] | CountLookup,
    BeforeValidator(_count_bound),
    _Schema({"type": ["integer", "string"], "minimum": 0}, CountLookup),
]


# ------------------------------------------------------------------- paths of the scenario


def _check_path(path: str, *, time: bool) -> None:
    """Check that a path of the settings leads to a figure.

    Raises:
        ValueError: it does not; the message quotes the path last, so that its place is found.
    """
    first, *parts = path.split(".")
    if first == "network":
        if path != _ROUND_TRIP or not time:
            raise ValueError(f"of the network there is a time '{_ROUND_TRIP}' and nothing else")
        return
    if first != "scenario":
        if "{" in path:
            raise ValueError("a name in braces goes with a path of the scenario, not of an event")
        return
    found: list[_Spot] = [(Scenario, ())]
    for part in parts:
        below = [spot for annotation, _ in found for spot in _below(annotation, part)]
        if not below:
            hint = near_to(part, _names(found))
            raise ValueError(f"the scenario has no '{part}' in {path}{hint}")
        found = below
    if not any(_is_figure(spot, time=time) for spot in found):
        what = "duration" if time else "number"
        raise ValueError(f"what stands in the scenario at '{path}' is no {what}")


#: A type that stands at a path, and what pydantic was told of it.
_Spot = tuple[Any, tuple[Any, ...]]


def _members(annotation: Any, metadata: tuple[Any, ...] = ()) -> Iterator[_Spot]:
    """Yield what a type may be: the members of a union, without their annotations."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        yield from _members(arguments[0], (*metadata, *arguments[1:]))
    elif origin in (Union, types.UnionType):
        for member in arguments:
            yield from _members(member, metadata)
    else:
        yield annotation, metadata


def _below(annotation: Any, part: str) -> Iterator[_Spot]:
    """Yield what stands below a type at one part of a path."""
    for member, _ in _members(annotation):
        origin: object = get_origin(member)
        arguments = get_args(member)
        if isinstance(member, type) and issubclass(member, BaseModel):
            field = member.model_fields.get(part)
            if field is not None:
                yield from _members(field.annotation, tuple(field.metadata))
        elif origin is tuple:
            yield from _members(arguments[0])
        elif origin is dict:
            yield from _members(arguments[1])


def _names(found: list[_Spot]) -> Iterator[str]:
    for annotation, _ in found:
        for member, _ in _members(annotation):
            if isinstance(member, type) and issubclass(member, BaseModel):
                yield from member.model_fields


def _is_figure(spot: _Spot, *, time: bool) -> bool:
    annotation, metadata = spot
    written = (item.func for item in metadata if isinstance(item, PlainSerializer))
    return annotation is int and (format_duration in written) is time
