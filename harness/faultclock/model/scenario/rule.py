"""Rule: what a scenario plans beside its good course, and the occasions that it is planned for.

A tool counts executions, a person requests, a store operations, a provider attempts. Each has
rules with an id and a range of such numbers; of the rules that are for an occasion the first one
decides. What a rule then does is written in its `then`, and done by the fake that it stands in.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated, Any

from pydantic import (
    BaseModel,
    BeforeValidator,
    Field,
    PlainSerializer,
    WithJsonSchema,
    model_validator,
)

from faultclock.model._base import Value

_RANGE = re.compile(r"(\d+)(?:-(\d+))?|(\d+)\+", re.ASCII)

RuleId = Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]*$")]


class AttemptRange(Value):
    """A closed range of 1-based attempt numbers; `last` None means without end."""

    first: int = Field(ge=1)
    last: int | None = None

    @model_validator(mode="after")
    def _ordered(self) -> AttemptRange:
        if self.last is not None and self.last < self.first:
            raise ValueError(f"the range {self.first}-{self.last} is empty")
        return self

    def __contains__(self, number: int) -> bool:
        return self.first <= number and (self.last is None or number <= self.last)


def _range_from_file(value: object) -> object:
    if isinstance(value, int) and not isinstance(value, bool):
        return {"first": value, "last": value}
    if value == "every":
        return {"first": 1, "last": None}
    if isinstance(value, str) and (match := _RANGE.fullmatch(value)):
        first, last, open_first = match.groups()
        if open_first is not None:
            return {"first": int(open_first), "last": None}
        return {"first": int(first), "last": int(last or first)}
    if isinstance(value, (dict, AttemptRange)):
        return value
    raise ValueError(f"{value!r} is not an attempt number: write 2, 1-6, 3+ or every")


def _range_to_file(value: AttemptRange) -> str | int:
    if value.last is None:
        return "every" if value.first == 1 else f"{value.first}+"
    return value.first if value.first == value.last else f"{value.first}-{value.last}"


RangeField = Annotated[
    AttemptRange,
    BeforeValidator(_range_from_file),
    PlainSerializer(_range_to_file),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "integer", "minimum": 1},
                {"type": "string", "pattern": r"^(every|\d+\+|\d+(-\d+)?)$"},
            ]
        }
    ),
]
EVERY = AttemptRange.model_construct(first=1)


class When(Value):
    """Which occasions a rule is for. Every condition that is given must hold."""

    def is_for(self, number: int, **facts: Any) -> bool:
        """Return whether the occasion `number` (1-based), with these facts, is one of them."""
        # Each has one range of numbers, which files call by what is counted.
        numbers = next(it for it in vars(self).values() if isinstance(it, AttemptRange))
        return number in numbers and self.holds(**facts)

    # The signature that mypy lets each trigger replace with the facts that it asks for.
    def holds(self, *_: Any, **facts: Any) -> bool:
        """Return whether all conditions but the number hold: each is None, or the fact itself."""
        return all(getattr(self, name) in (None, fact) for name, fact in facts.items())


class Rule(Value):
    """A rule. A run that never meets it proves nothing."""

    id: RuleId


class TriggeredRule(Rule):
    """A rule with a trigger of its own; the first that matches decides."""

    when: When
    then: Any
    optional: bool = False
    """Whether a run that never met it is still a valid run."""

    def is_for(self, number: int, **facts: Any) -> bool:
        """Return whether it is for the occasion `number` (1-based) with these facts."""
        return self.when.is_for(number, **facts)


class CountedRule(Rule, When):
    """A rule that says in itself which occasions it is for; the first that matches decides."""

    optional: bool = False
    """Whether a run that never met it is still a valid run."""


def rules_in(value: object) -> Iterator[Rule]:
    """Yield each rule below `value`, in the order of the fields that hold them."""
    if isinstance(value, Rule):
        yield value
    elif isinstance(value, BaseModel):
        for name in type(value).model_fields:
            yield from rules_in(getattr(value, name))
    elif isinstance(value, tuple):
        for item in value:
            yield from rules_in(item)
