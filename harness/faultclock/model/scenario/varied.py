"""Varied: the scenario that the choices of a tape make of one that declares what may vary.

The choices are applied to the scenario as a file would hold it, and what comes out is validated as
a file is: so a variation is always a scenario that a person could have written. This module
decides nothing; `faultclock.explore` draws the tapes.

Values of a choice: 0, or none at all, is what is written. Of a range, 1 + how far the value is
above its start (in nanoseconds for durations). Of a list, 1 + the 0-based place of the value. Of a
rule, 1 takes it out.
"""

from __future__ import annotations

import json
from typing import Any, Literal

from msgspec import Struct
from pydantic import BaseModel, ValidationError

from faultclock.model.duration import format_duration
from faultclock.model.scenario.faults_stop import never_settles
from faultclock.model.scenario.removable import without_rules
from faultclock.model.scenario.rule import AttemptRange
from faultclock.model.scenario.scenario import Scenario, written_scenario
from faultclock.model.scenario.vary import Span, Variation
from faultclock.model.tape import SCENARIO_STREAMS, Tape

VARY, LACKS = SCENARIO_STREAMS

#: What makes the scenario the one that it is, or says how it is explored: none of it may vary.
FIXED = frozenset(
    {
        "id",
        "title",
        "why",
        "role",
        "pair",
        "origin",
        "models",
        "variant",
        "matrix",
        "vary",
        "settle",
        "limits",
        "tape",
        "seed",
        "seeds",
        "crash_everywhere",
    }
)

#: Keys, and 0-based numbers in lists, from the scenario down to a value.
Location = tuple[str | int, ...]

#: What names an element of a list.
_NAMES = ("id", "name")


class NowhereError(ValueError):
    """A path leads to nothing that a scenario has.

    Attributes:
        name: the first part of the path that is not there.
        known: what is there instead.
    """

    def __init__(self, path: str, name: str, known: tuple[str, ...], where: str) -> None:
        super().__init__(f"`{path}` leads nowhere: there is no {name!r} in {where}")
        self.name = name
        self.known = known


class ChoiceAt(Struct, frozen=True, kw_only=True):
    """One thing that may be drawn.

    Attributes:
        stream: of the tape; its number is always 0.
        path: what varies; for `lacks` the id of the rule.
        count: number of values beside 0: a choice is 0 to `count`.
        bounds: first and last value of a range, durations in nanoseconds; None for all others.
        is_duration: whether it is a range of durations.
    """

    stream: str
    path: str
    kind: Literal["span", "any_of", "lacks"]
    count: int
    bounds: tuple[int, int] | None = None
    is_duration: bool = False


def choices_at(scenario: Scenario) -> tuple[ChoiceAt, ...]:
    """Return all that may be drawn for `scenario`, in the order in which it is declared."""
    vary = scenario.vary
    if vary is None:
        return ()
    found = [_choice_at(path, variation) for path, variation in vary.values.items()]
    found += [
        ChoiceAt(stream=f"{LACKS}{rule}", path=rule, kind="lacks", count=1)
        for rule in vary.may_lack
    ]
    return tuple(found)


def _choice_at(path: str, variation: Variation) -> ChoiceAt:
    stream = f"{VARY}{path}"
    if isinstance(variation, Span):
        first, last = variation.bounds
        return ChoiceAt(
            stream=stream,
            path=path,
            kind="span",
            count=last - first + 1,
            bounds=(first, last),
            is_duration=variation.is_duration,
        )
    return ChoiceAt(stream=stream, path=path, kind="any_of", count=len(variation.any_of))


def varied(scenario: Scenario, tape: Tape) -> Scenario:
    """Return the scenario that `tape` makes of `scenario`; it has no `vary` any more.

    Streams of the tape that shape the run and not the scenario are passed over.

    Raises:
        ValueError: the tape chooses what is not declared, or its choices together make no valid
            scenario; with a sentence that says which.
    """
    if not _chosen(scenario, tape):
        return scenario.model_copy(update={"vary": None}) if scenario.vary else scenario
    data = varied_data(scenario, tape)
    try:
        made = written_scenario(data)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"])) or "the scenario"
        words = ", ".join(choices_in_words(scenario, tape))
        raise ValueError(f"with {words}: {where}: {first['msg']}") from None
    late = next(never_settles(made), None)
    if late is not None:
        words = ", ".join(choices_in_words(scenario, tape))
        raise ValueError(f"with {words}: {late[1]}")
    return made


def varied_data(scenario: Scenario, tape: Tape) -> dict[str, Any]:
    """Return what `varied` validates: plain data, as a file would hold it.

    Raises:
        ValueError: the tape chooses what is not declared, or a choice leads nowhere.
    """
    data = scenario.model_dump(mode="json", by_alias=True, exclude={"vary"})
    chosen = _chosen(scenario, tape)
    places = [
        (written_at(scenario, choice.path), choice, value)
        for choice, value in chosen
        if choice.kind != "lacks"
    ]
    # What holds others is changed before them, in any order of the declaration.
    for location, choice, value in sorted(places, key=lambda item: len(item[0])):
        _put(data, location, _value(scenario, choice, value), choice.path)
    lacking = {choice.path for choice, _ in chosen if choice.kind == "lacks"}
    if lacking:
        without_rules(data, lacking)
    return data


def choices_in_words(scenario: Scenario, tape: Tape) -> tuple[str, ...]:
    """Return what `tape` makes of `scenario`: `provider.latency = 250ms`, `without limited`.

    Raises:
        ValueError: the tape chooses what is not declared.
    """
    words = []
    for choice, value in _chosen(scenario, tape):
        if choice.kind == "lacks":
            words.append(f"without {choice.path}")
        else:
            words.append(f"{choice.path} = {_told(_value(scenario, choice, value))}")
    return tuple(words)


def _told(value: Any) -> str:
    if isinstance(value, str):
        return value
    return json.dumps(value, ensure_ascii=False)


def _chosen(scenario: Scenario, tape: Tape) -> list[tuple[ChoiceAt, int]]:
    """Return the choices of the tape that are not 0, in the order of the declaration.

    Raises:
        ValueError: one of them is not declared.
    """
    streams = [stream for stream in tape.choices if stream.startswith(SCENARIO_STREAMS)]
    if not streams:
        return []
    declared = {choice.stream: choice for choice in choices_at(scenario)}
    values: dict[str, int] = {}
    for stream in streams:
        if stream not in declared:
            raise ValueError(f"the tape chooses {stream!r}, and {scenario.id} declares no such")
        ((number, value), *more) = tape.choices[stream]
        if number != 0 or more:
            raise ValueError(f"the tape chooses {stream!r} more than once")
        if value > declared[stream].count:
            raise ValueError(
                f"the tape chooses value {value} of {stream!r}, which has {declared[stream].count}"
            )
        values[stream] = value
    return [(choice, values[name]) for name, choice in declared.items() if values.get(name)]


def _value(scenario: Scenario, choice: ChoiceAt, value: int) -> Any:
    """Return what a file would have to hold for the choice `value` (1 or more)."""
    if choice.bounds is not None:
        number = choice.bounds[0] + value - 1
        return format_duration(number) if choice.is_duration else number
    assert scenario.vary is not None, "what is declared is declared there"
    variation = scenario.vary.values[choice.path]
    assert not isinstance(variation, Span), "a range has bounds"
    return variation.any_of[value - 1]


def written_at(scenario: Scenario, path: str) -> Location:
    """Return where the value at `path` stands in the scenario as a file holds it.

    Raises:
        NowhereError: there is no such value.
        ValueError: it is one that may not vary.
    """
    location: list[str | int] = []
    value: Any = scenario
    for part in path.split("."):
        where = f"`{'.'.join(map(str, location))}`" if location else "a scenario"
        members = _members(value)
        if part not in members:
            raise NowhereError(path, part, tuple(dict.fromkeys(members)), where)
        if not location and part in FIXED:
            raise ValueError(f"`{part}` may not vary: it makes the scenario the one that it is")
        key, value = members[part]
        location.append(key)
    if location[-1] in _NAMES and len(location) > 1:
        raise ValueError(f"`{path}` may not vary: it is what the rest of the file calls it by")
    return tuple(location)


def _members(value: Any) -> dict[str, tuple[str | int, Any]]:
    """Return what may stand in a path behind `value`: by name, the key and what it leads to."""
    if isinstance(value, AttemptRange):
        # A file holds it as one text.
        return {}
    if isinstance(value, BaseModel):
        return {
            (key := field.alias or name): (key, getattr(value, name))
            for name, field in type(value).model_fields.items()
        }
    if isinstance(value, dict):
        return {str(key): (key, item) for key, item in value.items()}
    if not isinstance(value, tuple):
        return {}
    found: dict[str, tuple[str | int, Any]] = {}
    for number, item in enumerate(value):
        for name in _NAMES:
            if isinstance(item, BaseModel) and isinstance(getattr(item, name, None), str):
                found.setdefault(getattr(item, name), (number, item))
    for number, item in enumerate(value):
        found.setdefault(str(number), (number, item))
    return found


def _put(data: Any, location: Location, value: Any, path: str) -> None:
    """Write `value` at `location` of plain data."""
    *above, last = location
    try:
        for key in above:
            data = data[key]
        if isinstance(data, list):
            # Only what is there can be replaced.
            data[last]  # type: ignore[index]
        data[last] = value
    except (KeyError, IndexError, TypeError):
        raise ValueError(f"`{path}` leads nowhere once what holds it has changed") from None
