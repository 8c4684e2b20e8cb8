"""Gate: what a team knows already of its subject, and what a report comes to beside it.

A baseline is a list of deviations that a person has looked at: each has a reason, an owner and an
expiry. A gate fails on what is not in it, and on entries that say what is no longer so.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import ClassVar

from pydantic import Field, ValidationInfo, field_validator

from faultclock.model._base import SparseValue, Value
from faultclock.model.cells import cell_of


class Deviation(SparseValue):
    """One known deviation: a check that may fail in one scenario, until a day."""

    SPARSE: ClassVar[frozenset[str]] = frozenset({"requirement", "variant"})

    scenario: str = Field(min_length=1)
    """Its id."""
    check: str = Field(min_length=1)
    requirement: str | None = Field(default=None, min_length=1)
    """Where one check judges several sentences; None: whichever of them it is."""
    variant: str | None = Field(default=None, min_length=1)
    """Where one file stands for several runs; None: whichever of them it is. A cell of a matrix
    stands for all crash points of its sweep."""
    reason: str = Field(min_length=1)
    """Why it is as it is, for a reader of next year."""
    owner: str = Field(min_length=1)
    """Who answers for it: a person or a team."""
    expires: date
    """The last day on which it counts."""

    @field_validator("reason", "owner")
    @classmethod
    def _says_something(cls, value: str, info: ValidationInfo) -> str:
        if not value.strip():
            raise ValueError(f"`{info.field_name}` is blank: write it for who reads it next year")
        return value

    def covers(self, requirement: str | None, variant: str | None) -> bool:
        """Return whether it speaks of such a finding of its check in its scenario."""
        return self.requirement in (None, requirement) and self.is_about(variant)

    def is_about(self, variant: str | None) -> bool:
        """Return whether it speaks of this variant of its scenario."""
        return self.variant in (None, variant, cell_of(variant))

    def includes(self, other: Deviation) -> bool:
        """Return whether it covers all that `other` covers, so that `other` says nothing new."""
        return (self.scenario, self.check) == (other.scenario, other.check) and self.covers(
            other.requirement, other.variant
        )


class Baseline(Value):
    """All known deviations of one subject from one error model."""

    subject: str = Field(min_length=1)
    model: str = Field(min_length=1)
    deviations: tuple[Deviation, ...] = ()


def included_twice(deviations: Sequence[Deviation]) -> tuple[tuple[int, int], ...]:
    """Return the indexes of each entry that says nothing new, with that of one that includes it.

    Of two that say the same, the second says nothing new.
    """
    places: dict[tuple[str, str], list[int]] = {}
    for index, item in enumerate(deviations):
        places.setdefault((item.scenario, item.check), []).append(index)
    found: list[tuple[int, int]] = []
    for indexes in places.values():
        for index in indexes:
            others = (
                other
                for other in indexes
                if other != index
                and deviations[other].includes(deviations[index])
                and (other < index or not deviations[index].includes(deviations[other]))
            )
            other = next(others, None)
            if other is not None:
                found.append((index, other))
    return tuple(sorted(found))


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
    """A report beside a baseline. Each entry of the baseline is in exactly one of its lists."""

    baseline: str
    """Name of the file."""
    today: date
    """The day that expiries were compared with."""
    regressions: tuple[Regression, ...] = ()
    known: tuple[KnownDeviation, ...] = ()
    passing: tuple[Deviation, ...] = ()
    """Entries whose scenario was run, and whose check was judged and does not fail any more."""
    missing: tuple[Deviation, ...] = ()
    """Entries that name a scenario, a variant, a check or a requirement that does not exist."""
    overdue: tuple[Deviation, ...] = ()
    """Entries whose last day is over: what they covered are regressions now."""
    not_run: tuple[Deviation, ...] = ()
    """Entries whose scenario was not part of this run, or whose check had nothing to judge there
    or could not tell: nothing is known of them."""

    @property
    def is_open(self) -> bool:
        """Whether nothing stands against it: inconclusive runs still do, see `Report.verdict`."""
        return not (self.regressions or self.passing or self.missing or self.overdue)

    @property
    def known_ids(self) -> frozenset[str]:
        """Ids of the findings that are known."""
        return frozenset(id_ for item in self.known for id_ in item.findings)
