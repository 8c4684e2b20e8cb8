"""The table at the end of a run: plain data, drawn as wide as the place it goes to.

A wide terminal gets columns. A narrow one gets one entry below the other, so that no finding loses
its words. A file or a pipe gets one line for each row, however long, which `grep` finds.
"""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Iterator
from io import StringIO
from typing import IO, TYPE_CHECKING

from msgspec import Struct

from faultclock.cli.say import Span, say
from faultclock.model.report.finding import Finding, Verdict
from faultclock.printable import one_line
from faultclock.render.verdict_words import LOOKS
from faultclock.render.wording import clipped

if TYPE_CHECKING:
    from rich.style import Style

SYMBOLS = {
    Verdict.PASS: "✓",
    Verdict.FAIL: "✗",
    Verdict.WARN: "!",
    Verdict.INCONCLUSIVE: "?",
    Verdict.NOT_APPLICABLE: "-",
}
_COLOURS = {
    Verdict.PASS: "green",
    Verdict.FAIL: "red",
    Verdict.WARN: "yellow",
    Verdict.INCONCLUSIVE: "magenta",
    Verdict.NOT_APPLICABLE: "bright_black",
}
#: Columns of a terminal that have room for every column of the table, and for words beside them.
_WIDE = 140
#: Characters of one text of a finding: more than any of ours, and less than a whole answer.
_TEXT_MAX = 400
_WIDTH_MIN = 40


class Row(Struct, frozen=True, kw_only=True):
    """One line of the table.

    Attributes:
        name: what it is about.
        figures: the texts of the two columns in the middle.
        finding: what to look at first, in one line; empty where all is well.
    """

    name: str
    verdict: Verdict
    figures: tuple[str, str]
    finding: str

    @property
    def cells(self) -> tuple[str, str, str, str, str]:
        """The texts of the columns, as they are shown: their widths are measured."""
        verdict = f"{SYMBOLS[self.verdict]} {LOOKS[self.verdict].word}"
        name, first, second, finding = map(one_line, (self.name, *self.figures, self.finding))
        return (name, verdict, first, second, finding)


class Table(Struct, frozen=True, kw_only=True):
    """Rows with what their columns are called."""

    headings: tuple[str, str, str, str, str]
    rows: tuple[Row, ...]


def in_one_line(finding: Finding, *, named: bool = True) -> str:
    """Return what `finding` says, in one line.

    Args:
        named: begin with the id of its check.
    """
    observed, expected = (clipped(text, _TEXT_MAX) for text in (finding.observed, finding.expected))
    if observed and expected:
        text = f"{observed}; expected {expected}"
    else:
        text = clipped(finding.reason, _TEXT_MAX) or observed or expected
    return f"{finding.check}: {text}" if named else text


def write_table(table: Table, out: IO[str], *, findings: bool = True) -> None:
    """Write `table` to `out`, as wide as that is.

    Args:
        findings: False on a narrow terminal leaves out what stands in full below the table.
    """
    width = terminal_width(out)
    if width is None:
        _write_plain(table, out)
    elif width < _WIDE:
        _write_stacked(table, width, out, findings=findings)
    else:
        _write_columns(table, width, out)


def terminal_width(out: IO[str]) -> int | None:
    """Return how many columns the terminal behind `out` has; None where there is no terminal."""
    if not out.isatty():
        return None
    return max(_WIDTH_MIN, shutil.get_terminal_size().columns)


def lines_within(line: str, width: int | None) -> list[str]:
    """Return a line of the summary in lines of `width` columns; as it is where there is no limit.

    What goes on below is indented a little more than the line itself.
    """
    if width is None or len(line) <= width:
        return [line]
    margin = " " * (len(line) - len(line.lstrip()) + 2)
    return textwrap.wrap(
        line,
        width,
        subsequent_indent=margin,
        break_on_hyphens=False,
        break_long_words=False,
    )


def _write_plain(table: Table, out: IO[str]) -> None:
    lines = [table.headings, *(row.cells for row in table.rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]) - 1)]
    for line in lines:
        padded = [cell.ljust(width) for cell, width in zip(line, widths, strict=False)]
        say("  ".join([*padded, line[-1]]).rstrip(), out=out)
    say(out=out)


def _write_stacked(table: Table, width: int, out: IO[str], *, findings: bool) -> None:
    margin = 2 + max(len(row.cells[1]) for row in table.rows)
    for row in table.rows:
        name, verdict, *shown, finding = row.cells
        spans = [Span(text=verdict, style=_COLOURS[row.verdict])]
        line = f"{' ' * (margin - len(verdict))}{name}"
        if len(verdict) + len(line) > width:
            # An id is copied: it is not broken.
            say(*spans, out=out)
            spans, line = [], f"  {name}"
        figures = ", ".join(
            f"{heading} {figure}"
            for heading, figure in zip(table.headings[2:4], shown, strict=True)
            if figure
        )
        if figures and len(verdict) + len(line) + len(figures) + 2 <= width:
            spans += [Span(text=line), Span(text=f"  {figures}", style="bright_black")]
        else:
            spans += [Span(text=line)]
        say(*spans, out=out)
        for line in _finding_lines(finding if findings else "", width, " " * min(margin, 10)):
            say(line, out=out)
    say(out=out)


def _finding_lines(finding: str, width: int, margin: str) -> Iterator[str]:
    """Yield what was observed, and on a line of its own what was expected."""
    if not finding:
        return
    observed, sign, expected = finding.partition("; expected ")
    for part in (observed, f"expected {expected}" if sign else ""):
        yield from textwrap.wrap(
            part,
            width,
            initial_indent=margin,
            subsequent_indent=f"{margin}  ",
            break_on_hyphens=False,
        )


def _write_columns(table: Table, width: int, out: IO[str]) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table as Drawn
    from rich.text import Text

    drawn = Drawn(box=SIMPLE_HEAD, pad_edge=False)
    for column, heading in enumerate(table.headings):
        # Only the finding goes on below: a scenario's id and a verdict stay in one piece.
        is_finding = column == len(table.headings) - 1
        right = column in (2, 3)
        drawn.add_column(heading, justify="right" if right else "left", no_wrap=not is_finding)
    for row in table.rows:
        texts = [Text(cell, overflow="fold") for cell in row.cells]
        texts[1].stylize(_COLOURS[row.verdict])
        drawn.add_row(*texts)
    console = Console(file=StringIO(), width=width, color_system="standard", force_terminal=True)
    for line in console.render_lines(drawn, pad=False):
        say(*(Span(text=part.text, style=_style(part.style)) for part in line), out=out)


def _style(style: Style | None) -> str:
    """Return what `say` calls a style of rich."""
    if style is None:
        return ""
    colour = style.color.name if style.color is not None else ""
    return f"{'bold' if style.bold else ''} {colour}"
