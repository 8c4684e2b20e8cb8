"""The timeline of a whole agent: calls, attempts, tools, approval windows, store, crashes.

Everything that lasts is a span in the lane of who did it; spans that overlap get rows of their
own. A crash is a wall through all lanes. Only geometry is made here; the template
`agent.svg.j2` turns it into SVG.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from faultclock.model.report.finding import EventMark, RunReport
from faultclock.model.trace import events
from faultclock.render.axis import CompressedAxis
from faultclock.render.timeline import Drawing, Lane, Mark, Window, draw_windows, wait_edges
from faultclock.render.wording import count, exact_time, listed, short_time

WIDTH = 1_000.0
_LEFT, _RIGHT = 96.0, WIDTH - 38.0
_TOP = 10.0
_ROW, _PAD = 24.0, 6.0
_BAR = 18.0
_MARK_ROW = 18.0
#: Room above the attempts for the labels of what was expected.
_EXPECTED_ROW = 14.0
_CHARACTER, _PADDING = 6.4, 4.0
#: More rows than this in one lane are folded into the last one.
_ROWS_MAX = 6
_LANES = (
    *("calls", "nodes", "provider", "tools", "programs", "person", "store"),
    *("services", "stages", "extensions", "harness"),
)
#: A call is a span from end to end, and no lane has the wire: its attempts are spans.
_MARKED = frozenset(_LANES) - {"calls"}
#: What lasts, and is read off the events; calls and attempts are read off the report.
_LASTING = tuple(name for name, kind in events.EVENTS.items() if kind.named is not None)


class Span(Struct, frozen=True, kw_only=True):
    """Something that lasted.

    Attributes:
        key: how it looks: `good`, `failed`, `cut`, `open` for what had no end.
        deadline: place of the latest legal end, None where there is none.
    """

    x: float
    y: float
    width: float
    height: float
    label: str
    lane: str
    key: str
    says: str
    deadline: float | None = None


class Wall(Struct, frozen=True, kw_only=True):
    """A crash, drawn through all lanes."""

    x: float
    says: str


class AgentTimeline(Drawing, frozen=True, kw_only=True):
    """The drawing of an agent."""

    spans: tuple[Span, ...]
    walls: tuple[Wall, ...]


class _Stretch(Struct, frozen=True, kw_only=True):
    """A span before it has a place."""

    lane: str
    from_ns: int
    to_ns: int
    key: str
    label: str
    says: str
    deadline_ns: int | None = None


def is_agent(run: RunReport) -> bool:
    """Return whether `run` is one of a whole agent, which has lives."""
    return any(mark.kind == "process.started" for mark in run.timeline)


def draw_agent(run: RunReport) -> AgentTimeline | None:
    """Return the drawing of `run`; None when it is not one of a whole agent."""
    if not is_agent(run):
        return None
    stretches = sorted(_stretches(run), key=lambda item: (item.from_ns, item.to_ns))
    points = [(mark, *look) for mark in run.timeline if (look := _look(mark)) is not None]
    crashes = [mark for mark in run.timeline if mark.kind == "process.crashed"]
    expected = wait_edges(run.waits)
    instants = [
        *_instants(run, stretches, points, crashes),
        *(at for edge in expected for at in edge),
    ]
    axis = CompressedAxis(instants, _LEFT, _RIGHT, wide=expected)
    lanes: list[Lane] = []
    spans: list[Span] = []
    marks: list[Mark] = []
    windows: list[Window] = []
    top = _TOP
    for name in _LANES:
        own = [item for item in stretches if item.lane == name]
        dots = [(mark, shape) for mark, lane, shape in points if lane == name]
        if not own and not dots:
            continue
        rows = _rows(own)
        above = _PAD + (_EXPECTED_ROW if name == "provider" and expected else 0)
        height = above + _ROW * (1 + max(rows, default=-1)) + (_MARK_ROW if dots else 0) + _PAD
        lanes.append(Lane(name=name, note="", y=top, height=height))
        if name == "provider":
            windows = draw_windows(axis, run.waits, top + 2, height - 8)
        spans += [
            _span(axis, item, top + above + _ROW * row) for item, row in zip(own, rows, strict=True)
        ]
        marks += [_mark(axis, mark, shape, top + height - _MARK_ROW + 2) for mark, shape in dots]
        top += height
    edges = [item.from_ns for item in stretches] + [item.to_ns for item in stretches]
    deadlines = [item.deadline_ns for item in stretches if item.deadline_ns is not None]
    ticks = axis.ticks([0, *(mark.at_ns for mark in crashes)], deadlines, edges)
    return AgentTimeline(
        width=WIDTH,
        height=top + 40,
        left=_LEFT,
        right=_RIGHT,
        base=top + 8,
        lanes=tuple(lanes),
        spans=tuple(spans),
        marks=tuple(marks),
        walls=tuple(
            Wall(x=round(axis.x(mark.at_ns), 1), says=f"{exact_time(mark.at_ns)}: {mark.text}")
            for mark in crashes
        ),
        windows=tuple(windows),
        ticks=tuple((round(tick.x, 1), tick.label) for tick in ticks),
        breaks=tuple(round(x, 1) for x in axis.breaks()),
        says=tuple(_sentences(run, stretches, len(crashes))),
    )


# ---------------------------------------------------------------------- what lasted


def _stretches(run: RunReport) -> Iterator[_Stretch]:
    end_ns = max([run.virtual_ns, *(mark.at_ns for mark in run.timeline if _is_shown(mark))])
    yield from _calls(run, end_ns)
    for call in run.calls:
        for attempt in call.attempts:
            yield _Stretch(
                lane="provider",
                from_ns=attempt.started_ns,
                to_ns=max(attempt.known_ns, attempt.started_ns),
                key="good" if attempt.ended == "ok" else "failed",
                label=attempt.ended,
                says=f"Attempt {attempt.number} of {call.call}: {attempt.ended}",
            )
    walls = [mark.at_ns for mark in run.timeline if mark.kind == "process.crashed"]
    for span in events.spans(run.timeline, *_LASTING):
        yield _stretch(span, walls, end_ns)
    for mark in run.timeline:
        if mark.kind == "extension.phase":
            yield _Stretch(
                lane="extensions",
                from_ns=mark.at_ns,
                to_ns=mark.at_ns,
                key="good" if mark.payload.get("ok") else "failed",
                label=f"{mark.payload.get('extension')} {mark.payload.get('phase')}",
                says=f"{exact_time(mark.at_ns)}: {mark.text}",
            )


def _is_shown(mark: EventMark) -> bool:
    return mark.kind not in {"world.touched", "run.started"}


def _calls(run: RunReport, end_ns: int) -> Iterator[_Stretch]:
    crashed = {
        str(mark.payload.get("call")): mark.at_ns
        for mark in run.timeline
        if mark.kind == "call.crashed"
    }
    for call in run.calls:
        cut_ns = crashed.get(call.call)
        key = "good" if call.outcome == "returned" else "failed"
        ended_ns = call.ended_ns
        if cut_ns is not None:
            key, ended_ns = "cut", cut_ns
        elif ended_ns is None:
            key = "open"
        yield _Stretch(
            lane="calls",
            from_ns=call.started_ns,
            to_ns=end_ns if ended_ns is None else ended_ns,
            key=key,
            label=call.call,
            says=f"Call {call.call}: {'cut off by the crash' if key == 'cut' else call.outcome}",
        )


def _stretch(lasting: events.Span[EventMark], walls: Sequence[int], end_ns: int) -> _Stretch:
    """Return where something that lasted lies; without an end, it goes on to a wall or the end."""
    begun, ended = lasting.began, lasting.ended
    label = str(begun.payload.get(str(events.EVENTS[begun.kind].named)))
    never = "it never ended"
    to_ns = max(
        min([at_ns for at_ns in walls if at_ns >= begun.at_ns], default=end_ns), begun.at_ns
    )
    if ended is not None:
        to_ns = ended.at_ns
    if begun.kind == "interaction.shown":
        never = f"{exact_time(to_ns)}: no answer came"
        about = begun.payload.get("tool")
        label += f" {about}" if about else ""
    deadline_ns = begun.payload.get("deadline_ns")
    cut = "cut" if to_ns in walls else "open"
    how = never if ended is None else f"{exact_time(to_ns)}: {ended.text}"
    return _Stretch(
        lane=events.lane_of(begun.kind, begun.lane),
        from_ns=begun.at_ns,
        to_ns=to_ns,
        key=cut if ended is None else _key(ended),
        label=label,
        says=f"{exact_time(begun.at_ns)}: {begun.text}; {how}",
        deadline_ns=begun.at_ns + deadline_ns if isinstance(deadline_ns, int) else None,
    )


def _key(ended: EventMark) -> str:
    payload = ended.payload
    match ended.kind:
        case "tool.stopped":
            return "cut"
        case "tool.unfinished" | "tool.put_off":
            return "open"
        case "tool.raised" | "interaction.dismissed":
            good = False
        case "interaction.answered":
            good = bool(payload.get("accepted")) and payload.get("answer") in ("approved", "given")
        case "program.ended":
            good = payload.get("status") == 0
        case _:
            good = bool(payload.get("ok", True)) and not payload.get("partial")
    return "good" if good else "failed"


# ---------------------------------------------------------------------- where it goes


def _look(mark: EventMark) -> tuple[str, str] | None:
    """Return the lane and the shape of what does not last, where this drawing shows it."""
    shape = events.mark_of(mark.kind, mark.payload)
    lane = events.lane_of(mark.kind, mark.lane)
    return (lane, shape) if shape is not None and lane in _MARKED else None


def _instants(
    run: RunReport,
    stretches: Iterable[_Stretch],
    points: Iterable[tuple[EventMark, str, str]],
    crashes: Iterable[EventMark],
) -> Iterator[int]:
    yield 0
    yield run.virtual_ns
    for item in stretches:
        yield item.from_ns
        yield item.to_ns
        if item.deadline_ns is not None:
            yield item.deadline_ns
    yield from (mark.at_ns for mark, _, _ in points)
    yield from (mark.at_ns for mark in crashes)


def _rows(stretches: Sequence[_Stretch]) -> list[int]:
    """Return the row of each stretch: the first that is free when it begins."""
    free_ns: list[int] = []
    rows = []
    for item in stretches:
        row = next((n for n, until in enumerate(free_ns) if until <= item.from_ns), len(free_ns))
        row = min(row, _ROWS_MAX - 1)
        # Even a stretch of no length needs a place of its own beside others of its instant.
        until_ns = max(item.to_ns, item.from_ns + 1)
        if row == len(free_ns):
            free_ns.append(until_ns)
        else:
            free_ns[row] = max(free_ns[row], until_ns)
        rows.append(row)
    return rows


def _span(axis: CompressedAxis, item: _Stretch, y: float) -> Span:
    x, end = axis.x(item.from_ns), axis.x(item.to_ns)
    width = max(end - x, 3.0)
    deadline = None if item.deadline_ns is None else round(axis.x(item.deadline_ns), 1)
    took = short_time(item.to_ns - item.from_ns)
    return Span(
        x=round(min(x, _RIGHT - width), 1),
        y=y,
        width=round(width, 1),
        height=_BAR,
        label=_fitting(width, f"{item.label} {took}", item.label),
        lane=item.lane,
        key=item.key,
        says=item.says,
        deadline=deadline,
    )


def _fitting(width: float, *texts: str) -> str:
    return next((text for text in texts if len(text) * _CHARACTER + _PADDING <= width), "")


def _mark(axis: CompressedAxis, mark: EventMark, shape: str, y: float) -> Mark:
    return Mark(x=round(axis.x(mark.at_ns), 1), y=y + 6, shape=shape)


def _sentences(run: RunReport, stretches: Sequence[_Stretch], crashes: int) -> Iterator[str]:
    counts = {lane: sum(item.lane == lane for item in stretches) for lane in _LANES}
    parts = (
        (counts["calls"], "call", None),
        (counts["provider"], "attempt at the provider", "attempts at the provider"),
        (counts["tools"], "tool execution", None),
        (counts["person"], "question to the person", "questions to the person"),
        (counts["store"], "store operation", None),
        (crashes, "crash", "crashes"),
    )
    yield f"{listed([count(*part) for part in parts if part[0]])}."
    for item in stretches:
        if item.lane in ("calls", "person"):
            yield f"{item.says}."
    if run.ending != "completed":
        yield f"The run ended by {run.ending.replace('_', ' ')}."
