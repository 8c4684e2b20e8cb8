"""`faultclock history`: what was run before, which verdicts changed, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from faultclock.cli.exits import INCONCLUSIVE, OK
from faultclock.cli.say import machine, say

if TYPE_CHECKING:
    from faultclock.history.findings import History

#: Where an exploration keeps its progress by default.
DEFAULT_FILE = "faultclock.sqlite"

_EPILOG = """\
FILE is what `faultclock run --history FILE` or `faultclock explore --history FILE` has written.
It shows three kinds of change:

\b
  determinism bug  equal scenario, subject, versions, seed and choices, and
                   another trace: a fault of Faultclock or a leak, never the
                   subject's failure
  flaky subject    each run by itself is always the same, but some seeds or
                   orders fail and others pass; the first failure has a token
  verdict flip     from one session to the next a verdict changed: through one
                   of these, or a new subject, scenario, model or version

\b
Examples:
  faultclock run rate-limits --subject my_adapter.py:subject --history verdicts.sqlite
  faultclock history verdicts.sqlite
  faultclock history verdicts.sqlite --scenario rate-limits --subject subject
  faultclock history verdicts.sqlite --move-aside
  faultclock history verdicts.sqlite --json | jq '.flips[] | select(.cause == "changed")'
  sqlite3 verdicts.sqlite "SELECT verdict, count(*) FROM run GROUP BY verdict"

Exit codes: 0 no determinism bug (flaky or not), 3 a determinism bug: what was run
proves nothing, 2 wrong usage, no such file or a damaged one.
"""


@click.command(name="history", epilog=_EPILOG)
@click.argument("file", default=DEFAULT_FILE, metavar="[FILE]")
@click.option("--subject", metavar="ID", help="Only sessions of this subject.")
@click.option(
    "--scenario",
    metavar="SCENARIO",
    help='Only this one: an id, a family, or a quoted pattern such as "*/retry-after-*".',
)
@click.option("--json", "as_json", is_flag=True, help="Print all of it as JSON.")
@click.option(
    "--move-aside",
    "moves_aside",
    is_flag=True,
    help="Give a damaged file another name, with all that is in it, so that the next run begins"
    " a new one.",
)
def command(
    file: str, subject: str | None, scenario: str | None, as_json: bool, moves_aside: bool
) -> int:
    """List the sessions of a history, verdict flips, flaky subjects and determinism bugs.

    Without FILE it is faultclock.sqlite in this folder. The file is only read, and may be written
    to meanwhile.
    """
    # Imported here: `--help` should not load a database.
    if moves_aside:
        from faultclock.history.file import move_aside

        say(f"{file} is now {move_aside(file)}")
        return OK
    from faultclock.history.queries import Wanted
    from faultclock.history.reading import read_history

    history = read_history(file, Wanted(subject=subject, scenario=scenario))
    if as_json:
        from faultclock.cli.history_json import history_json

        machine(history_json(history))
    else:
        _tell(history, file, filtered=subject is not None or scenario is not None)
    return INCONCLUSIVE if history.bugs else OK


def _tell(history: History, file: str, *, filtered: bool) -> None:
    from faultclock.cli.history_text import lines_of

    for line in lines_of(history, file, filtered=filtered):
        say(line)
