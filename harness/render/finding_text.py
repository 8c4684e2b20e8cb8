"""A finding in full, as text: what the report's card says, without opening the report."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from harness.model.finding import Finding
from harness.render.wording import visible

__all__ = ["WIDTH_MAX", "finding_lines", "wrapped"]

#: Columns that are filled at most; a wider line is hard to read.
WIDTH_MAX = 96
_WIDTH_MIN = 40
_INDENT = " " * 6
_LABEL = 11
#: Events named at most; the report and the trace have them all.
_EVENTS_MAX = 12


def finding_lines(finding: Finding, scenario: str, width: int = WIDTH_MAX) -> list[str]:
    """Return `finding` as the README shows one; no line holds a control character."""
    call = f", call {finding.call}" if finding.call else ""
    lines = [f"{finding.verdict.value.ljust(4)}  {finding.check}, in {scenario}{call}"]
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
        ("hint", finding.hint),
        ("events", _events(finding.events)),
        ("id", finding.id),
    ):
        if text:
            lines += wrapped(text, label, width=width)
    return [visible(line) for line in lines]


def wrapped(text: str, label: str = "", *, width: int = WIDTH_MAX) -> list[str]:
    """Return lines of at most `width` columns (40 to 96), with a label in the margin."""
    first = _INDENT + (label.ljust(_LABEL) if label else "")
    return textwrap.wrap(
        text,
        min(WIDTH_MAX, max(_WIDTH_MIN, width)),
        initial_indent=first,
        subsequent_indent=" " * len(first),
        break_on_hyphens=False,
    )


def _events(events: Sequence[int]) -> str:
    shown = ", ".join(map(str, events[:_EVENTS_MAX]))
    return f"{shown}, …" if len(events) > _EVENTS_MAX else shown
