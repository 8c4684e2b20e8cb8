"""Findings in full on a terminal, as wide as it is."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

from harness.model.finding import Finding, RunReport
from harness.render import finding_text
from harness.render.finding_text import WIDTH_MAX
from harness.render.verdict_words import GLOSSARY, worst_first
from harness.render.wording import count

__all__ = ["columns", "finding_lines", "told_in_full"]

#: More findings than these belong into a report.
_FINDINGS_MAX = 4


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
    return finding_text.finding_lines(finding, scenario, columns())


def columns() -> int:
    """Return how many columns the terminal has; without one, as many as a text should have."""
    return shutil.get_terminal_size((WIDTH_MAX, 24)).columns
