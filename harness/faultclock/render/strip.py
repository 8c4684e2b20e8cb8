"""The timeline of a run with many calls: one thin row per call, and how many start together.

Fifty clients in full lanes would hide the one thing to see: whether they come back at the same
moment. So each call is a row of ticks, and a histogram above counts the attempts that start in
the same slice of the axis.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct

from faultclock.model.report.finding import CallReport, RunReport, WaitMark
from faultclock.render.axis import DecadeAxis
from faultclock.render.timeline import LANES_MAX
from faultclock.render.wording import count, listed, short_time

WIDTH = 1_000.0
_LEFT, _RIGHT = 96.0, WIDTH - 38.0
_COLUMNS_HEIGHT = 64.0
_ROW_HEIGHT = 8.0
#: More calls than this are counted in the histogram, but have no row of their own.
_ROWS_MAX = 100
_COLUMN_WIDTH = 7.0


class Column(Struct, frozen=True, kw_only=True):
    """How many attempts start in one slice of the axis."""

    x: float
    y: float
    width: float
    height: float
    says: str


class Rows(Struct, frozen=True, kw_only=True):
    """All calls, a row each: SVG path data of what is drawn alike.

    Attributes:
        hasty: waits that were not expected.
        ends: ends of the calls that raised or never ended.
    """

    spans: str
    hasty: str
    failed: str
    good: str
    ends: str


class Strip(Struct, frozen=True, kw_only=True):
    """A finished drawing."""

    width: float
    height: float
    left: float
    right: float
    columns_base: float
    base: float
    columns: tuple[Column, ...]
    peak: Column
    rows: Rows
    rows_left_out: int
    ticks: tuple[tuple[float, str], ...]
    says: str


def draw_strip(run: RunReport) -> Strip | None:
    """Return the drawing of `run`; None when its calls fit into lanes or none of them tried."""
    starts = sorted(attempt.started_ns for call in run.calls for attempt in call.attempts)
    if len(run.calls) <= LANES_MAX or not starts:
        return None
    ends = [call.ended_ns for call in run.calls if call.ended_ns is not None]
    axis = DecadeAxis(max(*starts, *ends, run.virtual_ns), _LEFT, _RIGHT)
    columns = _columns(axis, starts)
    top = _COLUMNS_HEIGHT + 34
    shown = run.calls[:_ROWS_MAX]
    base = top + _ROW_HEIGHT * len(shown) + 6
    return Strip(
        width=WIDTH,
        height=base + 30,
        left=_LEFT,
        right=_RIGHT,
        columns_base=_COLUMNS_HEIGHT + 18,
        base=base,
        columns=tuple(columns),
        peak=max(columns, key=lambda column: column.height),
        rows=_rows(axis, shown, run.waits, top),
        rows_left_out=len(run.calls) - len(shown),
        ticks=tuple((round(tick.x, 1), tick.label) for tick in axis.ticks()),
        says=_sentence(run),
    )


def _columns(axis: DecadeAxis, starts: list[int]) -> list[Column]:
    slices: dict[int, list[int]] = {}
    for at_ns in starts:
        slices.setdefault(int((axis.x(at_ns) - _LEFT) / _COLUMN_WIDTH), []).append(at_ns)
    most = max(len(times) for times in slices.values())
    columns = []
    for index, times in sorted(slices.items()):
        height = max(_COLUMNS_HEIGHT * len(times) / most, 1.5)
        columns.append(
            Column(
                x=round(_LEFT + index * _COLUMN_WIDTH, 1),
                y=round(_COLUMNS_HEIGHT + 18 - height, 1),
                width=_COLUMN_WIDTH - 1.5,
                height=round(height, 1),
                says=_column_words(times),
            )
        )
    return columns


def _column_words(times: list[int]) -> str:
    first, last = short_time(times[0]), short_time(times[-1])
    where = f"at {first}" if first == last else f"between {first} and {last}"
    return f"{count(len(times), 'attempt')} start {where}"


def _rows(
    axis: DecadeAxis, calls: Sequence[CallReport], waits: Iterable[WaitMark], top: float
) -> Rows:
    ys = {call.call: top + _ROW_HEIGHT * index for index, call in enumerate(calls)}
    attempts = [
        (axis.x(attempt.started_ns), ys[call.call], attempt.ended == "ok")
        for call in calls
        for attempt in call.attempts
    ]
    ends = {
        call.call: axis.x(axis.end_ns if call.ended_ns is None else call.ended_ns) for call in calls
    }
    return Rows(
        spans="".join(
            f"M{axis.x(call.started_ns):.0f} {ys[call.call] + 3.5:g}H{ends[call.call]:.0f}"
            for call in calls
        ),
        hasty="".join(
            f"M{axis.x(wait.from_ns):.0f} {ys[wait.call] + 3.5:g}"
            f"H{axis.x(wait.from_ns + wait.observed_ns):.0f}"
            for wait in waits
            if not wait.legal and wait.call in ys
        ),
        failed="".join(f"M{x:.0f} {y + 1:g}v5" for x, y, ok in attempts if not ok),
        good="".join(f"M{x - 2:.0f} {y + 1:g}h4v5h-4z" for x, y, ok in attempts if ok),
        ends="".join(
            f"M{ends[call.call] - 2:.0f} {ys[call.call] + 1:g}l5 5m-5 0l5 -5"
            for call in calls
            if not call.outcome.startswith("returned")
        ),
    )


def _sentence(run: RunReport) -> str:
    outcomes: dict[str, int] = {}
    for call in run.calls:
        outcomes[call.outcome] = outcomes.get(call.outcome, 0) + 1
    attempts = sum(len(call.attempts) for call in run.calls)
    outcomes_said = [f"{number} {outcome}" for outcome, number in outcomes.items()]
    made = f"{count(len(run.calls), 'call')} made {count(attempts, 'attempt')} in all"
    return f"{made}; {listed(outcomes_said)}."
