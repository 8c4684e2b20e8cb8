"""The end of a command that judges: write the reports, print the summary, choose the exit code."""

from __future__ import annotations

import sys
import time

from faultclock.cli.exits import exit_code_of
from faultclock.cli.outputs import Outputs
from faultclock.model.report.finding import Report


def closed(
    report: Report, outputs: Outputs, *, started_s: float, quiet: bool, group_by: str = "scenario"
) -> int:
    """Write what was asked for, say what it comes to, and return the exit code.

    Args:
        started_s: `time.perf_counter()` at the beginning of the work.
        group_by: what a row of the table stands for.

    Raises:
        InputError: a report cannot be written.
    """
    wall_s = time.perf_counter() - started_s
    written = outputs.write(report)

    # Imported here: `--help` should not load the table.
    from faultclock.cli.summary import write_summary

    write_summary(
        report,
        written=written,
        wall_s=wall_s,
        quiet=quiet,
        group_by=group_by,
        out=sys.stderr if outputs.takes_stdout else sys.stdout,
    )
    return exit_code_of(report)
