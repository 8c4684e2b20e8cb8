"""Reductions: all the ways in which one failing run can be made simpler.

Each reduction is a ladder of states of one thing of the scenario or its tape, from the simplest
(0) to as it is (the last): a rule that is gone or there, a duration that is the usual one, a round
one or the one that was drawn, a step that waits for none, for one other or for three. So a run is
a tuple of whole numbers, smaller ones are simpler, and Hypothesis can look for the smallest.

They are found by walking the values of the scenario, so a section that a later version adds has
its reductions already. What says what the scenario is, such as its role or the dialect, has none.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator
from typing import Any

from msgspec import Struct
from pydantic import BaseModel

from faultclock.explore.ladders import duration_rungs, number_rungs, range_rungs, seed_rungs
from faultclock.explore.mending import mend
from faultclock.explore.reduction_words import (
    draw_words,
    gone_words,
    order_words,
    value_words,
    wait_words,
)
from faultclock.model.duration import format_duration
from faultclock.model.scenario.payload import ErrorPayload
from faultclock.model.scenario.rule import AttemptRange
from faultclock.model.scenario.scenario import Scenario, written_scenario
from faultclock.model.tape import Tape

#: One number for each reduction: the state that it is in.
States = tuple[int, ...]
Place = tuple[str | int, ...]

#: What stands where something is taken away.
_GONE = object()
_TAKEN = (_GONE, None)
#: The default of a member that has none.
_REQUIRED = object()
#: What a scenario is, and not what happens in it; what belongs to exploration is made plain.
_KEPT = frozenset(
    {
        *("id", "name", "kind", "title", "why", "role", "pair", "origin", "models", "variant"),
        *("matrix", "limits", "vary", "seed", "seeds", "tape"),
        *("dialect", "endpoint", "do", "status", "seq", "revision", "entry_stage"),
    }
)
#: Members that count what happens or is there: one less goes with one thing less.
_COUNTING = frozenset(
    {"nth", "write", "attempts", "calls", "requests", "executions", "uses", "copies", "before_life"}
)
#: Coarse ones first: Hypothesis minds what comes first most.
_PRESENCE, _ORDER, _DRAW, _VALUE, _SEED, _NAME = range(6)
#: Streams whose name has the number of a task, a thread or a connection, in the order of making.
_NUMBERED = re.compile(
    r"(schedule/\d+/(?:timer/\d+/\D*|thread/|deadline/|net/c)|latency/c)(\d{1,4})((?!\d).*)",
    re.DOTALL,
)
_SCHEDULE = "schedule/"


class Reduction(Struct, frozen=True, kw_only=True):
    """One thing that can be made simpler.

    Attributes:
        place: where it stands in the plain data of the scenario.
        states: what can stand there, from the simplest to what does.
        words: of each state but the last: what such a run is like, after `the same `.
        rank: how coarse it is, 0 first.
        lane: which of them belong together.
    """

    place: Place
    states: tuple[Any, ...]
    words: tuple[str, ...]
    rank: int
    lane: str = ""

    @property
    def top(self) -> int:
        """The state in which it is as it was."""
        return len(self.states) - 1

    @property
    def is_presence(self) -> bool:
        """Whether it can be gone."""
        return self.rank == _PRESENCE

    @property
    def is_order(self) -> bool:
        """Whether it is a deviation of the order."""
        return self.rank == _ORDER

    @property
    def is_name(self) -> bool:
        """Whether it is the number in a name, which is no simpler where it is smaller."""
        return self.rank == _NAME

    @property
    def is_count(self) -> bool:
        """Whether it counts what can be gone."""
        return self.place[-1] in _COUNTING and self.rank == _VALUE


class Reductions(Struct, frozen=True, kw_only=True):
    """The reductions of one run.

    Attributes:
        data: the scenario as plain data, its tape included.
        ladders: coarse ones first.
    """

    data: dict[str, Any]
    ladders: tuple[Reduction, ...]

    @property
    def names(self) -> dict[int, list[int]]:
        """Places of ladders that are part of a name, with those of the choices that bear it."""
        bearers: dict[str, list[int]] = {}
        for place, ladder in enumerate(self.ladders):
            if not ladder.is_name:
                bearers.setdefault(ladder.lane, []).append(place)
        return {
            place: bearers[ladder.lane]
            for place, ladder in enumerate(self.ladders)
            if ladder.is_name
        }

    @property
    def top(self) -> States:
        """The states in which all is as it is."""
        return tuple(ladder.top for ladder in self.ladders)

    def scenario(self, states: States) -> Scenario | None:
        """Return the scenario in these states; None where they do not go together."""
        data = copy.deepcopy(self.data)
        lowered = [
            (ladder, ladder.states[state])
            for ladder, state in zip(self.ladders, states, strict=True)
            if state != ladder.top
        ]
        # What lies deeper first: it may be in something that goes as a whole.
        for ladder, value in sorted(lowered, key=lambda pair: -len(pair[0].place)):
            if not ladder.is_name:
                _put(data, ladder.place, value)
        data = _without_gone(data)
        renamed = {ladder.lane: value for ladder, value in lowered if ladder.is_name}
        kept = [stream for stream, chosen in data["tape"].items() if chosen]
        if len({renamed.get(stream, stream) for stream in kept}) < len(kept):
            return None
        data["tape"] = {renamed.get(stream, stream): data["tape"][stream] for stream in kept}
        tape = {stream: sorted(chosen.items()) for stream, chosen in data["tape"].items() if chosen}
        data["tape"] = {"choices": tape}
        mend(data, self.data)
        try:
            return written_scenario(data)
        except ValueError:
            return None

    def told(self, states: States) -> tuple[str, ...]:
        """Return what the states other than as it is mean, in words, one thing a line."""
        lowered = [
            (ladder, state)
            for ladder, state in zip(self.ladders, states, strict=True)
            if state != ladder.top and not ladder.is_name
        ]
        gone = [ladder.place for ladder, state in lowered if ladder.states[state] in _TAKEN]
        told = [
            ladder.words[state]
            for ladder, state in lowered
            if not (ladder.is_order and ladder.states[state] is _GONE)
            and not any(_below(ladder.place, place) for place in gone)
        ]
        deviations = [
            state for ladder, state in zip(self.ladders, states, strict=True) if ladder.is_order
        ]
        left = sum(state > 0 for state in deviations)
        if left < len(deviations):
            told.append(order_words(len(deviations), left))
        return tuple(told)


def reductions_of(scenario: Scenario) -> Reductions:
    """Return the reductions of a concrete scenario: it has its own seed and tape, and no `vary`."""
    data = scenario.model_dump(mode="json", by_alias=True)
    # By stream and number while it is reduced.
    data["tape"] = {stream: dict(chosen) for stream, chosen in scenario.tape.choices.items()}
    ladders = [*_of_value(scenario, data, _Spot()), *_of_tape(scenario.tape), *_of_seed(scenario)]
    ladders += _of_names(scenario.tape)
    ladders = [ladder for ladder in ladders if ladder.top > 0]
    return Reductions(data=data, ladders=tuple(sorted(ladders, key=lambda item: item.rank)))


# ---------------------------------------------------------------------- where they come from


class _Spot(Struct, frozen=True):
    """A place in the plain data, and the same with ids in place of numbers."""

    place: Place = ()
    names: tuple[str, ...] = ()

    def at(self, key: str | int, name: str | None = None) -> _Spot:
        return _Spot((*self.place, key), (*self.names, str(key) if name is None else name))


def _of_value(value: BaseModel, data: dict[str, Any], spot: _Spot) -> Iterator[Reduction]:
    for name, field in type(value).model_fields.items():
        key = field.alias or name
        if name in _KEPT or key not in data:
            continue
        default = _REQUIRED if field.is_required() else field.get_default(call_default_factory=True)
        yield from _of_field(getattr(value, name), data[key], default, spot.at(key))


def _of_field(value: Any, written: Any, default: Any, spot: _Spot) -> Iterator[Reduction]:
    """Yield the reductions of one member; `written` is its plain data."""
    if isinstance(value, AttemptRange):
        yield _ladder(spot, range_rungs(value))
    elif isinstance(value, BaseModel):
        if default is None:
            yield _absence(spot, None)
        yield from _of_value(value, written, spot)
    elif isinstance(value, tuple):
        yield from _of_list(value, written, default, spot)
    elif value == default:
        return
    elif isinstance(value, dict):
        if default not in (_REQUIRED, None, {}):
            yield _ladder(spot, (_plain(default), written))
        if default is None:
            yield _absence(spot, None)
        yield from _of_entries(value, written, spot)
    else:
        yield _ladder(spot, _rungs(value, written, default))


def _of_list(
    value: tuple[Any, ...], written: list[Any], default: Any, spot: _Spot
) -> Iterator[Reduction]:
    of_values = any(isinstance(item, BaseModel) for item in value)
    if value == default and not of_values:
        return
    if not of_values and default not in (_REQUIRED, ()):
        yield _ladder(spot, (_plain(default), written))
    for number, item in enumerate(value):
        is_value = isinstance(item, BaseModel)
        name = getattr(item, "id", None) or getattr(item, "name", None) if is_value else None
        where = spot.at(number, name or f"entry {number + 1}")
        yield _absence(where, _GONE)
        if is_value:
            yield from _of_value(item, written[number], where)


def _of_entries(value: dict[str, Any], written: dict[str, Any], spot: _Spot) -> Iterator[Reduction]:
    for key, item in value.items():
        if isinstance(item, str) and item.isascii() and item.isdigit():
            # A header such as Retry-After, whose value is a number all the same.
            yield _ladder(spot.at(key), (_GONE, *_digits(int(item)), item), rank=_PRESENCE)
            continue
        yield _absence(spot.at(key), _GONE)
        if isinstance(item, BaseModel) and not isinstance(item, ErrorPayload):
            yield from _of_value(item, written[key], spot.at(key))


def _rungs(value: Any, written: Any, default: Any) -> tuple[Any, ...]:
    """Return the states of a single value, from the simplest."""
    first = () if default is _REQUIRED else (_plain_like(default, written),)
    if isinstance(value, bool) or not isinstance(value, int):
        return (*first, written) if first else (written,)
    if isinstance(written, str):
        return tuple(dict.fromkeys((*first, *duration_rungs(value))))
    if isinstance(default, int) and default > value:
        return (default, value)
    lowest = default if isinstance(default, int) else 0
    return tuple(dict.fromkeys((*first, *number_rungs(value, lowest))))


def _digits(number: int) -> tuple[str, ...]:
    """Return a few smaller numbers as text."""
    rounder = 10 ** (len(str(number)) - 1)
    return tuple(str(lower) for lower in dict.fromkeys((1, rounder)) if lower < number)


def _of_tape(tape: Tape) -> Iterator[Reduction]:
    for stream, chosen in tape.choices.items():
        for number, value in chosen:
            if stream.startswith(_SCHEDULE):
                rungs: tuple[int, ...] = number_rungs(value, 1)
                words = tuple(wait_words(stream, number, rung) for rung in (0, *rungs[:-1]))
                rank = _ORDER
            else:
                rungs = tuple(dict.fromkeys((0, value)))
                drawn = (None, *rungs[:-1])
                words = tuple(draw_words(stream, number, rung) for rung in drawn)
                rank = _DRAW
            place = ("tape", stream, number)
            states = (_GONE, *rungs)
            yield Reduction(place=place, states=states, words=words, rank=rank, lane=stream)


def _of_names(tape: Tape) -> Iterator[Reduction]:
    for stream in tape.choices:
        found = _NUMBERED.fullmatch(stream)
        if found is None:
            continue
        before, number, after = found.groups()
        states = tuple(f"{before}{lower}{after}" for lower in range(1, int(number) + 1))
        words = tuple(f"with {name} in place of {stream}" for name in states[:-1])
        place = ("tape", stream)
        yield Reduction(place=place, states=states, words=words, rank=_NAME, lane=stream)


def _of_seed(scenario: Scenario) -> Iterator[Reduction]:
    rungs = seed_rungs(scenario.seed)
    words = tuple(f"with the seed {rung}" for rung in rungs[:-1])
    yield Reduction(place=("seed",), states=rungs, words=words, rank=_SEED, lane="seed")


def _absence(spot: _Spot, gone: Any) -> Reduction:
    words = (gone_words(spot.names),)
    lane = spot.names[0]
    return Reduction(place=spot.place, states=(gone, True), words=words, rank=_PRESENCE, lane=lane)


def _ladder(spot: _Spot, states: tuple[Any, ...], rank: int = _VALUE) -> Reduction:
    words = tuple(
        gone_words(spot.names) if state is _GONE else value_words(spot.names, state)
        for state in states[:-1]
    )
    return Reduction(place=spot.place, states=states, words=words, rank=rank, lane=spot.names[0])


# ---------------------------------------------------------------------- plain data


def _plain(value: Any) -> Any:
    return json.loads(json.dumps(value, default=str))


def _plain_like(default: Any, written: Any) -> Any:
    """Return a default as it is written where `written` stands."""
    if isinstance(default, int) and not isinstance(default, bool) and isinstance(written, str):
        return format_duration(default)
    return _plain(default)


def _put(data: Any, place: Place, value: Any) -> None:
    for key in place[:-1]:
        data = data[key]
    data[place[-1]] = value


def _below(place: Place, other: Place) -> bool:
    return len(place) > len(other) and place[: len(other)] == other


def _without_gone(data: Any) -> Any:
    if isinstance(data, dict):
        return {key: _without_gone(value) for key, value in data.items() if value is not _GONE}
    if isinstance(data, list):
        return [_without_gone(item) for item in data if item is not _GONE]
    return data
