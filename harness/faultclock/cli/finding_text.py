"""Findings in full on a terminal, as wide as it is."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

from faultclock.model.report.finding import Finding, RunReport
from faultclock.render import finding_text
from faultclock.render.finding_text import WIDTH_MAX
from faultclock.render.notes_text import NOTHING_NOTED, Noted, shown_with
from faultclock.render.verdict_words import GLOSSARY, worst_first
from faultclock.render.wording import count

#: More findings than these belong into a report.
_FINDINGS_MAX = 4


def told_in_full(run: RunReport) -> Iterator[str]:
    """Yield the lines of all findings of `run` that are not green, the worst first."""
    telling = [item for item in run.findings if item.verdict in GLOSSARY[:3]]
    telling.sort(key=lambda item: worst_first(item.verdict))
    seen: set[Noted] = set()
    for finding in telling[:_FINDINGS_MAX]:
        noted = shown_with(finding, run.notes)
        # Several findings about one call would show one traceback several times.
        yield from finding_lines(finding, run.scenario, NOTHING_NOTED if noted in seen else noted)
        seen.add(noted)
        yield ""
    if len(telling) > _FINDINGS_MAX:
        yield f"… and {count(len(telling) - _FINDINGS_MAX, 'more finding')} (--html shows all)"
        yield ""


def finding_lines(finding: Finding, scenario: str, noted: Noted = NOTHING_NOTED) -> list[str]:
    """Return `finding` as the README shows one."""
    return finding_text.finding_lines(finding, scenario, columns(), noted)


def columns() -> int:
    """Return how many columns the terminal has; without one, as many as a text should have."""
    return shutil.get_terminal_size((WIDTH_MAX, 24)).columns
