"""The problems at the top of a page, each with the one run that is drawn for it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec import Struct

from faultclock.model.report.finding import Report, RunReport, Verdict
from faultclock.model.report.problem import Problem
from faultclock.render.checkup_text import IN_FULL_FIRST, IN_FULL_MAX
from faultclock.render.sections import Section, make_sections, situation_names


class ShownProblem(Struct, frozen=True, kw_only=True):
    """One problem as a page shows it.

    Attributes:
        verdict: FAIL for a serious one, else WARN; it chooses the colour.
        anchor: of the section with its timeline; empty where its run is not in the report.
        is_open: whether it is read without a click.
    """

    problem: Problem
    verdict: Verdict
    anchor: str
    is_open: bool


class ProblemList(Struct, frozen=True, kw_only=True):
    """The problems, the most harmful first, and the sections that they lead to."""

    items: tuple[ShownProblem, ...]
    sections: tuple[Section, ...]

    @property
    def new(self) -> int:
        """How many no baseline knows."""
        return sum(not item.problem.known for item in self.items)

    @property
    def serious(self) -> int:
        """How many of the new ones break a MUST."""
        return sum(item.problem.serious and not item.problem.known for item in self.items)

    def number(self, id_: str) -> int:
        """Return the number that a problem has in the list, from 1 on."""
        return next(n for n, item in enumerate(self.items, 1) if item.problem.id == id_)

    @property
    def has_known(self) -> bool:
        """Whether a baseline knows some."""
        return self.new < len(self.items)

    @property
    def worst(self) -> Verdict | None:
        """The worst of those that no baseline knows; None without one."""
        verdicts = [item.verdict for item in self.items if not item.problem.known]
        return min(verdicts, key=lambda verdict: verdict is not Verdict.FAIL, default=None)


def make_problem_list(
    report: Report, problems: Sequence[Problem], *, only_theirs: bool = False
) -> ProblemList:
    """Return `problems` with the sections of the runs that show them.

    Args:
        report: the runs that `problems` were found in.
        only_theirs: leave out the sections that no problem leads to.
    """
    runs = {finding.id: run for run in report.runs for finding in run.findings if finding.id}
    name_of = situation_names(report.runs)
    drawn: dict[str, RunReport] = {}
    chosen = {problem.id: _choose(problem, runs, drawn, name_of) for problem in problems}
    over = {finding.id: finding.scenario for finding in report.seeds_findings if finding.id}
    led_to = {
        problem.id: name_of(run)
        if (run := chosen[problem.id]) is not None
        else next((over[id_] for id_ in problem.findings if over.get(id_)), "")
        for problem in problems
    }
    if only_theirs:
        kept = tuple(run for run in report.runs if name_of(run) in led_to.values())
        report = report.model_copy(update={"runs": kept})
    sections = make_sections(
        report,
        drawn=drawn,
        problems={id_: item.id for item in problems for id_ in item.findings},
        name_of=name_of,
    )
    anchors = {section.situation: section.anchor for section in sections}
    # As on the terminal.
    opened = IN_FULL_FIRST if len(problems) > IN_FULL_MAX else IN_FULL_MAX
    items = tuple(
        ShownProblem(
            problem=problem,
            verdict=Verdict.FAIL if problem.serious else Verdict.WARN,
            anchor=anchors.get(led_to[problem.id] or "", ""),
            is_open=index < opened,
        )
        for index, problem in enumerate(sorted(problems, key=lambda problem: problem.known))
    )
    return ProblemList(items=items, sections=sections)


def _choose(
    problem: Problem,
    runs: dict[str, RunReport],
    drawn: dict[str, RunReport],
    name_of: Callable[[RunReport], str],
) -> RunReport | None:
    """Return the plainest run of `problem` whose section draws no other run, and note it."""
    found = [runs[id_] for id_ in problem.findings if id_ in runs]
    for run in found:
        if drawn.setdefault(name_of(run), run) is run:
            return run
    return found[0] if found else None
