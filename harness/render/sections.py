"""Scenario sections: the seeds of one scenario folded, with their findings as cards.

Findings that say the same of several calls or seeds become one card with a list of the others,
so that fifty clients with one fault read as one fault. What a section leaves out it counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from harness.model.finding import (
    CallReport,
    CrossingReport,
    EventMark,
    Finding,
    Report,
    RunReport,
    Verdict,
)
from harness.render.agent import AgentTimeline, draw_agent
from harness.render.backoff_chart import ChartRow, chart_rows
from harness.render.effects import EffectRow, effect_rows
from harness.render.strip import Strip, draw_strip
from harness.render.timeline import Timeline, draw_timeline
from harness.render.verdict_words import fold, group_of, worst_first
from harness.render.wording import clipped, count

__all__ = ["Card", "CheckLine", "Other", "Section", "in_short", "make_sections", "safe_id"]

#: A run with more events shows those that a finding cites, then the earliest; the rest is counted.
#: A run that passed is seldom read that far, and forty of them must stay a small file.
EVENTS_MAX, EVENTS_MAX_PASSED = 120, 60
_OTHERS_MAX = 12
#: Verdicts whose findings become cards; the others are lines of the table of checks.
_TOLD = (Verdict.FAIL, Verdict.INCONCLUSIVE, Verdict.WARN)
_CITED_MAX = 8
_HEADLINE_MAX = 150
_PLAIN_PATH = re.compile(r"(?!/)(?!.*\.\.)[\w./-]+", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Other:
    """A further call or seed of which a card's finding holds too."""

    seed: int
    check: str
    call: str
    expected: str
    """Check and expected are empty when they are the card's own."""
    observed: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """One finding that is not a pass, in full."""

    finding: Finding
    seed: int
    replay: str
    cited: tuple[EventMark, ...]
    """The events that prove it; empty when it comes from a seed whose events are not shown."""
    cited_left_out: int
    others: tuple[Other, ...]
    others_left_out: int
    unjudged: tuple[str, ...]
    """Further checks that are inconclusive for the same reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckLine:
    """One check of the section, whatever it came to."""

    check: str
    verdict: Verdict
    judged: int
    requirement: str
    says: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """One scenario with all its seeds."""

    anchor: str
    short: str
    """Prefix of the ids of its events; short, because there are thousands."""
    family: str
    scenario: str
    title: str
    why: str
    verdict: Verdict
    headline: str
    shown: RunReport
    """The run whose timeline and events are drawn: the worst, then the lowest seed."""
    runs: tuple[RunReport, ...]
    cards: tuple[Card, ...]
    checks: tuple[CheckLine, ...]
    agent: AgentTimeline | None
    """The drawing of a whole agent; then there is neither timeline nor strip."""
    timeline: Timeline | None
    strip: Strip | None
    chart: tuple[ChartRow, ...]
    effects: tuple[EffectRow, ...]
    crossing: CrossingReport | None
    """How much of the scenario's matrix was run; None where it has none."""
    attempts: tuple[CallReport, ...]
    """Calls whose attempts are listed one by one; empty beside a strip."""
    events: tuple[EventMark, ...]
    events_left_out: int
    trace_link: str | None

    @property
    def judged(self) -> tuple[CheckLine, ...]:
        """The checks that had something to judge, or prove that nothing can be."""
        return tuple(line for line in self.checks if line.verdict is not Verdict.NOT_APPLICABLE)

    @property
    def silent(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """The other checks by the reason why they had nothing to judge."""
        reasons: dict[str, tuple[str, ...]] = {}
        for line in self.checks:
            if line.verdict is Verdict.NOT_APPLICABLE:
                reasons[line.says] = (*reasons.get(line.says, ()), line.check)
        return tuple(reasons.items())

    @property
    def many(self) -> str:
        """How many runs there are, and of what."""
        varied = any(run.variant is not None for run in self.runs)
        return count(len(self.runs), "variant" if varied else "seed")


def make_sections(report: Report) -> tuple[Section, ...]:
    """Return one section per scenario, in the order of their first runs, families together."""
    folded: dict[str, list[RunReport]] = {}
    for run in report.runs:
        folded.setdefault(run.scenario, []).append(run)
    families = list(dict.fromkeys(_family(scenario) for scenario in folded))
    anchors: set[str] = set()
    crossings = {crossing.scenario: crossing for crossing in report.crossings}
    return tuple(
        _section(scenario, runs, anchors, crossings.get(scenario))
        for scenario, runs in sorted(
            folded.items(), key=lambda item: families.index(_family(item[0]))
        )
    )


def in_short(finding: Finding, most: int) -> str:
    """Return what was observed, and what was expected instead, in at most `most` characters."""
    wanted = f"; expected: {finding.expected}" if finding.expected else ""
    return clipped((finding.observed or finding.reason) + wanted, most)


def safe_id(prefix: str, text: str, taken: set[str]) -> str:
    """Return an HTML id made of `text`, not among `taken`, and add it to them."""
    base = f"{prefix}-{re.sub(r'[^A-Za-z0-9-]+', '-', text.replace('/', '--')).strip('-')}"
    anchor, number = base, 2
    while anchor in taken:
        anchor, number = f"{base}-{number}", number + 1
    taken.add(anchor)
    return anchor


def _family(scenario: str) -> str:
    return scenario.split("/", 1)[0]


def _section(
    scenario: str, runs: list[RunReport], anchors: set[str], crossing: CrossingReport | None
) -> Section:
    runs = sorted(runs, key=lambda run: run.seed)
    shown = min(runs, key=lambda run: worst_first(run.verdict))
    cards = _cards(runs, shown)
    told = (item for item in shown.findings if item.verdict in _TOLD)
    cited = {seq for finding in told for seq in finding.events}
    cited |= {seq for wait in shown.waits if not wait.legal for seq in wait.events}
    most = EVENTS_MAX_PASSED if shown.verdict is Verdict.PASS else EVENTS_MAX
    events = _chosen(shown.timeline, cited, most)
    agent = draw_agent(shown)
    strip = draw_strip(shown) if agent is None else None
    anchor = safe_id("s", scenario, anchors)
    return Section(
        anchor=anchor,
        short=f"e{len(anchors)}",
        family=_family(scenario),
        scenario=scenario,
        title=shown.title,
        why=shown.why,
        verdict=shown.verdict,
        headline=_headline(cards, shown, runs),
        shown=shown,
        runs=tuple(runs),
        cards=cards,
        checks=_check_lines(runs),
        agent=agent,
        timeline=draw_timeline(shown) if agent is None else None,
        strip=strip,
        chart=chart_rows(runs),
        effects=effect_rows(shown),
        crossing=crossing,
        attempts=() if strip else shown.calls,
        events=events,
        events_left_out=len(shown.timeline) - len(events) + shown.timeline_cut,
        trace_link=_link(shown.trace_file),
    )


def _link(trace_file: str | None) -> str | None:
    """Return a name that is safe as a relative link; anything else is shown as text."""
    return trace_file if trace_file and _PLAIN_PATH.fullmatch(trace_file) else None


def _cards(runs: Sequence[RunReport], shown: RunReport) -> tuple[Card, ...]:
    groups: dict[tuple[object, ...], list[tuple[RunReport, Finding]]] = {}
    # The run that is drawn comes first, so that a card can cite events of the drawing.
    for run in [shown, *(run for run in runs if run is not shown)]:
        for finding in run.findings:
            if finding.verdict not in _TOLD:
                continue
            groups.setdefault(_same(finding), []).append((run, finding))
    cards = [_card(members, shown) for members in groups.values()]
    return tuple(sorted(cards, key=lambda card: worst_first(card.finding.verdict)))


def _same(finding: Finding) -> tuple[object, ...]:
    """Return the key of the card that a finding belongs to."""
    if finding.verdict is not Verdict.INCONCLUSIVE:
        return finding.verdict, finding.check, finding.requirement
    # Spoiled evidence makes every other check inconclusive too, and each says so in its reason:
    # that is one thing to know, not a dozen.
    own = f"{finding.check}: " if group_of(finding.check) == "evidence" else ""
    return finding.verdict, own + finding.reason


def _card(members: list[tuple[RunReport, Finding]], shown: RunReport) -> Card:
    # The evidence that is spoiled speaks for the checks that it spoils.
    members = sorted(members, key=lambda member: group_of(member[1].check) != "evidence")
    run, finding = members[0]
    marks = {mark.seq: mark for mark in shown.timeline} if run is shown else {}
    cited = [marks[seq] for seq in finding.events if seq in marks]
    others = [
        Other(
            seed=other_run.seed,
            check=other.check if other.check != finding.check else "",
            call=other.call or "",
            expected=other.expected if other.expected != finding.expected else "",
            observed=other.observed or other.reason,
        )
        for other_run, other in members[1:]
        if other.observed or other.check == finding.check
    ]
    return Card(
        finding=finding,
        seed=run.seed,
        replay=run.replay,
        cited=tuple(cited[:_CITED_MAX]),
        cited_left_out=len(finding.events) - len(cited[:_CITED_MAX]),
        others=tuple(others[:_OTHERS_MAX]),
        others_left_out=max(len(others) - _OTHERS_MAX, 0),
        unjudged=tuple(
            dict.fromkeys(other.check for _, other in members if other.check != finding.check)
        ),
    )


def _headline(cards: Sequence[Card], shown: RunReport, runs: Sequence[RunReport]) -> str:
    for card in cards:
        finding = card.finding
        if finding.verdict is shown.verdict:
            return in_short(finding, _HEADLINE_MAX)
    if shown.ending != "completed":
        return f"the run ended by {shown.ending.replace('_', ' ')}"
    passed = sum(finding.verdict is Verdict.PASS for run in runs for finding in run.findings)
    return f"{count(passed, 'check')} passed"


def _check_lines(runs: Sequence[RunReport]) -> tuple[CheckLine, ...]:
    groups: dict[str, list[Finding]] = {}
    for run in runs:
        for finding in run.findings:
            groups.setdefault(finding.check, []).append(finding)
    return tuple(_check_line(check, findings) for check, findings in groups.items())


def _check_line(check: str, findings: list[Finding]) -> CheckLine:
    verdict = fold(findings)
    assert verdict is not None  # a group exists because of a finding
    # Of several, the words of one that decided the verdict.
    telling = next((item for item in findings if item.verdict is verdict), findings[0])
    requirements = dict.fromkeys(item.requirement for item in findings if item.requirement)
    return CheckLine(
        check=check,
        verdict=verdict,
        judged=sum(item.judged for item in findings),
        requirement=", ".join(requirements),
        says=telling.reason or telling.observed,
    )


def _chosen(timeline: Iterable[EventMark], cited: set[int], most: int) -> tuple[EventMark, ...]:
    events = list(timeline)
    room = most - sum(event.seq in cited for event in events)
    chosen = []
    for event in events:
        if event.seq in cited:
            chosen.append(event)
        elif room > 0:
            chosen.append(event)
            room -= 1
    return tuple(chosen)
