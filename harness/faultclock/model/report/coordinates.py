"""Coordinates: all that leads to one run again, and a run that was not the same the second time."""

from __future__ import annotations

from typing import ClassVar

from faultclock.model._base import SparseValue, Value
from faultclock.model.tape import BLANK, Tape


class Coordinates(SparseValue):
    """All that leads to one run again; a replay token is the text of it."""

    SPARSE: ClassVar[frozenset[str]] = frozenset({"variant", "tape"})

    scenario: str
    """Its id. The scenario is the one that is written, with its `vary`."""
    scenario_digest: str
    """Of the scenario that is written (`scenario_digest`), so that an edited one is noticed."""
    variant: str | None = None
    subject: str
    """Its id."""
    seed: int
    tape: Tape = BLANK


class Unsteady(Value):
    """A run that was not the same a second time: a fault of the harness, never of the subject."""

    coordinates: Coordinates
    first_digest: str
    second_digest: str
    differs_at: int | None
    """1-based line of the trace that differs first; None where one of the runs did not end."""
    was: str = ""
    """That line of the first run; empty where it has none."""
    now: str = ""
    difference: tuple[str, ...] = ()
    """What differs in that line, in words, one a line."""
    leaks: tuple[str, ...] = ()
    """What the traces say of real clocks, sockets, threads and the like that got in, and of what
    one run drew or read more often than the other."""
