"""The timeline of one run: up to three calls, drawn in lanes over virtual time.

The stretch in which a retry was expected stands behind the attempts and is as tall as the lane.
Only geometry is made here; the template `timeline.svg.j2` turns it into SVG. Runs with more calls
are drawn by `faultclock.render.strip`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from msgspec import Struct

from faultclock.model.report.finding import AttemptMark, CallReport, EventMark, RunReport, WaitMark
from faultclock.model.trace.events import mark_of
from faultclock.render.axis import CompressedAxis
from faultclock.render.wording import exact_time, listed, short_time

#: With more calls than this a timeline is a strip of small rows.
LANES_MAX = 3

WIDTH = 1_000.0
_LEFT, _RIGHT = 96.0, WIDTH - 38.0
_TOP = 10.0
_CALL_HEIGHT, _BAR_DROP, _BAR_HEIGHT = 80.0, 34.0, 24.0
_WINDOW_DROP, _WINDOW_HEIGHT = 2.0, 72.0
_LANE_HEIGHT = 36.0
#: Even an exact wait is a stretch that one sees from afar.
_WINDOW_WIDTH_MIN = 14.0
_LABEL_GAP = 8.0
#: Where no wait is too long, the stretch goes on to this multiple of the wait.
_BEYOND = 1.25
#: Widths of one character and of the padding of a label, in drawing units.
_CHARACTER, _PADDING = 6.6, 4.0


class Lane(Struct, frozen=True, kw_only=True):
    """One horizontal band with its name."""

    name: str
    note: str
    y: float
    height: float


class Bar(Struct, frozen=True, kw_only=True):
    """One attempt."""

    x: float
    y: float
    width: float
    height: float
    label: str
    ok: bool
    says: str


class Wait(Struct, frozen=True, kw_only=True):
    """The line between two attempts."""

    x: float
    end: float
    y: float
    label: str
    legal: bool


class Window(Struct, frozen=True, kw_only=True):
    """The stretch in which the next attempt was expected to start: the largest thing on a lane.

    Attributes:
        label_x: middle of the label, which may be wider than the stretch.
    """

    x: float
    y: float
    width: float
    height: float
    label: str
    label_x: float
    says: str


class Mark(Struct, frozen=True, kw_only=True):
    """One point event."""

    x: float
    y: float
    shape: str


class Drawing(Struct, frozen=True, kw_only=True):
    """What each finished drawing in lanes has.

    Attributes:
        windows: where a retry was expected.
    """

    width: float
    height: float
    left: float
    right: float
    base: float
    lanes: tuple[Lane, ...]
    windows: tuple[Window, ...]
    marks: tuple[Mark, ...]
    ticks: tuple[tuple[float, str], ...]
    breaks: tuple[float, ...]
    says: tuple[str, ...]


class Timeline(Drawing, frozen=True, kw_only=True):
    """The drawing of a few calls."""

    bars: tuple[Bar, ...]
    waits: tuple[Wait, ...]


def draw_timeline(run: RunReport) -> Timeline | None:
    """Return the drawing of `run`; None when it has no call, or too many for lanes."""
    if not 0 < len(run.calls) <= LANES_MAX:
        return None
    axis = CompressedAxis(_instants(run), _LEFT, _RIGHT, wide=wait_edges(run.waits))
    lanes: list[Lane] = []
    bars: list[Bar] = []
    waits: list[Wait] = []
    windows: list[Window] = []
    top = _TOP
    for call in run.calls:
        lanes.append(Lane(name="subject", note=call.call, y=top, height=_CALL_HEIGHT))
        bars += [_bar(axis, attempt, top) for attempt in call.attempts]
        own = [wait for wait in run.waits if wait.call == call.call]
        waits += [_wait(axis, wait, top) for wait in own]
        windows += draw_windows(axis, own, top + _WINDOW_DROP, _WINDOW_HEIGHT)
        top += _CALL_HEIGHT
    marks: list[Mark] = []
    for name in ("provider", "network", "harness"):
        points = [point for event in run.timeline if (point := _point(event, name))]
        if not points:
            continue
        lanes.append(Lane(name=name, note="", y=top, height=_LANE_HEIGHT))
        marks += [_mark(axis, event, shape, top) for event, shape in points]
        top += _LANE_HEIGHT
    edges = [at_ns for edge in wait_edges(run.waits) for at_ns in edge]
    ticks = axis.ticks(_act_times(run), edges)
    return Timeline(
        width=WIDTH,
        height=top + 40,
        left=_LEFT,
        right=_RIGHT,
        base=top + 8,
        lanes=tuple(lanes),
        bars=tuple(bars),
        waits=tuple(waits),
        windows=tuple(windows),
        marks=tuple(marks),
        ticks=tuple((round(tick.x, 1), tick.label) for tick in ticks),
        breaks=tuple(round(x, 1) for x in axis.breaks()),
        says=tuple(_sentence(call, run.waits) for call in run.calls),
    )


def _instants(run: RunReport) -> Iterator[int]:
    yield 0
    for call in run.calls:
        yield call.started_ns
        yield call.ended_ns if call.ended_ns is not None else run.virtual_ns
        for attempt in call.attempts:
            yield attempt.started_ns
            yield attempt.known_ns
    for wait in run.waits:
        yield wait.from_ns + wait.observed_ns
    for edge in wait_edges(run.waits):
        yield from edge


def _act_times(run: RunReport) -> Iterator[int]:
    yield 0
    for call in run.calls:
        yield from (attempt.started_ns for attempt in call.attempts)
        yield call.ended_ns if call.ended_ns is not None else run.virtual_ns


def wait_edges(waits: Iterable[WaitMark]) -> list[tuple[int, int]]:
    """Return the earliest and the latest expected end of each wait that has them.

    Where any longer wait is fine, the drawing shows some of what lies beyond.
    """
    edges = []
    for wait in waits:
        if wait.low_ns is not None:
            high_ns = max(wait.low_ns, wait.observed_ns) * _BEYOND
            if wait.high_ns is not None:
                high_ns = wait.high_ns
            edges.append((wait.from_ns + wait.low_ns, wait.from_ns + round(high_ns)))
    return edges


def draw_windows(
    axis: CompressedAxis, waits: Iterable[WaitMark], y: float, height: float
) -> list[Window]:
    """Return the expected stretch of each wait, `height` tall, labelled as far as there is room."""
    windows: list[Window] = []
    free = _LEFT
    judged = (wait for wait in waits if wait.low_ns is not None)
    for wait in sorted(judged, key=lambda wait: wait.from_ns + (wait.low_ns or 0)):
        ((low_ns, high_ns),) = wait_edges([wait])
        x, end = axis.x(low_ns), axis.x(high_ns)
        width = max(end - x, _WINDOW_WIDTH_MIN)
        x = min((x + end - width) / 2, _RIGHT - width)
        label, label_x = _placed(f"expected {_expected(wait)}", x + width / 2, free)
        if label:
            free = label_x + _label_width(label) / 2 + _LABEL_GAP
        windows.append(
            Window(
                x=round(x, 1),
                y=y,
                width=round(width, 1),
                height=height,
                label=label,
                label_x=round(label_x, 1),
                says=f"Retry {wait.retry_number} was expected after {_expected(wait)}: "
                f"{wait.basis}",
            )
        )
    return windows


def _placed(label: str, middle: float, free: float) -> tuple[str, float]:
    """Return the label and its middle, from `free` on and inside the drawing; else without it."""
    half = _label_width(label) / 2
    middle = min(max(middle, free + half), _RIGHT - half)
    return (label, middle) if middle - half >= free else ("", middle)


def _label_width(label: str) -> float:
    return len(label) * _CHARACTER


def _expected(wait: WaitMark) -> str:
    assert wait.low_ns is not None
    low = short_time(wait.low_ns)
    if wait.at_least or wait.high_ns is None:
        return f"at least {low}"
    high = short_time(wait.high_ns)
    return low if low == high else f"{low} to {high}"


def _bar(axis: CompressedAxis, attempt: AttemptMark, top: float) -> Bar:
    x, end = axis.x(attempt.started_ns), axis.x(attempt.known_ns)
    width = max(end - x, 3.0)
    took = exact_time(attempt.known_ns - attempt.started_ns)
    return Bar(
        x=round(x, 1),
        y=top + _BAR_DROP,
        width=round(width, 1),
        height=_BAR_HEIGHT,
        label=_fitting(width, *_bar_labels(attempt)),
        ok=attempt.ended == "ok",
        says=f"Attempt {attempt.number} at {exact_time(attempt.started_ns)}, {took} long: "
        f"{attempt.ended}{f', {attempt.classification}' if attempt.classification else ''}",
    )


def _bar_labels(attempt: AttemptMark) -> tuple[str, ...]:
    """Return the labels of a bar, longest first: the ending, its status, the number."""
    status = attempt.ended.split(" ", 1)[0]
    return attempt.ended, status if status.isdigit() else "", str(attempt.number)


def _fitting(width: float, *texts: str) -> str:
    for text in texts:
        if text and len(text) * _CHARACTER + _PADDING <= width:
            return text
    return ""


def _wait(axis: CompressedAxis, wait: WaitMark, top: float) -> Wait:
    x, end = axis.x(wait.from_ns), axis.x(wait.from_ns + wait.observed_ns)
    return Wait(
        x=round(x, 1),
        end=round(end, 1),
        y=top + _BAR_DROP + _BAR_HEIGHT / 2,
        label=_fitting(end - x, *_wait_labels(wait)),
        legal=wait.legal,
    )


def _point(event: EventMark, lane: str) -> tuple[EventMark, str] | None:
    shape = mark_of(event.kind, event.payload) if event.lane == lane else None
    return None if shape is None else (event, shape)


def _mark(axis: CompressedAxis, event: EventMark, shape: str, top: float) -> Mark:
    # A fault and the answer that it causes are often one instant: they get a row each.
    drop = 11.0 if shape in {"fault", "unmet", "leak"} else 24.0
    if event.lane != "provider":
        drop = _LANE_HEIGHT / 2
    return Mark(
        x=round(axis.x(event.at_ns), 1),
        y=top + drop,
        shape=shape,
    )


def _wait_labels(wait: WaitMark) -> tuple[str, ...]:
    """Return the labels of a wait, longest first."""
    waited = short_time(wait.observed_ns)
    if not wait.legal and wait.low_ns is None:
        return f"waited {waited}, no retry was expected", "no retry was expected", waited
    return f"waited {waited}", waited


def _judged(wait: WaitMark) -> str:
    """Return a wait beside what was expected."""
    if wait.low_ns is None:
        return "not judged" if wait.legal else "no retry was expected"
    if wait.legal:
        return "as expected"
    how = "too short" if wait.observed_ns < wait.low_ns else "too long"
    return f"{how}: expected {_expected(wait)}"


def _sentence(call: CallReport, waits: Iterable[WaitMark]) -> str:
    ends = [attempt.ended for attempt in call.attempts]
    how = f"{len(ends)} × {ends[0]}" if len(ends) > 1 and len(set(ends)) == 1 else listed(ends, 12)
    own = [wait for wait in waits if wait.call == call.call]
    waits_said = [f"{exact_time(wait.observed_ns)} ({_judged(wait)})" for wait in own]
    waited = f", waiting {listed(waits_said, 12)}" if waits_said else ""
    return (
        f"Call {call.call} made {len(ends)} attempt{'' if len(ends) == 1 else 's'}"
        f" ({how or 'none'}){waited}, and {call.outcome}."
    )
