"""`faultclock mutate`: which rules of an error model can be broken, by mutants of a subject."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import click

from faultclock.cli.exits import INCONCLUSIVE, NONCONFORMING, OK
from faultclock.cli.options import (
    jobs_option,
    memory_limit_option,
    parse_readings,
    readings_option,
    require_subject,
    wall_limit_option,
)
from faultclock.cli.say import say
from faultclock.cli.target_options import subject_options
from faultclock.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from faultclock.cli.places import Places
    from faultclock.kills.search import SearchRequest
    from faultclock.kills.trial import Played
    from faultclock.model.report.finding import PassedOver
    from faultclock.model.report.kill_matrix import KillMatrix

#: Broken rules of the subject itself that a message names.
_BROKEN_MAX = 3
_EPILOG = """\
MODEL is an error model: an id, or a file of yours. SCENARIO means what it means to `faultclock
run`; without one, all shipped scenarios for subjects of this role are used.

A rule is a sentence of the model and a check that judges it. A mutant is the subject with one
defect: it leaves out, repeats, moves or changes what it says of itself; it fails, repeats or
swallows a call; it waits shorter or longer. Of a shipped reference, every step is changed as well,
and its shipped wrong subjects are tried. A mutant kills a rule where it breaks the rule and the
subject does not. A rule that nothing kills may be unable to fail.

\b
Examples:
  faultclock mutate my_model.yaml --subject my_agent.py:agent my/scenarios
  faultclock mutate my_model.yaml --subject my_agent.py:agent my/scenarios --html kills.html
  faultclock mutate afk --subject reference-afk --limit 200
  faultclock mutate common --subject reference-common --json - | jq '.rules[].status'

The same model, subject and scenarios give the same result with any number of jobs. With --limit,
the mutants are drawn evenly from all that can be changed, and always the same ones.

\b
Exit codes: 0 mutants break every rule for this subject, 1 nothing breaks some rule, or no selected
scenario judges it, 2 wrong usage, or the subject itself breaks a rule, 3 no rule was judged at all.
"""


@click.command(name="mutate", epilog=_EPILOG)
@click.argument("model", metavar="MODEL")
@click.argument("scenarios", nargs=-1, metavar="[SCENARIO]...")
@click.option(
    "--subject",
    metavar="ID|FILE.py:NAME",
    help="A subject that breaks no rule of the model: a shipped reference, or yours as "
    "path/to/file.py:name.",
)
@subject_options
@readings_option
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    metavar="N",
    help="Try at most N mutants. The default is all of them.",
)
@click.option("--html", metavar="FILE", help="Write the matrix as one self-contained page.")
@click.option("--json", metavar="FILE", help="Write the matrix as JSON; - is standard output.")
@jobs_option("Processes that run mutants.")
@wall_limit_option
@memory_limit_option
@click.option("-q", "--quiet", is_flag=True, help="Only the totals: no progress, no list.")
def command(
    model: str,
    scenarios: tuple[str, ...],
    subject: str | None,
    readings: tuple[str, ...],
    limit: int | None,
    html: str | None,
    json: str | None,
    jobs: int,
    wall_limit: float | None,
    quiet: bool,
) -> int:
    """Search for rules of an error model that nothing can break.

    A subject that keeps every rule is changed in one thing at a time, and judged again. The result
    names each rule with the mutants that break it, and first the rules that no mutant breaks.
    """
    from faultclock.cli.places import places_of

    places = places_of({"html": html, "json": json})
    chosen = parse_readings(readings)
    request, passed_over = _request(
        model, scenarios, require_subject(subject), chosen, jobs, wall_limit
    )
    started_s = time.perf_counter()
    matrix = _searched(request, passed_over, chosen, limit, quiet=quiet)
    from faultclock.render.json_text import canonical_json
    from faultclock.render.kill_matrix import kill_matrix_html

    places.write(matrix, html=kill_matrix_html, json=canonical_json)
    _show(matrix, places, time.perf_counter() - started_s, quiet=quiet)
    if not matrix.is_proof:
        return INCONCLUSIVE
    return NONCONFORMING if matrix.unkilled else OK


def _request(
    model: str,
    selectors: tuple[str, ...],
    subject: str,
    readings: dict[str, str],
    jobs: int,
    wall_limit_s: float | None,
) -> tuple[SearchRequest, tuple[PassedOver, ...]]:
    """Load the files first, then the subject: it is the slowest, and a file may be wrong."""
    from faultclock.cli.names_of_checks import check_names_of_checks
    from faultclock.load.error_model import load_error_model, model_ids
    from faultclock.load.scenario import find_scenarios
    from faultclock.load.yaml_file import read_document

    error_model = load_error_model(model, readings)
    if model not in model_ids():
        check_names_of_checks(read_document(model), error_model)
    found = find_scenarios(selectors)

    from faultclock.cli.preparing import prepared
    from faultclock.cli.selection import fitting, playable
    from faultclock.kills.search import SearchRequest

    binding = prepared(subject, wall_limit_s=wall_limit_s).binding
    fits = fitting(found, selectors, binding, error_model.id)
    chosen, passed_over = playable(fits, selectors, binding, found)
    request = SearchRequest(
        scenarios=tuple(scenario for item in chosen for scenario in item.runnable),
        binding=binding,
        subject_spec=subject,
        model=error_model,
        jobs=jobs,
        wall_limit_s=wall_limit_s,
    )
    return request, passed_over


def _searched(
    request: SearchRequest,
    passed_over: tuple[PassedOver, ...],
    readings: dict[str, str],
    limit: int | None,
    *,
    quiet: bool,
) -> KillMatrix:
    from faultclock.cli.progress import bar
    from faultclock.kills.matrix import kill_matrix
    from faultclock.kills.search import drawn, mutants_of, play_all, search

    with bar(len(request.scenarios), quiet=quiet) as advance:
        played = play_all(request, advance)
    _check_right(request, played)
    every = mutants_of(request, played)
    mutants = drawn(every, limit)
    with bar(len(mutants), quiet=quiet) as advance:
        tried = search(request, played, mutants, advance)
    return kill_matrix(
        request,
        played,
        tried,
        readings=readings,
        left_out=len(every) - len(mutants),
        passed_over=passed_over,
    )


def _check_right(request: SearchRequest, played: Sequence[Played]) -> None:
    """Check that the subject breaks nothing: what it breaks itself, no mutant can break.

    Raises:
        InputError: it does, and nothing can be measured with it.
    """
    wrong = [item for item in played if item.broken]
    if not wrong:
        return
    rules = sorted({f"{check} ({requirement})" for check, requirement in wrong[0].broken})
    more = f" and {len(rules) - _BROKEN_MAX} more" if len(rules) > _BROKEN_MAX else ""
    raise InputError(
        f"{request.binding.id} itself breaks rules of {request.model.id}, so it cannot show which"
        f" rules a mutant breaks: in {wrong[0].scenario.id} it breaks"
        f" {', '.join(rules[:_BROKEN_MAX])}{more}",
        hint=f"`faultclock run {wrong[0].scenario.id}` with this subject and model shows why; mend"
        " the subject, or leave the scenario out",
    )


def _show(matrix: KillMatrix, places: Places, wall_s: float, *, quiet: bool) -> None:
    from faultclock.cli.finding_text import columns
    from faultclock.render.kill_matrix_text import kill_matrix_lines, totals_line

    out = places.out
    if not quiet:
        for line in kill_matrix_lines(matrix, columns()):
            say(line, out=out)
    say(f"{totals_line(matrix)} in {wall_s:.1f} s", out=out)
    for place in places.files:
        say(f"  written: {place}", out=out)
