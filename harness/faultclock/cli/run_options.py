"""Options of `run` that say which runs are made, how many, and how the table shows them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from faultclock.model.report.finding import Shard

FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])

#: What a row of the table may stand for. `cli.grouping` has them, and takes longer to import.
GROUPINGS = ("scenario", "check", "exception", "cause")


def _in_order(*options: Callable[[FunctionT], FunctionT]) -> Callable[[FunctionT], FunctionT]:
    def add(function: FunctionT) -> FunctionT:
        for option in reversed(options):
            function = option(function)
        return function

    return add


choosing_options = _in_order(
    click.option(
        "--exclude",
        multiple=True,
        metavar="PATTERN",
        help="Leave these scenarios out: an id, a family, a quoted pattern, a file or a folder, as "
        'for SCENARIO. May be given again, such as --exclude streaming --exclude "*/slow-*".',
    ),
    click.option(
        "-x",
        "--fail-fast",
        is_flag=True,
        help="Stop after the first run that fails. The report names what was not run. With "
        "--baseline, a known deviation does not stop it.",
    ),
    click.option(
        "--last-failed",
        is_flag=True,
        help="Run only what failed or was inconclusive the last time, with the seeds that showed "
        "it. If no failure is recorded, run everything that is selected.",
    ),
)
table_options = _in_order(
    click.option(
        "--group-by",
        type=click.Choice(GROUPINGS),
        default="scenario",
        show_default=True,
        help="What a row of the table stands for. `cause` puts the findings together that one "
        "change would mend, as `faultclock check` does.",
    ),
    click.option("-q", "--quiet", is_flag=True, help="Only the totals: no progress, no table."),
)


def _shard(_: click.Context, __: click.Parameter, value: str | None) -> Shard | None:
    if value is None:
        return None
    from faultclock.model.report.finding import Shard

    found = re.fullmatch(r"([0-9]{1,4})/([0-9]{1,4})", value)
    number, count = (int(part) for part in found.groups()) if found else (0, 0)
    if not 1 <= number <= count:
        raise click.BadParameter(f"{value!r} is not a part of a whole: write it like 2/4")
    return Shard(number=number, count=count)


shard_option = click.option(
    "--shard",
    callback=_shard,
    metavar="I/N",
    help="Run only part I of N; all seeds of a scenario are in one part. `faultclock merge` joins "
    "the JSON reports of all parts.",
)
