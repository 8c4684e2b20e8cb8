"""A finding in full, as text: what the report's card says, without opening the report."""

from __future__ import annotations

import shlex
import textwrap
from collections.abc import Sequence

from faultclock.model.report.finding import Finding
from faultclock.render.notes_text import NOTHING_NOTED, Noted, place_text

#: Columns that are filled at most; a wider line is hard to read.
WIDTH_MAX = 96
_WIDTH_MIN = 40
_INDENT = " " * 6
_LABEL = 11
#: Events named at most; the report and the trace have them all.
_EVENTS_MAX = 12


def finding_lines(
    finding: Finding, scenario: str, width: int = WIDTH_MAX, noted: Noted = NOTHING_NOTED
) -> list[str]:
    """Return `finding` as the README shows one.

    Args:
        noted: what stands beside it: where it was raised or waited, and the last output.
    """
    call = f", call {finding.call}" if finding.call else ""
    head = f"{finding.verdict.value.ljust(4)}  {finding.check}, in {scenario}{call}"
    lines = _folded(head, _room(width), indent=_INDENT)
    if finding.place:
        place = f"{finding.document} › {finding.place}" if finding.document else finding.place
        lines += wrapped(f"{place} ({finding.level or 'no level'})", width=width)
    if finding.sentence:
        quoted = finding.sentence if finding.paraphrased else f'"{finding.sentence}"'
        lines += wrapped(quoted, width=width)
    # An inconclusive finding may repeat in its reason what was observed.
    reason = "" if finding.reason == finding.observed else finding.reason
    for label, text in (
        ("expected", finding.expected),
        ("observed", finding.observed),
        ("because", reason),
        ("line", "" if finding.source is None else place_text(finding.source)),
        ("hint", finding.hint),
        ("events", _events(finding.events)),
        ("id", finding.id),
    ):
        if text:
            lines += wrapped(text, label, width=width)
    for label, block in noted.blocks:
        lines += _block(label, block, width)
    return lines


def wrapped(text: str, label: str = "", *, width: int = WIDTH_MAX) -> list[str]:
    """Return lines of at most `width` columns (40 to 96), with a label in the margin."""
    first = _INDENT + (label.ljust(_LABEL) if label else "")
    return textwrap.wrap(
        text,
        _room(width),
        initial_indent=first,
        subsequent_indent=" " * len(first),
        break_on_hyphens=False,
    )


def command_lines(command: str, *, first: str, width: int) -> list[str]:
    """Return a command in lines that work when they are pasted together.

    A line that goes on ends with a backslash. A word is never broken, so one that is longer than
    the line goes beyond its edge.

    Args:
        first: what stands before the command; the further lines are indented as far.
        width: columns of a line.
    """
    margin = " " * len(first)
    rows, row = [], first
    for word in shlex.split(command):
        quoted = word if word == "&&" else shlex.quote(word)
        joined = f"{row}{quoted}" if row in (first, margin) else f"{row} {quoted}"
        if len(joined) > width - 2 and row not in (first, margin):
            rows.append(f"{row} \\")
            joined = f"{margin}{quoted}"
        row = joined
    return [*rows, row]


def _block(label: str, block: Sequence[str], width: int) -> list[str]:
    """Return lines as they are, with a label beside the first; what is too long goes on below."""
    room = _room(width) - len(_INDENT) - _LABEL
    lines = [part for line in block for part in _folded(line, room, indent="  ")]
    margins = [label.ljust(_LABEL), *[" " * _LABEL] * (len(lines) - 1)]
    return [f"{_INDENT}{margin}{line}" for margin, line in zip(margins, lines, strict=True)]


def _room(width: int) -> int:
    return min(WIDTH_MAX, max(_WIDTH_MIN, width))


def _folded(text: str, room: int, *, indent: str) -> list[str]:
    """Return `text` as it is where it fits; otherwise in several lines."""
    if len(text) <= room:
        return [text]
    return textwrap.wrap(text, room, subsequent_indent=indent, break_on_hyphens=False)


def _events(events: Sequence[int]) -> str:
    shown = ", ".join(map(str, events[:_EVENTS_MAX]))
    return f"{shown}, …" if len(events) > _EVENTS_MAX else shown
