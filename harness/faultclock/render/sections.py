"""Scenario sections: the seeds of one scenario folded, one of them drawn.

What a section leaves out it counts.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping, Sequence

from msgspec import Struct, field

from faultclock.model.report.finding import CrossingReport, Finding, Report, RunReport, Verdict
from faultclock.render.agent import AgentTimeline, draw_agent
from faultclock.render.backoff_chart import ChartRow, chart_rows
from faultclock.render.cards import Card, make_cards
from faultclock.render.effects import EffectRow, effect_rows
from faultclock.render.moments import Moment, moments_of
from faultclock.render.strip import Strip, draw_strip
from faultclock.render.timeline import Timeline, draw_timeline
from faultclock.render.verdict_words import fold, group_of, worst_first
from faultclock.render.wording import clipped, count

_HEADLINE_MAX = 150
_PLAIN_PATH = re.compile(r"(?!/)(?!.*\.\.)[\w./-]+", re.ASCII)
#: In a report of more scenarios, those that passed have words in place of a drawing, unless a
#: problem leads to one: a hundred drawings that are seldom looked at would be most of the page.
_DRAWN_MAX = 60
#: Runs of a section that are listed one by one.
_LISTED_MAX = 1_000
#: Hexadecimal digits of a scenario's name in the ids of its events.
_DIGITS = 8


class CheckLine(Struct, frozen=True, kw_only=True):
    """One check of the section, with any verdict."""

    check: str
    verdict: Verdict
    judged: int
    requirement: str
    says: str


class Section(Struct, frozen=True, kw_only=True):
    """One scenario with all its seeds."""

    anchor: str
    short: str
    """Prefix of the ids of its events, from its name alone: a link survives another report."""
    family: str
    situation: str
    """See `situation_names`."""
    scenario: str
    title: str
    why: str
    verdict: Verdict
    headline: str
    shown: RunReport
    """The run whose timeline and events are drawn: the one that shows the worst problem."""
    runs: tuple[RunReport, ...]
    cards: tuple[Card, ...]
    checks: tuple[CheckLine, ...]
    is_drawn: bool
    """Whether it has its drawing, and not only the words of it."""
    agent: AgentTimeline | None
    """The drawing of a whole agent; then there is neither timeline nor strip."""
    timeline: Timeline | None
    strip: Strip | None
    chart: tuple[ChartRow, ...]
    effects: tuple[EffectRow, ...]
    crossing: CrossingReport | None
    """How much of the scenario's matrix was run; None where it has none."""
    moments: tuple[Moment, ...]
    events_left_out: int
    trace_link: str | None
    exceptions: tuple[str, ...]
    """Types of the exceptions that left a call, over all runs."""

    @property
    def seqs(self) -> frozenset[int]:
        """The events that are on the page."""
        return frozenset(item.seq for item in self.moments if item.seq is not None)

    @property
    def listed(self) -> tuple[RunReport, ...]:
        """The runs that are listed one by one; of very many, the worst ones."""
        if len(self.runs) <= _LISTED_MAX:
            return self.runs
        worst = sorted(self.runs, key=lambda run: worst_first(run.verdict))
        return tuple(worst[:_LISTED_MAX])

    @property
    def words(self) -> str:
        """What its drawing shows, in sentences."""
        drawing = self.agent or self.timeline or self.strip
        if drawing is None:
            return ""
        return drawing.says if isinstance(drawing.says, str) else " ".join(drawing.says)

    @property
    def beside(self) -> Card | None:
        """The card whose lines of code stand beside the events: of the run that is drawn."""
        return next((card for card in self.cards if card.is_of_shown and card.has_code), None)

    @property
    def judged(self) -> tuple[CheckLine, ...]:
        """The checks that had something to judge, or prove that nothing can be."""
        return tuple(line for line in self.checks if line.verdict is not Verdict.NOT_APPLICABLE)

    @property
    def passed(self) -> dict[str, list[str]]:
        """The checks that passed: group to the rest of their names."""
        groups: dict[str, list[str]] = {}
        for line in self.checks:
            if line.verdict is Verdict.PASS:
                group = group_of(line.check)
                groups.setdefault(group, []).append(line.check[len(group) + 1 :] or line.check)
        return groups

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


def make_sections(
    report: Report,
    *,
    drawn: Mapping[str, RunReport] | None = None,
    problems: Mapping[str, str] | None = None,
    name_of: Callable[[RunReport], str] | None = None,
) -> tuple[Section, ...]:
    """Return one section per situation, the worst first, families together.

    Args:
        drawn: situation (see `situation_names`) to the run to draw; of any other it is the worst.
        problems: id of a finding to that of its problem.
        name_of: `situation_names` of more runs than those of `report`.
    """
    folded: dict[str, list[RunReport]] = {}
    name_of = name_of or situation_names(report.runs)
    for run in report.runs:
        folded.setdefault(name_of(run), []).append(run)
    families = list(dict.fromkeys(_family(name) for name in folded))
    anchors: set[str] = set()
    crossings = {crossing.scenario: crossing for crossing in report.crossings}
    sections = (
        _section(
            name,
            runs,
            anchors,
            crossings.get(name),
            drawn=(drawn or {}).get(name),
            problems=problems or {},
            is_sparing=len(folded) > _DRAWN_MAX,
        )
        for name, runs in sorted(folded.items(), key=lambda item: families.index(_family(item[0])))
    )
    return tuple(sorted(sections, key=lambda section: worst_first(section.verdict)))


def situation_names(runs: Sequence[RunReport]) -> Callable[[RunReport], str]:
    """Return what tells situations apart: the scenario, and its title where that has several.

    Seeds and variants of a scenario share a title. The probes of an inference share an id only.
    """
    titles: dict[str, set[str]] = {}
    for run in runs:
        titles.setdefault(run.scenario, set()).add(run.title)

    def name_of(run: RunReport) -> str:
        several = len(titles[run.scenario]) > 1
        return f"{run.scenario}--{run.title}" if several else run.scenario

    return name_of


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
    name: str,
    runs: list[RunReport],
    anchors: set[str],
    crossing: CrossingReport | None,
    *,
    drawn: RunReport | None,
    problems: Mapping[str, str],
    is_sparing: bool,
) -> Section:
    runs = sorted(runs, key=lambda run: run.seed)
    worst = min(runs, key=lambda run: worst_first(run.verdict))
    shown = worst if drawn is None else drawn
    cards = make_cards(runs, shown, problems)
    cited = {seq for card in cards if card.is_of_shown for seq in card.cited}
    moments, left_out = moments_of(shown, cited, aside=drawn is None)
    agent = draw_agent(shown)
    folds = _folds(runs)
    return Section(
        anchor=safe_id("s", name, anchors),
        short="e" + hashlib.sha256(name.encode()).hexdigest()[:_DIGITS],
        family=_family(name),
        situation=name,
        scenario=shown.scenario,
        title=shown.title,
        why=shown.why,
        verdict=worst.verdict,
        headline=_headline(cards, worst, sum(item.passed for item in folds.values())),
        shown=shown,
        runs=tuple(runs),
        cards=cards,
        checks=tuple(_check_line(check, item) for check, item in folds.items()),
        is_drawn=not is_sparing or drawn is not None or worst.verdict is not Verdict.PASS,
        agent=agent,
        timeline=draw_timeline(shown) if agent is None else None,
        strip=draw_strip(shown) if agent is None else None,
        chart=_chart(runs),
        effects=effect_rows(shown),
        crossing=crossing,
        moments=moments,
        events_left_out=left_out,
        trace_link=_link(shown.trace_file),
        exceptions=_exceptions(runs),
    )


def _exceptions(runs: Sequence[RunReport]) -> tuple[str, ...]:
    outcomes = (call.outcome for run in runs for call in run.calls)
    types = (item.removeprefix("raised ") for item in outcomes if item.startswith("raised "))
    return tuple(dict.fromkeys(types))


def _chart(runs: Sequence[RunReport]) -> tuple[ChartRow, ...]:
    """Return the chart of several runs; one run has its expected intervals on the timeline."""
    rows = chart_rows(runs) if len(runs) > 1 else ()
    return rows if any(row.look != "none" for row in rows) else ()


def _link(trace_file: str | None) -> str | None:
    """Return a name that is safe as a relative link; anything else is shown as text."""
    return trace_file if trace_file and _PLAIN_PATH.fullmatch(trace_file) else None


def _headline(cards: Sequence[Card], shown: RunReport, passed: int) -> str:
    for card in cards:
        finding = card.finding
        if finding.verdict is shown.verdict:
            return _in_short(finding)
    if shown.ending != "completed":
        return f"the run ended by {shown.ending.replace('_', ' ')}"
    return f"{count(passed, 'check')} passed"


def _in_short(finding: Finding) -> str:
    """Return what was observed, and what was expected instead."""
    wanted = f"; expected: {finding.expected}" if finding.expected else ""
    return clipped((finding.observed or finding.reason) + wanted, _HEADLINE_MAX)


class _Fold(Struct):
    """The findings of one check over all runs of a section."""

    telling: Finding
    """The first one of the worst verdict: its words are shown."""
    judged: int = 0
    passed: int = 0
    requirements: dict[str, None] = field(default_factory=dict)

    def add(self, finding: Finding) -> None:
        self.judged += finding.judged
        self.passed += finding.verdict is Verdict.PASS
        if finding.requirement:
            self.requirements.setdefault(finding.requirement)
        if finding.verdict is not self.telling.verdict and (
            fold((self.telling, finding)) is finding.verdict
        ):
            self.telling = finding


def _folds(runs: Sequence[RunReport]) -> dict[str, _Fold]:
    found: dict[str, _Fold] = {}
    for run in runs:
        for finding in run.findings:
            found.setdefault(finding.check, _Fold(finding)).add(finding)
    return found


def _check_line(check: str, folded: _Fold) -> CheckLine:
    telling = folded.telling
    return CheckLine(
        check=check,
        verdict=telling.verdict,
        judged=folded.judged,
        requirement=", ".join(folded.requirements),
        says=telling.reason or telling.observed,
    )
