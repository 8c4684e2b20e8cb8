"""What a run says at its end: a table, the totals, and what to do next.

Of a single scenario the findings are told in full.

The rows are made here once, as plain data; a terminal and a log file show the same facts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import IO

import click

from harness.cli.finding_text import told_in_full
from harness.model.finding import Finding, Report, RunReport, Verdict
from harness.model.standing import standing
from harness.render.gate import gate_lines
from harness.render.passed_over import passed_over_lines
from harness.render.verdict_words import GLOSSARY, LOOKS, worst_first
from harness.render.wording import clipped, count, short_time, time_word, visible

__all__ = ["Row", "rows_of", "write_summary"]

SYMBOLS = {
    Verdict.PASS: "✓",
    Verdict.FAIL: "✗",
    Verdict.WARN: "!",
    Verdict.INCONCLUSIVE: "?",
    Verdict.NOT_APPLICABLE: "-",
}
_STYLES = {
    Verdict.PASS: "green",
    Verdict.FAIL: "bold red",
    Verdict.WARN: "yellow",
    Verdict.INCONCLUSIVE: "magenta",
    Verdict.NOT_APPLICABLE: "dim",
}
_REAL = " real"
_HEADINGS = ("scenario", "verdict", "attempts", "virtual time", "first finding")
_UNDECLARED = re.compile(r"binding does not declare '([a-z_]+)'")
#: A finding in a table is a pointer; the whole of it is in the reports.
_FINDING_LENGTH = 150
#: Columns of a terminal that have room for every column of the table.
_WIDE = 110


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One scenario, over all its seeds, as the table shows it."""

    scenario: str
    verdict: Verdict
    runs: int
    attempts: str
    virtual_time: str
    finding: str

    @property
    def cells(self) -> tuple[str, str, str, str, str]:
        """The texts of the columns."""
        name = self.scenario if self.runs == 1 else f"{self.scenario} ×{self.runs}"
        verdict = f"{SYMBOLS[self.verdict]} {LOOKS[self.verdict].word}"
        return (name, verdict, self.attempts, self.virtual_time, self.finding)


def rows_of(report: Report) -> tuple[Row, ...]:
    """Return one row for each scenario: its worst run, and ranges over all of them."""
    groups: dict[str, list[RunReport]] = {}
    for run in report.runs:
        groups.setdefault(run.scenario, []).append(run)
    return tuple(_row(runs) for runs in groups.values())


def write_summary(
    report: Report, *, written: Sequence[str], wall_s: float, quiet: bool, out: IO[str]
) -> None:
    """Write table and findings (unless `quiet`), totals and next steps to `out`."""
    rows = () if quiet else rows_of(report)
    if rows:
        if out.isatty():
            _rich_table(rows, out)
        else:
            _plain_table(rows, out)
        _write_seeds(report, out)
        if len(rows) == 1:
            # Who asks for one scenario wants to know why; of many, the table is the overview.
            for line in told_in_full(_worst(report.runs)):
                click.echo(line, file=out)
    counted = (
        _totals(report, wall_s),
        *_undeclared(report),
        *_crossings(report),
        *passed_over_lines(report.passed_over),
        *_sweeps(report),
        *_shard(report),
    )
    for line in (*counted, *_next_steps(report, written), *_gate(report, quiet=quiet)):
        click.echo(line, file=out)


def _row(runs: list[RunReport]) -> Row:
    worst = _worst(runs)
    attempts = [sum(len(call.attempts) for call in run.calls) for run in runs]
    times_ns = [run.virtual_ns for run in runs]
    return Row(
        scenario=worst.scenario,
        verdict=worst.verdict,
        runs=len(runs),
        attempts=_range([str(min(attempts)), str(max(attempts))]),
        virtual_time=_range([short_time(min(times_ns)), short_time(max(times_ns))])
        + (_REAL if worst.time_base == "wall" else ""),
        finding=_first_finding(worst.findings),
    )


def _worst(runs: Sequence[RunReport]) -> RunReport:
    return min(runs, key=lambda run: worst_first(run.verdict))


def _range(bounds: list[str]) -> str:
    return "-".join(dict.fromkeys(bounds))


def _first_finding(findings: Iterable[Finding]) -> str:
    """Return the finding to look at first, in one line; nothing when all is well."""
    telling = [item for item in findings if item.verdict in GLOSSARY[:3]]
    if not telling:
        return ""
    return _in_one_line(min(telling, key=lambda item: worst_first(item.verdict)))


def _in_one_line(finding: Finding) -> str:
    if finding.observed and finding.expected:
        text = f"{finding.observed}; expected {finding.expected}"
    else:
        text = finding.reason or finding.observed or finding.expected
    return visible(clipped(f"{finding.check}: {text}", _FINDING_LENGTH))


def _headings(rows: Sequence[Row]) -> tuple[str, ...]:
    """What was served took real time, and each row says so."""
    real = any(row.virtual_time.endswith(_REAL) for row in rows)
    return tuple("time" if real and name == "virtual time" else name for name in _HEADINGS)


def _plain_table(rows: Sequence[Row], out: IO[str]) -> None:
    lines = [_headings(rows), *(row.cells for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(_HEADINGS) - 1)]
    for line in lines:
        padded = [cell.ljust(width) for cell, width in zip(line, widths, strict=False)]
        click.echo("  ".join([*padded, line[-1]]).rstrip(), file=out)
    click.echo(file=out)


def _rich_table(rows: Sequence[Row], out: IO[str]) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console(file=out)
    # On a narrow terminal the finding is worth more than the figures.
    columns = range(len(_HEADINGS)) if console.width >= _WIDE else (0, 1, 4)
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    headings = _headings(rows)
    for column in columns:
        # Only the finding gives way: a scenario's id and a verdict are always whole.
        table.add_column(
            headings[column],
            justify="right" if column in (2, 3) else "left",
            no_wrap=column != len(_HEADINGS) - 1,
        )
    for row in rows:
        texts = [Text(cell, no_wrap=True, overflow="ellipsis") for cell in row.cells]
        texts[1].stylize(_STYLES[row.verdict])
        table.add_row(*(texts[column] for column in columns))
    console.print(table)


def _write_seeds(report: Report, out: IO[str]) -> None:
    telling = [item for item in report.seeds_findings if item.verdict in GLOSSARY[:3]]
    if telling:
        click.echo("Over all seeds of a scenario:", file=out)
        for finding in telling:
            word = f"{SYMBOLS[finding.verdict]} {LOOKS[finding.verdict].word}"
            click.echo(f"  {word}  {_in_one_line(finding)}", file=out)
        click.echo(file=out)


def _totals(report: Report, wall_s: float) -> str:
    parts = [
        f"{report.totals[verdict.value]} {LOOKS[verdict].word}"
        for verdict in GLOSSARY
        if report.totals.get(verdict.value)
    ]
    virtual_ns = sum(run.virtual_ns for run in report.runs)
    base = " and ".join(dict.fromkeys(time_word(run.time_base) for run in report.runs))
    return (
        f"{SYMBOLS[report.verdict]} {report.subject.id} against {report.model}: "
        f"{', '.join([count(len(report.runs), 'run'), *parts])} "
        f"({short_time(virtual_ns)} of {base or 'virtual'} time in {wall_s:.1f} s)"
    )


def _undeclared(report: Report) -> list[str]:
    """Say what nobody could judge because the subject does not show it: a pass is none of it."""
    missing: dict[str, set[str]] = {}
    for run in report.runs:
        for finding in run.findings:
            found = _UNDECLARED.search(finding.reason)
            if finding.verdict is Verdict.NOT_APPLICABLE and found:
                missing.setdefault(found[1], set()).add(finding.check)
    if not missing:
        return []
    names = ", ".join(repr(name) for name in sorted(missing))
    checks = count(len(set().union(*missing.values())), "check")
    return [f"  not judged at all: {checks}, because the binding does not declare {names}"]


def _crossings(report: Report) -> Iterator[str]:
    for crossing in report.crossings:
        yield f"  crossing {crossing.scenario}: {crossing.run} of {crossing.cells} cells run"
        for because, names in crossing.omitted.items():
            yield f"    {count(len(names), 'cell')} left out: {because}"


def _sweeps(report: Report) -> list[str]:
    # A crash point that the run never came to is an unmet fault, and no point.
    swept = [run for run in report.runs if run.crash_point is not None and run.resumes]
    if not swept:
        return []
    resumes = sum(run.resumes for run in swept)
    scenarios = len({run.scenario for run in swept})
    return [
        f"  crash everywhere: {count(len(swept), 'crash point')} and {count(resumes, 'resume')} "
        f"judged in {count(scenarios, 'scenario')}"
    ]


def _shard(report: Report) -> list[str]:
    shard = report.shard
    if shard is None:
        return []
    said = f"  part {shard.number} of {shard.count}: what the others ran is not in it"
    if not report.runs:
        said = (
            f"  part {shard.number} of {shard.count} has nothing to run, which proves nothing by"
            " itself: there are more parts than scenarios"
        )
    return [said, "  the whole: `faultclock merge` with the --json report of every part"]


def _next_steps(report: Report, written: Sequence[str]) -> list[str]:
    lines = [f"  written: {path}" for path in written]
    if not report.runs:
        return lines
    worst = _worst(report.runs)
    if worst.verdict is Verdict.PASS or _all_is_known(report):
        return lines
    lines.append(f"  once more: {_again(report, worst)}")
    if not any(path.endswith((".html", ".htm")) for path in written):
        lines.append("  with a timeline: add --html report.html")
    if report.verdict is Verdict.INCONCLUSIVE:
        lines.append("  inconclusive is no pass: these runs prove nothing until the reason is gone")
    return lines


def _all_is_known(report: Report) -> bool:
    return report.gate is not None and standing(report) in (Verdict.PASS, Verdict.WARN)


def _gate(report: Report, *, quiet: bool) -> Iterator[str]:
    """Yield what a person looks for who has a baseline, so it stands at the end."""
    for number, line in enumerate(gate_lines(report, known=not quiet)):
        sign = "" if number else f"{SYMBOLS[standing(report)]} "
        yield sign + visible(line)


def _again(report: Report, worst: RunReport) -> str:
    """Return the command for the run to look at: what nobody knew of comes first."""
    new = report.gate.regressions if report.gate is not None else ()
    for item in new:
        for run in report.runs:
            if (run.scenario, run.variant) == (item.scenario, item.variant) and (
                item.seed in (None, run.seed)
            ):
                return run.replay
    return worst.replay
