"""`faultclock merge`: one report of the parts of a run that was dealt out over machines."""

from __future__ import annotations

import os
import time
from datetime import date

import click

from faultclock.cli.gating import baseline_option, gate_of, own_scenarios_option, today_option
from faultclock.cli.outputs import Outputs
from faultclock.cli.report_options import report_options
from faultclock.cli.say import say
from faultclock.errors import InputError

_EPILOG = """\
REPORT is what `faultclock run --shard I/N --json` wrote, in any order. Together they give
the report of the undivided run, byte for byte. Reports of whole runs are joined too, where they
have no scenario in common.

A part that is missing or there twice, parts of different runs, and a run with two different traces
are refused: nothing is written, and the exit code is 2.

\b
Examples:
  faultclock merge part-1.json part-2.json --html report.html
  faultclock merge parts/*.json --baseline known.yaml --junit report.xml

Exit codes: those of `faultclock run`, for the whole.
"""


@click.command(name="merge", epilog=_EPILOG)
@click.argument("reports_read", nargs=-1, required=True, metavar="REPORT...")
@baseline_option
@today_option
@own_scenarios_option
@report_options
@click.option("-q", "--quiet", is_flag=True, help="Only the totals: no table.")
def command(
    reports_read: tuple[str, ...],
    baseline: str | None,
    today: date | None,
    own_scenarios: tuple[str, ...],
    reports: dict[str, str],
    quiet: bool,
) -> int:
    """Join the reports of the parts of a run."""
    outputs = Outputs(reports=reports).check()
    gate = gate_of(baseline, today)
    started_s = time.perf_counter()
    from faultclock.cli.stored import stored_report
    from faultclock.history.gate.merge import merged

    places = [os.path.realpath(path) for path in reports_read]
    for index, path in enumerate(reports_read):
        if places[index] in places[:index]:
            raise InputError(f"{path} is there twice")
    parts = {path: stored_report(path) for path in reports_read}
    report = merged(parts)
    if gate is not None:
        report = gate.held(report, own=own_scenarios)
    elif any(part.gate is not None for part in parts.values()):
        say(
            "note: the parts were compared with a baseline, and the whole is not: add --baseline",
            err=True,
        )

    from faultclock.cli.closing import closed

    return closed(report, outputs, started_s=started_s, quiet=quiet)
