"""Reports that commands read again: from a file, or from what another command writes."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from harness.errors import InputError

if TYPE_CHECKING:
    from harness.model.finding import Report

__all__ = ["stored_report"]

_STDIN = "-"


def stored_report(path: str) -> Report:
    """Return the report of a run in the JSON file at `path`; `-` is standard input.

    Raises:
        InputError: it cannot be read, or is none.
    """
    from harness.load.report import load_report, parse_report
    from harness.model.finding import Report

    if path == _STDIN:
        found = parse_report(sys.stdin.buffer.read(), "standard input")
    else:
        found = load_report(path)
    if isinstance(found, Report):
        return found
    raise InputError(
        f"{path}: this is the report of an exploration",
        hint="a report of `faultclock run` is needed: its runs are the same every time",
    )
