"""Reads a report that was written before as JSON: of `run`, or of an exploration."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping
from typing import Any

from harness.errors import InputError
from harness.load.json_file import as_written, parse_json, read_json
from harness.model.exploration import Exploration
from harness.model.finding import Report, overall, verdict_of

__all__ = ["load_report", "parse_report"]

#: Sweeps have thousands of runs, each with its findings and a timeline.
_BYTES_MAX = 1_000_000_000
_CHANGED = "it was changed after it was written: make it again"


def load_report(path: str | os.PathLike[str]) -> Report | Exploration:
    """Return the report in the JSON file at `path`.

    Raises:
        InputError: the file cannot be read, or is no report of a format that this version knows.
    """
    value = read_json(path, bytes_max=_BYTES_MAX, hint="write the report with --json FILE")
    return _of(value, path)


def parse_report(content: bytes, name: str) -> Report | Exploration:
    """Return the report that `content` holds; `name` is for messages.

    Raises:
        InputError: it is no report of a format that this version knows.
    """
    return _of(parse_json(content, name, hint="write the report with --json -"), name)


def _of(value: Any, path: str | os.PathLike[str]) -> Report | Exploration:
    if isinstance(value, dict) and "scenarios" in value and "runs" not in value:
        return as_written(value, Exploration, "exploration", path)
    report = as_written(value, Report, "report", path)
    _check_sound(report, path)
    return report


def _check_sound(report: Report, path: str | os.PathLike[str]) -> None:
    """Refuse a report whose verdicts are not those of its findings: nobody's run came to it.

    A gate goes by the findings, a merge by the runs, a summary by the whole: they must agree.
    """
    for run in report.runs:
        if run.verdict is not verdict_of(run.findings):
            raise InputError(
                f"{os.fspath(path)}: {run.scenario} with seed {run.seed} is said to be"
                f" {run.verdict}, and its findings come to {verdict_of(run.findings)}",
                hint=_CHANGED,
            )
    verdicts = tuple(run.verdict for run in report.runs)
    whole = overall((*verdicts, *(finding.verdict for finding in report.seeds_findings)))
    if report.verdict is not whole or report.totals != dict(Counter(map(str, verdicts))):
        raise InputError(
            f"{os.fspath(path)}: the report is said to be {report.verdict}"
            f" ({_counted(report.totals)}), and its runs come to {whole}"
            f" ({_counted(Counter(map(str, verdicts)))})",
            hint=_CHANGED,
        )


def _counted(totals: Mapping[str, int]) -> str:
    return ", ".join(f"{number} {name}" for name, number in sorted(totals.items())) or "no run"
