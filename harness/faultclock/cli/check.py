"""`faultclock check`: is this error handling any good, and what is to be mended first?"""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource
from msgspec import Struct, field

from faultclock.cli.elsewhere import python_option
from faultclock.cli.exits import exit_code_of_checkup
from faultclock.cli.gating import gate_of, today_option
from faultclock.cli.options import (
    cpu_profile_option,
    jobs_option,
    limits_given,
    memory_limit_option,
    python_given,
    wall_limit_option,
)
from faultclock.cli.say import Span, say
from faultclock.cli.target_options import as_option, dialect_option, world_options
from faultclock.errors import InputError

if TYPE_CHECKING:
    from datetime import date

    from faultclock.cli.gating import Gate
    from faultclock.cli.places import Places
    from faultclock.cli.progress import Advance
    from faultclock.model.error_model.error_model import ErrorModel
    from faultclock.model.report.checkup import CheckUp
    from faultclock.model.report.finding import RunReport

_FOUND = "  found: "
#: Begins the ids of the runs that find out what a target does.
_INFERRED = "infer/"
#: Parameters that belong to a command that asks the same again, and their flags.
_REPEATED = {
    "as_": "--as",
    "dialect": "--dialect",
    "services": "--services",
    "reads": "--reads",
    "only": "--only",
    "known": "--baseline",
    "fail_on": "--fail-on",
    "seed": "--seed",
}
#: The error model that holds only what any provider and any user would demand.
_MODEL = "common"
_STYLES = {
    "heading": "bold",
    "serious": "red bold",
    "minor": "yellow",
    "good": "green",
    "dim": "dim",
}
_EPILOG = """\
TARGET is your own code, as it is: a function that makes one call to a model, an SDK client object,
an agent, or anything that you have bound with a decorator of faultclock. Write file.py:name,
package.module:name, app.mjs#name for a module for Node, or the id of a shipped subject.

\b
Examples:
  faultclock check client.py:ask
  faultclock check my_package.llm:client
  faultclock check app.mjs
  faultclock check client.py:ask --dialect anthropic-messages
  faultclock check client.py:ask --html check.html
  faultclock check client.py:ask --fail-on any
  faultclock check openai-async

The target runs unmodified against a simulated provider that fails on purpose, on a simulated clock,
so hours of waiting take milliseconds and nothing reaches the network. What it does is shown first,
then its problems, the worst first. Each has a command that shows it again.

\b
Exit codes: 0 no serious problem, 1 a serious problem (see --fail-on), 2 wrong
usage, or a target that does not work when nothing goes wrong, 3 nothing could
be shown.
"""


@click.command(name="check", epilog=_EPILOG)
@click.argument("subject", required=False, metavar="[TARGET]")
@as_option
@dialect_option
@world_options
@python_option
@click.option(
    "--fail-on",
    type=click.Choice(["serious", "any", "never"]),
    default="serious",
    show_default=True,
    help="Which problems make the exit code 1: those that break a MUST, all, or none.",
)
@click.option(
    "--baseline",
    "known",
    metavar="FILE",
    help="Known deviations: a problem all of whose findings are in it changes no exit code.",
)
@today_option
@click.option("--html", metavar="FILE", help="Write the answer and its runs as one page.")
@click.option("--json", metavar="FILE", help="Write the answer as JSON; - is standard output.")
@click.option("--all", "in_full", is_flag=True, help="Show every problem in full.")
@click.option(
    "--brief",
    is_flag=True,
    help="Show the first problem in full, count the others, and leave the rest out.",
)
@click.option("--show-output", is_flag=True, help="Show what the target printed and logged.")
@click.option(
    "--only",
    multiple=True,
    metavar="ID|FAMILY|PATTERN",
    help="Only these situations, and not what it does: a quick look after a change.",
)
@click.option(
    "--seed",
    type=click.IntRange(0, 2**32 - 1),
    metavar="N",
    help="First seed of each situation. The default is its own.",
)
@jobs_option("Runs at a time.")
@wall_limit_option
@memory_limit_option
@cpu_profile_option
@click.option("-q", "--quiet", is_flag=True, help="Show no progress.")
def command(
    subject: str | None,
    as_: str | None,
    dialect: str | None,
    fail_on: str,
    known: str | None,
    today: date | None,
    html: str | None,
    json: str | None,
    in_full: bool,
    brief: bool,
    show_output: bool,
    only: tuple[str, ...],
    seed: int | None,
    jobs: int,
    wall_limit: float | None,
    quiet: bool,
) -> int:
    """Check how your code handles errors, and what to mend first.

    No scenario, no configuration and no error model is needed.
    """
    if not subject:
        raise InputError(
            "no target: name the code to check",
            hint="faultclock check path/to/client.py:function",
        )
    if brief and in_full:
        raise InputError(
            "--brief and --all cannot be given together",
            hint="--brief shows one problem in full, --all every one",
        )
    from faultclock.cli.places import places_of

    places = places_of({"json": json, "html": html})
    gate = gate_of(known, today)
    started_s = time.perf_counter()
    out = places.out
    checkup = _checkup(
        subject,
        as_,
        dialect,
        gate,
        only=only,
        jobs=jobs,
        seed=seed,
        wall_limit_s=wall_limit,
        proved=bool(places.of),
        quiet=quiet,
    )
    _write(checkup, places)
    from faultclock.render.checkup_text import checkup_lines

    lines = checkup_lines(
        checkup,
        wall_s=time.perf_counter() - started_s,
        jobs=jobs,
        again=_again(click.get_current_context()),
        in_full=in_full,
        show_output=show_output,
        brief=brief,
    )
    for line in lines:
        say(Span(text=line.text, style=_STYLES.get(line.style, "")), out=out)
    from faultclock.render.gate import gate_lines

    written = (f"written: {place}" for place in places.files)
    for text in (*gate_lines(checkup.report, known=False), *written):
        say(text, out=out)
    return exit_code_of_checkup(checkup, fail_on)


def _checkup(
    spec: str,
    as_: str | None,
    dialect: str | None,
    gate: Gate | None,
    *,
    only: tuple[str, ...],
    jobs: int,
    seed: int | None,
    wall_limit_s: float | None,
    proved: bool,
    quiet: bool,
) -> CheckUp:
    from msgspec.structs import replace

    from faultclock.check.battery import battery_for
    from faultclock.check.checkup import checkup_of
    from faultclock.check.running import make_runs
    from faultclock.check.target import take
    from faultclock.check.tool_lines import tool_lines
    from faultclock.cli.preparing import prepared
    from faultclock.cli.progress import bar
    from faultclock.cli.selection import without_root
    from faultclock.load.error_model import load_error_model

    model = load_error_model(_MODEL)
    with bar(None, quiet=quiet, doing=f"loading {spec}, and trying it without a fault"):
        loaded = prepared(spec, as_=as_, dialect=dialect, wall_limit_s=wall_limit_s)
        target = take(loaded, wall_limit_s)
    if gate is not None:
        gate.check(target.binding.id, model.id)
    battery = battery_for(target.binding, model.id, target.abilities, only)
    planned = sum(scenario.seeds for scenario in battery.scenarios)
    with watched(model, planned, quiet=quiet) as told:
        runs = make_runs(
            target.binding,
            battery,
            model,
            spec=without_root(target.spec),
            streams=target.abilities.streams != "never",
            infer=not only,
            jobs=jobs,
            seed=seed,
            wall_limit_s=wall_limit_s,
            python=python_given(click.get_current_context()),
            limits=limits_given(click.get_current_context()),
            proved=proved,
            on_run=told,
        )
    # What was not run is neither known nor mended, and the answer says which line is to blame.
    if gate is not None and not runs.report.not_reached:
        runs = replace(runs, report=gate.held(runs.report))
    return checkup_of(
        runs,
        taken_for=target.taken_for,
        left_out=(*target.others, *battery.left_out),
        streams=target.abilities.streams != "never",
        tools=tool_lines(target.binding),
    )


class _Told(Struct):
    """Says each new problem once, as soon as a run shows it.

    Attributes:
        advance: moves the bar.
        begin: draws the next bar, with what is done now, and returns what moves it.
        infers: the runs are those that find out what the target does.
        told: ids of the problems that were said.
        hung: it was said that a run does not end.
    """

    model: ErrorModel
    advance: Advance
    begin: Callable[[str], Advance]
    quiet: bool
    infers: bool = False
    told: set[str] = field(default_factory=set)
    hung: bool = False

    def __call__(self, run: RunReport) -> None:
        """Look at one run that was judged."""
        from faultclock.model.report.problems import problems_of
        from faultclock.model.report.unproved import hung_at
        from faultclock.render.checkup_text import problem_line

        if run.scenario.startswith(_INFERRED) and not self.infers:
            self.infers, self.advance = True, self.begin("finding out what it does")
        # How many runs a sweep makes is known only when its scenario has run.
        self.advance(run.title, unplanned=int(run.crash_point is not None))
        if self.quiet:
            return
        if (frame := hung_at(run)) is not None and not self.hung:
            self.hung = True
            hint = "a shorter --wall-limit shows that sooner"
            say(f"{_FOUND}a run does not end: {frame.file}:{frame.line} ({hint})", err=True)
        for problem in problems_of((run,), (), self.model.requirements):
            if problem.serious and problem.id not in self.told:
                self.told.add(problem.id)
                line = problem_line(problem, margin=len(_FOUND), counted=False)
                say(f"{_FOUND}{line}", err=True)


@contextmanager
def watched(model: ErrorModel, planned: int, *, quiet: bool) -> Iterator[_Told]:
    """Yield what to call after each run: it moves the bar, and says new problems at once."""
    from faultclock.cli.progress import bar

    with ExitStack() as stack:

        def begin(doing: str, total: int | None = None) -> Advance:
            stack.close()
            return stack.enter_context(bar(total, quiet=quiet, doing=doing))

        yield _Told(model=model, advance=begin("running", planned), begin=begin, quiet=quiet)


def _write(checkup: CheckUp, places: Places) -> None:
    if not places.of:
        return
    from faultclock.render.checkup_html import checkup_page
    from faultclock.render.json_text import canonical_json

    places.write(checkup, json=canonical_json, html=checkup_page)


def _again(context: click.Context) -> str:
    """Return the command without what only says where the answer goes."""
    words = ["faultclock", "check", str(context.params["subject"])]
    for name, flag in _REPEATED.items():
        value = context.params[name]
        given = value if isinstance(value, tuple) else (value,) if value else ()
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            words += [word for item in given for word in (flag, str(item))]
    return shlex.join([*words, *python_given(context), *limits_given(context)])
