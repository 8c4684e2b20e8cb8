"""`faultclock census`: what the real clients that are installed do about the same failures."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from harness.cli.exits import INCONCLUSIVE, OK
from harness.cli.options import DEFAULT_MODEL, jobs_option
from harness.errors import InputError, SubjectError, UnknownNameError

if TYPE_CHECKING:
    from harness.model.census import Census
    from harness.model.scenario import Scenario
    from harness.subjects.registry import SubjectEntry

__all__ = ["command"]

_STDOUT = "-"
_EPILOG = """\
CLIENT is the id of a shipped client (`faultclock list subjects`), or an adapter of your own as
path/to/file.py:name. Without one, every client is run that is installed; those that are not are
named. Each client has a process of its own, and every scenario is run once, with its own seed.

FAMILY is the first part of a scenario's id, a whole id, or `streams`: every scenario that asks for
a stream.

Libraries that demand different versions of a third cannot be installed together. Take a census
in each environment, and give the second one the JSON of the first with --add.

\b
Examples:
  faultclock census -o reports
  faultclock census openai-async my_adapter.py:subject --html census.html
  faultclock census --family streams --json - | jq '.clients[].tally'
  faultclock census litellm --add reports/census.json -o reports

\b
Exit codes: 0 the census is taken, whatever the clients did; 2 wrong usage, or a
client that was named is not installed; 3 a client that is installed cannot be
loaded, or a run of one proves nothing (it is named, with the reason).
"""


@click.command(name="census", epilog=_EPILOG)
@click.argument("clients", nargs=-1, metavar="[CLIENT]...")
@click.option(
    "--family",
    "families",
    multiple=True,
    metavar="FAMILY",
    help="Scenarios to run; may be given again. The default is rate-limits, provider-limits, "
    "provider-transient and streams.",
)
@click.option(
    "--model",
    default=DEFAULT_MODEL,
    show_default=True,
    metavar="ID|FILE",
    help="Error model whose verdicts are counted.",
)
@click.option("-o", "--output", metavar="DIR", help="Write census.json and census.html there.")
@click.option("--json", metavar="FILE", help="Write the census as JSON; - is standard output.")
@click.option("--html", metavar="FILE", help="Write the census as one self-contained page.")
@click.option(
    "--add",
    "added",
    multiple=True,
    metavar="FILE",
    help="Set the clients of this census, taken in another environment, beside those of this one.",
)
@jobs_option("Runs of a client at a time.")
@click.option("-q", "--quiet", is_flag=True, help="No progress and no table.")
def command(
    clients: tuple[str, ...],
    families: tuple[str, ...],
    model: str,
    output: str | None,
    json: str | None,
    html: str | None,
    added: tuple[str, ...],
    jobs: int,
    quiet: bool,
) -> int:
    """Run real clients through the same failures and set what they did side by side.

    A census does not judge. It says of each client how often it asked, how long it waited, what
    it raised, and what it made of a stream that broke.
    """
    places = _places(output, json, html)
    from harness.load.census import load_census
    from harness.run.census_clients import FAMILIES
    from harness.run.census_merge import check_families, merged

    earlier = [load_census(path) for path in added]
    entries = _entries(clients)
    asked = tuple(dict.fromkeys(families)) or FAMILIES
    for other in earlier:
        check_families(asked, other)
    started_s = time.perf_counter()
    census = _taken(entries, asked, model, jobs, quiet=quiet)
    for other in earlier:
        census = merged(census, other)
    _write(census, places)
    takes_stdout = _STDOUT in places.values()
    _tell(census, places, time.perf_counter() - started_s, quiet=quiet, to_stderr=takes_stdout)
    return OK if census.proves_all else INCONCLUSIVE


def _places(output: str | None, json: str | None, html: str | None) -> dict[str, str]:
    """Return where each form goes, checked before anything runs."""
    from harness.load.files import check_output_file, make_output_folder

    places = {form: place for form, place in (("json", json), ("html", html)) if place}
    if output is not None:
        make_output_folder(output)
        for form in ("json", "html"):
            places.setdefault(form, str(Path(output, f"census.{form}")))
    real = [place if place == _STDOUT else os.path.realpath(place) for place in places.values()]
    if len(set(real)) != len(real):
        raise InputError("JSON and HTML would be written to one place: give each its own")
    for place in places.values():
        if place != _STDOUT:
            check_output_file(place)
    return places


def _entries(names: tuple[str, ...]) -> tuple[SubjectEntry, ...]:
    from harness.run.census_clients import is_real_client
    from harness.subjects.registry import SubjectEntry, catalog

    shipped = {entry.id: entry for entry in catalog() if is_real_client(entry)}
    if not names:
        if not any(entry.available for entry in shipped.values()):
            raise InputError(
                "no client is installed, so there is nothing to compare",
                hint="pip install 'faultclock[openai]', or name an adapter of your own",
            )
        return tuple(shipped.values())
    entries = []
    for name in dict.fromkeys(names):
        if ":" in name:
            place = name.rpartition(":")[0]
            if place.endswith(".py") and not Path(place).expanduser().is_file():
                raise InputError(f"{place}: there is no such file", hint="check the path")
            entries.append(SubjectEntry(id=name, title=name, kind="client"))
            continue
        if name not in shipped:
            raise UnknownNameError("client", name, tuple(shipped))
        entry = shipped[name]
        if not entry.available:
            raise SubjectError(
                f"client {name!r} needs {' and '.join(entry.needs)}, which is not installed",
                hint=f"pip install 'faultclock[{entry.extra}]'" if entry.extra else None,
            )
        entries.append(entry)
    return tuple(entries)


def _taken(
    entries: tuple[SubjectEntry, ...],
    families: tuple[str, ...],
    model: str,
    jobs: int,
    *,
    quiet: bool,
) -> Census:
    from harness.cli.progress import bar
    from harness.load.error_model import load_error_model
    from harness.run.census_clients import CensusRequest, take_census

    error_model = load_error_model(model)
    scenarios = _scenarios(families, error_model.id)
    request = CensusRequest(families=families, scenarios=scenarios, model=error_model, jobs=jobs)
    runs = len(scenarios) * sum(entry.available for entry in entries)
    with bar(runs, quiet=quiet) as advance:
        return take_census(
            request, entries, on_run=lambda client, scenario: advance(f"{client} {scenario}")
        )


def _scenarios(families: tuple[str, ...], model_id: str) -> tuple[Scenario, ...]:
    from harness.load.scenario import find_scenarios
    from harness.run.census_clients import chosen

    found = [scenario for item in find_scenarios() for scenario in item.runnable]
    for family in families:
        if not chosen(found, (family,), model_id):
            known = {item.family for item in chosen(found, _all_families(found), model_id)}
            raise UnknownNameError("family", family, (*sorted(known), "streams"))
    return chosen(found, families, model_id)


def _all_families(scenarios: list[Scenario]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(scenario.family for scenario in scenarios))


def _write(census: Census, places: dict[str, str]) -> None:
    from harness.load.files import write_text_atomically
    from harness.render.census import census_json, census_page

    forms = {"json": census_json, "html": census_page}
    for form, place in places.items():
        if place == _STDOUT:
            click.echo(forms[form](census), nl=False)
        else:
            write_text_atomically(place, forms[form](census))


def _tell(
    census: Census, places: dict[str, str], wall_s: float, *, quiet: bool, to_stderr: bool
) -> None:
    from harness.render.census import census_table, not_run
    from harness.render.wording import count

    out = sys.stderr if to_stderr else sys.stdout
    if not quiet:
        for line in census_table(census):
            click.echo(line, file=out)
    missed = list(not_run(census))
    if missed:
        click.echo("\nNot run, or proves nothing:", file=out)
        for line in missed:
            click.echo(f"  {line}", file=out)
    runs = sum(client.tally.runs for client in census.clients)
    click.echo(
        f"\n{count(len(census.clients), 'client')} in {count(len(census.scenarios), 'scenario')}:"
        f" {count(runs, 'run')} in {wall_s:.1f} s",
        file=out,
    )
    for place in places.values():
        if place != _STDOUT:
            click.echo(f"  written: {place}", file=out)
