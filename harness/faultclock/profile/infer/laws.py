"""The law of one wait: constant, drawn, or only a range, from the same wait under many seeds.

Where a draw of the runs explains a wait (see `fits`), both of its ends are exact. Where none does,
all that is known is what was seen: for a uniform draw each end then lies at most
1 - 0.05 ** (1 / n) of the width further out, with 95 % (17 % for 16 values).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from msgspec import Struct, field
from msgspec.structs import replace

from faultclock.model.report.inferred import Evidence, WaitLaw
from faultclock.profile.infer.fits import Point, best_fit, whole_number
from faultclock.profile.infer.seen import Seen
from faultclock.profile.infer.times import EXACT_NS, close, rounded, said

#: Under which a schedule is run. The first eight are plain; of the others, each pair has the
#: lowest and the highest number of 4000 seeds as its first, second, third and fourth draw, so that
#: a range that no draw explains reaches nearly as far as it can.
SEEDS = (0, 1, 2, 3, 4, 5, 6, 7, 1651, 2172, 309, 3103, 2580, 345, 1607, 2736)


class Law(Struct, frozen=True, kw_only=True):
    """The wait before one retry.

    Attributes:
        low_ns, high_ns: between which it lies.
        how: see `WaitLaw`.
        clipped: whether some waits were cut off at `high_ns`.
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
    multiplier: float | None = None
    tolerance_ns: float = EXACT_NS
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


def laws_of(runs: Sequence[Seen]) -> tuple[Law, ...]:
    """Return the law of each wait that all of `runs` made: the same probe under several seeds."""
    count = min((len(run.waits_ns) for run in runs), default=0)
    found = []
    for retry in range(1, count + 1):
        points = [
            Point(wait, float(run.waits_ns[retry - 2] or 0) if retry > 1 else 0.0, run)
            for run in runs
            if (wait := run.waits_ns[retry - 1]) is not None
        ]
        if not points:
            break
        found.append(_law(retry, points))
    return tuple(found)


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


def _law(retry: int, points: Sequence[Point]) -> Law:
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
        text = f"{said(low)} in {one}"
        return replace(base, low_ns=low, high_ns=low, how=how, text=text)
    fit = best_fit(retry, points)
    if fit is None and (whole := whole_number(points)) is not None:
        step_ns, count = whole
        high_ns = low + step_ns * (count - 1)
        text = (
            f"{said(low)} to {said(high_ns)} in steps of {said(step_ns)}, by the first whole"
            f" number below {count} of the module random, in all of {one}"
        )
        return replace(base, low_ns=low, high_ns=high_ns, how="drawn", text=text)
    if fit is None:
        width = 1 - 0.05 ** (1 / len(points))
        text = (
            f"{said(low)} to {said(high)} seen in {one}; no draw explains them (if uniform, each"
            f" end is at most {width:.0%} of the width further out, with 95 %)"
        )
        return replace(base, text=text, tolerance_ns=0.2 * (high - low))
    source = "the module random" if fit.source == "random" else fit.source
    means = f"draw {fit.draw + 1} of {source}"
    text = f"{said(fit.low_ns)} to {said(fit.high_ns)}, by {means}, in all of {one}"
    if fit.clipped:
        text += f"; cut off at {said(fit.high_ns)}"
    return replace(
        base,
        low_ns=fit.low_ns,
        high_ns=fit.high_ns,
        how="drawn",
        clipped=fit.clipped,
        multiplier=fit.multiplier,
        tolerance_ns=max(EXACT_NS, 20 * fit.residual_ns),
        text=text,
    )
