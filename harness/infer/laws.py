"""The law of one wait: constant, drawn, or only a range, from the same wait under many seeds.

The numbers that a run has to give are known, since its seed is. Where a wait is low + u * width to
the microsecond under every seed, with u the same draw of each run, both ends are exact, and not
estimated: sixteen runs agree with two numbers. The same goes for a wait that is cut off at a cap,
and for one that depends on the wait before it (decorrelated jitter).

Where no draw explains a wait, all that is known is what was seen. For a uniform draw each end
then lies at most 1 - 0.05 ** (1 / n) of the width further out, with 95 % (17 % for 16 values).
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from harness.infer.seen import Seen
from harness.model.duration import MICROSECOND_NS, format_duration
from harness.model.inferred import Evidence, WaitLaw

__all__ = ["SEEDS", "Law", "close", "laws_of", "published", "rounded"]

#: Under which a schedule is run. The first eight are plain; of the others, each pair has the
#: lowest and the highest number of 4000 seeds as its first, second, third and fourth draw, so that
#: a range that no draw explains reaches nearly as far as it can.
SEEDS = (0, 1, 2, 3, 4, 5, 6, 7, 1651, 2172, 309, 3103, 2580, 345, 1607, 2736)
#: Waits are sums of float seconds.
_EXACT_NS = 3 * MICROSECOND_NS
#: What clients round their waits to, at the most.
_COARSE_NS = 1_100_000
#: Draws that are tried for a wait: a client may draw for other things as well.
_DRAWS_PER_RETRY = 3
#: Units in which a client may draw whole numbers.
_STEPS_NS = (1_000_000_000, 100_000_000, 1_000_000)
#: Points beyond the parameters of a law that have to agree with it.
_SPARE_POINTS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Law:
    """The wait before one retry.

    Attributes:
        low_ns, high_ns: between which it lies.
        how: see `WaitLaw`.
        clipped: whether some waits were cut off at `high_ns`.
        unclipped_high_ns: where it would have reached without that.
        multiplier: of the wait before it, for decorrelated jitter.
        tolerance_ns: up to which two of its ends are the same.
    """

    retry: int
    low_ns: float
    high_ns: float
    how: Literal["constant", "drawn", "range"]
    seen_low_ns: int
    seen_high_ns: int
    values: int
    clipped: bool = False
    unclipped_high_ns: float | None = None
    multiplier: float | None = None
    tolerance_ns: float = _EXACT_NS
    text: str = ""
    evidence: tuple[Evidence, ...] = field(default=())

    @property
    def exact(self) -> bool:
        """Whether both ends are known, and not only approached."""
        return self.how != "range"

    @property
    def width_ns(self) -> float:
        """Between its ends."""
        return self.high_ns - self.low_ns


@dataclass(frozen=True, slots=True)
class _Point:
    """One wait of one run."""

    wait_ns: int
    before_ns: float
    seen: Seen


@dataclass(frozen=True, slots=True)
class _Fit:
    low_ns: float
    high_ns: float
    clipped: bool
    source: str
    draw: int
    residual_ns: float
    unclipped_ns: float
    multiplier: float | None = None


def laws_of(runs: Sequence[Seen]) -> tuple[Law, ...]:
    """Return the law of each wait that all of `runs` made: the same probe under several seeds."""
    count = min((len(run.waits_ns) for run in runs), default=0)
    found = []
    for retry in range(1, count + 1):
        points = [
            _Point(wait, float(run.waits_ns[retry - 2] or 0) if retry > 1 else 0.0, run)
            for run in runs
            if (wait := run.waits_ns[retry - 1]) is not None
        ]
        if not points:
            break
        found.append(_law(retry, points))
    return tuple(found)


def close(one: float, other: float, tolerance_ns: float = _EXACT_NS) -> bool:
    """Return whether two times are the same, but for the noise of float seconds."""
    return abs(one - other) <= max(tolerance_ns, 1e-6 * max(abs(one), abs(other)))


def rounded(time_ns: float) -> int:
    """Return a time without what is below its noise: float seconds are not whole nanoseconds."""
    unit = MICROSECOND_NS * (1 if time_ns < 1e12 else 1000)
    return round(time_ns / unit) * unit


def published(law: Law) -> WaitLaw:
    """Return `law` as a profile shows it."""
    return WaitLaw(
        retry=law.retry,
        low_ns=rounded(law.low_ns),
        high_ns=rounded(law.high_ns),
        how=law.how,
        seen_low_ns=law.seen_low_ns,
        seen_high_ns=law.seen_high_ns,
        values=law.values,
        text=law.text,
        evidence=law.evidence,
    )


def _law(retry: int, points: Sequence[_Point]) -> Law:
    waits = [point.wait_ns for point in points]
    low, high = min(waits), max(waits)
    base = Law(
        retry=retry,
        low_ns=low,
        high_ns=high,
        how="range",
        seen_low_ns=low,
        seen_high_ns=high,
        values=len(points),
        evidence=tuple(
            point.seen.at_wait(retry)
            for point in (
                min(points, key=lambda item: item.wait_ns),
                max(points, key=lambda item: item.wait_ns),
            )
        ),
    )
    one = "one wait" if len(points) == 1 else f"{len(points)} waits"
    if close(low, high):
        # One value shows a number, and not that it is always the same.
        how: Literal["constant", "range"] = "constant" if len(points) > 1 else "range"
        text = f"{_said(low)} in {one}"
        return _with(base, low_ns=low, high_ns=low, how=how, text=text)
    fit = _best_fit(retry, points)
    if fit is None and (whole := _whole_number(points)) is not None:
        step_ns, count = whole
        high_ns = low + step_ns * (count - 1)
        text = (
            f"{_said(low)} to {_said(high_ns)} in steps of {_said(step_ns)}, by the first whole"
            f" number below {count} of the module random, in all of {one}"
        )
        return _with(base, low_ns=low, high_ns=high_ns, how="drawn", text=text)
    if fit is None:
        width = 1 - 0.05 ** (1 / len(points))
        text = (
            f"{_said(low)} to {_said(high)} seen in {one}; no draw explains them (if uniform, each"
            f" end is at most {width:.0%} of the width further out, with 95 %)"
        )
        return _with(base, text=text, tolerance_ns=0.2 * (high - low))
    source = "the module random" if fit.source == "random" else fit.source
    means = f"draw {fit.draw + 1} of {source}"
    text = f"{_said(fit.low_ns)} to {_said(fit.high_ns)}, by {means}, in all of {one}"
    if fit.clipped:
        text += f"; cut off at {_said(fit.high_ns)}"
    return _with(
        base,
        low_ns=fit.low_ns,
        high_ns=fit.high_ns,
        how="drawn",
        clipped=fit.clipped,
        unclipped_high_ns=fit.unclipped_ns,
        multiplier=fit.multiplier,
        tolerance_ns=max(_EXACT_NS, 20 * fit.residual_ns),
        text=text,
    )


def _with(law: Law, **changes: object) -> Law:
    from dataclasses import replace

    return replace(law, **changes)  # type: ignore[arg-type]


def _said(time_ns: float) -> str:
    return format_duration(rounded(time_ns))


def _best_fit(retry: int, points: Sequence[_Point]) -> _Fit | None:
    for allowed_ns in (_EXACT_NS, _COARSE_NS):
        fit = next(_fits(retry, points, allowed_ns), None)
        if fit is not None:
            return fit
    return None


def _fits(retry: int, points: Sequence[_Point], allowed_ns: float) -> Iterator[_Fit]:
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


def _whole_number(points: Sequence[_Point]) -> tuple[int, int] | None:
    """Return step and count of a wait that is the first whole number that its run has drawn.

    The lowest of the numbers has to be among the points.
    """
    low = min(point.wait_ns for point in points)
    step = next(
        (
            unit
            for unit in _STEPS_NS
            if all(abs(_off_step(p.wait_ns - low, unit)) <= _EXACT_NS for p in points)
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


def _off_step(time_ns: int, unit_ns: int) -> int:
    return time_ns - round(time_ns / unit_ns) * unit_ns


def _linear(
    kept: Sequence[_Point], points: Sequence[_Point], source: str, draw: int, allowed_ns: float
) -> Iterator[_Fit]:
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
    yield _Fit(
        low_ns=_not_below_zero(ends[0]),
        high_ns=float(top) if cut else ends[1],
        clipped=cut,
        source=source,
        draw=draw,
        residual_ns=residual,
        unclipped_ns=ends[1],
    )


def _decorrelated(
    kept: Sequence[_Point], points: Sequence[_Point], source: str, draw: int, allowed_ns: float
) -> Iterator[_Fit]:
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
    yield _Fit(
        low_ns=base,
        high_ns=high,
        clipped=cut,
        source=source,
        draw=draw,
        residual_ns=residual,
        unclipped_ns=high,
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
    return 0.0 if abs(time_ns) <= _EXACT_NS else time_ns
