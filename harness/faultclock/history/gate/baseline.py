"""A report beside a baseline: which of its failures are known, and which entries are stale.

Only what fails can be known. What is inconclusive proves nothing, so no entry excuses it and none
is thereby out of date. The verdicts of the report stay as they are.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import date

from msgspec import Struct, field

from faultclock.errors import InputError
from faultclock.history.gate.facts import check_complete
from faultclock.model.cells import cell_of
from faultclock.model.report.finding import Finding, Report, RunReport, Verdict
from faultclock.model.report.gate import (
    Baseline,
    Deviation,
    GateReport,
    KnownDeviation,
    Regression,
    included_twice,
)


class _Placed(Struct, frozen=True, kw_only=True):
    """A finding with the run, or the group of seeds, that it is about."""

    scenario: str
    variant: str | None
    seed: int | None
    finding: Finding


class _Entry(Struct):
    """An entry of the baseline, and what the findings come to that it covers.

    Attributes:
        failing: ids of those that fail, each once, in the order of the report.
    """

    deviation: Deviation
    verdicts: set[Verdict] = field(default_factory=set)
    failing: dict[str, None] = field(default_factory=dict)


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
        InputError: the baseline is about another subject or model, or contradicts itself; or the
            runs stopped at a failure that the baseline knows, so what came after is not known.
    """
    check_fits(baseline, report.subject.id, report.model, file)
    for index, other in included_twice(baseline.deviations):
        raise InputError(
            f"{file}: entry {index + 1} repeats entry {other + 1}",
            hint="remove one of them",
        )
    entries = [_Entry(deviation) for deviation in baseline.deviations]
    _fill(entries, report)
    exists = _Existing(report, known_scenarios)
    # Of these, some runs were made and some were not: that nothing failed proves nothing.
    partly = {item.scenario for item in report.passed_over} & {run.scenario for run in report.runs}
    lists: dict[str, list[Deviation]] = {
        name: [] for name in ("passing", "missing", "overdue", "not_run")
    }
    known: list[KnownDeviation] = []
    for item in entries:
        entry = item.deviation
        where = _list_of(entry, item.verdicts, exists, today)
        if where == "passing" and entry.scenario in partly:
            where = "not_run"
        if where is not None:
            lists[where].append(entry)
            continue
        known.append(KnownDeviation(deviation=entry, findings=tuple(item.failing)))
    regressions = _regressions(report, [item.deviation for item in known])
    if not regressions:
        check_complete(report, "the report")
    gate = GateReport(
        baseline=file,
        today=today,
        regressions=regressions,
        known=tuple(known),
        **{name: tuple(listed) for name, listed in lists.items()},
    )
    return report.model_copy(update={"gate": gate})


def is_news(run: RunReport, baseline: Baseline, *, today: date) -> bool:
    """Return whether `run` fails in a way that no entry covers that is still valid."""
    failing = [item for item in run.findings if item.verdict is Verdict.FAIL]
    valid = [
        entry
        for entry in baseline.deviations
        if entry.scenario == run.scenario and entry.expires >= today
    ]
    covered = [
        any(
            entry.check == item.check and entry.covers(item.requirement, run.variant)
            for entry in valid
        )
        for item in failing
    ]
    return run.verdict is Verdict.FAIL and not (covered and all(covered))


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


def _placed(report: Report, *, failing: bool = False) -> Iterator[_Placed]:
    """Yield all findings, or those that fail."""
    for run in report.runs:
        if failing and Verdict.FAIL not in run.verdicts:
            continue
        for finding in run.findings:
            if not failing or finding.verdict is Verdict.FAIL:
                yield _Placed(
                    scenario=run.scenario, variant=run.variant, seed=run.seed, finding=finding
                )
    for finding in report.seeds_findings:
        if failing and finding.verdict is not Verdict.FAIL:
            continue
        yield _Placed(
            # A report of an earlier Faultclock does not say: then it is unknown.
            scenario=finding.scenario or "",
            variant=finding.variant,
            seed=None,
            finding=finding,
        )


def _fill(entries: Sequence[_Entry], report: Report) -> None:
    """Note of each entry what the findings come to that it covers."""
    named: dict[tuple[str, str], list[_Entry]] = {}
    for entry in entries:
        named.setdefault((entry.deviation.scenario, entry.deviation.check), []).append(entry)
    for item in _placed(report):
        finding = item.finding
        for entry in named.get((item.scenario, finding.check), ()):
            if entry.deviation.covers(finding.requirement, item.variant):
                entry.verdicts.add(finding.verdict)
                if finding.verdict is Verdict.FAIL and finding.id:
                    entry.failing.setdefault(finding.id)


def _list_of(
    entry: Deviation, verdicts: Collection[Verdict], exists: _Existing, today: date
) -> str | None:
    """Return the list of the gate that an entry belongs to; None: it is borne out."""
    fails = Verdict.FAIL in verdicts
    if not fails and not exists(entry):
        return "missing"
    proved = Verdict.PASS in verdicts or Verdict.WARN in verdicts
    judged = Verdict.INCONCLUSIVE not in verdicts and proved
    if not fails and judged:
        return "passing"
    if entry.expires < today:
        return "overdue"
    return None if fails else "not_run"


def _regressions(report: Report, known: Sequence[Deviation]) -> tuple[Regression, ...]:
    """Return what fails and no entry covers that is borne out."""
    return tuple(
        Regression(
            scenario=item.scenario,
            variant=item.variant,
            seed=item.seed,
            check=item.finding.check,
            requirement=item.finding.requirement,
            finding=item.finding.id,
        )
        for item in _placed(report, failing=True)
        if not any(
            (entry.scenario, entry.check) == (item.scenario, item.finding.check)
            and entry.covers(item.finding.requirement, item.variant)
            for entry in known
        )
    )


class _Existing:
    """Knows whether there is what an entry names."""

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
