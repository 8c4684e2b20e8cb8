"""CheckUp: what `faultclock check` says about one target, as data that every renderer reads.

Findings are many and belong to runs. A Problem is what a person mends: one cause in one place,
however many runs show it.
"""

from __future__ import annotations

from faultclock.model._base import Value
from faultclock.model.report.finding import Report
from faultclock.model.report.inferred import RetryProfile
from faultclock.model.report.problem import Problem
from faultclock.model.report.taken_for import TakenFor

#: Version of the JSON. It grows when a reader of the old shape would misread the new.
CHECKUP_FORMAT = 1


class LeftOut(Value):
    """Something that was not checked, by name."""

    what: str
    """Such as `streams`."""
    why: str
    """Such as `the target never asks for a stream`."""
    scenarios: int = 0
    """How many scenarios that leaves out."""


class Trait(Value):
    """One thing that the target does and that reasonable people do differently: not judged."""

    name: str
    """Such as `attempts`."""
    text: str
    """Such as `3 for 429, 500, 503; 1 for a reset connection`."""


class CheckUp(Value):
    """The answer to `faultclock check`."""

    format: int = CHECKUP_FORMAT
    faultclock: str
    """Version of Faultclock."""
    taken_for: TakenFor
    does: tuple[Trait, ...] = ()
    problems: tuple[Problem, ...] = ()
    """Those that break a MUST first, of each the most harmful first."""
    left_out: tuple[LeftOut, ...] = ()
    inconclusive: tuple[str, ...] = ()
    """What proves nothing, and why, in one line each."""
    report: Report
    """Every run behind it."""
    profile: RetryProfile | None = None
    """What was inferred; None where the target asks no model."""
