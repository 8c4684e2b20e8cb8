"""What the rows of the table at the end of a run stand for: `--group-by`.

Each way of grouping shows every run that is not green in at least one row.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping

from msgspec import Struct, field

from faultclock.cli.tables import Row, Table, in_one_line
from faultclock.model.report.finding import Finding, Report, RunReport, Verdict
from faultclock.render.notes_text import place_text
from faultclock.render.verdict_words import GLOSSARY, worst_first
from faultclock.render.wording import short_time

_REAL = " real"
#: Verdicts that are not green.
_TELLING = GLOSSARY[:3]
_NO_EXCEPTION = "no exception"
_RAISED = "raised "


def table_by(report: Report, grouping: str) -> Table:
    """Return the table of `report`, with one row for each member of `grouping`."""
    return _TABLES[grouping](report)


def by_scenario(report: Report) -> Table:
    """Return one row for each scenario: its worst run, and ranges over all of them."""
    groups: dict[str, list[RunReport]] = {}
    for run in report.runs:
        groups.setdefault(run.scenario, []).append(run)
    rows = tuple(_of_scenario(runs) for runs in groups.values())
    # What was served took real time, and each row says so.
    real = any(row.figures[1].endswith(_REAL) for row in rows)
    times = "time" if real else "virtual time"
    return Table(headings=("scenario", "verdict", "attempts", times, "first finding"), rows=rows)


def _of_scenario(runs: list[RunReport]) -> Row:
    worst = min(runs, key=lambda run: worst_first(run.verdict))
    attempts = [run.attempts for run in runs]
    times_ns = [run.virtual_ns for run in runs]
    times = _range([short_time(min(times_ns)), short_time(max(times_ns))])
    telling = [item for item in worst.findings if item.verdict in _TELLING]
    first = min(telling, key=lambda item: worst_first(item.verdict), default=None)
    return Row(
        name=worst.scenario if len(runs) == 1 else f"{worst.scenario} ×{len(runs)}",
        verdict=worst.verdict,
        figures=(
            _range([str(min(attempts)), str(max(attempts))]),
            times + (_REAL if worst.time_base == "wall" else ""),
        ),
        finding="" if first is None else in_one_line(first),
    )


def _range(bounds: list[str]) -> str:
    return "-".join(dict.fromkeys(bounds))


class _Shown(Struct, frozen=True, kw_only=True):
    """A finding and the runs that show it: one run, or those of a group of seeds."""

    finding: Finding
    runs: tuple[RunReport, ...]
    text: str = ""
    over_seeds: bool = False


def _by_check(report: Report) -> Table:
    """Return one row for each check that judged something."""
    groups: dict[str, _Group] = {}
    for shown in _shown(report):
        if shown.finding.verdict is not Verdict.NOT_APPLICABLE:
            groups.setdefault(shown.finding.check, _Group()).add(shown)
    rows = [_row(check, group) for check, group in groups.items()]
    return _table("check", [*rows, *_silent(report)])


def _by_exception(report: Report) -> Table:
    """Return one row for each exception that left a call of a run that is not green."""
    groups: dict[str, _Group] = {}
    for shown in _shown(report, telling=True):
        raised = _raised(shown.finding, shown.runs[0]) if len(shown.runs) == 1 else {}
        for name, place in (raised or {_NO_EXCEPTION: ""}).items():
            said = in_one_line(shown.finding)
            text = f"at {place}: {said}" if place else said
            groups.setdefault(name, _Group()).add(
                _Shown(finding=shown.finding, runs=shown.runs, text=text)
            )
    return _table("exception", [*(_row(*item) for item in groups.items()), *_silent(report)])


def _raised(finding: Finding, run: RunReport) -> dict[str, str]:
    """Return the exceptions that left the call of `finding`, each with the user's line.

    A finding about no call is about all of them.
    """
    lines: dict[str, str] = {}
    for item in run.notes.raised if run.notes is not None else ():
        own = [frame for frame in item.frames if frame.own]
        if own:
            lines[item.call] = f"{own[-1].file}:{own[-1].line}"
    return {
        call.outcome.removeprefix(_RAISED): lines.get(call.call, "")
        for call in run.calls
        if call.outcome.startswith(_RAISED) and finding.call in (None, call.call)
    }


def _by_cause(report: Report) -> Table:
    """Return one row for each cause, the most harmful first, as `faultclock check` has them."""
    # Imported here: no other grouping folds findings into problems.
    from faultclock.model.report.problems import problems_in
    from faultclock.model.report.unproved import unproved_in

    rows = [
        Row(
            name=problem.requirement if problem.source is None else place_text(problem.source),
            verdict=Verdict.FAIL if problem.serious else Verdict.WARN,
            figures=(str(problem.runs), str(len(problem.situations))),
            finding=_said(problem.title, problem.expected),
        )
        for problem in problems_in(report)
    ]
    rows += [
        Row(
            name="not proved",
            verdict=Verdict.INCONCLUSIVE,
            figures=("", ""),
            finding=text,
        )
        for text in unproved_in(report)
    ]
    return _table("cause", rows)


def _said(observed: str, expected: str) -> str:
    return f"{observed}; expected {expected}" if expected else observed


def _shown(report: Report, *, telling: bool = False) -> Iterator[_Shown]:
    """Yield all findings, or those that are not green."""
    for run in report.runs:
        if telling and run.verdicts.isdisjoint(_TELLING):
            continue
        for finding in run.findings:
            if not telling or finding.verdict in _TELLING:
                yield _Shown(finding=finding, runs=(run,))
    for finding in report.seeds_findings:
        if not telling or finding.verdict in _TELLING:
            of = (finding.scenario, finding.variant)
            runs = tuple(run for run in report.runs if (run.scenario, run.variant) == of)
            yield _Shown(finding=finding, runs=runs, over_seeds=True)


class _Group(Struct):
    """What a row stands for: its worst finding, and how many runs show one as bad."""

    worst: _Shown | None = None
    runs: Counter[tuple[str, str | None]] = field(default_factory=Counter)
    """By scenario and variant: a verdict over seeds is one on all of their runs."""
    last: RunReport | None = None

    def add(self, shown: _Shown) -> None:
        """Take one more finding; those of one run come one after the other."""
        verdict = shown.finding.verdict
        if self.worst is None or worst_first(verdict) < worst_first(self.worst.finding.verdict):
            self.worst, self.last = shown, None
            self.runs.clear()
        elif verdict is not self.worst.finding.verdict:
            return
        for run in shown.runs:
            key = (run.scenario, run.variant)
            if shown.over_seeds:
                self.runs[key] = len(shown.runs)
            elif run is not self.last:
                self.runs[key] += 1
                self.last = run


def _row(name: str, group: _Group) -> Row:
    worst = group.worst
    assert worst is not None, "a group exists because of a finding"
    verdict = worst.finding.verdict
    # The figures are about what the row says: how often it is so, and in how many scenarios.
    scenarios = {scenario for scenario, _ in group.runs}
    return Row(
        name=name,
        verdict=verdict,
        figures=(str(group.runs.total()), str(len(scenarios))),
        finding=(worst.text or in_one_line(worst.finding, named=False))
        if verdict in _TELLING
        else "",
    )


def _silent(report: Report) -> Iterator[Row]:
    """Yield a row for the runs that are not green without a finding that says why."""
    groups: dict[str, list[RunReport]] = {}
    for run in report.runs:
        if run.verdict in _TELLING and run.verdict not in run.verdicts:
            groups.setdefault(f"{run.verdict.value}{run.ending}", []).append(run)
    for runs in groups.values():
        yield Row(
            name="no check",
            verdict=runs[0].verdict,
            figures=(str(len(runs)), str(len({run.scenario for run in runs}))),
            finding=f"ended by {runs[0].ending} {'; '.join(runs[0].ending_detail)}".strip(),
        )


def _table(what: str, rows: Iterable[Row]) -> Table:
    """Return a table whose worst rows stand first; equal ones keep their order."""
    ordered = tuple(sorted(rows, key=lambda row: worst_first(row.verdict)))
    return Table(headings=(what, "verdict", "runs", "scenarios", "first finding"), rows=ordered)


_TABLES: Mapping[str, Callable[[Report], Table]] = {
    "check": _by_check,
    "scenario": by_scenario,
    "exception": _by_exception,
    "cause": _by_cause,
}
