"""Verdicts: what the Outcome of a check comes to, as findings that cite the source document."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import Any

from faultclock.model.error_model.error_model import ErrorModel, Requirement
from faultclock.model.report.finding import Finding, Verdict
from faultclock.oracle.check import Outcome, Violation


def findings_of(model: ErrorModel, check: str, outcome: Outcome) -> tuple[Finding, ...]:
    """Return the findings of one check; there is at least one.

    One FAIL (WARN below a MUST, INCONCLUSIVE where it is about the evidence) for each violation,
    one PASS for each requirement that was judged and that no violation touches; NOT_APPLICABLE
    with the reason when nothing was judged.
    """
    broken = tuple(_broken(model, check, violation) for violation in outcome.violations)
    held = tuple(
        _passed(check, judged, None if requirement is None else model.requirement(requirement))
        for requirement, judged in outcome.judged.items()
        if requirement not in outcome.violated
    )
    if not broken and not held:
        return (nothing_judged(check, outcome.reason),)
    return (*broken, *held)


def exercised_by(outcomes: Iterable[tuple[str, Outcome]]) -> frozenset[tuple[str, str]]:
    """Return check and requirement of each sentence that a violation exercises and does not cite.

    Args:
        outcomes: id of a check to its outcome. What is against the evidence exercises nothing.
    """
    return frozenset(
        (check, requirement)
        for check, outcome in outcomes
        for violation in outcome.violations
        for requirement in violation.exercised
        if not violation.inconclusive and requirement not in (None, violation.requirement)
    )


@lru_cache(maxsize=4096)
def nothing_judged(check: str, reason: str) -> Finding:
    """Return that a check had nothing to judge: most checks of most runs, for few reasons."""
    return Finding(check=check, verdict=Verdict.NOT_APPLICABLE, reason=reason)


@lru_cache(maxsize=4096)
def _passed(check: str, judged: int, requirement: Requirement | None) -> Finding:
    """Return that a requirement holds: most of them in most runs, for as many things."""
    return Finding(check=check, verdict=Verdict.PASS, judged=judged, **_cited(requirement))


def spoilt(finding: Finding, reason: str) -> Finding:
    """Return `finding` as INCONCLUSIVE for `reason`; one that judged nothing stays as it is."""
    if finding.verdict is Verdict.NOT_APPLICABLE:
        return finding
    changes = {"verdict": Verdict.INCONCLUSIVE, "judged": 0, "reason": reason}
    return finding.model_copy(update=changes)


def placed(finding: Finding, where: str) -> Finding:
    """Return a finding on a group of runs that says which group it is about, behind all else."""
    if finding.verdict is Verdict.NOT_APPLICABLE:
        return finding.model_copy(update={"reason": f"{finding.reason}; {where}"})
    observed = finding.observed or "nothing is wrong"
    return finding.model_copy(update={"observed": f"{observed}; {where}"})


def _broken(model: ErrorModel, check: str, violation: Violation) -> Finding:
    broken = violation.requirement
    cited = _cited(None if broken is None else model.requirement(broken))
    verdict = Verdict.FAIL if cited.get("level", "MUST") == "MUST" else Verdict.WARN
    return Finding(
        check=check,
        verdict=Verdict.INCONCLUSIVE if violation.inconclusive else verdict,
        call=violation.call,
        expected=violation.expected,
        observed=violation.observed,
        hint=violation.hint,
        events=tuple(dict.fromkeys(violation.events)),
        judged=0 if violation.inconclusive else 1,
        reason=violation.observed if violation.inconclusive else "",
        order=violation.order,
        cause=violation.cause,
        **cited,
    )


def _cited(requirement: Requirement | None) -> dict[str, Any]:
    if requirement is None:
        return {}
    return {
        "requirement": requirement.id,
        "level": requirement.level,
        "place": requirement.place,
        "sentence": requirement.sentence,
        "document": requirement.document,
        "paraphrased": requirement.wording == "paraphrased",
    }
