"""Paths into JSON: where an API has its text, its finish reason and the tools that it asks for.

    choices.*.delta.content            in each object of a list
    candidates.0.finishReason          in the first object of a list
    content.*[type=text].text          only where that member has that value, or one of `a|b`
    parts.*[!thought].text             only where that member is not true

A path finds nothing where something else stands; no value raises anything.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from faultclock.fakes.wire.event_stream import objects_in

#: A name or `*` or a 0-based place, and the conditions behind it.
_STEP = re.compile(r"([^.\[\]]*)((?:\[[^\]]*\])*)(?:\.|$)")
_CONDITION = re.compile(r"\[(!?)([^=\]]*)=?([^\]]*)\]")


def values_at(value: object, path: str) -> list[Any]:
    """Return what stands at `path` in a JSON value, in its order."""
    found: list[Any] = [value]
    for name, conditions in _steps(path):
        if name == "*":
            found = [item for one in found for item in objects_in(one)]
        elif name.isdigit():
            place = int(name)
            found = [item for one in found for item in objects_in(one)[place : place + 1]]
        elif name:
            found = [one[name] for one in found if isinstance(one, dict) and name in one]
        for is_not, member, values in conditions:
            found = [one for one in found if _holds(one, is_not, member, values)]
    return found


def first_at(value: object, path: str) -> Any:
    """Return the first value at `path` that is not null, None where there is none."""
    return next((one for one in values_at(value, path) if one is not None), None)


@cache
def _steps(path: str) -> tuple[tuple[str, tuple[tuple[bool, str, tuple[str, ...]], ...]], ...]:
    return tuple(
        (
            name,
            tuple(
                (bool(is_not), member, tuple(values.split("|")))
                for is_not, member, values in _CONDITION.findall(conditions)
            ),
        )
        for name, conditions in _STEP.findall(path)
        if name or conditions
    )


def _holds(value: object, is_not: bool, member: str, values: tuple[str, ...]) -> bool:
    given = value.get(member) if isinstance(value, dict) else None
    if is_not:
        return isinstance(value, dict) and given is not True
    return (given is True and values == ("true",)) or (isinstance(given, str) and given in values)
