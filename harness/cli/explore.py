"""`faultclock explore`: many varied runs of a few scenarios, and the smallest that fails."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, get_args

import click

from harness.cli.options import (
    inline_option,
    jobs_option,
    model_option,
    parse_readings,
    parse_seconds,
    readings_option,
    require_subject,
    wall_limit_option,
)
from harness.errors import InputError

if TYPE_CHECKING:
    from harness.explore.engine import ExploreRequest

__all__ = ["command"]

_RUNS = 200
#: What the kinds of schedules are called here; a tape that says nothing is first in, first out.
_SCHEDULES = {"random": "random", "pct": "pct", "fifo": "tape"}

_EPILOG = """\
SCENARIO is an id (exploration/token-is-renewed-twice), a family (exploration), a quoted pattern, a
file or a folder. What a scenario lets vary stands in its `vary:` block; the seed, and the order of
what happens at one instant, vary in every scenario. Run 1 is the scenario as it is written.

\b
Examples:
  faultclock explore exploration --subject my_adapter.py:subject --runs 500 -o found
  faultclock explore my/scenario.yaml --subject openai-async --time 60s --html found.html
  faultclock explore rate-limits --subject reference --runs 50 --json - | jq .groups
  faultclock explore exploration --subject my_agent.py:agent --runs 100000 --history found.sqlite
  faultclock explore exploration --subject my_agent.py:agent --runs 100000 --history found.sqlite \\
    --resume

Every failure has a token, with which `faultclock replay` makes its run again, byte for byte. With
-o, the smallest run of each failure is a scenario file and a pytest file there.

The same scenarios, subject, seed and number of runs find the same, whatever the number of workers.
Ctrl-C ends it: what was finished is told, and with --history it is kept, for --resume.

\b
Exit codes: 0 no run fails, 1 some run fails, 2 wrong usage, 3 nothing fails but not all is proved:
a scenario had no run that passed, a run hung, or was not the same twice. 130 interrupted.
"""


@click.command(name="explore", epilog=_EPILOG)
@click.argument("scenarios", nargs=-1, required=True, metavar="SCENARIO...")
@click.option(
    "--subject",
    metavar="ID|FILE.py:NAME",
    help="Code under test: a shipped subject, or yours as path/to/file.py:name.",
)
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
    help="Begin no more runs after this much real time, such as 60s or 10m. What was found is made"
    " smaller after that.",
)
@jobs_option("Processes that run at once.", flag="--workers")
@click.option(
    "--seed",
    type=click.IntRange(0, 2**32 - 1),
    default=0,
    show_default=True,
    metavar="N",
    help="What run n of a scenario is follows from it.",
)
@click.option(
    "--schedule",
    "schedules",
    type=click.Choice(list(_SCHEDULES)),
    multiple=True,
    help="Break ties only so: by chance, by priorities that some lanes lose (PCT), or first in "
    "first out. May be given again; the default is all of them, random most often.",
)
@click.option("--variant", metavar="NAME", help="Only this variant of scenarios with a matrix.")
@click.option(
    "-o",
    "--output",
    metavar="DIR",
    help="Write here: both reports, and of each failure its trace, its smallest scenario, and a "
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
    help="Go on with the last exploration in the history that was stopped, with equal settings.",
)
@click.option("--no-shrink", is_flag=True, help="Do not look for the smallest run of each failure.")
@click.option(
    "--shrink-runs",
    type=click.IntRange(1, 1_000_000),
    metavar="N",
    help="How many runs that may take for each failure.",
)
@inline_option
@wall_limit_option
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
    """Find failures that come and go, and hand over the smallest run of each.

    Each run draws a seed, an order of what happens at one instant, and values for what the
    scenario lets vary, and is judged like any other run. Failures are told once, however many runs
    show them, and each is made a second time in another process before anybody hears of it.
    """
    from harness.cli.explore_outputs import ExploreOutputs
    from harness.cli.explore_session import session_of

    outputs = ExploreOutputs(folder=output, html=html, json=json)
    outputs.check()
    if resume and history is None:
        raise InputError(
            "--resume goes on with what a history has kept, and none is named",
            hint="give the file that the exploration was begun with: --history FILE",
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

        from harness.cli.exploring import Exploring
        from harness.cli.selection import without_root

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
    runs: int | None,
    time_s: float | None,
    workers: int,
    schedules: tuple[str, ...],
    inline: bool,
    wall_limit: float | None,
    seed: int,
) -> tuple[ExploreRequest, dict[str, str]]:
    """Load what was named, the subject last: it is the slowest, and the files may be wrong.

    Returns:
        The request, and the file of each scenario that is none of the shipped ones.
    """
    from harness.load.error_model import load_error_model
    from harness.load.scenario import find_scenarios, shipped_scenarios

    error_model = load_error_model(model, readings)
    found = find_scenarios(selectors)

    from harness.cli.selection import fitting, of_variant, playable, without_root
    from harness.explore.engine import ExploreRequest
    from harness.model.tape import ScheduleKind
    from harness.run.prepare import prepare

    binding = prepare(subject)
    fits, passed_over = playable(
        fitting(found, selectors, binding, error_model.id), selectors, binding
    )
    chosen = {_SCHEDULES[name] for name in schedules or _SCHEDULES}
    shipped = set(shipped_scenarios().values())
    files = {item.scenario.id: without_root(item.path) for item in fits if item.path not in shipped}
    request = ExploreRequest(
        scenarios=of_variant([scenario for item in fits for scenario in item.runnable], variant),
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
    )
    return request, files
