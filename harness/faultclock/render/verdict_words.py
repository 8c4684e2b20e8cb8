"""How a verdict looks and reads, and which group of checks a finding belongs to.

A verdict is always a symbol, a word and a colour together. Folding several findings into one
cell uses `faultclock.model.report.finding.overall`: the rule that decides is the model's, not ours.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from msgspec import Struct

from faultclock.model.report.finding import Finding, Verdict, overall


class Look(Struct, frozen=True, kw_only=True):
    """Name of the icon and the class, the word, and what it means."""

    key: str
    word: str
    means: str


LOOKS: dict[Verdict, Look] = {
    Verdict.PASS: Look(
        key="pass",
        word="pass",
        means="Judged, and as the error model asks. Only this is green.",
    ),
    Verdict.FAIL: Look(
        key="fail",
        word="fail",
        means="The subject did what a MUST of the error model forbids, or left out what it asks.",
    ),
    Verdict.WARN: Look(
        key="warn",
        word="warning",
        means="Every MUST that was judged holds, but a SHOULD does not.",
    ),
    Verdict.INCONCLUSIVE: Look(
        key="open",
        word="inconclusive",
        means="The run proves nothing: a planned fault was never met, something real leaked into "
        "the simulation, or the trace is not whole. It is never counted as a pass.",
    ),
    Verdict.NOT_APPLICABLE: Look(
        key="none",
        word="not applicable",
        means="The check had nothing to judge here; the reason is given with it. It earns nothing.",
    ),
}

#: Worst first, which is also the order of attention.
GLOSSARY: tuple[Verdict, ...] = (
    Verdict.FAIL,
    Verdict.INCONCLUSIVE,
    Verdict.WARN,
    Verdict.PASS,
    Verdict.NOT_APPLICABLE,
)


def group_of(check: str) -> str:
    """Return the group that a check id names: its part before the first `.`, `/` or `:`."""
    return re.split(r"[./:]", check, maxsplit=1)[0] or check


def fold(findings: Iterable[Finding]) -> Verdict | None:
    """Return the one verdict of these findings; None when there are none."""
    verdicts = tuple(finding.verdict for finding in findings)
    if not verdicts:
        return None
    if set(verdicts) == {Verdict.NOT_APPLICABLE}:
        return Verdict.NOT_APPLICABLE
    return overall(verdicts)


def worst_first(verdict: Verdict) -> int:
    """Return the sort key of a verdict: 0 is the one to look at first."""
    return GLOSSARY.index(verdict)
