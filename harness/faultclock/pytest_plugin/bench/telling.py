"""What a scenario's runs come to as one test: passed, failed, known or skipped, and in what words.

Only what is judged and as the error model asks passes. What proves nothing fails, and says that
it proves nothing.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from itertools import chain

from faultclock.cli.finding_text import finding_lines, told_in_full
from faultclock.model.cells import cell_of
from faultclock.model.report.finding import Finding, Report, RunReport, Verdict, overall
from faultclock.model.report.gate import Baseline, Deviation, GateReport
from faultclock.model.scenario.scenario import Scenario
from faultclock.pytest_plugin.bench.values import SCENARIO_SUFFIXES, Ran
from faultclock.render.verdict_words import worst_first
from faultclock.render.wording import count

#: Seeds that are named of those that came out alike.
_SEEDS_MAX = 8
_BAD = (Verdict.FAIL, Verdict.INCONCLUSIVE)


def entries_of(baseline: Baseline, scenario: Scenario) -> Baseline:
    """Return the part of `baseline` that is about one scenario, or one variant of it."""
    mine = tuple(
        entry
        for entry in baseline.deviations
        if entry.scenario == scenario.id
        and (entry.variant is None or cell_of(entry.variant) == scenario.variant)
    )
    return baseline.model_copy(update={"deviations": mine})


def told(report: Report, *, shared: bool) -> Ran:
    """Return what is told of all runs of one scenario.

    Args:
        shared: it is one of several variants, so that an entry of the baseline for all of them
            may be borne out by another one.
    """
    properties = tuple(_properties(report))
    verdict = _verdict(report)
    gate = report.gate
    stale = () if gate is None else tuple(_stale(gate, shared=shared))
    if verdict is Verdict.NOT_APPLICABLE:
        reason = _nothing_judged(report.runs[0])
        return Ran(standing="skipped", verdict=verdict, headline=reason, properties=properties)
    lines = tuple(_lines(report, verdict))
    if verdict is Verdict.FAIL and gate is not None and not gate.regressions:
        known = _known_words(gate)
        # What is inconclusive beside it is still no pass.
        if not stale and not _is_open(report):
            return Ran(
                standing="known",
                verdict=verdict,
                headline=known,
                lines=lines,
                properties=properties,
            )
    headline = _headline(report, verdict)
    if stale:
        headline = stale[0] if verdict not in _BAD else headline
        lines = (*stale, "", *lines)
    failed = bool(stale) or verdict in _BAD
    return Ran(
        standing="failed" if failed else "passed",
        verdict=verdict,
        headline=headline,
        lines=lines,
        properties=properties,
    )


def baseline_told(report: Report) -> Ran:
    """Return what is told of a baseline that is out of date by itself."""
    gate = report.gate
    assert gate is not None, "asked for with one"
    lines = (
        *(
            f"{_named(entry)}: there is no such scenario, variant, check or requirement"
            for entry in gate.missing
        ),
        *(_overdue(entry) for entry in gate.overdue),
        *(_passes_now(entry) for entry in gate.passing if entry.variant is None),
    )
    return Ran(
        standing="failed" if lines else "passed",
        headline=lines[0] if lines else f"{gate.baseline} is up to date",
        lines=tuple(f"{gate.baseline}: {line}" for line in lines),
    )


def scenario_files_below(folder: str | os.PathLike[str]) -> Iterator[str]:
    """Yield the scenario files of a person's own below `folder`, in order.

    Hidden folders, and those of other people's code, are passed over.
    """
    for parent, folders, files in os.walk(folder):
        folders[:] = sorted(
            name
            for name in folders
            if not name.startswith(".")
            and name not in ("node_modules", "venv", "build", "dist", "__pycache__")
        )
        for name in sorted(files):
            if name.endswith(SCENARIO_SUFFIXES):
                yield os.path.join(parent, name)  # noqa: PTH118 - as os.walk gives it


def _verdict(report: Report) -> Verdict:
    verdicts = [run.verdict for run in report.runs]
    if set(verdicts) == {Verdict.NOT_APPLICABLE}:
        return Verdict.NOT_APPLICABLE
    return overall((*verdicts, *(finding.verdict for finding in report.seeds_findings)))


def _is_open(report: Report) -> bool:
    """Return whether anything in it proves nothing, beside whatever else it comes to."""
    verdicts = {run.verdict for run in report.runs}
    verdicts.update(finding.verdict for run in report.runs for finding in run.findings)
    verdicts.update(finding.verdict for finding in report.seeds_findings)
    return Verdict.INCONCLUSIVE in verdicts


def _headline(report: Report, verdict: Verdict) -> str:
    if verdict is Verdict.PASS:
        return f"{count(len(report.runs), 'run')}, all as {report.model} asks"
    telling = sorted(_telling(report), key=lambda item: worst_first(item.verdict))
    if not telling:
        return f"{verdict.value}: nothing was judged"
    first = telling[0]
    text = first.observed or first.reason or first.expected
    return f"{verdict.value} {first.check}: {text}"


def _lines(report: Report, verdict: Verdict) -> Iterator[str]:
    """Yield what the command line tells of the worst run, and how to make it again."""
    if verdict is Verdict.PASS:
        return
    if verdict is Verdict.INCONCLUSIVE:
        yield "INCONCLUSIVE: this proves nothing until the reason is gone, so it is no pass."
        yield ""
    worst = min(report.runs, key=lambda run: worst_first(run.verdict))
    alike = [run for run in report.runs if run.verdict is worst.verdict]
    if len(report.runs) > 1:
        which = _which(alike)
        yield f"{len(alike)} of {count(len(report.runs), 'run')} come to {worst.verdict}: {which}"
        yield ""
    yield from told_in_full(worst)
    for finding in report.seeds_findings:
        if finding.verdict in _BAD or finding.verdict is Verdict.WARN:
            yield "Over all seeds:"
            yield from finding_lines(finding, worst.scenario)
            yield ""
    yield f"reproduce: {worst.replay}"
    if worst.token:
        yield f"token: {worst.token}"


def _which(runs: list[RunReport]) -> str:
    names = [
        f"seed {run.seed}" if run.crash_point is None else f"{run.variant}, seed {run.seed}"
        for run in runs[:_SEEDS_MAX]
    ]
    return ", ".join(names) + (", …" if len(runs) > _SEEDS_MAX else "")


def _properties(report: Report) -> Iterator[tuple[str, str]]:
    """Yield what stays the same, whichever machine and worker ran it."""
    yield "faultclock_verdict", _verdict(report).value
    yield "faultclock_subject", report.subject.id
    yield "faultclock_model", report.model
    for run in report.runs:
        if run.crash_point is None:
            yield "faultclock_trace", f"{run.seed}:{run.trace_digest}"
    telling = [finding for finding in _telling(report) if finding.verdict is not Verdict.PASS]
    for name in dict.fromkeys(f"{item.verdict.value}:{item.check}" for item in telling):
        yield "faultclock_finding", name
    worst = min(report.runs, key=lambda run: worst_first(run.verdict))
    yield "faultclock_replay", worst.replay


def _telling(report: Report) -> Iterable[Finding]:
    findings = chain(*(run.findings for run in report.runs), report.seeds_findings)
    return (item for item in findings if item.verdict in (*_BAD, Verdict.WARN))


def _nothing_judged(run: RunReport) -> str:
    reasons = dict.fromkeys(
        item.reason for item in run.findings if item.verdict is Verdict.NOT_APPLICABLE
    )
    first = next((reason for reason in reasons if reason), "no check had anything to judge")
    return f"not applicable: {first}"


def _known_words(gate: GateReport) -> str:
    return "; ".join(
        f"known until {item.deviation.expires} ({item.deviation.owner}): {item.deviation.reason}"
        for item in gate.known
    )


def _stale(gate: GateReport, *, shared: bool) -> Iterator[str]:
    for entry in gate.passing:
        if not (shared and entry.variant is None):
            yield f"{gate.baseline}: {_passes_now(entry)}"
    for entry in gate.overdue:
        yield f"{gate.baseline}: {_overdue(entry)}"


def _passes_now(entry: Deviation) -> str:
    return f"{_named(entry)}: this passes now, so the entry has to go"


def _overdue(entry: Deviation) -> str:
    return f"{_named(entry)}: its last day was {entry.expires}, and {entry.owner} answers for it"


def _named(entry: Deviation) -> str:
    parts = (entry.scenario, entry.variant, entry.check, entry.requirement)
    return ", ".join(part for part in parts if part)
