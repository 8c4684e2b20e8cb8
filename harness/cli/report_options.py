"""The formats in which a report can be written, and the options that ask for them.

A new format is one line of `FORMATS`: every command that writes reports then has it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any, TypeVar

import click

__all__ = ["FORMATS", "ReportFormat", "report_options"]

FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportFormat:
    """One format.

    Attributes:
        option: without dashes, and the key under which a file of this format is asked for.
        renderer: name of the function of `harness.render` that makes the text; it is imported
            when a report is written.
        help: of the option.
    """

    option: str
    renderer: str
    help: str


FORMATS = (
    ReportFormat(
        option="html", renderer="html_report", help="Write the report as one self-contained page."
    ),
    ReportFormat(
        option="json",
        renderer="json_report",
        help="Write the report as JSON; - is standard output.",
    ),
    ReportFormat(option="junit", renderer="junit_report", help="Write the report as JUnit XML."),
)


def report_options(function: FunctionT) -> FunctionT:
    """Add an option for each format.

    The function takes them together as `reports`: file (`-` is standard output) by format, of
    those that were asked for.
    """

    @wraps(function)
    def gathered(**options: Any) -> Any:
        asked = {item.option: options.pop(item.option) for item in FORMATS}
        files = {name: file for name, file in asked.items() if file is not None}
        return function(reports=files, **options)

    # Commands list their options in the order of the decorators: the last one applied is first.
    for item in reversed(FORMATS):
        gathered = click.option(f"--{item.option}", metavar="FILE", help=item.help)(gathered)
    return gathered  # type: ignore[return-value]
