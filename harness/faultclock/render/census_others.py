"""What the other clients of a census do in the same scenario, beside one of them.

Two clients do the same if their calls come out the same way after equal numbers of attempts. The
class of an exception does not count, because each library has its own.
"""

from __future__ import annotations

from collections.abc import Sequence

from msgspec import Struct

from faultclock.model.report.census import Census, ScenarioConduct
from faultclock.render.census_view import attempts_in_words, call_look, first_waits
from faultclock.render.wording import count, short_time


class OtherGroup(Struct, frozen=True, kw_only=True):
    """Other clients that do the same as each other, and not as this one."""

    act: str
    clients: tuple[str, ...]


class Others(Struct, frozen=True, kw_only=True):
    """What the other clients do in one scenario.

    Attributes:
        summary: how many of them do the same as this client.
        groups: those that do something else, the largest group first.
        waits: how long the others wait before their first retry; empty where none of them does, or
            where this client does not either.
    """

    summary: str
    groups: tuple[OtherGroup, ...]
    waits: str = ""


class Compared:
    """The clients of one census, ready to be compared."""

    def __init__(self, census: Census) -> None:
        self._runs: dict[str, dict[str, ScenarioConduct]] = {}
        for client in census.clients:
            for run in client.runs:
                if not run.trouble and run.calls:
                    self._runs.setdefault(run.scenario, {})[client.id] = run
        self._acts = {
            scenario: {client: _act(run) for client, run in runs.items()}
            for scenario, runs in self._runs.items()
        }

    def others(self, client: str, scenario: str) -> Others | None:
        """Return what the others do; None where this client or all others have no result."""
        acts = self._acts.get(scenario, {})
        mine = acts.get(client)
        if mine is None or len(acts) < 2:
            return None
        groups: dict[str, list[str]] = {}
        for name, act in acts.items():
            if name != client:
                groups.setdefault(act, []).append(name)
        alike = len(groups.pop(mine, ()))
        ordered = sorted(groups.items(), key=lambda item: -len(item[1]))
        return Others(
            summary=_summary(alike, len(acts) - 1),
            groups=tuple(OtherGroup(act=act, clients=tuple(names)) for act, names in ordered),
            waits=self._waits(client, scenario),
        )

    def _waits(self, client: str, scenario: str) -> str:
        runs = self._runs[scenario]
        if not first_waits(runs[client]):
            return ""
        others = [name for name in runs if name != client]
        known = sorted(wait for name in others for wait in first_waits(runs[name]))
        return "" if not known else _spread(known)


def _act(run: ScenarioConduct) -> str:
    words = [call_look(call)[1] for call in run.calls]
    attempts = attempts_in_words(run.calls)
    if len(set(words)) == 1:
        return f"{words[0]} after {attempts}"
    counted = [f"{words.count(word)} {word}" for word in dict.fromkeys(words)]
    return f"{', '.join(counted)}, after {attempts}"


def _summary(alike: int, others: int) -> str:
    if others == 1:
        return (
            "The other client does the same." if alike else "The other client does something else."
        )
    if alike == others:
        return f"All {others} others do the same."
    if not alike:
        return f"None of the {others} others does the same."
    return f"{alike} of {count(others, 'other')} {'does' if alike == 1 else 'do'} the same."


def _spread(known: Sequence[int]) -> str:
    low, middle, high = known[0], known[(len(known) - 1) // 2], known[-1]
    if short_time(low) == short_time(high):
        return short_time(low)
    return f"{short_time(low)} to {short_time(high)}, median {short_time(middle)}"
