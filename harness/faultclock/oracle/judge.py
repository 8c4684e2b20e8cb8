"""All checks, and the verdicts that they come to. Reading starts here.

`judge` is a pure function: the same model and trace give the same findings, today and in years.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Protocol

from msgspec import Struct

from faultclock.model.error_model.error_model import ErrorModel
from faultclock.model.report.finding import Finding, Judgement, Verdict
from faultclock.model.scenario.scenario import ASKING_ROLES
from faultclock.model.trace.trace import SubjectInfo, Trace
from faultclock.oracle.check import Check, Outcome, Verdicts, checks_in, is_a, outcome_of
from faultclock.oracle.checks.agent import (
    approval_deadlines,
    approvals,
    audience,
    cancels,
    extension_set,
    joins,
    limits,
    resume,
    stages,
    store_redo,
    tool_calls,
    tool_effects,
    tool_redo,
    tool_results,
    turn_course,
    turn_ends,
)
from faultclock.oracle.checks.failures import classified as failure_classified
from faultclock.oracle.checks.failures import outcome as failure_outcome
from faultclock.oracle.checks.failures import redone as failure_redone
from faultclock.oracle.checks.failures import reported as failure_told
from faultclock.oracle.checks.provider import (
    amplification,
    answers,
    backoff,
    breaker,
    chain_rules,
    handling,
    jitter,
    log_checks,
    retries,
    retry_shapes,
    wrapping,
)
from faultclock.oracle.checks.roles import extension_role, store_role, tool_retries, tool_service
from faultclock.oracle.checks.rules import ordering, rows
from faultclock.oracle.checks.run import evidence, liveness
from faultclock.oracle.checks.run.foreign import as_lower_bound, cannot_judge, with_lines
from faultclock.oracle.facts.history import History
from faultclock.oracle.marks import call_reports, wait_marks
from faultclock.oracle.verdicts import exercised_by, findings_of, nothing_judged, placed, spoilt

#: In foreign logs they are judged by every model, whether or not a sentence of it names them.
LOG_CHECKS = checks_in(log_checks)

#: The checks that every model has. Ordering and audience checks come from the model's own rules.
#: Findings are read from the top: what a subject does comes before what it says of itself, and acts
#: come before their times.
CHECKS: tuple[Check, ...] = (
    *checks_in(backoff),
    *checks_in(jitter, amplification),
    *LOG_CHECKS,
    *checks_in(answers, retries, retry_shapes, handling, wrapping),
    *checks_in(approvals, approval_deadlines, tool_effects, tool_redo),
    *checks_in(tool_calls, tool_results, turn_ends, turn_course),
    *checks_in(extension_set, resume, store_redo, stages, cancels),
    limits.budgets_kept,
    *checks_in(chain_rules, breaker, joins),
    limits.limits_ends,
    *checks_in(failure_redone, failure_outcome, failure_classified, failure_told),
    *rows.RUNTIME_CHECKS,
    *store_role.CHECKS,
    *rows.TOOL_CHECKS,
    *checks_in(tool_service, tool_retries),
    *rows.EXTENSION_CHECKS,
    *checks_in(extension_role),
    *checks_in(liveness, evidence),
)

#: First parts of the ids of checks on what is asked of a model provider, and who asks one.
_OF_A_PROVIDER = (
    *("amplification", "answers", "backoff", "classification", "retries", "swallow", "wrapping"),
)
#: Checks on answers over the network: of a model provider, or of the service behind a tool.
_OF_ANSWERS = ("errors.apart", "handler.unreadable")


class _OverSeeds(Protocol):
    """What is folded over runs that differ in nothing but the seed, in any number."""

    def add(self, history: History, model: ErrorModel) -> None:
        """Take one more run."""

    def verdicts(self, model: ErrorModel) -> Verdicts:
        """Return what all of them come to."""


#: What is judged over runs that differ in nothing but the seed, by the id of its check.
_OVER_SEEDS: Mapping[str, Callable[[], _OverSeeds]] = {
    jitter.within_run.id: jitter.JitterOverSeeds,
    **retry_shapes.OVER_SEEDS,
}
#: Checks that judge by every model, with any sentences: whether a run proves anything is no
#: affair of the document, and by when it has to settle is the scenario's.
_WITHOUT_A_SENTENCE = ("evidence.", liveness.SETTLES)


class CheckInfo(Struct, frozen=True, kw_only=True):
    """A check, for lists: what it says and which requirements of a model it judges."""

    id: str
    title: str
    says: str
    requirements: tuple[str, ...]


def checks_of(model: ErrorModel) -> tuple[Check, ...]:
    """Return the checks that judge by `model`: those that its sentences name, and the others."""
    named = _named(model)
    return tuple(
        check
        for check in (*ordering.checks(model, CHECKS), *audience.checks(model))
        if check.id in named or check.id.startswith(_WITHOUT_A_SENTENCE)
    )


def _named(model: ErrorModel) -> set[str]:
    return {name for requirement in model.requirements for name in requirement.checks}


def check_ids(model: ErrorModel) -> tuple[str, ...]:
    """Return the ids of all checks that a sentence of `model` may name."""
    checks = (*ordering.checks(model, CHECKS), *LOG_CHECKS, *audience.checks(model))
    return tuple(dict.fromkeys(check.id for check in checks))


def _checks_of_logs(checks: tuple[Check, ...]) -> tuple[Check, ...]:
    return (*checks, *(check for check in LOG_CHECKS if check not in checks))


def check_infos(model: ErrorModel) -> tuple[CheckInfo, ...]:
    """Return all checks that judge by `model`, with the requirements that name them."""
    return tuple(
        CheckInfo(
            id=check.id,
            title=check.title,
            says=check.says,
            requirements=tuple(
                requirement.id
                for requirement in model.requirements
                if check.id in requirement.checks
            ),
        )
        for check in checks_of(model)
    )


def not_for(model: ErrorModel, subject: SubjectInfo) -> dict[tuple[str, str], str]:
    """Return the rules of `model` that no simulated run of such a subject shows, with the reason.

    A rule is a check and a requirement that names it.
    """
    found: dict[tuple[str, str], str] = {}
    for check in checks_of(model):
        why = _never_shown(check, subject) or _why_not(check, subject, model)
        about = check.not_about(subject, model)
        for requirement in model.requirements:
            reason = why or about.get(requirement.id, "")
            if reason and check.id in requirement.checks:
                found[check.id, requirement.id] = reason
    return found


def _never_shown(check: Check, subject: SubjectInfo) -> str:
    """Return why no simulated run of a subject can show anything to a check that takes any."""
    if check in LOG_CHECKS:
        return "it judges logs of other systems, and this run is simulated"
    if check.id in _OF_ANSWERS and subject.role not in (*ASKING_ROLES, "tool"):
        return f"{is_a(subject.role)}: no server answers it"
    return ""


class _Due(Struct, frozen=True):
    """A check, and what it comes to in any run of such a subject; None: each run is judged."""

    check: Check
    always: Finding | None


class Judge:
    """Judges any number of traces by one error model, which is read once."""

    def __init__(self, model: ErrorModel) -> None:
        self.model = model
        self._checks = checks_of(model)
        self._due: dict[tuple[object, ...], tuple[_Due, ...]] = {}

    def judge(self, trace: Trace | History) -> Judgement:
        """Return everything that the model says of a trace; see `judge`.

        A trace that several models judge is paired once, where its history is handed over.
        """
        history = trace if isinstance(trace, History) else History(trace)
        return _judged(history, self.model, self._due_for(history.trace))

    def _due_for(self, trace: Trace) -> tuple[_Due, ...]:
        """Return the checks for a subject such as that of `trace`."""
        subject, simulated = trace.header.subject, trace.is_virtual
        key = (subject.role, subject.declares, simulated, trace.header.foreign is None)
        found = self._due.get(key)
        if found is None:
            checks = self._checks
            if trace.header.foreign is not None:
                checks = _checks_of_logs(checks)
            reasons = (
                _why_not(check, subject, self.model) if simulated else "" for check in checks
            )
            found = self._due[key] = tuple(
                _Due(check, nothing_judged(check.id, reason) if reason else None)
                for check, reason in zip(checks, reasons, strict=True)
            )
        return found


def judge(model: ErrorModel, trace: Trace) -> Judgement:
    """Return everything that `model` says of `trace`.

    There is at least one finding for each check that the model asks for: FAIL (WARN below a MUST)
    for each violation, PASS for each requirement that was judged and holds, NOT_APPLICABLE with
    the reason when there was nothing to judge. A check never passes without having judged
    something.
    """
    return Judge(model).judge(trace)


def _judged(history: History, model: ErrorModel, due: tuple[_Due, ...]) -> Judgement:
    outcomes = [(item.check, item.always or _outcome(item.check, history, model)) for item in due]
    violated = [
        (check, violation)
        for check, outcome in outcomes
        if isinstance(outcome, Outcome)
        for violation in outcome.violations
    ]
    spoilers = [item for item in violated if item[0].id in evidence.SPOILING]
    # What stands behind the cause is said once, where the evidence is judged.
    spoiling = "; ".join(f"{check.id}: {item.cause or item.observed}" for check, item in spoilers)
    stands = evidence.stands_for(history, (item for _, item in spoilers))
    findings = _findings(history, model, outcomes, spoiling, stands)
    if any(item.moot for _, item in violated) and any(
        finding.verdict is Verdict.FAIL for finding in findings
    ):
        for _, outcome in outcomes:
            if isinstance(outcome, Outcome):
                outcome.violations = [item for item in outcome.violations if not item.moot]
        findings = _findings(history, model, outcomes, spoiling, stands)
    decided = ((check.id, item) for check, item in outcomes if isinstance(item, Outcome))
    return Judgement(
        findings=tuple(findings),
        exercised=frozenset() if spoiling else exercised_by(decided),
        calls=tuple(call_reports(history, model)),
        waits=tuple(wait_marks(history, model)),
    )


def _findings(
    history: History,
    model: ErrorModel,
    outcomes: list[tuple[Check, Finding | Outcome]],
    spoiling: str,
    stands: Collection[str],
) -> list[Finding]:
    findings: list[Finding] = []
    for check, outcome in outcomes:
        if isinstance(outcome, Finding):
            findings.append(outcome)
            continue
        of_check: Iterable[Finding] = findings_of(model, check.id, outcome)
        if not history.trace.is_virtual:
            of_check = [as_lower_bound(finding, history.trace) for finding in of_check]
        if spoiling and check.id not in evidence.SPOILING:
            of_check = [
                finding
                if finding.check in stands and finding.verdict in (Verdict.FAIL, Verdict.WARN)
                else spoilt(finding, spoiling)
                for finding in of_check
            ]
        findings += of_check
    return findings


def _outcome(check: Check, history: History, model: ErrorModel) -> Outcome:
    trace = history.trace
    if trace.is_virtual:
        # What is not for the subject has been left out for all its runs; see `Judge`.
        return outcome_of(check.run(history, model), check.unjudged)
    if reason := cannot_judge(check.id, model, trace):
        return Outcome(reason=reason)
    if trace.header.foreign is not None:
        return with_lines(check.outcome(history, model), trace)
    if reason := _why_not(check, trace.header.subject, model):
        return Outcome(reason=reason)
    return outcome_of(check.run(history, model), check.unjudged)


def _why_not(check: Check, subject: SubjectInfo, model: ErrorModel) -> str:
    """Return why a check is not for a subject or a model; empty where it is."""
    if check.id.partition(".")[0] in _OF_A_PROVIDER and subject.role not in ASKING_ROLES:
        return f"the subject is a {subject.role.replace('_', ' ')}: it asks no model"
    return check.inapplicable(subject, model)


class SeedsJudge:
    """Judges a group of runs that differ in nothing but the seed, run by run: none is kept."""

    def __init__(self, model: ErrorModel) -> None:
        self._model = model
        named = _named(model)
        self._folds = {id_: make() for id_, make in _OVER_SEEDS.items() if id_ in named}
        self._scenario = ""
        self._runs = 0
        self._unsound = 0
        self._is_virtual = True

    def add(self, trace: Trace) -> None:
        """Take one more run."""
        self._scenario = self._scenario or trace.header.scenario.id
        self._runs += 1
        self._is_virtual = self._is_virtual and trace.is_virtual
        if not self._is_virtual:
            return
        history = History(trace)
        if _spoils(history, self._model):
            self._unsound += 1
            return
        for fold in self._folds.values():
            fold.add(history, self._model)

    def findings(self) -> tuple[Finding, ...]:
        """Return the verdicts on the whole group.

        Traces that are not whole prove nothing and are left out; then the verdict is INCONCLUSIVE.
        """
        findings = tuple(
            finding
            for check, outcome in self._outcomes()
            for finding in findings_of(self._model, check, outcome)
        )
        if self._unsound:
            reason = f"{self._unsound} of {self._runs} runs prove nothing"
            findings = tuple(spoilt(finding, reason) for finding in findings)
        where = f"over {self._runs} seeds of {self._scenario}"
        return tuple(placed(finding, where) for finding in findings)

    def exercised(self) -> frozenset[tuple[str, str]]:
        """Return what `Judgement.exercised` is of one run, for the whole group."""
        return frozenset() if self._unsound else exercised_by(self._outcomes())

    def _outcomes(self) -> Iterator[tuple[str, Outcome]]:
        # What real time makes of a wait is no distribution of the subject's.
        if self._runs >= 2 and self._is_virtual:
            for check, fold in self._folds.items():
                yield check, outcome_of(fold.verdicts(self._model))


def judge_seeds(model: ErrorModel, traces: Iterable[Trace]) -> tuple[Finding, ...]:
    """Return the verdicts on a group of runs that differ in nothing but the seed."""
    judge_ = SeedsJudge(model)
    for trace in traces:
        judge_.add(trace)
    return judge_.findings()


def _spoils(history: History, model: ErrorModel) -> bool:
    return any(check.outcome(history, model).violations for check in evidence.SPOILERS)
