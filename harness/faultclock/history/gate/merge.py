"""Joins the reports of the parts of a run into the report of the whole.

It is the report that the run in one piece would have made, byte for byte, in any order of the
parts. Parts that do not belong together, or are not all there, are refused: a report of
less than the whole must not look like one of it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from faultclock.errors import InputError
from faultclock.history.gate.facts import check_complete
from faultclock.model.report.coverage import Coverage
from faultclock.model.report.finding import (
    CrossingReport,
    PassedOver,
    Report,
    RequirementCoverage,
    RunReport,
    overall,
)

_RunKey = tuple[str, str | None, int]
#: What has to be the same in all parts, and what it is called.
_SAME = {
    "model": "error model",
    "model_revision": "revision of the error model",
    "readings": "readings of the error model",
    "subject": "subject",
    "faultclock": "version of Faultclock",
    "format": "report format",
    "model_title": "title of the error model",
    "source": "place of the subject's source",
    "switches": "switches of the error model",
    "checks": "checks",
}


def merged(reports: Mapping[str, Report]) -> Report:
    """Return the one report of several, each under the name of its file.

    Either all are parts of one run, and then every part is there once. Or none is a part, and then
    they have no scenario in common. The gates of the parts are left out: the whole has its own.

    Raises:
        InputError: they do not belong together, one is missing or there twice, or a run that is in
            two of them was not the same in both.
    """
    if not reports:
        raise InputError("no report to join")
    _check_same(reports)
    _check_runs(reports)
    parts = {name: report.shard for name, report in reports.items() if report.shard is not None}
    if parts:
        _check_parts(reports)
    else:
        _check_apart(reports)
    first = min(reports.values(), key=_order)
    runs = tuple(sorted((run for item in reports.values() for run in item.runs), key=_scenario))
    seeds = [finding for item in reports.values() for finding in item.seeds_findings]
    seeds.sort(key=lambda finding: finding.scenario or "")
    verdicts = [run.verdict for run in runs]
    coverage = Coverage.of(runs, seeds)
    return first.model_copy(
        update={
            "shard": None,
            "inline": any(item.inline for item in reports.values()),
            "gate": None,
            "verdict": overall((*verdicts, *(finding.verdict for finding in seeds))),
            "totals": dict(Counter(verdict.value for verdict in verdicts)),
            "seeds_findings": tuple(seeds),
            "runs": runs,
            "coverage": tuple(_covered(item, coverage) for item in first.coverage),
            "crossings": _crossings(reports.values()),
            "scenario_files": {
                id_: file for item in reports.values() for id_, file in item.scenario_files.items()
            },
            "passed_over": _passed_over(reports.values(), {run.scenario for run in runs}),
        }
    )


def _scenario(run: RunReport) -> str:
    return run.scenario


def _order(report: Report) -> tuple[int, str]:
    """Return what the parts are put into an order by, however they were named."""
    number = 0 if report.shard is None else report.shard.number
    return number, min((run.scenario for run in report.runs), default="")


def _check_same(reports: Mapping[str, Report]) -> None:
    (first_name, first), *others = reports.items()
    for name, report in others:
        for field, words in _SAME.items():
            if getattr(first, field) != getattr(report, field):
                was, now = _told(first, field), _told(report, field)
                told = f": {was} and {now}" if was != now else ""
                raise InputError(
                    f"{first_name} and {name} do not have the same {words}{told}",
                    hint="a report is about one subject and one error model: run all parts with"
                    " the same versions and options",
                )
        if _sentences(first) != _sentences(report):
            raise InputError(
                f"{first_name} and {name} do not have the same sentences of the error model"
                f" {first.model}, whose revision is the same",
                hint="run all parts with the same file",
            )


def _sentences(report: Report) -> list[tuple[object, ...]]:
    return [(item.id, item.level, item.sentence, item.excluded) for item in report.coverage]


def _told(report: Report, field: str) -> str:
    if field == "subject":
        subject = report.subject
        versions = [f"{name} {version}" for name, version in sorted(subject.distributions.items())]
        source = [f"source {subject.source_digest[:12]}"] if subject.source_digest else []
        facts = ", ".join([*versions, *source])
        return f"{subject.id} ({facts})" if facts else subject.id
    if field == "readings":
        chosen = [f"{name}={value}" for name, value in sorted(report.readings.items())]
        return ", ".join(chosen) or "the default ones"
    value = getattr(report, field)
    return str(value) if isinstance(value, str | int) else ""


def _check_runs(reports: Mapping[str, Report]) -> None:
    """Refuse a run that was made twice and not the same: nothing is proved by either."""
    seen: dict[_RunKey, tuple[str, RunReport]] = {}
    for name, report in reports.items():
        for run in report.runs:
            key = (run.scenario, run.variant, run.seed)
            other, before = seen.setdefault(key, (name, run))
            if before is run:
                continue
            digest = before.trace_digest
            if digest != run.trace_digest:
                variant = f" ({run.variant})" if run.variant else ""
                raise InputError(
                    f"{run.scenario}{variant} with seed {run.seed} has one trace in {other}"
                    f" ({digest[:12]}) and another in {name} ({run.trace_digest[:12]})",
                    hint="equal runs have equal traces: something that is not simulated got in, or"
                    " the subject is not the same; `faultclock replay` shows where they part",
                )


def _check_parts(reports: Mapping[str, Report]) -> None:
    whole = [name for name, report in reports.items() if report.shard is None]
    if whole:
        raise InputError(
            f"{whole[0]} is the report of a whole run, and others are of parts of one",
            hint="join the parts of one run: `faultclock run --shard 1/N` and so on",
        )
    numbers: dict[int, str] = {}
    first_name, first = next(
        (name, report.shard) for name, report in reports.items() if report.shard is not None
    )
    for name, report in reports.items():
        shard = report.shard
        assert shard is not None
        if shard.count != first.count:
            raise InputError(
                f"{first_name} is of a run in {first.count} parts, and {name} of one in"
                f" {shard.count}"
            )
        if shard.selection != first.selection:
            raise InputError(
                f"{first_name} and {name} are not parts of one run: scenarios, error model or"
                " seeds are not the same",
                hint="give every part the same scenarios and options, but for --shard",
            )
        other = numbers.setdefault(shard.number, name)
        if other != name:
            raise InputError(
                f"part {shard.number} of {shard.count} is there twice: in {other} and in {name}"
            )
    missing = [str(number) for number in range(1, first.count + 1) if number not in numbers]
    if missing:
        raise InputError(
            f"{'part' if len(missing) == 1 else 'parts'} {', '.join(missing)} of {first.count}"
            f" {'is' if len(missing) == 1 else 'are'} missing",
            hint="the report of a part that has nothing to run is needed, too",
        )
    _check_scenarios(reports)
    for name, report in reports.items():
        check_complete(report, name)
    passed_over = {report.passed_over for report in reports.values()}
    if len(passed_over) > 1:
        raise InputError("the parts skipped different scenarios: run all with the same options")


def _check_apart(reports: Mapping[str, Report]) -> None:
    if len(reports) > 1:
        _check_scenarios(reports)


def _check_scenarios(reports: Mapping[str, Report]) -> None:
    owners: dict[str, str] = {}
    for name, report in reports.items():
        for scenario in dict.fromkeys(run.scenario for run in report.runs):
            other = owners.setdefault(scenario, name)
            if other != name:
                raise InputError(
                    f"{scenario} was run in {other} and in {name}",
                    hint="join reports that have no scenario in common",
                )


def _covered(item: RequirementCoverage, coverage: Coverage) -> RequirementCoverage:
    status, judged = coverage.status(item.id, excluded=item.excluded is not None)
    return item.model_copy(update={"status": status, "judged": judged})


def _crossings(reports: Iterable[Report]) -> tuple[CrossingReport, ...]:
    found = [crossing for report in reports for crossing in report.crossings]
    return tuple(sorted(found, key=lambda crossing: crossing.scenario))


def _passed_over(reports: Iterable[Report], run: set[str]) -> tuple[PassedOver, ...]:
    """Return what none of them ran, or one of them did not run wholly."""
    found: dict[PassedOver, None] = {}
    for report in reports:
        mine = {item.scenario for item in report.runs}
        for item in report.passed_over:
            if item.scenario not in run or item.scenario in mine:
                found[item] = None
    return tuple(sorted(found, key=lambda item: (item.scenario, item.because)))
