"""The timeline of one run: up to three calls, drawn in lanes over virtual time.

Only geometry is made here; the template `timeline.svg.j2` turns it into SVG. Runs with more
calls are drawn by `harness.render.strip`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from harness.model.finding import AttemptMark, CallReport, EventMark, RunReport, WaitMark
from harness.render.axis import CompressedAxis
from harness.render.wording import exact_time, listed, short_time

__all__ = ["LANES_MAX", "Bar", "Lane", "Mark", "Timeline", "Wait", "Window", "draw_timeline"]

#: With more calls than this a timeline is a strip of small rows.
LANES_MAX = 3

WIDTH = 1_000.0
_LEFT, _RIGHT = 96.0, WIDTH - 38.0
_TOP = 10.0
_CALL_HEIGHT, _WINDOW_DROP = 62.0, 40.0
_LANE_HEIGHT = 36.0
_BAR_HEIGHT = 24.0
#: Widths of one character and of the padding of a label, in drawing units.
_CHARACTER, _PADDING = 6.6, 4.0
#: The shape of a mark for each kind that is drawn by itself.
_SHAPES = {
    "call.started": "start",
    "call.returned": "returned",
    "call.raised": "raised",
    "leak": "leak",
    "fault.fired": "fault",
    "fault.unmet": "unmet",
    "http.stream_error": "refusal",
    "net.connect_failed": "broken",
    "net.reset": "broken",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Lane:
    """One horizontal band with its name."""

    name: str
    note: str
    y: float
    height: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """One attempt."""

    x: float
    y: float
    width: float
    height: float
    label: str
    ok: bool
    says: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """The line between two attempts."""

    x: float
    end: float
    y: float
    label: str
    legal: bool
    says: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """The stretch in which the next attempt was allowed to start."""

    x: float
    y: float
    width: float
    label: str
    says: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """One point event."""

    x: float
    y: float
    shape: str
    says: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """A finished drawing."""

    width: float
    height: float
    left: float
    right: float
    base: float
    lanes: tuple[Lane, ...]
    bars: tuple[Bar, ...]
    waits: tuple[Wait, ...]
    windows: tuple[Window, ...]
    marks: tuple[Mark, ...]
    ticks: tuple[tuple[float, str], ...]
    breaks: tuple[float, ...]
    shapes: frozenset[str]
    says: tuple[str, ...]


def draw_timeline(run: RunReport) -> Timeline | None:
    """Return the drawing of `run`; None when it has no call, or too many for lanes."""
    if not 0 < len(run.calls) <= LANES_MAX:
        return None
    axis = CompressedAxis(_instants(run), _LEFT, _RIGHT)
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
        windows += [window for wait in own if (window := _window(axis, wait, top))]
        top += _CALL_HEIGHT
    marks: list[Mark] = []
    for name in ("provider", "network", "harness"):
        points = [point for event in run.timeline if (point := _point(event, name))]
        if not points:
            continue
        lanes.append(Lane(name=name, note="", y=top, height=_LANE_HEIGHT))
        marks += [_mark(axis, event, shape, top) for event, shape in points]
        top += _LANE_HEIGHT
    ticks = axis.ticks(_act_times(run), _edge_times(run))
    shapes = {mark.shape for mark in marks}
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
        shapes=frozenset(shapes),
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
    yield from _edge_times(run)


def _act_times(run: RunReport) -> Iterator[int]:
    yield 0
    for call in run.calls:
        yield from (attempt.started_ns for attempt in call.attempts)
        yield call.ended_ns if call.ended_ns is not None else run.virtual_ns


def _edge_times(run: RunReport) -> Iterator[int]:
    for wait in run.waits:
        if wait.low_ns is not None and wait.high_ns is not None:
            yield wait.from_ns + wait.low_ns
            yield wait.from_ns + wait.high_ns


def _bar(axis: CompressedAxis, attempt: AttemptMark, top: float) -> Bar:
    x, end = axis.x(attempt.started_ns), axis.x(attempt.known_ns)
    width = max(end - x, 3.0)
    took = exact_time(attempt.known_ns - attempt.started_ns)
    return Bar(
        x=round(x, 1),
        y=top + 10,
        width=round(width, 1),
        height=_BAR_HEIGHT,
        label=_fitting(width, *_bar_labels(attempt)),
        ok=attempt.ended == "ok",
        says=f"Attempt {attempt.number} at {exact_time(attempt.started_ns)}, {took} long: "
        f"{attempt.ended}",
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
        y=top + 10 + _BAR_HEIGHT / 2,
        label=_fitting(end - x, short_time(wait.observed_ns)),
        legal=wait.legal,
        says=_wait_words(wait),
    )


def _window(axis: CompressedAxis, wait: WaitMark, top: float) -> Window | None:
    if wait.low_ns is None or wait.high_ns is None:
        return None
    x, end = axis.x(wait.from_ns + wait.low_ns), axis.x(wait.from_ns + wait.high_ns)
    # An exact wait has no width of its own; three units keep it visible.
    width = max(end - x, 3.0)
    return Window(
        x=round(min(x, _RIGHT - width), 1),
        y=top + _WINDOW_DROP,
        width=round(width, 1),
        label=_fitting(width, f"retry {wait.retry_number}", str(wait.retry_number)),
        says=f"Retry {wait.retry_number} may start here: {wait.basis}",
    )


def _point(event: EventMark, lane: str) -> tuple[EventMark, str] | None:
    if event.lane != lane:
        return None
    shape = _shape(event)
    return None if shape is None else (event, shape)


def _shape(event: EventMark) -> str | None:
    payload = event.payload
    match event.kind:
        case "http.response":
            status = payload.get("status")
            return "refusal" if isinstance(status, int) and status >= 400 else "answer"
        case "http.exchange_ended":
            return "broken" if payload.get("how") not in {None, "complete"} else None
        case "net.resolve":
            return "broken" if payload.get("error") is not None else None
        case kind:
            return _SHAPES.get(kind)


def _mark(axis: CompressedAxis, event: EventMark, shape: str, top: float) -> Mark:
    # A fault and the answer that it causes are often one instant: they get a row each.
    drop = 11.0 if shape in {"fault", "unmet", "leak"} else 24.0
    if event.lane != "provider":
        drop = _LANE_HEIGHT / 2
    return Mark(
        x=round(axis.x(event.at_ns), 1),
        y=top + drop,
        shape=shape,
        says=f"{exact_time(event.at_ns)}: {event.text}",
    )


def _wait_words(wait: WaitMark) -> str:
    return f"Wait before retry {wait.retry_number}: {exact_time(wait.observed_ns)}, {_judged(wait)}"


def _judged(wait: WaitMark) -> str:
    if not wait.legal:
        return "not legal"
    return "not judged" if wait.low_ns is None or wait.high_ns is None else "legal"


def _sentence(call: CallReport, waits: Iterable[WaitMark]) -> str:
    ends = [attempt.ended for attempt in call.attempts]
    own = [wait for wait in waits if wait.call == call.call]
    told = [f"{exact_time(wait.observed_ns)} ({_judged(wait)})" for wait in own]
    waited = f", waiting {listed(told, 12)}" if told else ""
    return (
        f"Call {call.call} made {len(ends)} attempt{'' if len(ends) == 1 else 's'}"
        f" ({listed(ends, 12) or 'none'}){waited}, and {call.outcome}."
    )
