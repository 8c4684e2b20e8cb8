"""`faultclock judge`: judge stored traces, ours or the event logs of other systems."""

from __future__ import annotations

import shlex
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from faultclock.cli.options import parse_readings, readings_option
from faultclock.cli.outputs import Outputs
from faultclock.cli.report_options import report_options
from faultclock.cli.say import say
from faultclock.errors import InputError

if TYPE_CHECKING:
    from faultclock.model.error_model.error_model import ErrorModel
    from faultclock.model.report.finding import RunReport
    from faultclock.model.trace.trace import Trace

_EPILOG = """\
TRACE is a trace of Faultclock, or, with --map, the event log of another system as JSON Lines. A map
says in a YAML file which event of the log is which event of the error model, and where the log has
its times, errors and messages; `docs/foreign-traces.md` shows how to write one, and
`faultclock list maps` has those that are shipped.

What such a log cannot show is NOT APPLICABLE, with the reason. A log in which a run lacks its
beginning or its end may have been cut, and proves nothing; with --complete you vouch that it is
whole, and what is missing is for the error model to judge.

\b
Examples:
  faultclock judge traces/rate-limits/retry-after-integer.seed-0.jsonl --model relavium
  faultclock judge run-events.jsonl --map afk --complete
  faultclock judge production.jsonl --map my-map.yaml --model my-model.yaml --html report.html

Exit codes: 0 conforms, 1 something fails, 2 wrong usage or a file that cannot be read,
3 nothing fails but something is inconclusive, or nothing could be judged.
"""


@click.command(name="judge", epilog=_EPILOG)
@click.argument("traces", nargs=-1, required=True, metavar="TRACE...")
@click.option(
    "--model",
    metavar="ID|FILE",
    help="Error model to judge by. The default is the map's own, or common.",
)
@click.option("--map", "map_", metavar="ID|FILE", help="How the log of another system is read.")
@click.option("--complete", is_flag=True, help="The log is whole: nothing was cut off.")
@readings_option
@report_options
@click.option("-q", "--quiet", is_flag=True, help="Only the totals: no table.")
def command(
    traces: tuple[str, ...],
    model: str | None,
    map_: str | None,
    complete: bool,
    readings: tuple[str, ...],
    reports: dict[str, str],
    quiet: bool,
) -> int:
    """Judge traces that were stored, by any error model, without running anything."""
    outputs = Outputs(reports=reports).check()
    chosen = parse_readings(readings)
    started_s = time.perf_counter()
    if complete and map_ is None:
        raise click.UsageError("--complete goes with --map: a trace of ours says itself that it is")
    error_model, model_spec, read = _read(traces, model, map_, chosen, complete=complete)
    if map_ is not None and not quiet:
        _tell_of_unnamed(traces, read, map_, error_model)

    from faultclock.cli.selection import without_root
    from faultclock.oracle.judge import Judge
    from faultclock.run.report import assemble, run_report

    again = ["--model", without_root(model_spec)]
    again += ["--map", without_root(map_)] if map_ is not None else []
    again += ["--complete"] if complete else []
    again += [word for pair in sorted(chosen.items()) for word in ("--reading", "=".join(pair))]
    judge = Judge(error_model)
    runs: list[RunReport] = []
    for path, trace in zip(traces, read, strict=True):
        replay = shlex.join(["faultclock", "judge", without_root(path), *again])
        judgement = judge.judge(trace)
        run = run_report(trace, judgement, replay=replay, trace_file=None)
        # All logs of a format are one scenario: which of them it is, the name of the file says.
        named = {} if map_ is None else {"scenario": f"{run.scenario}/{Path(path).name}"}
        runs.append(run.model_copy(update=named))
    report = assemble(
        model=error_model,
        readings=chosen,
        subject=read[0].header.subject,
        runs=tuple(runs),
        seeds_findings=(),
    )

    from faultclock.cli.closing import closed

    return closed(report, outputs, started_s=started_s, quiet=quiet)


def _tell_of_unnamed(
    paths: tuple[str, ...], read: tuple[Trace, ...], map_: str, model: ErrorModel
) -> None:
    """Say on standard error which events of the logs no rule can speak of."""
    from faultclock.load.foreign.map import load_foreign_map, unnamed_events

    foreign = load_foreign_map(map_)
    for path, trace in zip(paths, read, strict=True):
        unnamed = unnamed_events(trace, foreign, model)
        if unnamed:
            names = ", ".join(f"{name} ({times})" for name, times in sorted(unnamed.items()))
            say(f"note: {path}: named by neither map nor error model: {names}", err=True)


def _read(
    paths: tuple[str, ...],
    model: str | None,
    map_: str | None,
    readings: dict[str, str],
    *,
    complete: bool,
) -> tuple[ErrorModel, str, tuple[Trace, ...]]:
    """Return the error model, what it was loaded by, and the traces."""
    from faultclock.cli.options import DEFAULT_MODEL
    from faultclock.load.error_model import load_error_model
    from faultclock.load.foreign.log import read_foreign_log
    from faultclock.load.foreign.map import check_foreign_map, load_foreign_map
    from faultclock.load.trace_file import read_trace
    from faultclock.load.yaml_file import read_document

    if map_ is None:
        spec = model or DEFAULT_MODEL
        error_model = load_error_model(spec, readings)
        traces = tuple(read_trace(path) for path in paths)
    else:
        foreign = load_foreign_map(map_)
        spec = model or foreign.model
        error_model = load_error_model(spec, readings)
        if model is None and Path(map_).is_file():
            check_foreign_map(read_document(map_), foreign, error_model)
        traces = tuple(read_foreign_log(path, foreign, complete=complete) for path in paths)
    first = traces[0].header.subject.id
    for path, trace in zip(paths, traces, strict=True):
        if trace.header.subject.id != first:
            raise InputError(
                f"{path}: the trace is of {trace.header.subject.id}, and the first one of {first}",
                hint="a report is about one subject: judge the others in a command of their own",
            )
    return error_model, spec, traces
