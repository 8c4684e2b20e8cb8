"""The cross table of subjects and error models: what each model says of each subject."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from faultclock.model.error_model.error_model import Requirement
from faultclock.model.report.finding import Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A requirement of a model that a subject breaks, and where it does so first.

    Attributes:
        findings: how many findings cite it.
        scenario, expected, observed: of the first one.
    """

    requirement: Requirement
    findings: int
    scenario: str
    expected: str
    observed: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """What one model says of one subject.

    Attributes:
        totals: runs per verdict.
        differences: the requirements that it breaks, in the model's order.
        uncited: findings against it that cite no requirement, in words.
    """

    subject: str
    model: str
    totals: Mapping[Verdict, int]
    differences: tuple[Difference, ...]
    uncited: tuple[str, ...]
