"""Validation errors, in words for the person who wrote the file, each at its line and column.

The location of a validation error is walked down the tree of the file. Elements that the file
does not have (union tags, names of validators) are skipped, so that a missing key lands on the
mapping that misses it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from difflib import get_close_matches
from typing import Any

from msgspec import Struct
from pydantic import BaseModel, ValidationError

from faultclock.errors import Problem
from faultclock.load.known_keys import Location, known_keys
from faultclock.load.located.tree import Mapping as MappingNode
from faultclock.load.located.tree import Node, Place, Scalar, Sequence, children, problem_at

#: What a type error wanted, in words.
_WANTED = {
    "bool_type": "true or false",
    "bool_parsing": "true or false",
    "dict_type": "a mapping",
    "float_type": "a number",
    "int_from_float": "a whole number",
    "int_parsing": "a whole number",
    "int_type": "a whole number",
    "list_type": "a list",
    "mapping_type": "a mapping",
    "model_attributes_type": "a mapping",
    "model_type": "a mapping",
    "none_required": "nothing",
    "string_type": "a text",
    "tuple_type": "a list",
}
_BOUNDS = {
    "greater_than_equal": ("at least", "ge"),
    "greater_than": ("more than", "gt"),
    "less_than_equal": ("at most", "le"),
    "less_than": ("less than", "lt"),
}

_QUOTED = re.compile(r"'([^']*)'")
#: A value that was pasted by mistake should not fill the screen.
_LENGTH_MAX = 240


class Spot(Struct, frozen=True, kw_only=True):
    """Where a location of a validation error lands in a file.

    Attributes:
        path: the elements of the location that the file has.
        node: the value there.
        key: where the key of that value stands; None for items and for the root.
    """

    path: Location
    node: Node
    key: Place | None


class _Fault(Struct, frozen=True, kw_only=True):
    """One validation error with its spot."""

    type: str
    location: Location
    message: str
    context: Mapping[str, Any]
    spot: Spot


def spot_at(root: MappingNode, location: Location) -> Spot:
    """Walk `location` down the tree, skipping what is not there."""
    path: list[str | int] = []
    node: Node = root
    key: Place | None = None
    for element in location:
        if isinstance(node, MappingNode) and element in node.values:
            assert isinstance(element, str)
            key, node = node.keys[element], node.values[element]
        elif isinstance(node, Sequence) and isinstance(element, int) and element < len(node.items):
            key, node = None, node.items[element]
        else:
            continue
        path.append(element)
    return Spot(path=tuple(path), node=node, key=key)


def problems_of(
    error: ValidationError, model: type[BaseModel], root: MappingNode, path: str
) -> tuple[Problem, ...]:
    """Return one Problem for each distinct fault, in the order of the file."""
    faults = [
        _Fault(
            type=item["type"],
            location=item["loc"],
            message=item["msg"],
            context=item.get("ctx", {}),
            spot=spot_at(root, item["loc"]),
        )
        for item in error.errors(include_url=False)
    ]
    faults = [fault for fault in faults if not _only_counts_the_good(fault, faults)]
    problems: dict[Problem, None] = {}
    merged: set[Location] = set()
    for fault in faults:
        if fault.type in _WANTED:
            if fault.spot.path in merged or _other_branch_fits(fault, faults):
                continue
            merged.add(fault.spot.path)
            place, message, hint = _wrong_type(fault, faults)
        else:
            place, message, hint = _reworded(fault, model)
        shown = message if len(message) <= _LENGTH_MAX else f"{message[:_LENGTH_MAX]}…"
        problems[problem_at(place, path, shown, hint)] = None
    return tuple(sorted(problems, key=lambda item: (item.line, item.column)))


def did_you_mean(name: str, known: Iterable[str]) -> str | None:
    """Return a hint with the nearest of `known`, or with all of them; None without any."""
    names = tuple(known)
    near = get_close_matches(name, names, n=1)
    if near:
        return f"did you mean `{near[0]}`?"
    return f"known: {', '.join(names)}" if names else None


def _only_counts_the_good(fault: _Fault, faults: list[_Fault]) -> bool:
    """Return whether a list is too short for pydantic because what stands in it is wrong."""
    length = len(fault.location)
    return fault.type == "too_short" and any(
        other.location[:length] == fault.location and len(other.location) > length
        for other in faults
    )


def _other_branch_fits(fault: _Fault, faults: list[_Fault]) -> bool:
    """Return whether another branch of a union got further than this type error did.

    `{http_dat: +3s}` is no text, but it was not meant as one.
    """
    length = len(fault.spot.path)
    return any(
        other.type not in _WANTED and other.spot.path[:length] == fault.spot.path
        for other in faults
    )


def _wrong_type(fault: _Fault, faults: list[_Fault]) -> tuple[Place, str, str | None]:
    wanted = dict.fromkeys(
        _WANTED[other.type]
        for other in faults
        if other.spot.path == fault.spot.path and other.type in _WANTED
    )
    hint = None
    node = fault.spot.node
    if "a text" in wanted and isinstance(node, Scalar) and node.value is not None:
        hint = 'put it in quotes to make it a text: "…"'
    message = f"{_name(fault)} should be {' or '.join(wanted)}, not {_shown(node)}"
    return node.place, message, hint


def _reworded(fault: _Fault, model: type[BaseModel]) -> tuple[Place, str, str | None]:
    if fault.type == "extra_forbidden":
        unknown = str(fault.location[-1])
        hint = did_you_mean(unknown, known_keys(model, fault.location[:-1]))
        return fault.spot.key or fault.spot.node.place, f"unknown key `{unknown}`", hint
    if fault.type == "missing":
        place = fault.spot.key or fault.spot.node.place
        return place, f"the key `{fault.location[-1]}` is missing{_inside(fault)}", None
    if fault.type in ("union_tag_invalid", "union_tag_not_found"):
        return _wrong_tag(fault, model)
    place = fault.spot.node.place
    if fault.type == "literal_error":
        choices = _QUOTED.findall(str(fault.context["expected"]))
        if fault.location[-1] == "[key]":
            unknown = str(fault.location[-2])
            place = fault.spot.key or place
            return place, f"unknown key `{unknown}`", did_you_mean(unknown, choices)
        message, hint = _wrong_choice(fault, choices)
        return place, message, hint
    if fault.type == "string_pattern_mismatch" and fault.location[-1] == "[key]":
        hint = _pattern_hint(str(fault.context["pattern"]))
        place = fault.spot.key or place
        return place, f"the name {_quoted(str(fault.location[-2]))} cannot be used", hint
    if fault.type == "value_error":
        place = _pinpointed(fault.spot.node, str(fault.context["error"]))
    return place, *_value_wording(fault)


def _pinpointed(node: Node, message: str) -> Place:
    """Return the place that a message about a whole mapping or list speaks of.

    A rule over many values ("there is no requirement 'X'") is reported at the mapping that holds
    them all, which may be the whole file. The text it quotes last, else the word that it begins
    with, is looked for below: as a key of the mapping itself, then as a value anywhere. The last
    one counts: of two equal ids, the second is the one to change.
    """
    if isinstance(node, Scalar):
        return node.place
    for word in (*re.findall(r"'([^']+)'", message)[-1:], *re.findall(r"^[^\s:]+", message)):
        if isinstance(node, MappingNode) and word in node.keys:
            return node.keys[word]
        places = [scalar.place for scalar in _scalars(node) if scalar.value == word]
        if places:
            return places[-1]
    return node.place


def _scalars(node: Node) -> Iterator[Scalar]:
    if isinstance(node, Scalar):
        yield node
    for child in children(node):
        yield from _scalars(child)


def _value_wording(fault: _Fault) -> tuple[str, str | None]:
    name, shown = _name(fault), _shown(fault.spot.node)
    if fault.type in ("value_error", "assertion_error"):
        reason = str(fault.context["error"])
        message, _, hint = reason.partition(": write ")
        return message, f"write {hint}" if hint else None
    if fault.type in _BOUNDS:
        words, bound = _BOUNDS[fault.type]
        return f"{name} should be {words} {fault.context[bound]}, not {shown}", None
    if fault.type == "string_pattern_mismatch":
        return f"{name} cannot be {shown}", _pattern_hint(str(fault.context["pattern"]))
    if fault.type == "string_too_short":
        return f"{name} is empty", None
    if fault.type == "too_short":
        return f"{name} has too few entries: at least {fault.context['min_length']} needed", None
    if fault.type == "too_long":
        return f"{name} has too many entries: at most {fault.context['max_length']}", None
    return f"{name}: {fault.message[:1].lower()}{fault.message[1:]}", None


def _wrong_tag(fault: _Fault, model: type[BaseModel]) -> tuple[Place, str, str | None]:
    key = str(fault.context["discriminator"]).strip("'")
    node = fault.spot.node
    if fault.type == "union_tag_not_found":
        hint = "it says which keys may follow" if known_keys(model, fault.location) else None
        place = fault.spot.key or node.place
        return place, f"the key `{key}` is missing{_inside(fault)}", hint
    choices = _QUOTED.findall(str(fault.context["expected_tags"]))
    tag = str(fault.context["tag"])
    place = node.place
    if isinstance(node, MappingNode) and key in node.values:
        place = node.values[key].place
    return place, f"`{key}` cannot be {_quoted(tag)}", did_you_mean(tag, choices)


def _wrong_choice(fault: _Fault, choices: Iterable[str]) -> tuple[str, str | None]:
    node = fault.spot.node
    given = str(node.value) if isinstance(node, Scalar) else ""
    return f"{_name(fault)} cannot be {_shown(node)}", did_you_mean(given, choices)


def _pattern_hint(pattern: str) -> str:
    if pattern.startswith("^[a-z0-9][a-z0-9-]*"):
        shape = ", as in family/slug" if "/" in pattern else ""
        return f"use lower-case letters, digits and hyphens{shape}"
    if pattern == "^[a-z0-9][a-z0-9_-]*$":
        return "use lower-case letters, digits, hyphens and underscores"
    if pattern.startswith("^https?://"):
        return "write http:// or https://, a host and a path, with no slash at the end"
    return f"it has to match {pattern}"


def _name(fault: _Fault) -> str:
    """Return what to call the value: its key, or its place in a list."""
    path = fault.spot.path
    if not path:
        return "the file"
    if isinstance(path[-1], str):
        return f"`{path[-1]}`"
    owner = next((item for item in reversed(path) if isinstance(item, str)), "the list")
    return f"entry {path[-1] + 1} of `{owner}`"


def _inside(fault: _Fault) -> str:
    return f" in {_name(fault)}" if fault.spot.path else ""


_SHOWN: dict[type, Callable[[Any], str]] = {
    MappingNode: lambda _: "a mapping",
    Sequence: lambda _: "a list",
    Scalar: lambda node: _quoted(node.value),
}


def _shown(node: Node) -> str:
    return _SHOWN[type(node)](node)


def _quoted(value: object) -> str:
    if value is None:
        return "empty"
    if isinstance(value, bool):
        return str(value).lower()
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}…"
