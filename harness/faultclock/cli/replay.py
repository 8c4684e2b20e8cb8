"""`faultclock replay`: run again what was run before, and say whether it is the same."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import click

from faultclock.cli.exits import NONCONFORMING, OK
from faultclock.cli.options import (
    inline_option,
    memory_limit_option,
    parse_readings,
    readings_option,
    wall_limit_option,
)
from faultclock.cli.say import say
from faultclock.cli.target_options import subject_options
from faultclock.errors import InputError

if TYPE_CHECKING:
    from faultclock.cli.outputs import Outputs
    from faultclock.model.trace.trace import Trace
    from faultclock.run.replay import ReplayResult

_FINDING = re.compile(r"[Ff]-[0-9a-f]{10,12}")

_EPILOG = """\
WHAT is a trace file, a token (fc2.…), or the id of a finding in a report that was written with
--json (F-… of `faultclock run`, f-… of `faultclock explore`).

A trace is run again and compared byte by byte: identical, or the first event that differs. A token
or a finding has no trace to be compared with: it is run twice, in processes of their own, and
judged. A trace or a token names its subject; one from a file of yours needs --subject, since
neither holds a path. A report knows its subject, its model and its scenario's file.

\b
Examples:
  faultclock run rate-limits --subject openai-async --trace-dir traces --json report.json
  faultclock replay traces/rate-limits/retry-after-integer.seed-0.jsonl
  faultclock replay F-3fa9c02e41 --report report.json
  faultclock replay fc2.be1ahAFr… --subject my_adapter.py:subject

Exit codes: 0 every byte is the same, and the subject conforms as far as it is judged; 1 something
differs or fails; 2 wrong usage, or the scenario was changed since; 3 inconclusive.
"""


@click.command(name="replay", epilog=_EPILOG)
@click.argument("what", metavar="WHAT")
@click.option(
    "--subject", metavar="ID|FILE.py:NAME", help="Subject to run, in place of the one it names."
)
@subject_options
@click.option("--report", metavar="FILE", help="Report (JSON) that has the finding.")
@click.option(
    "--scenario", metavar="FILE", help="File of the scenario, where it is none that is shipped."
)
@click.option(
    "--model",
    metavar="ID|FILE",
    help="Error model to judge by. The default is the report's own, or common.",
)
@readings_option
@click.option(
    "--raises",
    metavar="EXCEPTION|FILE",
    help="Search for this exception, not for what breaks the error model, as `explore` does.",
)
@click.option("--trace-dir", metavar="DIR", help="Store the trace of this run below this folder.")
@inline_option
@wall_limit_option
@memory_limit_option
def command(
    what: str,
    subject: str | None,
    report: str | None,
    scenario: str | None,
    model: str | None,
    readings: tuple[str, ...],
    raises: str | None,
    trace_dir: str | None,
    inline: bool,
    wall_limit: float | None,
) -> int:
    """Run a stored trace, a token or a report's finding again."""
    from faultclock.cli.outputs import Outputs
    from faultclock.model.report.token import is_token

    outputs = Outputs(trace_dir=trace_dir).check()
    token = is_token(what) and not _is_there(what)
    if report is None and not token:
        only = (
            *(("--scenario", scenario), ("--model", model)),
            *(("--reading", readings), ("--raises", raises)),
        )
        for name, value in only:
            if value:
                raise click.UsageError(f"{name} goes with a token or a finding, and not a trace")
        if _FINDING.fullmatch(what) and not Path(what).exists():
            raise InputError(
                f"{what} is a finding, and no file", hint="say which report has it: --report FILE"
            )
        return _trace(what, subject, outputs, inline=inline, wall_limit_s=wall_limit)
    if inline:
        raise click.UsageError("--inline goes with a trace: a token is run in two processes")
    from faultclock.cli.replay_at import Wanted, of_finding, of_token, replay_at

    wanted = of_token(what) if report is None else of_finding(what, report)
    given = Wanted(
        coordinates=wanted.coordinates,
        subject=subject or wanted.subject,
        scenario=scenario or wanted.scenario,
        model=model or wanted.model,
        readings=parse_readings(readings) or (wanted.readings if model is None else {}),
        raises=raises or wanted.raises,
    )
    return replay_at(given, outputs, wall_limit_s=wall_limit)


def _is_there(path: str) -> bool:
    try:
        return Path(path).exists()
    except OSError:
        # Long tokens are longer than the name of a file may be.
        return False


def _trace(
    path: str,
    subject: str | None,
    outputs: Outputs,
    *,
    inline: bool,
    wall_limit_s: float | None,
) -> int:
    from faultclock.load.trace_file import read_trace

    recorded = read_trace(path)
    if recorded.header.time_base == "wall":
        raise InputError(
            f"{path} was recorded in real time, which cannot be repeated",
            hint="judge it: faultclock judge",
        )
    spec = subject or _own_subject(recorded)

    from faultclock.cli.preparing import prepared
    from faultclock.run.replay import replay

    binding = prepared(spec, inline=inline, wall_limit_s=wall_limit_s).binding
    result = replay(recorded, binding, isolate=not inline, wall_limit_s=wall_limit_s)
    _tell(recorded, result)
    if (store := outputs.trace_writer()) is not None:
        say(f"  written: {store(result.trace)}")
    return OK if result.identical else NONCONFORMING


def _own_subject(trace: Trace) -> str:
    subject = trace.header.subject
    if subject.source_digest is not None:
        raise InputError(
            f"the trace is of {subject.id!r}, which came from a file",
            hint="say where it is now: --subject path/to/file.py:name",
        )
    return subject.id


def _tell(recorded: Trace, result: ReplayResult) -> None:
    header = recorded.header
    from faultclock.run.compare import differences, other_circumstances

    what = f"{header.scenario.id}, seed {header.seed}, {header.subject.id}"
    if result.identical:
        events = recorded.footer.events
        say(f"identical: {what}: {events} events, digest {recorded.footer.digest[:12]}")
        return
    say(f"different: {what}: line {result.line_number} is the first that differs")
    for line in differences(result.recorded, result.observed):
        say(f"  {line}")
    for line in () if result.line_number == 1 else other_circumstances(recorded, result.trace):
        say(f"  {line}")
