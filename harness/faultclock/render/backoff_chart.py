"""The backoff chart: for each wait, what was legal and what was observed.

Waits of one scenario that share retry number, interval and basis share a row, over all its
calls and seeds: then a row shows how the jitter spreads. Each row has a scale of its own, from
zero to a little more than its largest value, because waits of 5 s and 80 s stand in one schedule.
"""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct, field

from faultclock.model.report.finding import RunReport, WaitMark
from faultclock.render.wording import count, exact_time, listed, short_time

WIDTH = 360.0
_PAD = 6.0
_MIDDLE = 16.0
#: More ticks than this in a row are drawn thinner.
_DENSE = 12
_HEADROOM = 1.12


class ChartRow(Struct, frozen=True, kw_only=True):
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
    groups: dict[tuple[object, ...], _Waits] = {}
    for run in runs:
        for wait in run.waits:
            legal = (wait.low_ns, wait.high_ns, wait.at_least, wait.basis)
            key = (wait.retry_number, *legal, _is_unjudged(wait))
            groups.setdefault(key, _Waits(wait)).add(wait)
    return tuple(map(_row, sorted(groups.values(), key=lambda waits: _order(waits.first))))


class _Waits(Struct):
    """The waits of one row: the first of them, and what was observed of all."""

    first: WaitMark
    count: int = 0
    illegal: int = 0
    observed: dict[tuple[int, bool], None] = field(default_factory=dict)
    """Each time with whether it was legal, once."""
    early: int = 0
    late: int = 0

    def add(self, wait: WaitMark) -> None:
        """Take one more."""
        self.count += 1
        self.observed.setdefault((wait.observed_ns, wait.legal))
        if not wait.legal:
            self.illegal += 1
            self.early += wait.low_ns is not None and wait.observed_ns < wait.low_ns
            self.late += wait.high_ns is not None and wait.observed_ns > wait.high_ns


def _order(wait: WaitMark) -> tuple[int, int, int, str]:
    low_ns = -1 if wait.low_ns is None else wait.low_ns
    high_ns = -1 if wait.high_ns is None else wait.high_ns
    return wait.retry_number, low_ns, high_ns, wait.basis


def _row(waits: _Waits) -> ChartRow:
    first = waits.first
    observed = sorted(observed_ns for observed_ns, _ in waits.observed)
    largest_ns = max(first.low_ns or 0, first.high_ns or 0, observed[-1], 1)
    scale = (WIDTH - 2 * _PAD) / (largest_ns * _HEADROOM)
    bar_x = bar_width = 0.0
    if first.low_ns is not None:
        bar_x = _PAD + first.low_ns * scale
        # An exact wait is an instant; four units keep it visible.
        # Where no wait is too long, the bar goes as far as the drawing does.
        is_open = first.at_least or first.high_ns is None
        high_ns = largest_ns * _HEADROOM if is_open else first.high_ns or 0
        bar_width = max((high_ns - first.low_ns) * scale, 4.0)
        if bar_width == 4.0:
            bar_x -= 2.0
    dense = waits.count > _DENSE
    # A thousand waits of one length are one tick: what a pixel cannot show is not written.
    digits = 0 if dense else 1
    places = dict.fromkeys(
        (round(_PAD + observed_ns * scale, digits), legal) for observed_ns, legal in waits.observed
    )
    return ChartRow(
        retry_number=first.retry_number,
        who=first.call if waits.count == 1 else count(waits.count, "wait"),
        legal_interval=_interval_words(first),
        observed=_range_words(observed),
        off=_off_words(waits),
        look="none" if _is_unjudged(first) else "fail" if waits.illegal else "pass",
        judged="not judged" if _is_unjudged(first) else _judged_words(waits.count, waits.illegal),
        basis=first.basis,
        bar_x=round(bar_x, 1),
        bar_width=round(bar_width, 1),
        legal_ticks="".join(f"M{x:g} {_MIDDLE - 11:g}v22" for x, legal in places if legal),
        illegal_ticks="".join(
            f"M{x - 5:g} {_MIDDLE - 5:g}l10 10m-10 0l10 -10" for x, legal in places if not legal
        ),
        dense=dense,
        events=first.events if waits.count == 1 else (),
    )


def _is_unjudged(wait: WaitMark) -> bool:
    """Return whether the model neither allows nor forbids this wait: it earned no green."""
    return wait.legal and wait.low_ns is None


def _interval_words(wait: WaitMark) -> str:
    if _is_unjudged(wait):
        return "the model names none"
    if wait.low_ns is None:
        return "no retry is legal"
    if wait.at_least or wait.high_ns is None:
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


def _off_words(waits: _Waits) -> str:
    low_ns, high_ns = waits.first.low_ns, waits.first.high_ns
    illegal_ns = [observed_ns for observed_ns, legal in waits.observed if not legal]
    if illegal_ns and low_ns is None:
        return "should not retry"
    words = []
    for misses, most_ns, how in (
        (
            waits.early,
            0 if low_ns is None else low_ns - min(illegal_ns, default=low_ns),
            "too early",
        ),
        (
            waits.late,
            0 if high_ns is None else max(illegal_ns, default=high_ns) - high_ns,
            "too late",
        ),
    ):
        if misses:
            most = short_time(most_ns)
            words.append(f"{most} {how}" if misses == 1 else f"up to {most} {how}")
    return listed(words)
