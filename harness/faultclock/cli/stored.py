"""Reports that commands read again: from a file, or from what another command writes."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from faultclock.errors import InputError

if TYPE_CHECKING:
    from faultclock.model.report.finding import Report

_STDIN = "-"


def stored_report(path: str) -> Report:
    """Return the report of a run in the JSON file at `path`; `-` is standard input.

    Raises:
        InputError: it cannot be read, or is none.
    """
    from faultclock.load.report import load_report, read_report
    from faultclock.model.report.finding import Report

    is_piped = path == _STDIN
    found = read_report(sys.stdin.buffer, "standard input") if is_piped else load_report(path)
    if isinstance(found, Report):
        return found
    raise InputError(
        f"{path}: this is the report of an exploration",
        hint="a report of `faultclock run` is needed: its runs are the same every time",
    )
