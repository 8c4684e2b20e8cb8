"""Tape: the choices of a run that are not what it would do by itself.

A run leaves much to chance: which of the things that are due at one instant happens first, how long
a packet takes, which of the declared variations of a scenario is played. Each choice has a place: a
named stream, and a number in it. What a blank tape says nothing of is as it is without exploration:
first in, first out, as the seed draws it, as the scenario is written. So a tape is short, and a
shorter one is a simpler run.

Names of streams:

    vary/<path>              number 0: which value of the scenario; 0 is the one that is written
    lacks/<rule>             number 0: 1 takes the rule out of the scenario
    schedule/<life>/<lane>   number: a step of the lane, from 0; how many others go before it that
                             came after it
    latency/<connection>/<side>, pace/..., overload/...
                             number: a draw of that stream, from 0; what is drawn instead

`sim.kernel.streams` and `sim.kernel.lanes` say what the last three are made of.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal

from msgspec import Struct
from pydantic import Field, field_validator

from faultclock.model._base import Value

#: What the streams that shape the scenario itself, and not the run, begin with.
SCENARIO_STREAMS = ("vary/", "lacks/")

#: (number in the stream, from 0; what is chosen).
Choice = tuple[int, int]


class Tape(Value):
    """Choices by stream, each stream in the order of its numbers. Equal choices, equal tapes."""

    choices: dict[str, tuple[Choice, ...]] = {}

    @field_validator("choices")
    @classmethod
    def _in_order(cls, choices: dict[str, tuple[Choice, ...]]) -> dict[str, tuple[Choice, ...]]:
        for stream, chosen in choices.items():
            numbers = [number for number, _ in chosen]
            if not chosen or numbers != sorted(set(numbers)) or min(numbers) < 0:
                raise ValueError(f"the choices of {stream!r} are not numbered upwards from 0")
            if min(value for _, value in chosen) < 0:
                raise ValueError(f"a choice of {stream!r} is below 0")
        return {stream: choices[stream] for stream in sorted(choices)}

    @classmethod
    def of(cls, choices: Mapping[str, Mapping[int, int]]) -> Tape:
        """Return the tape with these choices by stream and number; empty streams are left out."""
        if not choices:
            return BLANK
        return cls(
            choices={
                stream: tuple(sorted(chosen.items()))
                for stream, chosen in choices.items()
                if chosen
            }
        )

    @property
    def is_blank(self) -> bool:
        """Whether it says nothing."""
        return not self.choices

    @property
    def length(self) -> int:
        """Number of choices on it."""
        return sum(len(chosen) for chosen in self.choices.values())

    def by_number(self, stream: str) -> dict[int, int]:
        """Return the choices of one stream by their number."""
        return dict(self.choices.get(stream, ()))

    def get(self, stream: str, number: int = 0) -> int | None:
        """Return one choice; None where the tape says nothing."""
        return self.by_number(stream).get(number)

    def about(self, prefixes: Iterable[str]) -> Tape:
        """Return the part whose streams begin with one of `prefixes`."""
        if self.is_blank:
            return BLANK
        wanted = tuple(prefixes)
        return Tape(
            choices={name: kept for name, kept in self.choices.items() if name.startswith(wanted)}
        )

    def joined(self, other: Tape) -> Tape:
        """Return both tapes as one; where both say something, `other` has the last word."""
        if other.is_blank:
            return self
        both = {stream: dict(chosen) for stream, chosen in self.choices.items()}
        for stream, chosen in other.choices.items():
            both[stream] = {**both.get(stream, {}), **dict(chosen)}
        return Tape.of(both)


#: Says nothing: everything is as it is without exploration.
BLANK = Tape.model_construct()

ScheduleKind = Literal["fifo", "random", "pct"]


class Schedule(Value):
    """How ties are broken: by the tape, or by chance, which is then noted on the tape."""

    kind: ScheduleKind = "fifo"
    """`fifo`: first in, first out, but for what the tape says. `random`: each time, or
    now and then, any of those that could be next. `pct`: each lane has a random priority, and some
    lose it on the way (Burckhardt et al., A Randomized Scheduler with Probabilistic Guarantees of
    Finding Bugs, ASPLOS 2010)."""
    seed: int = Field(default=0, ge=0)
    per_mille: int = Field(default=1_000, ge=0, le=1_000)
    """With `random`: how many of 1,000 ties are broken by chance."""
    depth: int = Field(default=3, ge=1)
    """With `pct`: one more than the number of lanes that lose their priority."""
    horizon: int = Field(default=200, ge=1)
    """With `pct`: among how many ties, from the first, those moments are drawn."""


FIFO = Schedule.model_construct()


class Chance(Struct, frozen=True):
    """What a run is given beside its seed.

    Attributes:
        tape: choices that are played.
        schedule: how ties are broken.
    """

    tape: Tape = BLANK
    schedule: Schedule = FIFO


#: Nothing is played and nothing explored.
PLAIN = Chance()
