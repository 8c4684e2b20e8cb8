"""What a run says at its end: a table, the totals, and what to do next.

Of a single scenario the findings stand there in full.

The rows are made once, as plain data; a terminal and a log file show the same facts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import IO

from faultclock.cli.finding_text import told_in_full
from faultclock.cli.grouping import table_by
from faultclock.cli.say import say
from faultclock.cli.tables import SYMBOLS, in_one_line, lines_within, terminal_width, write_table
from faultclock.model.report.beside_baseline import standing
from faultclock.model.report.finding import Report, RunReport, Verdict
from faultclock.render.finding_text import command_lines
from faultclock.render.gate import gate_lines
from faultclock.render.passed_over import passed_over_lines
from faultclock.render.verdict_words import GLOSSARY, LOOKS, worst_first
from faultclock.render.wording import count, short_time, time_word

_UNDECLARED = re.compile(r"binding does not declare '([a-z_]+)'")


def write_summary(
    report: Report,
    *,
    written: Sequence[str],
    wall_s: float,
    quiet: bool,
    out: IO[str],
    group_by: str = "scenario",
) -> None:
    """Write table and findings (unless `quiet`), totals and next steps to `out`.

    Args:
        group_by: what a row of the table stands for, a value of `--group-by`.
    """
    if report.runs and not quiet:
        table = table_by(report, group_by)
        is_alone = len({run.scenario for run in report.runs}) == 1
        if table.rows:
            write_table(table, out, findings=not is_alone or group_by != "scenario")
        _write_seeds(report, out)
        if is_alone:
            # A table is the overview of many scenarios; of a single one, the finding says why.
            for line in told_in_full(_worst(report.runs)):
                say(line, out=out)
    width = terminal_width(out)
    counted = (
        _totals(report, wall_s),
        *_made_twice(report),
        *(["  all runs shared one process (--inline): they certify nothing"] * report.inline),
        *_undeclared(report),
        *_crossings(report),
        *passed_over_lines(report.passed_over),
        *_sweeps(report),
        *_shard(report),
    )
    for text in (*counted, *_next_steps(report, written, width), *_gate(report, quiet=quiet)):
        for line in lines_within(text, width):
            say(line, out=out)


def _worst(runs: Sequence[RunReport]) -> RunReport:
    return min(runs, key=lambda run: worst_first(run.verdict))


def _write_seeds(report: Report, out: IO[str]) -> None:
    telling = [item for item in report.seeds_findings if item.verdict in GLOSSARY[:3]]
    if telling:
        say("Over all seeds of a scenario:", out=out)
        for finding in telling:
            word = f"{SYMBOLS[finding.verdict]} {LOOKS[finding.verdict].word}"
            for line in lines_within(f"  {word}  {in_one_line(finding)}", terminal_width(out)):
                say(line, out=out)
        say(out=out)


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


def _made_twice(report: Report) -> list[str]:
    twice = sum(run.made_twice for run in report.runs)
    if not twice:
        return []
    others = f"{count(twice, 'run')} that did not fail"
    return [f"  made a second time: {others}, with the same bytes"]


def _undeclared(report: Report) -> list[str]:
    """Say what was not judged because the subject does not show it: a pass is none of it."""
    missing: dict[str, set[str]] = {}
    for run in report.runs:
        for finding in run.findings:
            found = _UNDECLARED.search(finding.reason)
            if finding.verdict is Verdict.NOT_APPLICABLE and found:
                missing.setdefault(found[1], set()).add(finding.check)
    if not missing:
        return []
    names = ", ".join(repr(name) for name in sorted(missing))
    checks = set().union(*missing.values())
    need = "needs" if len(checks) == 1 else "need"
    said = f"{count(len(checks), 'check')} that {need} a subject which declares {names}"
    return [f"  not judged: {said}"]


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


def _next_steps(report: Report, written: Sequence[str], width: int | None) -> list[str]:
    lines = [f"  written: {path}" for path in written]
    if not report.runs:
        return lines
    worst = _worst(report.runs)
    if worst.verdict is Verdict.PASS or _all_is_known(report):
        return lines
    first, command = "  reproduce: ", _again(report, worst)
    if width is None:
        lines.append(f"{first}{command}")
    else:
        lines += command_lines(command, first=first, width=width)
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
        yield sign + line


def _again(report: Report, worst: RunReport) -> str:
    """Return the command for the run to look at: what the baseline does not know comes first."""
    new = report.gate.regressions if report.gate is not None else ()
    for item in new:
        for run in report.runs:
            if (run.scenario, run.variant) == (item.scenario, item.variant) and (
                item.seed in (None, run.seed)
            ):
                return run.replay
    return worst.replay
