"""`faultclock baseline`: known deviations, compared with a stored report and kept up to date."""

from __future__ import annotations

import difflib
import time
from collections.abc import Iterator
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

import click

from faultclock.cli.exits import NONCONFORMING, OK
from faultclock.cli.gating import Gate, own_scenarios_option, parse_date, this_day, today_option
from faultclock.cli.outputs import Outputs
from faultclock.cli.report_options import report_options
from faultclock.cli.say import say, say_lines
from faultclock.cli.stored import stored_report

if TYPE_CHECKING:
    from faultclock.history.gate.update import Update, Words
    from faultclock.model.report.gate import Deviation

_EPILOG = """\
\b
Examples:
  faultclock run --subject my_adapter.py:subject --json report.json
  faultclock baseline update known.yaml report.json \\
      --reason "see issue 41" --owner team-runtime --expires 2027-03-31
  faultclock run --subject my_adapter.py:subject --baseline known.yaml
"""

_UPDATE_EPILOG = """\
REPORT is what `faultclock run --json` or `faultclock merge --json` wrote; - is standard input.
FILE is made where it is not there. In one that is there, no line changes but those of entries that
come, go or are renewed; a comment right above an entry goes with it.

What fails and is not in FILE becomes an entry, with --reason, --owner and --expires. What passes
now, or names what does not exist, goes. No last day is ever put off, but by --renew.

\b
Examples:
  faultclock baseline update known.yaml report.json --dry-run \\
      --reason "see issue 41" --owner team-runtime --expires 2027-03-31
  faultclock run --subject my_adapter.py:subject --json - | faultclock baseline update known.yaml -

Exit codes: 0 FILE is up to date, 1 the gate stays shut since entries are overdue, 2 wrong usage.
"""

_CHECK_EPILOG = """\
REPORT is what `faultclock run --json` or `faultclock merge --json` wrote; - is standard input.

Exit codes: 0 the gate is open; 1 it is shut: a failure is not in the baseline, or an entry passes
now, is overdue or names what does not exist; 2 wrong usage; 3 it would be open, but something is
inconclusive.
"""


@click.group(name="baseline", epilog=_EPILOG)
def command() -> None:
    """Keep the known deviations of a subject: each with a reason, an owner and a last day."""


@command.command(
    name="check", epilog=_CHECK_EPILOG, short_help="Hold a stored report against a baseline."
)
@click.argument("file")
@click.argument("report")
@today_option
@own_scenarios_option
@report_options
@click.option("-q", "--quiet", is_flag=True, help="Only the totals: no table.")
def _check(
    file: str,
    report: str,
    today: date | None,
    own_scenarios: tuple[str, ...],
    reports: dict[str, str],
    quiet: bool,
) -> int:
    """Hold a stored report against a baseline, as `faultclock run --baseline` does."""
    outputs = Outputs(reports=reports).check()
    started_s = time.perf_counter()
    from faultclock.load.baseline import load_baseline

    gate = Gate(file=file, baseline=load_baseline(file), today=this_day(today))
    held = gate.held(stored_report(report), own=own_scenarios)

    from faultclock.cli.closing import closed

    return closed(held, outputs, started_s=started_s, quiet=quiet)


@command.command(
    name="update", epilog=_UPDATE_EPILOG, short_help="Add what is new, remove what is mended."
)
@click.argument("file")
@click.argument("report")
@click.option("--reason", metavar="TEXT", help="Why. Required where something new fails.")
@click.option("--owner", metavar="NAME", help="Who answers for it. Required likewise.")
@click.option(
    "--expires",
    callback=parse_date,
    metavar="DATE",
    help="The last day on which it counts, such as 2027-03-31. Required likewise.",
)
@click.option(
    "--renew",
    is_flag=True,
    help="Give the day of --expires to overdue entries that still fail, too.",
)
@click.option("--dry-run", is_flag=True, help="Write nothing, and show what would change.")
@today_option
@own_scenarios_option
def _update(
    file: str,
    report: str,
    reason: str | None,
    owner: str | None,
    expires: date | None,
    renew: bool,
    dry_run: bool,
    today: date | None,
    own_scenarios: tuple[str, ...],
) -> int:
    """Add each failure that is not in FILE; remove what passes now, or does not exist any more."""
    from faultclock.history.gate.update import updated
    from faultclock.load.baseline import load_baseline
    from faultclock.load.baseline_edit import edited_baseline, new_baseline
    from faultclock.load.files import check_output_file, write_text_atomically
    from faultclock.load.yaml_file import read_bytes
    from faultclock.model.report.gate import Baseline

    words = _words(reason, owner, expires, renew=renew)
    stored = stored_report(report)
    is_there = Path(file).exists()
    if is_there:
        baseline = load_baseline(file)
    else:
        baseline = Baseline(subject=stored.subject.id, model=stored.model)
    gate = Gate(file=file, baseline=baseline, today=this_day(today))
    update = updated(gate.held(stored, own=own_scenarios), baseline, words, renew=renew)
    if is_there:
        old = read_bytes(file).decode()
        new = edited_baseline(
            old,
            file,
            remove=[item.index for item in update.removed],
            renew={} if words is None else {index: words.expires for index, _ in update.renewed},
            add=update.added,
        )
    else:
        old = ""
        new = new_baseline(baseline.model_copy(update={"deviations": update.added}))
    if dry_run:
        say_lines("".join(_difference(old, new, file)).removesuffix("\n"))
    elif new != old:
        check_output_file(file)
        write_text_atomically(file, new)
    for line in _told(file, update, words, is_new=not is_there, dry_run=dry_run):
        say(line, err=dry_run)
    return NONCONFORMING if update.overdue else OK


def _words(
    reason: str | None, owner: str | None, expires: date | None, *, renew: bool
) -> Words | None:
    """Return what is said of new entries; None where nothing is. To renew, a day is enough.

    Raises:
        UsageError: only a part of it is.
    """
    from faultclock.history.gate.update import Words

    said = {"--reason": reason, "--owner": owner, "--expires": expires}
    # What is blank says nothing.
    missing = [name for name, value in said.items() if not value or not str(value).strip()]
    if len(missing) == len(said):
        return None
    if renew and missing == ["--reason", "--owner"] and expires:
        return Words(reason="", owner="", expires=expires)
    if missing or not (reason and owner and expires):
        raise click.UsageError(f"a new entry needs {' and '.join(missing)}, too")
    return Words(reason=reason, owner=owner, expires=expires)


def _difference(old: str, new: str, file: str) -> Iterator[str]:
    lines = difflib.unified_diff(
        old.splitlines(keepends=True), new.splitlines(keepends=True), file, file, n=2
    )
    for line in lines:
        yield line if line.endswith("\n") else f"{line}\n"


def _told(
    file: str, update: Update, words: Words | None, *, is_new: bool, dry_run: bool
) -> Iterator[str]:
    if update.is_empty and not is_new:
        yield f"{file}: nothing to change"
    else:
        counts = (
            f"{len(update.added)} added",
            f"{len(update.removed)} removed",
            f"{len(update.renewed)} renewed",
        )
        would = "would be " if dry_run else ""
        yield f"{file}: {would}{'made: ' if is_new else ''}{', '.join(counts)}"
    for entry in update.added:
        yield f"  added    {_named(entry)}"
    for item in update.removed:
        yield f"  removed  {_named(item.entry)}: {item.because}"
    for _, entry in update.renewed:
        assert words is not None, "an entry is renewed to a day that was named"
        yield f"  renewed  {_named(entry)}: was until {entry.expires}, now until {words.expires}"
    for entry in update.overdue:
        yield f"  overdue  {_named(entry)}: until {entry.expires}, of {entry.owner}; see --renew"


def _named(entry: Deviation) -> str:
    from faultclock.render.gate import deviation_words

    return deviation_words(entry)
