"""The timeline of a run with many calls: one thin row per call, and how many start together.

Fifty clients in full lanes would hide the one thing to see: whether they come back at the same
moment. So each call is a row of ticks, and a histogram above counts the attempts that start in
the same slice of the axis.
"""

from __future__ import annotations

from dataclasses import dataclass

from harness.model.finding import CallReport, RunReport, WaitMark
from harness.render.axis import DecadeAxis
from harness.render.timeline import LANES_MAX
from harness.render.wording import count, listed, short_time

__all__ = ["Column", "Row", "Strip", "draw_strip"]

WIDTH = 1_000.0
_LEFT, _RIGHT = 96.0, WIDTH - 38.0
_COLUMNS_HEIGHT = 64.0
_ROW_HEIGHT = 8.0
#: More calls than this are counted in the histogram, but have no row of their own.
_ROWS_MAX = 100
_COLUMN_WIDTH = 7.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """How many attempts start in one slice of the axis."""

    x: float
    y: float
    width: float
    height: float
    says: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One call: SVG path data of its span, illegal waits, failed attempts and good ones."""

    name: str
    y: float
    span: str
    hasty: str
    failed: str
    good: str
    end: float
    raised: bool
    says: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Strip:
    """A finished drawing."""

    width: float
    height: float
    left: float
    right: float
    columns_base: float
    base: float
    columns: tuple[Column, ...]
    peak: Column
    rows: tuple[Row, ...]
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
    illegal: dict[str, list[WaitMark]] = {}
    for wait in run.waits:
        if not wait.legal:
            illegal.setdefault(wait.call, []).append(wait)
    rows = [
        _row(axis, call, illegal.get(call.call, []), top + _ROW_HEIGHT * index)
        for index, call in enumerate(shown)
    ]
    base = top + _ROW_HEIGHT * len(rows) + 6
    return Strip(
        width=WIDTH,
        height=base + 30,
        left=_LEFT,
        right=_RIGHT,
        columns_base=_COLUMNS_HEIGHT + 18,
        base=base,
        columns=tuple(columns),
        peak=max(columns, key=lambda column: column.height),
        rows=tuple(rows),
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


def _row(axis: DecadeAxis, call: CallReport, illegal: list[WaitMark], y: float) -> Row:
    ended_ns = call.ended_ns
    last_ns = ended_ns if ended_ns is not None else axis.end_ns
    start, end = axis.x(call.started_ns), axis.x(last_ns)
    ticks = [(axis.x(attempt.started_ns), attempt.ended == "ok") for attempt in call.attempts]
    return Row(
        name=call.call,
        y=y,
        span=f"M{start:.1f} {y + 3.5:.1f}H{end:.1f}",
        hasty="".join(
            f"M{axis.x(wait.from_ns):.1f} {y + 3.5:.1f}"
            f"H{axis.x(wait.from_ns + wait.observed_ns):.1f}"
            for wait in illegal
        ),
        failed="".join(f"M{x:.1f} {y + 1:.1f}v5" for x, ok in ticks if not ok),
        good="".join(f"M{x - 1.5:.1f} {y + 1:.1f}h4v5h-4z" for x, ok in ticks if ok),
        end=round(end, 1),
        raised=not call.outcome.startswith("returned"),
        says=f"{call.call}: {count(len(ticks), 'attempt')}, "
        f"{count(len(illegal), 'illegal wait')}, {call.outcome}",
    )


def _sentence(run: RunReport) -> str:
    outcomes: dict[str, int] = {}
    for call in run.calls:
        outcomes[call.outcome] = outcomes.get(call.outcome, 0) + 1
    attempts = sum(len(call.attempts) for call in run.calls)
    told = [f"{number} {outcome}" for outcome, number in outcomes.items()]
    return (
        f"{count(len(run.calls), 'call')} made {count(attempts, 'attempt')} in all; {listed(told)}."
    )
