"""The options of commands that compare a report with a baseline, and how they do it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from msgspec import Struct

from faultclock.errors import InputError

if TYPE_CHECKING:
    from faultclock.load.scenario import LoadedScenario
    from faultclock.model.report.finding import Report, RunReport
    from faultclock.model.report.gate import Baseline

FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])
#: Where a project's own scenarios lie, unless its configuration says something else.
_SCENARIOS = "scenarios"
_DAY = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)


baseline_option = click.option(
    "--baseline",
    metavar="FILE",
    help="File of known deviations, such as known.yaml. The command then exits with 1 only for "
    "a failure that is not in it, and for an entry that passes now, is overdue, or names "
    "something that does not exist.",
)


def today_option(function: FunctionT) -> FunctionT:
    """Add `--today`."""
    return click.option(
        "--today",
        callback=parse_date,
        metavar="DATE",
        help="With --baseline: the day that its expiries are compared with, such as 2027-01-31. "
        "The default is this day in UTC.",
    )(function)


own_scenarios_option = click.option(
    "--own-scenarios",
    "own_scenarios",
    multiple=True,
    metavar="FILE|FOLDER",
    help="With --baseline: more of your own scenarios, such as tests/incidents. An entry about "
    "one of them is valid although it is not run here. The folder `scenarios` is read anyway.",
)


class Gate(Struct, frozen=True, kw_only=True):
    """A baseline that reports are compared with.

    Attributes:
        file: as it was named.
        today: compared with expiries.
    """

    file: str
    baseline: Baseline
    today: date

    def check(self, subject: str, model: str) -> None:
        """Check that the baseline is about these, before anything is run.

        Raises:
            InputError: it is not.
        """
        from faultclock.history.gate.baseline import check_fits

        check_fits(self.baseline, subject, model, self.file)

    def is_news(self, run: RunReport) -> bool:
        """Return whether `run` fails in a way that the baseline does not know."""
        from faultclock.history.gate.baseline import is_news

        return is_news(run, self.baseline, today=self.today)

    def held(
        self, report: Report, found: Iterable[LoadedScenario] = (), own: Iterable[str] = ()
    ) -> Report:
        """Return `report` with its gate filled.

        Args:
            found: the scenarios that were selected, or dealt out over several machines.
            own: files and folders of more scenarios that exist.

        Raises:
            InputError: the report is about something else than the baseline, or a path of `own`
                leads to no scenario.
        """
        from faultclock.cli.selection import without_root
        from faultclock.history.gate.baseline import gated
        from faultclock.load.baseline import known_scenarios
        from faultclock.load.scenario import find_scenarios

        named = tuple(own)
        known = known_scenarios(
            self.baseline,
            (*found, *(find_scenarios(named) if named else ())),
            folders=(Path(_SCENARIOS), Path(self.file).parent / _SCENARIOS),
        )
        return gated(
            report,
            self.baseline,
            file=without_root(self.file),
            today=self.today,
            known_scenarios=known,
        )


def gate_of(file: str | None, today: date | None) -> Gate | None:
    """Return the gate that was asked for; None without a baseline.

    Raises:
        InputError: the file is no baseline.
        UsageError: there is a day and no baseline.
    """
    if file is None:
        if today is not None:
            raise click.UsageError("--today goes with --baseline: only expiries need a day")
        return None
    if not Path(file).exists():
        raise InputError(
            f"{file}: there is no such baseline",
            hint=f"make it of what was kept with --json: faultclock baseline update {file} REPORT",
        )
    from faultclock.load.baseline import load_baseline

    return Gate(file=file, baseline=load_baseline(file), today=this_day(today))


def this_day(today: date | None) -> date:
    """Return the day that was given, or this one in UTC: it is the same for a whole team."""
    return today or datetime.now(UTC).date()


def parse_date(_: click.Context, __: click.Parameter, value: str | None) -> date | None:
    """Return a text such as `2027-01-31` as a day."""
    if value is None:
        return None
    if _DAY.fullmatch(value):
        with suppress(ValueError):
            return date.fromisoformat(value)
    raise click.BadParameter(f"{value!r} is no day: write it like 2027-01-31")
