"""The backoff chart: for each wait, what was legal and what was observed.

Waits of one scenario that share retry number, interval and basis share a row, over all its
calls and seeds: then a row shows how the jitter spreads. Each row has a scale of its own, from
zero to a little more than its largest value, because waits of 5 s and 80 s stand in one schedule.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from harness.model.finding import RunReport, WaitMark
from harness.render.wording import count, exact_time, listed, short_time

__all__ = ["ChartRow", "chart_rows"]

WIDTH = 360.0
_PAD = 6.0
_MIDDLE = 16.0
#: More ticks than this in a row are drawn thinner.
_DENSE = 12
_HEADROOM = 1.12


@dataclass(frozen=True, slots=True, kw_only=True)
class ChartRow:
    """One row: places are in a drawing `WIDTH` wide, times are texts."""

    retry_number: int
    who: str
    legal_interval: str
    observed: str
    off: str
    """By how much the first illegal wait misses its interval; empty when all are legal."""
    look: str
    """Key of the look: `pass` all legal, `fail` not all, `none` the model does not judge it."""
    judged: str
    basis: str
    bar_x: float
    bar_width: float
    """0 when no retry was legal."""
    legal_ticks: str
    illegal_ticks: str
    """SVG path data; the second shape differs too, not only its colour."""
    dense: bool
    events: tuple[int, ...]
    """`seq` of the events of a row with one wait in the run that is shown."""


def chart_rows(runs: Iterable[RunReport]) -> tuple[ChartRow, ...]:
    """Return the rows of all waits of `runs`, which are the seeds of one scenario."""
    groups: dict[tuple[object, ...], list[WaitMark]] = {}
    for run in runs:
        for wait in run.waits:
            legal = (wait.low_ns, wait.high_ns, wait.at_least, wait.basis)
            key = (wait.retry_number, *legal, _is_unjudged(wait))
            groups.setdefault(key, []).append(wait)
    return tuple(
        _row(waits) for _, waits in sorted(groups.items(), key=lambda item: _order(item[1][0]))
    )


def _order(wait: WaitMark) -> tuple[int, int, int, str]:
    low_ns = -1 if wait.low_ns is None else wait.low_ns
    high_ns = -1 if wait.high_ns is None else wait.high_ns
    return wait.retry_number, low_ns, high_ns, wait.basis


def _row(waits: list[WaitMark]) -> ChartRow:
    first = waits[0]
    observed = sorted(wait.observed_ns for wait in waits)
    largest_ns = max(first.high_ns or 0, observed[-1], 1)
    scale = (WIDTH - 2 * _PAD) / (largest_ns * _HEADROOM)
    bar_x = bar_width = 0.0
    if first.low_ns is not None and first.high_ns is not None:
        bar_x = _PAD + first.low_ns * scale
        # An exact wait is an instant; four units keep it visible.
        # In real time the bar has no end: it goes as far as the drawing does.
        high_ns = largest_ns * _HEADROOM if first.at_least else first.high_ns
        bar_width = max((high_ns - first.low_ns) * scale, 4.0)
        if bar_width == 4.0:
            bar_x -= 2.0
    places = [(_PAD + wait.observed_ns * scale, wait.legal) for wait in waits]
    illegal = [wait for wait in waits if not wait.legal]
    return ChartRow(
        retry_number=first.retry_number,
        who=first.call if len(waits) == 1 else count(len(waits), "wait"),
        legal_interval=_interval_words(first),
        observed=_range_words(observed),
        off=_off_words(illegal),
        look="none" if _is_unjudged(first) else "fail" if illegal else "pass",
        judged="not judged" if _is_unjudged(first) else _judged_words(len(waits), len(illegal)),
        basis=first.basis,
        bar_x=round(bar_x, 1),
        bar_width=round(bar_width, 1),
        legal_ticks="".join(f"M{x:.1f} {_MIDDLE - 11}v22" for x, legal in places if legal),
        illegal_ticks="".join(
            f"M{x - 5:.1f} {_MIDDLE - 5}l10 10m-10 0l10 -10" for x, legal in places if not legal
        ),
        dense=len(waits) > _DENSE,
        events=first.events if len(waits) == 1 else (),
    )


def _is_unjudged(wait: WaitMark) -> bool:
    """Return whether the model neither allows nor forbids this wait: it earned no green."""
    return wait.legal and (wait.low_ns is None or wait.high_ns is None)


def _interval_words(wait: WaitMark) -> str:
    if _is_unjudged(wait):
        return "the model names none"
    if wait.low_ns is None or wait.high_ns is None:
        return "no retry is legal"
    if wait.at_least:
        return f"at least {exact_time(wait.low_ns)}"
    if wait.low_ns == wait.high_ns:
        return f"exactly {exact_time(wait.low_ns)}"
    return f"{exact_time(wait.low_ns)} to {exact_time(wait.high_ns)}"


def _range_words(observed: list[int]) -> str:
    if observed[0] == observed[-1]:
        return exact_time(observed[0])
    return f"{short_time(observed[0])} to {short_time(observed[-1])}"


def _judged_words(waits: int, illegal: int) -> str:
    if illegal == 0:
        return "legal"
    return "illegal" if illegal == waits else f"{illegal} of {waits} illegal"


def _off_words(illegal: list[WaitMark]) -> str:
    if any(wait.low_ns is None or wait.high_ns is None for wait in illegal):
        return "should not retry"
    early = [wait.low_ns - wait.observed_ns for wait in illegal if wait.low_ns is not None]
    late = [wait.observed_ns - wait.high_ns for wait in illegal if wait.high_ns is not None]
    words = []
    for misses, how in ((early, "too early"), (late, "too late")):
        off = [miss for miss in misses if miss > 0]
        if off:
            most = short_time(max(off))
            words.append(f"{most} {how}" if len(off) == 1 else f"up to {most} {how}")
    return listed(words)
