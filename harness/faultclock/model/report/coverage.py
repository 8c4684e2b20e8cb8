"""Coverage: what became of each requirement, by the findings that cite it."""

from __future__ import annotations

from collections.abc import Iterable

from faultclock.model.report.finding import Finding, RunReport, Verdict


class Coverage:
    """Folds findings, in any number: of each requirement, what its findings came to."""

    def __init__(self) -> None:
        self._judged: dict[str, int] = {}
        self._verdicts: dict[str, set[Verdict]] = {}

    @classmethod
    def of(cls, runs: Iterable[RunReport], seeds_findings: Iterable[Finding]) -> Coverage:
        """Return the coverage of a whole report."""
        made = cls()
        for run in runs:
            made.add(run.findings)
        made.add(seeds_findings)
        return made

    def add(self, findings: Iterable[Finding]) -> None:
        """Take more findings."""
        for finding in findings:
            id_ = finding.requirement
            if id_ is not None:
                self._judged[id_] = self._judged.get(id_, 0) + finding.judged
                self._verdicts.setdefault(id_, set()).add(finding.verdict)

    def status(self, requirement: str, *, excluded: bool) -> tuple[str, int]:
        """Return the status of a requirement (see `RequirementCoverage`), and how much was judged.

        Args:
            excluded: whether the model says that no check can judge it.
        """
        judged = self._judged.get(requirement, 0)
        verdicts = self._verdicts.get(requirement, set())
        if excluded:
            return "excluded", judged
        if verdicts & {Verdict.FAIL, Verdict.WARN}:
            return "failed", judged
        if Verdict.PASS in verdicts and judged:
            return "tested", judged
        return "not exercised", judged
