"""Gate: what a team knows already of its subject, and what a report comes to beside it.

A baseline is a list of deviations that somebody has looked at: each has a reason, an owner and an
expiry. A gate fails on what is not in it, and on entries that say what is no longer so.
"""

from __future__ import annotations

from datetime import date
from typing import ClassVar

from pydantic import Field

from harness.model._base import SparseValue, Value

__all__ = ["Baseline", "Deviation", "GateReport", "KnownDeviation", "Regression"]


class Deviation(SparseValue):
    """One known deviation: a check that may fail in one scenario, until a day."""

    SPARSE: ClassVar[frozenset[str]] = frozenset({"requirement", "variant"})

    scenario: str
    """Its id."""
    check: str
    requirement: str | None = None
    """Where one check judges several sentences; None: whichever of them it is."""
    variant: str | None = None
    """Where one file stands for several runs; None: whichever of them it is."""
    reason: str = Field(min_length=1)
    """Why it is as it is, for whoever reads it next year."""
    owner: str = Field(min_length=1)
    """Who answers for it: a person or a team."""
    expires: date
    """The last day on which it counts."""


class Baseline(Value):
    """All known deviations of one subject from one error model."""

    subject: str
    model: str
    deviations: tuple[Deviation, ...] = ()


class KnownDeviation(Value):
    """An entry that the report bears out, with the ids (`F-…`) of the findings that it covers."""

    deviation: Deviation
    findings: tuple[str, ...]


class Regression(Value):
    """A failing finding that no entry covers."""

    scenario: str
    variant: str | None = None
    seed: int | None = None
    """None for a verdict on a group of seeds."""
    check: str
    requirement: str | None = None
    finding: str = ""
    """Its id in the report."""


class GateReport(Value):
    """A report beside a baseline."""

    baseline: str
    """Name of the file."""
    today: date
    """The day that expiries were compared with."""
    regressions: tuple[Regression, ...] = ()
    known: tuple[KnownDeviation, ...] = ()
    passing: tuple[Deviation, ...] = ()
    """Entries whose scenario was run, and whose check does not fail there any more."""
    missing: tuple[Deviation, ...] = ()
    """Entries that name a scenario, a check or a requirement that does not exist."""
    overdue: tuple[Deviation, ...] = ()
    """Entries whose last day is over."""
    not_run: tuple[Deviation, ...] = ()
    """Entries whose scenario was not part of this run: nothing is known of them."""

    @property
    def is_open(self) -> bool:
        """Whether nothing stands against it: inconclusive runs still do, see `Report.verdict`."""
        return not (self.regressions or self.passing or self.missing or self.overdue)

    @property
    def known_ids(self) -> frozenset[str]:
        """Ids of the findings that are known."""
        return frozenset(id_ for item in self.known for id_ in item.findings)
