"""The head of the report in words: the one verdict, what was run, the readings used."""

from __future__ import annotations

from msgspec import Struct

from faultclock.model.error_model.error_model import SwitchOption
from faultclock.model.report.finding import Report, RequirementCoverage, Verdict
from faultclock.render.verdict_words import GLOSSARY
from faultclock.render.wording import count, time_word

#: Statuses of requirements, the ones that need attention first.
_STATUSES = ("failed", "tested", "not exercised", "excluded")


class Reading(Struct, frozen=True, kw_only=True):
    """One interpretation switch and how it was set."""

    switch: str
    used: str
    question: str
    means: str
    because: str
    others: tuple[SwitchOption, ...]
    is_default: bool


class Overview(Struct, frozen=True, kw_only=True):
    """What the head and the summary tables say."""

    headline: tuple[str, str]
    """What stands between the subject and the model, and after the model."""
    explains: str
    tallies: tuple[tuple[Verdict, int], ...]
    readings: tuple[Reading, ...]
    coverage: tuple[RequirementCoverage, ...]
    statuses: tuple[tuple[str, int], ...]


def make_overview(report: Report) -> Overview:
    """Return the words of the head for `report`."""
    statuses = [item.status for item in report.coverage]
    known = [*_STATUSES, *sorted(set(statuses) - set(_STATUSES))]
    return Overview(
        headline=_headline(report),
        explains=_explains(report),
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
    if report.inline:
        text += " All runs shared one process (--inline)."
    if twice := sum(run.made_twice for run in report.runs):
        text += f" {count(twice, 'run')} that did not fail"
        text += f" {'was' if twice == 1 else 'were'} made a second time, with the same bytes."
    spoiled = report.totals.get(Verdict.INCONCLUSIVE, 0)
    if spoiled and report.verdict is not Verdict.INCONCLUSIVE:
        text += f" {count(spoiled, 'run')} proved nothing, which is never counted as a pass."
    return text


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
