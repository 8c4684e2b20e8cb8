"""Ladders: the simpler values that may stand where a scenario has one, from the simplest on.

Simple is what needs no thought: the value that is there when nothing is written, a small number, a
round duration. The value that is there is always the last rung.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from faultclock.model.duration import MILLISECOND_NS, SECOND_NS, format_duration
from faultclock.model.scenario.rule import AttemptRange

#: Up to here every whole number is a rung; above, each is about a quarter more than the last.
_DENSE = 16
#: Seeds that are easier to remember than the one that chance drew.
_SEEDS = 6
#: Beyond it a duration is thought of in this unit.
_UNITS_NS = (86_400 * SECOND_NS, 3_600 * SECOND_NS, 60 * SECOND_NS, SECOND_NS, MILLISECOND_NS)


def duration_rungs(duration_ns: int) -> tuple[str, ...]:
    """Return rounder durations near `duration_ns`, the roundest first, then itself, as text."""
    rungs: list[int] = []
    unit = next((unit for unit in _UNITS_NS if duration_ns >= unit), 1)
    if duration_ns:
        rungs.append(_rounded(duration_ns, unit, 1))
        rungs.append(_rounded(duration_ns, unit, 2))
    return tuple(dict.fromkeys(format_duration(rung) for rung in (*rungs, duration_ns)))


def _rounded(duration_ns: int, unit: int, digits: int) -> int:
    """Return a duration with so many digits in its unit, and never nothing."""
    size = len(str(duration_ns // unit))
    power: int = 10 ** abs(size - digits)
    step = unit * power if size >= digits else max(unit // power, 1)
    return max((duration_ns + step // 2) // step * step, step)


def number_rungs(number: int, lowest: int = 0) -> tuple[int, ...]:
    """Return the numbers from `lowest` to `number`, with gaps where there are many."""
    rungs = []
    rung = lowest
    while rung < number:
        rungs.append(rung)
        above = rung - lowest
        rung += 1 if above < _DENSE else above // 4
    return (*rungs, number)


def range_rungs(attempts: AttemptRange) -> tuple[Any, ...]:
    """Return shorter ranges of attempts: the first one alone, and so on up to all of them."""
    first, last = attempts.first, attempts.last
    ends: Iterable[int] = (first, first + 1, first + 2)
    if last is not None:
        ends = [first + more for more in number_rungs(last - first)]
    rungs: list[AttemptRange] = [AttemptRange(first=1, last=1)]
    rungs += [AttemptRange(first=first, last=end) for end in ends]
    if last is not None:
        rungs.append(AttemptRange(first=1, last=1 + last - first))
    texts = [_range_text(rung) for rung in rungs if rung != attempts]
    return (*dict.fromkeys(texts), _range_text(attempts))


def _range_text(attempts: AttemptRange) -> str | int:
    if attempts.last is None:
        return "every" if attempts.first == 1 else f"{attempts.first}+"
    return (
        attempts.first if attempts.first == attempts.last else f"{attempts.first}-{attempts.last}"
    )


def seed_rungs(seed: int) -> tuple[int, ...]:
    """Return small seeds, then `seed`."""
    return tuple(dict.fromkeys((*range(min(_SEEDS, seed)), seed)))
