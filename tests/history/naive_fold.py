"""What a history says, by loops over all runs: slow, plain, and not by SQL."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from faultclock.history.differences import run_differences, state_differences
from faultclock.model.report.exploration import Tried
from faultclock.model.report.finding import Verdict
from faultclock.model.report.session import SessionSettings

_WORST_FIRST = ("FAIL", "INCONCLUSIVE", "WARN", "PASS", "NOT_APPLICABLE")


@dataclass(frozen=True)
class Row:
    """One run, with all that it follows from. Rows are in the order in which they were written."""

    place: int
    session: int
    settings: SessionSettings
    digest: str
    tried: Tried

    @property
    def name(self) -> tuple[str, str | None]:
        """Scenario and variant."""
        return self.tried.scenario, self.tried.variant

    @property
    def world(self) -> tuple[Any, ...]:
        """Scenario, as it is written, and world."""
        return *self.name, self.digest, self.settings.world

    @property
    def keys(self) -> list[tuple[Any, ...]]:
        """Its coordinates: by what was drawn, and by its tape where that is noted."""
        by_command = self.settings.command == "run"
        drawn = "run" if by_command else (self.settings.drawn, self.tried.number)
        keys = [("drawn", *self.world, self.tried.seed, drawn)]
        if self.tried.failures:
            keys.append(("tape", *self.world, self.tried.seed, self.tried.tape.model_dump_json()))
        return keys

    @property
    def by_clock(self) -> bool:
        """Whether the real clock had a part in how it ended."""
        return self.tried.ending in ("watchdog", "harness_error")


def rows_of(
    sessions: Iterable[tuple[SessionSettings, Iterable[tuple[Tried, str]]]],
) -> list[Row]:
    """Return the runs of sessions in their order."""
    rows: list[Row] = []
    for number, (settings, runs) in enumerate(sessions, start=1):
        for tried, digest in runs:
            rows.append(Row(len(rows) + 1, number, settings, digest, tried))
    return rows


def _differing(rows: list[Row]) -> tuple[dict[int, Row], set[int], set[int]]:
    """Return runs unlike their first, by place; all in such groups; all that have a first."""
    groups: dict[tuple[Any, ...], list[Row]] = defaultdict(list)
    for row in rows:
        if not row.by_clock:
            for key in row.keys:
                groups[key].append(row)
    unlike: dict[int, Row] = {}
    doubtful: set[int] = set()
    compared: set[int] = set()
    for group in groups.values():
        first = group[0]
        compared |= {row.place for row in group[1:]}
        others = [r for r in group if r.tried.trace_digest != first.tried.trace_digest]
        unlike |= {row.place: row for row in others}
        if others:
            doubtful |= {row.place for row in group}
    return unlike, doubtful, compared


def bugs(rows: list[Row]) -> set[tuple[Any, ...]]:
    """Return (kind, scenario, variant, subject, runs, compared, session, number of the other)."""
    found: set[tuple[Any, ...]] = set()
    unlike, _, compared = _differing(rows)
    of_world: dict[tuple[Any, ...], list[Row]] = defaultdict(list)
    for row in rows:
        of_world[row.world].append(row)
    for members in of_world.values():
        places = {row.place for row in members}
        others = [row for row in members if row.place in unlike]
        if others:
            found.add(_bug("traces", others, len(places & compared)))
        unsteady = [row for row in members if row.tried.unsteady is not None]
        if unsteady:
            found.add(_bug("unsteady", unsteady, len(unsteady)))
    judged: dict[tuple[Any, ...], dict[str, list[Row]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        if row.tried.unsteady is None:
            by = (*row.world, row.settings.judge, row.settings.command)
            judged[by][row.tried.trace_digest].append(row)
    for traces in judged.values():
        others = [
            row
            for group in traces.values()
            for row in group
            if row.tried.verdict is not group[0].tried.verdict
        ]
        if others:
            repeated = sum(len(group) - 1 for group in traces.values())
            found.add(_bug("verdicts", sorted(others, key=lambda r: r.place), repeated))
    return found


def _bug(kind: str, others: list[Row], compared: int) -> tuple[Any, ...]:
    first = others[0]
    return (
        *(kind, *first.name, first.settings.subject.id, len(others), compared),
        *(first.session, first.tried.number),
    )


def flaky(rows: list[Row]) -> set[tuple[Any, ...]]:
    """Return (scenario, variant, subject, failing, passing, runs, first, is it current)."""
    _, doubtful, _ = _differing(rows)
    groups: dict[tuple[Any, ...], list[Row]] = defaultdict(list)
    last: dict[tuple[Any, ...], int] = {}
    for row in rows:
        last[*row.name, row.settings.subject.id] = row.session
        if row.tried.unsteady is None and row.place not in doubtful:
            groups[*row.world, row.settings.judge].append(row)
    found = set()
    for group in groups.values():
        failing = [row for row in group if row.tried.verdict is Verdict.FAIL]
        passing = [row for row in group if row.tried.verdict in (Verdict.PASS, Verdict.WARN)]
        if failing and passing:
            name, who = group[0].name, group[0].settings.subject.id
            counted = [len({r.tried.trace_digest for r in g}) for g in (failing, passing, group)]
            current = max(row.session for row in group) == last[*name, who]
            first = failing[0]
            found.add((*name, who, *counted, first.session, first.tried.number, current))
    return found


def flips(rows: list[Row]) -> set[tuple[Any, ...]]:
    """Return (scenario, variant, subject, command, before, was, after, now, cause)."""
    lines: dict[tuple[Any, ...], dict[int, list[Row]]] = defaultdict(dict)
    for row in rows:
        who = (*row.name, row.settings.subject.id, row.settings.command)
        lines[who].setdefault(row.session, []).append(row)
    found = set()
    for who, sessions in lines.items():
        numbers = sorted(sessions)
        for before, after in pairwise(numbers):
            was, now = _worst(sessions[before]), _worst(sessions[after])
            if was != now:
                cause = _cause(sessions[before], sessions[after])
                found.add((*who, before, was, after, now, cause))
    return found


def _worst(rows: list[Row]) -> str:
    return min((row.tried.verdict.value for row in rows), key=_WORST_FIRST.index)


def _cause(old: list[Row], new: list[Row]) -> str:
    one, other = old[0], new[0]
    if one.world == other.world:
        if any(row.tried.unsteady is not None for row in old + new):
            return "determinism"
        same_judge = one.settings.judge == other.settings.judge
        for a in old:
            for b in new:
                if a.by_clock or b.by_clock or a.keys[0] != b.keys[0]:
                    continue
                judged_otherwise = same_judge and a.tried.verdict is not b.tried.verdict
                if a.tried.trace_digest != b.tried.trace_digest or judged_otherwise:
                    return "determinism"
    changed = one.digest != other.digest or state_differences(one.settings, other.settings)
    assert isinstance(run_differences(one.settings, other.settings), tuple)
    return "changed" if changed else "other_runs"
