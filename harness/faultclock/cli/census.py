"""`faultclock census`: what the installed clients do about the same failures."""

from __future__ import annotations

import time
from functools import partial, reduce
from pathlib import Path
from typing import IO, TYPE_CHECKING

import click

from faultclock.cli.exits import INCONCLUSIVE, OK
from faultclock.cli.options import DEFAULT_MODEL, cluster_option, jobs_option
from faultclock.cli.say import say
from faultclock.errors import InputError, SubjectError, UnknownNameError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from faultclock.cli.places import Places
    from faultclock.model.report.census import Census
    from faultclock.subjects.registry import SubjectEntry

_EPILOG = """\
CLIENT is the id of a shipped client (`faultclock list subjects`), or your own adapter as
path/to/file.py:name. Without a CLIENT, the census runs every client that is installed, and lists
the others by name. Each client has its own process. Each scenario runs once, with its own seed.

SCENARIO means what it means to `faultclock run`: an id, a family, a quoted pattern, a file or a
folder. `streams` selects every shipped scenario that asks for a stream.

Some libraries cannot be installed together, and some are compared with an older version. --env runs
the clients in other environments, and in no other: each is called client@NAME there. A folder with
node_modules has clients for Node: openai-node, ai-sdk-node, anthropic-node, google-genai-node,
mistralai-node. --add adds a census that was taken elsewhere.

\b
Examples:
  faultclock census -o reports
  faultclock census openai-async my_adapter.py:subject --html census.html
  faultclock census openai-async my_adapter.py:subject --scenario my/scenarios -o reports
  faultclock census --scenario streams --json - | jq '.clients[].tally'
  faultclock census --env old=old/bin/python --env new=new/bin/python cohere
  faultclock census --env py=bin/python --env node=web openai-sync openai-node
  faultclock census litellm --add reports/census.json -o reports

\b
Exit codes: 0 the census is complete (it does not judge the clients); 2 wrong
usage, or a client that you named is not installed; 3 an installed client cannot
be loaded, or one of its runs has no result (the reason is printed).
"""


@click.command(name="census", epilog=_EPILOG)
@click.argument("clients", nargs=-1, metavar="[CLIENT]...")
@click.option(
    "--scenario",
    "--family",
    "scenarios",
    multiple=True,
    metavar="SCENARIO",
    help="Scenarios to run, your own files and folders too; may be given again. The default is "
    "rate-limits, provider-limits, provider-transient and streams.",
)
@click.option(
    "--model",
    default=DEFAULT_MODEL,
    show_default=True,
    metavar="ID|FILE",
    help="Error model whose verdicts the census counts.",
)
@click.option(
    "-o",
    "--output",
    metavar="DIR",
    help="Write there: census.json, census.html and a page for each client.",
)
@click.option("--json", metavar="FILE", help="Write the census as JSON; - is standard output.")
@click.option("--html", metavar="FILE", help="Write the census as one self-contained page.")
@click.option(
    "--env",
    "env",
    multiple=True,
    metavar="NAME=PLACE",
    help="Run the clients in this environment: a Python that has Faultclock too, or a folder with"
    " node_modules. May be given again.",
)
@click.option(
    "--add",
    "added",
    multiple=True,
    metavar="FILE",
    help="Add the clients of this census, which was taken in another environment.",
)
@jobs_option("Runs of a client at a time.")
@cluster_option
@click.option("-q", "--quiet", is_flag=True, help="No progress and no table.")
def command(
    clients: tuple[str, ...],
    scenarios: tuple[str, ...],
    model: str,
    output: str | None,
    json: str | None,
    html: str | None,
    env: tuple[str, ...],
    added: tuple[str, ...],
    jobs: int,
    quiet: bool,
) -> int:
    """Run real clients through the same failures and compare what they do.

    A census does not judge. It shows how often each client tries, how long it waits before it
    tries again, what it raises, and what it does when a stream breaks off.
    """
    places = _places(output, json, html)
    from faultclock.cli.census_environments import environments
    from faultclock.cli.selection import without_root
    from faultclock.load.census import load_census
    from faultclock.profile.census_clients import FAMILIES
    from faultclock.profile.census_merge import check_families, merged

    earlier = [load_census(path) for path in added]
    elsewhere = environments(env, clients)
    entries = () if env else _entries(clients)
    asked = tuple(dict.fromkeys(map(without_root, scenarios))) or FAMILIES
    for other in earlier:
        check_families(asked, other)
    started_s = time.perf_counter()
    taken = partial(_taken, families=asked, model=model, jobs=jobs, quiet=quiet)
    options = ("--model", model, "--jobs", str(jobs), *(f"--scenario={name}" for name in asked))
    parts = [item.census(options, taken, quiet=quiet) for item in elsewhere]
    census = reduce(merged, [*(parts or [taken(entries)]), *earlier])
    written = _write(census, places, output)
    _show(census, written, time.perf_counter() - started_s, quiet=quiet, out=places.out)
    return OK if census.proves_all else INCONCLUSIVE


def _places(output: str | None, json: str | None, html: str | None) -> Places:
    """Return where each form goes, checked before anything runs."""
    from faultclock.cli.places import places_of
    from faultclock.load.files import make_output_folder

    forms = {"json": json, "html": html}
    if output is not None:
        make_output_folder(output)
        forms = {
            form: place or str(Path(output, f"census.{form}")) for form, place in forms.items()
        }
    return places_of(forms)


def _entries(names: tuple[str, ...]) -> tuple[SubjectEntry, ...]:
    from faultclock.profile.census_clients import is_real_client
    from faultclock.subjects.node.locate import is_module
    from faultclock.subjects.registry import SubjectEntry, catalog

    shipped = {entry.id: entry for entry in catalog() if is_real_client(entry)}
    if not names:
        if not any(entry.available for entry in shipped.values()):
            raise InputError(
                "no client is installed, so there is nothing to compare",
                hint="pip install 'faultclock[openai]', or name your own adapter",
            )
        return tuple(shipped.values())
    entries = []
    for name in dict.fromkeys(names):
        of_node = is_module(name)
        if ":" in name or of_node:
            place = name.partition("#")[0] if of_node else name.rpartition(":")[0]
            is_file = of_node or place.endswith(".py")
            if is_file and not Path(place).expanduser().is_file():
                raise InputError(f"{place}: there is no such file", hint="check the path")
            entries.append(SubjectEntry(id=name, title=name, kind="client"))
            continue
        if name.endswith((".yaml", ".yml")) or Path(name).is_dir():
            raise InputError(
                f"{name} is a scenario file or a folder, and a client is expected there",
                hint=f"--scenario {name}",
            )
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
    entries: Sequence[SubjectEntry],
    families: tuple[str, ...],
    model: str,
    jobs: int,
    *,
    quiet: bool,
) -> Census:
    from faultclock.cli.census_selection import selected
    from faultclock.cli.progress import bar
    from faultclock.load.error_model import load_error_model
    from faultclock.profile.census_clients import CensusRequest, take_census

    error_model = load_error_model(model)
    scenarios = selected(families, error_model.id)
    request = CensusRequest(families=families, scenarios=scenarios, model=error_model, jobs=jobs)
    runs = len(scenarios) * sum(entry.available for entry in entries)
    with bar(runs, quiet=quiet) as advance:
        return take_census(
            request, entries, on_run=lambda client, scenario: advance(f"{client} {scenario}")
        )


def _write(census: Census, places: Places, folder: str | None) -> list[str]:
    """Write all that was asked for, and return the files."""
    from faultclock.load.files import write_text_atomically
    from faultclock.render.census import CENSUS_PAGE, census_page, client_pages
    from faultclock.render.json_text import canonical_json
    from faultclock.render.wording import count

    # The pages of the clients link to the census beside them.
    beside = folder is not None and places.of["html"] == str(Path(folder, CENSUS_PAGE))
    places.write(census, json=canonical_json, html=partial(census_page, client_files=beside))
    written = places.files
    if folder is not None and beside:
        pages = client_pages(census)
        for name, text in pages.items():
            write_text_atomically(str(Path(folder, name)), text)
        if pages:
            written.append(
                f"{Path(folder, 'census-CLIENT.html')} for {count(len(pages), 'client')}"
            )
    return written


def _show(census: Census, written: list[str], wall_s: float, *, quiet: bool, out: IO[str]) -> None:
    from faultclock.cli.finding_text import columns
    from faultclock.render.census_text import census_table, not_run
    from faultclock.render.wording import count

    if not quiet:
        for line in census_table(census, columns()):
            say(line, out=out)
    missed = list(not_run(census))
    if missed:
        say(out=out)
        say("Not run, or without a result:", out=out)
        for line in missed:
            say(f"  {line}", out=out)
    runs = sum(client.tally.runs for client in census.clients)
    say(out=out)
    say(
        f"{count(len(census.clients), 'client')} in {count(len(census.scenarios), 'scenario')}:"
        f" {count(runs, 'run')} in {wall_s:.1f} s",
        out=out,
    )
    for place in written:
        say(f"  written: {place}", out=out)
