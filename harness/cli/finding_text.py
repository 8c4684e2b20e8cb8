"""A finding in full, as text: what the report's card says, without opening the report."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Iterator, Sequence

from harness.model.finding import Finding, RunReport
from harness.render.verdict_words import GLOSSARY, worst_first
from harness.render.wording import count, visible

__all__ = ["finding_lines", "told_in_full"]

#: More findings than these belong into a report.
_FINDINGS_MAX = 4
#: Columns that are filled at most; a wider line is hard to read.
_WIDTH_MAX = 96
_INDENT = " " * 6
_LABEL = 11
#: Events named at most; the report and the trace have them all.
_EVENTS_MAX = 12


def told_in_full(run: RunReport) -> Iterator[str]:
    """Yield the lines of all findings of `run` that are not green, the worst first."""
    telling = [item for item in run.findings if item.verdict in GLOSSARY[:3]]
    telling.sort(key=lambda item: worst_first(item.verdict))
    for finding in telling[:_FINDINGS_MAX]:
        yield from finding_lines(finding, run.scenario)
        yield ""
    if len(telling) > _FINDINGS_MAX:
        yield f"… and {count(len(telling) - _FINDINGS_MAX, 'more finding')} (--html shows all)"
        yield ""


def finding_lines(finding: Finding, scenario: str) -> list[str]:
    """Return `finding` as the README shows one; no line holds a control character."""
    call = f", call {finding.call}" if finding.call else ""
    lines = [f"{finding.verdict.value.ljust(4)}  {finding.check}, in {scenario}{call}"]
    if finding.place:
        place = f"{finding.document} › {finding.place}" if finding.document else finding.place
        lines += _wrapped(f"{place} ({finding.level or 'no level'})")
    if finding.sentence:
        quoted = finding.sentence if finding.paraphrased else f'"{finding.sentence}"'
        lines += _wrapped(quoted)
    # An inconclusive finding may repeat in its reason what was observed.
    reason = "" if finding.reason == finding.observed else finding.reason
    for label, text in (
        ("expected", finding.expected),
        ("observed", finding.observed),
        ("because", reason),
        ("hint", finding.hint),
        ("events", _events(finding.events)),
    ):
        if text:
            lines += _wrapped(text, label)
    return [visible(line) for line in lines]


def _events(events: Sequence[int]) -> str:
    shown = ", ".join(map(str, events[:_EVENTS_MAX]))
    return f"{shown}, …" if len(events) > _EVENTS_MAX else shown


def _wrapped(text: str, label: str = "") -> list[str]:
    width = min(_WIDTH_MAX, max(40, shutil.get_terminal_size((_WIDTH_MAX, 24)).columns))
    first = _INDENT + (label.ljust(_LABEL) if label else "")
    rest = " " * len(first)
    return textwrap.wrap(
        text, width, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False
    )
