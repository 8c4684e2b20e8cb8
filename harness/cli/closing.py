"""The end of a command that judges: write the reports, tell the summary, choose the exit code."""

from __future__ import annotations

import sys
import time

from harness.cli.exits import exit_code_of
from harness.cli.outputs import Outputs
from harness.model.finding import Report

__all__ = ["closed"]


def closed(report: Report, outputs: Outputs, *, started_s: float, quiet: bool) -> int:
    """Write what was asked for, say what it comes to, and return the exit code.

    Args:
        started_s: `time.perf_counter()` at the beginning of the work.

    Raises:
        InputError: a report cannot be written.
    """
    wall_s = time.perf_counter() - started_s
    written = outputs.write(report)

    # Imported here: whoever only asks for help pays for no table.
    from harness.cli.summary import write_summary

    write_summary(
        report,
        written=written,
        wall_s=wall_s,
        quiet=quiet,
        out=sys.stderr if outputs.takes_stdout else sys.stdout,
    )
    return exit_code_of(report)
