"""Values that a row names by a path, and the conditions that it puts on them.

A path goes through attributes, keys of mappings and places of tuples and lists: `attempt.pair.0`,
or `lines.-1` for the last one. What is not there is None. A name with `()` is a method without
arguments. A key that the mapping has as bytes is written as text.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import msgspec.structs
from msgspec import Struct

_TESTS = ("in", "not", "has", "lacks", "below", "above", "is")


def constant(value: Any) -> Any:
    """Return a value of a row as a reference has it: lists are tuples, at any depth."""
    if isinstance(value, list | tuple):
        return tuple(constant(item) for item in value)
    if isinstance(value, Mapping):
        return {name: constant(item) for name, item in value.items()}
    return value


def value_at(value: Any, path: str) -> Any:
    """Return what stands at a path below `value`, None where there is nothing."""
    for name in path.split("."):
        if value is None:
            return None
        if name.endswith("()"):
            value = getattr(value, name.removesuffix("()"))()
        elif isinstance(value, Mapping):
            value = value.get(name, value.get(name.encode()))
        elif isinstance(value, tuple | list) and _is_place(name):
            place = int(name)
            value = value[place] if -len(value) <= place < len(value) else None
        else:
            value = getattr(value, name, None)
    return value


def _is_place(name: str) -> bool:
    return name.removeprefix("-").isdecimal()


def with_value(value: Any, path: str, new: Any) -> Any:
    """Return `value` with `new` at a path below it.

    Mappings, tuples and frozen values are copied; any other object is changed. Where a list
    was, there is a list again.
    """
    name, _, rest = path.partition(".")
    old = value_at(value, name)
    inner = with_value(old, rest, new) if rest else new
    if isinstance(old, list) and isinstance(inner, tuple):
        inner = list(inner)
    if isinstance(value, Mapping):
        return {**value, name: inner}
    if isinstance(value, tuple | list):
        place = int(name) % len(value)
        return type(value)((*value[:place], inner, *value[place + 1 :]))
    if isinstance(value, Struct) and value.__struct_config__.frozen:
        return msgspec.structs.replace(value, **{name: inner})
    if dataclasses.is_dataclass(value) and getattr(value, "__dataclass_params__").frozen:  # noqa: B009
        assert not isinstance(value, type)
        return dataclasses.replace(value, **{name: inner})
    setattr(value, name, inner)
    return value


def left_out(value: Any, path: str) -> Any:
    """Return `value` without what stands at a path below it; the last name is a key or a place."""
    name, _, rest = path.partition(".")
    if value_at(value, name) is None:
        return value
    if rest:
        return with_value(value, name, left_out(value_at(value, name), rest))
    if isinstance(value, tuple | list):
        place = int(name) % len(value)
        return type(value)((*value[:place], *value[place + 1 :]))
    return {key: item for key, item in value.items() if key != name}


def holds(condition: Any, value: Any) -> bool:
    """Return whether a value is as a row wants it: equal to a constant, or passing its tests.

    Tests: `in` (one of several), `not` (anything else), `has` and `lacks` (a key or member, or a
    part of a text in any case), `below` and `above` (a number, or a text that is one), `is` (true
    or false to Python).
    """
    if not isinstance(condition, Mapping) or not condition.keys() <= set(_TESTS):
        return bool(constant(condition) == value)
    return all(_passes(test, wanted, value) for test, wanted in condition.items())


def _passes(test: str, wanted: Any, value: Any) -> bool:
    if test == "in":
        return value in constant(wanted)
    if test == "not":
        return bool(value != constant(wanted))
    if test in ("has", "lacks"):
        return _contains(value, wanted) == (test == "has")
    if test in ("below", "above"):
        if isinstance(value, str):
            value = float(value) if value.replace(".", "", 1).isdecimal() else None
        return value is not None and bool(value < wanted if test == "below" else value > wanted)
    return bool(bool(value) == wanted)


def _contains(value: Any, wanted: Any) -> bool:
    if isinstance(value, str):
        return str(wanted).casefold() in value.casefold()
    return value is not None and bool(wanted in value)
