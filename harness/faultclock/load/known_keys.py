"""Which keys a model allows at a place in a file, for "did you mean".

A validation error says that a key is unknown, not which ones are known; this walks the field
annotations along the error's location to find out.
"""

from __future__ import annotations

import types
from collections.abc import Iterator
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel

#: A validation error's `loc`: keys and indexes, and between them union tags or type names.
Location = tuple[str | int, ...]


def known_keys(model: type[BaseModel], location: Location) -> tuple[str, ...]:
    """Return the keys, as files spell them, of the mapping at `location` below `model`.

    Args:
        model: what the whole file is validated against.
        location: where the mapping lies, in a validation error's own terms.
    """
    keys: dict[str, None] = {}
    for found in _models_at(model, location):
        for name in found.model_fields:
            keys[file_key(found, name)] = None
    return tuple(keys)


def file_key(model: type[BaseModel], name: str) -> str:
    """Return how a file spells the field `name`: its alias when it has one."""
    return model.model_fields[name].alias or name


def _models_at(annotation: Any, location: Location) -> Iterator[type[BaseModel]]:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        yield from _models_at(arguments[0], location)
    elif origin in (Union, types.UnionType):
        for member in arguments:
            if location and _names(member, location[0]):
                yield from _models_at(member, location[1:])
                return
        for member in arguments:
            yield from _models_at(member, location)
    elif origin in (tuple, list, frozenset, set) and location and isinstance(location[0], int):
        yield from _models_at(arguments[0], location[1:])
    elif origin is dict and location:
        yield from _models_at(arguments[1], location[1:])
    elif isinstance(annotation, type) and issubclass(annotation, BaseModel):
        if not location:
            yield annotation
            return
        for name, field in annotation.model_fields.items():
            if location[0] in (name, field.alias):
                yield from _models_at(field.annotation, location[1:])


def _names(member: Any, label: str | int) -> bool:
    """Return whether a union's `label` in a location means this member: class name or tag."""
    if not (isinstance(member, type) and issubclass(member, BaseModel)):
        return False
    tags = (
        get_args(field.annotation)
        for field in member.model_fields.values()
        if get_origin(field.annotation) is Literal
    )
    return member.__name__ == label or any(label in tag for tag in tags)
