"""Trace events as marks for a timeline: a lane and one short text each. Pure."""

from __future__ import annotations

from faultclock.model.report.finding import EventMark
from faultclock.model.trace.events import describe
from faultclock.model.trace.trace import Trace

#: Marks per run in a report; the rest is in the trace. 50 clients make about 3,000 events.
MARKS_MAX = 400


def timeline(trace: Trace, cited: frozenset[int]) -> tuple[tuple[EventMark, ...], int]:
    """Return the marks of a trace, and how many are left out.

    Shown are the first MARKS_MAX events and all that are `cited` (by `seq`) as proof.
    """
    shown = [event for event in trace.events if event.seq <= MARKS_MAX or event.seq in cited]
    marks = tuple(
        EventMark(
            seq=event.seq,
            at_ns=event.at_ns,
            lane=event.actor,
            kind=event.kind,
            text=describe(event),
            payload=dict(event.payload),
        )
        for event in shown
    )
    return marks, len(trace.events) - len(shown)
