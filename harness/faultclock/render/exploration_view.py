"""The words of an exploration, for the page and for the terminal alike.

Pure functions of the exploration. Nothing here decides what failed: verdicts, groups and sizes are
those of the value that is shown.
"""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from faultclock.model.report.coordinates import Unsteady
from faultclock.model.report.exploration import (
    Divergence,
    Exploration,
    ExploredScenario,
    FailureGroup,
    NoResult,
    NoResultGroup,
    Shrunk,
)
from faultclock.model.report.finding import Verdict
from faultclock.render.verdict_words import GLOSSARY, LOOKS
from faultclock.render.wording import count, exact_time, listed

#: What totals call the runs that were not the same a second time.
UNSTEADY = "UNSTEADY"
#: Scenarios that are named of those that are not proved.
_UNPROVED_MAX = 6
_PLAIN_PATH = re.compile(r"(?!/)(?!.*\.\.)[\w./-]+", re.ASCII)


class SizeRow(Struct, frozen=True, kw_only=True):
    """One measure of a failure, before and after it was made smaller."""

    word: str
    before: str
    after: str
    is_less: bool


class GroupView(Struct, frozen=True, kw_only=True):
    """One failure as it is shown."""

    anchor: str
    group: FailureGroup
    of_runs: int
    """How many runs its scenario had."""
    replay: str
    sizes: tuple[SizeRow, ...]
    files: tuple[tuple[str, bool], ...]
    """Name, and whether it is safe as a relative link."""


class ScenarioRow(Struct, frozen=True, kw_only=True):
    """One scenario as it was explored."""

    item: ExploredScenario
    key: str
    """Of the filter: the worst that its runs came to."""
    as_written: str
    """What run 1 came to, in a word."""
    runs: int
    unsteady: int
    schedules: str


class NoResultRow(Struct, frozen=True, kw_only=True):
    """Why some runs are inconclusive."""

    why: NoResult
    runs: int
    where: str
    """The first scenario, and of how many others and runs it holds."""
    again: str
    """The command that makes one of these runs again; empty where there is none."""


class CoveredKind(Struct, frozen=True, kw_only=True):
    """One kind of thing that runs reach."""

    id: str
    title: str
    says: str
    reached: tuple[tuple[str, int], ...]
    never: tuple[str, ...]


def headline(exploration: Exploration) -> str:
    """Return the one sentence that says what it came to."""
    return f"{exploration.subject.id}: {outcome(exploration)}"


def outcome(exploration: Exploration) -> str:
    """Return what it came to, of a subject that is named before."""
    runs = count(exploration.runs, "run")
    if exploration.sought:
        return _search_outcome(exploration, runs)
    match exploration.verdict:
        case Verdict.FAIL:
            return f"{count(len(exploration.groups), 'failure')} found in {runs}"
        case Verdict.PASS:
            return f"no failure in {runs}"
        case _ if exploration.unsteady:
            return f"{runs} prove nothing, because some were not the same twice"
        case _ if any(item.passed for item in exploration.scenarios):
            open_ = sum(not item.is_proved for item in exploration.scenarios)
            scenarios = count(len(exploration.scenarios), "scenario")
            return f"no failure in {runs}, and {open_} of {scenarios} not proved"
        case _:
            return f"{runs} prove nothing"


def _search_outcome(exploration: Exploration, runs: str) -> str:
    """Return what a search for an exception came to."""
    match exploration.verdict:
        case Verdict.FAIL:
            places = count(len(exploration.groups), "place")
            raising = sum(item.totals.get(Verdict.FAIL, 0) for item in exploration.scenarios)
            return f"{exploration.sought} found in {raising:,} of {runs}, at {places}"
        case Verdict.PASS:
            return f"no {exploration.sought} in {runs}"
        case _:
            return f"whether there is {exploration.sought} is open: not all of {runs} have a result"


def explains(exploration: Exploration) -> str:
    """Return what that means, and what it does not."""
    parts = []
    if exploration.sought:
        parts.append(
            "This is a search for an exception. A run fails if it raises the exception, and passes "
            "if it does not; the error model decides nothing."
        )
    elif exploration.groups:
        parts.append(
            "Each failure is shown once, even if many runs show it. Runs show the same failure if "
            "the same check fails by the same sentence and events of the same kinds prove it."
        )
    elif exploration.verdict is Verdict.PASS:
        parts.append(
            "No run breaks the error model. This says nothing about the runs that were not made."
        )
    elif not any(item.passed for item in exploration.scenarios):
        parts.append("No run passed, so this is no success.")
    if not exploration.groups:
        parts += (f"Not proved: {words}." for words in unproved_words(exploration))
    if exploration.unsteady:
        parts.append(
            f"{count(len(exploration.unsteady), 'run')} came out differently a second time. The "
            "cause is a fault of the harness or something real that got in. It does not count "
            "against the subject."
        )
    if not exploration.complete:
        parts.append("It ended before all requested runs were made.")
    return " ".join(parts)


def unproved_words(exploration: Exploration) -> tuple[str, ...]:
    """Return which scenarios are not proved though no run of them failed, each with the reason."""
    unproved = [item for item in exploration.scenarios if not item.is_proved]
    named = [f"{_where(item)}: {_why_unproved(item)}" for item in unproved[:_UNPROVED_MAX]]
    if len(unproved) > _UNPROVED_MAX:
        named.append(f"{count(len(unproved) - _UNPROVED_MAX, 'other scenario')}")
    return tuple(named)


def _why_unproved(item: ExploredScenario) -> str:
    if not sum(item.totals.values()):
        return "it ended before its first run"
    if item.as_written is None:
        return "it ended before run 1, the scenario as it is written"
    if item.spoilt:
        return f"{count(item.spoilt, 'run')} came to no result"
    if not item.passed:
        return "none of its runs passed"
    return "run 1, the scenario as it is written, is inconclusive"


def no_result_rows(exploration: Exploration) -> tuple[NoResultRow, ...]:
    """Return why runs are inconclusive, each reason once.

    Those that keep a scenario from being proved come first, then those of the most runs.
    """
    alike: dict[NoResult, list[tuple[str, NoResultGroup]]] = {}
    for item in exploration.scenarios:
        for group in item.no_results:
            alike.setdefault(group.why, []).append((_where(item), group))
    rows = [_no_result_row(exploration, why, found) for why, found in alike.items()]
    return tuple(sorted(rows, key=lambda row: (not row.why.spoils, -row.runs)))


def _no_result_row(
    exploration: Exploration, why: NoResult, found: Sequence[tuple[str, NoResultGroup]]
) -> NoResultRow:
    where, first = next((pair for pair in found if pair[1].token), found[0])
    others = len({scenario for scenario, _ in found}) - 1
    runs = sum(group.runs for _, group in found)
    elsewhere = f" and {count(others, 'more scenario')}" if others else ""
    return NoResultRow(
        why=why,
        runs=runs,
        where=f"{where}{elsewhere}, {count(runs, 'run')}",
        again=first.again or (first.token and _replay(exploration, first.token)),
    )


def _where(item: ExploredScenario) -> str:
    return f"{item.scenario}, {item.variant}" if item.variant else item.scenario


def group_views(exploration: Exploration) -> tuple[GroupView, ...]:
    """Return the failures in their order."""
    runs: Counter[str] = Counter()
    for item in exploration.scenarios:
        runs[item.scenario] += sum(item.totals.values())
    return tuple(
        GroupView(
            anchor=f"failure-{number}",
            group=group,
            of_runs=sum(runs[name] for name in {group.scenario, *group.elsewhere}) or group.runs,
            replay=group.again or _replay(exploration, group.token),
            sizes=size_rows(group.shrunk) if group.shrunk else (),
            files=tuple((name, bool(_PLAIN_PATH.fullmatch(name))) for name in group.files),
        )
        for number, group in enumerate(exploration.groups, 1)
    )


def found_in(shown: GroupView) -> str:
    """Return how many runs showed a failure, of how many."""
    return f"{shown.group.runs:,} of {count(shown.of_runs, 'run')}"


def size_rows(shrunk: Shrunk) -> tuple[SizeRow, ...]:
    """Return what became smaller, and what did not."""
    words = (
        ("faults", "faults and other rules"),
        ("tasks", "calls"),
        ("tools", "tools"),
        ("actors", "other actors"),
        ("choices", "choices on the tape"),
        ("events", "events in the trace"),
        ("virtual_ns", "virtual time"),
    )
    rows = []
    for name, word in words:
        before, after = getattr(shrunk.before, name), getattr(shrunk.after, name)
        shown = exact_time if name.endswith("_ns") else str
        rows.append(
            SizeRow(word=word, before=shown(before), after=shown(after), is_less=after < before)
        )
    return tuple(rows)


def minimum_words(shrunk: Shrunk) -> str:
    """Return how small it is: a local minimum at best, which is said."""
    runs = count(shrunk.runs, "run")
    if shrunk.is_minimum:
        return (
            f"A local minimum, found in {runs}: no single step reduces it and keeps the failure "
            "(a much longer run does not count as smaller). Several steps at once might."
        )
    because = f": {shrunk.stopped}" if shrunk.stopped else ""
    return f"Stopped after {runs}{because}. A smaller run may exist."


def agreement(found: Divergence) -> str:
    """Return in words up to where two runs agree."""
    if found.by_time:
        after = f"After {count(found.agree, 'event')}" if found.agree else "From the first on"
        return (
            f"Both runs have the same events in the same order. {after} the time that passed is "
            "not the same."
        )
    same = {0: "They differ from the start", 1: "The first event agrees"}.get(
        found.agree, f"The first {count(found.agree, 'event')} agree"
    )
    if found.times_part is not None:
        same += f", with other times from event {found.times_part} on"
    return f"{same}."


def row_mark(found: Divergence, place: int) -> str:
    """Return `first`, `differs` or nothing, for the row at a place (0-based)."""
    if place == found.first:
        return "first"
    return "" if found.rows[place].agrees else "differs"


def unsteady_words(item: Unsteady) -> str:
    """Return what was not the same."""
    if item.differs_at is None:
        return "One of the two runs did not end."
    return f"Line {item.differs_at} of the trace is the first that differs."


def scenario_rows(exploration: Exploration) -> tuple[ScenarioRow, ...]:
    """Return the scenarios in their order."""
    rows = []
    for item in exploration.scenarios:
        unsteady = item.totals.get(UNSTEADY, 0)
        worst = next((verdict for verdict in GLOSSARY if item.totals.get(verdict)), None)
        key = "open" if worst is None else LOOKS[worst].key
        rows.append(
            ScenarioRow(
                item=item,
                key="open" if unsteady and key != "fail" else key,
                as_written="not run" if item.as_written is None else LOOKS[item.as_written].word,
                runs=sum(item.totals.values()),
                unsteady=unsteady,
                schedules=tie_words(item.schedules),
            )
        )
    return tuple(rows)


def coverage_kinds(exploration: Exploration) -> tuple[CoveredKind, ...]:
    """Return what runs reached and what none did, kind by kind."""
    coverage = exploration.coverage
    return (
        CoveredKind(
            id="checks",
            title="Checks",
            says="checks that had something to judge",
            reached=_sorted(coverage.checks),
            never=coverage.checks_never,
        ),
        CoveredKind(
            id="requirements",
            title="Requirements",
            says="sentences of the error model that were judged",
            reached=_sorted(coverage.requirements),
            never=coverage.requirements_never,
        ),
        CoveredKind(
            id="faults",
            title="Faults",
            says="rules of the scenarios that were met",
            reached=_sorted(coverage.faults),
            never=coverage.faults_never,
        ),
        CoveredKind(
            id="pairs",
            title="Pairs of events",
            says="kinds of events that came next to each other",
            reached=_sorted(coverage.pairs),
            never=coverage.pairs_never,
        ),
    )


def nearest_words(found: Divergence) -> str:
    """Return what the failing run is compared with."""
    return f"Compared with the nearest run that passes: {found.nearest}."


def never_words(kind: CoveredKind, most: int = 4) -> str:
    """Return the names of what no run reached, of many the first."""
    return listed(kind.never, most)


def _replay(exploration: Exploration, token: str) -> str:
    """Return the command for a subject and a scenario that are shipped: no token holds a path."""
    words = ["faultclock", "replay", token, "--model", exploration.model]
    if exploration.subject.source_digest is not None:
        words += ["--subject", f"FILE.py:{exploration.subject.id}"]
    for switch, reading in sorted(exploration.readings.items()):
        words += ["--reading", f"{switch}={reading}"]
    if exploration.sought:
        words += ["--raises", exploration.sought]
    return shlex.join(words)


def _sorted(reached: Mapping[str, int]) -> tuple[tuple[str, int], ...]:
    return tuple(sorted(reached.items(), key=lambda pair: (pair[1], pair[0])))


def tie_words(schedules: Mapping[str, int]) -> str:
    """Return how events at one instant were ordered, in the words of `--schedule`."""
    return ", ".join(f"{number:,} {kind}" for kind, number in _some(schedules))


def _some(numbers: Mapping[str, int]) -> Sequence[tuple[str, int]]:
    some: Iterable[tuple[str, int]] = numbers.items()
    return [(name, number) for name, number in sorted(some) if number]
