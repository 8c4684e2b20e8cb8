"""The verdict matrix: scenarios down, groups of checks across, families together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from harness.model.finding import Verdict
from harness.render.sections import Section
from harness.render.verdict_words import GROUPS, fold, group_of

__all__ = ["Family", "Matrix", "MatrixRow", "make_matrix"]


@dataclass(frozen=True, slots=True, kw_only=True)
class MatrixRow:
    """One scenario: its own verdict, then one per group; None where no check spoke."""

    section: Section
    cells: tuple[Verdict | None, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """The rows of one family."""

    name: str
    rows: tuple[MatrixRow, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Matrix:
    """The whole table."""

    groups: tuple[str, ...]
    silent: tuple[str, ...]
    """Groups that had nothing to judge in any scenario; they have no column."""
    families: tuple[Family, ...]


def make_matrix(sections: Sequence[Section]) -> Matrix:
    """Return the matrix of `sections`, which must already be ordered by family."""
    found = {
        group_of(finding.check)
        for section in sections
        for run in section.runs
        for finding in run.findings
    }
    spoke = {
        group_of(finding.check)
        for section in sections
        for run in section.runs
        for finding in run.findings
        if finding.verdict is not Verdict.NOT_APPLICABLE
    }
    known = (*GROUPS, *sorted(found - set(GROUPS)))
    groups = tuple(group for group in known if group in spoke) or known
    families = tuple(
        Family(name=name, rows=tuple(_row(section, groups) for section in members))
        for name, members in groupby(sections, key=lambda section: section.family)
    )
    silent = tuple(group for group in known if group not in groups)
    return Matrix(groups=groups, silent=silent, families=families)


def _row(section: Section, groups: Sequence[str]) -> MatrixRow:
    findings = [finding for run in section.runs for finding in run.findings]
    return MatrixRow(
        section=section,
        cells=tuple(
            fold(finding for finding in findings if group_of(finding.check) == group)
            for group in groups
        ),
    )
