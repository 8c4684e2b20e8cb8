"""What is done to the events by which a subject speaks, in a trace that is finished.

The edited trace is one that could have been: its events are numbered, its times never go back, and
its digest is its own. A trace that could not have been is none.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from faultclock.errors import EventError
from faultclock.kills.values import Path, value_at, with_value, without
from faultclock.model.trace.event_check import check_events
from faultclock.model.trace.events import EVENTS
from faultclock.model.trace.trace import Trace, TraceEvent
from faultclock.run.execute import seal

#: Past the next thing that is said, past the next thing that is done, to the end or start of the
#: call. What is done is what the world sees, but for the packets of the network.
Where = Literal["behind_said", "behind_done", "last", "before_said", "before_done", "first"]
#: An integer as it is changed.
Sum = Literal["+1", "-1", "*2"]
_SUMS: dict[Sum, Callable[[int], int]] = {
    "+1": lambda number: number + 1,
    "-1": lambda number: number - 1,
    "*2": lambda number: number * 2,
}
_ENDS = frozenset({"call.returned", "call.raised", "call.crashed"})


class Said(Struct, frozen=True):
    """Which events: those of a kind, and of a name where the kind has names."""

    kind: str
    name: str | None

    def has(self, event: TraceEvent) -> bool:
        """Return whether an event is one of them."""
        return event.kind == self.kind and self.name in (None, event.payload.get("name"))


def is_said(event: TraceEvent) -> bool:
    """Return whether an event is something that the subject says of itself."""
    return event.actor == "subject" and event.kind.startswith("declared.")


def _is_done(event: TraceEvent) -> bool:
    # Packets come and go on their own; no order of a document is about them.
    return not is_said(event) and not EVENTS[event.kind].routine and event.kind[:4] != "net."


class Dropped(Struct, frozen=True, kw_only=True):
    """The subject does not say it."""

    of: Said

    def __call__(self, trace: Trace) -> Trace | None:
        """Return the trace without these events."""
        return sealed_again(trace, [event for event in trace.events if not self.of.has(event)])


class Doubled(Struct, frozen=True, kw_only=True):
    """The subject says it twice."""

    of: Said

    def __call__(self, trace: Trace) -> Trace | None:
        """Return the trace with each of these events twice."""
        events = [item for event in trace.events for item in (event,) * (1 + self.of.has(event))]
        return sealed_again(trace, events)


class Moved(Struct, frozen=True, kw_only=True):
    """The subject says it sooner or later, within its call."""

    of: Said
    where: Where

    def __call__(self, trace: Trace) -> Trace | None:
        """Return the trace with these events elsewhere, at the time of what they stand beside."""
        later = self.where in ("behind_said", "behind_done", "last")
        events = list(trace.events)
        concerned = [event for event in events if self.of.has(event)]
        # From the far end, so that those that are moved never pass each other.
        for event in reversed(concerned) if later else concerned:
            place = next(at for at, item in enumerate(events) if item is event)
            goal = self._goal(events, place)
            if goal is None:
                continue
            moved = replace(event, at_ns=events[goal].at_ns)
            del events[place]
            events.insert(goal, moved)
        return sealed_again(trace, events)

    def _goal(self, events: Sequence[TraceEvent], place: int) -> int | None:
        """Return the place of the event that it is put behind, or before."""
        event = events[place]
        if self.where == "last":
            return self._nearest(events, range(place + 1, len(events)), event, _is_end)
        if self.where == "first":
            begun = self._nearest(events, range(place - 1, -1, -1), event, _is_start)
            return begun if begun is None or begun + 1 == place else begun + 1
        wanted = is_said if self.where.endswith("said") else _is_done
        forward = self.where.startswith("behind")
        places = range(place + 1, len(events)) if forward else range(place - 1, -1, -1)
        return self._nearest(events, places, event, lambda item: wanted(item))

    def _nearest(
        self,
        events: Sequence[TraceEvent],
        places: range,
        event: TraceEvent,
        wanted: Callable[[TraceEvent], bool],
    ) -> int | None:
        call = event.payload.get("call")
        for at in places:
            item = events[at]
            if item.payload.get("call") == call and wanted(item) and not self.of.has(item):
                return at
        return None


def _is_end(event: TraceEvent) -> bool:
    return event.kind in _ENDS


def _is_start(event: TraceEvent) -> bool:
    return event.kind == "call.started"


class Set(Struct, frozen=True, kw_only=True):
    """The subject says another value.

    Attributes:
        path: below the payload.
        new: a JSON value.
    """

    of: Said
    path: Path
    new: Any

    def __call__(self, trace: Trace) -> Trace | None:
        """Return the trace with that value in each of these events."""
        return _with_payloads(trace, self.of, self._changed)

    def _changed(self, old: Any) -> Any:
        new = with_value(old, self.path, self.new)
        if self.path == ("text",) and "text_sha256" in old and new is not old:
            text = self.new if isinstance(self.new, str) else ""
            new["text_sha256"] = hashlib.sha256(text.encode()).hexdigest()
        return new


class Summed(Struct, frozen=True, kw_only=True):
    """The subject says another number."""

    of: Said
    path: Path
    by: Sum

    def __call__(self, trace: Trace) -> Trace | None:
        """Return the trace with the other number in each of these events."""

        def changed(old: Any) -> Any:
            number = value_at(old, self.path)
            if isinstance(number, bool) or not isinstance(number, int):
                return old
            return with_value(old, self.path, _SUMS[self.by](number))

        return _with_payloads(trace, self.of, changed)


class LeftOut(Struct, frozen=True, kw_only=True):
    """The subject leaves a member out."""

    of: Said
    path: Path

    def __call__(self, trace: Trace) -> Trace | None:
        """Return the trace without the member in each of these events."""
        return _with_payloads(trace, self.of, lambda old: without(old, self.path))


Edit = Dropped | Doubled | Moved | Set | Summed | LeftOut


def _with_payloads(trace: Trace, of: Said, change: Callable[[Any], Any]) -> Trace | None:
    events = [
        replace(event, payload=change(event.payload)) if of.has(event) else event
        for event in trace.events
    ]
    try:
        check_events(new for old, new in zip(trace.events, events, strict=True) if new is not old)
    except EventError:
        # No subject can say that through its port.
        return None
    return sealed_again(trace, events)


def sealed_again(trace: Trace, events: Sequence[TraceEvent]) -> Trace | None:
    """Return the trace with other events, numbered and sealed; None where they are the same."""
    numbered = tuple(
        event if event.seq == number else replace(event, seq=number)
        for number, event in enumerate(events, start=1)
    )
    if numbered == trace.events:
        return None
    footer = trace.footer
    return seal(trace.header, numbered, footer.ending, footer.detail, footer.ended_at_ns)
