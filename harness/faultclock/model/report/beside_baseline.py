"""Standing: what a report comes to once what is known of its failures is taken away."""

from __future__ import annotations

from faultclock.model.report.finding import Report, Verdict


def standing(report: Report) -> Verdict:
    """Return what stands against a report; without a gate, that is its verdict.

    With one, FAIL means that the gate is shut, and PASS that it is open, also with known ones.
    What is inconclusive is never known, so it stands, beside known failures too.
    """
    gate = report.gate
    if gate is None:
        return report.verdict
    if not gate.is_open:
        return Verdict.FAIL
    if report.verdict is not Verdict.FAIL:
        return report.verdict
    if not gate.known:
        # Failing without a finding that fails: what that is cannot be known.
        return Verdict.FAIL
    verdicts = {run.verdict for run in report.runs}
    verdicts.update(finding.verdict for finding in report.seeds_findings)
    verdicts.update(verdict for run in report.runs for verdict in run.verdicts)
    for verdict in (Verdict.INCONCLUSIVE, Verdict.WARN):
        if verdict in verdicts:
            return verdict
    return Verdict.PASS
