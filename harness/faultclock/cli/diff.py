"""`faultclock diff`: what changed from one report to another."""

from __future__ import annotations

import click

from faultclock.cli.exits import INCONCLUSIVE, NONCONFORMING, OK
from faultclock.cli.say import say
from faultclock.errors import InputError

_STDOUT = "-"
_EPILOG = """\
BEFORE and AFTER are what `faultclock run --json` or `faultclock merge --json` wrote; - is standard
input. Runs of the same scenario, variant and seed are compared check by check. What is in one of
them only is listed, and what vanished is never better.

\b
Examples:
  faultclock diff main.json branch.json
  faultclock diff main.json branch.json --json - | jq .verdict

Exit codes: 0 nothing got worse, 1 something fails that did not, 2 wrong usage or a file that cannot
be read, 3 not known: nothing fails that did not, but something is not judged any more or is
inconclusive. A warning (a SHOULD) does not change the code.
"""


@click.command(name="diff", epilog=_EPILOG)
@click.argument("before")
@click.argument("after")
@click.option(
    "--json", "json_", metavar="FILE", help="Write the difference as JSON; - is standard output."
)
@click.option("-q", "--quiet", is_flag=True, help="Only the first line.")
def command(before: str, after: str, json_: str | None, quiet: bool) -> int:
    """Compare two reports: what got better, and what got worse."""
    if before == after == _STDOUT:
        raise InputError("standard input can be only one of the two reports")
    from faultclock.cli.places import places_of
    from faultclock.cli.stored import stored_report
    from faultclock.history.gate.diff import difference
    from faultclock.render.diff_text import diff_lines
    from faultclock.render.json_text import canonical_json

    places = places_of({"json": json_})
    diff = difference(stored_report(before), stored_report(after))
    places.write(diff, json=canonical_json)
    for number, line in enumerate(diff_lines(diff)):
        if number == 0 or not quiet:
            say(line, out=places.out)
    return {"worse": NONCONFORMING, "unclear": INCONCLUSIVE, "not worse": OK}[diff.verdict]
