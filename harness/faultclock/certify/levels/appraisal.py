"""Whether a level is reached. Pure: the same set, model, evidence and report give the same answer.

Everything that stands against a level is an objection, and one objection is enough. A level asks
for all that the level below it asks for, so what stands against one stands against all above it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from faultclock.certify.levels.hardened import hardened_objections, seen_while_hardening
from faultclock.certify.levels.obligations import obligation_objections, obligations_of
from faultclock.certify.levels.selection import role_set
from faultclock.load.requirement_set import model_digest, set_digest
from faultclock.model.cells import cell_of
from faultclock.model.error_model.error_model import ErrorModel
from faultclock.model.report.conformance import (
    LEVELS,
    Appraisal,
    LevelName,
    Objection,
    RequirementSet,
    RoleSet,
)
from faultclock.model.report.evidence import Evidence, Judged
from faultclock.model.report.finding import Finding, Report, RunReport, Verdict
from faultclock.model.trace.trace import CUT_SHORT
from faultclock.run.process.confirm import REPEATABLE

#: The scenario that a finding is about, and the finding.
_Placed = tuple[str, Finding]

#: What to do about a run that proves nothing, by the check that says so.
_EVIDENCE_HINTS = {
    "evidence.whole": "Run it alone with `faultclock run`, and see why it came to no end.",
    "evidence.no-leaks": "`faultclock doctor` says what reached for the real world, and where.",
    "evidence.faults-met": "The planned fault has to come: see the hint of the finding.",
    REPEATABLE: "Equal seeds have to give equal runs: look for real time, chance and state.",
}


def appraise(
    set_: RequirementSet,
    model: ErrorModel,
    evidence: Evidence,
    judged: Judged,
    level: LevelName | None = None,
) -> Appraisal:
    """Return whether a level is reached.

    Args:
        level: which; None: the one that the evidence was made for.

    Raises:
        InputError: the set asks nothing of the subject's role.
    """
    level = evidence.level if level is None else level
    of = role_set(set_, evidence.role)
    report = judged.report
    obligations = obligations_of(of, model, report, evidence, judged.contract, level)
    findings = tuple(_findings(report))
    # What the report has follows from the dialects; what the evidence says is only said.
    passed_over = {item.scenario for item in report.passed_over}
    broken = [
        *_told(findings, Verdict.FAIL, "is broken in"),
        *_seen_broken(report),
    ]
    if LEVELS.index(level) >= LEVELS.index("full"):
        broken += _told(findings, Verdict.WARN, "is not kept in")
    unproved = [
        *_identity(set_, model, evidence, report, level),
        *judged.misfits,
        *_scenarios(of, evidence, passed_over),
        *_told(findings, Verdict.INCONCLUSIVE, "proves nothing in"),
        *_spoilt(report, evidence),
        *seen_while_hardening(evidence),
        *obligation_objections(obligations, level),
    ]
    if level == "hardened":
        unproved += hardened_objections(of, evidence, passed_over)
    explored = evidence.explored
    if explored is not None:
        broken += _groups(evidence)
    objections = tuple(dict.fromkeys((*broken, *unproved)))
    return Appraisal(
        model=set_.model,
        model_revision=set_.model_revision,
        set_revision=set_.revision,
        set_digest=set_digest(set_),
        role=evidence.role,
        level=level,
        verdict=_verdict(bool(broken), bool(objections), findings),
        obligations=obligations,
        objections=objections,
        passed_over=tuple(item.scenario for item in report.passed_over),
    )


def _verdict(broken: bool, objected: bool, findings: tuple[_Placed, ...]) -> Verdict:
    if broken:
        return Verdict.FAIL
    if objected:
        return Verdict.INCONCLUSIVE
    warned = any(finding.verdict is Verdict.WARN for _, finding in findings)
    return Verdict.WARN if warned else Verdict.PASS


def _findings(report: Report) -> Iterator[_Placed]:
    """Yield all findings, each with the scenario that it is about."""
    for run in report.runs:
        yield from ((run.scenario, finding) for finding in run.findings)
    yield from ((finding.scenario or "", finding) for finding in report.seeds_findings)


def _told(findings: Iterable[_Placed], verdict: Verdict, words: str) -> Iterator[Objection]:
    """Yield one objection for each check and scenario, however many runs say so."""
    by_place: dict[tuple[str, str], list[Finding]] = {}
    for scenario, finding in findings:
        if finding.verdict is verdict:
            by_place.setdefault((finding.check, scenario), []).append(finding)
    for (check, scenario), group in by_place.items():
        first = group[0]
        cited = dict.fromkeys(item.requirement for item in group if item.requirement)
        what = " and ".join(cited) or check
        said = first.reason or f"expected {first.expected}, observed {first.observed}"
        more = f" ({len(group)} findings)" if len(group) > 1 else ""
        yield Objection(
            what=check,
            because=f"{what} {words} {scenario}: {said}{more}",
            hint=_EVIDENCE_HINTS.get(check, first.hint),
        )


def _seen_broken(report: Report) -> Iterator[Objection]:
    """Yield runs that fail and have no finding that says so."""
    for run in report.runs:
        if run.verdict is Verdict.FAIL and not _has(run, Verdict.FAIL):
            yield Objection(what=run.scenario, because="a run of it failed")


def _spoilt(report: Report, evidence: Evidence) -> Iterator[Objection]:
    for run in report.runs:
        if run.verdict is Verdict.INCONCLUSIVE and not _has(run, Verdict.INCONCLUSIVE):
            yield Objection(what=run.scenario, because="a run of it proves nothing")
        if run.ending in CUT_SHORT:
            yield Objection(
                what=run.scenario,
                because=f"a run of it came to no end of its own: {run.ending.replace('_', ' ')}",
                hint=_EVIDENCE_HINTS["evidence.whole"],
            )
        if run.time_base != "virtual":
            yield Objection(what=run.scenario, because="a run of it was not in virtual time")
    for name in evidence.unsteady:
        yield Objection(
            what=name,
            because="it failed, and was not the same when it was made once more",
            hint=_EVIDENCE_HINTS[REPEATABLE],
        )


def _has(run: RunReport, verdict: Verdict) -> bool:
    return any(finding.verdict is verdict for finding in run.findings)


def _identity(
    set_: RequirementSet, model: ErrorModel, evidence: Evidence, report: Report, level: LevelName
) -> Iterator[Objection]:
    """Yield where set, model, evidence and report do not belong together."""
    if evidence.model != set_.model or evidence.set_digest != set_digest(set_):
        yield Objection(what="set", because="the runs were chosen by another requirement set")
    if model_digest(model) != set_.model_digest or report.readings:
        yield Objection(
            what="readings",
            because=f"{model.id} is not as its requirement set {set_.revision} has it",
            hint="A level is of the default readings; gate by another with `run --reading`.",
        )
    if report.model != set_.model:
        yield Objection(what="report", because=f"it is by the model {report.model}")
    if LEVELS.index(evidence.level) < LEVELS.index(level):
        yield Objection(
            what="level", because=f"the runs are those that the level {evidence.level} asks for"
        )
    if evidence.subject != report.subject or evidence.subject.role != evidence.role:
        yield Objection(what="subject", because="the report is about another subject")
    if evidence.passed_over != report.passed_over:
        yield Objection(what="report", because="other scenarios were passed over than it says")
    if report.shard is not None:
        yield Objection(what="report", because="it is a shard, not the whole")
    if len(report.runs) != len(evidence.traces):
        yield Objection(
            what="report",
            because=f"it has {len(report.runs)} runs, and there are {len(evidence.traces)} traces",
        )
    if not report.runs:
        yield Objection(what="report", because="nothing was run")


def _scenarios(of: RoleSet, evidence: Evidence, passed_over: set[str]) -> Iterator[Objection]:
    """Yield the scenarios of the set that were not run as often as they have to be."""
    own: Counter[str] = Counter()
    seeds = {item.id: range(item.seed, item.seed + item.seeds) for item in of.scenarios}
    distinct = {(item.scenario, item.variant, item.seed) for item in evidence.traces}
    for scenario, variant, seed in distinct:
        if variant == cell_of(variant) and seed in seeds.get(scenario, ()):
            own[scenario] += 1
    for item in of.scenarios:
        if item.id not in passed_over and own[item.id] != item.runs:
            yield Objection(
                what=item.id, because=f"it was run {own[item.id]} times, not {item.runs}"
            )


def _groups(evidence: Evidence) -> Iterator[Objection]:
    assert evidence.explored is not None
    for group in evidence.explored.exploration.groups:
        finding = group.finding
        yield Objection(
            what=finding.check,
            because=f"{finding.requirement or finding.check} is broken in {group.runs} explored"
            f" runs, first in run {group.first} of {group.scenario}: expected"
            f" {finding.expected}, observed {finding.observed}",
            hint=f"Shrink it: faultclock explore {group.scenario}",
        )
