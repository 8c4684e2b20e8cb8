"""Fits: which random number of its run a wait follows, if any.

The numbers that a run has to give are known, since its seed is. Where a wait is low + u * width to
the microsecond under every seed, with u the same draw of each run, both ends are exact, and not
estimated: sixteen runs agree with two numbers. The same goes for a wait that is cut off at a cap,
for one that depends on the wait before it (decorrelated jitter), and for a whole number.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from msgspec import Struct

from faultclock.profile.infer.seen import Seen
from faultclock.profile.infer.times import EXACT_NS, close

#: What clients round their waits to, at the most.
_COARSE_NS = 1_100_000
#: Draws that are tried for a wait: a client may draw for other things as well.
_DRAWS_PER_RETRY = 3
#: Units in which a client may draw whole numbers.
_STEPS_NS = (1_000_000_000, 100_000_000, 1_000_000)
#: Points beyond the parameters of a law that have to agree with it.
_SPARE_POINTS = 3


class Point(Struct, frozen=True):
    """One wait of one run.

    Attributes:
        before_ns: the wait before it; 0 for the first.
    """

    wait_ns: int
    before_ns: float
    seen: Seen


class Fit(Struct, frozen=True, kw_only=True):
    """A draw that explains a wait.

    Attributes:
        clipped: whether some of the waits were cut off at `high_ns`.
        source: of the random numbers, as in `Seen.draws`.
        draw: which of them (0-based).
        residual_ns: how far a wait is off, at the most.
        multiplier: of the wait before it, for decorrelated jitter.
    """

    low_ns: float
    high_ns: float
    clipped: bool
    source: str
    draw: int
    residual_ns: float
    multiplier: float | None = None


def best_fit(retry: int, points: Sequence[Point]) -> Fit | None:
    """Return the draw that explains all `points`; None where none does.

    Args:
        retry: number of the retry (1-based) that was waited for: a client draws again for each.
    """
    for allowed_ns in (EXACT_NS, _COARSE_NS):
        fit = next(_fits(retry, points, allowed_ns), None)
        if fit is not None:
            return fit
    return None


def whole_number(points: Sequence[Point]) -> tuple[int, int] | None:
    """Return step (ns) and count of a wait that is the first whole number that its run has drawn.

    None where it is none. The lowest of the numbers has to be among the points.
    """
    low = min(point.wait_ns for point in points)
    step = next(
        (
            unit
            for unit in _STEPS_NS
            if all(abs(_off_step(p.wait_ns - low, unit)) <= EXACT_NS for p in points)
        ),
        None,
    )
    if step is None or len(points) < 2 + _SPARE_POINTS:
        return None
    drawn = [round((point.wait_ns - low) / step) for point in points]
    for count in range(max(drawn) + 1, 2 * max(drawn) + 2):
        due = [random.Random(point.seen.seed).randrange(count) for point in points]
        if due == drawn:
            return step, count
    return None


def _fits(retry: int, points: Sequence[Point], allowed_ns: float) -> Iterator[Fit]:
    sources = set.intersection(*(set(point.seen.draws) for point in points))
    top = max(point.wait_ns for point in points)
    uncut = [point for point in points if not close(point.wait_ns, top)]
    for source in sorted(sources):
        for draw in range(_DRAWS_PER_RETRY * retry + 2):
            if any(len(point.seen.draws[source]) <= draw for point in points):
                break
            for kept in (points, uncut):
                yield from _linear(kept, points, source, draw, allowed_ns)
                yield from _decorrelated(kept, points, source, draw, allowed_ns)


def _off_step(time_ns: int, unit_ns: int) -> int:
    return time_ns - round(time_ns / unit_ns) * unit_ns


def _linear(
    kept: Sequence[Point], points: Sequence[Point], source: str, draw: int, allowed_ns: float
) -> Iterator[Fit]:
    if len(kept) < 2 + _SPARE_POINTS:
        return
    pairs = sorted((point.seen.draws[source][draw], point.wait_ns) for point in kept)
    (u_low, w_low), (u_high, w_high) = pairs[0], pairs[-1]
    if u_high - u_low < 0.1:
        return
    slope = (w_high - w_low) / (u_high - u_low)
    start = w_low - slope * u_low
    residual = max(abs(start + slope * u - w) for u, w in pairs)
    if residual > allowed_ns or abs(slope) <= allowed_ns * 4:
        return
    ends = sorted((start, start + slope))
    cut = len(kept) < len(points)
    top = max(point.wait_ns for point in points)
    if cut and ends[1] < top - allowed_ns:
        return
    yield Fit(
        low_ns=_not_below_zero(ends[0]),
        high_ns=float(top) if cut else ends[1],
        clipped=cut,
        source=source,
        draw=draw,
        residual_ns=residual,
    )


def _decorrelated(
    kept: Sequence[Point], points: Sequence[Point], source: str, draw: int, allowed_ns: float
) -> Iterator[Fit]:
    """Yield the fit of base + u * (multiplier * before - base), if the points agree with it."""
    if len(kept) < 2 + _SPARE_POINTS or not any(point.before_ns for point in kept):
        return
    rows = [
        (1 - point.seen.draws[source][draw], point.seen.draws[source][draw] * point.before_ns)
        for point in kept
    ]
    solved = _least_squares(rows, [float(point.wait_ns) for point in kept])
    if solved is None:
        return
    base, multiplier = solved
    residual = max(
        abs(base * row[0] + multiplier * row[1] - point.wait_ns)
        for row, point in zip(rows, kept, strict=True)
    )
    if residual > allowed_ns or multiplier < 0.5 or base < 0:
        return
    cut = len(kept) < len(points)
    high = float(max(point.wait_ns for point in points))
    yield Fit(
        low_ns=base,
        high_ns=high,
        clipped=cut,
        source=source,
        draw=draw,
        residual_ns=residual,
        multiplier=multiplier,
    )


def _least_squares(
    rows: Sequence[tuple[float, float]], values: Sequence[float]
) -> tuple[float, float] | None:
    """Return the two numbers by which `rows` come nearest to `values`; None where many do."""
    aa = sum(a * a for a, _ in rows)
    ab = sum(a * b for a, b in rows)
    bb = sum(b * b for _, b in rows)
    av = sum(a * v for (a, _), v in zip(rows, values, strict=True))
    bv = sum(b * v for (_, b), v in zip(rows, values, strict=True))
    determinant = aa * bb - ab * ab
    if abs(determinant) <= 1e-9 * aa * bb:
        return None
    return (av * bb - bv * ab) / determinant, (bv * aa - av * ab) / determinant


def _not_below_zero(time_ns: float) -> float:
    return 0.0 if abs(time_ns) <= EXACT_NS else time_ns
