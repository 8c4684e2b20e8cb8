"""A report beside a baseline: which of its failures are known, and which entries are stale.

Only what fails can be known. What is inconclusive proves nothing, so no entry excuses it and none
is thereby out of date. The verdicts of the report stay as they are.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import date

from harness.errors import InputError
from harness.model.cells import cell_of
from harness.model.finding import Finding, Report, Verdict
from harness.model.gate import (
    Baseline,
    Deviation,
    GateReport,
    KnownDeviation,
    Regression,
    included_twice,
)

__all__ = ["check_fits", "gated"]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Placed:
    """A finding with the run, or the group of seeds, that it is about."""

    scenario: str
    variant: str | None
    seed: int | None
    finding: Finding


def gated(
    report: Report,
    baseline: Baseline,
    *,
    file: str,
    today: date,
    known_scenarios: Mapping[str, Collection[str]],
) -> Report:
    """Return `report` with its `gate` filled.

    An entry whose last day is over covers nothing: what it covered is a regression.

    Args:
        file: name of the baseline, as people know it.
        today: compared with expiries.
        known_scenarios: ids of all scenarios that there are, each with the variants of its matrix
            (none without one). Those of the report need not be among them.

    Raises:
        InputError: the baseline is about another subject or model, or contradicts itself.
    """
    check_fits(baseline, report.subject.id, report.model, file)
    for index, other in included_twice(baseline.deviations):
        raise InputError(
            f"{file}: entry {index + 1} says nothing that entry {other + 1} does not say",
            hint="remove one of them",
        )
    placed: dict[tuple[str, str], list[_Placed]] = {}
    for item in _placed(report):
        placed.setdefault((item.scenario, item.finding.check), []).append(item)
    exists = _Existing(report, known_scenarios)
    lists: dict[str, list[Deviation]] = {
        name: [] for name in ("passing", "missing", "overdue", "not_run")
    }
    known: list[KnownDeviation] = []
    covered: set[int] = set()
    for entry in baseline.deviations:
        mine = [
            item
            for item in placed.get((entry.scenario, entry.check), ())
            if entry.covers(item.finding.requirement, item.variant)
        ]
        where = _list_of(entry, [item.finding for item in mine], exists, today)
        if where is not None:
            lists[where].append(entry)
            continue
        failing = [item.finding for item in mine if item.finding.verdict is Verdict.FAIL]
        covered.update(map(id, failing))
        ids = tuple(dict.fromkeys(finding.id for finding in failing if finding.id))
        known.append(KnownDeviation(deviation=entry, findings=ids))
    gate = GateReport(
        baseline=file,
        today=today,
        regressions=_regressions(report, covered),
        known=tuple(known),
        **{name: tuple(entries) for name, entries in lists.items()},
    )
    return report.model_copy(update={"gate": gate})


def check_fits(baseline: Baseline, subject: str, model: str, file: str) -> None:
    """Check that a baseline is about this subject and this error model.

    Args:
        file: name of the baseline, for messages.

    Raises:
        InputError: it is about another one.
    """
    for what, ours, theirs in (
        ("the subject", baseline.subject, subject),
        ("the error model", baseline.model, model),
    ):
        if ours != theirs:
            raise InputError(
                f"{file}: this baseline is about {what} {ours}, and the report about {theirs}",
                hint="each subject has a baseline of its own for each error model",
            )


def _placed(report: Report) -> Iterator[_Placed]:
    for run in report.runs:
        for finding in run.findings:
            yield _Placed(
                scenario=run.scenario, variant=run.variant, seed=run.seed, finding=finding
            )
    for finding in report.seeds_findings:
        yield _Placed(
            # A report of an earlier Faultclock does not say: then it is nobody's, and unknown.
            scenario=finding.scenario or "",
            variant=finding.variant,
            seed=None,
            finding=finding,
        )


def _list_of(
    entry: Deviation, findings: list[Finding], exists: _Existing, today: date
) -> str | None:
    """Return the list of the gate that an entry belongs to; None: it is borne out."""
    verdicts = {finding.verdict for finding in findings}
    fails = Verdict.FAIL in verdicts
    if not fails and not exists(entry):
        return "missing"
    judged = Verdict.INCONCLUSIVE not in verdicts and verdicts & {Verdict.PASS, Verdict.WARN}
    if not fails and judged:
        return "passing"
    if entry.expires < today:
        return "overdue"
    return None if fails else "not_run"


def _regressions(report: Report, covered: set[int]) -> tuple[Regression, ...]:
    return tuple(
        Regression(
            scenario=item.scenario,
            variant=item.variant,
            seed=item.seed,
            check=item.finding.check,
            requirement=item.finding.requirement,
            finding=item.finding.id,
        )
        for item in _placed(report)
        if item.finding.verdict is Verdict.FAIL and id(item.finding) not in covered
    )


class _Existing:
    """Tells whether there is what an entry names."""

    def __init__(self, report: Report, known_scenarios: Mapping[str, Collection[str]]) -> None:
        self._variants: dict[str, set[str | None]] = {
            scenario: set(variants) for scenario, variants in known_scenarios.items()
        }
        self._swept: set[tuple[str, str | None]] = set()
        for run in report.runs:
            cell = cell_of(run.variant)
            self._variants.setdefault(run.scenario, set()).update((run.variant, cell))
            if run.variant != cell:
                self._swept.add((run.scenario, cell))
        self._checks = {entry.id for entry in report.checks}
        self._checks.update(item.finding.check for item in _placed(report))
        self._requirements = {item.id for item in report.coverage}

    def __call__(self, entry: Deviation) -> bool:
        """Return whether its scenario, variant, check and requirement exist."""
        variants = self._variants.get(entry.scenario)
        if variants is None or entry.check not in self._checks:
            return False
        if entry.requirement is not None and entry.requirement not in self._requirements:
            return False
        cell = cell_of(entry.variant)
        if entry.variant in {None, *variants}:
            return True
        # Which events a sweep comes to is known once there was one.
        return entry.variant != cell and (
            cell in {None, *variants} and (entry.scenario, cell) not in self._swept
        )
