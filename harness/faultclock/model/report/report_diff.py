"""Differences between two reports: what got better or worse, and what cannot be compared."""

from __future__ import annotations

from typing import ClassVar, Literal

from faultclock.model._base import SparseValue, Value
from faultclock.model.report.finding import Verdict

ChangeKind = Literal[
    "newly failing",
    "fixed",
    "not judged any more",
    "does not apply any more",
    "judged now",
    "newly warning",
    "no longer warning",
    "newly inconclusive",
    "no longer inconclusive",
]
#: `worse`: something fails that did not. `unclear`: nothing does, but something is not judged any
#: more, or is inconclusive. Otherwise `not worse`.
DiffVerdict = Literal["worse", "unclear", "not worse"]


class Fact(Value):
    """One thing that is not the same; empty texts stand for what is not there."""

    what: str
    before: str
    after: str


class CheckChange(SparseValue):
    """A check (and sentence) whose verdict changed, in runs that are in both reports."""

    SPARSE: ClassVar[frozenset[str]] = frozenset({"variant", "requirement"})

    kind: ChangeKind
    """`does not apply any more`: there was nothing to judge here, but in other runs there was."""
    scenario: str
    variant: str | None = None
    """`crash everywhere` stands for all crash points of a sweep."""
    seeds: tuple[int, ...]
    """Empty for a verdict over all of them."""
    check: str
    requirement: str | None = None
    before: Verdict | None
    after: Verdict | None
    """None: there was nothing to judge."""
    said: str
    """What was observed, or why nothing was proved, on the worse side; of the first seed."""


class RunsChange(SparseValue):
    """Runs of one scenario that are in one of the reports only."""

    SPARSE: ClassVar[frozenset[str]] = frozenset({"variant"})

    scenario: str
    variant: str | None = None
    seeds: tuple[int, ...]
    whole: bool
    """Whether the other report has no run of it at all."""
    before: Verdict | None
    after: Verdict | None
    """The worst of them; None on the side that does not have them."""


class StillFailing(SparseValue):
    """A run that fails in both, and not in the same way."""

    SPARSE: ClassVar[frozenset[str]] = frozenset({"variant"})

    scenario: str
    variant: str | None = None
    seed: int
    checks: tuple[str, ...]
    facts: tuple[Fact, ...]


class RequirementChange(Value):
    """A sentence of the error model with another status; None: the model has no such sentence."""

    requirement: str
    before: str | None
    after: str | None


class ReportDiff(Value):
    """What changed from one report to another of the same error model."""

    format: int = 1
    model: str
    verdict: DiffVerdict
    settings: tuple[Fact, ...] = ()
    """Versions, readings and what else the runs depend on."""
    changes: tuple[CheckChange, ...] = ()
    runs: tuple[RunsChange, ...] = ()
    still_failing: tuple[StillFailing, ...] = ()
    requirements: tuple[RequirementChange, ...] = ()
    compared: int
    """How many runs are in both; the crash points of a sweep are one."""
    failing: int
    """How many of these fail in both."""
    inconclusive: int
    """How many runs of the later report prove nothing."""

    @property
    def is_empty(self) -> bool:
        """Whether nothing changed at all."""
        return not (
            self.settings or self.changes or self.runs or self.still_failing or self.requirements
        )
