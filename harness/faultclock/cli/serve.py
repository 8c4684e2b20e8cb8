"""`faultclock serve`: a scenario's provider on a real socket, for programs of any language."""

from __future__ import annotations

import shlex
import sys
import time
from typing import TYPE_CHECKING

import click

from faultclock.cli.exits import OK
from faultclock.cli.options import DEFAULT_MODEL, parse_readings, readings_option
from faultclock.cli.outputs import Outputs
from faultclock.cli.report_options import report_options
from faultclock.cli.say import say
from faultclock.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable

    from faultclock.live.serving import Serving, Where
    from faultclock.model.report.finding import Report
    from faultclock.model.scenario.scenario import Scenario
    from faultclock.model.trace.trace import Trace
    from faultclock.sim.kernel.recorder import Fact
    from faultclock.subjects.binding import Binding

_EPILOG = """\
The provider of SCENARIO (an id, or a file) listens at a port of 127.0.0.1 in real time and fails
as the scenario says. Point any program at it. Everything that happens is recorded; Ctrl-C ends it,
and --trace writes the trace, which `faultclock judge` reads.

With a COMMAND after `--`, that program is run with the base URL in its environment, and judged when
it has ended. Of a program only the exit code is known, so what depends on how a call came out is
not applicable; with --reply-from-stdout, what it prints is its reply.

\b
Real time is not virtual time. Such a trace says `time_base: wall`:
  a wait that was too short is a finding, as ever (5 ms of allowance)
  a wait that was too long is none, and deadlines and jitter are not judged
  names that do not resolve, and refused or silent connections, are refused

\b
Examples:
  faultclock serve rate-limits/retry-after-integer
  faultclock serve rate-limits/retry-after-integer --port 8080 --trace served.jsonl
  faultclock serve rate-limits/retry-after-integer --html report.html -- node my-agent.js
  faultclock serve my/scenario.yaml --dialect openai-chat --once -- python3 client.py

A program that makes several calls gives each its own path: the base URL of the call ask/2 is
http://127.0.0.1:PORT/call/ask-2/v1, and FAULTCLOCK_CALLS has all of them as JSON. A request
that names no call belongs to the first one.

Exit codes: 0 conforms, or nothing was judged, 1 something fails, 2 wrong usage, or the scenario
cannot be served, 3 nothing fails but something is inconclusive, or nothing could be judged.
"""


@click.command(name="serve", epilog=_EPILOG)
@click.argument("scenario", metavar="SCENARIO")
@click.argument("program", nargs=-1, type=click.UNPROCESSED, metavar="[-- COMMAND...]")
@click.option(
    "--port",
    type=click.IntRange(0, 65_535),
    default=0,
    metavar="N",
    help="Port of 127.0.0.1. The default is any that is free.",
)
@click.option(
    "--dialect",
    metavar="NAME",
    help="API to speak, where the scenario names none. The default is openai-chat.",
)
@click.option("--variant", metavar="NAME", help="Which scenario of a file with a matrix.")
@click.option(
    "--seed",
    type=click.IntRange(0, 2**32 - 1),
    metavar="N",
    help="Seed of ids and of all else that is drawn. The default is the scenario's own.",
)
@click.option("--once", is_flag=True, help="End with the first good answer.")
@click.option("--name", metavar="NAME", help="What the program is called in trace and report.")
@click.option(
    "--reply-from-stdout",
    is_flag=True,
    help="What COMMAND prints is its reply and nothing else: judge that as well.",
)
@click.option("--trace", metavar="FILE", help="Write the trace here when it is over.")
@click.option(
    "--model",
    metavar="ID|FILE",
    help=f"Error model to judge by. The default is {DEFAULT_MODEL}.",
)
@readings_option
@report_options
@click.option("-q", "--quiet", is_flag=True, help="No progress and no table.")
def command(
    scenario: str,
    program: tuple[str, ...],
    port: int,
    dialect: str | None,
    variant: str | None,
    seed: int | None,
    once: bool,
    name: str | None,
    reply_from_stdout: bool,
    trace: str | None,
    model: str | None,
    readings: tuple[str, ...],
    reports: dict[str, str],
    quiet: bool,
) -> int:
    """Serve a scenario's provider on a real socket, to a program of any language."""
    outputs = Outputs(reports=reports).check()
    if reply_from_stdout and not program:
        raise click.UsageError("--reply-from-stdout goes with a COMMAND after --")
    judges = bool(program or model or reports)
    judging = _judging(model or DEFAULT_MODEL, parse_readings(readings)) if judges else None
    found, binding = _found(
        scenario, dialect, variant, name or ("program" if program else "client")
    )

    from faultclock.live.serving import Serving

    started_s = time.perf_counter()
    served = _served(
        Serving(
            scenario=found,
            binding=binding,
            seed=found.seed if seed is None else seed,
            port=port,
            command=program,
            output=sys.stderr.buffer if outputs.takes_stdout else None,
            replies=reply_from_stdout,
            once=once,
            on_ready=lambda where: _tell_where(
                found, where, bool(program), quiet, err=bool(program) or outputs.takes_stdout
            ),
            on_fact=_silent if quiet else _tell_fact,
        ),
        trace,
        quiet=quiet,
    )
    if judging is None:
        return OK

    from faultclock.cli.closing import closed

    again = ["faultclock", "serve", scenario, "--model", model or DEFAULT_MODEL]
    report = judging(served, again, program)
    return closed(report, outputs, started_s=started_s, quiet=quiet)


def _served(serving: Serving, path: str | None, *, quiet: bool) -> Trace:
    """Serve to the end, write the trace where one is wanted, and return it."""
    from faultclock.live.serving import serve
    from faultclock.load.files import check_output_file
    from faultclock.load.trace_file import write_trace

    if path is not None:
        check_output_file(path)
    trace = serve(serving)
    if path is not None:
        write_trace(path, trace)
        if not quiet:
            say(f"wrote {path}: {trace.footer.events} events", err=True)
    return trace


def _judging(
    model: str, readings: dict[str, str]
) -> Callable[[Trace, list[str], tuple[str, ...]], Report]:
    """Return what judges a trace; the error model is read now, before the wait."""
    from faultclock.cli.selection import without_root
    from faultclock.load.error_model import load_error_model
    from faultclock.oracle.judge import Judge
    from faultclock.run.report import assemble, run_report

    error_model = load_error_model(model, readings)

    def report(trace: Trace, again: list[str], program: tuple[str, ...]) -> Report:
        words = [without_root(word) for word in again]
        words += ["--seed", str(trace.header.seed)]
        words += [
            word for pair in sorted(readings.items()) for word in ("--reading", "=".join(pair))
        ]
        words += ["--", *program] if program else []
        judgement = Judge(error_model).judge(trace)
        run = run_report(trace, judgement, replay=shlex.join(words), trace_file=None)
        return assemble(
            model=error_model,
            readings=readings,
            subject=trace.header.subject,
            runs=(run,),
            seeds_findings=(),
        )

    return report


def _found(
    selector: str, dialect: str | None, variant: str | None, name: str
) -> tuple[Scenario, Binding]:
    """Return the one scenario that is to be served, and who asks it."""
    from faultclock.cli.selection import of_variant
    from faultclock.fakes.dialects import dialect_named
    from faultclock.live.servable import check_servable, program_binding
    from faultclock.load.scenario import find_scenarios
    from faultclock.model.scenario.provider_script import DEFAULT_DIALECT
    from faultclock.run.bind_scenario import bind_scenario

    runnable = [item for found in find_scenarios((selector,)) for item in found.runnable]
    chosen = of_variant(runnable, variant)
    if len(chosen) != 1:
        raise InputError(
            f"{selector} selects {len(chosen)} scenarios, and one can be served at a time",
            hint="name one by its id or file, and one of a matrix by --variant:"
            " `faultclock list scenarios`",
        )
    (scenario,) = chosen
    check_servable(scenario)
    spoken_here = dialect or scenario.provider.dialect or DEFAULT_DIALECT
    dialect_named(spoken_here)
    binding = program_binding(name, spoken_here)
    return bind_scenario(scenario, binding), binding


def _tell_where(
    scenario: Scenario, where: Where, has_program: bool, quiet: bool, *, err: bool
) -> None:
    if has_program and quiet:
        return
    # A program's own output, and a report's, is not mixed with ours.
    dialect = scenario.provider.dialect
    say(f"serving {scenario.id} ({dialect}) at {where.base_url}", err=err)
    if has_program:
        return
    for name, value in where.variables.items():
        if name != "FAULTCLOCK_CALLS":
            say(f"  export {name}={shlex.quote(value)}", err=err)
    if len(where.by_call) > 1:
        say("a base URL for each call:", err=err)
        for call, url in where.by_call.items():
            say(f"  {call}  {url}", err=err)
    if not quiet:
        say("Ctrl-C ends it.", err=True)


def _silent(_: Fact) -> None:
    """Say nothing."""


def _tell_fact(fact: Fact) -> None:
    line = told(fact)
    if line:
        say(line, err=True)


def told(fact: Fact) -> str:
    """Return a fact as a line for a person who watches; empty for one that says little."""
    _, at_ns, _, kind, payload = fact
    match kind:
        case "http.request":
            what = f"{payload['method']} {payload['target']}, attempt {payload['attempt']}"
        case "fault.fired":
            what = f"fault {payload['fault']} ({payload['fault_kind']})"
        case "http.response":
            error = payload["error"] or {}
            named = error.get("code") or error.get("type")
            what = f"answered {payload['status']}{f' {named}' if named else ''}"
            if payload["retry_after"] is not None:
                what += f", Retry-After: {payload['retry_after']}"
        case "http.exchange_ended":
            if payload["how"] in ("complete", "clean_end"):
                return ""
            what = f"ended: {payload['how']}"
        case "http.malformed":
            what = f"no HTTP request: {payload['reason']}"
        case "call.returned":
            what = "the program ended with a reply"
        case "call.left":
            code, number = payload["exit_code"], payload["signal"]
            if (code, number) == (None, None):
                return ""
            what = f"the program ended with {f'code {code}' if number is None else number}"
        case _:
            return ""
    return f"{at_ns / 1e9:9.3f}s  {payload.get('call') or 'no call'}  {what}"
