"""`faultclock run`: scenarios times seeds against one subject, judged by one error model."""

from __future__ import annotations

import re
import time
from typing import TYPE_CHECKING, Any

import click

from harness.cli.gating import baseline_option, gate_of, own_scenarios_option, today_option
from harness.cli.options import (
    inline_option,
    jobs_option,
    model_option,
    parse_readings,
    readings_option,
    require_subject,
    wall_limit_option,
)
from harness.cli.outputs import Outputs
from harness.cli.report_options import report_options

if TYPE_CHECKING:
    from datetime import date

    from harness.cli.gating import Gate
    from harness.cli.kept import KeptRuns
    from harness.load.scenario import LoadedScenario
    from harness.model.finding import Report, RunReport, Shard
    from harness.run.suite import SuiteRequest

__all__ = ["command"]

_EPILOG = """\
SCENARIO is an id (rate-limits/retry-after-integer), a family (rate-limits), a quoted pattern
("*/retry-after-*"), a file or a folder. Without one, all shipped scenarios are run that are for
subjects of this role: provider adapters, runtimes, tools, session stores or extensions.

\b
Examples:
  faultclock run --subject openai-async
  faultclock run rate-limits --subject openai-sync --html report.html
  faultclock run my/scenario.yaml --subject my_adapter.py:subject --seeds 50
  faultclock run --subject reference --json - | jq .totals
  faultclock run --subject openai-stud --reading cut-answers=unmapped
  faultclock run --subject my_adapter.py:subject --history verdicts.sqlite
  faultclock run --subject my_adapter.py:subject --baseline known.yaml
  faultclock run --subject my_adapter.py:subject --shard 1/4 --json part-1.json

\b
Exit codes: 0 all conform, 1 something fails, 2 wrong usage, 3 nothing fails
but something is inconclusive. A warning (a SHOULD) does not change the code.
With --baseline, 1 is for what nobody knew of, and for entries that are stale.
"""


def _shard(_: click.Context, __: click.Parameter, value: str | None) -> Shard | None:
    if value is None:
        return None
    from harness.model.finding import Shard

    found = re.fullmatch(r"([0-9]{1,4})/([0-9]{1,4})", value)
    number, count = (int(part) for part in found.groups()) if found else (0, 0)
    if not 1 <= number <= count:
        raise click.BadParameter(f"{value!r} is no part of a whole: write it like 2/4")
    return Shard(number=number, count=count)


@click.command(name="run", epilog=_EPILOG)
@click.argument("scenarios", nargs=-1, metavar="[SCENARIO]...")
@click.option(
    "--subject",
    metavar="ID|FILE.py:NAME",
    help="Code under test: a shipped subject, or yours as path/to/file.py:name.",
)
@model_option
@readings_option
@click.option(
    "--seed",
    type=click.IntRange(0, 2**32 - 1),
    metavar="N",
    help="First seed. The default is each scenario's own.",
)
@click.option(
    "--seeds",
    type=click.IntRange(1, 100_000),
    metavar="N",
    help="How many consecutive seeds. The default is each scenario's own.",
)
@click.option(
    "--variant",
    metavar="NAME",
    help="Run only this one of the scenarios that a file with a matrix stands for.",
)
@click.option(
    "--crash-at-event",
    type=click.IntRange(min=1),
    metavar="N",
    help="Kill the runtime right after event N of the trace, then resume.",
)
@click.option(
    "--no-crash-everywhere",
    is_flag=True,
    help="Run a scenario that says `crash_everywhere` only as it is, without a crash at each of "
    "its events.",
)
@report_options
@click.option("--trace-dir", metavar="DIR", help="Store each trace below this folder.")
@click.option(
    "--history",
    metavar="FILE",
    help="Add the verdicts to this history, for `faultclock history`.",
)
@baseline_option
@today_option
@own_scenarios_option
@click.option(
    "--shard",
    callback=_shard,
    metavar="I/N",
    help="Run only part I of N; all seeds of a scenario are in one part. `faultclock merge` joins "
    "the JSON reports of all parts.",
)
@inline_option
@jobs_option("Worker processes.")
@wall_limit_option
@click.option("-q", "--quiet", is_flag=True, help="Only the totals: no progress, no table.")
def command(
    scenarios: tuple[str, ...],
    subject: str | None,
    model: str,
    readings: tuple[str, ...],
    seed: int | None,
    seeds: int | None,
    variant: str | None,
    crash_at_event: int | None,
    no_crash_everywhere: bool,
    reports: dict[str, str],
    trace_dir: str | None,
    history: str | None,
    baseline: str | None,
    today: date | None,
    own_scenarios: tuple[str, ...],
    shard: Shard | None,
    inline: bool,
    jobs: int,
    wall_limit: float | None,
    quiet: bool,
) -> int:
    """Run scenarios against a subject and judge what it did.

    Each run is one scenario and one seed in a simulated world of its own. The result is a table
    here and, on demand, a report with a timeline and the evidence of every finding.
    """
    outputs = Outputs(reports=reports, trace_dir=trace_dir)
    outputs.check()
    gate = gate_of(baseline, today)
    kept = _kept(history)
    with outputs.keeping_stdout():
        found, request = _request(
            scenarios,
            require_subject(subject),
            model,
            parse_readings(readings),
            gate=gate,
            shard=shard,
            variant=variant,
            crash_at_event=crash_at_event,
            sweep=not no_crash_everywhere,
            seed=seed,
            seeds=seeds,
            isolate=not inline,
            jobs=jobs,
            wall_limit_s=wall_limit,
        )
        started_s = time.perf_counter()
        report = _run(request, outputs, kept, quiet)
    if gate is not None:
        report = gate.held(report, found, own_scenarios)

    from harness.cli.closing import closed

    code = closed(report, outputs, started_s=started_s, quiet=quiet)
    if kept is not None and report.runs:
        number = kept.write(request)
        click.echo(f"  kept: session {number} of {history}", err=outputs.takes_stdout)
    return code


def _kept(path: str | None) -> KeptRuns | None:
    if path is None:
        return None
    # Imported here: a run that nobody keeps needs no database.
    from harness.cli.kept import KeptRuns

    return KeptRuns(path)


def _request(
    selectors: tuple[str, ...],
    subject: str,
    model: str,
    readings: dict[str, str],
    *,
    gate: Gate | None,
    shard: Shard | None,
    variant: str | None,
    crash_at_event: int | None,
    **options: Any,
) -> tuple[tuple[LoadedScenario, ...], SuiteRequest]:
    """Load what was named, the subject last: it is the slowest, and the files may be wrong.

    Returns:
        All that was selected, whoever runs it; and what is to be run here.
    """
    from harness.load.error_model import load_error_model
    from harness.load.scenario import find_scenarios, shipped_scenarios

    error_model = load_error_model(model, readings)
    found = find_scenarios(selectors)
    shipped = set(shipped_scenarios().values())

    from harness.cli.selection import (
        crashed_at,
        fitting,
        of_shard,
        of_variant,
        playable,
        without_root,
    )
    from harness.run.prepare import prepare
    from harness.run.suite import SuiteRequest

    binding = prepare(subject)
    if gate is not None:
        gate.check(binding.id, error_model.id)
    fits = fitting(found, selectors, binding, error_model.id)
    fits, passed_over = playable(fits, selectors, binding)
    runnable = of_variant([scenario for item in fits for scenario in item.runnable], variant)
    runnable = crashed_at(runnable, crash_at_event)
    if shard is not None:
        runnable, shard = of_shard(runnable, shard, error_model, options)
    mine = {scenario.id for scenario in runnable}
    request = SuiteRequest(
        scenarios=runnable,
        binding=binding,
        subject_spec=without_root(subject),
        model=error_model,
        model_spec=without_root(model),
        readings=readings,
        **options,
        # A person's own file is run again by its path: no id leads to it.
        selectors={
            item.scenario.id: without_root(item.path) for item in found if item.path not in shipped
        },
        crossings=tuple(
            item.crossing
            for item in fits
            if item.crossing is not None and (shard is None or item.scenario.id in mine)
        ),
        passed_over=passed_over,
        shard=shard,
    )
    return found, request


def _run(request: SuiteRequest, outputs: Outputs, kept: KeptRuns | None, quiet: bool) -> Report:
    from harness.cli.progress import progress
    from harness.run.suite import run_suite

    total = sum(
        item.seeds if request.seeds is None else request.seeds for item in request.scenarios
    )
    with progress(total, quiet=quiet) as advance:
        if kept is None:
            return run_suite(request, on_run=advance, on_trace=outputs.trace_writer())

        def on_run(run: RunReport) -> None:
            advance(run)
            kept.on_run(run)

        return run_suite(request, on_run=on_run, on_trace=kept.on_trace(outputs.trace_writer()))
