"""What became of each sentence that a role is answerable for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from faultclock.model.error_model.error_model import ErrorModel, Level
from faultclock.model.report.conformance import (
    LevelName,
    Objection,
    Obligation,
    ObligationStatus,
    RoleSet,
    SetRequirement,
)
from faultclock.model.report.evidence import Evidence
from faultclock.model.report.finding import Finding, Report, Verdict

#: Levels of sentences that each level of conformance asks for.
_ASKED: dict[LevelName, tuple[Level, ...]] = {
    "core": ("MUST",),
    "full": ("MUST", "SHOULD"),
    "hardened": ("MUST", "SHOULD"),
}
_OWN_POLICY = (
    "the subject declares a retry policy of its own, which shows nothing of the document's"
)


def obligations_of(
    of: RoleSet,
    model: ErrorModel,
    report: Report,
    evidence: Evidence,
    contract: tuple[str, ...],
    level: LevelName,
) -> tuple[Obligation, ...]:
    """Return each requirement of the role with what became of it, in the order of the set.

    Args:
        contract: fields of its contract that the subject declares.
    """
    by_id: dict[str, list[Finding]] = {}
    for finding in (*_of_runs(report), *report.seeds_findings):
        if finding.requirement is not None:
            by_id.setdefault(finding.requirement, []).append(finding)
    declared = {*evidence.subject.declares, *contract}
    levels = {item.id: item.level for item in model.requirements}
    return tuple(
        _obligation(
            item,
            by_id.get(item.id, ()),
            tuple(name for name in item.declares if name not in declared),
            evidence,
            asked=levels.get(item.id, item.level) in _ASKED[level],
        )
        for item in of.requirements
    )


def obligation_objections(
    obligations: Iterable[Obligation], level: LevelName
) -> Iterator[Objection]:
    """Yield what stands against `level`: a sentence that it asks for, and that was not shown.

    One that is broken has its finding.
    """
    for item in obligations:
        if item.level in _ASKED[level] and item.status in ("not shown", "undeclared"):
            yield Objection(
                what=item.requirement,
                because=f"{item.level}, {item.status}: {item.because}",
                hint=_hint(item),
            )


def _hint(item: Obligation) -> str:
    if item.status != "undeclared":
        return "A level needs each of its sentences shown: see the findings of its checks."
    return "Declare it in the binding, and give the harness what it is about."


def _of_runs(report: Report) -> Iterator[Finding]:
    for run in report.runs:
        yield from run.findings


def _obligation(
    item: SetRequirement,
    findings: Iterable[Finding],
    undeclared: tuple[str, ...],
    evidence: Evidence,
    *,
    asked: bool,
) -> Obligation:
    status: ObligationStatus
    verdicts = {finding.verdict for finding in findings}
    kept = any(finding.verdict is Verdict.PASS and finding.judged for finding in findings)
    because = ""
    if Verdict.FAIL in verdicts:
        status = "broken"
    elif Verdict.WARN in verdicts:
        status = "warned"
    elif undeclared:
        status, because = "undeclared", f"the binding does not declare {' and '.join(undeclared)}"
    elif kept:
        status = "kept"
    elif item.occasion and not verdicts:
        status, because = "no occasion", item.occasion
    elif not asked:
        status = "not asked"
    else:
        status, because = "not shown", _because(verdicts, evidence)
    return Obligation(requirement=item.id, level=item.level, status=status, because=because)


def _because(verdicts: set[Verdict], evidence: Evidence) -> str:
    if Verdict.INCONCLUSIVE in verdicts:
        return "no run that could show it proves anything"
    reasons = ["nothing came to be judged by it"]
    if evidence.subject.retry_policies:
        reasons.append(_OWN_POLICY)
    if evidence.passed_over:
        reasons.append(f"{len(evidence.passed_over)} scenarios cannot be played for the subject")
    return "; ".join(reasons)
