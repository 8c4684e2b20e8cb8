"""`faultclock validate`: every problem of scenarios, models, maps and traces, with its place."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from faultclock.cli.exits import OK, USAGE
from faultclock.cli.say import say, say_lines
from faultclock.errors import InputError, SourceError

if TYPE_CHECKING:
    from faultclock.load.yaml_file import Document
    from faultclock.model.scenario.scenario import Scenario

_TRACE_SUFFIX = ".jsonl"

_EPILOG = """\
A file that ends in .jsonl is read as a trace, one with `requirements` as an error model (which is
tried under each of its readings), one with `name`, `model` and `events` as the map of a foreign
log, any other as a scenario. Problems are written to standard error as path:line:column, as editors
and build servers expect them.

\b
Examples:
  faultclock validate scenarios/
  faultclock validate my/scenario.yaml traces/*.jsonl
"""


@click.command(name="validate", epilog=_EPILOG)
@click.argument("files", nargs=-1, required=True, metavar="FILE|DIR...")
@click.option("-q", "--quiet", is_flag=True, help="Only the problems.")
def command(files: tuple[str, ...], quiet: bool) -> int:
    """Check scenarios, error models, maps and traces, and name every problem at its place.

    The exit code is 0 when all files are right, and 2 when one is not.
    """
    wrong = problems = right = 0
    for path in _expanded(files):
        try:
            what = _checked(path)
        except InputError as error:
            wrong += 1
            problems += len(error.problems) if isinstance(error, SourceError) else 1
            say_lines(str(error), err=True)
        else:
            right += 1
            if not quiet:
                say(f"{path}: {what}")
    if wrong:
        files_word = "file" if wrong == 1 else "files"
        problems_word = "problem" if problems == 1 else "problems"
        say(f"{problems} {problems_word} in {wrong} {files_word}; {right} right", err=True)
    return USAGE if wrong else OK


def _expanded(paths: tuple[str, ...]) -> Iterator[str]:
    from faultclock.load.scenario import scenario_files

    for path in dict.fromkeys(paths):
        if Path(path).is_dir():
            found = sorted([*scenario_files(Path(path)), *Path(path).rglob(f"*{_TRACE_SUFFIX}")])
            if not found:
                raise InputError(f"{path}: no .yaml or {_TRACE_SUFFIX} file lies below this folder")
            yield from map(str, found)
        else:
            yield path


def _checked(path: str) -> str:
    """Load the file, and return what it is."""
    from faultclock.cli.names_of_checks import check_names_of_checks
    from faultclock.load.error_model import check_error_model
    from faultclock.load.foreign.map import is_foreign_map
    from faultclock.load.scenario import checked_scenario, checked_variants
    from faultclock.load.trace_file import read_trace
    from faultclock.load.yaml_file import read_document

    if path.endswith(_TRACE_SUFFIX):
        trace = read_trace(path)
        return f"trace of {trace.header.scenario.id}, {trace.footer.events} events"
    document = read_document(path)
    if "requirements" in document.data:
        model = check_error_model(path)
        check_names_of_checks(document, model)
        readings = sum(len(switch.options) for switch in model.switches)
        under = f", right under each of its {readings} readings" if readings else ""
        return f"error model {model.id}{under}"
    if is_foreign_map(document):
        return _checked_map(document)
    scenario = checked_scenario(document)
    _check_provider_scripts(document, scenario)
    told = f"scenario {scenario.id}{_for_models(scenario)}"
    if scenario.matrix is None:
        return told
    _, crossing = checked_variants(document, scenario)
    return f"{told}, {crossing.run} of {crossing.cells} combinations"


def _check_provider_scripts(document: Document, scenario: Scenario) -> None:
    """Check that each provider can play its script, as each run checks it.

    Raises:
        SourceError: with all that none can put on the wire.
    """
    from faultclock.fakes.dialects import dialect_named
    from faultclock.fakes.provider.script_check import unplayable
    from faultclock.load.payloads import load_payloads
    from faultclock.model.scenario.provider_script import DEFAULT_DIALECT

    problems = []
    for where, script in scenario.providers:
        dialect = script.dialect or DEFAULT_DIALECT
        payloads = {**load_payloads(dialect), **script.payloads}
        problems += [
            document.problem((*where, *place), error.message, error.hint)
            for place, error in unplayable(script, payloads, dialect_named(dialect))
        ]
    if problems:
        raise SourceError(tuple(problems))


def _for_models(scenario: Scenario) -> str:
    """Say which models of a scenario are none of ours: of a slip every run would pass it over."""
    from faultclock.load.error_model import model_ids

    others = [name for name in scenario.models if name not in model_ids()]
    if not others:
        return ""
    return f", for an error model of your own: {', '.join(others)}"


def _checked_map(document: Document) -> str:
    from faultclock.load.error_model import load_error_model
    from faultclock.load.foreign.map import check_foreign_map, foreign_map_of, model_beside

    found = foreign_map_of(document)
    check_foreign_map(document, found, load_error_model(model_beside(document.path, found.model)))
    return f"map {found.id} of {len(found.events)} events, for the error model {found.model}"
