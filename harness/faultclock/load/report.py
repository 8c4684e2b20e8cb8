"""Reads a report that was written before as JSON: of `run`, of `check`, or of an exploration.

The runs of a report are read one by one: there may be more of them than memory holds.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping
from typing import Any, BinaryIO

from pydantic import ValidationError

from faultclock.errors import EventError, InputError
from faultclock.load.files import opened
from faultclock.load.json_file import as_written
from faultclock.load.json_stream import read_object
from faultclock.load.run_log import RunLog
from faultclock.model.report.checkup import CheckUp
from faultclock.model.report.exploration import Exploration
from faultclock.model.report.finding import Report, RunReport, overall, verdict_of
from faultclock.model.trace.event_check import check_events
from faultclock.model.trace.trace import TraceEvent

_CHANGED = "it was changed after it was written: make it again"
_NO_JSON = "write the report with --json FILE"
_RUNS = "runs"


def load_report(path: str | os.PathLike[str]) -> Report | Exploration:
    """Return the report in the JSON file at `path`.

    Raises:
        InputError: the file cannot be read, or is no report of a format that this version knows.
    """
    shown = os.fspath(path)
    with opened(path) as file:
        try:
            return read_report(file, shown)
        except OSError as error:
            raise InputError(f"{shown}: cannot be read: {error.strerror or error}") from None


def read_report(file: BinaryIO, name: str) -> Report | Exploration:
    """Return the report that `file` holds; `name` is for messages.

    Raises:
        InputError: it is no report of a format that this version knows.
    """
    runs = _Runs(name)
    try:
        value = read_object(file, _RUNS, runs.take)
    except (ValueError, RecursionError):
        raise InputError(f"{name}: this is not JSON", hint=_NO_JSON) from None
    if isinstance(value, dict) and "scenarios" in value and _RUNS not in value:
        return as_written(value, Exploration, "exploration", name)
    if isinstance(value, dict) and "taken_for" in value:
        # What `check` says is made of a report, which baselines and comparisons are about.
        report = as_written(value, CheckUp, "checkup", name).report
        for run in report.runs:
            runs.add(run)
    else:
        report = as_written(value, Report, "report", name)
        report = report.model_copy(update={_RUNS: runs.log.runs()})
    runs.check(report)
    return report


class _Runs:
    """Takes the runs of a report one by one; what is wrong with one is said after the rest."""

    def __init__(self, name: str) -> None:
        self.log = RunLog()
        self._name = name
        self._error: InputError | None = None
        self._taken = 0

    def take(self, value: Any) -> None:
        """Take one as plain data."""
        if self._error is None:
            try:
                self.add(RunReport.model_validate(value))
            except ValidationError as error:
                first = error.errors()[0]
                place = ".".join(map(str, (_RUNS, self._taken, *first["loc"])))
                said = f"{self._name}: this is not a report: {place}: {first['msg']}"
                self._error = InputError(said)
        self._taken += 1

    def add(self, run: RunReport) -> None:
        """Take one, whose verdict has to be that of its findings: no other run came to it.

        A gate goes by the findings, a merge by the runs, a summary by the whole: they must agree.
        """
        self.log.add(run)
        self._check_timeline(run)
        comes_to = verdict_of(run.findings)
        if run.verdict is not comes_to and self._error is None:
            self._error = InputError(
                f"{self._name}: {run.scenario} with seed {run.seed} is said to be"
                f" {run.verdict}, and its findings come to {comes_to}",
                hint=_CHANGED,
            )

    def _check_timeline(self, run: RunReport) -> None:
        """Hold what is drawn of a run to the catalogue of event kinds, as its trace is."""
        marks = run.timeline
        try:
            check_events(TraceEvent(m.seq, m.at_ns, m.lane, m.kind, m.payload) for m in marks)
        except EventError as error:
            if self._error is None:
                place = f"{_RUNS}.{self._taken}.timeline"
                said = f"{self._name}: this is not a report: {place}: {error}"
                self._error = InputError(said, hint=_CHANGED)

    def check(self, report: Report) -> None:
        """Refuse a report with a run that is wrong, or whose verdict is not that of its runs."""
        if self._error is not None:
            raise self._error
        verdicts = tuple(run.verdict for run in report.runs)
        whole = overall((*verdicts, *(finding.verdict for finding in report.seeds_findings)))
        if report.verdict is not whole or report.totals != dict(Counter(map(str, verdicts))):
            raise InputError(
                f"{self._name}: the report says {report.verdict}"
                f" ({_counted(report.totals)}), but its runs give {whole}"
                f" ({_counted(Counter(map(str, verdicts)))})",
                hint=_CHANGED,
            )


def _counted(totals: Mapping[str, int]) -> str:
    return ", ".join(f"{number} {name}" for name, number in sorted(totals.items())) or "no run"
