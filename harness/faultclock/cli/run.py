"""`faultclock run`: scenarios times seeds against one subject, judged by one error model."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import click
from msgspec import Struct

from faultclock.cli.configured import was_typed
from faultclock.cli.elsewhere import python_option
from faultclock.cli.gating import baseline_option, gate_of, own_scenarios_option, today_option
from faultclock.cli.options import (
    cluster_option,
    cpu_profile_option,
    inline_option,
    jobs_option,
    limits_given,
    memory_limit_option,
    model_option,
    parse_readings,
    python_given,
    readings_option,
    require_subject,
    wall_limit_option,
)
from faultclock.cli.outputs import Outputs
from faultclock.cli.report_options import report_options
from faultclock.cli.run_options import choosing_options, shard_option, table_options
from faultclock.cli.say import say
from faultclock.cli.show_output import show_output_option, showing_output
from faultclock.cli.target_options import subject_options

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from datetime import date

    from faultclock.cli.gating import Gate
    from faultclock.cli.history_writing import KeptRuns
    from faultclock.cli.last_failed import FailureRecord, Narrowed
    from faultclock.load.matrix import Crossing
    from faultclock.load.scenario import LoadedScenario
    from faultclock.model.report.finding import Report, RunReport, Shard
    from faultclock.model.scenario.scenario import Scenario
    from faultclock.model.trace.trace import Trace
    from faultclock.run.suite import SuiteRequest
    from faultclock.subjects.binding import Binding

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
  faultclock run --subject my_adapter.py:subject --exclude streaming -x
  faultclock run --subject my_adapter.py:subject --last-failed --group-by cause

Exit codes: 0 all conform, 1 something fails, 2 wrong usage, 3 nothing fails but something is
inconclusive. A warning (a SHOULD) does not change the code. With --baseline, 1 is for a failure
that is not in it, and for a stale entry.
"""


@click.command(name="run", epilog=_EPILOG)
@click.argument("scenarios", nargs=-1, metavar="[SCENARIO]...")
@click.option(
    "--subject",
    metavar="ID|FILE.py:NAME",
    help="Code under test: a shipped subject, or yours as path/to/file.py:name.",
)
@subject_options
@python_option
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
@choosing_options
@click.option(
    "--variant",
    metavar="NAME",
    help="Run only this variant of a scenario that has a matrix.",
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
    help="Run a scenario that says `crash_everywhere` once, without a crash at each event.",
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
@shard_option
@inline_option
@jobs_option("Worker processes.")
@cluster_option
@wall_limit_option
@memory_limit_option
@cpu_profile_option
@show_output_option
@table_options
def command(
    scenarios: tuple[str, ...],
    subject: str | None,
    model: str,
    readings: tuple[str, ...],
    seed: int | None,
    seeds: int | None,
    exclude: tuple[str, ...],
    fail_fast: bool,
    last_failed: bool,
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
    show_output: bool,
    group_by: str,
    quiet: bool,
) -> int:
    """Run scenarios against a subject and judge what it did.

    Each run is one scenario and one seed in a simulated world of its own. The result is a table
    here and, on demand, a report with a timeline and the evidence of every finding.
    """
    outputs = Outputs(reports=reports, trace_dir=trace_dir).check()
    _check_last_failed(last_failed=last_failed, shard=shard)
    gate, kept = gate_of(baseline, today), _kept(history)
    with outputs.keeping_stdout():
        chosen = _chosen(
            scenarios,
            require_subject(subject),
            model,
            parse_readings(readings),
            gate=gate,
            exclude=exclude,
            last_failed=last_failed,
            shard=shard,
            variant=variant,
            crash_at_event=crash_at_event,
            sweep=not no_crash_everywhere,
            seed=seed,
            seeds=seeds,
            isolate=not inline,
            jobs=jobs,
            wall_limit_s=wall_limit,
            proved=bool(reports),
        )
        started_s = time.perf_counter()
        store = _store(outputs, show_output=show_output)
        ends_with = _ending(gate, fail_fast=fail_fast)
        report = _run(chosen.request, store, kept, ends_with=ends_with, quiet=quiet)
    if gate is not None:
        report = gate.held(report, chosen.found, own_scenarios)
    from faultclock.cli.closing import closed

    whole = crash_at_event is None and not no_crash_everywhere
    chosen.record.update(report, chosen.found, forgets=whole)
    code = closed(report, outputs, started_s=started_s, quiet=quiet, group_by=group_by)
    if kept is not None and report.runs:
        said = f"  kept: session {kept.write(chosen.request)} of {history}"
        say(said, err=outputs.takes_stdout)
    return code


def _kept(path: str | None) -> KeptRuns | None:
    if path is None:
        return None
    # Imported here: a run without a history needs no database.
    from faultclock.cli.history_writing import KeptRuns

    return KeptRuns(path)


def _check_last_failed(*, last_failed: bool, shard: Shard | None) -> None:
    """Refuse what does not go together with `--last-failed`."""
    if not last_failed:
        return
    if shard is not None:
        raise click.UsageError(
            "--last-failed does not go with --shard: each machine has failures of its own"
        )
    context = click.get_current_context()
    for name in ("seed", "seeds"):
        if was_typed(context, name):
            raise click.UsageError(
                f"--last-failed does not go with --{name}: it runs the seeds that failed"
            )


def _store(outputs: Outputs, *, show_output: bool) -> Callable[[Trace], str | None] | None:
    store = outputs.trace_writer()
    return showing_output(store) if show_output else store


def _ending(gate: Gate | None, *, fail_fast: bool) -> Callable[[RunReport], bool]:
    """Return what says of a run whether `--fail-fast` stops after it."""
    if not fail_fast:
        return lambda _: False
    if gate is not None:
        return gate.is_news
    from faultclock.model.report.finding import Verdict

    return lambda run: run.verdict is Verdict.FAIL


class _Chosen(Struct, frozen=True, kw_only=True):
    """What is to be run.

    Attributes:
        found: all that was selected, with what other machines run.
        record: of what was not green the last time.
    """

    found: tuple[LoadedScenario, ...]
    request: SuiteRequest
    record: FailureRecord


def _chosen(
    selectors: tuple[str, ...],
    subject: str,
    model: str,
    readings: dict[str, str],
    *,
    gate: Gate | None,
    exclude: tuple[str, ...],
    last_failed: bool,
    shard: Shard | None,
    variant: str | None,
    crash_at_event: int | None,
    **options: Any,
) -> _Chosen:
    """Load what was named, the subject last: it is the slowest, and the files may be wrong."""
    from faultclock.cli.last_failed import FailureRecord
    from faultclock.load.error_model import load_error_model
    from faultclock.load.scenario import find_scenarios

    error_model = load_error_model(model, readings)
    record = FailureRecord(subject, error_model.id, readings)
    found = find_scenarios(_wanted(selectors, record) if last_failed else selectors)

    from faultclock.cli.preparing import prepared
    from faultclock.cli.selection import (
        crashed_at,
        excluded,
        fitting,
        of_shard,
        of_variant,
        playable,
        without_root,
    )
    from faultclock.run.suite import SuiteRequest

    left, left_out = excluded(found, exclude)
    inline, limit_s = not options["isolate"], options["wall_limit_s"]
    binding = prepared(subject, inline=inline, wall_limit_s=limit_s).binding
    if gate is not None:
        gate.check(binding.id, error_model.id)
    fits = fitting(left, selectors, binding, error_model.id)
    fits, passed_over = playable(fits, selectors, binding, left)
    left_out = tuple(item for item in left_out if item.scenario in _ids_for(found, binding))
    runnable = of_variant([scenario for item in fits for scenario in item.runnable], variant)
    narrowed = _narrowed(record, runnable, options) if last_failed else None
    if narrowed is not None:
        runnable = narrowed.scenarios
        left_out = (*left_out, *narrowed.passed_over)
    runnable = crashed_at(runnable, crash_at_event)
    if shard is not None:
        runnable, shard = of_shard(runnable, shard, error_model, options)
    context = click.get_current_context()
    request = SuiteRequest(
        scenarios=runnable,
        binding=binding,
        subject_spec=without_root(subject),
        model=error_model,
        model_spec=without_root(model),
        readings=readings,
        **options,
        limits=(*python_given(context), *limits_given(context)),
        selectors=_own_files(found),
        crossings=_crossings(fits, runnable),
        passed_over=(*passed_over, *left_out),
        only_seeds={} if narrowed is None else narrowed.only_seeds,
        shard=shard,
    )
    return _Chosen(found=found, request=request, record=record)


def _own_files(found: Iterable[LoadedScenario]) -> dict[str, str]:
    """Return the paths of a person's own scenarios, which are run again by them: no id helps."""
    from faultclock.cli.selection import without_root
    from faultclock.load.scenario import shipped_scenarios

    shipped = set(shipped_scenarios().values())
    return {item.scenario.id: without_root(item.path) for item in found if item.path not in shipped}


def _crossings(fits: Iterable[LoadedScenario], run: Iterable[Scenario]) -> tuple[Crossing, ...]:
    mine = {scenario.id for scenario in run}
    return tuple(
        item.crossing for item in fits if item.crossing is not None and item.scenario.id in mine
    )


def _wanted(selectors: tuple[str, ...], record: FailureRecord) -> tuple[str, ...]:
    """Return what `--last-failed` selects: what failed may be outside of what is run by default."""
    if was_typed(click.get_current_context(), "scenarios"):
        return selectors
    return (*(selectors or ("*",)), *record.selectors())


def _narrowed(
    record: FailureRecord, runnable: Sequence[Scenario], options: Mapping[str, Any]
) -> Narrowed:
    """Return what was not green the last time, and say what is run."""
    narrowed = record.narrowed(runnable, first_seed=options["seed"], seeds=options["seeds"])
    record.tell(narrowed)
    return narrowed


def _ids_for(found: Iterable[LoadedScenario], binding: Binding) -> set[str]:
    """Return the ids of scenarios for the role of this subject: others are not left out of it."""
    from faultclock.run.bind_scenario import of_role

    return {item.scenario.id for item in found if of_role(item.scenario, binding)}


def _run(
    request: SuiteRequest,
    store: Callable[[Trace], str | None] | None,
    kept: KeptRuns | None,
    *,
    ends_with: Callable[[RunReport], bool],
    quiet: bool,
) -> Report:
    from faultclock.cli.progress import progress
    from faultclock.run.suite import run_suite, run_total

    total = run_total(request)
    with progress(total, quiet=quiet) as advance:
        if kept is None:
            return run_suite(request, on_run=advance, on_trace=store, ends_with=ends_with)

        def on_run(run: RunReport) -> None:
            advance(run)
            kept.on_run(run)

        return run_suite(request, on_run=on_run, on_trace=kept.on_trace(store), ends_with=ends_with)
