"""Layers: whether the waits of a call are those of one loop, or of loops within loops.

A retry around a client that retries by itself shows in the waits: the inner ones come again and
again, from the beginning, and between them stand those of the outer loop. With N attempts in all
and p in each round, the waits whose number is no multiple of p repeat with the period p; what is
left is the schedule of the next layer, and is looked at in the same way.

A client that numbers its attempts itself (`x-stainless-retry-count`) says the same outright. Where
all waits are alike one loop looks like several, and that is said.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import prod

from msgspec import Struct
from msgspec.structs import replace

from faultclock.profile.infer.laws import Law
from faultclock.profile.infer.seen import Seen
from faultclock.profile.infer.times import close

#: Waits from which on a period is distinguished from a coincidence.
_WAITS_MIN = 3


class Loop(Struct, frozen=True, kw_only=True):
    """One layer.

    Attributes:
        attempts: times that it runs what is below it.
        laws: of its own waits, in order; each keeps its number over all layers.
        own: those numbers, in every round.
    """

    attempts: int
    laws: tuple[Law, ...]
    own: tuple[int, ...]


def loops_of(laws: Sequence[Law], counted: int | None = None) -> tuple[Loop, ...]:
    """Return the loops behind `laws`, the innermost first.

    Args:
        counted: attempts in a round, where the client numbers them itself.
    """
    numbers = tuple(law.retry for law in laws)
    attempts = len(laws) + 1
    period = counted if counted and 1 < counted < attempts else _period(laws)
    if period is None or attempts % period:
        return (Loop(attempts=attempts, laws=tuple(laws), own=numbers),)
    first = tuple(_over_rounds(laws, place, period) for place in range(1, period))
    inner = Loop(
        attempts=period,
        laws=first,
        own=tuple(n for index, n in enumerate(numbers, 1) if index % period),
    )
    outer = [law for index, law in enumerate(laws, 1) if index % period == 0]
    return (inner, *loops_of(outer))


def product_of(attempts: Sequence[int]) -> str:
    """Return what loops within loops come to in all; nothing of one loop.

    Example:
        >>> product_of([3, 2])
        '2 retries (3 attempts) x 1 retry (2 attempts) = 6 attempts'
    """
    if len(attempts) < 2:
        return ""
    shown = " x ".join(
        f"{made - 1} {'retry' if made == 2 else 'retries'} ({made} attempts)" for made in attempts
    )
    return f"{shown} = {prod(attempts)} attempts"


def alike(one: Law, other: Law) -> bool:
    """Return whether two waits follow one law, as far as their runs can tell."""
    tolerance_ns = max(one.tolerance_ns, other.tolerance_ns)
    if one.how == "range" and other.how == "range" and one.values == other.values == 1:
        return close(one.low_ns, other.low_ns)
    return close(one.low_ns, other.low_ns, tolerance_ns) and close(
        one.high_ns, other.high_ns, tolerance_ns
    )


def counting_headers(run: Seen) -> tuple[str, ...]:
    """Return the headers by which the client itself numbers the attempts of `run`."""
    asked = [attempt.headers for attempt in run.attempts if attempt.headers]
    if len(asked) < 2:
        return ()
    names = set.intersection(*(set(headers) for headers in asked))
    return tuple(sorted(name for name in names if _numbers([headers[name] for headers in asked])))


def counted_rounds(run: Seen) -> int | None:
    """Return the attempts of a round, where the client numbers them and begins anew."""
    for name in counting_headers(run):
        values = [attempt.headers.get(name, "") for attempt in run.attempts if attempt.headers]
        if len(values) != len(run.attempts):
            continue
        again = [index for index, value in enumerate(values) if index and value == values[0]]
        if again and all(value == values[index % again[0]] for index, value in enumerate(values)):
            return again[0]
    return None


def _numbers(values: Sequence[str]) -> bool:
    """Return whether `values` go up by one, from the start or from the start again and again."""
    found = [_last_number(value) for value in values]
    if len(set(values)) < 2 or any(number is None for number in found):
        return False
    first = found[0]
    return first in (0, 1) and all(
        after in ((before or 0) + 1, first) for before, after in pairwise(found)
    )


def _last_number(value: str) -> int | None:
    # `2`, and `attempt=2; max=5` as well.
    for part in value.split(";"):
        text = part.rpartition("=")[2].strip()
        if text.isascii() and text.isdigit() and len(text) < 4:
            return int(text)
    return None


def _period(laws: Sequence[Law]) -> int | None:
    attempts = len(laws) + 1
    if len(laws) < _WAITS_MIN or all(alike(laws[0], law) for law in laws[1:]):
        return None
    for period in range(2, attempts // 2 + 1):
        if attempts % period == 0 and _repeats(laws, period):
            return period
    return None


def _repeats(laws: Sequence[Law], period: int) -> bool:
    inner = [(index, law) for index, law in enumerate(laws, 1) if index % period]
    if not all(alike(laws[index % period - 1], law) for index, law in inner):
        return False
    # A round that begins anew shows against the wait before it, which is another one.
    return any(not alike(laws[period - 1], law) for _, law in inner)


def _over_rounds(laws: Sequence[Law], place: int, period: int) -> Law:
    """Return the law of one wait of a round, from all rounds."""
    own = [law for index, law in enumerate(laws, 1) if index % period == place]
    return replace(
        own[0],
        low_ns=min(law.low_ns for law in own),
        high_ns=max(law.high_ns for law in own),
        seen_low_ns=min(law.seen_low_ns for law in own),
        seen_high_ns=max(law.seen_high_ns for law in own),
        values=sum(law.values for law in own),
    )
