"""`faultclock drift`: what clients do otherwise in another version of their packages."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from faultclock.cli.exits import INCONCLUSIVE, NONCONFORMING, OK
from faultclock.cli.say import say

if TYPE_CHECKING:
    from faultclock.model.report.census import Census

_EPILOG = """\
OLD and NEW are what `faultclock census --json` wrote. FILE@NAME takes the clients of one
environment of `census --env NAME=PLACE`. Clients are paired by their ids.

A cell is a client in a scenario. It is worse where the client newly fails a check of the error
model, and better where it fails one no more; with the same checks, it is worse where the caller
gets an error in place of the answer, or something that passes for the answer. Other waits, other
attempts and other exceptions are different, and change no exit code.

\b
Examples:
  faultclock census --env old=old/bin/python cohere --json old.json
  faultclock census --env new=new/bin/python cohere --json new.json
  faultclock drift old.json new.json --html drift.html
  faultclock drift both.json@old both.json@new

\b
Exit codes: 0 no cell got worse; 1 a cell got worse; 2 wrong usage, or a file
that is no census or that of another error model or version of Faultclock;
3 none got worse, but a result is lost, or nothing can be compared.
"""


@click.command(name="drift", epilog=_EPILOG)
@click.argument("old")
@click.argument("new")
@click.option("--json", metavar="FILE", help="Write the drift as JSON; - is standard output.")
@click.option("--html", metavar="FILE", help="Write the drift as one self-contained page.")
@click.option("-q", "--quiet", is_flag=True, help="Only the first line.")
def command(old: str, new: str, json: str | None, html: str | None, quiet: bool) -> int:
    """Show only what changed from one census of clients to another."""
    from faultclock.cli.finding_text import columns
    from faultclock.cli.places import places_of
    from faultclock.profile.census_drift import drift
    from faultclock.render.drift import drift_lines, drift_page
    from faultclock.render.json_text import canonical_json

    places = places_of({"json": json, "html": html})
    found = drift(_census(old), _census(new))
    places.write(found, json=canonical_json, html=drift_page)
    for number, line in enumerate(drift_lines(found, columns())):
        if number == 0 or not quiet:
            say(line, out=places.out)
    return {"worse": NONCONFORMING, "unclear": INCONCLUSIVE, "not worse": OK}[found.verdict]


def _census(said: str) -> Census:
    from faultclock.load.census import load_census
    from faultclock.profile.census_drift import of_environment

    path, at, name = said.rpartition("@")
    if not at or Path(said).exists():
        return of_environment(load_census(said), None)
    return of_environment(load_census(path), name)
