"""The cross table: several subjects, each judged by several error models, in the same scenarios.

Each subject runs each scenario once; the trace is then judged by every model that the scenario is
for. Where a subject is right by its own model and wrong by another, the requirements that it breaks
say in what the two documents differ.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from faultclock.model.error_model.error_model import ErrorModel
from faultclock.model.report.cross_table import Cell, Difference
from faultclock.model.report.finding import Finding, Verdict, verdict_of
from faultclock.model.scenario.scenario import Scenario
from faultclock.model.trace.trace import Trace
from faultclock.oracle.judge import Judge
from faultclock.run.suite import run_one
from faultclock.subjects.binding import Binding


def cross_table(
    bindings: Sequence[Binding],
    models: Sequence[ErrorModel],
    scenarios: Sequence[Scenario],
) -> tuple[Cell, ...]:
    """Return a cell for each subject and model, subject by subject.

    Args:
        bindings: subjects of one role, bound with `inline`.
        scenarios: of that role; one that names models counts for those only.
    """
    judges = [Judge(model) for model in models]
    cells = []
    for binding in bindings:
        traces = [
            run_one(scenario, binding, scenario.seed, isolate=not binding.inline)
            for scenario in scenarios
        ]
        cells += [_cell(binding, judge, traces) for judge in judges]
    return tuple(cells)


def _cell(binding: Binding, judge: Judge, traces: Sequence[Trace]) -> Cell:
    model = judge.model
    totals: Counter[Verdict] = Counter()
    against: list[tuple[str, Finding]] = []
    for trace in traces:
        scenario = trace.header.scenario
        if scenario.models and model.id not in scenario.models:
            continue
        findings = judge.judge(trace).findings
        totals[verdict_of(findings)] += 1
        against += [
            (scenario.id, finding)
            for finding in findings
            if finding.verdict in (Verdict.FAIL, Verdict.WARN)
        ]
    return Cell(
        subject=binding.id,
        model=model.id,
        totals=dict(totals),
        differences=tuple(_differences(model, against)),
        uncited=tuple(
            f"{scenario}: {finding.check}: {finding.observed}"
            for scenario, finding in against
            if finding.requirement is None
        ),
    )


def _differences(model: ErrorModel, against: list[tuple[str, Finding]]) -> list[Difference]:
    found = []
    for requirement in model.requirements:
        citing = [pair for pair in against if pair[1].requirement == requirement.id]
        if citing:
            scenario, first = citing[0]
            found.append(
                Difference(
                    requirement=requirement,
                    findings=len(citing),
                    scenario=scenario,
                    expected=first.expected,
                    observed=first.observed,
                )
            )
    return found
