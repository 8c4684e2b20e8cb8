"""What a row writes down as a value: constants, and objects and exceptions by their names."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import functools
import inspect
import json
import types
import typing
from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

from faultclock.mutants.paths import constant


class OpenLock(asyncio.Lock):
    """A lock that lets everyone in at once."""

    async def __aenter__(self) -> None:
        return

    async def __aexit__(self, *_: object) -> None:
        return


@functools.cache
def errors() -> dict[str, type[BaseException]]:
    """Return the exceptions that a row may name."""
    from faultclock.agents.matrix import StageFailed
    from faultclock.agents.relavium_run import RunError
    from faultclock.agents.stud_cli.session import Halted
    from faultclock.agents.turn import Ended
    from faultclock.subjects.ports import TypedError
    from faultclock.subjects.stud import AttemptError

    known: tuple[type[BaseException], ...] = (
        Exception,
        ConnectionResetError,
        OSError,
        RuntimeError,
        ValueError,
        asyncio.CancelledError,
        json.JSONDecodeError,
        AttemptError,
        Ended,
        Halted,
        RunError,
        StageFailed,
        TypedError,
    )
    return {error.__name__: error for error in known}


@functools.cache
def _objects() -> dict[str, Callable[..., Any]]:
    """Return what makes the objects that a row may name."""
    known = (OpenLock, contextlib.nullcontext)
    return {**errors(), **{make.__name__: make for make in known}}


@functools.cache
def hints_of(step: Any) -> dict[str, Any]:
    """Return the types that a step says it takes, and as `return` the one that it gives."""
    try:
        return typing.get_type_hints(step)
    except (NameError, TypeError):
        # A name that its module imports for type checkers alone, or no function.
        return {}


def made(value: Any, hint: Any) -> Any:
    """Return a value of a row; a mapping becomes an object where a class is asked for.

    A mapping with the name of an exception or of another object as its one key becomes that one.
    """
    wanted = _class_of(hint) if isinstance(value, Mapping) else None
    if isinstance(value, Mapping) and len(value) == 1 and next(iter(value)) in _objects():
        ((name, value),) = value.items()
        wanted = _objects()[name]
        if isinstance(value, str):
            return wanted(value)
    if wanted is None or not _takes(wanted, value):
        return constant(value)
    hints = typing.get_type_hints(wanted if _is_value(wanted) else wanted.__init__)
    return wanted(**{name: made(item, hints.get(name)) for name, item in value.items()})


def _class_of(hint: Any) -> Any:
    """Return the class that a type hint has beside None; None for a mapping or a plain value."""
    union = typing.get_origin(hint) in (typing.Union, types.UnionType)
    for item in typing.get_args(hint) if union else (hint,):
        if isinstance(item, type) and (_is_value(item) or issubclass(item, BaseException)):
            return item
    return None


def _takes(wanted: Any, value: Mapping[str, Any]) -> bool:
    """Return whether a class is made of such a mapping; else it is a mapping that is meant."""
    return not _is_value(wanted) or value.keys() <= inspect.signature(wanted).parameters.keys()


def _is_value(wanted: type) -> bool:
    return issubclass(wanted, Struct) or dataclasses.is_dataclass(wanted)
