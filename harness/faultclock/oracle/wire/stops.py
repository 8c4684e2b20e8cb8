"""Stops: what ends the work of a call from outside, so that nothing more was due of it.

A crash kills the process. A cancel of the session, the turn or the stage ends the turn, and so
does a person who closes a dialog; the turn's own limit of time ends it, too. A cancel of one tool
stops that tool alone, and a cancel of calls of an adapter stops those.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from faultclock.model.trace.trace import Trace, TraceEvent
from faultclock.oracle.wire.requests import Call

#: Endings of a run in which a call that has not ended would never have: the subject's own doing.
HANGS = ("deadlock", "livelock", "virtual_time_limit")
#: What a tool or an extension does toward the network.
NETWORK_ACTS = ("net.resolving", "net.resolve", "net.connect", "net.sent")


def is_stop(event: TraceEvent) -> bool:
    """Return whether `event` ends the turn that runs, as a crash, a cancel or a dismissal."""
    if event.kind == "cancel.requested":
        return event.scope != "tool"
    if event.kind == "interaction.answered":
        return is_dismissal(event)
    return event.kind == "process.crashed"


def killed_by(trace: Trace, life: int, at_ns: int) -> bool:
    """Return whether the process of `life` was killed by `at_ns`: then nothing is due of it."""
    return any(
        event.life == life and event.at_ns <= at_ns for event in trace.of_kind("process.crashed")
    )


def acts_after(
    acts: Iterable[TraceEvent], call: str, cancel: TraceEvent, since_ns: int = 0
) -> list[TraceEvent]:
    """Return the acts of a cancelled call that come after the cancel, and not before a time."""
    return [
        event
        for event in acts
        if event.call == call and event.seq > cancel.seq and event.at_ns >= since_ns
    ]


def is_dismissal(event: TraceEvent) -> bool:
    """Return whether the person closed a dialog, and the runtime took that as the answer."""
    return event.answer == "dismissed" and bool(event.accepted)


def first_stops(trace: Trace, calls: Iterable[Call]) -> dict[str, TraceEvent]:
    """Return the first stop of each call that was stopped before its end."""
    stops = [event for event in trace.events if is_stop(event)]
    found: dict[str, TraceEvent] = {}
    for call in calls:
        own = [stop for stop in stops if _hits(stop, call.id, call.start, call.end)]
        own += _limit(trace, call.start, call.end)
        if own:
            found[call.id] = min(own, key=lambda event: event.seq)
    return found


def _hits(stop: TraceEvent, call: str, start: TraceEvent, end: TraceEvent | None) -> bool:
    if stop.seq < start.seq or (end is not None and stop.seq > end.seq):
        return False
    if stop.scope == "call":
        return call in stop.calls
    # A dialog belongs to one call; a crash and any other cancel are for all that runs.
    return stop.kind != "interaction.answered" or stop.call == call


def stopped_ns(trace: Trace, start: TraceEvent, stop: TraceEvent) -> int:
    """Return when the work of a call was stopped.

    Where its time was used up that is not when it ended: it may have had to say so first.
    """
    limit_ns = _limit_ns(trace, start)
    return stop.at_ns if limit_ns is None else min(stop.at_ns, limit_ns)


def _limit(trace: Trace, start: TraceEvent, end: TraceEvent | None) -> Iterator[TraceEvent]:
    """Yield the end of a call that had used up the time that a turn may take."""
    limit_ns = _limit_ns(trace, start)
    if limit_ns is not None and end is not None and end.at_ns >= limit_ns:
        yield end


def _limit_ns(trace: Trace, start: TraceEvent) -> int | None:
    """Return the virtual time at which a call has used up what a turn may take; None for none."""
    limit_ns = trace.header.scenario.world.set_up.budgets.wall_time
    turn = start.do in ("call", "turn")
    return start.at_ns + limit_ns if limit_ns is not None and turn else None
