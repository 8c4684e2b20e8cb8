"""The head of the report in words: the one verdict, where to look first, the readings used."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from harness.model.error_model import SwitchOption
from harness.model.finding import Report, RequirementCoverage, Verdict
from harness.render.sections import Card, Section, in_short
from harness.render.verdict_words import GLOSSARY
from harness.render.wording import count, listed, time_word

__all__ = ["LookFirst", "Overview", "Reading", "make_overview"]

#: Statuses of requirements, the ones that need attention first.
_STATUSES = ("failed", "tested", "not exercised", "excluded")
_QUOTE_MAX = 160


@dataclass(frozen=True, slots=True, kw_only=True)
class LookFirst:
    """One sentence with a link in its middle; without `anchor` there is no link."""

    before: str
    link: str = ""
    anchor: str = ""
    after: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """One interpretation switch and how it was set."""

    switch: str
    used: str
    question: str
    means: str
    because: str
    others: tuple[SwitchOption, ...]
    is_default: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """What the head and the summary tables say."""

    headline: tuple[str, str]
    """What stands between the subject and the model, and after the model."""
    explains: str
    look_first: LookFirst
    tallies: tuple[tuple[Verdict, int], ...]
    readings: tuple[Reading, ...]
    coverage: tuple[RequirementCoverage, ...]
    statuses: tuple[tuple[str, int], ...]


def make_overview(report: Report, sections: Sequence[Section]) -> Overview:
    """Return the words of the head for `report`, whose scenarios are `sections`."""
    statuses = [item.status for item in report.coverage]
    known = [*_STATUSES, *sorted(set(statuses) - set(_STATUSES))]
    return Overview(
        headline=_headline(report),
        explains=_explains(report),
        look_first=_look_first(report, sections),
        tallies=tuple((verdict, report.totals.get(verdict, 0)) for verdict in GLOSSARY),
        readings=_readings(report),
        coverage=tuple(sorted(report.coverage, key=lambda item: known.index(item.status))),
        statuses=tuple((status, statuses.count(status)) for status in known if status in statuses),
    )


def _headline(report: Report) -> tuple[str, str]:
    match report.verdict:
        case Verdict.FAIL:
            return "does not conform to", ""
        case Verdict.WARN:
            return "keeps every MUST of", "that was judged, but not every SHOULD"
        case Verdict.PASS:
            return "conforms to", "in everything that was judged"
        case _:
            return "is not proved to conform to", ""


def _explains(report: Report) -> str:
    if not report.runs:
        return "Nothing was run, so nothing is proved."
    scenarios = len({run.scenario for run in report.runs})
    bases = dict.fromkeys(time_word(run.time_base) for run in report.runs)
    text = f"{count(len(report.runs), 'run')} of {count(scenarios, 'scenario')}"
    text += f" in {' and '.join(bases)} time."
    spoiled = report.totals.get(Verdict.INCONCLUSIVE, 0)
    if spoiled and report.verdict is not Verdict.INCONCLUSIVE:
        text += f" {count(spoiled, 'run')} proved nothing, which is never counted as a pass."
    return text


def _look_first(report: Report, sections: Sequence[Section]) -> LookFirst:
    for verdict, verb in (
        (Verdict.FAIL, "fails"),
        (Verdict.INCONCLUSIVE, "is inconclusive"),
        (Verdict.WARN, "warns"),
    ):
        met: dict[str, dict[str, tuple[Section, Card]]] = {}
        for section in sections:
            for card in section.cards:
                if card.finding.verdict is verdict:
                    places = met.setdefault(card.finding.check, {})
                    places.setdefault(section.scenario, (section, card))
        if met:
            check, places = max(met.items(), key=lambda item: len(item[1]))
            section, card = next(iter(places.values()))
            said = in_short(card.finding, _QUOTE_MAX)
            return LookFirst(
                before="Look first at",
                link=section.scenario,
                anchor=section.anchor,
                after=f"{check} {verb} in {count(len(places), 'scenario')}; here: {said}",
            )
    for finding in report.seeds_findings:
        if finding.verdict not in {Verdict.PASS, Verdict.NOT_APPLICABLE}:
            said = in_short(finding, _QUOTE_MAX)
            return LookFirst(before="Look first at", link="the seeds", anchor="seeds", after=said)
    if not report.runs:
        return LookFirst(before="Choose scenarios to run, then read this report again.")
    untried = [item.id for item in report.coverage if item.status == "not exercised"]
    if untried:
        return LookFirst(
            before="No finding needs attention. What was never exercised is listed under",
            link="requirements",
            anchor="coverage",
            after=listed(untried, 4),
        )
    return LookFirst(before="No finding needs attention; the matrix shows what was judged.")


def _readings(report: Report) -> tuple[Reading, ...]:
    switches = {switch.id: switch for switch in report.switches}
    readings = []
    for switch_id in [*switches, *(id_ for id_ in report.readings if id_ not in switches)]:
        switch = switches.get(switch_id)
        used = report.readings.get(switch_id, switch.default if switch else "")
        options = switch.options if switch else ()
        readings.append(
            Reading(
                switch=switch_id,
                used=used,
                question=switch.question if switch else "",
                means=next((option.means for option in options if option.id == used), ""),
                because=switch.because if switch else "",
                others=tuple(option for option in options if option.id != used),
                is_default=switch is None or used == switch.default,
            )
        )
    return tuple(readings)
