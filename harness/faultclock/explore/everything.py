"""Makes a `vary:` block for a scenario that declares none: everything that a world may change.

What the scenario holds is walked, and each value that says when, how long, how much or how often
gets a range around it: latencies and pauses, the moments of cancels, crashes and answers, the byte
or the chunk at which something breaks, the attempt that meets a fault. Every rule may be left out.
What a scenario is about stays: its dialect, its bodies and statuses, and the policy that the
subject is given. What the file declares itself comes first.

The block is a function of the scenario alone, so a token of such a run leads back to it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from pydantic import BaseModel

from faultclock.model.duration import MILLISECOND_NS, SECOND_NS, format_duration
from faultclock.model.scenario.removable import rules_of
from faultclock.model.scenario.rule import AttemptRange
from faultclock.model.scenario.scenario import Scenario
from faultclock.model.scenario.varied import FIXED, LACKS, VARY, choices_at, varied, written_at
from faultclock.model.scenario.vary import AnyOf, Span, Variation, Vary
from faultclock.model.tape import Tape

#: What is below these is not the world's: texts that are sent, and what the subject is given.
_KEPT = frozenset(
    {
        *("headers", "payloads", "arguments", "value", "data", "input_schema", "slots"),
        *("retry", "budgets", "denials_max", "iterations_max"),
        # A call whose time is over before an answer can come says nothing about its subject.
        *("timeout", "deadline", "deadlines"),
    }
)
#: Whole numbers that say where or how often something happens in the world.
_COUNTS = frozenset(
    {
        *("after_body_bytes", "after_chunks", "at_byte", "bytes_count", "bytes_per_step"),
        *("at_once", "burst", "nth", "percent", "times", "write"),
    }
)
#: Switches of the world that change nothing of what is asked for.
_SWITCHES = frozenset({"close", "even_if_dismissed", "tells_when"})
#: Which attempts meet a fault, as a file says it.
_RANGES = ("1", "2", "3", "1-2", "1-3", "every")
#: A time is varied up to so many times itself, and at least up to this.
_TIMES = 4
_LONGEST_NS = 2 * SECOND_NS
#: A stream has many of these pauses, and has to end in time.
_PAUSES_NS = {"chunk_interval": 250 * MILLISECOND_NS}
_COUNT_MORE = 3
#: Packets that do not all take equally long: no file writes it where it is nothing.
_JITTER = "provider.jitter"
_JITTER_MAX = "100ms"
_NAMES = ("id", "name")

_Path = tuple[str, ...]


def vary_everything(scenario: Scenario) -> Scenario:
    """Return `scenario` with a declaration of everything in it that may vary."""
    declared = scenario.vary or Vary()
    values = dict(declared.values)
    data = scenario.model_dump(mode="json", by_alias=True)
    for path, tries in _walk(scenario, data, ()):
        name = ".".join(path)
        if name not in values and _leads(scenario, name):
            fitting = next((item for item in tries if _fits(scenario, name, item)), None)
            if fitting is not None:
                values[name] = fitting
    if _JITTER not in values:
        jitter = Span.model_validate({"from": "0s", "to": _JITTER_MAX})
        values |= {_JITTER: jitter} if _fits(scenario, _JITTER, jitter) else {}
    lacking = [
        rule
        for rule in rules_of(scenario)
        if rule in declared.may_lack or _may_lack(scenario, rule)
    ]
    return _with(scenario, Vary(values=values, may_lack=tuple(lacking)))


def _with(scenario: Scenario, vary: Vary) -> Scenario:
    return scenario.model_copy(update={"vary": vary})


def _leads(scenario: Scenario, path: str) -> bool:
    """Return whether a path leads somewhere: a name with a dot in it leads nowhere."""
    try:
        written_at(scenario, path)
    except ValueError:
        return False
    return True


def _fits(scenario: Scenario, path: str, variation: Variation) -> bool:
    """Return whether each end of a variation makes a scenario that a file could hold."""
    alone = _with(scenario, Vary(values={path: variation}))
    (choice,) = choices_at(alone)
    ends = (1, choice.count) if choice.kind == "span" else range(1, choice.count + 1)
    return all(_is_scenario(alone, f"{VARY}{path}", end) for end in ends)


def _may_lack(scenario: Scenario, rule: str) -> bool:
    return _is_scenario(_with(scenario, Vary(may_lack=(rule,))), f"{LACKS}{rule}", 1)


def _is_scenario(scenario: Scenario, stream: str, value: int) -> bool:
    try:
        varied(scenario, Tape.of({stream: {0: value}}))
    except ValueError:
        return False
    return True


def _walk(value: Any, data: Any, path: _Path) -> Iterator[tuple[_Path, Iterable[Variation]]]:
    """Yield each place that may vary, with what may stand there, the widest first."""
    for name, key, item in _members(value):
        below = (*path, name)
        if key in _KEPT or (not path and key in FIXED):
            continue
        if isinstance(data, dict) and key not in data:
            # What few scenarios use is not written where it is not used.
            continue
        written = data[key]
        if tries := _tries(str(key), item, written):
            yield below, tries
        elif isinstance(item, (BaseModel, tuple, dict)) and not isinstance(item, AttemptRange):
            yield from _walk(item, written, below)


def _members(value: Any) -> Iterator[tuple[str, str | int, Any]]:
    """Yield the name of each member in a path, its key in the plain data, and the member."""
    if isinstance(value, BaseModel):
        for name, field in type(value).model_fields.items():
            key = field.alias or name
            yield key, key, getattr(value, name)
    elif isinstance(value, dict):
        yield from ((str(key), key, item) for key, item in value.items())
    elif isinstance(value, tuple):
        for number, item in enumerate(value):
            named = (getattr(item, name, None) for name in _NAMES)
            yield next((name for name in named if isinstance(name, str)), str(number)), number, item


def _tries(key: str, value: Any, written: Any) -> tuple[Variation, ...]:
    """Return what may stand in place of a value, the widest first; nothing where it stays."""
    if isinstance(value, AttemptRange):
        others = tuple(text for text in _RANGES if text != str(written))
        return (AnyOf(any_of=others), *(AnyOf(any_of=(text,)) for text in others))
    if isinstance(value, bool):
        return (AnyOf(any_of=(not value,)),) if key in _SWITCHES else ()
    if not isinstance(value, int):
        return ()
    if isinstance(written, str):
        longest = max(_TIMES * value, _PAUSES_NS.get(key, _LONGEST_NS))
        starts = (0, MILLISECOND_NS, value)
        return tuple(_spans(value, starts, (longest, 2 * value, value), format_duration))
    if key not in _COUNTS:
        return ()
    return tuple(_spans(value, (0, 1, value), (value + _COUNT_MORE, value + 1, value), int))


def _spans(
    value: int, starts: Iterable[int], ends: Iterable[int], written: Callable[[int], int | str]
) -> Iterator[Span]:
    ends = tuple(ends)
    for start in starts:
        for end in ends:
            if start <= value <= end and start < end:
                yield Span.model_validate({"from": written(start), "to": written(end)})
