"""Vary: what exploration may change in a scenario, and within which ranges.

A variation is data, and what it comes to is a scenario like any other. What is explored beside it,
the seed and the order of what is due at one instant, needs no declaration: no subject may depend
on it.
"""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import ConfigDict, Discriminator, Field, Tag, model_validator

from faultclock.model._base import Value
from faultclock.model.duration import SECOND_NS, DurationNs, parse_duration

#: A path into a scenario, such as `provider.faults.limited.when.attempts`: members by their names,
#: elements of a list by their `id` or `name`, or by their 0-based number.
Path = str


class Span(Value):
    """Any value between two, both included: durations such as `5ms`, or whole numbers."""

    model_config = ConfigDict(populate_by_name=True)

    first: int | str = Field(alias="from")
    last: int | str = Field(alias="to")

    @model_validator(mode="after")
    def _ordered(self) -> Span:
        if isinstance(self.first, str) != isinstance(self.last, str):
            raise ValueError("from and to are of two kinds: write two durations, or two numbers")
        if self.bounds[0] > self.bounds[1]:
            raise ValueError(f"from {self.first} to {self.last} is an empty range")
        return self

    @property
    def is_duration(self) -> bool:
        """Whether it is one of durations."""
        return isinstance(self.first, str)

    @property
    def bounds(self) -> tuple[int, int]:
        """The first and the last value, durations in nanoseconds."""
        first, last = (
            parse_duration(value) if isinstance(value, str) else value
            for value in (self.first, self.last)
        )
        return first, last


class AnyOf(Value):
    """Any of these values."""

    any_of: tuple[Any, ...] = Field(min_length=1)


def _kind_of(value: object) -> str | None:
    """Return which of the two a value is meant to be, so that a mistake is reported of it."""
    if isinstance(value, (Span, AnyOf)):
        return type(value).__name__
    if not isinstance(value, dict):
        return None
    return AnyOf.__name__ if "any_of" in value else Span.__name__


Variation = Annotated[
    Annotated[Span, Tag("Span")] | Annotated[AnyOf, Tag("AnyOf")],
    Discriminator(
        _kind_of,
        custom_error_type="variation",
        custom_error_message="give a range, as {from: …, to: …}, or a list, as {any_of: […]}",
    ),
]


class Vary(Value):
    """What may be changed, beside the seed and the order of what is due at one instant."""

    values: dict[Path, Variation] = {}
    """What stands at a path, and what may stand there instead."""
    may_lack: tuple[str, ...] = ()
    """Ids of rules (faults, answers, cancels, crashes) that a run may go without."""


class Settle(Value):
    """After the faults stop, everything has to come to an end, and in time to a good one."""

    faults_end: DurationNs
    """From this virtual time on no fault of a provider fires."""
    within: Annotated[DurationNs, Field(gt=0)] = 600 * SECOND_NS
    """Each call has to end so long after that, or after its own start if that is later. A call that
    begins when that time is over has to be answered; until then a breaker may refuse it."""
