"""The cross table: several subjects, each judged by several error models, in the same scenarios.

Each subject runs each scenario once; the trace is then judged by every model that the scenario is
for. Where a subject is right by its own model and wrong by another, the requirements that it breaks
say in what the two documents differ. The page has figures first, then each difference with its
sentence.
"""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from faultclock.model.error_model.error_model import ErrorModel, Requirement
from faultclock.model.report.finding import Finding, Verdict, verdict_of
from faultclock.model.scenario.scenario import Scenario
from faultclock.model.trace.trace import Trace
from faultclock.oracle.judge import Judge
from faultclock.run.suite import run_one
from faultclock.subjects.binding import Binding

_INTRODUCTION = """\
# Five subjects, five models

Each reference runtime runs the same scenarios (`scenarios/shared`), and every error model judges
what it did. By its own model a reference has nothing against it. By another, it breaks the
sentences in which the two documents differ: each is listed below with the first thing that broke
it.

A cell says in how many scenarios the subject fails, out of those that this model has an opinion
on, and how many sentences it breaks. *Unproven* are scenarios in which a planned fault was never
met.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A requirement of a model that a subject breaks, and where it does so first.

    Attributes:
        findings: how many findings cite it.
        scenario, expected, observed: of the first one.
    """

    requirement: Requirement
    findings: int
    scenario: str
    expected: str
    observed: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """What one model says of one subject.

    Attributes:
        totals: runs per verdict.
        differences: the requirements that it breaks, in the model's order.
        uncited: findings against it that cite no requirement, in words.
    """

    subject: str
    model: str
    totals: Mapping[Verdict, int]
    differences: tuple[Difference, ...]
    uncited: tuple[str, ...]


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


def cross_table_page(cells: Sequence[Cell]) -> str:
    """Return the page. It names requirements and scenarios, and holds nothing of a machine."""
    return "\n".join([_INTRODUCTION, *_table(cells), "", *_sections(cells)])


def _table(cells: Sequence[Cell]) -> Iterator[str]:
    models = list(dict.fromkeys(cell.model for cell in cells))
    yield f"| subject | {' | '.join(models)} |"
    yield f"|---|{'---|' * len(models)}"
    for subject in dict.fromkeys(cell.subject for cell in cells):
        row = {cell.model: _figures(cell) for cell in cells if cell.subject == subject}
        yield f"| {subject} | {' | '.join(row[model] for model in models)} |"


def _figures(cell: Cell) -> str:
    runs = sum(cell.totals.values())
    failed = cell.totals.get(Verdict.FAIL, 0) + cell.totals.get(Verdict.WARN, 0)
    unproven = cell.totals.get(Verdict.INCONCLUSIVE, 0)
    rest = f", {unproven} unproven" if unproven else ""
    if not failed:
        return f"**none of {runs}**{rest}"
    return f"{failed} of {runs}, {len(cell.differences)} sentences{rest}"


def _sections(cells: Sequence[Cell]) -> Iterator[str]:
    for cell in cells:
        if not cell.differences:
            continue
        yield f"## {cell.subject} by {cell.model}"
        yield ""
        for difference in cell.differences:
            yield from _difference(difference)
        yield ""


def _difference(difference: Difference) -> Iterator[str]:
    requirement = difference.requirement
    where = f"**{requirement.id}** ({requirement.level}), {requirement.place}"
    yield from _wrapped(f"- {where}: {_quoted(difference)}")
    yield from _wrapped(
        f"  In `{difference.scenario}`: expected {_inline(difference.expected)};"
        f" observed {_inline(difference.observed)}."
    )


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(
        text, 98, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
    )


def _quoted(difference: Difference) -> str:
    requirement = difference.requirement
    text = _inline(requirement.sentence)
    return f'"{text}"' if requirement.wording == "quoted" else text


def _inline(text: str) -> str:
    """Return `text` on one line, with nothing in it that Markdown would act on."""
    line = " ".join(text.split())
    for sign in ("\\", "`", "*", "_", "<", "|"):
        line = line.replace(sign, f"\\{sign}")
    return line
