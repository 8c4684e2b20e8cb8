"""`faultclock explore`: many varied runs of a few scenarios, and the smallest that fails."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args

import click

from faultclock.cli.options import (
    cluster_option,
    cpu_profile_option,
    inline_option,
    jobs_option,
    memory_limit_option,
    model_option,
    parse_readings,
    parse_seconds,
    readings_option,
    require_subject,
    wall_limit_option,
)
from faultclock.cli.say import say
from faultclock.cli.target_options import subject_options
from faultclock.errors import InputError

if TYPE_CHECKING:
    from faultclock.explore.engine import ExploreRequest

_RUNS = 200
#: The kinds of schedules, as the help lists them.
_SCHEDULES = ("random", "pct", "fifo")

_EPILOG = """\
SCENARIO is an id (exploration/token-is-renewed-twice), a family (exploration), a quoted pattern, a
file or a folder. The `vary:` block of a scenario says what varies. The seed, and the order of
events at one instant, vary in every scenario. Run 1 is the scenario as it is written.

\b
Examples:
  faultclock explore rate-limits --subject my_adapter.py:subject --runs 500 -o found
  faultclock explore my/scenario.yaml --subject openai-async --time 60s --html found.html
  faultclock explore rate-limits --subject reference --runs 50 --json - | jq .groups
  faultclock explore scenarios/recorded --subject my_adapter.py:subject --vary-everything
  faultclock explore rate-limits --subject my_adapter.py:subject --raises KeyError -o found
  faultclock explore provider-transient --subject my_adapter.py:subject --raises crash.log
  faultclock explore common --subject my_agent.py:agent --runs 100000 --history found.sqlite
  faultclock explore common --subject my_agent.py:agent --runs 100000 --history found.sqlite \\
    --resume

Every failure has a token: `faultclock replay TOKEN` makes its run again, byte for byte. With -o,
the smallest run of each failure becomes a scenario file and a pytest file in that folder.

With --raises, a run fails if a call raises the exception, or if the subject logs it; then the error
model decides nothing. Of a traceback, the class and your own innermost line are searched for.

The same scenarios, subject, seed and number of runs find the same failures with any number of
workers. Ctrl-C ends the exploration: it reports the finished runs, and --history keeps them for
--resume.

\b
Exit codes: 0 no run fails, 1 some run fails, 2 wrong usage, 3 nothing fails but not all is proved:
a scenario is inconclusive as it is written or had no run that passed, or a run hung, asked the
provider for nothing, or was not the same twice. 130 interrupted.
"""


@click.command(name="explore", epilog=_EPILOG)
@click.argument("scenarios", nargs=-1, required=True, metavar="SCENARIO...")
@click.option(
    "--subject",
    metavar="ID|FILE.py:NAME",
    help="Code under test: a shipped subject, or yours as path/to/file.py:name.",
)
@subject_options
@model_option
@readings_option
@click.option(
    "--runs",
    type=click.IntRange(1, 10_000_000),
    metavar="N",
    help=f"How many runs of each scenario. The default is {_RUNS}, or no limit with --time.",
)
@click.option(
    "--time",
    "time_s",
    callback=parse_seconds,
    metavar="DURATION",
    help="Begin no more runs after this much real time, such as 60s or 10m. Failures are reduced"
    " after that.",
)
@jobs_option("Processes that run at once.", flag="--workers")
@cluster_option
@click.option(
    "--seed",
    type=click.IntRange(0, 2**32 - 1),
    default=0,
    show_default=True,
    metavar="N",
    help="Decides, with its number, what each run is.",
)
@click.option(
    "--schedule",
    "schedules",
    type=click.Choice(_SCHEDULES),
    multiple=True,
    help="Order events at one instant only so: at random, by priorities that change (pct), or "
    "first in, first out. May be given again; the default is all of them, random most often.",
)
@click.option(
    "--raises",
    metavar="EXCEPTION|FILE",
    help="Search for this exception, not for what breaks the error model: KeyError, "
    '"KeyError: message", client.py:41, or a file with a traceback of Python.',
)
@click.option(
    "--vary-everything",
    is_flag=True,
    help="Vary more than the scenario's `vary:` block names: every latency and pause, "
    "the moments of cancels, crashes and answers, which attempt meets a fault, and whether it "
    "does. For imported scenarios, which declare nothing.",
)
@click.option("--variant", metavar="NAME", help="Only this variant of scenarios with a matrix.")
@click.option(
    "-o",
    "--output",
    metavar="DIR",
    help="Write here: both reports, and for each failure its trace, its smallest scenario, and a "
    "pytest file that runs it.",
)
@click.option("--html", metavar="FILE", help="Write the report as one self-contained page.")
@click.option("--json", metavar="FILE", help="Write the report as JSON; - is standard output.")
@click.option(
    "--history",
    metavar="FILE",
    help="Keep every run in this history, as it is finished.",
)
@click.option(
    "--resume",
    is_flag=True,
    help="Continue the last stopped exploration in the history that has equal settings.",
)
@click.option("--no-shrink", is_flag=True, help="Do not look for the smallest run of each failure.")
@click.option(
    "--shrink-runs",
    type=click.IntRange(1, 1_000_000),
    metavar="N",
    help="How many runs the reduction of one failure may take.",
)
@inline_option
@wall_limit_option
@memory_limit_option
@cpu_profile_option
@click.option("-q", "--quiet", is_flag=True, help="Only the totals: no progress, no failures.")
def command(
    scenarios: tuple[str, ...],
    subject: str | None,
    model: str,
    readings: tuple[str, ...],
    variant: str | None,
    output: str | None,
    html: str | None,
    json: str | None,
    history: str | None,
    resume: bool,
    no_shrink: bool,
    shrink_runs: int | None,
    quiet: bool,
    **options: Any,
) -> int:
    """Find failures that come and go, and reduce each to its smallest run.

    Each run draws a seed, an order of the events at one instant, and values for what the scenario
    lets vary. It is judged like any other run. A failure is reported once, even if many runs show
    it, and only if a second run in another process is the same.
    """
    from faultclock.cli.explore_outputs import ExploreOutputs
    from faultclock.cli.explore_session import session_of

    outputs = ExploreOutputs(folder=output, html=html, json=json)
    outputs.check()
    if resume and history is None:
        raise InputError(
            "--resume continues an exploration from a history, and no history is named",
            hint="give the file that the exploration began with: --history FILE",
        )
    with outputs.keeping_stdout():
        request, files = _request(
            scenarios,
            require_subject(subject),
            model,
            parse_readings(readings),
            variant=variant,
            **options,
        )
        session = session_of(request, history, resume=resume)

        from faultclock.cli.exploring import Exploring
        from faultclock.cli.selection import without_root

        exploring = Exploring(
            request=request,
            model_spec=without_root(model),
            files=files,
            session=session,
            shrink=not no_shrink,
            shrink_runs=shrink_runs,
            outputs=outputs,
            quiet=quiet,
        )
        found = exploring.run()
    return exploring.close(found)


def _request(
    selectors: tuple[str, ...],
    subject: str,
    model: str,
    readings: dict[str, str],
    *,
    variant: str | None,
    vary_everything: bool,
    runs: int | None,
    time_s: float | None,
    workers: int,
    schedules: tuple[str, ...],
    raises: str | None,
    inline: bool,
    wall_limit: float | None,
    seed: int,
) -> tuple[ExploreRequest, dict[str, str]]:
    """Load the files first, then the subject: it is the slowest, and a file may be wrong.

    Returns:
        The request, and the file of each scenario that is not shipped.
    """
    from faultclock.load.error_model import load_error_model
    from faultclock.load.scenario import find_scenarios, shipped_scenarios
    from faultclock.load.sought import near_exception, read_sought

    sought = None if raises is None else read_sought(raises)
    if sought is not None and (near := near_exception(sought)) is not None:
        # No error: a program may well have an exception of that name.
        say(f"note: Python has no exception {sought.type}: did you mean {near}?", err=True)
    error_model = load_error_model(model, readings)
    found = find_scenarios(selectors)

    from faultclock.cli.preparing import prepared
    from faultclock.cli.selection import fitting, of_variant, playable, without_root
    from faultclock.explore.engine import ExploreRequest
    from faultclock.model.tape import ScheduleKind

    binding = prepared(subject, inline=inline, wall_limit_s=wall_limit).binding
    fits, passed_over = playable(
        fitting(found, selectors, binding, error_model.id), selectors, binding, found
    )
    chosen = schedules or _SCHEDULES
    shipped = set(shipped_scenarios().values())
    files = {item.scenario.id: without_root(item.path) for item in fits if item.path not in shipped}
    scenarios = of_variant([scenario for item in fits for scenario in item.runnable], variant)
    if vary_everything:
        from faultclock.explore.everything import vary_everything as with_everything

        scenarios = tuple(map(with_everything, scenarios))
    request = ExploreRequest(
        scenarios=scenarios,
        binding=binding,
        subject_spec=without_root(subject),
        model=error_model,
        readings=readings,
        seed=seed,
        runs=_RUNS if runs is None and time_s is None else runs,
        time_s=time_s,
        schedules=tuple(kind for kind in get_args(ScheduleKind) if kind in chosen),
        isolate=not inline,
        workers=workers,
        wall_limit_s=wall_limit,
        passed_over=passed_over,
        sought=sought,
    )
    return request, files
