"""The words of a census: one short cell for a client in a scenario, and which clients do the same.

Pure functions of the census. A cell is always a symbol, a word and a colour together. The colours
do not judge. Red means one thing: the client changed the answer and raised no error.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import groupby

from msgspec import Struct

from faultclock.model.report.census import (
    CallConduct,
    Census,
    ClientCensus,
    ScenarioConduct,
    Step,
    Tally,
)
from faultclock.model.report.finding import Verdict
from faultclock.render.wording import count, short_time

_WAITS_SHOWN = 3
_VERDICTS = {verdict.value: verdict for verdict in Verdict}

#: Class and icon, and the word, of the ways in which a call comes out.
_ANSWERS = {
    "whole": ("pass", "answered in full"),
    "partial": ("fail", "silently truncated"),
    "empty": ("fail", "silently empty"),
    "other": ("fail", "silently changed"),
}
_RAISED, _OPEN, _VOID = "none", "open", "void"
#: What stands out in a cell of several calls.
_WORST_FIRST = ("fail", _OPEN, _RAISED, "pass")

_STEPS: dict[Step, str] = {
    "hung": "waited on the silent connection until its deadline",
    "retried": "retried",
    "returned_whole": "returned the whole answer",
    "returned_partial": "silently truncated the answer",
    "returned_empty": "silently returned an empty answer",
    "returned_other": "silently changed the answer",
    "never_ended": "never returned",
}
_UNSAFE = re.compile(r"[^a-z0-9._-]+")


class Cell(Struct, frozen=True, kw_only=True):
    """One client in one scenario."""

    key: str
    """Of the class and the icon."""
    word: str
    attempts: str = ""
    waits: str = ""
    verdict: Verdict | None = None


class Row(Struct, frozen=True, kw_only=True):
    """One scenario, a cell for each client."""

    scenario: str
    title: str
    streams: bool
    differs: bool
    """Whether the clients come out differently."""
    cells: tuple[Cell, ...]


class FamilyRows(Struct, frozen=True, kw_only=True):
    """The rows of one family."""

    name: str
    rows: tuple[Row, ...]


class Alike(Struct, frozen=True, kw_only=True):
    """Clients that do the same when an answer breaks off."""

    key: str
    words: str
    clients: tuple[str, ...]


class BrokenRow(Struct, frozen=True, kw_only=True):
    """One scenario in which an answer breaks off, and what each client does about it."""

    scenario: str
    title: str
    kind: str
    how: tuple[str, ...]
    groups: tuple[Alike, ...]


class Detail(Struct, frozen=True, kw_only=True):
    """Calls of one client in one scenario that did the same."""

    scenario: str
    first: bool
    """Whether it is the first of its scenario."""
    calls: str
    """Which: empty where the scenario has only one."""
    attempts: str
    waits: str
    key: str
    word: str
    error: str
    causes: str
    message: str
    broken: str
    verdict: Verdict | None


def wait_range(tally: Tally) -> str:
    """Return the shortest and the longest wait of a client; empty where it never waited."""
    low, high = tally.wait_shortest_ns, tally.wait_longest_ns
    return "" if low is None or high is None else _between(low, high)


def silent(client: ClientCensus) -> dict[str, int]:
    """Return how many calls of a client changed the answer without an error, for each way."""
    calls = [call for run in client.runs for call in run.calls if call.answer is not None]
    words = [call_look(call)[1] for call in calls]
    return {word: words.count(word) for key, word in _ANSWERS.values() if key == "fail"}


def first_waits(run: ScenarioConduct) -> tuple[int, ...]:
    """Return the first wait of each call of a run in nanoseconds, as far as it is known."""
    waits = (call.waits[0].ns for call in run.calls if call.waits)
    return tuple(wait for wait in waits if wait is not None)


def file_names(census: Census) -> dict[str, str]:
    """Return for each client the name of its page without folder and ending: safe, and its own."""
    names: dict[str, str] = {}
    for client in census.clients:
        plain = _UNSAFE.sub("-", client.id.lower()).strip("-.") or "client"
        name, number = plain, 1
        while name in names.values():
            number += 1
            name = f"{plain}-{number}"
        names[client.id] = name
    return names


def families_of(census: Census) -> tuple[FamilyRows, ...]:
    """Return the matrix: scenarios down, clients across."""
    runs = [{run.scenario: run for run in client.runs} for client in census.clients]
    rows = []
    for entry in census.scenarios:
        cells = tuple(cell_of(of_client.get(entry.id)) for of_client in runs)
        outcomes = {cell.key for cell in cells if cell.key != _VOID}
        rows.append(
            Row(
                scenario=entry.id,
                title=entry.title,
                streams=entry.streams,
                differs=len(outcomes) > 1,
                cells=cells,
            )
        )
    rows.sort(key=lambda row: row.scenario.split("/", 1)[0])
    return tuple(
        FamilyRows(name=name, rows=tuple(members))
        for name, members in groupby(rows, key=lambda row: row.scenario.split("/", 1)[0])
    )


def broken_rows(census: Census) -> tuple[BrokenRow, ...]:
    """Return every scenario in which an answer broke off for a client, streams first."""
    rows = []
    for entry in census.scenarios:
        for kind in ("stream", "body"):
            found = [
                (client.id, call)
                for client in census.clients
                for run in client.runs
                if run.scenario == entry.id
                for call in _first_broken(run, kind)
            ]
            if found:
                how = dict.fromkeys(call.broken.how for _, call in found if call.broken)
                rows.append(
                    BrokenRow(
                        scenario=entry.id,
                        title=entry.title,
                        kind=kind,
                        how=tuple(how),
                        groups=_alike(found),
                    )
                )
    return tuple(sorted(rows, key=lambda row: row.kind != "stream"))


def details_of(client: ClientCensus) -> tuple[Detail, ...]:
    """Return everything that one client did; calls of a scenario that did the same are one row."""
    return tuple(detail for run in client.runs for detail in _details(run))


def troubles_of(client: ClientCensus) -> tuple[tuple[str, str], ...]:
    """Return (scenario, reason) of the runs without a result, because of the simulation."""
    return tuple((run.scenario, run.trouble) for run in client.runs if run.trouble)


def short_class(name: str) -> str:
    """Return a class with its library alone: `tenacity.RetryError`, since others have one, too."""
    library, dot, rest = name.partition(".")
    return f"{library}.{rest.rpartition('.')[2]}" if dot else name


def steps_in_words(call: CallConduct) -> str:
    """Return what a call did about its first broken answer; empty where none broke."""
    if call.broken is None:
        return ""
    words = [_STEPS[step] for step in call.broken.steps if step != "raised"]
    if call.broken.steps[-1] == "raised":
        words.append(f"raised {short_class(call.error or '')}")
    return ", ".join(words)


# ---------------------------------------------------------------------- one cell


def cell_of(run: ScenarioConduct | None) -> Cell:
    """Return what a client did in one scenario; None: it was not run."""
    if run is None:
        return Cell(key=_VOID, word="not run")
    if run.trouble:
        return Cell(key=_OPEN, word="no result", verdict=_VERDICTS.get(run.verdict))
    if not run.calls:
        return Cell(key=_OPEN, word="made no call", verdict=_VERDICTS.get(run.verdict))
    looks = [call_look(call) for call in run.calls]
    return Cell(
        key=min((key for key, _ in looks), key=_WORST_FIRST.index),
        word=_word(run.calls),
        attempts=attempts_in_words(run.calls),
        waits=_waits(run.calls),
        verdict=_VERDICTS.get(run.verdict),
    )


def call_look(call: CallConduct) -> tuple[str, str]:
    """Return the class and the word of how one call came out."""
    if call.answer is not None:
        return _ANSWERS[call.answer]
    return (_RAISED, "raised") if call.outcome == "raised" else (_OPEN, "never returned")


def _word(calls: Sequence[CallConduct]) -> str:
    words = [call_look(call)[1] for call in calls]
    if len(set(words)) > 1:
        return ", ".join(f"{words.count(word)} {word}" for word in dict.fromkeys(words))
    # The column names the library.
    errors = {(call.error or "").rpartition(".")[2] for call in calls}
    return f"{words[0]} {errors.pop()}".rstrip() if len(errors) == 1 else words[0]


def attempts_in_words(calls: Sequence[CallConduct]) -> str:
    """Return how many attempts these calls took: `2 attempts`, `1 to 5 attempts`."""
    numbers = sorted({len(call.attempts) for call in calls})
    if len(numbers) == 1:
        return count(numbers[0], "attempt")
    return f"{numbers[0]} to {numbers[-1]} attempts"


def _waits(calls: Sequence[CallConduct]) -> str:
    if len(calls) == 1:
        waits = calls[0].waits
        shown = [_wait(wait.ns) for wait in waits[:_WAITS_SHOWN]]
        more = ["…"] if len(waits) > _WAITS_SHOWN else []
        return " · ".join([*shown, *more])
    known = [wait.ns for call in calls for wait in call.waits if wait.ns is not None]
    return _between(min(known), max(known)) if known else ""


def _between(low_ns: int, high_ns: int) -> str:
    low, high = short_time(low_ns), short_time(high_ns)
    return low if low == high else f"{low} to {high}"


def _wait(waited_ns: int | None) -> str:
    return "unknown" if waited_ns is None else short_time(waited_ns)


# ---------------------------------------------------------------------- who did the same


def _first_broken(run: ScenarioConduct, kind: str) -> Iterable[CallConduct]:
    broken = [call for call in run.calls if call.broken is not None and call.broken.kind == kind]
    return broken[:1]


def _alike(found: Sequence[tuple[str, CallConduct]]) -> tuple[Alike, ...]:
    groups: dict[str, tuple[str, list[str]]] = {}
    for client, call in found:
        words = steps_in_words(call)
        groups.setdefault(words, (call_look(call)[0], []))[1].append(client)
    rows = [
        Alike(key=key, words=words, clients=tuple(clients))
        for words, (key, clients) in groups.items()
    ]
    return tuple(sorted(rows, key=lambda row: _WORST_FIRST.index(row.key)))


def _details(run: ScenarioConduct) -> Iterable[Detail]:
    groups: dict[tuple[object, ...], list[CallConduct]] = {}
    for call in run.calls:
        ended = tuple(attempt.ended for attempt in call.attempts)
        same = (call.stream, ended, call.outcome, call.answer, call.error, call.causes)
        groups.setdefault(same, []).append(call)
    for index, calls in enumerate(groups.values()):
        yield _detail(run, calls, first=index == 0)


def _detail(run: ScenarioConduct, calls: Sequence[CallConduct], *, first: bool) -> Detail:
    call = calls[0]
    key, word = call_look(call)
    names = call.call if len(calls) == 1 else f"{count(len(calls), 'call')}, such as {call.call}"
    return Detail(
        scenario=run.scenario,
        first=first,
        calls=names if len(run.calls) > 1 else "",
        attempts=endings_of(call),
        waits=_all_waits(calls),
        key=key,
        word=word,
        error=call.error or "",
        causes=" ← ".join(call.causes),
        message=call.message,
        broken=steps_in_words(call),
        verdict=_VERDICTS.get(run.verdict) if first else None,
    )


def endings_of(call: CallConduct) -> str:
    """Return how the attempts of a call ended, one after the other."""
    parts = []
    for outcome, same in groupby(call.attempts, key=lambda attempt: attempt.ended):
        number = len(list(same))
        ended = "left open" if outcome == "open" else outcome
        parts.append(ended if number == 1 else f"{ended} ×{number}")
    return ", then ".join(parts) or "no attempt"


def _all_waits(calls: Sequence[CallConduct]) -> str:
    if len(calls) > 1:
        return _waits(calls)
    shown = []
    for wait in calls[0].waits:
        headers = {"Retry-After": wait.asked, "retry-after-ms": wait.asked_ms}
        asked = ", ".join(f"{name}: {said}" for name, said in headers.items() if said is not None)
        shown.append(f"{_wait(wait.ns)} ({asked})" if asked else _wait(wait.ns))
    return ", ".join(shown)
