"""Which fields and values an ordering rule may name: those that the events it speaks of can have.

A rule about a field that no such event has would hold for everything, or for nothing; so would one
about a value that the field never has.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from types import UnionType
from typing import Annotated, Any, Literal, NotRequired, Union, get_args, get_origin

from typing_extensions import get_type_hints, is_typeddict

from faultclock.model.error_model.event_sets import (
    EventPattern,
    EventRef,
    Events,
    Fact,
    near_to,
    resolved,
)
from faultclock.model.error_model.lookup import CountLookup, TimeLookup, is_setting
from faultclock.model.error_model.ordering import OrderingRule, event_refs
from faultclock.model.trace.event_shapes import Said
from faultclock.model.trace.events import DERIVED_KINDS, EVENTS

#: No list of a trace has a place with more digits.
PLACE_DIGITS_MAX = 9
#: The fields of each kind, also of those that the oracle derives: these are any JSON value.
_FIELDS: dict[str, Mapping[str, Any]] = {
    **{name: kind.fields for name, kind in EVENTS.items()},
    **{name: dict.fromkeys(fields, Any) for name, fields in DERIVED_KINDS.items()},
}
#: What fields hold, in words.
_NAMES: Mapping[Any, str] = {
    str: "a text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    type(None): "null",
}
#: The kinds whose fields all have names.
_NAMING = tuple(name for name in _FIELDS if name not in EVENTS or not EVENTS[name].counts)


def unknown_field(rule: OrderingRule, events: Events) -> str | None:
    """Return a sentence about the first field in `rule` that none of its events has, or None.

    Args:
        events: the model's names; those of the rule are all in it.
    """
    for ref in event_refs(rule):
        for _, pattern in resolved(ref, events):
            if problem := _unknown(pattern):
                return f"{rule.id}: {problem}"
    for of, fields in _named(rule, events):
        if problem := _missing(_kinds(of, events), fields):
            return f"{rule.id}: {problem}"
    return None


def unknown_pattern_field(name: str, pattern: EventPattern) -> str | None:
    """Return a sentence about a field of a named event that no kind of it has, or None.

    A value that the field of no such kind can have counts as well.
    """
    problem = _unknown(pattern)
    return f"{name}: {problem}" if problem else None


def _unknown(pattern: EventPattern) -> str | None:
    """Return a sentence about the first kind, field or value of `pattern` that there is not."""
    return (
        unknown_kind(pattern.kinds)
        or _missing(pattern.kinds, pattern_fields(pattern))
        or _impossible(pattern)
    )


def unknown_kind(kinds: tuple[str, ...]) -> str | None:
    """Return a sentence about the first kind that no trace has, or None."""
    for kind in kinds:
        if kind not in _FIELDS:
            return f"there are no events of the kind '{kind}'{near_to(kind, _FIELDS)}"
    return None


def pattern_fields(pattern: EventPattern) -> tuple[str, ...]:
    """Return the fields that a pattern names."""
    return (*pattern.where, *pattern.like, *pattern.has)


def _named(rule: OrderingRule, events: Events) -> Iterator[tuple[EventRef | None, tuple[str, ...]]]:
    """Yield what a rule reads of its events, beside what picks them."""
    every = tuple(
        item for ref in event_refs(rule) for item in (ref if isinstance(ref, tuple) else (ref,))
    )
    # Of several fields that may correlate, an event needs one.
    for ref in (rule.event, *rule.steps, *(move.event for move in rule.moves)):
        if ref is not None and rule.keys and not _has_any(_kinds(ref, events), rule.keys):
            yield ref, rule.keys
    own = _kinds(every, events)
    yield None, tuple(key for key in rule.keys if not _has_any(own, (key,)))
    if rule.by is not None:
        yield rule.event, (rule.by,)
    if rule.pattern in ("precedence", "response"):
        yield rule.event, tuple(pair.event for pair in rule.pairs)
        yield rule.other, tuple(pair.other for pair in rule.pairs)
    else:
        yield every, tuple(rule.same)
    for bound in (rule.within, rule.no_sooner):
        if isinstance(bound, TimeLookup) and not is_setting(bound.of):
            yield every, (bound.of,)
    if isinstance(rule.limit, CountLookup) and not is_setting(rule.limit.of):
        yield rule.scope.after, (rule.limit.of,)


def _kinds(ref: EventRef | None, events: Events) -> tuple[str, ...]:
    """Return the kinds of these events; of no reference, all that there are."""
    if ref is None:
        return _NAMING
    named = (kind for _, pattern in resolved(ref, events) for kind in pattern.kinds)
    return tuple(dict.fromkeys(named))


def _missing(kinds: tuple[str, ...], paths: tuple[str, ...]) -> str | None:
    for path in paths:
        if not _has_any(kinds, (path,)):
            names = sorted({name for kind in kinds for name in _FIELDS[kind]})
            near = get_close_matches(path.partition(".")[0], names, n=1)
            instead = f"write {near[0]}" if near else f"there are {', '.join(names)}"
            what = "event" if kinds is _NAMING else " or ".join(kinds)
            return f"no {what} has a field '{path}': {instead}"
    return None


def _has_any(kinds: tuple[str, ...], paths: tuple[str, ...]) -> bool:
    """Return whether an event of one of these kinds can have something at one of the paths."""
    return any(
        _has(_FIELDS[kind], path) or (kind in EVENTS and EVENTS[kind].counts)
        for kind in kinds
        for path in paths
    )


def _impossible(pattern: EventPattern) -> str | None:
    for path, wanted in pattern.where.items():
        types = [type_ for kind in pattern.kinds for type_ in _types(_FIELDS[kind], path)]
        # Where a kind has other fields than those with names, they hold anything.
        if any(kind in EVENTS and EVENTS[kind].counts for kind in pattern.kinds):
            continue
        for value in wanted if isinstance(wanted, tuple) else (wanted,):
            if value is not None and not any(_can_be(type_, value) for type_ in types):
                of = " or ".join(pattern.kinds)
                said = " or ".join(dict.fromkeys(word for type_ in types for word in _words(type_)))
                return f"'{path}' of {of} is never {json.dumps(value)}: it is {said}"
    return None


def _has(fields: Any, path: str) -> bool:
    return any(True for _ in _types(fields, path))


def _types(fields: Any, path: str) -> Iterator[Any]:
    """Yield the types that what stands at a dotted path can have; none where there is no such."""
    first, _, rest = path.partition(".")
    if first in fields:
        yield from _types_in(fields[first], rest)


def _types_in(annotation: Any, path: str) -> Iterator[Any]:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if annotation in (Any, Said) or origin is dict:
        yield Any
    elif origin in (Annotated, NotRequired):
        yield from _types_in(arguments[0], path)
    elif origin in (Union, UnionType):
        for member in arguments:
            yield from _types_in(member, path)
    elif not path:
        yield annotation
    elif origin is list:
        first, _, rest = path.partition(".")
        if first.isdecimal() and len(first) <= PLACE_DIGITS_MAX:
            yield from _types_in(arguments[0], rest)
    elif is_typeddict(annotation):
        if annotation.__pydantic_config__.get("extra") == "allow":
            yield Any
        else:
            yield from _types(get_type_hints(annotation), path)


def _can_be(type_: Any, value: Fact) -> bool:
    """Return whether a field of a type of `_types_in` can have a value."""
    if type_ is Any:
        return True
    if get_origin(type_) is Literal:
        return any(value == item and type(value) is type(item) for item in get_args(type_))
    if type_ is float:
        return type(value) in (int, float)
    return type(value) is type_


def _words(type_: Any) -> Iterator[str]:
    """Yield what a field of a type of `_types_in` holds, in words."""
    if get_origin(type_) is Literal:
        yield from (str(json.dumps(item)) for item in get_args(type_))
    else:
        yield _NAMES.get(type_, "an object or a list")
