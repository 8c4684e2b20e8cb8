"""Words and numbers for people: times in natural units, plurals, visible control characters.

Pure functions on text and integers; nothing here knows HTML.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from faultclock.model.duration import MICROSECOND_NS, MILLISECOND_NS, SECOND_NS
from faultclock.model.trace.trace import TimeBase
from faultclock.printable import visible

__all__ = [
    "clipped",
    "count",
    "exact_time",
    "listed",
    "short_digest",
    "short_time",
    "time_word",
    "visible",
]

_MINUTE_NS = 60 * SECOND_NS
_UNITS = ((SECOND_NS, "s"), (MILLISECOND_NS, "ms"), (MICROSECOND_NS, "µs"), (1, "ns"))


def short_time(time_ns: int) -> str:
    """Return a time rounded to three significant digits: `120 ms`, `4.83 s`, `2 min 40 s`."""
    return _natural(time_ns, lambda value: f"{value:.3g}" if value < 1_000 else f"{value:.0f}")


def time_word(time_base: TimeBase) -> str:
    """Return which time the times of a run are of: `virtual` or `real`."""
    return "real" if time_base == "wall" else "virtual"


def exact_time(time_ns: int) -> str:
    """Return a time rounded to six significant digits of its unit: `463.219 ms`."""
    return _natural(time_ns, lambda value: f"{value:.6g}")


def _natural(time_ns: int, number: Callable[[float], str]) -> str:
    sign, left_ns = ("-", -time_ns) if time_ns < 0 else ("", time_ns)
    if left_ns == 0:
        return "0 s"
    if left_ns >= 2 * _MINUTE_NS:
        minutes, rest_ns = divmod(left_ns, _MINUTE_NS)
        seconds = number(rest_ns / SECOND_NS)
        if float(seconds) >= 60:
            minutes, seconds = minutes + 1, "0"
        hours, minutes = divmod(minutes, 60)
        parts = [f"{hours} h"] if hours else []
        parts += [f"{minutes} min"] if minutes else []
        parts += [f"{seconds} s"] if float(seconds) else []
        return sign + " ".join(parts)
    place = next(index for index, (unit_ns, _) in enumerate(_UNITS) if left_ns >= unit_ns)
    if place and float(number(left_ns / _UNITS[place][0])) >= 1_000:
        place -= 1  # 999.6 ms, rounded, is 1 s
    unit_ns, unit = _UNITS[place]
    return f"{sign}{number(left_ns / unit_ns)} {unit}"


def count(number: int, noun: str, plural: str | None = None) -> str:
    """Return `1 run`, `3 runs`, `0 runs`."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def listed(items: Sequence[str], most: int = 6) -> str:
    """Return `a, b and c`; of more than `most` items the rest are counted."""
    shown = list(items[:most])
    if len(items) > most:
        shown.append(f"{len(items) - most} more")
    if len(shown) < 2:
        return "".join(shown)
    return f"{', '.join(shown[:-1])} and {shown[-1]}"


def clipped(text: str, most: int) -> str:
    """Return `text` in one line of at most `most` characters; a cut is marked with an ellipsis."""
    line = " ".join(text.split())
    return line if len(line) <= most else line[: most - 1].rstrip() + "…"


def short_digest(digest: str) -> str:
    """Return the first twelve characters, which is enough to tell two traces apart by eye."""
    return digest[:12]
