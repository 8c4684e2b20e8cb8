"""`faultclock history`: what was run before, which verdicts changed, and whose fault that is."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from harness.cli.exits import INCONCLUSIVE, OK

if TYPE_CHECKING:
    from harness.history.findings import History

__all__ = ["command"]

#: Where an exploration keeps its progress unless it is told otherwise.
DEFAULT_FILE = "faultclock.sqlite"

_EPILOG = """\
FILE is what `faultclock run --history FILE` or `faultclock explore --history FILE` has written.
Three things are told apart:

\b
  determinism bug   equal scenario, subject, versions, seed and choices, and another
                    trace: a fault of Faultclock or a leak, never the subject's failure
  flaky subject     each run by itself is always the same, but some seeds or orders
                    fail and others pass; the first that fails comes as a token
  verdict flip      from one session to the next a verdict changed: because of one of
                    these, or because subject, scenario, model or versions changed

\b
Examples:
  faultclock run rate-limits --subject my_adapter.py:subject --history verdicts.sqlite
  faultclock history verdicts.sqlite
  faultclock history verdicts.sqlite --scenario rate-limits --subject subject
  faultclock history verdicts.sqlite --json | jq '.flips[] | select(.cause == "changed")'
  sqlite3 verdicts.sqlite "SELECT verdict, count(*) FROM run GROUP BY verdict"

\b
Exit codes: 0 no determinism bug (flaky or not), 3 a determinism bug: what was run
proves nothing, 2 wrong usage or no such file.
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
def command(file: str, subject: str | None, scenario: str | None, as_json: bool) -> int:
    """List the sessions of a history, verdict flips, flaky subjects and determinism bugs.

    Without FILE it is faultclock.sqlite in this folder. The file is only read, and may be written
    to meanwhile.
    """
    # Imported here: whoever only asks for help opens no database.
    from harness.history.queries import Wanted
    from harness.history.reading import read_history

    history = read_history(file, Wanted(subject=subject, scenario=scenario))
    if as_json:
        from harness.cli.history_json import history_json

        click.echo(history_json(history), nl=False)
    else:
        _tell(history, file, filtered=subject is not None or scenario is not None)
    return INCONCLUSIVE if history.bugs else OK


def _tell(history: History, file: str, *, filtered: bool) -> None:
    from harness.cli.history_text import lines_of

    on_terminal = sys.stdout.isatty()
    for line in lines_of(history, file, filtered=filtered):
        text = click.style(line.text, fg=line.colour, bold=line.bold) if on_terminal else line.text
        click.echo(text)
