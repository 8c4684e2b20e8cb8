"""The formats in which a report can be written, and the options that ask for them.

A new format is one line of `FORMATS`: every command that writes reports then has it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps
from importlib import import_module
from typing import Any, TypeVar

import click
from msgspec import Struct

#: GitHub shows no summary of a step that is larger than 1 MiB.
SUMMARY_BYTES_MAX = 1024 * 1024

FunctionT = TypeVar("FunctionT", bound=Callable[..., Any])


class ReportFormat(Struct, frozen=True, kw_only=True):
    """One format.

    Attributes:
        option: without dashes, and the key under which a file of this format is asked for.
        renderer: `module:function` below `faultclock.render`, which makes the text, or the pieces
            of a text that may be larger than memory; it is imported when a report is written.
        help: of the option.
        bytes_max: a file of this format is added to, as its reader asks, and may grow to so many
            bytes: the renderer takes what is left as `bytes_max`. None: the file is replaced.
    """

    option: str
    renderer: str
    help: str
    bytes_max: int | None = None

    def function(self) -> Callable[..., str | Iterable[str]]:
        """Import what makes the text."""
        module, _, name = self.renderer.partition(":")
        found: Callable[..., str | Iterable[str]]
        found = getattr(import_module(f"faultclock.render.{module}"), name)
        return found


FORMATS = (
    ReportFormat(
        option="html",
        renderer="html_text:html_report",
        help="Write the report as one self-contained page.",
    ),
    ReportFormat(
        option="json",
        renderer="json_text:json_pieces",
        help="Write the report as JSON; - is standard output.",
    ),
    ReportFormat(
        option="junit", renderer="junit_text:junit_pieces", help="Write the report as JUnit XML."
    ),
    ReportFormat(
        option="sarif",
        renderer="sarif_text:sarif_report",
        help="Write what is not green as SARIF 2.1.0, for code scanning and editors.",
    ),
    ReportFormat(
        option="gitlab",
        renderer="gitlab_text:gitlab_report",
        help="Write what is not green as a GitLab code quality report.",
    ),
    ReportFormat(
        option="github-summary",
        renderer="github_text:github_summary",
        help='Add the report as Markdown to FILE, such as "$GITHUB_STEP_SUMMARY".',
        bytes_max=SUMMARY_BYTES_MAX,
    ),
    ReportFormat(
        option="github-annotations",
        renderer="github_text:github_annotations",
        help="Write workflow commands that annotate a change on GitHub; - is standard output.",
    ),
)


def report_options(function: FunctionT) -> FunctionT:
    """Add an option for each format.

    The function takes them together as `reports`: file (`-` is standard output) by format, of
    those that were asked for.
    """

    @wraps(function)
    def gathered(**options: Any) -> Any:
        asked = {item.option: options.pop(item.option.replace("-", "_")) for item in FORMATS}
        files = {name: file for name, file in asked.items() if file is not None}
        return function(reports=files, **options)

    # Commands list their options in the order of the decorators: the last one applied is first.
    for item in reversed(FORMATS):
        gathered = click.option(f"--{item.option}", metavar="FILE", help=item.help)(gathered)
    return gathered  # type: ignore[return-value]
