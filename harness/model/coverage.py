"""Coverage: what became of a requirement, by the findings that cite it."""

from __future__ import annotations

from collections.abc import Sequence

from harness.model.finding import Finding, Verdict

__all__ = ["coverage_status"]


def coverage_status(findings: Sequence[Finding], *, excluded: bool) -> tuple[str, int]:
    """Return the status of a requirement (see `RequirementCoverage`), and how much was judged.

    Args:
        findings: all that cite it.
        excluded: whether the model says that no check can judge it.
    """
    judged = sum(finding.judged for finding in findings)
    verdicts = {finding.verdict for finding in findings}
    if excluded:
        return "excluded", judged
    if verdicts & {Verdict.FAIL, Verdict.WARN}:
        return "failed", judged
    if Verdict.PASS in verdicts and judged:
        return "tested", judged
    return "not exercised", judged
